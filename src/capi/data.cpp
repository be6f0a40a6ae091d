// data.h: datasets and loaders.
#include "tensorrt/data.h"

#include <cstddef>

#include "capi/convert.h"
#include "capi/host_callback.h"
#include "data/loader.h"
#include "io/idx.h"

using namespace trt;
using namespace trt::capi;
using data::DatasetPtr;

namespace {

data::Dataset* impl(trt_dataset* d) { return reinterpret_cast<data::Dataset*>(d); }
const data::Dataset* impl(const trt_dataset* d) { return reinterpret_cast<const data::Dataset*>(d); }
data::DataLoader* impl(trt_data_loader* l) { return reinterpret_cast<data::DataLoader*>(l); }
const data::DataLoader* impl(const trt_data_loader* l) { return reinterpret_cast<const data::DataLoader*>(l); }

DatasetPtr checked(trt_dataset* d) {
  if (!d) throw_null_argument("dataset");
  return DatasetPtr(impl(d));
}
DatasetPtr checked(const trt_dataset* d) { return checked(const_cast<trt_dataset*>(d)); }

// A reference of its own: a release on another thread during the call must not end the loader under it.
intrusive_ptr<data::DataLoader> checked(trt_data_loader* l) {
  if (!l) throw_null_argument("loader");
  return intrusive_ptr<data::DataLoader>(impl(l));
}

template <typename T, typename... A>
void give_dataset(trt_dataset** out, A&&... args) {
  // The handle is a Dataset*, whatever the class.
  DatasetPtr d = make_intrusive<T>(std::forward<A>(args)...);
  *out = reinterpret_cast<trt_dataset*>(d.detach());
}

// The caller's options over the defaults: a host built against other headers has a shorter or a longer struct.
template <typename T>
T read_options(const T* given, void (*init)(T*), const char* init_name) {
  T options;
  init(&options);
  if (!given) return options;
  const size_t size = given->struct_size;
  TRT_CHECK(size >= sizeof(size_t) && size <= 4096, "options->struct_size is ", size, "; call ", init_name, " first");
  for (size_t i = sizeof(T); i < size; ++i)
    TRT_CHECK_CODE(reinterpret_cast<const char*>(given)[i] == 0, Code::kNotSupported, "the options have fields that this version of the library does not know");
  std::memcpy(static_cast<void*>(&options), given, std::min(size, sizeof(T)));
  options.struct_size = sizeof(T);
  return options;
}

// What a host's callback needs; `destroy` runs when the last copy of the owning pointer goes.
struct HostContext final : RefCounted<HostContext> {
  HostContext(void* u, trt_destroy_fn d) : user_data(u), destroy_fn(d) {}
  ~HostContext() {
    if (destroy_fn) unwind(destroy_fn, user_data);
  }
  void* user_data;
  trt_destroy_fn destroy_fn;
};

// Takes charge of user_data: from here on its end runs `destroy`, and without memory for that it runs at once.
intrusive_ptr<HostContext> own(void* user_data, trt_destroy_fn destroy) {
  try {
    return make_intrusive<HostContext>(user_data, destroy);
  } catch (...) {
    if (destroy) destroy(user_data);
    throw;
  }
}

// Calls fn(out, fields), which returns a status, and takes over the handles that it made, also when it failed.
template <typename F>
std::vector<Tensor> sample_from_host(size_t fields, F&& fn) {
  std::vector<trt_tensor*> out(fields, nullptr);
  std::vector<Tensor> sample(fields);
  trt_status* status;
  {
    NoScope no_scope;
    status = fn(out.data(), fields);
  }
  for (size_t i = 0; i < fields; ++i) sample[i] = Tensor::adopt(capi::impl(out[i]));
  if (status) throw StatusError(status);
  for (size_t i = 0; i < fields; ++i)
    TRT_CHECK_CODE(sample[i].defined(), Code::kCallback, "a dataset's callback returned success but left tensor ", i, " of ", fields, " NULL");
  return sample;
}

void check_fields(size_t fields) { TRT_CHECK(fields >= 1 && fields <= 4096, "the number of tensors of a sample must be between 1 and 4096, got ", fields); }

data::ImageOptions image_options(const trt_image_options* given) {
  const trt_image_options o = read_options(given, trt_image_options_init, "trt_image_options_init");
  return {o.normalize, o.mean, o.std, o.add_channel};
}

uint64_t seed_of(const trt_data_loader_options& o) {
  if (o.seed >= 0) return static_cast<uint64_t>(o.seed);
  GeneratorImpl& g = o.generator ? *generator(const_cast<trt_generator*>(o.generator)) : default_generator();
  const GeneratorImpl::State s = g.reserve(1);
  const PhiloxBlock block = philox4x32(s.seed, 0, s.offset);
  return block[0] | static_cast<uint64_t>(block[1]) << 32;
}

std::unique_ptr<data::Sampler> sampler_of(const trt_data_loader_options& o, int64_t size) {
  const bool random = o.shuffle || o.replacement || o.weights;
  TRT_CHECK(o.num_samples >= -1, "num_samples must not be negative (or be -1 for all), got ", o.num_samples);
  TRT_CHECK(random || o.num_samples == -1, "num_samples needs shuffle, replacement or weights");
  TRT_CHECK(o.weights || o.weights_count == 0, "weights is NULL but weights_count is ", o.weights_count);
  const int64_t count = o.num_samples == -1 ? size : o.num_samples;
  if (!random) return data::sequential_sampler(size);
  if (o.weights) {
    TRT_CHECK(static_cast<int64_t>(o.weights_count) == size, "there are ", o.weights_count, " weights for ", size, " samples");
    return data::weighted_sampler(std::vector<double>(o.weights, o.weights + o.weights_count), count);
  }
  if (o.replacement) return data::replacement_sampler(size, count);
  return data::random_sampler(size, count);
}

}  // namespace

extern "C" {

TRT_EXPORT trt_dataset* trt_dataset_retain(trt_dataset* dataset) {
  if (dataset) impl(dataset)->retain();
  return dataset;
}
TRT_EXPORT void trt_dataset_release(trt_dataset* dataset) {
  if (dataset) impl(dataset)->release();
}

TRT_EXPORT trt_status* trt_dataset_from_tensors(const trt_tensor* const* tensors, size_t count, trt_dataset** out) {
  return guard("trt_dataset_from_tensors", [&] {
    require_out(out, "out");
    give_dataset<data::TensorDataset>(out, TensorList(TensorListArg(tensors, count, "tensors", false)).vec());
  });
}

TRT_EXPORT void trt_image_options_init(trt_image_options* options) {
  if (!options) return;
  *options = trt_image_options{};
  options->struct_size = sizeof *options;
  options->normalize = options->add_channel = true;
  options->std = 1;
}
TRT_EXPORT trt_status* trt_dataset_from_images(const trt_tensor* images, const trt_tensor* labels, const trt_image_options* options, trt_dataset** out) {
  return guard("trt_dataset_from_images", [&] {
    require_out(out, "out");
    if (!images) throw_null_argument("images");
    BorrowedTensor i(capi::impl(images)), l(capi::impl(labels));
    give_dataset<data::ImageDataset>(out, i.get(), l.get(), image_options(options));
  });
}
TRT_EXPORT trt_status* trt_dataset_from_idx(const char* images_path, const char* labels_path, const trt_image_options* options, trt_dataset** out) {
  return guard("trt_dataset_from_idx", [&] {
    require_out(out, "out");
    const data::ImageOptions o = image_options(options);
    Tensor images = io::load_idx(std::string(string(images_path, "images_path")));
    Tensor labels;
    if (labels_path) labels = io::load_idx(labels_path);
    try {
      give_dataset<data::ImageDataset>(out, std::move(images), labels, o);
    } catch (const Error& e) {
      throw_error(e.code(), labels_path ? str_cat("'", images_path, "' and '", labels_path, "': ", e.message()) : str_cat("'", images_path, "': ", e.message()));
    }
  });
}

TRT_EXPORT trt_status* trt_dataset_from_callback(int64_t size, size_t fields, trt_dataset_get_fn fn, void* user_data, trt_destroy_fn destroy,
                                                 trt_dataset** out) {
  return guard("trt_dataset_from_callback", [&] {
    auto context = own(user_data, destroy);
    require_out(out, "out");
    if (!fn) throw_null_argument("fn");
    check_fields(fields);
    give_dataset<data::FunctionDataset>(out, size, [fn, fields, context = std::move(context)](int64_t index) {
      return sample_from_host(fields, [&](trt_tensor** o, size_t n) { return fn(index, o, n, context->user_data); });
    });
  });
}

TRT_EXPORT trt_status* trt_dataset_map(trt_dataset* dataset, size_t fields, trt_dataset_map_fn fn, void* user_data, trt_destroy_fn destroy,
                                       trt_dataset** out) {
  return guard("trt_dataset_map", [&] {
    auto context = own(user_data, destroy);
    require_out(out, "out");
    if (!fn) throw_null_argument("fn");
    check_fields(fields);
    give_dataset<data::MapDataset>(out, checked(dataset), [fn, fields, context = std::move(context)](std::vector<Tensor> sample) {
      std::vector<const trt_tensor*> in;
      for (const Tensor& t : sample) in.push_back(handle(t.impl()));
      return sample_from_host(fields, [&](trt_tensor** o, size_t n) { return fn(in.data(), in.size(), o, n, context->user_data); });
    });
  });
}

TRT_EXPORT trt_status* trt_dataset_subset(trt_dataset* dataset, const int64_t* indices, size_t count, trt_dataset** out) {
  return guard("trt_dataset_subset", [&] {
    require_out(out, "out");
    give_dataset<data::Subset>(out, checked(dataset), int_list(indices, count, "indices").vec());
  });
}

TRT_EXPORT int64_t trt_dataset_size(const trt_dataset* dataset) { return dataset ? impl(dataset)->size() : 0; }
TRT_EXPORT trt_status* trt_dataset_get(const trt_dataset* dataset, int64_t index, trt_tensor_list** out) {
  return guard("trt_dataset_get", [&] {
    require_out(out, "out");
    give(checked(dataset)->get(index), out);
  });
}
TRT_EXPORT trt_status* trt_dataset_batch(const trt_dataset* dataset, const int64_t* indices, size_t count, trt_tensor_list** out) {
  return guard("trt_dataset_batch", [&] {
    require_out(out, "out");
    give(checked(dataset)->batch(int_list(indices, count, "indices")), out);
  });
}

TRT_EXPORT void trt_data_loader_options_init(trt_data_loader_options* options) {
  if (!options) return;
  *options = trt_data_loader_options{};
  options->struct_size = sizeof *options;
  options->batch_size = 1;
  options->prefetch_factor = 2;
  options->seed = -1;
  options->num_samples = -1;
}

TRT_EXPORT trt_status* trt_data_loader_create(trt_dataset* dataset, const trt_data_loader_options* options, trt_data_loader** out) {
  return guard("trt_data_loader_create", [&] {
    require_out(out, "out");
    DatasetPtr d = checked(dataset);
    const trt_data_loader_options o = read_options(options, trt_data_loader_options_init, "trt_data_loader_options_init");
    data::LoaderOptions lo;
    lo.batch_size = o.batch_size;
    lo.drop_last = o.drop_last;
    lo.num_workers = o.num_workers;
    lo.prefetch_factor = o.prefetch_factor;
    TRT_CHECK(o.seed >= -1, "the seed must not be negative (or be -1 for a seed from the generator), got ", o.seed);
    auto sampler = sampler_of(o, d->size());
    auto loader = make_intrusive<data::DataLoader>(std::move(d), std::move(sampler), lo);
    // Last, since a failed call must not draw from the generator.
    loader->set_seed(seed_of(o));
    *out = reinterpret_cast<trt_data_loader*>(loader.detach());
  });
}
TRT_EXPORT trt_data_loader* trt_data_loader_retain(trt_data_loader* loader) {
  if (loader) impl(loader)->retain();
  return loader;
}
TRT_EXPORT void trt_data_loader_release(trt_data_loader* loader) {
  if (loader) impl(loader)->release();
}

TRT_EXPORT trt_status* trt_data_loader_next(trt_data_loader* loader, trt_tensor_list** out, bool* has_batch) {
  return guard("trt_data_loader_next", [&] {
    require_out(out, "out");
    require_out(has_batch, "has_batch");
    std::vector<Tensor> batch;
    const bool more = checked(loader)->next(&batch);
    if (more) give(std::move(batch), out);
    else *out = nullptr;
    *has_batch = more;
  });
}
TRT_EXPORT trt_status* trt_data_loader_reset(trt_data_loader* loader) {
  return guard("trt_data_loader_reset", [&] {
    auto l = checked(loader);
    TRT_CHECK_CODE(l->epoch() < INT64_MAX, Code::kOutOfRange, "there is no epoch after ", l->epoch());
    l->reset(l->epoch() + 1);
  });
}
TRT_EXPORT trt_status* trt_data_loader_set_epoch(trt_data_loader* loader, int64_t epoch) {
  return guard("trt_data_loader_set_epoch", [&] {
    TRT_CHECK(epoch >= 0, "the epoch must not be negative, got ", epoch);
    checked(loader)->reset(static_cast<uint64_t>(epoch));
  });
}
TRT_EXPORT int64_t trt_data_loader_epoch(const trt_data_loader* loader) { return loader ? static_cast<int64_t>(impl(loader)->epoch()) : 0; }
TRT_EXPORT int64_t trt_data_loader_batches(const trt_data_loader* loader) { return loader ? impl(loader)->batches() : 0; }

}  // extern "C"
