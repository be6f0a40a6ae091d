// One direction of one recurrent layer over a whole sequence, on raw dense arrays. The input's share of the gates was computed before (one product for all
// steps); a step adds the state's share and goes through the activations. Backward computes the gates' gradients step by step and the weights' in one
// product at the end.
//
// Steps are counted as they lie in memory; `reverse` goes through them from the last. Float and double. Products are gemm.h's; results do not depend
// on the number of threads. Thread-safe. Errors are those of blas() and Scratch.
#pragma once

#include <cstdint>

namespace trt::cpu {

enum class Recurrence { kTanh = 0, kRelu = 1, kLstm = 2, kGru = 3 };

// Gates of one unit: of the weights, and what is kept of a step for backward.
constexpr int64_t recurrent_gates(Recurrence kind) { return kind == Recurrence::kLstm ? 4 : kind == Recurrence::kGru ? 3 : 1; }
constexpr int64_t recurrent_kept(Recurrence kind) { return kind == Recurrence::kLstm || kind == Recurrence::kGru ? 4 : 0; }

template <typename T>
struct Recurrent {
  Recurrence kind = Recurrence::kTanh;
  bool reverse = false;
  // size: units; out_size: elements of a state, other than size only with a projection.
  int64_t steps = 0, batch = 0, size = 0, out_size = 0;
  const T* gates = nullptr;       // [steps, batch, g size], g = recurrent_gates(kind)
  const T* hidden = nullptr;      // [batch, out_size], the first state
  const T* cell = nullptr;        // [batch, size], LSTM only
  const T* weight = nullptr;      // [g size, out_size]
  const T* bias = nullptr;        // [g size], GRU only: the bias of the state's share; may be null
  const T* projection = nullptr;  // [out_size, size], LSTM only; may be null
};

// output [steps, batch, out_size], cells [steps, batch, size] (LSTM only), kept [steps, batch, recurrent_kept * size].
template <typename T>
void recurrent_forward(const Recurrent<T>& r, T* output, T* cells, T* kept);

// All are written, but bias only for GRU, cell and projection only for LSTM.
template <typename T>
struct RecurrentGradients {
  T *gates = nullptr, *hidden = nullptr, *cell = nullptr, *weight = nullptr, *bias = nullptr, *projection = nullptr;
};
// grad_output and grad_cells may be null: zeros. grad_cells is that of all steps' cells.
template <typename T>
void recurrent_backward(const Recurrent<T>& r, const T* output, const T* cells, const T* kept, const T* grad_output, const T* grad_cells,
                        const RecurrentGradients<T>& to);

}  // namespace trt::cpu
