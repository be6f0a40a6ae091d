// Private to recurrent layers: the elementwise part of one step for one sample (a row), compiled per instruction set. Serial, without allocation.
// n is the number of units; rows of several gates hold them one after another. Derivatives are those of a step's outputs by its inputs.
#pragma once

#include <cstdint>

namespace trt::cpu {

template <typename T>
struct RecurrentTable {
  // a = tanh(a), or max(a, 0).
  void (*activate[2])(T* a, int64_t n);
  // g = dy * (1 - y^2), or dy where y > 0.
  void (*activate_grad[2])(const T* y, const T* dy, T* g, int64_t n);
  // a holds the gates i, f, g, o before their activations, then after: sigmoid, sigmoid, tanh, sigmoid. c = f c0 + i g, h = o tanh(c).
  void (*lstm)(T* a, const T* c0, T* c, T* h, int64_t n);
  // d = gradients of the gates before their activations; dc is that of c, then that of c0.
  void (*lstm_grad)(const T* a, const T* c0, const T* c, const T* dh, T* dc, T* d, int64_t n);
  // x and s hold the gates r, z, n of the input and of the state. a = r, z, n, and s[n]. h = (h0 - n) z + n, n = tanh(x + r s).
  void (*gru)(const T* x, const T* s, const T* h0, T* a, T* h, int64_t n);
  // dx and ds = gradients of x and s; dh becomes its part of the gradient of h0.
  void (*gru_grad)(const T* a, const T* h0, T* dh, T* dx, T* ds, int64_t n);
  // y = o tanh(c), the gates a as lstm leaves them
  void (*lstm_output)(const T* a, const T* c, T* y, int64_t n);
};

template <typename T>
const RecurrentTable<T>& recurrent_table();  // float, double

}  // namespace trt::cpu
