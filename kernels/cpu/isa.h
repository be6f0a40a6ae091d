// The instruction set that the SIMD kernels were chosen for on this machine.
#pragma once

namespace trt::cpu {

// "AVX3" (AVX-512), "AVX2" or the portable baseline; a constant.
const char* isa_name();

}  // namespace trt::cpu
