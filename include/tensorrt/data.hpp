// Datasets and loaders in C++17, over data.h (which documents behaviour and errors). Included by tensorrt.hpp.
#ifndef TENSORRT_DATA_HPP
#define TENSORRT_DATA_HPP

#include "tensorrt/tensor.hpp"

namespace trt {

/** The tensors of a sample or of a batch. auto& [images, labels] takes the first two. */
class Batch {
 public:
  Batch() = default;
  Batch(std::vector<Tensor> all) : tensors(std::move(all)) {}
  std::vector<Tensor> tensors;
  std::size_t size() const { return tensors.size(); }
  const Tensor& operator[](std::size_t i) const {
    if (i >= tensors.size())
      throw Error(TRT_OUT_OF_RANGE,
                  "Batch: there is no tensor " + std::to_string(i) + ", it has " + std::to_string(tensors.size()));
    return tensors[i];
  }
  const Tensor& data() const { return (*this)[0]; }
  const Tensor& target() const { return (*this)[1]; }
  template <std::size_t I>
  const Tensor& get() const {
    return (*this)[I];
  }
};

/** How images are given: mean and std of pixels / 255. */
class ImageOptions {
 public:
  ImageOptions() : c_(detail::defaults(trt_image_options_init)) {}
  ImageOptions& normalize(bool v) {
    c_.normalize = v;
    return *this;
  }
  ImageOptions& add_channel(bool v) {
    c_.add_channel = v;
    return *this;
  }
  ImageOptions& mean(float v) {
    c_.mean = v;
    return *this;
  }
  ImageOptions& std_dev(float v) {
    c_.std = v;
    return *this;
  }
  const trt_image_options* c() const { return &c_; }

 private:
  trt_image_options c_;
};

/** Where samples come from; empty after default construction. Copying copies the reference. */
class Dataset : public detail::Handle<trt_dataset, trt_dataset_retain, trt_dataset_release> {
 public:
  Dataset() = default;
  /** Takes over a handle. */
  explicit Dataset(trt_dataset* owned) : Handle(owned) {}
  /** Row i of every tensor is sample i. */
  static Dataset from(TensorList tensors) {
    return Dataset(detail::create(trt_dataset_from_tensors, detail::handles(tensors).data(), tensors.size()));
  }
  /** uint8 images and integer labels, which may be left out. */
  static Dataset from_images(const Tensor& images, OptionalTensorRef labels = {}, const ImageOptions& o = {}) {
    return Dataset(detail::create(trt_dataset_from_images, images.get(), labels.get(), o.c()));
  }
  /** The same from two IDX files; the second path may be "". */
  static Dataset from_idx(const std::string& images, const std::string& labels = "", const ImageOptions& o = {}) {
    return Dataset(
        detail::create(trt_dataset_from_idx, images.c_str(), labels.empty() ? nullptr : labels.c_str(), o.c()));
  }
  /** `size` samples of `fields` tensors that `get(index)` makes, as a vector; on several threads at once when a loader
   * has workers. */
  template <typename F>
  static Dataset from_function(std::int64_t size, std::size_t fields, F get) {
    const auto call = [](std::int64_t index, trt_tensor** out, std::size_t count, void* user_data) {
      return detail::guarded(
          [&] { detail::give(std::vector<Tensor>((*static_cast<F*>(user_data))(index)), out, count); });
    };
    trt_dataset* d = nullptr;
    check(trt_dataset_from_callback(size, fields, call, new F(std::move(get)), detail::destroy<F>, &d));
    return Dataset(d);
  }
  /** The samples, each changed by `fn(tensors)`, which gives a vector of `fields` tensors, when it is needed. */
  template <typename F>
  Dataset map(std::size_t fields, F fn) const {
    const auto call = [](const trt_tensor* const* in, std::size_t in_count, trt_tensor** out, std::size_t count,
                         void* user_data) {
      return detail::guarded([&] {
        detail::give(std::vector<Tensor>((*static_cast<F*>(user_data))(detail::borrow(in, in_count))), out, count);
      });
    };
    trt_dataset* d = nullptr;
    check(trt_dataset_map(this->get(), fields, call, new F(std::move(fn)), detail::destroy<F>, &d));
    return Dataset(d);
  }
  /** The samples `indices`, in this order. */
  Dataset subset(IntArrayRef indices) const {
    return Dataset(detail::create(trt_dataset_subset, this->get(), indices.data(), indices.size()));
  }
  std::int64_t size() const { return trt_dataset_size(this->get()); }
  Batch operator[](std::int64_t i) const { return detail::take(detail::create(trt_dataset_get, this->get(), i)); }
  /** The samples `indices` stacked. */
  Batch batch(IntArrayRef indices) const {
    return detail::take(detail::create(trt_dataset_batch, this->get(), indices.data(), indices.size()));
  }
};

/** Options of a loader; a number is its batch size. */
class DataLoaderOptions {
 public:
  DataLoaderOptions(std::int64_t batch_size = 1) : c_(detail::defaults(trt_data_loader_options_init)) {
    c_.batch_size = batch_size;
  }
  DataLoaderOptions& batch_size(std::int64_t v) {
    c_.batch_size = v;
    return *this;
  }
  /** A new permutation each epoch. */
  DataLoaderOptions& shuffle(bool v = true) {
    c_.shuffle = v;
    return *this;
  }
  /** Independent draws instead. */
  DataLoaderOptions& replacement(bool v = true) {
    c_.replacement = v;
    return *this;
  }
  DataLoaderOptions& drop_last(bool v = true) {
    c_.drop_last = v;
    return *this;
  }
  DataLoaderOptions& workers(std::int32_t v) {
    c_.num_workers = v;
    return *this;
  }
  DataLoaderOptions& prefetch_factor(std::int32_t v) {
    c_.prefetch_factor = v;
    return *this;
  }
  /** Of the order; without, it is drawn from the generator. */
  DataLoaderOptions& seed(std::int64_t v) {
    c_.seed = v;
    return *this;
  }
  DataLoaderOptions& generator(const Generator& v) {
    generator_ = v;
    return *this;
  }
  /** Samples in an epoch, for random orders. */
  DataLoaderOptions& num_samples(std::int64_t v) {
    c_.num_samples = v;
    return *this;
  }
  /** One weight for each sample: independent draws with these probabilities. */
  DataLoaderOptions& weights(std::vector<double> v) {
    weights_ = std::move(v);
    return *this;
  }
  /** The options of the C function; they point into this object. */
  trt_data_loader_options c() const {
    trt_data_loader_options o = c_;
    o.generator = generator_.get();
    o.weights = weights_.empty() ? nullptr : weights_.data();
    o.weights_count = weights_.size();
    return o;
  }

 private:
  trt_data_loader_options c_;
  Generator generator_;
  std::vector<double> weights_;
};

/**
 * Iterates over a dataset in batches; empty after default construction. Copying copies the reference.
 *
 *     for (auto& [images, labels] : loader) ...
 *
 * is one epoch: the one that the loader stands at the beginning of, else the next.
 */
class DataLoader : public detail::Handle<trt_data_loader, trt_data_loader_retain, trt_data_loader_release> {
 public:
  DataLoader() = default;
  explicit DataLoader(const Dataset& d, const DataLoaderOptions& o = {})
      : Handle(make(d, o)), begun_(std::make_shared<bool>(false)) {}
  /** The next batch, or nothing at the end of the epoch. */
  std::optional<Batch> next() {
    trt_tensor_list* batch = nullptr;
    bool more = false;
    if (begun_) *begun_ = true;
    check(trt_data_loader_next(get(), &batch, &more));
    if (!more) return std::nullopt;
    return Batch(detail::take(batch));
  }
  /** Begins the next epoch. */
  void reset() {
    check(trt_data_loader_reset(get()));
    *begun_ = false;
  }
  /** Begins epoch `epoch`. */
  void set_epoch(std::int64_t epoch) {
    check(trt_data_loader_set_epoch(get(), epoch));
    *begun_ = false;
  }
  /** The number of the current epoch. */
  std::int64_t epoch() const { return trt_data_loader_epoch(get()); }
  /** Batches in an epoch. */
  std::int64_t batches() const { return trt_data_loader_batches(get()); }

  /** An input iterator over the batches. */
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = Batch*;
    using reference = Batch&;
    Iterator() = default;
    explicit Iterator(DataLoader* loader) : loader_(loader) { ++*this; }
    reference operator*() { return *batch_; }
    pointer operator->() { return &*batch_; }
    Iterator& operator++() {
      batch_.reset();  // its memory first
      batch_ = loader_->next();
      if (!batch_) loader_ = nullptr;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.loader_ == b.loader_; }
    friend bool operator!=(const Iterator& a, const Iterator& b) { return !(a == b); }

   private:
    DataLoader* loader_ = nullptr;
    std::optional<Batch> batch_;
  };
  Iterator begin() {
    if (begun_ && *begun_) reset();
    return Iterator(this);
  }
  Iterator end() { return Iterator(); }

 private:
  static trt_data_loader* make(const Dataset& d, const DataLoaderOptions& o) {
    const trt_data_loader_options c = o.c();
    return detail::create(trt_data_loader_create, d.get(), &c);
  }
  std::shared_ptr<bool> begun_;  // of this epoch, shared by copies
};

}  // namespace trt

#ifndef TRT_DOXYGEN
// A Batch as two tensors, for structured bindings.
template <>
struct std::tuple_size<trt::Batch> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I>
struct std::tuple_element<I, trt::Batch> {
  using type = const trt::Tensor;
};
#endif

#endif
