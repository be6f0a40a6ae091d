// Trains a small convolutional network on Fashion-MNIST (60,000 images of clothes, 28 x 28 grey pixels, 10 classes) with the Go binding of
// libtensorrt, evaluates it on the 10,000 test images, saves a checkpoint after every epoch, resumes from one, and predicts. It prints the same losses as
// the program in examples/c, and each reads the other's checkpoints.
//
//	fashion_mnist [--data DIR] [--epochs N] [--batch-size N] [--lr X] [--threads N] [--workers N] [--seed N]
//	              [--save FILE] [--resume FILE] [--predict INDEX] [--stop-after N]
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	trt "tensorrt"
)

const (
	classes   = 10
	side      = 28
	evalBatch = 500
	mean      = 0.2860 // of the training images
	std       = 0.3530
	format    = "libtensorrt fashion_mnist 1"
)

var classNames = [classes]string{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"}

type options struct {
	data, save, resume                                      string
	epochs, batchSize, threads, workers, predict, stopAfter int
	seed                                                    uint64
	lr                                                      float64
}

// --- command line ---

// integer is a flag with a range.
type integer struct {
	to        *int
	low, high int
}

func (i integer) String() string {
	if i.to == nil {
		return ""
	}
	return strconv.Itoa(*i.to)
}

func (i integer) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < i.low || v > i.high {
		return fmt.Errorf("an integer from %d to %d is needed", i.low, i.high)
	}
	*i.to = v
	return nil
}

func parse(args []string) (options, error) {
	o := options{data: "/usr/share/datasets/fashion-mnist", epochs: 5, batchSize: 128, predict: -1, lr: 5e-3}
	seed := 1
	f := flag.NewFlagSet("fashion_mnist", flag.ContinueOnError)
	f.SetOutput(new(strings.Builder))
	f.StringVar(&o.data, "data", o.data, "folder with the four gzipped IDX files")
	f.StringVar(&o.save, "save", "", "write a checkpoint after every epoch")
	f.StringVar(&o.resume, "resume", "", "continue from one")
	f.Float64Var(&o.lr, "lr", o.lr, "peak of the learning rate")
	f.Var(integer{&o.epochs, 0, 1000}, "epochs", "passes over the training images that the schedule spans")
	f.Var(integer{&o.batchSize, 2, 60000}, "batch-size", "images in a step")
	f.Var(integer{&o.threads, 1, 1024}, "threads", "threads of the library (its own choice)")
	f.Var(integer{&o.workers, 0, 64}, "workers", "threads that prepare batches")
	f.Var(integer{&seed, 0, math.MaxInt32}, "seed", "of all random numbers")
	f.Var(integer{&o.predict, 0, 9999}, "predict", "show test image `INDEX` and what the network thinks")
	f.Var(integer{&o.stopAfter, 1, 1000}, "stop-after", "end after N epochs of the schedule")
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		f.SetOutput(os.Stdout)
		fmt.Println("usage: fashion_mnist [OPTIONS]")
		f.PrintDefaults()
		os.Exit(0)
	}
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("unknown argument %s; see --help", f.Arg(0))
	}
	if err == nil && (!(o.lr > 0) || math.IsInf(o.lr, 0)) {
		err = fmt.Errorf("--lr needs a positive number, got '%v'", o.lr)
	}
	o.seed = uint64(seed)
	return o, err
}

// checkFolder tells before the training, which takes minutes, that a checkpoint cannot be written.
func checkFolder(path string) error {
	folder, err := os.Stat(filepath.Dir(path))
	if err == nil && !folder.IsDir() {
		err = fmt.Errorf("%s is not a folder", filepath.Dir(path))
	}
	if err != nil {
		err = fmt.Errorf("saving the checkpoint: %w", err)
	}
	return err
}

// --- data ---

func loadImages(directory, part string) (*trt.Dataset, error) {
	images := filepath.Join(directory, part+"-images-idx3-ubyte.gz")
	d, err := trt.IDXDataset(images, filepath.Join(directory, part+"-labels-idx1-ubyte.gz"), trt.ImageOptions{Mean: mean, Std: std})
	if err != nil {
		return nil, fmt.Errorf("loading the images: %w", err)
	}
	// A file of another shape would train, or fail somewhere deep; say it here.
	sample, err := d.Get(0)
	if err != nil {
		return nil, fmt.Errorf("loading the images: %w", err)
	}
	if s := sample[0].Shape(); len(s) != 3 || s[1] != side || s[2] != side || sample[1].Dim() != 0 {
		return nil, fmt.Errorf("%s does not hold %d x %d images with one label each", images, side, side)
	}
	return d, nil
}

// --- network ---

func buildNetwork() (*trt.Module, error) {
	var modules []*trt.Module
	var failed error
	add := func(m *trt.Module, err error) {
		if failed == nil {
			failed = err
		}
		modules = append(modules, m)
	}
	for _, block := range [][2]int{{1, 32}, {32, 64}} {
		// The normalization behind a layer has the bias.
		add(trt.NewConv2d(block[0], block[1], []int{3}, trt.ConvolutionOptions{Padding: []int{1}, Bias: trt.Some(false)}))
		add(trt.NewBatchNorm2d(block[1]))
		add(trt.NewReLU())
		add(trt.NewMaxPool2d([]int{2}))
	}
	add(trt.NewFlatten(1, -1))
	add(trt.NewDropout(0.25))
	add(trt.NewLinear(64*7*7, 128, trt.NewLinearOptions{Bias: trt.Some(false)}))
	add(trt.NewBatchNorm1d(128))
	add(trt.NewReLU())
	add(trt.NewLinear(128, classes))
	if failed != nil {
		return nil, failed
	}
	return trt.NewSequential(modules...)
}

type run struct {
	options
	network   *trt.Module
	optimizer *trt.Optimizer
	scheduler *trt.LRScheduler
	epoch     int // completed
}

func newRun(o options, steps int) (*run, error) {
	r := &run{options: o}
	var err error
	if r.network, err = buildNetwork(); err != nil {
		return nil, fmt.Errorf("building the network: %w", err)
	}
	params, err := r.network.Parameters()
	if err != nil {
		return nil, err
	}
	if r.optimizer, err = trt.NewAdamW(params, trt.AdamOptions{LR: trt.Some(o.lr)}); err != nil {
		return nil, fmt.Errorf("making the optimizer: %w", err)
	}
	if steps < 1 {
		steps = 1
	}
	if r.scheduler, err = trt.NewOneCycleLR(r.optimizer, o.lr, steps); err != nil {
		return nil, fmt.Errorf("making the schedule: %w", err)
	}
	return r, nil
}

// --- checkpoints: one safetensors file with the state of network, optimizer, schedule and random stream ---

func (r *run) saveCheckpoint() error {
	all, err := trt.NewStateDict()
	if err != nil {
		return err
	}
	defer all.Close()
	merge := func(prefix string, part *trt.StateDict, err error) error {
		if err != nil {
			return err
		}
		defer part.Close()
		for _, name := range part.Names() {
			t, err := part.Get(name)
			if err != nil {
				return err
			}
			if err := all.Set(prefix+"."+name, t); err != nil {
				return err
			}
			t.Close()
		}
		return nil
	}
	network, err := r.network.StateDict()
	if err = merge("network", network, err); err != nil {
		return err
	}
	optimizer, err := r.optimizer.StateDict()
	if err = merge("optimizer", optimizer, err); err != nil {
		return err
	}
	scheduler, err := r.scheduler.StateDict()
	if err = merge("scheduler", scheduler, err); err != nil {
		return err
	}
	var random *trt.Generator // the default one
	seed, offset, err := random.State()
	if err != nil {
		return err
	}
	return all.Save(r.save, map[string]string{"format": format, "epoch": strconv.Itoa(r.epoch), "epochs": strconv.Itoa(r.epochs),
		"batch_size": strconv.Itoa(r.batchSize), "seed": strconv.FormatUint(r.seed, 10), "generator_seed": strconv.FormatUint(seed, 10),
		"generator_offset": strconv.FormatUint(offset, 10)})
}

// section is the part of a file whose names begin with a prefix.
func section(file *trt.Safetensors, prefix string) (*trt.StateDict, error) {
	dict, err := trt.NewStateDict()
	if err != nil {
		return nil, err
	}
	for _, info := range file.Tensors() {
		name := strings.TrimPrefix(info.Name, prefix+".")
		if name == info.Name {
			continue
		}
		t, err := file.Tensor(info.Name, trt.LoadCopy)
		if err != nil {
			return nil, err
		}
		if err := dict.Set(name, t); err != nil {
			return nil, err
		}
		t.Close()
	}
	return dict, nil
}

func (r *run) loadCheckpoint() error {
	file, err := trt.OpenSafetensors(r.resume)
	if err != nil {
		return fmt.Errorf("resuming: %w", err)
	}
	defer file.Close()
	metadata := file.Metadata()
	if metadata["format"] != format {
		return fmt.Errorf("%s is no checkpoint of this program (format '%s', expected '%s')", r.resume, metadata["format"], format)
	}
	number := func(key string) (uint64, error) {
		v, err := strconv.ParseUint(metadata[key], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: the entry '%s' is missing or no number", r.resume, key)
		}
		return v, nil
	}
	// The order of the images and the schedule follow from these: another value would silently continue something else.
	for key, now := range map[string]uint64{"epochs": uint64(r.epochs), "batch_size": uint64(r.batchSize), "seed": r.seed} {
		then, err := number(key)
		if err != nil {
			return err
		}
		if then != now {
			return fmt.Errorf("%s was trained with %s %d, now it is %d; give the same value", r.resume, key, then, now)
		}
	}
	network, err := section(file, "network")
	if err == nil {
		err = r.network.LoadStateDict(network, true)
	}
	if err != nil {
		return fmt.Errorf("resuming (is it of another architecture?): %w", err)
	}
	optimizer, err := section(file, "optimizer")
	if err == nil {
		err = r.optimizer.LoadStateDict(optimizer)
	}
	if err != nil {
		return fmt.Errorf("resuming the optimizer: %w", err)
	}
	scheduler, err := section(file, "scheduler")
	if err == nil {
		err = r.scheduler.LoadStateDict(scheduler)
	}
	if err != nil {
		return fmt.Errorf("resuming the schedule: %w", err)
	}
	epoch, err := number("epoch")
	if err != nil {
		return err
	}
	seed, err := number("generator_seed")
	if err != nil {
		return err
	}
	offset, err := number("generator_offset")
	if err != nil {
		return err
	}
	r.epoch = int(epoch)
	var random *trt.Generator // the default one
	if err := random.SetState(seed, offset); err != nil {
		return err
	}
	fmt.Printf("resumed %s after epoch %d\n", r.resume, r.epoch)
	return nil
}

// --- training ---

// step trains on the next batch; more is false at the end of the epoch.
func (r *run) step(loader *trt.DataLoader) (loss float64, more bool, err error) {
	err = trt.InScope(func(*trt.Scope) error {
		batch, err := loader.Next()
		if err != nil || batch == nil {
			return err
		}
		more = true
		scores, err := r.network.Forward(batch[0])
		if err != nil {
			return err
		}
		l, err := trt.CrossEntropy(scores, batch[1])
		if err != nil {
			return err
		}
		if err := r.optimizer.ZeroGrad(); err != nil {
			return err
		}
		if err := l.Backward(); err != nil {
			return err
		}
		if err := r.optimizer.Step(); err != nil {
			return err
		}
		if err := r.scheduler.Step(); err != nil {
			return err
		}
		loss, err = l.Item()
		return err
	})
	return loss, more, err
}

func showProgress(epoch, epochs, step, steps int, loss, rate, left float64) {
	const width = 24
	filled := width * step / steps
	bar := (strings.Repeat("=", filled) + ">" + strings.Repeat(" ", width))[:width]
	fmt.Printf("\repoch %d/%d [%s] %3d%%  loss %.4f  %6.0f images/s  %2d:%02d left ", epoch, epochs, bar, 100*step/steps, loss, rate, int(left)/60, int(left)%60)
}

func (r *run) trainEpoch(loader *trt.DataLoader, terminal bool) (float64, error) {
	steps := loader.Batches()
	if err := loader.SetEpoch(r.epoch); err != nil {
		return 0, err
	}
	if err := r.network.Train(); err != nil {
		return 0, err
	}
	start := time.Now()
	shown, total, n := start, 0.0, 0
	for {
		loss, more, err := r.step(loader)
		if err != nil {
			return 0, err
		}
		if !more {
			break
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return 0, fmt.Errorf("the loss became %f in epoch %d, step %d; try a smaller --lr", loss, r.epoch+1, n)
		}
		total += loss
		n++
		rate := float64(n*r.batchSize) / time.Since(start).Seconds()
		left := float64(steps-n+(r.epochs-r.epoch-1)*steps) * float64(r.batchSize) / rate
		if terminal && time.Since(shown) > 100*time.Millisecond {
			shown = time.Now()
			showProgress(r.epoch+1, r.epochs, n, steps, total/float64(n), rate, left)
		} else if !terminal && n%100 == 0 {
			fmt.Printf("epoch %d/%d  step %d/%d  loss %.9g  %.0f images/s\n", r.epoch+1, r.epochs, n, steps, total/float64(n), rate)
		}
	}
	return total / math.Max(float64(n), 1), nil
}

func (r *run) evaluate(loader *trt.DataLoader) (float64, error) {
	if err := r.network.Eval(); err != nil {
		return 0, err
	}
	if err := loader.Reset(); err != nil {
		return 0, err
	}
	right, seen := 0, 0
	for more := true; more; {
		err := trt.NoGrad(func() error {
			return trt.InScope(func(*trt.Scope) error {
				batch, err := loader.Next()
				if more = batch != nil; err != nil || !more {
					return err
				}
				scores, err := r.network.Forward(batch[0])
				if err != nil {
					return err
				}
				best, err := scores.Argmax(trt.ArgmaxOptions{Dim: trt.Some(1)})
				if err != nil {
					return err
				}
				equal, err := best.Eq(batch[1])
				if err != nil {
					return err
				}
				count, err := equal.Sum()
				if err != nil {
					return err
				}
				n, err := count.ItemInt()
				right += n
				seen += batch[1].Numel()
				return err
			})
		})
		if err != nil {
			return 0, fmt.Errorf("evaluating: %w", err)
		}
	}
	return 100 * float64(right) / math.Max(float64(seen), 1), nil
}

func (r *run) predictImage(test *trt.Dataset) error {
	sample, err := test.Get(r.predict)
	if err != nil {
		return err
	}
	pixels, err := trt.ToSlice[float32](sample[0])
	if err != nil {
		return err
	}
	truth, err := sample[1].ItemInt()
	if err != nil {
		return err
	}
	fmt.Printf("\ntest image %d:\n", r.predict)
	for y := 0; y < side; y += 2 {
		for x := 0; x < side; x++ {
			grey := (pixels[y*side+x]+pixels[(y+1)*side+x])/2*std + mean
			shade := int(math.Max(0, math.Min(9, float64(int(grey*9.99)))))
			fmt.Printf("%c", " .:-=+*#%@"[shade])
		}
		fmt.Println()
	}
	if err := r.network.Eval(); err != nil {
		return err
	}
	var p []float32
	err = trt.InferenceMode(func() error {
		batch, err := sample[0].Unsqueeze(0)
		if err != nil {
			return err
		}
		scores, err := r.network.Forward(batch)
		if err != nil {
			return err
		}
		probabilities, err := scores.Softmax(1)
		if err != nil {
			return err
		}
		p, err = trt.ToSlice[float32](probabilities)
		return err
	})
	if err != nil {
		return err
	}
	best := 0
	for c := range p {
		if p[c] > p[best] {
			best = c
		}
		if p[c] >= 0.01 {
			fmt.Printf("  %5.1f %%  %s\n", 100*p[c], classNames[c])
		}
	}
	fmt.Printf("prediction: %s (it is: %s)\n", classNames[best], classNames[truth])
	return nil
}

func (r *run) train(trainLoader, testLoader *trt.DataLoader) error {
	last := r.epochs
	if r.stopAfter > 0 && r.stopAfter < last {
		last = r.stopAfter
	}
	info, err := os.Stdout.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	start := time.Now()
	if r.epoch >= last {
		accuracy, err := r.evaluate(testLoader)
		if err != nil {
			return err
		}
		fmt.Printf("test accuracy %.2f %%\n", accuracy)
	}
	for r.epoch < last {
		begin := time.Now()
		loss, err := r.trainEpoch(trainLoader, terminal)
		if err != nil {
			return err
		}
		rate := float64(trainLoader.Batches()*r.batchSize) / time.Since(begin).Seconds()
		accuracy, err := r.evaluate(testLoader)
		if err != nil {
			return err
		}
		r.epoch++
		before, after := "", ""
		if terminal {
			before, after = "\r", strings.Repeat(" ", 25)
		}
		fmt.Printf("%sepoch %d/%d  loss %.9g  test accuracy %.2f %%  %.0f images/s%s\n", before, r.epoch, r.epochs, loss, accuracy, rate, after)
		if r.save != "" {
			if err := r.saveCheckpoint(); err != nil {
				return fmt.Errorf("saving the checkpoint: %w", err)
			}
			fmt.Printf("saved %s\n", r.save)
		}
	}
	fmt.Printf("done in %.1f s\n", time.Since(start).Seconds())
	return nil
}

func program(o options) error {
	if o.threads > 0 {
		if err := trt.SetNumThreads(o.threads); err != nil {
			return err
		}
	}
	if err := trt.ManualSeed(o.seed); err != nil {
		return err
	}
	if o.save != "" {
		if err := checkFolder(o.save); err != nil {
			return err
		}
	}
	train, err := loadImages(o.data, "train")
	if err != nil {
		return err
	}
	test, err := loadImages(o.data, "t10k")
	if err != nil {
		return err
	}
	loader := trt.DataLoaderOptions{BatchSize: o.batchSize, Shuffle: true, DropLast: true, NumWorkers: o.workers, Seed: trt.Some(int64(o.seed))}
	trainLoader, err := trt.NewDataLoader(train, loader)
	if err != nil {
		return err
	}
	defer trainLoader.Close()
	loader.BatchSize, loader.Shuffle, loader.DropLast = evalBatch, false, false
	testLoader, err := trt.NewDataLoader(test, loader)
	if err != nil {
		return err
	}
	defer testLoader.Close()
	r, err := newRun(o, trainLoader.Batches()*o.epochs)
	if err != nil {
		return err
	}
	fmt.Printf("%v\n%d parameters, %d training images, %d test images, %d threads\n", r.network, r.network.ParameterCount(), train.Len(), test.Len(), trt.NumThreads())
	if o.resume != "" {
		if err := r.loadCheckpoint(); err != nil {
			return err
		}
	}
	if err := r.train(trainLoader, testLoader); err != nil {
		return err
	}
	if o.predict >= 0 {
		return r.predictImage(test)
	}
	return nil
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "fashion_mnist: %v\n", err)
		os.Exit(2)
	}
	if err := program(o); err != nil {
		fmt.Fprintf(os.Stderr, "fashion_mnist: %v\n", err)
		os.Exit(1)
	}
}
