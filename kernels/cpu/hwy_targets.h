// Included before any Highway header: the library compiles its SIMD sources for three instruction sets only (AVX-512, AVX2, and the portable
// baseline, which with GCC before 12.3 is Highway's scalar target), which keeps build time and code size within their budgets.
#pragma once
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
