#include "kernels/cpu/recurrent.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/recurrent_kernels.h"
#include "kernels/cpu/scratch.h"

namespace trt::cpu {

namespace {

// Calls f(b) for every sample.
template <typename F>
void for_batch(int64_t batch, int64_t size, const F& f) {
  parallel_for(0, batch, std::max<int64_t>(1, 2048 / std::max<int64_t>(size, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) f(b);
  });
}

// Where the step number n in the order of time lies.
template <typename T>
int64_t place(const Recurrent<T>& r, int64_t n) {
  return r.reverse ? r.steps - 1 - n : n;
}

}  // namespace

template <typename T>
void recurrent_forward(const Recurrent<T>& r, T* output, T* cells, T* kept) {
  const RecurrentTable<T>& table = recurrent_table<T>();
  const int64_t width = recurrent_gates(r.kind) * r.size, state = r.batch * r.out_size, cell = r.batch * r.size;
  const bool projected = r.projection != nullptr, gru = r.kind == Recurrence::kGru, lstm = r.kind == Recurrence::kLstm;
  const Scratch scratch(static_cast<size_t>((gru ? r.batch * width : 0) + (projected ? cell : 0)) * sizeof(T) + 1);
  T* shares = scratch.as<T>();                             // GRU: the state's share of the gates
  T* unprojected = shares + (gru ? r.batch * width : 0);
  const T* h = r.hidden;
  const T* c = r.cell;
  for (int64_t n = 0; n < r.steps; ++n) {
    const int64_t at = place(r, n);
    const T* x = r.gates + at * r.batch * width;
    T* y = output + at * state;
    T* a = gru ? shares : lstm ? kept + at * r.batch * width : y;  // what the state's share is added to
    for (int64_t b = 0; b < r.batch; ++b) {
      if (!gru) std::copy_n(x + b * width, width, a + b * width);
      else if (r.bias) std::copy_n(r.bias, width, a + b * width);
    }
    gemm(false, true, r.batch, width, r.out_size, T(1), h, r.out_size, r.weight, r.out_size, gru && !r.bias ? T(0) : T(1), a, width);
    T* m = projected ? unprojected : y;
    T* next = lstm ? cells + at * cell : nullptr;
    for_batch(r.batch, r.size, [&](int64_t b) {
      const int64_t row = b * r.size;
      switch (r.kind) {
        case Recurrence::kLstm:
          return table.lstm(a + b * width, c + row, next + row, m + row, r.size);
        case Recurrence::kGru:
          return table.gru(x + b * width, a + b * width, h + row, kept + (at * r.batch + b) * 4 * r.size, y + row, r.size);
        default:
          return table.activate[r.kind == Recurrence::kRelu](y + row, r.size);
      }
    });
    if (projected) gemm(false, true, r.batch, r.out_size, r.size, T(1), m, r.size, r.projection, r.size, T(0), y, r.out_size);
    h = y;
    c = next;
  }
}

template <typename T>
void recurrent_backward(const Recurrent<T>& r, const T* output, const T* cells, const T* kept, const T* grad_output, const T* grad_cells,
                        const RecurrentGradients<T>& to) {
  const RecurrentTable<T>& table = recurrent_table<T>();
  const int64_t width = recurrent_gates(r.kind) * r.size, state = r.batch * r.out_size, cell = r.batch * r.size;
  const bool projected = r.projection != nullptr, gru = r.kind == Recurrence::kGru, lstm = r.kind == Recurrence::kLstm;
  const int64_t rows = r.steps * r.batch;
  // GRU: gradients of the state's share of the gates. With a projection: gradients of all states, and of one step's before the projection.
  const Scratch scratch(static_cast<size_t>((gru ? rows * width : 0) + (projected ? rows * r.out_size + rows * r.size + cell : 0)) * sizeof(T) + 1);
  T* shares = gru ? scratch.as<T>() : to.gates;
  T* states = scratch.as<T>() + (gru ? rows * width : 0);
  T* before = states + rows * r.out_size;  // what was projected
  T* grad_before = before + rows * r.size;
  T* dh = to.hidden;  // the running gradients of state and cell end as those of the first ones
  T* dc = to.cell;
  std::fill_n(dh, state, T(0));
  if (lstm) std::fill_n(dc, cell, T(0));
  for (int64_t n = r.steps - 1; n >= 0; --n) {
    const int64_t at = place(r, n), earlier = n > 0 ? place(r, n - 1) : 0;
    const T* h0 = n > 0 ? output + earlier * state : r.hidden;
    const T* c0 = n > 0 && lstm ? cells + earlier * cell : r.cell;
    for (int64_t i = 0; grad_output && i < state; ++i) dh[i] += grad_output[at * state + i];
    for (int64_t i = 0; lstm && grad_cells && i < cell; ++i) dc[i] += grad_cells[at * cell + i];
    const T* dm = dh;
    if (projected) {
      std::copy_n(dh, state, states + at * state);
      gemm(false, false, r.batch, r.size, r.out_size, T(1), dh, r.out_size, r.projection, r.size, T(0), grad_before, r.size);
      dm = grad_before;
    }
    T* d = to.gates + at * r.batch * width;
    T* ds = shares + at * r.batch * width;
    for_batch(r.batch, r.size, [&](int64_t b) {
      const int64_t row = b * r.size, line = (at * r.batch + b) * 4 * r.size;
      switch (r.kind) {
        case Recurrence::kLstm:
          return table.lstm_grad(kept + line, c0 + row, cells + at * cell + row, dm + row, dc + row, d + b * width, r.size);
        case Recurrence::kGru:
          return table.gru_grad(kept + line, h0 + row, dh + row, d + b * width, ds + b * width, r.size);
        default:
          return table.activate_grad[r.kind == Recurrence::kRelu](output + at * state + row, dh + row, d + row, r.size);
      }
    });
    gemm(false, false, r.batch, r.out_size, width, T(1), ds, width, r.weight, r.out_size, gru ? T(1) : T(0), dh, r.out_size);
  }
  // Each step's gates saw the state before it: the first state, and all but the last output.
  const int64_t first = place(r, 0), others = std::max<int64_t>(rows - r.batch, 0);
  const T* seen = output + (r.reverse ? state : 0);
  const T* saw = shares + (r.reverse ? 0 : r.batch * width);
  if (r.steps == 0) {
    std::fill_n(to.weight, width * r.out_size, T(0));
  } else {
    gemm(true, false, width, r.out_size, r.batch, T(1), shares + first * r.batch * width, width, r.hidden, r.out_size, T(0), to.weight, r.out_size);
    gemm(true, false, width, r.out_size, others, T(1), saw, width, seen, r.out_size, T(1), to.weight, r.out_size);
  }
  if (gru && to.bias) {
    std::fill_n(to.bias, width, T(0));
    parallel_for(0, width, std::max<int64_t>(1, 16384 / std::max<int64_t>(rows, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = begin; j < end; ++j) to.bias[j] += shares[i * width + j];
    });
  }
  if (!projected) return;
  for_batch(rows, r.size, [&](int64_t i) { table.lstm_output(kept + i * 4 * r.size, cells + i * r.size, before + i * r.size, r.size); });
  gemm(true, false, r.out_size, r.size, rows, T(1), states, r.out_size, before, r.size, T(0), to.projection, r.size);
}

template void recurrent_forward<float>(const Recurrent<float>&, float*, float*, float*);
template void recurrent_forward<double>(const Recurrent<double>&, double*, double*, double*);
template void recurrent_backward<float>(const Recurrent<float>&, const float*, const float*, const float*, const float*, const float*,
                                        const RecurrentGradients<float>&);
template void recurrent_backward<double>(const Recurrent<double>&, const double*, const double*, const double*, const double*, const double*,
                                         const RecurrentGradients<double>&);

}  // namespace trt::cpu
