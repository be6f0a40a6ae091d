// Forward convolution and input gradient in float: see Note [Convolution as a matrix product of panels] in
// conv_kernels.h.
#include "kernels/cpu/conv_float.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/conv_kernels.h"
#include "kernels/cpu/conv_prefetch.h"
#include "kernels/cpu/scratch.h"

namespace trt::cpu {

namespace {

// Source pixel of a grid pixel (i, j): (i * src_step_y + y, j * src_step_x + x). `weight` indexes the kernel.
struct Tap {
  int64_t y, x, weight;
};

// One pass over a grid of destination pixels. Channel counts are per group.
struct Pass {
  int64_t n, groups, src_channels, dst_channels;
  int64_t src_h, src_w, dst_h, dst_w;
  int64_t grid_h, grid_w;  // pixels to compute; grid pixel (i, j) is destination pixel (y0 + i * step, ...)
  int64_t src_step_y, src_step_x;
  int64_t dst_y0, dst_x0, dst_step_y, dst_step_x;
  std::vector<Tap> taps;
  int64_t weight_dst, weight_src, weight_group;  // distances between weights of neighbouring channels and groups
};

// The packed form of some panels of a block of images: which lane reads and writes what.
struct Plan {
  struct Panel {
    int vectors;
    bool simple_load, whole_store;  // one run per vector; one full run per vector
    bool direct;                    // tile_direct takes the runs from direct_first on, with two_runs
    int two_runs;
    size_t load_runs, load_counts, store_runs, store_counts, direct_first;
  };
  std::vector<LaneRun> runs;
  std::vector<uint16_t> counts;
  std::vector<Panel> panels;

  void clear() { runs.clear(), counts.clear(), panels.clear(); }
};

// Adds lanes to the runs of one vector, which start at `first`.
inline void add_lanes(std::vector<LaneRun>& runs, size_t first, int64_t offset, uint32_t mask) {
  if (runs.size() > first && runs.back().offset == offset)
    runs.back().mask |= mask;
  else
    runs.push_back({offset, mask});
}

inline uint32_t lane_mask(int64_t from, int64_t to) { return uint32_t((uint64_t(1) << to) - (uint64_t(1) << from)); }

// Moves bit l to bit 2 l.
inline uint32_t spread(uint32_t mask) {
  uint32_t out = 0;
  for (int l = 0; l < 16; ++l) out |= (mask >> l & 1u) << (2 * l);
  return out;
}

class PanelBuilder {
 public:
  PanelBuilder(const Pass& pass, int lanes) : p_(pass), lanes_(lanes), grid_(pass.grid_h * pass.grid_w) {
    src_image_ = p_.groups * p_.src_channels * p_.src_h * p_.src_w;
    dst_image_ = p_.groups * p_.dst_channels * p_.dst_h * p_.dst_w;
    for (const Tap& tap : p_.taps) {
      top_ = std::min(top_, tap.y), bottom_ = std::max(bottom_, tap.y);
      left_ = std::min(left_, tap.x), right_ = std::max(right_, tap.x);
    }
  }

  // What panel `index` reads of each source plane.
  void prefetch(int64_t images, int64_t index, Prefetcher& out) const {
    const int64_t begin = index * kPanelVectors * lanes_;
    const int64_t end = std::min(images * grid_, begin + kPanelVectors * lanes_);
    for (int64_t pixel = begin; pixel < end;) {
      const int64_t image = pixel / grid_, first = pixel % grid_, count = std::min(end - pixel, grid_ - first);
      const int64_t i0 = first / p_.grid_w, i1 = (first + count - 1) / p_.grid_w;
      const int64_t y0 = std::clamp<int64_t>(i0 * p_.src_step_y + top_, 0, p_.src_h);
      const int64_t y1 = std::clamp<int64_t>(i1 * p_.src_step_y + bottom_ + 1, y0, p_.src_h);
      const int64_t base = image * src_image_;
      if (i0 == i1 && p_.src_w > 64) {
        const int64_t j = first % p_.grid_w;
        const int64_t x0 = std::clamp<int64_t>(j * p_.src_step_x + left_, 0, p_.src_w);
        const int64_t x1 = std::clamp<int64_t>((j + count - 1) * p_.src_step_x + right_ + 1, x0, p_.src_w);
        for (int64_t y = y0; y < y1; ++y) out.add(base + y * p_.src_w + x0, base + y * p_.src_w + x1);
      } else {
        out.add(base + y0 * p_.src_w, base + y1 * p_.src_w);
      }
      pixel += count;
    }
  }

  // The step of the source runs: a stride of 2 has its own, other strides take a run per lane.
  int load_step() const { return p_.src_step_x == 2 ? 2 : 1; }

  // Appends panel number `index` of a block of `images` images.
  void add(int64_t images, int64_t index, Plan& plan) const {
    const int64_t pixels = images * grid_;
    const int64_t begin = index * kPanelVectors * lanes_;
    const int64_t end = std::min(pixels, begin + kPanelVectors * lanes_);
    Plan::Panel panel{};
    panel.vectors = int((end - begin + lanes_ - 1) / lanes_);
    panel.simple_load = panel.whole_store = true;
    panel.load_runs = plan.runs.size();
    panel.load_counts = plan.counts.size();
    Segment segments[kPanelVectors][32];
    int segment_counts[kPanelVectors];
    for (int v = 0; v < panel.vectors; ++v) segment_counts[v] = cut(begin + v * lanes_, end, segments[v]);
    for (const Tap& tap : p_.taps) {
      for (int v = 0; v < panel.vectors; ++v) {
        const size_t first = plan.runs.size();
        for (int i = 0; i < segment_counts[v]; ++i) add_source(segments[v][i], tap, first, plan);
        if (plan.runs.size() == first) plan.runs.push_back({0, 0});
        const size_t count = plan.runs.size() - first;
        panel.simple_load &= count == 1 && load_step() == 1;
        plan.counts.push_back(uint16_t(count));
      }
    }
    add_direct(panel, plan);
    panel.store_runs = plan.runs.size();
    panel.store_counts = plan.counts.size();
    for (int v = 0; v < panel.vectors; ++v) {
      const size_t first = plan.runs.size();
      for (int i = 0; i < segment_counts[v]; ++i) add_destination(segments[v][i], first, plan);
      const size_t count = plan.runs.size() - first;
      panel.whole_store &= count == 1 && plan.runs.back().mask == lane_mask(0, lanes_);
      plan.counts.push_back(uint16_t(count));
    }
    plan.panels.push_back(panel);
  }

 private:
  // Lanes [lane, lane + count) of a vector: pixels of one grid row from column j on.
  struct Segment {
    int64_t image, i, j;
    int lane, count;
  };

  // The load runs with an empty second one where a vector has only one, unless all have one.
  void add_direct(Plan::Panel& panel, Plan& plan) const {
    panel.direct_first = panel.load_runs;
    panel.direct = panel.simple_load;
    const size_t entries = plan.counts.size() - panel.load_counts;
    if (panel.simple_load || load_step() != 1) return;
    for (size_t e = 0; e < entries; ++e) {
      const uint16_t count = plan.counts[panel.load_counts + e];
      if (count > 2) return;
      if (count == 2) panel.two_runs |= 1 << (e % size_t(panel.vectors));
    }
    panel.direct = true;
    panel.direct_first = plan.runs.size();
    size_t run = panel.load_runs;
    for (size_t e = 0; e < entries; ++e) {
      const LaneRun first = plan.runs[run++];
      plan.runs.push_back(first);
      plan.runs.push_back(plan.counts[panel.load_counts + e] == 2 ? plan.runs[run++] : LaneRun{first.offset, 0});
    }
  }

  int cut(int64_t begin, int64_t end, Segment* out) const {
    int n = 0;
    for (int lane = 0; lane < lanes_ && begin + lane < end;) {
      const int64_t pixel = begin + lane, image = pixel / grid_, rest = pixel % grid_;
      const int64_t i = rest / p_.grid_w, j = rest % p_.grid_w;
      const int count = int(std::min({p_.grid_w - j, int64_t(lanes_ - lane), end - pixel}));
      out[n++] = {image, i, j, lane, count};
      lane += count;
    }
    return n;
  }

  void add_source(const Segment& s, const Tap& tap, size_t first, Plan& plan) const {
    const int64_t y = s.i * p_.src_step_y + tap.y;
    if (y < 0 || y >= p_.src_h) return;
    const int64_t row = s.image * src_image_ + y * p_.src_w;
    const int64_t x = s.j * p_.src_step_x + tap.x;
    if (p_.src_step_x == 1) {
      const int64_t from = std::max<int64_t>(0, -x), to = std::min<int64_t>(s.count, p_.src_w - x);
      if (from < to) add_lanes(plan.runs, first, row + x - s.lane, lane_mask(s.lane + from, s.lane + to));
      return;
    }
    if (p_.src_step_x == 2) {
      const int64_t from = std::max<int64_t>(0, (1 - x) / 2), to = std::min<int64_t>(s.count, (p_.src_w - x + 1) / 2);
      if (from < to) add_lanes(plan.runs, first, row + x - 2 * s.lane, spread(lane_mask(s.lane + from, s.lane + to)));
      return;
    }
    for (int64_t l = 0; l < s.count; ++l) {
      const int64_t at = x + l * p_.src_step_x;
      if (at >= 0 && at < p_.src_w)
        add_lanes(plan.runs, first, row + at - s.lane - l, lane_mask(s.lane + l, s.lane + l + 1));
    }
  }

  void add_destination(const Segment& s, size_t first, Plan& plan) const {
    const int64_t at =
        s.image * dst_image_ + (p_.dst_y0 + s.i * p_.dst_step_y) * p_.dst_w + p_.dst_x0 + s.j * p_.dst_step_x;
    if (p_.dst_step_x == 1) return add_lanes(plan.runs, first, at - s.lane, lane_mask(s.lane, s.lane + s.count));
    for (int64_t l = 0; l < s.count; ++l)
      add_lanes(plan.runs, first, at + l * p_.dst_step_x - s.lane - l, lane_mask(s.lane + l, s.lane + l + 1));
  }

  const Pass& p_;
  int lanes_;
  int64_t grid_, src_image_, dst_image_;
  int64_t top_ = INT64_MAX / 2, bottom_ = INT64_MIN / 2, left_ = INT64_MAX / 2,
          right_ = INT64_MIN / 2;  // extremes of the taps
};

// How many images share a block of panels: small images are joined so that little of the last vector is wasted.
int64_t images_per_block(int64_t n, int64_t grid, int lanes) {
  const int64_t most = std::clamp<int64_t>(2048 / grid, 1, n);
  int64_t best = 1;
  double best_cost = 0;
  for (int64_t images = 1; images <= most; ++images) {
    const int64_t vectors = (images * grid + lanes - 1) / lanes;
    const double cost = (double(vectors) + (vectors % kPanelVectors ? 0.5 : 0.0)) / double(images);
    if (images == 1 || cost < best_cost * 0.999) best = images, best_cost = cost;
  }
  return best;
}

// a[group][block][k][tile_rows], rows beyond the last channel zero; k runs over steps of `step` source channels, in
// each over taps and in each over the channels.
void pack_weights(const Pass& p, int rows, int64_t step, const float* w, float* a) {
  const int64_t blocks = (p.dst_channels + rows - 1) / rows, taps = int64_t(p.taps.size());
  const int64_t k = p.src_channels * taps;
  parallel_for(0, p.groups * blocks, 16384 / std::max<int64_t>(1, k * rows) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t group = item / blocks, block = item % blocks;
      float* to = a + item * k * rows;
      const int64_t channels = std::min<int64_t>(rows, p.dst_channels - block * rows);
      if (channels < rows) std::fill_n(to, k * rows, 0.0f);
      const float* from = w + group * p.weight_group + block * rows * p.weight_dst;
      for (int64_t c0 = 0; c0 < p.src_channels; c0 += step) {
        const int64_t count = std::min(step, p.src_channels - c0);
        for (int64_t c = 0; c < count; ++c, from += p.weight_src) {
          float* out = to + c * rows;
          for (const Tap& tap : p.taps) {
            const float* value = from + tap.weight;
            for (int64_t r = 0; r < channels; ++r) out[r] = value[r * p.weight_dst];
            out += count * rows;
          }
        }
        to += count * taps * rows;
      }
    }
  });
}

// Rows of the unfolded source that a panel holds at once: with the packed weights of a block they stay in the L2 cache.
constexpr int64_t kMaxDepth = 1152;
// Fewer source channels than this are packed: the loop over them would be too short.
constexpr int64_t kMinDirectChannels = 4;

void run_pass(const Pass& p, const float* src, const float* w, const float* bias, float* dst) {
  const ConvKernels& kernels = conv_kernels();
  const int rows = kernels.tile_rows, lanes = kernels.lanes;
  const int64_t taps = int64_t(p.taps.size()), depth = p.src_channels * taps;
  const int64_t blocks = (p.dst_channels + rows - 1) / rows;
  const int64_t grid = p.grid_h * p.grid_w;
  const int64_t src_plane = p.src_h * p.src_w, dst_plane = p.dst_h * p.dst_w;

  const int64_t step = std::max<int64_t>(1, kMaxDepth / std::max<int64_t>(taps, 1));  // source channels at once
  Scratch packed(size_t(p.groups * blocks * rows * depth) * sizeof(float));
  pack_weights(p, rows, step, w, packed.as<float>());

  const PanelBuilder builder(p, lanes);
  const int64_t width = kPanelVectors * lanes;
  const int64_t block_images = images_per_block(p.n, grid, lanes);
  const int64_t image_blocks = (p.n + block_images - 1) / block_images;
  const int64_t last_images = p.n - (image_blocks - 1) * block_images;
  const int64_t panels = (block_images * grid + width - 1) / width;
  // A plan is worth keeping when more than one block of images uses it; one that would be large is made panel by panel.
  const bool keep = image_blocks * p.groups > 1 && panels * taps <= 16384;
  Plan full, last;
  if (keep) {
    for (int64_t i = 0; i < panels; ++i) builder.add(block_images, i, full);
    if (last_images != block_images)
      for (int64_t i = 0; i * width < last_images * grid; ++i) builder.add(last_images, i, last);
  }

  // Few panels: the channel blocks of a panel are shared out too, which packs it more than once.
  const int64_t all_panels = p.groups * image_blocks * panels;
  const int64_t parts = all_panels < 16 ? std::min(blocks, (15 + all_panels) / all_panels) : 1;
  const int64_t part_blocks = (blocks + parts - 1) / parts;
  const int64_t max_depth = std::min(step, p.src_channels) * taps;
  const int64_t tile_work = width * rows * part_blocks * std::max<int64_t>(depth, 1);

  parallel_for(
      0, all_panels * parts, std::max<int64_t>(1, (int64_t(1) << 19) / tile_work), [&](int64_t begin, int64_t end) {
        Scratch panel_buffer(size_t(std::max<int64_t>(max_depth, 1) * width) * sizeof(float));
        float* panel_data = panel_buffer.as<float>();
        Plan local;
        Prefetcher prefetcher;
        for (int64_t item = begin; item < end; ++item) {
          const int64_t part = item % parts, panel = item / parts % panels;
          const int64_t image_block = item / (parts * panels) % image_blocks,
                        group = item / (parts * panels * image_blocks);
          const int64_t images = image_block + 1 == image_blocks ? last_images : block_images;
          if (panel * width >= images * grid) continue;
          if (!keep) {
            local.clear();
            builder.add(images, panel, local);
          }
          const Plan& plan = !keep ? local : images == block_images ? full : last;
          const Plan::Panel& info = plan.panels[keep ? size_t(panel) : 0];
          const int64_t first_image = image_block * block_images;
          const float* from = src + (first_image * p.groups + group) * p.src_channels * src_plane;
          float* to = dst + (first_image * p.groups + group) * p.dst_channels * dst_plane;
          if (item + 1 < end) {
            const int64_t next = (item + 1) / parts, next_block = next / panels % image_blocks;
            prefetcher.start(src + (next_block * block_images * p.groups + next / panels / image_blocks) *
                                       p.src_channels * src_plane,
                             src_plane, p.src_channels);
            if (taps > 0)
              builder.prefetch(next_block + 1 == image_blocks ? last_images : block_images, next % panels, prefetcher);
          }
          TileOutput out{};
          out.row_stride = dst_plane;
          out.whole = info.whole_store;
          out.runs = plan.runs.data() + info.store_runs;
          out.counts = plan.counts.data() + info.store_counts;
          const int64_t lines_per_tile = prefetcher.lines() / (part_blocks * ((p.src_channels + step - 1) / step)) + 1;
          int64_t channel = 0;
          do {
            const int64_t channels = std::min(step, p.src_channels - channel);
            const int64_t k = channels * taps;
            const bool direct = info.direct && channels >= kMinDirectChannels && kernels.tile_direct;
            if (!direct)
              kernels.pack_panel(from + channel * src_plane, src_plane, channels, taps, info.vectors,
                                 builder.load_step(), plan.runs.data() + info.load_runs,
                                 info.simple_load ? nullptr : plan.counts.data() + info.load_counts, panel_data);
            const int64_t last_block = std::min(blocks, (part + 1) * part_blocks);
            for (int64_t block = part * part_blocks; block < last_block; ++block) {
              const float* a = packed.as<float>() + ((group * blocks + block) * depth + channel * taps) * rows;
              out.dst = to + block * rows * dst_plane;
              out.rows = int(std::min<int64_t>(rows, p.dst_channels - block * rows));
              out.bias = bias && channel == 0 ? bias + group * p.dst_channels + block * rows : nullptr;
              out.accumulate = channel > 0;
              prefetcher.run(lines_per_tile);
              if (direct)
                kernels.tile_direct(info.vectors, info.two_runs, from + channel * src_plane, src_plane, channels, taps,
                                    plan.runs.data() + info.direct_first, a, out);
              else
                kernels.tile(info.vectors, k, a, panel_data, out);
            }
            channel += channels;
          } while (channel < p.src_channels);
        }
      });
}

}  // namespace

void conv_panels_forward(const Conv2dShape& s, const float* x, const float* w, const float* bias, float* y) {
  Pass p{};
  p.n = s.n, p.groups = s.groups;
  p.src_channels = s.c / s.groups, p.dst_channels = s.o / s.groups;
  p.src_h = s.h, p.src_w = s.w, p.dst_h = s.oh, p.dst_w = s.ow;
  p.grid_h = s.oh, p.grid_w = s.ow;
  p.src_step_y = s.stride_h, p.src_step_x = s.stride_w;
  p.dst_step_y = p.dst_step_x = 1;
  for (int64_t i = 0; i < s.kh; ++i)
    for (int64_t j = 0; j < s.kw; ++j) p.taps.push_back({i * s.dil_h - s.pad_h, j * s.dil_w - s.pad_w, i * s.kw + j});
  p.weight_src = s.kh * s.kw;
  p.weight_dst = p.src_channels * p.weight_src;
  p.weight_group = p.dst_channels * p.weight_dst;
  run_pass(p, x, w, bias, y);
}

// An input pixel y gets contributions from the taps with (y + pad - tap * dilation) divisible by the stride. Pixels
// with the same remainder have the same taps, so each such phase is a pass of stride 1 over gy into every stride-th
// pixel of gx.
void conv_panels_backward_input(const Conv2dShape& s, const float* gy, const float* w, float* gx) {
  Pass p{};
  p.n = s.n, p.groups = s.groups;
  p.src_channels = s.o / s.groups, p.dst_channels = s.c / s.groups;
  p.src_h = s.oh, p.src_w = s.ow, p.dst_h = s.h, p.dst_w = s.w;
  p.src_step_y = p.src_step_x = 1;
  p.dst_step_y = s.stride_h, p.dst_step_x = s.stride_w;
  p.weight_dst = s.kh * s.kw;
  p.weight_src = p.dst_channels * p.weight_dst;
  p.weight_group = p.src_channels * p.weight_src;
  for (int64_t py = 0; py < std::min(s.stride_h, s.h); ++py) {
    for (int64_t px = 0; px < std::min(s.stride_w, s.w); ++px) {
      p.dst_y0 = py, p.dst_x0 = px;
      p.grid_h = (s.h - py + s.stride_h - 1) / s.stride_h;
      p.grid_w = (s.w - px + s.stride_w - 1) / s.stride_w;
      p.taps.clear();
      for (int64_t i = 0; i < s.kh; ++i) {
        const int64_t y = py + s.pad_h - i * s.dil_h;
        if (y % s.stride_h != 0) continue;
        for (int64_t j = 0; j < s.kw; ++j) {
          const int64_t x = px + s.pad_w - j * s.dil_w;
          if (x % s.stride_w == 0) p.taps.push_back({y / s.stride_h, x / s.stride_w, i * s.kw + j});
        }
      }
      run_pass(p, gy, w, nullptr, gx);
    }
  }
}

}  // namespace trt::cpu
