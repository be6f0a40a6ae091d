package tensorrt

import (
	"errors"
	"fmt"
	"testing"
)

type squares struct {
	n     int
	fail  int
	panic bool
}

func (s squares) Len() int { return s.n }

var errSample = errors.New("this sample cannot be read")

func (s squares) Get(i int) ([]*Tensor, error) {
	if i == s.fail {
		if s.panic {
			panic(errSample)
		}
		return nil, fmt.Errorf("sample %d: %w", i, errSample)
	}
	x, err := FromSlice([]float32{float32(i), float32(i * i)})
	if err != nil {
		return nil, err
	}
	y, err := FromScalar(i%2, Int64)
	return []*Tensor{x, y}, err
}

func epoch(t *testing.T, l *DataLoader) (batches [][]*Tensor, failures []error) {
	t.Helper()
	for {
		b, err := l.Next()
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if b == nil {
			return
		}
		batches = append(batches, b)
	}
}

func TestDatasets(t *testing.T) {
	d := must(NewDataset(squares{n: 10, fail: -1}, 2))
	equal(t, d.Len(), 10)
	equal(t, must(ToSlice[float32](must(d.Get(3))[0])), []float32{3, 9})
	_, err := d.Get(10)
	fails(t, err, OutOfRange)
	equal(t, must(d.Batch([]int{1, 2}))[0].Shape(), []int{2, 2})
	sub := must(d.Subset([]int{4, 4, 5}))
	equal(t, sub.Len(), 3)
	mapped := must(sub.Map(1, func(sample []*Tensor) ([]*Tensor, error) {
		y, err := sample[0].AddScalar(1)
		return []*Tensor{y}, err
	}))
	equal(t, must(ToSlice[float32](must(mapped.Get(2))[0])), []float32{6, 26})
	same := must(d.Map(2, func(sample []*Tensor) ([]*Tensor, error) { return sample, nil }))
	equal(t, must(ToSlice[float32](must(same.Get(2))[0])), []float32{2, 4})
	few := must(d.Map(3, func(sample []*Tensor) ([]*Tensor, error) { return sample, nil }))
	_, err = few.Get(0)
	fails(t, err, InvalidArgument, "3 tensors")

	for _, workers := range []int{0, 2} {
		loader := must(NewDataLoader(d, DataLoaderOptions{BatchSize: 4, NumWorkers: workers, DropLast: true}))
		equal(t, loader.Batches(), 2)
		batches, failures := epoch(t, loader)
		equal(t, len(failures), 0)
		equal(t, len(batches), 2)
		equal(t, must(ToSlice[float32](batches[1][0])), []float32{4, 16, 5, 25, 6, 36, 7, 49})
		equal(t, must(ToSlice[int64](batches[1][1])), []int64{0, 1, 0, 1})
		check(t, loader.SetEpoch(3))
		equal(t, loader.Epoch(), 3)
		check(t, loader.Reset())
		check(t, loader.Close())

		for _, p := range []bool{false, true} {
			broken := must(NewDataset(squares{n: 10, fail: 5, panic: p}, 2))
			loader = must(NewDataLoader(broken, DataLoaderOptions{BatchSize: 2, NumWorkers: workers}))
			batches, failures = epoch(t, loader)
			equal(t, len(batches), 4)
			equal(t, len(failures), 1)
			if !errors.Is(failures[0], errSample) {
				t.Fatal(failures[0])
			}
			check(t, loader.Close())
		}
	}
	// The order is a function of the seed.
	options := DataLoaderOptions{BatchSize: 10, Shuffle: true, Seed: Some(int64(7))}
	first, _ := epoch(t, must(NewDataLoader(d, options)))
	second, _ := epoch(t, must(NewDataLoader(d, options)))
	equal(t, must(first[0][0].Equal(second[0][0])), true)
	weighted := must(NewDataLoader(d, DataLoaderOptions{BatchSize: 5, NumSamples: 5, Weights: []float64{0, 0, 0, 1, 0, 0, 0, 0, 0, 0}}))
	batches, _ := epoch(t, weighted)
	equal(t, must(ToSlice[int64](batches[0][1])), []int64{1, 1, 1, 1, 1})
	_, err = NewDataLoader(d, DataLoaderOptions{Weights: []float64{1}})
	fails(t, err, InvalidArgument)
	_, err = NewDataLoader(d, DataLoaderOptions{NumWorkers: -1})
	fails(t, err, InvalidArgument)

	pair := must(TensorDataset(must(Ones([]int{3, 2})), must(Arange(0, 3))))
	equal(t, len(must(pair.Get(1))), 2)
	images := must(Full([]int{2, 4, 4}, 255, FullOptions{DType: UInt8}))
	pictures := must(ImageDataset(images, nil, ImageOptions{Mean: 0.5, Std: 0.5}))
	equal(t, must(ToSlice[float32](must(pictures.Get(0))[0]))[0], float32(1))
	_, err = IDXDataset("/nothing", "")
	fails(t, err, NotFound)
	_, err = NewDataset(nil, 1)
	fails(t, err, InvalidArgument)
	_, err = NewDataset(squares{}, 0)
	fails(t, err, InvalidArgument)
}
