package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	trt "tensorrt"
)

// fakeEncoder gives a text's numbers as its vector. Each call first takes a value from gate.
type fakeEncoder struct {
	gate  chan error
	begun chan int // texts of each call

	mutex   sync.Mutex
	batches []int
	seen    map[int32]bool
}

func newFakeEncoder() *fakeEncoder {
	return &fakeEncoder{gate: make(chan error, 1000), begun: make(chan int, 1000), seen: map[int32]bool{}}
}

func (f *fakeEncoder) encode(texts [][]int32) ([][]float32, error) {
	f.begun <- len(texts)
	if err := <-f.gate; err != nil {
		return nil, err
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.batches = append(f.batches, len(texts))
	vectors := make([][]float32, len(texts))
	for i, ids := range texts {
		f.seen[ids[0]] = true
		for _, id := range ids {
			vectors[i] = append(vectors[i], float32(id))
		}
	}
	return vectors, nil
}

func (f *fakeEncoder) release(n int) {
	for i := 0; i < n; i++ {
		f.gate <- nil
	}
}

func none(int, int) {}

func embed(t *testing.T, b *Batcher, texts ...[]int32) chan error {
	t.Helper()
	result := make(chan error, 1)
	go func() {
		vectors, err := b.Embed(context.Background(), texts)
		if err == nil {
			for i, ids := range texts {
				if len(vectors[i]) != len(ids) || vectors[i][0] != float32(ids[0]) {
					err = errors.New("another text's vector")
				}
			}
		}
		result <- err
	}()
	return result
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain: ", what)
		}
	}
}

func TestBatcherJoins(t *testing.T) {
	f := newFakeEncoder()
	b := NewBatcher(1, 1000, 1000, f.encode, none)
	first := embed(t, b, []int32{1, 1})
	if n := <-f.begun; n != 1 {
		t.Fatalf("a batch of %d", n)
	}
	var rest []chan error
	for i := int32(2); i < 12; i++ {
		rest = append(rest, embed(t, b, []int32{i, i}, []int32{i}))
	}
	waitFor(t, "20 texts", func() bool { return b.Waiting() == 20 })
	f.release(2)
	if n := <-f.begun; n != 20 {
		t.Errorf("20 texts waited, a batch has %d", n)
	}
	for _, r := range append(rest, first) {
		if err := <-r; err != nil {
			t.Error(err)
		}
	}
	b.Close()
}

func TestBatcherShares(t *testing.T) {
	f := newFakeEncoder()
	b := NewBatcher(2, 10000, 100000, f.encode, none)
	texts := make([][]int32, 20)
	for i := range texts {
		texts[i] = make([]int32, 100)
		texts[i][0] = int32(i)
	}
	r := embed(t, b, texts...)
	if m, n := <-f.begun, <-f.begun; m != 10 || n != 10 {
		t.Errorf("batches of %d and %d", m, n)
	}
	f.release(2)
	if err := <-r; err != nil {
		t.Error(err)
	}
	b.Close()
}

func TestBatcherLimits(t *testing.T) {
	f := newFakeEncoder()
	b := NewBatcher(1, 10, 20, f.encode, none)
	first := embed(t, b, make([]int32, 5))
	<-f.begun
	second := embed(t, b, make([]int32, 7), make([]int32, 7))
	waitFor(t, "2 texts", func() bool { return b.Waiting() == 2 })
	if _, err := b.Embed(context.Background(), [][]int32{make([]int32, 7)}); !errors.Is(err, ErrBusy) {
		t.Errorf("a full queue: %v", err)
	}
	third := embed(t, b, make([]int32, 6))
	waitFor(t, "3 texts", func() bool { return b.Waiting() == 3 })
	f.release(1)
	for i := 0; i < 3; i++ {
		if n := <-f.begun; n != 1 {
			t.Errorf("a batch of %d", n)
		}
		f.release(1)
	}
	// What does not fit into the empty queue is taken none the less.
	fourth := embed(t, b, make([]int32, 30))
	<-f.begun
	f.release(1)
	for _, r := range []chan error{first, second, third, fourth} {
		if err := <-r; err != nil {
			t.Error(err)
		}
	}
	b.Close()
}

func TestBatcherClose(t *testing.T) {
	f := newFakeEncoder()
	b := NewBatcher(2, 10, 1000, f.encode, none)
	var all []chan error
	for i := 0; i < 10; i++ {
		all = append(all, embed(t, b, make([]int32, 9)))
	}
	<-f.begun
	<-f.begun
	// Two are in work: with eight that wait all ten were taken.
	waitFor(t, "8 texts", func() bool { return b.Waiting() == 8 })
	f.release(10)
	b.Close()
	for _, r := range all {
		if err := <-r; err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Embed(context.Background(), [][]int32{{1}}); !errors.Is(err, ErrBusy) {
		t.Errorf("after Close: %v", err)
	}
}

func TestBatcherCancel(t *testing.T) {
	f := newFakeEncoder()
	b := NewBatcher(1, 1000, 1000, f.encode, none)
	first := embed(t, b, []int32{1})
	<-f.begun
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error)
	go func() {
		_, err := b.Embed(ctx, [][]int32{{2}, {3}})
		gone <- err
	}()
	waitFor(t, "2 texts", func() bool { return b.Waiting() == 2 })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	last := embed(t, b, []int32{4})
	f.release(2)
	for _, r := range []chan error{first, last} {
		if err := <-r; err != nil {
			t.Error(err)
		}
	}
	b.Close()
	if f.seen[2] || f.seen[3] {
		t.Error("a request that was given up was computed")
	}
}

func TestBatcherOutOfMemory(t *testing.T) {
	refuse := &trt.Error{Code: trt.OutOfMemory, Message: "no"}
	var batches []int
	encode := func(texts [][]int32) ([][]float32, error) {
		vectors := make([][]float32, len(texts))
		for i, ids := range texts {
			if len(texts) > 2 || ids[0] == 13 {
				return nil, refuse
			}
			vectors[i] = make([]float32, len(ids))
			vectors[i][0] = float32(ids[0])
		}
		batches = append(batches, len(texts))
		return vectors, nil
	}
	b := NewBatcher(1, 1000, 1000, encode, none)
	if err := <-embed(t, b, []int32{1}, []int32{2}, []int32{3}, []int32{4}, []int32{5}, []int32{6}, []int32{7}); err != nil {
		t.Error(err)
	}
	if err := <-embed(t, b, []int32{1}, []int32{13}, []int32{3}); !errors.Is(err, trt.OutOfMemory) {
		t.Errorf("a text that never fits: %v", err)
	}
	if err := <-embed(t, b, []int32{1}, []int32{2}); err != nil {
		t.Error(err)
	}
	b.Close()
	for _, n := range batches {
		if n > 2 {
			t.Errorf("batches of %v", batches)
		}
	}
}

func TestBatcherErrors(t *testing.T) {
	f := newFakeEncoder()
	b := NewBatcher(1, 1000, 1000, f.encode, none)
	broken := errors.New("broken")
	f.gate <- broken
	if err := <-embed(t, b, []int32{1}, []int32{2}); err != broken {
		t.Error(err)
	}
	f.release(1)
	if err := <-embed(t, b, []int32{1}); err != nil {
		t.Error(err)
	}
	if vectors, err := b.Embed(context.Background(), nil); err != nil || len(vectors) != 0 {
		t.Errorf("no texts: %v %v", vectors, err)
	}
	b.Close()
}
