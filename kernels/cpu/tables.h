// The kernels of one instruction set, a table for each element type: a constant, so that nothing is made at first use.
//   constexpr Tables<XTable, float, double> kTables = {kX<float>, kX<double>};   // in the target's namespace
//   const XTable<T>& table = *HWY_DYNAMIC_DISPATCH(x_tables)();                  // the base class for T
#pragma once

namespace trt::cpu {

template <template <typename> class Table, typename... T>
struct Tables : Table<T>... {};

}  // namespace trt::cpu
