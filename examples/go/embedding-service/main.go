// A service that gives sentences as vectors: the encoder all-MiniLM-L6-v2 behind HTTP, with the Go binding of libtensorrt. See README.md.
//
//	embedding-service --model DIR [--listen ADDRESS] [OPTIONS]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	trt "tensorrt"
)

type options struct {
	model, listen                              string
	workers, threads, batchTokens, queueTokens int
	maxTokens                                  int
	memoryLimit, heapLimit                     int64 // MiB
	limits                                     Limits
	drain, grace                               time.Duration
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("embedding-service", flag.ContinueOnError)
	f.StringVar(&o.model, "model", "../../embedding/model", "directory with config.json, model.safetensors and vocab.txt")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address; port 0 takes a free one")
	f.IntVar(&o.workers, "workers", 1, "batches that are computed at a time")
	f.IntVar(&o.threads, "threads", runtime.NumCPU(), "threads that compute one batch")
	f.IntVar(&o.maxTokens, "max-tokens", 256, "tokens at which a text is cut off")
	f.IntVar(&o.batchTokens, "batch-tokens", 1024, "tokens in a batch of more than one text")
	f.IntVar(&o.queueTokens, "queue-tokens", 32768, "tokens that may wait; requests beyond are answered by 503")
	f.Int64Var(&o.memoryLimit, "memory-limit", 256, "MiB that tensors may take; what does not fit is answered by 503")
	f.Int64Var(&o.heapLimit, "heap-limit", 256, "MiB at which Go collects eagerly")
	f.Int64Var(&o.limits.Body, "max-body", 1<<20, "bytes of a request")
	f.IntVar(&o.limits.Inputs, "max-inputs", 256, "texts of a request")
	f.IntVar(&o.limits.Requests, "max-requests", 128, "requests that are answered at a time; those beyond get 503")
	f.DurationVar(&o.drain, "drain", 0, "time from SIGTERM, during which /healthz fails, until connections are refused")
	f.DurationVar(&o.grace, "grace", 20*time.Second, "time that requests have to end after that")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %s; see --help", f.Arg(0))
	}
	for _, n := range []int64{int64(o.workers), int64(o.threads), int64(o.batchTokens), int64(o.queueTokens), o.memoryLimit, o.heapLimit, o.limits.Body,
		int64(o.limits.Inputs), int64(o.limits.Requests)} {
		if n < 1 {
			return o, errors.New("sizes must be positive; see --help")
		}
	}
	return o, nil
}

// service is everything between the model and HTTP.
type service struct {
	*Server
	batcher *Batcher
}

func load(o options) (*service, error) {
	if err := trt.SetNumThreads(o.threads); err != nil {
		return nil, err
	}
	if err := trt.SetMemoryLimit(trt.CPU, o.memoryLimit<<20); err != nil {
		return nil, err
	}
	vocabulary, err := os.Open(filepath.Join(o.model, "vocab.txt"))
	if err != nil {
		return nil, err
	}
	defer vocabulary.Close()
	tokenizer, err := NewTokenizer(vocabulary, o.maxTokens)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", vocabulary.Name(), err)
	}
	encoder, err := LoadEncoder(o.model)
	if err != nil {
		return nil, err
	}
	if o.maxTokens > encoder.maxTokens {
		return nil, fmt.Errorf("the model takes %d tokens, --max-tokens says %d", encoder.maxTokens, o.maxTokens)
	}
	metrics := NewMetrics()
	warm := false
	batcher := NewBatcher(o.workers, o.batchTokens, o.queueTokens, encoder.Encode, func(texts, tokens int) {
		if warm {
			metrics.Batch(texts, tokens)
		}
	})
	// A full batch for each worker: what requests will need is taken now, not with the first rush. With less memory than that, batches become smaller.
	if err := warmUp(batcher, o); err != nil && !errors.Is(err, trt.OutOfMemory) {
		batcher.Close()
		return nil, err
	}
	warm = true
	return &service{NewServer(tokenizer, batcher, metrics, o.limits), batcher}, nil
}

func warmUp(batcher *Batcher, o options) error {
	var texts [][]int32
	for worker := 0; worker < o.workers; worker++ {
		for tokens := 0; tokens < o.batchTokens; tokens += o.maxTokens {
			length := o.maxTokens
			if length > o.batchTokens-tokens {
				length = o.batchTokens - tokens
			}
			texts = append(texts, make([]int32, length))
		}
	}
	_, err := batcher.Embed(context.Background(), texts)
	return err
}

// run serves until ctx is done, then answers what was begun.
func run(ctx context.Context, o options, ready func(address string)) error {
	debug.SetMemoryLimit(o.heapLimit << 20)
	s, err := load(o)
	if err != nil {
		return err
	}
	defer s.batcher.Close()
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	ready(listener.Addr().String())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	time.Sleep(o.drain)
	limited, cancel := context.WithTimeout(context.Background(), o.grace)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		server.Close()
		return fmt.Errorf("requests were cut off: %w", err)
	}
	return nil
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	log.SetFlags(0)
	if err != nil {
		log.Fatal("embedding-service: ", err)
	}
	// The second signal ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	go func() {
		<-ctx.Done()
		stop()
	}()
	if err := run(ctx, o, func(address string) { log.Print("listening on ", address) }); err != nil {
		log.Fatal("embedding-service: ", err)
	}
	log.Print("stopped")
}
