#include "kernels/cpu/blas.h"

#include <cpuid.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/lazy.h"
#include "base/macros.h"

namespace trt::cpu {

namespace {

struct CpuFeatures {
  bool avx = false, avx2_fma = false, avx512 = false, avx512_bf16 = false;
};

CpuFeatures detect_cpu() {
  CpuFeatures f;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return f;
  const bool osxsave = c & (1u << 27), avx = c & (1u << 28), fma = c & (1u << 12);
  if (!osxsave || !avx) return f;
  unsigned xcr0_low, xcr0_high;
  __asm__ volatile("xgetbv" : "=a"(xcr0_low), "=d"(xcr0_high) : "c"(0));
  if ((xcr0_low & 0x6) != 0x6) return f;  // the system saves XMM and YMM
  f.avx = true;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
  const unsigned max_subleaf = a;
  f.avx2_fma = fma && (b & (1u << 5));
  const unsigned need = (1u << 16) | (1u << 17) | (1u << 28) | (1u << 30) | (1u << 31);  // f, dq, cd, bw, vl
  f.avx512 = f.avx2_fma && (b & need) == need && (xcr0_low & 0xe6) == 0xe6;              // opmask and ZMM saved
  if (f.avx512 && max_subleaf >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) f.avx512_bf16 = a & (1u << 5);
  return f;
}

// The environment with `core` (when not empty) and one thread for OpenBLAS. Leaked on purpose: see the note in blas.h.
// The list keeps the blocks reachable for leak checkers; guarded by the lock of loading.
constinit std::vector<void*>* g_environments = nullptr;
char** environment_for(const std::string& core) {
  if (!g_environments) g_environments = new std::vector<void*>;
  std::vector<std::string_view> drop = {"OPENBLAS_NUM_THREADS="};
  if (!core.empty()) drop.push_back("OPENBLAS_CORETYPE=");
  size_t n = 0;
  char** old = environ;
  while (old && old[n]) ++n;
  char** copy = static_cast<char**>(std::calloc(n + 3, sizeof(char*)));
  if (!copy) throw_error(Code::kOutOfMemory, "loading OpenBLAS: no memory for an environment");
  g_environments->push_back(copy);
  size_t out = 0;
  for (size_t i = 0; i < n && old[i]; ++i) {
    std::string_view entry = old[i];
    bool dropped = false;
    for (auto d : drop) dropped |= entry.starts_with(d);
    if (!dropped) copy[out++] = old[i];
  }
  auto add = [&](const std::string& entry) {
    char* s = ::strdup(entry.c_str());
    if (!s) throw_error(Code::kOutOfMemory, "loading OpenBLAS: no memory for an environment");
    g_environments->push_back(s);
    copy[out++] = s;
  };
  if (!core.empty()) add("OPENBLAS_CORETYPE=" + core);
  add("OPENBLAS_NUM_THREADS=1");
  return copy;
}

void* open_with_environment(const char* name, char** env) {
  char** old = environ;
  environ = env;
  void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  // A setenv elsewhere during dlopen has replaced the array by one of its own, which must stay.
  if (environ == env) environ = old;
  return handle;
}

// A small product with every combination of transposition against the definition; sizes hit full tiles and edges.
template <typename T, typename Gemm>
bool gemm_computes(Gemm gemm) {
  const int sizes[][3] = {{1, 1, 1}, {4, 8, 16}, {17, 33, 19}, {64, 48, 70}, {5, 129, 40}};
  const double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-13;
  for (auto& [m, n, k] : sizes) {
    for (int trans = 0; trans < 4; ++trans) {
      const bool ta = trans & 1, tb = trans & 2;
      std::vector<T> a(size_t(m) * k), b(size_t(k) * n), c(size_t(m) * n), want(c.size());
      unsigned seed = 12345u + unsigned(m * 7 + n * 3 + k + trans);
      auto fill = [&](std::vector<T>& v) {
        for (auto& x : v) {
          seed = seed * 1664525u + 1013904223u;
          x = T(int(seed >> 16) % 257 - 128) / T(128);
        }
      };
      fill(a), fill(b), fill(c);
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
          double s = 0;
          for (int p = 0; p < k; ++p)
            s += double(ta ? a[p * m + i] : a[i * k + p]) * double(tb ? b[j * k + p] : b[p * n + j]);
          want[i * n + j] = T(0.5 * s + 2.0 * double(c[i * n + j]));
        }
      }
      gemm(kBlasRowMajor, ta ? kBlasTrans : kBlasNoTrans, tb ? kBlasTrans : kBlasNoTrans, m, n, k, T(0.5), a.data(),
           ta ? m : k, b.data(), tb ? k : n, T(2), c.data(), n);
      for (size_t i = 0; i < c.size(); ++i) {
        if (!(std::abs(double(c[i]) - double(want[i])) <= tolerance * (1 + k))) return false;
      }
    }
  }
  return true;
}

template <typename F>
void resolve(void* handle, const char* name, F& out) {
  out = reinterpret_cast<F>(::dlsym(handle, name));
  if (!out) throw_error(Code::kUnavailable, str_cat("OpenBLAS: the library has no function ", name));
}

// Takes over an opened library: functions, one thread, core name.
void attach(Blas& b) {
  resolve(b.handle, "cblas_sgemm", b.sgemm);
  resolve(b.handle, "cblas_dgemm", b.dgemm);
  resolve(b.handle, "cblas_sgemv", b.sgemv);
  resolve(b.handle, "cblas_dgemv", b.dgemv);
  resolve(b.handle, "cblas_sdot", b.sdot);
  resolve(b.handle, "cblas_ddot", b.ddot);
  if (auto set_threads = reinterpret_cast<void (*)(int)>(::dlsym(b.handle, "openblas_set_num_threads"))) set_threads(1);
  auto corename = reinterpret_cast<char* (*)()>(::dlsym(b.handle, "openblas_get_corename"));
  const char* name = corename ? corename() : nullptr;
  b.core_name = name ? name : "unknown";
}

// Sets how many bytes of finalizers a loaded library has, and returns how many it had. With 0, none runs when the process ends; dlclose
// needs them.
size_t set_finalizers(void* handle, size_t bytes) {
  struct Search {
    const link_map* map = nullptr;
    uintptr_t fixed = 0, fixed_end = 0;  // what the loader made read-only after relocation
  } search;
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_ld) return 0;
  search.map = map;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* arg) {
        auto& s = *static_cast<Search*>(arg);
        if (info->dlpi_addr != s.map->l_addr) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_GNU_RELRO) continue;
          s.fixed = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
          s.fixed_end = s.fixed + info->dlpi_phdr[i].p_memsz;
        }
        return 1;
      },
      &search);
  for (ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag != DT_FINI_ARRAYSZ) continue;
    const auto at = reinterpret_cast<uintptr_t>(d);
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    auto* const start = reinterpret_cast<void*>(at / page * page);
    const bool fixed = at >= search.fixed && at < search.fixed_end / page * page;
    if (fixed && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return 0;
    const size_t before = d->d_un.d_val;
    d->d_un.d_val = bytes;
    if (fixed) mprotect(start, page, PROT_READ);
    return before;
  }
  return 0;
}

void close_library(const Blas& b, size_t finalizers) {
  if (finalizers) set_finalizers(b.handle, finalizers);
  ::dlclose(b.handle);
}

// Opens the library under the names that we know, with `core` in its environment. `finalizers` receives what close_library needs.
Blas open_library(const std::string& core, size_t& finalizers) {
  std::vector<std::string> names;
  if (auto path = env_string("TRT_OPENBLAS"); path && !path->empty())
    names.emplace_back(*path);
  else
    names = {"libopenblas.so.0", "libopenblas.so"};
  Blas b;
  b.requested_core = core;
  std::string errors;
  char** env = environment_for(core);
  for (const auto& name : names) {
    if (void* loaded = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
      b.shared_with_host = true;
      b.handle = loaded;
    } else {
      b.handle = open_with_environment(name.c_str(), env);
      if (b.handle) finalizers = set_finalizers(b.handle, 0);
    }
    if (b.handle) {
      b.library = name;
      break;
    }
    const char* why = ::dlerror();
    if (!errors.empty()) errors += "; ";
    errors += why ? why : "no reason given";
  }
  TRT_CHECK_CODE(b.handle, Code::kUnavailable, "OpenBLAS cannot be loaded (set TRT_OPENBLAS to its path): ", errors);
  return b;
}

const Blas* load() {
  const CpuFeatures cpu = detect_cpu();
  std::vector<std::string> cores;
  if (auto own = env_string("TRT_BLAS_CORE"); own && !own->empty()) {
    cores.emplace_back(*own);
  } else if (const char* host = std::getenv("OPENBLAS_CORETYPE"); host && *host) {
    cores.push_back(host);
  } else if (const char* best = best_blas_core(); *best) {
    cores.push_back(best);
  }
  if (cpu.avx2_fma) cores.push_back("HASWELL");
  cores.push_back("");
  std::string tried;
  for (const auto& core : cores) {
    size_t finalizers = 0;
    Blas b = open_library(core, finalizers);
    try {
      attach(b);
    } catch (...) {
      close_library(b, finalizers);
      throw;
    }
    if (gemm_computes<float>(b.sgemm) && gemm_computes<double>(b.dgemm)) {
      return new Blas(std::move(b));
    }
    tried += str_cat(tried.empty() ? "" : ", ", b.core_name);
    close_library(b, finalizers);
    if (b.shared_with_host) break;  // loading again would give the same instance
  }
  throw_error(Code::kInternal, str_cat("OpenBLAS computes wrong products with every core tried: ", tried));
}

std::atomic<const Blas*> g_blas{nullptr};
std::mutex g_load_mutex;
constinit std::atomic<pid_t> g_loading{0};  // the process that is at it
constinit std::atomic<bool> g_waits_at_exit{false};
TRT_TLS constinit bool t_loading = false;

// A process that ends while another thread is between the library's initializer and set_finalizers() would run its finalizers under that
// thread. So the end of loading is waited for; not for ever, because this thread may be inside dlopen itself, for which that one waits.
void wait_at_exit() {
  g_waits_at_exit.store(false, std::memory_order_relaxed);
  const timespec pause{0, 1'000'000};
  for (int ms = 0; ms < 5000 && !t_loading && g_loading.load(std::memory_order_acquire) == getpid(); ++ms) nanosleep(&pause, nullptr);
}

// Says that this thread loads the library. Needs g_load_mutex.
struct Loading {
  Loading() {
    t_loading = true;
    g_loading.store(getpid(), std::memory_order_release);
    // Again where the process has begun to end: it calls what is registered meanwhile.
    if (!g_waits_at_exit.exchange(true, std::memory_order_relaxed)) std::atexit(wait_at_exit);
  }
  ~Loading() {
    g_loading.store(0, std::memory_order_release);
    t_loading = false;
  }
};

// Calls into the library that are running, counted in several places so that threads rarely share one.
struct alignas(64) CallCount {
  std::atomic<int> calls{0};
};
constexpr unsigned kCallCounts = 16;
constinit CallCount g_calls[kCallCounts];
constinit std::atomic<unsigned> g_next_count{0};
constinit std::atomic<bool> g_forking{false};
TRT_TLS constinit std::atomic<int>* t_calls = nullptr;
TRT_TLS constinit bool t_forks = false;
bool g_fork_waits_for_load = false;

// Note [BLAS and fork]
// A child process finds the library as it was in the moment of fork(): a lock of its allocator that another thread held stays locked
// for ever, a half-done initialization stays half done. So fork() waits until no thread is inside, and calls wait for fork().
void before_fork() {
  if (t_forks) return;  // registered twice: by a child that was forked while its parent registered
  if (g_fork_waits_for_load) g_load_mutex.lock();
  t_forks = true;  // handlers of the host that run after this one may compute
  g_forking.store(true, std::memory_order_seq_cst);
  for (CallCount& c : g_calls)
    while (c.calls.load(std::memory_order_seq_cst) != 0) sched_yield();
}
void after_fork() {
  if (!t_forks) return;
  g_forking.store(false, std::memory_order_release);
  t_forks = false;
  if (g_fork_waits_for_load) g_load_mutex.unlock();
}

// glibc before 2.36 holds a lock around these handlers which the library's own initializer needs: there fork() does not wait for
// loading.
constinit Lazy<bool> g_fork_handlers;
void register_fork_handlers() {
  g_fork_handlers.get([] {
    int major = 0, minor = 0;
    const char* const version = gnu_get_libc_version();
    if (const char* dot = std::strchr(version, '.')) {
      std::from_chars(version, dot, major);
      std::from_chars(dot + 1, version + std::strlen(version), minor);
    }
    g_fork_waits_for_load = major * 1000 + minor >= 2036;
    return new bool(at_fork<before_fork, after_fork, after_fork>());
  });
}

}  // namespace

BlasCall::BlasCall() {
  if (TRT_UNLIKELY(!t_calls)) t_calls = &g_calls[g_next_count.fetch_add(1, std::memory_order_relaxed) % kCallCounts].calls;
  calls_ = t_calls;
  for (;;) {
    // Sequentially consistent with before_fork(): either it sees this call or this sees it.
    calls_->fetch_add(1, std::memory_order_seq_cst);
    if (TRT_LIKELY(!g_forking.load(std::memory_order_seq_cst)) || t_forks) return;
    calls_->fetch_sub(1, std::memory_order_release);
    while (g_forking.load(std::memory_order_acquire)) sched_yield();
  }
}

void* Blas::symbol(const char* name) const { return ::dlsym(handle, name); }

const char* best_blas_core() {
  const CpuFeatures cpu = detect_cpu();
  if (cpu.avx512) return cpu.avx512_bf16 ? "COOPERLAKE" : "SKYLAKEX";
  if (cpu.avx2_fma) return "HASWELL";
  if (cpu.avx) return "SANDYBRIDGE";
  return "";
}

const Blas& blas() {
  if (const Blas* b = g_blas.load(std::memory_order_acquire)) return *b;
  // A mutex and not call_once: a failed load leaves the way open for the next call, and call_once with an exception
  // hangs under ThreadSanitizer.
  register_fork_handlers();
  std::lock_guard<std::mutex> lock(g_load_mutex);
  if (const Blas* b = g_blas.load(std::memory_order_relaxed)) return *b;
  const Loading loading;
  const Blas* b = load();
  g_blas.store(b, std::memory_order_release);
  return *b;
}

}  // namespace trt::cpu
