// OpenBLAS, loaded by us at the first matrix product and never at library load.
//
// Note [Choosing the OpenBLAS core]
// A distribution's OpenBLAS may be older than the processor: release 0.3.21 maps an unknown model to its SSE kernels,
// or to AVX2 where AVX-512 is there, and starts one thread per processor in its constructor. Both are decided while
// dlopen runs, from environment variables. So we choose the core by CPUID and let only that dlopen see
// OPENBLAS_CORETYPE and OPENBLAS_NUM_THREADS=1. The order of wishes: TRT_BLAS_CORE, then an OPENBLAS_CORETYPE that the
// host set, then CPUID.
//
// The host may have other threads that read the environment, so setenv is out of the question: a copy of the
// environment array with our two entries takes the place of `environ` during dlopen and the old pointer comes back
// afterwards. The copy is never freed, because another thread may still be walking it.
//
// At the end of a process OpenBLAS's finalizer unmaps the buffers of products that other threads may still be computing, which
// kills the process with SIGSEGV when it exits while its threads work. The instance that we loaded never runs it: the system
// takes the memory back anyway. An exit while it is being loaded waits until that is done.
//
// A core is used only after a self-check against a plain loop. When ours fails, HASWELL is tried (if the processor has
// AVX2), then the choice of the library itself.
#pragma once

#include <atomic>
#include <string>

namespace trt::cpu {

// CBLAS enumerators, passed as int.
constexpr int kBlasRowMajor = 101;
constexpr int kBlasNoTrans = 111;
constexpr int kBlasTrans = 112;

struct Blas {
  using SgemmFn = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a,
                           int lda, const float* b, int ldb, float beta, float* c, int ldc);
  using DgemmFn = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double* a,
                           int lda, const double* b, int ldb, double beta, double* c, int ldc);
  using SgemvFn = void (*)(int order, int trans, int m, int n, float alpha, const float* a, int lda, const float* x,
                           int incx, float beta, float* y, int incy);
  using DgemvFn = void (*)(int order, int trans, int m, int n, double alpha, const double* a, int lda, const double* x,
                           int incx, double beta, double* y, int incy);
  using SdotFn = float (*)(int n, const float* x, int incx, const float* y, int incy);
  using DdotFn = double (*)(int n, const double* x, int incx, const double* y, int incy);

  SgemmFn sgemm = nullptr;
  DgemmFn dgemm = nullptr;
  SgemvFn sgemv = nullptr;
  DgemvFn dgemv = nullptr;
  SdotFn sdot = nullptr;
  DdotFn ddot = nullptr;

  std::string core_name;       // what openblas_get_corename() says, "unknown" for a library without that function
  std::string requested_core;  // what we asked for, empty when the choice was left to OpenBLAS
  std::string library;         // the name that dlopen accepted
  // The host had loaded the same library before us: core and threads were its choice; we only set the thread count to
  // 1, which the host then sees too.
  bool shared_with_host = false;

  // Any other symbol of the library (LAPACK), or nullptr.
  void* symbol(const char* name) const;

  void* handle = nullptr;
};

// Loads the library at the first call; later calls cost one load. Thread-safe. Throws kUnavailable with the loader's
// message when no library can be loaded (the next call tries again), kInternal when no core passes the self-check.
// TRT_OPENBLAS names a library file to use instead of libopenblas.so.0.
const Blas& blas();

// Stands around every call into the library, so that fork() finds no thread inside (Note [BLAS and fork] in blas.cpp).
class BlasCall {
 public:
  BlasCall();
  ~BlasCall() { calls_->fetch_sub(1, std::memory_order_release); }
  BlasCall(const BlasCall&) = delete;
  BlasCall& operator=(const BlasCall&) = delete;

 private:
  std::atomic<int>* calls_;
};

// The core that CPUID calls for: "COOPERLAKE", "SKYLAKEX", "HASWELL", "SANDYBRIDGE", or "" to leave it to OpenBLAS.
const char* best_blas_core();

}  // namespace trt::cpu
