// Kernels that are compiled for several instruction sets, each in its turn.
#pragma once

#include <stdint.h>

#include "kernels/cpu/hwy_targets.h"
//
#include "hwy/highway.h"

// Calls f(name) once for each instruction set of this machine, with that set chosen.
template <class F>
void for_each_isa(F f) {
  for (const int64_t target : {int64_t(HWY_AVX3), int64_t(HWY_AVX2), int64_t(HWY_STATIC_TARGET)}) {
    hwy::SetSupportedTargetsForTest(0);
    if ((hwy::SupportedTargets() & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    f(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}
