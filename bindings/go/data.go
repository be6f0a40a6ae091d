package tensorrt

import (
	"math"
	"unsafe"

	"tensorrt/internal/capi"
)

// Dataset is where samples come from: a fixed number of them, each a list of CPU tensors. It may be used from any goroutine.
type Dataset struct{ o *object }

func newDataset(f func(out unsafe.Pointer) error) (*Dataset, error) {
	var h uintptr
	if err := f(unsafe.Pointer(&h)); err != nil {
		return nil, err
	}
	return &Dataset{own(h, capi.Trt_dataset_release)}, nil
}

func (d *Dataset) object() *object {
	if d == nil {
		return nil
	}
	return d.o
}

func (d *Dataset) with(op string, f func(h uintptr) error) error {
	return d.object().call(op, "dataset", f)
}

// Close releases the dataset; subsets, maps and loaders keep what they need.
func (d *Dataset) Close() error { return d.object().close() }

// TensorDataset: row i of every tensor is sample i.
func TensorDataset(tensors ...*Tensor) (*Dataset, error) {
	return newDataset(func(out unsafe.Pointer) error {
		return withAll("TensorDataset", tensors, func(h []uintptr) error {
			return statusError(capi.Trt_dataset_from_tensors(first(h), len(h), out))
		})
	})
}

// ImageOptions tell how images are given.
type ImageOptions struct {
	Normalize  Optional[bool] // true: to float32, (pixel / 255 - mean) / std; false gives the uint8 as they are
	AddChannel Optional[bool] // true: [H, W] becomes [1, H, W]
	Mean       float32        // 0
	Std        float32        // 1
}

func imageOptions(op string, options []ImageOptions) (*capi.ImageOptions, error) {
	o, err := pick(op, options)
	if err != nil {
		return nil, err
	}
	c := new(capi.ImageOptions)
	capi.Trt_image_options_init(unsafe.Pointer(c))
	c.Normalize, c.AddChannel, c.Mean = o.Normalize.or(c.Normalize), o.AddChannel.or(c.AddChannel), o.Mean
	if o.Std != 0 {
		c.Std = o.Std
	}
	return c, nil
}

// ImageDataset gives samples (image, label) of uint8 images [N, H, W] and integer labels [N], which become int64; without labels samples (image).
func ImageDataset(images, labels *Tensor, options ...ImageOptions) (*Dataset, error) {
	c, err := imageOptions("ImageDataset", options)
	if err != nil {
		return nil, err
	}
	return newDataset(func(out unsafe.Pointer) error {
		return images.with("ImageDataset", func(i uintptr) error {
			if labels == nil {
				return statusError(capi.Trt_dataset_from_images(i, 0, unsafe.Pointer(c), out))
			}
			return labels.with("ImageDataset", func(l uintptr) error {
				return statusError(capi.Trt_dataset_from_images(i, l, unsafe.Pointer(c), out))
			})
		})
	})
}

// IDXDataset is the same from two IDX files, plain or gzip; labelsPath may be "".
func IDXDataset(imagesPath, labelsPath string, options ...ImageOptions) (*Dataset, error) {
	c, err := imageOptions("IDXDataset", options)
	if err != nil {
		return nil, err
	}
	if err := checkText("IDXDataset", imagesPath, labelsPath); err != nil {
		return nil, err
	}
	return newDataset(func(out unsafe.Pointer) error {
		return statusError(capi.Trt_dataset_from_idx(imagesPath, optionalText(labelsPath), unsafe.Pointer(c), out))
	})
}

type getSample func(index int) ([]*Tensor, error)

// Source is a dataset of the host: Len samples. Get is called on any thread, on several at once when a loader has more than one worker. The tensors stay
// the host's.
type Source interface {
	Len() int
	Get(index int) ([]*Tensor, error)
}

// NewDataset makes a dataset of a Source whose samples have `fields` tensors each.
func NewDataset(source Source, fields int) (*Dataset, error) {
	if source == nil {
		return nil, invalid("NewDataset", "the source is nil")
	}
	if fields < 1 {
		return nil, invalid("NewDataset", "at least one field is needed, got %d", fields)
	}
	var size int
	if err := protect(func() error { size = source.Len(); return nil }); err != nil {
		return nil, err
	}
	return newDataset(func(out unsafe.Pointer) error {
		return statusError(capi.DatasetFromCallback(size, fields, getSample(source.Get), (*uintptr)(out)))
	})
}

// MapFunc changes a sample. The tensors given are closed afterwards, unless they are results; results stay the host's.
type MapFunc func(sample []*Tensor) ([]*Tensor, error)

// Map gives the samples, each changed by fn, to `fields` tensors, when it is needed.
func (d *Dataset) Map(fields int, fn MapFunc) (*Dataset, error) {
	if fn == nil {
		return nil, invalid("Map", "the function is nil")
	}
	if fields < 1 {
		return nil, invalid("Map", "at least one field is needed, got %d", fields)
	}
	return newDataset(func(out unsafe.Pointer) error {
		return d.with("Map", func(h uintptr) error { return statusError(capi.DatasetMap(h, fields, fn, (*uintptr)(out))) })
	})
}

// Subset gives the samples of these indices, in this order.
func (d *Dataset) Subset(indices []int) (*Dataset, error) {
	return newDataset(func(out unsafe.Pointer) error {
		return d.with("Subset", func(h uintptr) error {
			return statusError(capi.Trt_dataset_subset(h, requiredList(indices), len(indices), out))
		})
	})
}

// Len is the number of samples.
func (d *Dataset) Len() int {
	var n int
	_ = d.with("Len", func(h uintptr) error { n = capi.Trt_dataset_size(h); return nil })
	return n
}

// Get gives a sample.
func (d *Dataset) Get(index int) ([]*Tensor, error) {
	return d.list("Get", func(h uintptr, out unsafe.Pointer) uintptr { return capi.Trt_dataset_get(h, index, out) })
}

// Batch gives samples stacked along a new first dimension.
func (d *Dataset) Batch(indices []int) ([]*Tensor, error) {
	return d.list("Batch", func(h uintptr, out unsafe.Pointer) uintptr {
		return capi.Trt_dataset_batch(h, requiredList(indices), len(indices), out)
	})
}

func (d *Dataset) list(op string, f func(h uintptr, out unsafe.Pointer) uintptr) ([]*Tensor, error) {
	var list uintptr
	if err := d.with(op, func(h uintptr) error { return statusError(f(h, unsafe.Pointer(&list))) }); err != nil {
		return nil, err
	}
	return adoptList(list), nil
}

// DataLoaderOptions are the options of NewDataLoader.
type DataLoaderOptions struct {
	BatchSize      int             // 1
	Shuffle        bool            // a new permutation each epoch
	Replacement    bool            // independent draws instead, repetitions included
	DropLast       bool            // leaves out an incomplete last batch
	NumWorkers     int             // threads that make batches ahead; 0: the goroutine that calls Next does it
	PrefetchFactor int             // 2, batches made ahead for each worker
	Seed           Optional[int64] // of the order, which is a function of (seed, epoch); drawn from Generator where not given
	Generator      *Generator      // the default generator
	NumSamples     int             // samples in an epoch, for random orders; 0: as many as the dataset has
	Weights        []float64       // one for each sample: independent draws with these probabilities
}

// DataLoader iterates over a dataset in batches. Its calls need external synchronization, but for Close.
type DataLoader struct{ o *object }

func (l *DataLoader) object() *object {
	if l == nil {
		return nil
	}
	return l.o
}

func (l *DataLoader) with(op string, f func(h uintptr) error) error {
	return l.object().call(op, "loader", f)
}

// NewDataLoader makes a loader at the beginning of epoch 0.
func NewDataLoader(dataset *Dataset, options ...DataLoaderOptions) (*DataLoader, error) {
	o, err := pick("NewDataLoader", options)
	if err != nil {
		return nil, err
	}
	if o.NumWorkers > math.MaxInt32 || o.PrefetchFactor > math.MaxInt32 || o.NumWorkers < 0 || o.PrefetchFactor < 0 {
		return nil, invalid("NewDataLoader", "bad number of workers %d or prefetch factor %d", o.NumWorkers, o.PrefetchFactor)
	}
	c := new(capi.DataLoaderOptions)
	capi.Trt_data_loader_options_init(unsafe.Pointer(c))
	if o.BatchSize != 0 {
		c.BatchSize = int64(o.BatchSize)
	}
	if o.PrefetchFactor != 0 {
		c.PrefetchFactor = int32(o.PrefetchFactor)
	}
	if o.NumSamples != 0 {
		c.NumSamples = int64(o.NumSamples)
	}
	c.Shuffle, c.Replacement, c.DropLast, c.NumWorkers = o.Shuffle, o.Replacement, o.DropLast, int32(o.NumWorkers)
	c.Seed = o.Seed.or(c.Seed)
	if n := len(o.Weights); n > 0 {
		p := capi.Malloc(8 * n)
		if p == 0 {
			return nil, &Error{Code: OutOfMemory, Op: "NewDataLoader", Message: "NewDataLoader: no memory"}
		}
		defer capi.Free(p)
		copy(unsafe.Slice(*(**float64)(unsafe.Pointer(&p)), n), o.Weights)
		c.Weights, c.WeightsCount = p, uintptr(n)
	}
	var out uintptr
	err = dataset.with("NewDataLoader", func(h uintptr) error {
		return o.Generator.with("NewDataLoader", func(g uintptr) error {
			c.Generator = g
			return statusError(capi.Trt_data_loader_create(h, unsafe.Pointer(c), unsafe.Pointer(&out)))
		})
	})
	if err != nil {
		return nil, err
	}
	return &DataLoader{own(out, capi.Trt_data_loader_release)}, nil
}

// Close stops the workers and waits for functions of the host that are running.
func (l *DataLoader) Close() error { return l.object().close() }

// Next gives the next batch; nil at the end of the epoch, until Reset or SetEpoch.
func (l *DataLoader) Next() ([]*Tensor, error) {
	var list uintptr
	var more bool
	err := l.with("Next", func(h uintptr) error {
		return statusError(capi.Trt_data_loader_next(h, unsafe.Pointer(&list), unsafe.Pointer(&more)))
	})
	if err != nil || !more {
		return nil, err
	}
	return adoptList(list), nil
}

// Reset begins the next epoch.
func (l *DataLoader) Reset() error {
	return l.with("Reset", func(h uintptr) error { return statusError(capi.Trt_data_loader_reset(h)) })
}

// SetEpoch begins this epoch: a resumed training sees the order that it would have seen.
func (l *DataLoader) SetEpoch(epoch int) error {
	return l.with("SetEpoch", func(h uintptr) error { return statusError(capi.Trt_data_loader_set_epoch(h, epoch)) })
}

// Epoch is the number of the current epoch.
func (l *DataLoader) Epoch() int {
	var v int
	_ = l.with("Epoch", func(h uintptr) error { v = capi.Trt_data_loader_epoch(h); return nil })
	return v
}

// Batches is the number of batches in an epoch.
func (l *DataLoader) Batches() int {
	var v int
	_ = l.with("Batches", func(h uintptr) error { v = capi.Trt_data_loader_batches(h); return nil })
	return v
}
