// Private to attention: what happens to a row of scores between the matrix products, compiled per instruction set. Serial, without allocation.
#pragma once

#include <cstdint>

namespace trt::cpu {

template <typename T>
struct AttentionTable {
  // Goes on with a softmax over one more piece s of its row: m is the maximum so far (-infinity at first) and sum that of exp(x - m); s becomes
  // exp(s - m) with the new m. Returns what earlier exponentials are to be multiplied by. A row of -infinity alone leaves zeros and the sum 0.
  T (*extend)(T* s, int64_t n, T* m, T* sum);
  // s = exp(s - lse); lse = +infinity gives zeros.
  void (*probabilities)(T* s, int64_t n, T lse);
  // g = p * (g - d)
  void (*gradient)(T* g, const T* p, int64_t n, T d);
  void (*scale)(T* x, int64_t n, T factor);
  void (*add)(T* x, const T* y, int64_t n);
  // -infinity where keep is 0
  void (*keep)(T* x, const uint8_t* keep, int64_t n);
};

template <typename T>
const AttentionTable<T>& attention_table();  // float, double

}  // namespace trt::cpu
