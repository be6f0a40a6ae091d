/*
 * What an embedding process must be able to rely on: fork, exit in any order, quiet and unchanged process state, locales, threads and their number,
 * memory limits. Each case runs in a fresh process of this program (argument: the case's name), whose exit code must be 0 and whose stdout and stderr
 * must stay empty: it prints only to explain a failure.
 */
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tensorrt/tensorrt.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#if defined(__SANITIZE_THREAD__)
#define TSAN 1
#else
#define TSAN 0
#endif

extern char** environ;

/* In a case: prints where and ends the process. */
#define REQUIRE(cond)                                                   \
  do {                                                                  \
    if (!(cond)) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);        \
      _exit(1);                                                         \
    }                                                                   \
  } while (0)
#define OK(call) require_ok((call), #call, __LINE__)
static void require_ok(trt_status* s, const char* what, int line) {
  if (!s) return;
  fprintf(stderr, "line %d: %s: %s: %s\n", line, what, trt_code_name(trt_status_code(s)), trt_status_message(s));
  _exit(1);
}

static trt_tensor* filled(int64_t rows, int64_t cols, double value) {
  const int64_t sizes[] = {rows, cols};
  trt_tensor* t;
  OK(trt_full(sizes, 2, trt_scalar_double(value), TRT_FLOAT32, NULL, &t));
  return t;
}

static double sum_of(const trt_tensor* t) {
  trt_tensor* s;
  double v;
  OK(trt_sum(t, NULL, 0, false, TRT_FLOAT64, &s));
  OK(trt_tensor_item_double(s, &v));
  trt_tensor_release(s);
  return v;
}

/* Parallel pointwise work, a product (BLAS), random numbers, backward, Fourier transforms (which share tables). */
static void work(void) {
  trt_tensor *a = filled(600, 500, 2), *b = filled(600, 500, 3), *c, *r;
  OK(trt_add(a, b, trt_scalar_double(1), &c));
  REQUIRE(sum_of(c) == 5.0 * 600 * 500);
  trt_tensor_release(c);
  trt_tensor *m = filled(70, 90, 1), *n = filled(90, 80, 2);
  OK(trt_tensor_set_requires_grad(m, true));
  OK(trt_matmul(m, n, &c));
  REQUIRE(sum_of(c) == 70.0 * 80 * 90 * 2);
  trt_tensor *s, *g;
  OK(trt_sum(c, NULL, 0, false, TRT_DTYPE_NONE, &s));
  OK(trt_tensor_backward(s));
  OK(trt_tensor_grad(m, &g));
  REQUIRE(sum_of(g) == 70.0 * 90 * 160);
  const int64_t size = 100000;
  OK(trt_randn(&size, 1, NULL, TRT_FLOAT32, NULL, &r));
  REQUIRE(fabs(sum_of(r)) < 3000);
  trt_tensor* all[] = {a, b, c, m, n, s, g, r};
  for (int64_t length = 500; length < 504; ++length) {
    trt_tensor* waves;
    OK(trt_fft_rfft(a, &length, 1, NULL, &waves));
    trt_tensor_release(waves);
  }
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) trt_tensor_release(all[i]);
}

/* Ends when the child ends; fails when it was killed (SIGALRM: it hung). */
static void join_child(pid_t pid) {
  int status = 0;
  REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
  if (WIFSIGNALED(status)) fprintf(stderr, "the child was ended by signal %d%s\n", WTERMSIG(status), WTERMSIG(status) == SIGALRM ? " (it hung)" : "");
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
static void guard_child(void) { alarm(SANITIZED ? 60 : 20); }

static void pause_ms(long ms) {
  const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

/* --- fork --- */

static void case_fork_before_use(void) {
  const pid_t pid = fork();
  if (pid == 0) {
    guard_child();
    OK(trt_set_num_threads(4));
    work();
    exit(0);
  }
  work();
  join_child(pid);
  work();
}

static trt_data_loader* loader_over(const trt_tensor* samples, int workers) {
  trt_dataset* dataset;
  trt_data_loader* loader;
  OK(trt_dataset_from_tensors(&samples, 1, &dataset));
  trt_data_loader_options o;
  trt_data_loader_options_init(&o);
  o.num_workers = workers;
  o.batch_size = 10;
  OK(trt_data_loader_create(dataset, &o, &loader));
  trt_dataset_release(dataset);
  return loader;
}
static trt_code next_batch(trt_data_loader* loader) {
  trt_tensor_list* batch = NULL;
  bool more = false;
  trt_status* s = trt_data_loader_next(loader, &batch, &more);
  const trt_code code = trt_status_code(s);
  trt_status_release(s);
  trt_tensor_list_release(batch);
  return code;
}

static void case_fork_after_use(void) {
  OK(trt_set_num_threads(4));
  work();
  trt_tensor* kept = filled(300, 300, 1);
  trt_data_loader *inline_loader = loader_over(kept, 0), *threaded = loader_over(kept, 2);
  REQUIRE(next_batch(inline_loader) == TRT_OK && next_batch(threaded) == TRT_OK);
  for (int i = 0; i < 4; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      guard_child();
      REQUIRE(sum_of(kept) == 90000);
      work();
      REQUIRE(next_batch(inline_loader) == TRT_OK);
      REQUIRE(next_batch(threaded) == TRT_FAILED_PRECONDITION); /* its threads stayed behind, and it says so */
      trt_data_loader_release(threaded);
      if (!TSAN) { /* which forbids threads in such a child */
        OK(trt_set_num_threads(3));
        work();
        trt_data_loader* own = loader_over(kept, 2);
        REQUIRE(next_batch(own) == TRT_OK);
        trt_data_loader_release(own);
        const pid_t grandchild = fork();
        if (grandchild == 0) {
          work();
          trt_shutdown();
          exit(0);
        }
        join_child(grandchild);
      }
      trt_tensor_release(kept);
      work();
      exit(0);
    }
    work();
    join_child(pid);
    REQUIRE(next_batch(threaded) == TRT_OK);
  }
  trt_data_loader_release(inline_loader);
  trt_data_loader_release(threaded);
  trt_tensor_release(kept);
}

static volatile int g_stop;
static void* compute_until_stopped(void* arg) {
  (void)arg;
  const int64_t size = 300;
  while (!g_stop) {
    trt_tensor *r, *s, *m = filled(20, 20, 1), *p;
    OK(trt_rand(&size, 1, NULL, TRT_FLOAT32, NULL, &r));
    OK(trt_add(r, r, trt_scalar_double(1), &s));
    OK(trt_matmul(m, m, &p));
    trt_memory_stats stats;
    trt_memory_stats_init(&stats);
    OK(trt_memory_get_stats((trt_device){TRT_CPU, 0}, &stats));
    char* text;
    OK(trt_op_schema("add", &text));
    trt_string_release(text);
    trt_tensor* all[] = {r, s, m, p};
    for (size_t i = 0; i < 4; ++i) trt_tensor_release(all[i]);
  }
  return NULL;
}

/* Whatever lock another thread holds at the moment of fork() must not be locked for ever in the child. */
static void case_fork_while_busy(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) REQUIRE(pthread_create(&threads[i], NULL, compute_until_stopped, NULL) == 0);
  for (int i = 0; i < 150; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      guard_child();
      const int64_t size = 300;
      trt_tensor *r, *s;
      OK(trt_rand(&size, 1, NULL, TRT_FLOAT32, NULL, &r));
      OK(trt_add(r, r, trt_scalar_double(1), &s));
      trt_tensor *m = filled(20, 20, 1), *p;
      OK(trt_matmul(m, m, &p));
      char* text;
      OK(trt_op_schema("add", &text));
      OK(trt_manual_seed(3));
      OK(trt_set_log_callback(NULL, NULL, NULL));
      trt_memory_stats stats;
      trt_memory_stats_init(&stats);
      OK(trt_memory_get_stats((trt_device){TRT_CPU, 0}, &stats));
      trt_shutdown();
      _exit(0);
    }
    join_child(pid);
  }
  g_stop = 1;
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
}

/* The first product loads the BLAS; a fork at that moment leaves a child that can load it, too. */
static void case_fork_while_loading(void) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, compute_until_stopped, NULL) == 0);
  for (int i = 0; i < 60; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      guard_child();
      work();
      _exit(0);
    }
    join_child(pid);
    if (i < 30) sched_yield();
  }
  g_stop = 1;
  pthread_join(thread, NULL);
}

/* --- exit --- */

static trt_tensor* g_alive[4];
static trt_tensor_list* g_list;
static trt_generator* g_generator;
static trt_module* g_module;

static void make_handles(void) {
  g_alive[0] = filled(10, 10, 1);
  g_alive[1] = filled(1000, 1000, 1);
  OK(trt_tensor_set_requires_grad(g_alive[1], true));
  OK(trt_mul(g_alive[1], g_alive[1], &g_alive[2]));
  OK(trt_sum(g_alive[2], NULL, 0, false, TRT_DTYPE_NONE, &g_alive[3]));
  OK(trt_chunk(g_alive[0], 3, 0, &g_list));
  OK(trt_generator_create(1, &g_generator));
  OK(trt_linear_create(4, 4, NULL, &g_module));
}
static void release_handles(void) {
  for (int i = 0; i < 4; ++i) trt_tensor_release(g_alive[i]);
  trt_tensor_list_release(g_list);
  trt_generator_release(g_generator);
  trt_module_release(g_module);
  memset(g_alive, 0, sizeof g_alive);
  g_list = NULL;
  g_generator = NULL;
  g_module = NULL;
}

static void case_exit_with_handles(void) {
  work();
  make_handles();
}

static int g_release_in_destructor;
__attribute__((destructor)) static void late_destructor(void) {
  if (!g_release_in_destructor) return;
  release_handles();
  work();
  trt_shutdown();
}
static void at_exit_compute(void) {
  OK(trt_tensor_backward(g_alive[3]));
  work();
}
static void case_exit_atexit_first(void) { /* registered before the library's first use: runs after whatever the library registers */
  atexit(at_exit_compute);
  OK(trt_set_num_threads(4));
  work();
  make_handles();
  g_release_in_destructor = 1;
}
static void case_exit_atexit_last(void) {
  OK(trt_set_num_threads(4));
  work();
  make_handles();
  trt_shutdown();
  atexit(release_handles);
  atexit(at_exit_compute);
}

static void* big_products(void* arg) {
  (void)arg;
  trt_tensor *m = filled(400, 400, 1), *p, *s;
  for (;;) {
    OK(trt_matmul(m, m, &p));
    OK(trt_add(p, m, trt_scalar_double(1), &s));
    trt_tensor_release(p);
    trt_tensor_release(s);
  }
  return NULL;
}
static void start_detached(void) {
  pthread_t t;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(pthread_create(&t, NULL, big_products, NULL) == 0);
    pthread_detach(t);
  }
  pause_ms(40);
}
static void case_exit_while_computing(void) {
  OK(trt_set_num_threads(3));
  start_detached();
}
static void case_exit_while_computing_atexit(void) {
  atexit(work);
  OK(trt_set_num_threads(3));
  start_detached();
}
/* The end of a process may take long, in finalizers of other libraries or, as here, while the last of a stream's buffer waits for a slow reader. */
static void case_exit_slowly_while_computing(void) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[1]);
    pause_ms(400);
    char drain[4096];
    while (read(ends[0], drain, sizeof drain) > 0) {
    }
    _exit(0);
  }
  static const char block[4096];
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  while (write(ends[1], block, sizeof block) > 0) {
  }
  fcntl(ends[1], F_SETFL, 0);
  FILE* stream = fdopen(ends[1], "w");
  REQUIRE(pid > 0 && stream && fwrite(block, 1, 2000, stream) == 2000);
  OK(trt_set_num_threads(3));
  start_detached();
}
/* The end begins at some moment of the first product, which loads the BLAS. */
static void* small_products(void* arg) {
  (void)arg;
  trt_tensor *m = filled(20, 20, 1), *p;
  for (;;) {
    OK(trt_matmul(m, m, &p));
    trt_tensor_release(p);
  }
  return NULL;
}
static void case_exit_while_loading(void) {
  for (int i = 0; i < 200; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      guard_child();
      pthread_t t;
      REQUIRE(pthread_create(&t, NULL, small_products, NULL) == 0);
      pthread_detach(t);
      const struct timespec moment = {0, i * 200000};
      nanosleep(&moment, NULL);
      exit(0);
    }
    join_child(pid);
  }
}
/* Handlers of the host that were registered before the library's first use run after its own. */
static void start_small_products(void) {
  pthread_t t;
  REQUIRE(pthread_create(&t, NULL, small_products, NULL) == 0);
  pthread_detach(t);
  pause_ms(10);
}
static void case_exit_starts_loading(void) { atexit(start_small_products); }
static void* exits(void* arg) {
  (void)arg;
  pause_ms(30);
  exit(0);
}
static void case_exit_in_thread(void) {
  pthread_t t;
  OK(trt_set_num_threads(2));
  REQUIRE(pthread_create(&t, NULL, exits, NULL) == 0);
  big_products(NULL);
}
static void* works_after_main(void* arg) {
  pause_ms(20);
  work();
  exit(0); /* the pool's threads would keep the process alive, as any library's do */
  return arg;
}
static void case_main_thread_ends_first(void) {
  pthread_t t;
  OK(trt_set_num_threads(3));
  work();
  REQUIRE(pthread_create(&t, NULL, works_after_main, NULL) == 0);
  pthread_exit(NULL);
}

/* --- the state of the process --- */

static void provoke_errors(void) {
  trt_tensor *a = filled(2, 3, 1), *b = filled(4, 5, 1), *c = NULL;
  trt_status_release(trt_add(a, b, trt_scalar_double(1), &c));
  trt_status_release(trt_matmul(a, b, &c));
  trt_status_release(trt_add(NULL, b, trt_scalar_double(1), &c));
  trt_status_release(trt_tensor_backward(a));
  trt_status_release(trt_op_call("no_such_operator", NULL, NULL, 0, NULL, NULL));
  trt_safetensors* f = NULL;
  trt_status_release(trt_safetensors_open("/no/such/file", &f));
  const int64_t huge[] = {INT64_C(1) << 40, 1 << 10};
  trt_status_release(trt_zeros(huge, 2, TRT_FLOAT32, NULL, &c));
  REQUIRE(c == NULL && f == NULL);
  trt_tensor_release(a);
  trt_tensor_release(b);
}

static uint64_t hash_text(uint64_t h, const char* s) {
  for (; *s; ++s) h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
  return h * 31 + 1;
}
struct process_state {
  void (*handlers[65])(int);
  sigset_t blocked;
  stack_t alternate;
  char** environment;
  uint64_t variables, locale, directory;
  mode_t mask;
  int rounding;
};
static void read_state(struct process_state* s) {
  memset(s, 0, sizeof *s);
  for (int i = 1; i <= 64; ++i) {
    struct sigaction a;
    if (sigaction(i, NULL, &a) == 0) s->handlers[i] = a.sa_handler;
  }
  pthread_sigmask(SIG_SETMASK, NULL, &s->blocked);
  sigaltstack(NULL, &s->alternate);
  s->environment = environ;
  for (char** e = environ; *e; ++e) s->variables = hash_text(s->variables, *e);
  s->locale = hash_text(0, setlocale(LC_ALL, NULL));
  char directory[4096];
  s->directory = hash_text(0, getcwd(directory, sizeof directory) ? directory : "");
  s->mask = umask(022);
  umask(s->mask);
  s->rounding = fegetround();
}
static void case_process_state(void) {
  struct process_state before, after;
  read_state(&before);
  OK(trt_set_num_threads(4));
  work();
  provoke_errors();
  char* text;
  OK(trt_build_info(&text));
  trt_string_release(text);
  trt_shutdown();
  read_state(&after);
  REQUIRE(memcmp(before.handlers, after.handlers, sizeof before.handlers) == 0);
  for (int i = 1; i <= 64; ++i) REQUIRE(sigismember(&before.blocked, i) == sigismember(&after.blocked, i));
  REQUIRE(before.alternate.ss_sp == after.alternate.ss_sp && before.alternate.ss_flags == after.alternate.ss_flags);
  REQUIRE(before.environment == after.environment && before.variables == after.variables);
  REQUIRE(before.locale == after.locale && before.directory == after.directory);
  REQUIRE(before.mask == after.mask && before.rounding == after.rounding);
}

/* Everything that prints or parses numbers, as one text. */
static void texts_of_numbers(char* out, size_t room) {
  char *a, *b, *c;
  const float values[] = {0.5f, -1234.25f, 1e-9f, 3.0e8f};
  const int64_t n = 4;
  trt_tensor* t;
  OK(trt_tensor_from_data(values, &n, 1, TRT_FLOAT32, &t));
  OK(trt_tensor_to_string(t, &a));
  OK(trt_op_schema("layer_norm", &b));
  trt_dropout_create(0.25, &g_module);
  OK(trt_module_to_string(g_module, &c));
  trt_module_release(g_module);
  g_module = NULL;
  trt_status* s = trt_dropout(t, 1.5, true, NULL, &g_alive[0]);
  REQUIRE(s && g_alive[0] == NULL);
  char path[] = "/tmp/trt-locale-XXXXXX";
  const int file = mkstemp(path);
  REQUIRE(file >= 0);
  close(file);
  const char *name = "w.0,5", *key = "lr", *value = "0.5";
  OK(trt_safetensors_save(path, &name, (const trt_tensor* const*)&t, 1, &key, &value, 1));
  trt_safetensors* f;
  OK(trt_safetensors_open(path, &f));
  trt_tensor* loaded;
  OK(trt_safetensors_tensor(f, name, TRT_LOAD_COPY, &loaded));
  float back[4];
  OK(trt_tensor_copy_to_host(loaded, back, TRT_FLOAT32, 4));
  REQUIRE(memcmp(values, back, sizeof back) == 0);
  FILE* raw = fopen(path, "rb");
  char header[512] = "";
  REQUIRE(raw && fread(header, 1, sizeof header - 1, raw) > 8);
  fclose(raw);
  unlink(path);
  REQUIRE(strlen(trt_status_message(s)) > 0 && strstr(trt_status_message(s), "1.5"));
  snprintf(out, room, "%s|%s|%s|%s|%s|%s", a, b, c, trt_status_message(s), header + 8, trt_safetensors_metadata(f, "lr"));
  trt_status_release(s);
  trt_safetensors_release(f);
  trt_tensor_release(loaded);
  trt_tensor_release(t);
  trt_string_release(a);
  trt_string_release(b);
  trt_string_release(c);
}
#define NO_LOCALE 77
static void case_comma_locale(void) {
  char plain[8192], comma[8192], number[32], directory[] = "/tmp/trt-locales-XXXXXX", command[512];
  texts_of_numbers(plain, sizeof plain);
  REQUIRE(strstr(plain, "layer_norm") && strstr(plain, "1e-05") && strstr(plain, "p=0.25"));
  if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
    REQUIRE(mkdtemp(directory));
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", directory);
    const int built = system(command);
    setenv("LOCPATH", directory, 1);
    const char* set = built == 0 ? setlocale(LC_ALL, "de_DE.UTF-8") : NULL;
    snprintf(command, sizeof command, "rm -r %s", directory);
    REQUIRE(system(command) == 0);
    if (!set) _exit(NO_LOCALE);
  }
  snprintf(number, sizeof number, "%.1f", 0.5);
  REQUIRE(strcmp(number, "0,5") == 0);
  texts_of_numbers(comma, sizeof comma);
  if (strcmp(plain, comma) != 0) fprintf(stderr, "--- C:\n%s\n--- de_DE:\n%s\n", plain, comma);
  REQUIRE(strcmp(plain, comma) == 0);
  work();
}

/* --- threads and processors --- */

static int count_threads(void) {
  char line[256];
  int n = 0;
  FILE* f = fopen("/proc/self/status", "r");
  REQUIRE(f);
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "Threads: %d", &n) == 1) break;
  fclose(f);
  return n;
}

static pthread_barrier_t g_barrier;
static void* meets_and_works(void* arg) {
  pthread_barrier_wait(&g_barrier);
  for (int i = 0; i < 5; ++i) work();
  pthread_barrier_wait(&g_barrier);
  pthread_barrier_wait(&g_barrier);
  return arg;
}
static void case_thread_count(void) {
  enum { kHosts = 16, kPool = 4 };
  REQUIRE(count_threads() == 1); /* loading starts none */
  OK(trt_set_num_threads(kPool));
  REQUIRE(count_threads() == 1);
  pthread_barrier_init(&g_barrier, NULL, kHosts + 1);
  pthread_t threads[kHosts];
  for (int i = 0; i < kHosts; ++i) REQUIRE(pthread_create(&threads[i], NULL, meets_and_works, NULL) == 0);
  pthread_barrier_wait(&g_barrier);
  int most = 0;
  for (int i = 0; i < 20; ++i) {
    const int now = count_threads();
    most = now > most ? now : most;
    pause_ms(2);
  }
  pthread_barrier_wait(&g_barrier);
  const int now = count_threads();
  most = now > most ? now : most;
  pthread_barrier_wait(&g_barrier);
  for (int i = 0; i < kHosts; ++i) pthread_join(threads[i], NULL);
  REQUIRE(most <= 1 + kHosts + kPool - 1);
  REQUIRE(now >= 1 + kHosts + 1); /* and the pool was there */
  OK(trt_set_num_threads(1));
  int left = count_threads();
  for (int i = 0; i < 500 && left > 1; ++i, left = count_threads()) pause_ms(2);
  REQUIRE(left == 1);
}

static void case_idle_burns_nothing(void) {
  OK(trt_set_num_threads(8));
  work();
  pause_ms(20); /* workers watch for new work for a moment before they sleep */
  struct timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  pause_ms(300);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double ms = (double)(after.tv_sec - before.tv_sec) * 1e3 + (double)(after.tv_nsec - before.tv_nsec) / 1e6;
  if (ms >= 3) fprintf(stderr, "%.2f ms of processor time in 300 ms of rest\n", ms);
  REQUIRE(ms < 3);
}

/* The same numbers whatever other threads do to the number of threads. */
static trt_tensor* reference_result(void) {
  trt_generator* g;
  OK(trt_generator_create(7, &g));
  const int64_t sizes[] = {257, 300}, dim = 0;
  trt_tensor *r, *q, *p, *e, *s;
  OK(trt_randn(sizes, 2, g, TRT_FLOAT32, NULL, &r));
  OK(trt_mT(r, &q));
  OK(trt_matmul(r, q, &p));
  OK(trt_softmax(p, 1, TRT_DTYPE_NONE, &e));
  OK(trt_sum(e, &dim, 1, false, TRT_DTYPE_NONE, &s));
  trt_generator_release(g);
  trt_tensor* all[] = {r, q, p, e};
  for (size_t i = 0; i < 4; ++i) trt_tensor_release(all[i]);
  return s;
}
static void* compares_with_reference(void* arg) {
  const trt_tensor* want = arg;
  for (int i = 0; i < 8; ++i) {
    trt_tensor* got = reference_result();
    REQUIRE(memcmp(trt_tensor_data(got), trt_tensor_data(want), 257 * 4) == 0);
    trt_tensor_release(got);
  }
  return NULL;
}
static void case_many_threads_many_settings(void) {
  OK(trt_set_num_threads(1));
  trt_tensor* want = reference_result();
  pthread_t threads[6];
  for (int i = 0; i < 6; ++i) REQUIRE(pthread_create(&threads[i], NULL, compares_with_reference, want) == 0);
  for (int i = 0; i < 60; ++i) {
    OK(trt_set_num_threads(1 + i * 5 % 7));
    pause_ms(1);
  }
  for (int i = 0; i < 6; ++i) pthread_join(threads[i], NULL);
  trt_tensor_release(want);
}

static void case_affinity(void) {
  cpu_set_t mask;
  REQUIRE(sched_getaffinity(0, sizeof mask, &mask) == 0);
  int first = 0;
  while (!CPU_ISSET(first, &mask)) ++first;
  const int all = CPU_COUNT(&mask);
  unsetenv("TRT_NUM_THREADS");
  const pid_t pid = fork();
  if (pid == 0) {
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    REQUIRE(sched_setaffinity(0, sizeof mask, &mask) == 0);
    REQUIRE(trt_get_num_threads() == 1);
    work();
    REQUIRE(count_threads() == 1);
    _exit(0);
  }
  join_child(pid);
  const pid_t other = fork();
  if (other == 0) {
    setenv("TRT_NUM_THREADS", "5", 1);
    REQUIRE(trt_get_num_threads() == 5);
    _exit(0);
  }
  join_child(other);
  REQUIRE(trt_get_num_threads() >= 1 && trt_get_num_threads() <= all);
}

/* --- the runner --- */

struct named_case {
  const char* name;
  void (*fn)(void);
  int repeat;
};
static const struct named_case kCases[] = {
    {"fork_before_use", case_fork_before_use, 1},
    /* The sanitizers' allocators have locks that a busy thread, as those of the loader of fork_after_use, may hold while another forks. */
    {"fork_after_use", case_fork_after_use, SANITIZED && !TSAN ? 0 : 1},
    {"fork_while_busy", case_fork_while_busy, SANITIZED ? 0 : 1},
    {"fork_while_loading", case_fork_while_loading, SANITIZED ? 0 : 1},
    {"exit_with_handles", case_exit_with_handles, 1},
    {"exit_atexit_first", case_exit_atexit_first, 1},
    {"exit_atexit_last", case_exit_atexit_last, 1},
    /* TSAN: the destructors of libgfortran and OpenBLAS, which run at exit, are not ours. */
    {"exit_while_computing", case_exit_while_computing, TSAN ? 0 : 10},
    {"exit_while_computing_atexit", case_exit_while_computing_atexit, 5},
    {"exit_slowly_while_computing", case_exit_slowly_while_computing, TSAN ? 0 : 2},
    {"exit_while_loading", case_exit_while_loading, TSAN ? 0 : 1},
    {"exit_starts_loading", case_exit_starts_loading, TSAN ? 0 : 5},
    {"exit_in_thread", case_exit_in_thread, TSAN ? 0 : 5},
    {"main_thread_ends_first", case_main_thread_ends_first, 1},
    {"process_state", case_process_state, 1},
    {"comma_locale", case_comma_locale, 1},
    {"thread_count", case_thread_count, TSAN ? 0 : 1}, /* ThreadSanitizer has a thread of its own */
    {"idle_burns_nothing", case_idle_burns_nothing, SANITIZED ? 0 : 1},
    {"many_threads_many_settings", case_many_threads_many_settings, 1},
    {"affinity", case_affinity, TSAN ? 0 : 1},
};

static void run_case(void** state) {
  const struct named_case* c = *state;
  if (c->repeat == 0) {
    print_message("%s says nothing under this sanitizer\n", c->name);
    skip();
  }
  for (int i = 0; i < c->repeat; ++i) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      dup2(ends[1], 1);
      dup2(ends[1], 2);
      close(ends[0]);
      close(ends[1]);
      /* In a forked child, what only the stacks of the parent's threads held looks leaked. */
      if (SANITIZED && strncmp(c->name, "fork", 4) == 0) setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
      execl("/proc/self/exe", "test_host", c->name, (char*)NULL);
      _exit(126);
    }
    close(ends[1]);
    char said[16384];
    size_t length = 0;
    const time_t limit = time(NULL) + (SANITIZED ? 300 : 90);
    bool hung = false;
    for (;;) {
      struct pollfd p = {ends[0], POLLIN, 0};
      const int ready = poll(&p, 1, 1000);
      if (ready == 0 && time(NULL) > limit) {
        hung = true;
        kill(pid, SIGKILL);
        break;
      }
      if (ready <= 0) continue;
      const ssize_t n = read(ends[0], said + length, sizeof said - 1 - length);
      if (n <= 0) break;
      length += (size_t)n;
    }
    close(ends[0]);
    said[length] = 0;
    int status = 0;
    waitpid(pid, &status, 0);
    if (!hung && WIFEXITED(status) && WEXITSTATUS(status) == NO_LOCALE) {
      print_message("no comma locale can be had here\n");
      skip();
    }
    if (hung || status != 0 || length) {
      print_error("%s, run %d: %s %d; it said: \"%s\"\n", c->name, i + 1, hung ? "hung, status" : WIFSIGNALED(status) ? "signal" : "exit code",
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), said);
      fail();
    }
  }
}

int main(int argc, char** argv) {
  enum { kCount = sizeof kCases / sizeof *kCases };
  if (argc > 1) {
    for (int i = 0; i < kCount; ++i)
      if (strcmp(argv[1], kCases[i].name) == 0) {
        kCases[i].fn();
        return 0;
      }
    return 125;
  }
  struct CMUnitTest tests[kCount];
  memset(tests, 0, sizeof tests);
  for (int i = 0; i < kCount; ++i) {
    tests[i].name = kCases[i].name;
    tests[i].test_func = run_case;
    tests[i].initial_state = (void*)&kCases[i];
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
