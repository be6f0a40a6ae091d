/*
 * message_form(status): NULL, or what is wrong with the beginning of the message. base.h promises "op: ..." with the name once, or no name.
 */
#ifndef TRT_TESTS_MESSAGE_FORM_H
#define TRT_TESTS_MESSAGE_FORM_H

#include <string.h>

#include "tensorrt/base.h"
#include "tensorrt/dispatcher.h"

/* Whether `text` is an operator's name, with or without its overload. */
static inline int is_operator(const char* text, size_t length) {
  for (size_t i = 0, count = trt_op_count(); i < count; ++i) {
    const char* name = trt_op_name(i);
    if (strncmp(name, text, length) == 0 && (name[length] == 0 || name[length] == '.')) return 1;
  }
  return 0;
}

static inline const char* message_form(const trt_status* s) {
  const char *op = trt_status_op(s), *message = trt_status_message(s);
  const size_t n = strlen(op);
  if (n == 0) return NULL;
  if (strncmp(message, op, n) != 0 || strncmp(message + n, ": ", 2) != 0) return "the message does not begin with the name and a colon";
  message += n + 2;
  const char* colon = strstr(message, ": ");
  const size_t words = colon ? (size_t)(colon - message) : 0;
  if (words == 0) return NULL;
  if (is_operator(message, words) && is_operator(op, n)) return "the message begins with two operators; the inner one belongs to its end";
  /* One of the two begins with the other, up to the end of a word. */
  const size_t common = words < n ? words : n;
  const char next = words < n ? op[common] : message[common];
  if (strncmp(message, op, common) == 0 && strchr(":_.", next)) return "the message begins with the name twice";
  if (strncmp(op, "trt_", 4) == 0 && words < n && strncmp(op + n - words, message, words) == 0 && op[n - words - 1] == '_')
    return "the message begins with the name and its last words";
  return NULL;
}

#endif
