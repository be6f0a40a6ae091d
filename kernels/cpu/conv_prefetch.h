// Software prefetch of the source data of the next step while register tiles of this one run. A convolution step
// touches a few lines in each of many planes, which the hardware's stream detection does not follow.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trt::cpu {

// Up to kRanges ranges of floats, the same in each of `planes` planes. run(n) asks for the next n cache lines.
class Prefetcher {
 public:
  static constexpr int kRanges = 4;

  void start(const float* base, int64_t plane_stride, int64_t planes) {
    base_ = reinterpret_cast<const char*>(base);
    stride_ = plane_stride * int64_t(sizeof(float));
    planes_ = planes;
    count_ = index_ = 0;
    lines_ = 0;
    plane_ = 0;
  }
  void add(int64_t begin, int64_t end) {
    if (begin >= end || count_ == kRanges) return;
    ranges_[count_++] = {begin * int64_t(sizeof(float)), end * int64_t(sizeof(float))};
    lines_ += planes_ * ((end - begin) / 16 + 1);
    at_ = ranges_[0].begin;
  }
  int64_t lines() const { return lines_; }

  void run(int64_t n) {
    while (n > 0 && index_ < count_) {
      const Range r = ranges_[index_];
      for (; n > 0 && at_ < r.end; at_ += 64, --n) __builtin_prefetch(base_ + plane_ * stride_ + at_, 0, 2);
      if (at_ < r.end) return;
      if (++plane_ == planes_) {
        plane_ = 0;
        if (++index_ == count_) return;
      }
      at_ = ranges_[index_].begin;
    }
  }

 private:
  struct Range {
    int64_t begin, end;
  };
  const char* base_ = nullptr;
  int64_t stride_ = 0, planes_ = 0, lines_ = 0, plane_ = 0, at_ = 0;
  int count_ = 0, index_ = 0;
  Range ranges_[kRanges];
};

}  // namespace trt::cpu
