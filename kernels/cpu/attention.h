// Scaled dot-product attention on raw arrays, in blocks of queries and keys: softmax(scale Q K^T + mask) V and its gradients, without a matrix of all
// scores. Memory beyond the arguments: a few blocks for each thread, and in backward a workspace (attention_parts).
//
// The softmax of a row goes over its blocks of keys with a running maximum and sum; what backward needs of it is the logarithm of that sum
// (logsumexp, +infinity where all keys are masked, so that the probabilities come out as zeros there). Matrix products are gemm.h's, on the calling
// thread inside our own partition, which depends on the sizes only (Note [Deterministic parallelism]).
//
// Dropout: element (batch b, query i, key j) is kept where fill_bernoulli(1 - dropout) at the counter that dropout_counters describes says so; it does
// not depend on the blocks or the dtype. float and double; accumulated in the same type. Thread-safe. Errors are those of blas() and Scratch.
#pragma once

#include <cstdint>

namespace trt::cpu {

// Matrices of all batches: matrix b begins at p + at[b], its rows are `ld` apart and dense.
template <typename T>
struct Matrices {
  const T* p = nullptr;
  int64_t ld = 0;
  const int64_t* at = nullptr;
};

template <typename T>
struct Attention {
  int64_t batches = 0;  // of queries
  int64_t group = 1;    // how many of them in a row share a batch of keys and values
  int64_t queries = 0, keys = 0, dim = 0, value_dim = 0;
  Matrices<T> q, k, v;  // [queries, dim], [keys, dim], [keys, value_dim]
  // A mask that is added, or one of bytes of which 0 excludes; at most one of them. Element (i, j) of batch b is at mask_at[b] + i * mask_row + j *
  // mask_col; mask_row may be 0, and mask_col is 0 or 1.
  const T* added = nullptr;
  const uint8_t* kept = nullptr;
  const int64_t* mask_at = nullptr;
  int64_t mask_row = 0, mask_col = 1;
  bool causal = false;  // key j takes part for query i only where j <= i
  double scale = 1;
  double dropout = 0;  // in [0, 1]
  uint64_t seed = 0, offset = 0;
};

// How many 128-bit counters the dropout of one query takes: query i of batch b has those from (b * queries + i) times this on, in the 32-bit layout.
inline uint64_t dropout_counters(int64_t keys) { return (static_cast<uint64_t>(keys) + 63) / 64 * 16; }

// out [batches, queries, value_dim] and logsumexp [batches, queries].
template <typename T>
void attention_forward(const Attention<T>& a, T* out, T* logsumexp);

// What backward writes, dense; null: not wanted.
template <typename T>
struct AttentionGradients {
  T* q = nullptr;  // [batches, queries, dim]
  T* k = nullptr;  // [batches / group, keys, dim]
  T* v = nullptr;  // [batches / group, keys, value_dim]
};
// In how many pieces (at most 16) the keys of each of `sources` batches of keys are gone through side by side. Where that is more than one, `workspace`
// has as many times the elements of the queries.
int64_t attention_parts(int64_t sources, int64_t keys);
template <typename T>
void attention_backward(const Attention<T>& a, const T* grad_out, const T* out, const T* logsumexp, T* workspace, const AttentionGradients<T>& to);

// The gradient of an added mask with the shape [masks, rows, cols], rows and cols being 1 where the mask has no such dimension: the sum of the
// gradients of the scores that each element was added to. Batches order[begin[m]] ... order[begin[m + 1] - 1] have mask m.
template <typename T>
void attention_mask_gradient(const Attention<T>& a, const T* grad_out, const T* out, const T* logsumexp, int64_t masks, const int64_t* begin,
                             const int64_t* order, int64_t rows, int64_t cols, T* to);

// to [batches, queries, keys] = 1 / (1 - dropout) where dropout keeps an element, else 0.
template <typename T>
void attention_dropout_factors(int64_t batches, int64_t queries, int64_t keys, double dropout, uint64_t seed, uint64_t offset, T* to);

}  // namespace trt::cpu
