// The closed set of scalar primitives, as Highway vector functions: what the expressions of pointwise operators are
// made of. README.md has the table of types, errors and ranges.
//
// namespace trt::HWY_NAMESPACE::prim. Every function takes the tag d first: ScalableTag<float>, <double> or <int64_t>.
// Values are hn::Vec<D>, conditions hn::Mask<D>. Results are as PyTorch defines them, NaN, infinities and the signs of
// zeros included. Integer arithmetic wraps and never traps.
//
// Include it after "kernels/cpu/hwy_targets.h" and "hwy/highway.h", inside the foreach_target pattern; each target
// compiles it again.
#if defined(TRT_SCALAR_PRIMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRT_SCALAR_PRIMS_INL_H_
#undef TRT_SCALAR_PRIMS_INL_H_
#else
#define TRT_SCALAR_PRIMS_INL_H_
#endif

#include "kernels/scalar/arith-inl.h"
#include "kernels/scalar/exp_log-inl.h"
#include "kernels/scalar/special-inl.h"
#include "kernels/scalar/trig-inl.h"

#endif
