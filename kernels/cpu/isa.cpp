#include "kernels/cpu/isa.h"

#include "kernels/cpu/hwy_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/isa.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace trt {
namespace HWY_NAMESPACE {
const char* current_target() { return hwy::TargetName(HWY_TARGET); }
}  // namespace HWY_NAMESPACE
}  // namespace trt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt {
HWY_EXPORT(current_target);
namespace cpu {
const char* isa_name() { return HWY_DYNAMIC_DISPATCH(current_target)(); }
}  // namespace cpu
}  // namespace trt
#endif
