// Included before any Highway header: the library compiles its SIMD sources for three instruction sets only (portable
// 128-bit emulation, AVX2, AVX-512), which keeps build time and code size within their budgets.
#pragma once
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
