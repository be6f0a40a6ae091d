// The BLAS: the right core for the processor, measured too; the host's wishes; quiet loading; right products.
//
// What concerns loading runs in fresh processes of this program (argument: the case), whose environment is made for the case; they must end with code 0
// and print nothing but the reason of a failure.
#include <dlfcn.h>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/gemm.h"

#include "expect.h"

extern char** environ;

namespace {

using namespace trt;

#define REQUIRE(cond)                                            \
  do {                                                           \
    if (!(cond)) {                                               \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #cond);    \
      _exit(1);                                                  \
    }                                                            \
  } while (0)

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
}

int count_threads() {
  std::ifstream in("/proc/self/status");
  std::string line;
  while (std::getline(in, line))
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  return -1;
}

// Vector units by the compiler's runtime, not by the library's own detection. 0: neither AVX-512 nor AVX2 with FMA.
int widest_floats() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return 16;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 8;
#endif
  return 0;
}

// Processor time of this thread, so that neighbours who take the processor away do not count.
double seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

#if defined(__x86_64__)
volatile float g_sink;
constexpr int kChains = 12;  // independent ones: enough for two units with a latency of four or five cycles
constexpr int64_t kSteps = 200000;

__attribute__((target("avx512f"))) void fma_loop_512() {
  __m512 acc[kChains];
  for (auto& a : acc) a = _mm512_set1_ps(1);
  __m512 x = _mm512_set1_ps(0.999999f), y = _mm512_set1_ps(1e-6f);
  for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = _mm512_fmadd_ps(acc[c], x, y);
    __asm__ volatile("" : "+v"(x), "+v"(y));
  }
  for (auto& a : acc) g_sink = a[0];
}
__attribute__((target("avx2,fma"))) void fma_loop_256() {
  __m256 acc[kChains];
  for (auto& a : acc) a = _mm256_set1_ps(1);
  __m256 x = _mm256_set1_ps(0.999999f), y = _mm256_set1_ps(1e-6f);
  for (int64_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = _mm256_fmadd_ps(acc[c], x, y);
    __asm__ volatile("" : "+x"(x), "+x"(y));
  }
  for (auto& a : acc) g_sink = a[0];
}
#endif

// GFLOP/s of the best loop that the widest units can do, then of a 512^3 product, taken in turns so that both see the same machine.
void case_speed() {
#if defined(__x86_64__)
  const int width = widest_floats();
  if (width == 0) return;
  set_num_threads(1);
  constexpr int kN = 512;
  std::vector<float> a(kN * kN, 0.5f), b(kN * kN, 0.25f), c(kN * kN);
  const double flops = 2.0 * kN * kN * kN, peak_flops = 2.0 * width * kChains * kSteps;
  const auto time_peak = [&] {
    const double begin = seconds();
    if (width == 16) fma_loop_512();
    else fma_loop_256();
    return seconds() - begin;
  };
  // Neighbours slow this thread for a while, or take its processor: a product counts against the peak right before and after it, and only
  // where these two agree. Units of half the width reach less than half of it.
  double peak = 0, product = 0;
  int good = 0;
  for (int round = 0; round < 400; ++round) {
    const double before = time_peak(), begin = seconds();
    cpu::gemm(false, false, kN, kN, kN, 1.0f, a.data(), kN, b.data(), kN, 0.0f, c.data(), kN);
    const double taken = seconds() - begin, after = time_peak();
    if (std::max(before, after) > 1.1 * std::min(before, after)) continue;
    const double p = peak_flops / std::min(before, after) * 1e-9, q = flops / taken * 1e-9;
    if (q / p > product / std::max(peak, 1.0)) peak = p, product = q;
    if (q >= 0.55 * p && ++good == 2) return;
  }
  std::fprintf(stderr, "sgemm 512^3 reaches %.1f of %.1f GFLOP/s (%.2f, at least 0.55 expected) with core %s\n", product, peak, product / peak,
               cpu::blas().core_name.c_str());
  _exit(1);
#endif
}

void case_core() {
  const std::string core = cpu::blas().core_name;
  const int width = widest_floats();
  const bool wide_enough = width == 16   ? is_one_of(core, {"SkylakeX", "Cooperlake", "Sapphirerapids", "SapphireRapids"})
                           : width == 8 ? is_one_of(core, {"Haswell", "Zen"})
                                        : true;
  if (!wide_enough) std::fprintf(stderr, "the processor has units of %d floats, the core is %s\n", width, core.c_str());
  REQUIRE(wide_enough);
  REQUIRE(!cpu::blas().shared_with_host);
}

// OPENBLAS_CORETYPE=Haswell, as a host may have set it.
void case_host_chooses() { REQUIRE(widest_floats() == 0 || is_one_of(cpu::blas().core_name, {"Haswell"})); }
// Besides it, TRT_BLAS_CORE=SANDYBRIDGE, which is stronger.
void case_own_choice() { REQUIRE(widest_floats() == 0 || is_one_of(cpu::blas().core_name, {"Sandybridge"})); }

void right_products();
// A core that does not exist: products must come out right nevertheless.
void case_unknown_core() { right_products(); }

std::vector<std::string> environment() {
  std::vector<std::string> out;
  for (char** e = environ; *e; ++e) out.emplace_back(*e);
  return out;
}

void case_quiet() {
  char** const before = environ;
  const auto variables = environment();
  REQUIRE(count_threads() == 1);
  cpu::blas();
  REQUIRE(count_threads() == 1);
  REQUIRE(environ == before);
  REQUIRE(environment() == variables);
  REQUIRE(!std::getenv("OPENBLAS_NUM_THREADS"));
}

void case_missing_library() {  // TRT_OPENBLAS names a file that is not there
  const auto variables = environment();
  for (int i = 0; i < 2; ++i) {
    bool thrown = false;
    try {
      cpu::blas();
    } catch (const Error& e) {
      thrown = e.code() == Code::kUnavailable && e.message().find("/no/such/library.so") != std::string::npos;
    }
    REQUIRE(thrown);
  }
  REQUIRE(environment() == variables);
}

void case_host_has_loaded_it() {
  void* own = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(own);
  REQUIRE(cpu::blas().shared_with_host);
  right_products();
}

// Small integers, so that every order of summation gives the same bits.
template <typename T>
std::vector<T> integers(size_t n, std::mt19937& random) {
  std::vector<T> v(n);
  for (T& x : v) x = static_cast<T>(static_cast<int>(random() % 9) - 4);
  return v;
}

template <typename T>
void products_of() {
  std::mt19937 random(5);
  const int64_t sizes[][3] = {{1, 1, 1},  {1, 7, 3},   {3, 1, 129}, {2, 2, 0},    {5, 4, 1},     {17, 31, 23},  {64, 64, 64},
                              {65, 1, 9}, {1, 65, 70}, {33, 129, 65}, {130, 70, 257}, {257, 300, 19}};
  for (const auto& [m, n, k] : sizes) {
    for (int flags = 0; flags < 8; ++flags) {
      const bool ta = flags & 1, tb = flags & 2;
      const int64_t pad = flags & 4 ? 3 : 0;  // rows that lie apart
      const int64_t lda = std::max<int64_t>(1, (ta ? m : k) + pad), ldb = std::max<int64_t>(1, (tb ? k : n) + pad), ldc = n + pad;
      const auto a = integers<T>(static_cast<size_t>((ta ? k : m) * lda + 8), random), b = integers<T>(static_cast<size_t>((tb ? n : k) * ldb + 8), random);
      const auto c = integers<T>(static_cast<size_t>(m * ldc), random);
      for (const T beta : {T(0), T(1), T(-2)}) {
        auto got = c, want = c;
        if (beta == 0)
          for (int64_t i = 0; i < m; ++i) std::fill_n(got.begin() + i * ldc, n, static_cast<T>(NAN));  // must not be read
        cpu::gemm(ta, tb, m, n, k, T(2), a.data(), lda, b.data(), ldb, beta, got.data(), ldc);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            T s = 0;
            for (int64_t p = 0; p < k; ++p) s += a[static_cast<size_t>(ta ? p * lda + i : i * lda + p)] * b[static_cast<size_t>(tb ? j * ldb + p : p * ldb + j)];
            T& w = want[static_cast<size_t>(i * ldc + j)];
            w = 2 * s + (beta == 0 ? 0 : beta * w);
          }
        if (got != want) std::fprintf(stderr, "%d x %d x %d, transposed %d %d, beta %g: wrong\n", int(m), int(n), int(k), ta, tb, double(beta));
        REQUIRE(got == want);
      }
      // Matrix times vector, both ways, with increments.
      const auto x = integers<T>(static_cast<size_t>(2 * std::max(m, k) + 2), random);
      const int64_t rows = ta ? k : m, cols = ta ? m : k, out = ta ? cols : rows, in = ta ? rows : cols;
      if (out == 0 || in == 0) continue;
      std::vector<T> y(static_cast<size_t>(out * 2), T(7)), z = y;
      cpu::gemv(ta, rows, cols, T(1), a.data(), lda, x.data(), 2, T(3), y.data(), 2);
      for (int64_t i = 0; i < out; ++i) {
        T s = 0;
        for (int64_t p = 0; p < in; ++p) s += a[static_cast<size_t>(ta ? p * lda + i : i * lda + p)] * x[static_cast<size_t>(2 * p)];
        z[static_cast<size_t>(2 * i)] = s + 21;
      }
      REQUIRE(y == z);
    }
  }
  const auto x = integers<T>(999, random), y = integers<T>(333, random);
  T s = 0;
  for (size_t i = 0; i < 333; ++i) s += x[3 * i] * y[i];
  REQUIRE(cpu::dot(333, x.data(), 3, y.data(), 1) == s);
}
void right_products() {
  products_of<float>();
  products_of<double>();
}

template <typename T>
void same_bits() {
  std::mt19937 random(11);
  std::normal_distribution<T> normal;
  const int64_t sizes[][3] = {{511, 513, 300}, {1000, 3, 700}, {3, 1000, 700}, {700, 700, 1}, {129, 1000, 65}};
  for (const auto& [m, n, k] : sizes) {
    std::vector<T> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n)), c[3];
    for (T& v : a) v = normal(random);
    for (T& v : b) v = normal(random);
    for (int flags = 0; flags < 4; ++flags) {
      const bool ta = flags & 1, tb = flags & 2;
      for (int threads = 1; threads <= 3; ++threads) {
        set_num_threads(threads);
        auto& out = c[threads - 1];
        out.assign(static_cast<size_t>(m * n), T(0));
        cpu::gemm(ta, tb, m, n, k, T(1), a.data(), ta ? m : k, b.data(), tb ? k : n, T(0), out.data(), n);
      }
      REQUIRE(std::memcmp(c[0].data(), c[1].data(), c[0].size() * sizeof(T)) == 0);
      REQUIRE(std::memcmp(c[0].data(), c[2].data(), c[0].size() * sizeof(T)) == 0);
    }
  }
}
void case_same_bits() {
  same_bits<float>();
  same_bits<double>();
}
void case_products() { right_products(); }
void case_products_in_parallel() {
  set_num_threads(3);
  right_products();
}

struct Case {
  const char* name;
  void (*fn)();
  std::vector<std::string> variables;
  bool measures = false;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"core", case_core, {}},
      {"speed", case_speed, {}, true},
      {"host_chooses", case_host_chooses, {"OPENBLAS_CORETYPE=Haswell"}},
      {"own_choice", case_own_choice, {"OPENBLAS_CORETYPE=Haswell", "TRT_BLAS_CORE=SANDYBRIDGE"}},
      {"unknown_core", case_unknown_core, {"TRT_BLAS_CORE=NOSUCHCORE"}},
      {"quiet", case_quiet, {}},
      {"quiet_with_wishes", case_quiet, {"OPENBLAS_CORETYPE=Haswell"}},
      {"missing_library", case_missing_library, {"TRT_OPENBLAS=/no/such/library.so"}},
      {"host_has_loaded_it", case_host_has_loaded_it, {}},
      {"products", case_products, {}},
      {"products_haswell", case_products, {"OPENBLAS_CORETYPE=Haswell"}},
      {"products_in_parallel", case_products_in_parallel, {}},
      {"same_bits", case_same_bits, {}},
  };
  return all;
}

void run_case(void** state) {
  const Case& c = *static_cast<const Case*>(*state);
#if TRT_ASAN || TRT_TSAN
  if (c.measures) {
    print_message("a sanitizer measures nothing\n");
    skip();
  }
#endif
  std::vector<std::string> variables = c.variables;
  for (char** e = environ; *e; ++e) {
    const std::string entry = *e;
    bool dropped = false;
    for (const char* prefix : {"OPENBLAS_", "TRT_BLAS_CORE=", "TRT_OPENBLAS=", "TRT_NUM_THREADS=", "GOTO_NUM_THREADS=", "OMP_NUM_THREADS="})
      dropped |= entry.rfind(prefix, 0) == 0;
    if (!dropped) variables.push_back(entry);
  }
  std::vector<char*> envp;
  for (auto& v : variables) envp.push_back(v.data());
  envp.push_back(nullptr);
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    const char* argv[] = {"test_blas", c.name, nullptr};
    execve("/proc/self/exe", const_cast<char**>(argv), envp.data());
    _exit(126);
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0 || !said.empty()) {
    print_error("%s: status %d, it said: \"%s\"\n", c.name, status, said.c_str());
    fail();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    for (const Case& c : cases())
      if (std::strcmp(argv[1], c.name) == 0) {
        c.fn();
        return 0;
      }
    return 125;
  }
  std::vector<CMUnitTest> tests;
  for (const Case& c : cases()) tests.push_back({c.name, run_case, nullptr, nullptr, const_cast<Case*>(&c)});
  return _cmocka_run_group_tests("blas", tests.data(), tests.size(), nullptr, nullptr);
}
