#include "kernels/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "kernels/cpu/attention_kernels.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemv_kernels.h"
#include "kernels/cpu/random.h"
#include "kernels/cpu/scratch.h"

namespace trt::cpu {

namespace {

// A block of scores and one of their gradients stay in the second-level cache. Blocks of keys begin at multiples of 64, as dropout needs.
constexpr int64_t kQueryBlock = 256, kKeyBlock = 512;
// Up to this many tasks are made of few batches.
constexpr int64_t kTasks = 16;

int64_t pieces(int64_t n, int64_t size) { return (n + size - 1) / size; }

// Blocks of queries, shorter where there are few of them.
int64_t query_block(int64_t batches, int64_t queries) {
  int64_t size = kQueryBlock;
  while (size > 64 && batches * pieces(queries, size) < kTasks) size /= 2;
  return std::min(size, std::max<int64_t>(queries, 1));
}

double dropout_factor(double p) { return p < 1 ? 1 / (1 - p) : 0; }

// The scores of one block: queries i0 .. i0 + rows of batch b by keys j0 .. j0 + cols, with a leading dimension of kKeyBlock.
template <typename T>
class Blocks {
 public:
  explicit Blocks(const Attention<T>& a) : a_(a), table_(attention_table<T>()), factor_(static_cast<T>(dropout_factor(a.dropout))) {}

  const T* q(int64_t b, int64_t i) const { return a_.q.p + a_.q.at[b] + i * a_.q.ld; }
  const T* k(int64_t b, int64_t j) const { return a_.k.p + a_.k.at[b / a_.group] + j * a_.k.ld; }
  const T* v(int64_t b, int64_t j) const { return a_.v.p + a_.v.at[b / a_.group] + j * a_.v.ld; }

  void scores(int64_t b, int64_t i0, int64_t rows, int64_t j0, int64_t cols, T* s) const {
    gemm(false, true, rows, cols, a_.dim, static_cast<T>(a_.scale), q(b, i0), a_.q.ld, k(b, j0), a_.k.ld, T(0), s, kKeyBlock);
    if (a_.added || a_.kept) {
      for (int64_t i = 0; i < rows; ++i) mask_row(b, i0 + i, j0, cols, s + i * kKeyBlock);
    }
    if (a_.causal) {
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t allowed = std::clamp<int64_t>(i0 + i + 1 - j0, 0, cols);
        std::fill(s + i * kKeyBlock + allowed, s + i * kKeyBlock + cols, -std::numeric_limits<T>::infinity());
      }
    }
  }

  // Multiplies by 1 / (1 - p) or 0.
  void drop(int64_t b, int64_t i0, int64_t rows, int64_t j0, int64_t cols, T* s) const {
    if (a_.dropout == 0) return;
    const uint64_t each = dropout_counters(a_.keys);
    uint8_t kept[kKeyBlock];
    for (int64_t i = 0; i < rows; ++i) {
      const uint64_t row = static_cast<uint64_t>(b * a_.queries + i0 + i) * each + static_cast<uint64_t>(j0 / 64) * 16;
      fill_bernoulli(kept, cols, 1 - a_.dropout, a_.seed, a_.offset + row);
      masked_scale(s + i * kKeyBlock, kept, s + i * kKeyBlock, cols, static_cast<double>(factor_));
    }
  }

  // p = the probabilities, g = the gradients of the scores. `dots` [rows] are the inner products of outputs and their gradients. Then p gets dropout.
  void gradients(int64_t b, int64_t i0, int64_t rows, int64_t j0, int64_t cols, const T* grad_out, const T* lse, const T* dots, T* p, T* g) const {
    scores(b, i0, rows, j0, cols, p);
    gemm(false, true, rows, cols, a_.value_dim, T(1), grad_out, a_.value_dim, v(b, j0), a_.v.ld, T(0), g, kKeyBlock);
    drop(b, i0, rows, j0, cols, g);
    for (int64_t i = 0; i < rows; ++i) {
      table_.probabilities(p + i * kKeyBlock, cols, lse[i]);
      table_.gradient(g + i * kKeyBlock, p + i * kKeyBlock, cols, dots[i]);
    }
    drop(b, i0, rows, j0, cols, p);
  }

  // The first key that no query before `end` sees.
  int64_t keys_for(int64_t end) const { return a_.causal ? std::min(a_.keys, end) : a_.keys; }

 private:
  void mask_row(int64_t b, int64_t i, int64_t j0, int64_t cols, T* s) const {
    const int64_t at = a_.mask_at[b] + i * a_.mask_row + j0 * a_.mask_col;
    if (a_.mask_col == 0) {
      if (a_.kept && a_.kept[at] == 0) std::fill_n(s, cols, -std::numeric_limits<T>::infinity());
      if (a_.added)
        for (int64_t j = 0; j < cols; ++j) s[j] += a_.added[at];
    } else if (a_.kept) {
      table_.keep(s, a_.kept + at, cols);
    } else {
      table_.add(s, a_.added + at, cols);
    }
  }

  const Attention<T>& a_;
  const AttentionTable<T>& table_;
  T factor_;
};

// The inner product of each row of the output with its gradient.
template <typename T>
void row_dots(int64_t rows, int64_t n, const T* x, const T* y, T* to) {
  const auto dot = gemv_kernels<T>().dot;
  parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = n == 0 ? T(0) : dot(n, x + i * n, y + i * n);
  });
}

// The scores that pay for a task of their own.
constexpr int64_t kGrainWork = int64_t(1) << 16;
int64_t task_grain(int64_t work) { return std::max<int64_t>(1, kGrainWork / std::max<int64_t>(work, 1)); }

}  // namespace

int64_t attention_parts(int64_t sources, int64_t keys) {
  return std::clamp<int64_t>(kTasks / std::max<int64_t>(sources, 1), 1, std::max<int64_t>(1, pieces(keys, kKeyBlock / 2)));
}

template <typename T>
void attention_forward(const Attention<T>& a, T* out, T* logsumexp) {
  const Blocks<T> blocks(a);
  const AttentionTable<T>& table = attention_table<T>();
  const int64_t size = query_block(a.batches, a.queries), count = pieces(a.queries, size);
  parallel_for(0, a.batches * count, task_grain(size * a.keys), [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(size * (kKeyBlock + 2)) * sizeof(T));
    T* s = scratch.as<T>();
    T* m = s + size * kKeyBlock;
    T* sum = m + size;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t b = task / count, i0 = task % count * size, rows = std::min(size, a.queries - i0);
      T* o = out + (b * a.queries + i0) * a.value_dim;
      std::fill_n(m, rows, -std::numeric_limits<T>::infinity());
      std::fill_n(sum, rows, T(0));
      const int64_t keys = blocks.keys_for(i0 + rows);
      if (keys == 0) std::fill_n(o, rows * a.value_dim, T(0));
      for (int64_t j0 = 0; j0 < keys; j0 += kKeyBlock) {
        const int64_t cols = std::min(kKeyBlock, keys - j0);
        blocks.scores(b, i0, rows, j0, cols, s);
        for (int64_t i = 0; i < rows; ++i) {
          const T before = table.extend(s + i * kKeyBlock, cols, m + i, sum + i);
          if (j0 > 0 && before != T(1)) table.scale(o + i * a.value_dim, a.value_dim, before);
        }
        blocks.drop(b, i0, rows, j0, cols, s);
        gemm(false, false, rows, a.value_dim, cols, T(1), s, kKeyBlock, blocks.v(b, j0), a.v.ld, j0 == 0 ? T(0) : T(1), o, a.value_dim);
      }
      T* lse = logsumexp + b * a.queries + i0;
      for (int64_t i = 0; i < rows; ++i) {
        const bool none = sum[i] == T(0);
        table.scale(o + i * a.value_dim, a.value_dim, none ? T(0) : T(1) / sum[i]);
        lse[i] = none ? std::numeric_limits<T>::infinity() : m[i] + std::log(sum[i]);
      }
    }
  });
}

// A task is a batch of keys, or where there are few batches a piece of its keys: it goes through the blocks of queries and has the gradients of its keys
// and values to itself. The gradient of the queries is summed over the pieces afterwards, in their order.
template <typename T>
void attention_backward(const Attention<T>& a, const T* grad_out, const T* out, const T* logsumexp, T* workspace, const AttentionGradients<T>& to) {
  const Blocks<T> blocks(a);
  const int64_t sources = a.batches / a.group, q_size = a.batches * a.queries * a.dim;
  const int64_t parts = attention_parts(sources, a.keys);
  const int64_t part = std::max<int64_t>(64, pieces(pieces(a.keys, parts), 64) * 64);
  const int64_t size = std::min(kQueryBlock, std::max<int64_t>(a.queries, 1));
  const Scratch dots_memory(static_cast<size_t>(a.batches * a.queries + 1) * sizeof(T));
  T* dots = dots_memory.as<T>();
  row_dots(a.batches * a.queries, a.value_dim, grad_out, out, dots);
  T* q_parts = parts > 1 ? workspace : to.q;
  parallel_for(0, sources * parts, task_grain(part * a.queries * a.group), [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(2 * size * kKeyBlock) * sizeof(T));
    T* p = scratch.as<T>();
    T* g = p + size * kKeyBlock;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t source = task / parts, first = task % parts * part, last = std::min(a.keys, first + part);
      for (int64_t b = source * a.group; to.q && b < (source + 1) * a.group; ++b)
        std::fill_n(q_parts + task % parts * q_size + b * a.queries * a.dim, a.queries * a.dim, T(0));
      for (int64_t j0 = first; j0 < last; j0 += kKeyBlock) {
        const int64_t cols = std::min(kKeyBlock, last - j0);
        T* gk = to.k ? to.k + (source * a.keys + j0) * a.dim : nullptr;
        T* gv = to.v ? to.v + (source * a.keys + j0) * a.value_dim : nullptr;
        if (gk) std::fill_n(gk, cols * a.dim, T(0));
        if (gv) std::fill_n(gv, cols * a.value_dim, T(0));
        for (int64_t b = source * a.group; b < (source + 1) * a.group; ++b) {
          for (int64_t i0 = a.causal ? j0 / size * size : 0; i0 < a.queries; i0 += size) {
            const int64_t rows = std::min(size, a.queries - i0), row = b * a.queries + i0;
            const int64_t seen = std::min(cols, blocks.keys_for(i0 + rows) - j0);
            if (seen <= 0) continue;
            const T* go = grad_out + row * a.value_dim;
            blocks.gradients(b, i0, rows, j0, seen, go, logsumexp + row, dots + row, p, g);
            if (gv) gemm(true, false, seen, a.value_dim, rows, T(1), p, kKeyBlock, go, a.value_dim, T(1), gv, a.value_dim);
            if (gk) gemm(true, false, seen, a.dim, rows, static_cast<T>(a.scale), g, kKeyBlock, blocks.q(b, i0), a.q.ld, T(1), gk, a.dim);
            if (to.q)
              gemm(false, false, rows, a.dim, seen, static_cast<T>(a.scale), g, kKeyBlock, blocks.k(b, j0), a.k.ld, T(1),
                   q_parts + task % parts * q_size + row * a.dim, a.dim);
          }
        }
      }
    }
  });
  if (!to.q || parts == 1) return;
  parallel_for(0, q_size, 16384, [&](int64_t begin, int64_t end) {
    std::copy(q_parts + begin, q_parts + end, to.q + begin);
    for (int64_t i = 1; i < parts; ++i) attention_table<T>().add(to.q + begin, q_parts + i * q_size + begin, end - begin);
  });
}

template <typename T>
void attention_mask_gradient(const Attention<T>& a, const T* grad_out, const T* out, const T* logsumexp, int64_t masks, const int64_t* begin,
                             const int64_t* order, int64_t rows, int64_t cols, T* to) {
  const Blocks<T> blocks(a);
  const Scratch dots_memory(static_cast<size_t>(a.batches * a.queries + 1) * sizeof(T));
  T* dots = dots_memory.as<T>();
  row_dots(a.batches * a.queries, a.value_dim, grad_out, out, dots);
  const bool by_key = cols == a.keys;
  // Tasks have elements of their own: a block of keys, or the whole mask where all keys share an element.
  const int64_t count = by_key ? pieces(a.keys, kKeyBlock) : 1, size = std::min(kQueryBlock, std::max<int64_t>(a.queries, 1));
  std::fill_n(to, masks * rows * cols, T(0));
  parallel_for(0, masks * count, 1, [&](int64_t task_begin, int64_t task_end) {
    const Scratch scratch(static_cast<size_t>(2 * size * kKeyBlock) * sizeof(T));
    T* p = scratch.as<T>();
    T* g = p + size * kKeyBlock;
    for (int64_t task = task_begin; task < task_end; ++task) {
      const int64_t m = task / count;
      const int64_t first = by_key ? task % count * kKeyBlock : 0, last = by_key ? std::min(a.keys, first + kKeyBlock) : a.keys;
      for (int64_t n = begin[m]; n < begin[m + 1]; ++n) {
        for (int64_t i0 = 0; i0 < a.queries; i0 += size) {
          const int64_t height = std::min(size, a.queries - i0), row = order[n] * a.queries + i0;
          for (int64_t j0 = first; j0 < last; j0 += kKeyBlock) {
            const int64_t width = std::min(kKeyBlock, last - j0);
            blocks.gradients(order[n], i0, height, j0, width, grad_out + row * a.value_dim, logsumexp + row, dots + row, p, g);
            for (int64_t i = 0; i < height; ++i) {
              T* line = to + (m * rows + (rows == 1 ? 0 : i0 + i)) * cols;
              const T* from = g + i * kKeyBlock;
              if (by_key) {
                attention_table<T>().add(line + j0, from, width);
              } else {
                for (int64_t j = 0; j < width; ++j) *line += from[j];
              }
            }
          }
        }
      }
    }
  });
}

template <typename T>
void attention_dropout_factors(int64_t batches, int64_t queries, int64_t keys, double dropout, uint64_t seed, uint64_t offset, T* to) {
  const T factor = static_cast<T>(dropout_factor(dropout));
  const uint64_t each = dropout_counters(keys);
  parallel_for(0, batches * queries, std::max<int64_t>(1, 4096 / std::max<int64_t>(keys, 1)), [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(keys + 1));
    uint8_t* kept = scratch.as<uint8_t>();
    for (int64_t row = begin; row < end; ++row) {
      fill_bernoulli(kept, keys, 1 - dropout, seed, offset + static_cast<uint64_t>(row) * each);
      for (int64_t j = 0; j < keys; ++j) to[row * keys + j] = kept[j] ? factor : T(0);
    }
  });
}

template void attention_forward<float>(const Attention<float>&, float*, float*);
template void attention_backward<float>(const Attention<float>&, const float*, const float*, const float*, float*, const AttentionGradients<float>&);
template void attention_mask_gradient<float>(const Attention<float>&, const float*, const float*, const float*, int64_t, const int64_t*,
                                      const int64_t*, int64_t, int64_t, float*);
template void attention_dropout_factors<float>(int64_t, int64_t, int64_t, double, uint64_t, uint64_t, float*);
template void attention_forward<double>(const Attention<double>&, double*, double*);
template void attention_backward<double>(const Attention<double>&, const double*, const double*, const double*, double*, const AttentionGradients<double>&);
template void attention_mask_gradient<double>(const Attention<double>&, const double*, const double*, const double*, int64_t, const int64_t*,
                                      const int64_t*, int64_t, int64_t, double*);
template void attention_dropout_factors<double>(int64_t, int64_t, int64_t, double, uint64_t, uint64_t, double*);

}  // namespace trt::cpu
