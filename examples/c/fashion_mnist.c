/*
 * Trains a small convolutional network on Fashion-MNIST (60,000 images of clothes, 28 x 28 grey pixels, 10 classes) through the C API of
 * libtensorrt, evaluates it on the 10,000 test images, saves a checkpoint after every epoch, resumes from one, and predicts.
 *
 *   fashion_mnist [--data DIR] [--epochs N] [--batch-size N] [--lr X] [--threads N] [--workers N] [--seed N]
 *                 [--save FILE] [--resume FILE] [--predict INDEX] [--stop-after N] [--benchmark STEPS]
 *
 * Errors are reported on stderr with exit status 1. A checkpoint is replaced only when the new one is completely on the disk.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tensorrt/tensorrt.h"

enum { kClasses = 10, kSide = 28, kEvalBatch = 500 };
static const char* const kClassNames[kClasses] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};
static const char kFormat[] = "libtensorrt fashion_mnist 1";

typedef struct options {
  const char* data;
  long epochs, batch_size, threads, workers, seed, predict, stop_after, benchmark;
  double lr;
  const char *save, *resume;
} options;

/* --- errors --- */

static void die(const char* what, trt_status* status) {
  fflush(stdout);
  fprintf(stderr, "fashion_mnist: %s: %s\n", what, trt_status_message(status));
  trt_status_release(status);
  exit(1);
}
static void check(const char* what, trt_status* status) {
  if (status) die(what, status);
}

/* --- command line --- */

static long integer(const char* name, const char* text, long low, long high) {
  char* end;
  errno = 0;
  const long v = text ? strtol(text, &end, 10) : 0;
  if (!text || *text == 0 || *end || errno || v < low || v > high) {
    fprintf(stderr, "fashion_mnist: %s needs an integer from %ld to %ld, got '%s'\n", name, low, high, text ? text : "");
    exit(2);
  }
  return v;
}

static options parse(int argc, char** argv) {
  options o = {"/usr/share/datasets/fashion-mnist", 5, 128, 0, 0, 1, -1, 0, 0, 5e-3, NULL, NULL};
  for (int i = 1; i < argc; i += 2) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(name, "--help")) {
      puts("usage: fashion_mnist [--data DIR] [--epochs N] [--batch-size N] [--lr X] [--threads N] [--workers N] [--seed N]\n"
           "                     [--save FILE] [--resume FILE] [--predict INDEX] [--stop-after N] [--benchmark STEPS]\n\n"
           "  --data        folder with the four gzipped IDX files (default: Debian's package dataset-fashion-mnist)\n"
           "  --epochs      passes over the training images that the schedule spans (5)\n"
           "  --threads     threads of the library (its own choice)      --workers  threads that prepare batches (0)\n"
           "  --save        write a checkpoint after every epoch         --resume   continue from one, with the same settings\n"
           "  --predict     show test image INDEX and what the network thinks\n"
           "  --stop-after  end after N epochs of the schedule           --benchmark  time STEPS training steps and exit");
      exit(0);
    }
    if (!value) {
      fprintf(stderr, "fashion_mnist: %s needs a value (or is unknown); see --help\n", name);
      exit(2);
    }
    if (!strcmp(name, "--data")) o.data = value;
    else if (!strcmp(name, "--epochs")) o.epochs = integer(name, value, 0, 1000);
    else if (!strcmp(name, "--batch-size")) o.batch_size = integer(name, value, 2, 60000);
    else if (!strcmp(name, "--threads")) o.threads = integer(name, value, 1, 1024);
    else if (!strcmp(name, "--workers")) o.workers = integer(name, value, 0, 64);
    else if (!strcmp(name, "--seed")) o.seed = integer(name, value, 0, 2147483647);
    else if (!strcmp(name, "--predict")) o.predict = integer(name, value, 0, 9999);
    else if (!strcmp(name, "--stop-after")) o.stop_after = integer(name, value, 1, 1000);
    else if (!strcmp(name, "--benchmark")) o.benchmark = integer(name, value, 1, 100000);
    else if (!strcmp(name, "--save")) o.save = value;
    else if (!strcmp(name, "--resume")) o.resume = value;
    else if (!strcmp(name, "--lr")) {
      char* end;
      o.lr = strtod(value, &end);
      if (*end || !(o.lr > 0) || !isfinite(o.lr)) {
        fprintf(stderr, "fashion_mnist: --lr needs a positive number, got '%s'\n", value);
        exit(2);
      }
    } else {
      fprintf(stderr, "fashion_mnist: unknown option %s; see --help\n", name);
      exit(2);
    }
  }
  return o;
}

/* --- data --- */

static trt_dataset* load_images(const char* directory, const char* part) {
  char images[4096], labels[4096];
  snprintf(images, sizeof images, "%s/%s-images-idx3-ubyte.gz", directory, part);
  snprintf(labels, sizeof labels, "%s/%s-labels-idx1-ubyte.gz", directory, part);
  trt_image_options o;
  trt_image_options_init(&o);
  o.mean = 0.2860f; /* of the training images */
  o.std = 0.3530f;
  trt_dataset* d;
  check("loading the images", trt_dataset_from_idx(images, labels, &o, &d));
  /* A file of another shape would train, or fail somewhere deep; say it here. */
  trt_tensor_list* sample;
  trt_tensor *image, *label;
  check("loading the images", trt_dataset_get(d, 0, &sample));
  check("loading the images", trt_tensor_list_get(sample, 0, &image));
  check("loading the images", trt_tensor_list_get(sample, 1, &label));
  const int64_t* s = trt_tensor_sizes(image);
  if (trt_tensor_ndim(image) != 3 || s[1] != kSide || s[2] != kSide || trt_tensor_ndim(label) != 0) {
    fprintf(stderr, "fashion_mnist: %s does not hold %d x %d images with one label each\n", images, kSide, kSide);
    exit(1);
  }
  trt_tensor_release(label);
  trt_tensor_release(image);
  trt_tensor_list_release(sample);
  return d;
}

static trt_data_loader* make_loader(trt_dataset* d, long batch, bool train, const options* o) {
  trt_data_loader_options l;
  trt_data_loader_options_init(&l);
  l.batch_size = batch;
  l.shuffle = l.drop_last = train;
  l.num_workers = (int32_t)o->workers;
  l.seed = o->seed;
  trt_data_loader* loader;
  check("making the loader", trt_data_loader_create(d, &l, &loader));
  return loader;
}

/* Gives the next batch as two handles; false at the end of the epoch. */
static bool next_batch(trt_data_loader* loader, trt_tensor** images, trt_tensor** labels) {
  trt_tensor_list* batch;
  bool more;
  check("reading a batch", trt_data_loader_next(loader, &batch, &more));
  if (!more) return false;
  check("reading a batch", trt_tensor_list_get(batch, 0, images));
  check("reading a batch", trt_tensor_list_get(batch, 1, labels));
  trt_tensor_list_release(batch);
  return true;
}

/* --- network --- */

static trt_module* build_network(void) {
  trt_conv_options conv;
  trt_conv_options_init(&conv);
  conv.padding[0] = conv.padding[1] = 1;
  conv.bias = false; /* the normalization behind it has one */
  trt_linear_options hidden;
  trt_linear_options_init(&hidden);
  hidden.bias = false;
  trt_module* m[14];
  size_t n = 0;
  const char* what = "building the network";
  for (int block = 0; block < 2; ++block) {
    const int64_t in = block ? 32 : 1, out = block ? 64 : 32;
    check(what, trt_conv2d_create(in, out, 3, 3, &conv, &m[n++]));
    check(what, trt_batch_norm2d_create(out, NULL, &m[n++]));
    check(what, trt_relu_create(&m[n++]));
    check(what, trt_max_pool2d_create(2, 2, NULL, &m[n++]));
  }
  check(what, trt_flatten_create(1, -1, &m[n++]));
  check(what, trt_dropout_create(0.25, &m[n++]));
  check(what, trt_linear_create(64 * 7 * 7, 128, &hidden, &m[n++]));
  check(what, trt_batch_norm1d_create(128, NULL, &m[n++]));
  check(what, trt_relu_create(&m[n++]));
  check(what, trt_linear_create(128, kClasses, NULL, &m[n++]));
  trt_module* network;
  check(what, trt_sequential_create(m, n, &network));
  for (size_t i = 0; i < n; ++i) trt_module_release(m[i]);
  return network;
}

static trt_optimizer* make_optimizer(const trt_module* network, double lr) {
  trt_tensor_list* list;
  check("listing the parameters", trt_module_parameters(network, &list));
  const size_t n = trt_tensor_list_size(list);
  const trt_tensor** params = calloc(n, sizeof *params);
  if (!params) exit(1);
  for (size_t i = 0; i < n; ++i) {
    trt_tensor* t;
    check("listing the parameters", trt_tensor_list_get(list, i, &t));
    params[i] = t;
  }
  trt_adam_options o;
  trt_adamw_options_init(&o);
  o.lr = lr;
  trt_optimizer* optimizer;
  check("making the optimizer", trt_adamw_create(params, n, &o, &optimizer));
  for (size_t i = 0; i < n; ++i) trt_tensor_release((trt_tensor*)params[i]);
  free(params);
  trt_tensor_list_release(list);
  return optimizer;
}

static trt_scheduler* make_scheduler(trt_optimizer* optimizer, double lr, int64_t steps) {
  trt_one_cycle_options o;
  trt_one_cycle_options_init(&o);
  o.max_lr = lr;
  o.total_steps = steps > 1 ? steps : 1;
  trt_scheduler* s;
  check("making the schedule", trt_one_cycle_lr_create(optimizer, &o, &s));
  return s;
}

/* --- checkpoints: one safetensors file with the state of network, optimizer, schedule and random stream --- */

typedef struct run {
  trt_module* network;
  trt_optimizer* optimizer;
  trt_scheduler* scheduler;
  long epoch; /* completed */
} run;

static void merge(trt_state_dict* into, const char* prefix, trt_state_dict* part) {
  for (size_t i = 0; i < trt_state_dict_size(part); ++i) {
    char name[512];
    snprintf(name, sizeof name, "%s.%s", prefix, trt_state_dict_name(part, i));
    trt_tensor* t;
    check("saving", trt_state_dict_tensor(part, i, &t));
    check("saving", trt_state_dict_set(into, name, t));
    trt_tensor_release(t);
  }
  trt_state_dict_release(part);
}

/* Training takes minutes: a checkpoint that cannot be written is told before. */
static void check_folder(const char* path) {
  const char* slash = strrchr(path, '/');
  char folder[4096];
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  if (access(folder, W_OK) == 0) return;
  fprintf(stderr, "fashion_mnist: saving the checkpoint: cannot write into %s: %s\n", folder, strerror(errno));
  exit(1);
}

static void save(const char* path, const run* r, const options* o) {
  trt_state_dict *all, *part;
  check("saving", trt_state_dict_create(&all));
  check("saving", trt_module_state_dict(r->network, &part));
  merge(all, "network", part);
  check("saving", trt_optimizer_state_dict(r->optimizer, &part));
  merge(all, "optimizer", part);
  check("saving", trt_scheduler_state_dict(r->scheduler, &part));
  merge(all, "scheduler", part);

  uint64_t seed, offset;
  check("saving", trt_generator_get_state(NULL, &seed, &offset));
  char values[6][32];
  snprintf(values[0], 32, "%ld", r->epoch);
  snprintf(values[1], 32, "%ld", o->epochs);
  snprintf(values[2], 32, "%ld", o->batch_size);
  snprintf(values[3], 32, "%ld", o->seed);
  snprintf(values[4], 32, "%llu", (unsigned long long)seed);
  snprintf(values[5], 32, "%llu", (unsigned long long)offset);
  const char* const keys[] = {"format", "epoch", "epochs", "batch_size", "seed", "generator_seed", "generator_offset"};
  const char* const texts[] = {kFormat, values[0], values[1], values[2], values[3], values[4], values[5]};

  check("saving the checkpoint", trt_state_dict_save(all, path, keys, texts, 7));
  trt_state_dict_release(all);
}

static trt_state_dict* section(const trt_safetensors* file, const char* prefix) {
  const size_t length = strlen(prefix);
  trt_state_dict* dict;
  check("resuming", trt_state_dict_create(&dict));
  for (size_t i = 0; i < trt_safetensors_size(file); ++i) {
    const char* name = trt_safetensors_name(file, i);
    if (strncmp(name, prefix, length) || name[length] != '.') continue;
    trt_tensor* t;
    check("resuming", trt_safetensors_tensor(file, name, TRT_LOAD_COPY, &t));
    check("resuming", trt_state_dict_set(dict, name + length + 1, t));
    trt_tensor_release(t);
  }
  return dict;
}

static long metadata_integer(const trt_safetensors* file, const char* path, const char* key) {
  const char* text = trt_safetensors_metadata(file, key);
  char* end = NULL;
  const long v = text ? strtol(text, &end, 10) : 0;
  if (!text || *text == 0 || *end || v < 0) {
    fprintf(stderr, "fashion_mnist: %s: the entry '%s' is missing or no number\n", path, key);
    exit(1);
  }
  return v;
}

static void resume(const char* path, run* r, const options* o) {
  trt_safetensors* file;
  check("resuming", trt_safetensors_open(path, &file));
  const char* format = trt_safetensors_metadata(file, "format");
  if (!format || strcmp(format, kFormat)) {
    fprintf(stderr, "fashion_mnist: %s is no checkpoint of this program (format '%s', expected '%s')\n", path, format ? format : "none", kFormat);
    exit(1);
  }
  /* The order of the images and the schedule follow from these: another value would silently continue something else. */
  const struct {
    const char* key;
    long value;
  } same[] = {{"epochs", o->epochs}, {"batch_size", o->batch_size}, {"seed", o->seed}};
  for (size_t i = 0; i < sizeof same / sizeof *same; ++i)
    if (metadata_integer(file, path, same[i].key) != same[i].value) {
      fprintf(stderr, "fashion_mnist: %s was trained with %s %s, now it is %ld; give the same value\n", path, same[i].key,
              trt_safetensors_metadata(file, same[i].key), same[i].value);
      exit(1);
    }
  trt_state_dict* dict = section(file, "network");
  check("resuming (is it of another architecture?)", trt_module_load_state_dict(r->network, dict, true));
  trt_state_dict_release(dict);
  dict = section(file, "optimizer");
  check("resuming the optimizer", trt_optimizer_load_state_dict(r->optimizer, dict));
  trt_state_dict_release(dict);
  dict = section(file, "scheduler");
  check("resuming the schedule", trt_scheduler_load_state_dict(r->scheduler, dict));
  trt_state_dict_release(dict);
  r->epoch = metadata_integer(file, path, "epoch");
  const uint64_t seed = strtoull(trt_safetensors_metadata(file, "generator_seed") ? trt_safetensors_metadata(file, "generator_seed") : "0", NULL, 10);
  const uint64_t offset = strtoull(trt_safetensors_metadata(file, "generator_offset") ? trt_safetensors_metadata(file, "generator_offset") : "0", NULL, 10);
  check("resuming", trt_generator_set_state(NULL, seed, offset));
  trt_safetensors_release(file);
  printf("resumed %s after epoch %ld\n", path, r->epoch);
}

/* --- training --- */

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double train_step(run* r, const trt_tensor* images, const trt_tensor* labels) {
  trt_tensor *scores, *loss;
  double value;
  check("forward", trt_module_forward(r->network, images, &scores));
  check("loss", trt_cross_entropy(scores, labels, NULL, -100, "mean", 0.0, &loss));
  check("zero_grad", trt_optimizer_zero_grad(r->optimizer, true));
  check("backward", trt_tensor_backward(loss));
  check("optimizer", trt_optimizer_step(r->optimizer));
  check("schedule", trt_scheduler_step(r->scheduler));
  check("loss", trt_tensor_item_double(loss, &value));
  trt_tensor_release(loss);
  trt_tensor_release(scores);
  return value;
}

static void show_progress(long epoch, long epochs, int64_t step, int64_t steps, double loss, double rate, double left) {
  enum { kWidth = 24 };
  char bar[kWidth + 1];
  const int filled = (int)(kWidth * step / steps);
  for (int i = 0; i < kWidth; ++i) bar[i] = i < filled ? '=' : i == filled ? '>' : ' ';
  bar[kWidth] = 0;
  printf("\repoch %ld/%ld [%s] %3d%%  loss %.4f  %6.0f images/s  %2d:%02d left ", epoch, epochs, bar, (int)(100 * step / steps), loss, rate,
         (int)left / 60, (int)left % 60);
  fflush(stdout);
}

static double train_epoch(run* r, trt_data_loader* loader, const options* o, bool terminal) {
  const int64_t steps = trt_data_loader_batches(loader);
  check("shuffling", trt_data_loader_set_epoch(loader, r->epoch));
  check("train mode", trt_module_train(r->network, true));
  const double start = seconds();
  double shown = start, total = 0;
  trt_tensor *images, *labels;
  int64_t step = 0;
  while (next_batch(loader, &images, &labels)) {
    const double loss = train_step(r, images, labels);
    trt_tensor_release(images);
    trt_tensor_release(labels);
    if (!isfinite(loss)) {
      fprintf(stderr, "\nfashion_mnist: the loss became %f in epoch %ld, step %lld; try a smaller --lr\n", loss, r->epoch + 1, (long long)step);
      exit(1);
    }
    total += loss;
    ++step;
    const double now = seconds(), rate = (double)(step * o->batch_size) / (now - start);
    const double left = (double)((steps - step) + (o->epochs - r->epoch - 1) * steps) * (double)o->batch_size / rate;
    if (terminal && now - shown > 0.1) {
      shown = now;
      show_progress(r->epoch + 1, o->epochs, step, steps, total / (double)step, rate, left);
    } else if (!terminal && step % 100 == 0) {
      printf("epoch %ld/%ld  step %lld/%lld  loss %.9g  %.0f images/s\n", r->epoch + 1, o->epochs, (long long)step, (long long)steps,
             total / (double)step, rate);
      fflush(stdout);
    }
  }
  return total / (double)(step ? step : 1);
}

static double evaluate(const run* r, trt_data_loader* loader) {
  check("eval mode", trt_module_train(r->network, false));
  check("reading the test images", trt_data_loader_reset(loader));
  const bool recorded = trt_set_grad_mode(false);
  int64_t right = 0, seen = 0;
  trt_tensor *images, *labels;
  while (next_batch(loader, &images, &labels)) {
    trt_tensor *scores, *best, *equal, *count;
    int64_t n;
    check("evaluating", trt_module_forward(r->network, images, &scores));
    check("evaluating", trt_argmax(scores, &(int64_t){1}, false, &best));
    check("evaluating", trt_eq(best, labels, &equal));
    check("evaluating", trt_sum(equal, NULL, 0, false, TRT_DTYPE_NONE, &count));
    check("evaluating", trt_tensor_item_int(count, &n));
    right += n;
    seen += trt_tensor_numel(labels);
    trt_tensor* done[] = {scores, best, equal, count, images, labels};
    for (size_t i = 0; i < sizeof done / sizeof *done; ++i) trt_tensor_release(done[i]);
  }
  trt_set_grad_mode(recorded);
  return 100.0 * (double)right / (double)(seen ? seen : 1);
}

static void predict(const run* r, const trt_dataset* test, long index) {
  trt_tensor_list* sample;
  trt_tensor *image, *label, *batch, *scores, *probabilities;
  check("predicting", trt_dataset_get(test, index, &sample));
  check("predicting", trt_tensor_list_get(sample, 0, &image));
  check("predicting", trt_tensor_list_get(sample, 1, &label));
  float pixels[kSide * kSide];
  int64_t truth;
  check("predicting", trt_tensor_copy_to_host(image, pixels, TRT_FLOAT32, kSide * kSide));
  check("predicting", trt_tensor_item_int(label, &truth));
  printf("\ntest image %ld:\n", index);
  for (int y = 0; y < kSide; y += 2) {
    for (int x = 0; x < kSide; ++x) {
      const float grey = (pixels[y * kSide + x] + pixels[(y + 1) * kSide + x]) / 2 * 0.3530f + 0.2860f;
      const int shade = (int)(grey * 9.99f);
      putchar(" .:-=+*#%@"[shade < 0 ? 0 : shade > 9 ? 9 : shade]);
    }
    putchar('\n');
  }
  check("predicting", trt_module_train(r->network, false));
  const bool recorded = trt_set_grad_mode(false);
  check("predicting", trt_unsqueeze(image, 0, &batch));
  check("predicting", trt_module_forward(r->network, batch, &scores));
  check("predicting", trt_softmax(scores, 1, TRT_DTYPE_NONE, &probabilities));
  trt_set_grad_mode(recorded);
  float p[kClasses];
  check("predicting", trt_tensor_copy_to_host(probabilities, p, TRT_FLOAT32, kClasses));
  int best = 0;
  for (int c = 0; c < kClasses; ++c) {
    if (p[c] > p[best]) best = c;
    if (p[c] >= 0.01f) printf("  %5.1f %%  %s\n", 100 * p[c], kClassNames[c]);
  }
  printf("prediction: %s (it is: %s)\n", kClassNames[best], kClassNames[truth]);
  trt_tensor* done[] = {image, label, batch, scores, probabilities};
  for (size_t i = 0; i < sizeof done / sizeof *done; ++i) trt_tensor_release(done[i]);
  trt_tensor_list_release(sample);
}

/* Times training steps alone, for tests/bench/compare_torch.py. */
static void benchmark(run* r, trt_data_loader* loader, const options* o) {
  trt_tensor *images, *labels;
  double start = 0;
  const long warmup = 20;
  check("train mode", trt_module_train(r->network, true));
  for (long i = 0; i < warmup + o->benchmark; ++i) {
    if (i == warmup) start = seconds();
    while (!next_batch(loader, &images, &labels)) check("shuffling", trt_data_loader_reset(loader));
    train_step(r, images, labels);
    trt_tensor_release(images);
    trt_tensor_release(labels);
  }
  printf("rate %.1f\n", (double)(o->benchmark * o->batch_size) / (seconds() - start));
}

int main(int argc, char** argv) {
  const options o = parse(argc, argv);
  const bool terminal = isatty(STDOUT_FILENO);
  if (o.threads) check("--threads", trt_set_num_threads((int32_t)o.threads));
  check("--seed", trt_manual_seed((uint64_t)o.seed));
  if (o.save) check_folder(o.save);

  trt_dataset *train = load_images(o.data, "train"), *test = load_images(o.data, "t10k");
  trt_data_loader *train_loader = make_loader(train, o.batch_size, true, &o), *test_loader = make_loader(test, kEvalBatch, false, &o);
  const int64_t steps = trt_data_loader_batches(train_loader);
  run r = {build_network(), NULL, NULL, 0};
  r.optimizer = make_optimizer(r.network, o.lr);
  r.scheduler = make_scheduler(r.optimizer, o.lr, o.benchmark ? 1000000 : steps * o.epochs);

  char* text;
  check("describing the network", trt_module_to_string(r.network, &text));
  if (!o.benchmark)
    printf("%s\n%lld parameters, %lld training images, %lld test images, %d threads\n", text, (long long)trt_module_parameter_count(r.network),
           (long long)trt_dataset_size(train), (long long)trt_dataset_size(test), (int)trt_get_num_threads());
  trt_string_release(text);

  if (o.resume) resume(o.resume, &r, &o);
  if (o.benchmark) {
    benchmark(&r, train_loader, &o);
  } else {
    const long last = o.stop_after && o.stop_after < o.epochs ? o.stop_after : o.epochs;
    const double start = seconds();
    if (r.epoch >= last) printf("test accuracy %.2f %%\n", evaluate(&r, test_loader));
    while (r.epoch < last) {
      const double begin = seconds();
      const double loss = train_epoch(&r, train_loader, &o, terminal);
      const double rate = (double)(steps * o.batch_size) / (seconds() - begin);
      const double accuracy = evaluate(&r, test_loader);
      ++r.epoch;
      printf("%sepoch %ld/%ld  loss %.9g  test accuracy %.2f %%  %.0f images/s%s\n", terminal ? "\r" : "", r.epoch, o.epochs, loss, accuracy, rate,
             terminal ? "                         " : "");
      fflush(stdout);
      if (o.save) {
        save(o.save, &r, &o);
        printf("saved %s\n", o.save);
      }
    }
    printf("done in %.1f s\n", seconds() - start);
    if (o.predict >= 0) predict(&r, test, o.predict);
  }

  trt_scheduler_release(r.scheduler);
  trt_optimizer_release(r.optimizer);
  trt_module_release(r.network);
  trt_data_loader_release(test_loader);
  trt_data_loader_release(train_loader);
  trt_dataset_release(test);
  trt_dataset_release(train);
  return 0;
}
