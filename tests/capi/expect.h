/*
 * Expectations on statuses, for the CMocka programs in this folder. Include it instead of cmocka.h.
 *   ok(status)                  fails the test with the message unless status is NULL
 *   fails(status, code, part)   expects that code and a message of the promised form that contains `part`
 */
#ifndef TRT_TESTS_EXPECT_H
#define TRT_TESTS_EXPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "message_form.h"

static inline void ok(trt_status* s) {
  if (s) {
    print_error("%s: %s\n", trt_code_name(trt_status_code(s)), trt_status_message(s));
    trt_status_release(s);
    fail();
  }
}

static inline void fails(trt_status* s, trt_code code, const char* part) {
  assert_non_null(s);
  const char* form = message_form(s);
  if (form || trt_status_code(s) != code || !strstr(trt_status_message(s), part)) {
    if (form) print_error("%s\n", form);
    print_error("expected %s with \"%s\", got %s: %s\n", trt_code_name(code), part, trt_code_name(trt_status_code(s)), trt_status_message(s));
    trt_status_release(s);
    fail();
  }
  trt_status_release(s);
}

#endif
