package main

import (
	"context"
	"errors"
	"runtime"
	"sync"

	trt "tensorrt"
)

// ErrBusy is the answer to a request that does not fit into the queue, or comes after Close.
var ErrBusy = errors.New("too much is waiting")

// Batcher joins the texts of requests that wait into batches. A worker that is free takes what waits at once, or its share of it where there are
// several: no text is delayed for the sake of a larger batch, and batches grow with the load.
type Batcher struct {
	encode      func(texts [][]int32) ([][]float32, error)
	batchTokens int
	queueTokens int
	observe     func(texts, tokens int)
	workers     int

	mutex     sync.Mutex
	arrived   sync.Cond
	queue     []*text
	waiting   int // tokens in queue
	computing int // tokens in the workers' batches
	closed    bool
	ended     sync.WaitGroup

	// Held for reading by each batch, and for writing by one that had too little memory and is tried again alone.
	alone sync.RWMutex
}

// text is a text of a request.
type text struct {
	ids   []int32
	of    *request
	index int
}

type request struct {
	vectors [][]float32
	open    int // texts without a vector
	err     error
	done    chan struct{} // closed when err is set or all texts have vectors
}

// NewBatcher starts the workers. A batch has at most batchTokens tokens, or one text; at most queueTokens tokens wait, or one request. observe is
// told of each batch.
func NewBatcher(workers, batchTokens, queueTokens int, encode func(texts [][]int32) ([][]float32, error), observe func(texts, tokens int)) *Batcher {
	b := &Batcher{encode: encode, batchTokens: batchTokens, queueTokens: queueTokens, observe: observe, workers: workers}
	b.arrived.L = &b.mutex
	b.ended.Add(workers)
	for i := 0; i < workers; i++ {
		go b.work()
	}
	return b
}

// Close refuses new requests and returns when those that were taken are answered.
func (b *Batcher) Close() {
	b.mutex.Lock()
	b.closed = true
	b.mutex.Unlock()
	b.arrived.Broadcast()
	b.ended.Wait()
}

// Waiting is the number of texts in the queue.
func (b *Batcher) Waiting() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return len(b.queue)
}

// Embed gives the vectors of texts, each given as its tokens' numbers.
func (b *Batcher) Embed(ctx context.Context, texts [][]int32) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	r := &request{vectors: make([][]float32, len(texts)), open: len(texts), done: make(chan struct{})}
	tokens := 0
	for _, ids := range texts {
		tokens += len(ids)
	}
	b.mutex.Lock()
	if b.closed || (b.waiting > 0 && b.waiting+tokens > b.queueTokens) {
		b.mutex.Unlock()
		return nil, ErrBusy
	}
	for i, ids := range texts {
		b.queue = append(b.queue, &text{ids, r, i})
	}
	b.waiting += tokens
	b.mutex.Unlock()
	b.arrived.Signal()
	select {
	case <-r.done:
	case <-ctx.Done():
		b.mutex.Lock()
		b.fail(r, ctx.Err())
		b.mutex.Unlock()
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.vectors, nil
}

// fail ends a request; its texts that still wait are passed over. Under the lock.
func (b *Batcher) fail(r *request, err error) {
	if r.open > 0 && r.err == nil {
		r.err = err
		close(r.done)
	}
}

func (b *Batcher) work() {
	defer b.ended.Done()
	// The library and the BLAS keep memory for each thread that computes.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		batch, tokens := b.take()
		if batch == nil {
			return
		}
		b.run(batch)
		b.mutex.Lock()
		b.computing -= tokens
		b.mutex.Unlock()
	}
}

// take waits for a batch; nil when there will be none.
func (b *Batcher) take() (batch []*text, tokens int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for len(batch) == 0 {
		for len(b.queue) == 0 {
			if b.closed {
				return nil, 0
			}
			b.arrived.Wait()
		}
		// An equal share for each worker of all that is in work or waits.
		limit := (b.waiting + b.computing + b.workers - 1) / b.workers
		if limit > b.batchTokens {
			limit = b.batchTokens
		}
		taken := 0
		for _, t := range b.queue {
			if t.of.err == nil {
				if len(batch) > 0 && tokens+len(t.ids) > limit {
					break
				}
				batch = append(batch, t)
				tokens += len(t.ids)
			}
			b.waiting -= len(t.ids)
			b.queue[taken] = nil
			taken++
		}
		if b.queue = b.queue[taken:]; len(b.queue) == 0 {
			b.queue = nil
		}
	}
	b.computing += tokens
	if len(b.queue) > 0 {
		b.arrived.Signal()
	}
	return batch, tokens
}

func (b *Batcher) run(batch []*text) {
	vectors, err := b.vectors(batch, &b.alone)
	if errors.Is(err, trt.OutOfMemory) {
		// Other batches may have the memory, or this one is too large.
		b.alone.Lock()
		defer b.alone.Unlock()
		b.runAlone(batch)
		return
	}
	b.finish(batch, vectors, err)
}

// runAlone halves a batch for which the memory does not suffice.
func (b *Batcher) runAlone(batch []*text) {
	vectors, err := b.vectors(batch, nil)
	if errors.Is(err, trt.OutOfMemory) && len(batch) > 1 {
		b.runAlone(batch[:len(batch)/2])
		b.runAlone(batch[len(batch)/2:])
		return
	}
	b.finish(batch, vectors, err)
}

func (b *Batcher) vectors(batch []*text, shared *sync.RWMutex) ([][]float32, error) {
	if shared != nil {
		shared.RLock()
		defer shared.RUnlock()
	}
	ids, tokens := make([][]int32, len(batch)), 0
	for i, t := range batch {
		ids[i] = t.ids
		tokens += len(t.ids)
	}
	vectors, err := b.encode(ids)
	if err == nil {
		b.observe(len(batch), tokens)
	}
	return vectors, err
}

func (b *Batcher) finish(batch []*text, vectors [][]float32, err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for i, t := range batch {
		r := t.of
		if err != nil {
			b.fail(r, err)
			continue
		}
		r.vectors[t.index] = vectors[i]
		r.open--
		if r.open == 0 && r.err == nil {
			close(r.done)
		}
	}
}
