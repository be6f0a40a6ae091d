package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	trt "tensorrt"
)

// Metrics counts what the service does. It may be used from any goroutine.
type Metrics struct {
	mutex    sync.Mutex
	requests map[int]int // by status
	seconds  histogram
	texts    histogram // of a batch
	tokens   histogram
}

type histogram struct {
	bounds []float64
	counts []int // one more than bounds
	sum    float64
}

func newHistogram(bounds ...float64) histogram {
	return histogram{bounds: bounds, counts: make([]int, len(bounds)+1)}
}

func (h *histogram) add(v float64) {
	h.counts[sort.SearchFloat64s(h.bounds, v)]++
	h.sum += v
}

func (h *histogram) write(out io.Writer, name, help string) {
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name)
	n := 0
	for i, bound := range h.bounds {
		n += h.counts[i]
		fmt.Fprintf(out, "%s_bucket{le=\"%s\"} %d\n", name, strconv.FormatFloat(bound, 'g', -1, 64), n)
	}
	n += h.counts[len(h.bounds)]
	fmt.Fprintf(out, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %s\n%s_count %d\n", name, n, name, strconv.FormatFloat(h.sum, 'g', -1, 64), name, n)
}

// NewMetrics makes a Metrics with nothing counted.
func NewMetrics() *Metrics {
	return &Metrics{
		requests: map[int]int{},
		seconds:  newHistogram(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
		texts:    newHistogram(1, 2, 4, 8, 16, 32, 64, 128, 256),
		tokens:   newHistogram(16, 32, 64, 128, 256, 512, 1024, 2048, 4096),
	}
}

// Request counts an answer to POST /embed.
func (m *Metrics) Request(status int, took time.Duration) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.requests[status]++
	m.seconds.add(took.Seconds())
}

// Batch counts a batch.
func (m *Metrics) Batch(texts, tokens int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.texts.add(float64(texts))
	m.tokens.add(float64(tokens))
}

// Text gives all in Prometheus' text format.
func (m *Metrics) Text(waiting, inFlight int) []byte {
	var out bytes.Buffer
	value := func(kind, name, help string, v int64) {
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", name, help, name, kind, name, v)
	}
	m.mutex.Lock()
	fmt.Fprintf(&out, "# HELP embedding_requests_total Answers to POST /embed.\n# TYPE embedding_requests_total counter\n")
	codes := make([]int, 0, len(m.requests))
	for code := range m.requests {
		codes = append(codes, code)
	}
	sort.Ints(codes)
	for _, code := range codes {
		fmt.Fprintf(&out, "embedding_requests_total{code=\"%d\"} %d\n", code, m.requests[code])
	}
	m.seconds.write(&out, "embedding_request_seconds", "Time from the request's header to its answer.")
	m.texts.write(&out, "embedding_batch_texts", "Texts in a batch.")
	m.tokens.write(&out, "embedding_batch_tokens", "Tokens in a batch.")
	m.mutex.Unlock()
	value("gauge", "embedding_waiting_texts", "Texts that wait for a worker.", int64(waiting))
	value("gauge", "embedding_requests_in_flight", "Requests that are being answered.", int64(inFlight))
	if stats, err := trt.GetMemoryStats(trt.CPU); err == nil {
		value("gauge", "tensorrt_memory_allocated_bytes", "Held by tensors.", stats.AllocatedCurrent)
		value("gauge", "tensorrt_memory_reserved_bytes", "Taken from the system for tensors, cached blocks included.", stats.ReservedCurrent)
		value("gauge", "tensorrt_memory_reserved_peak_bytes", "The most that was reserved.", stats.ReservedPeak)
		value("gauge", "tensorrt_memory_limit_bytes", "What may be reserved.", stats.Limit)
		value("counter", "tensorrt_memory_refused_total", "Allocations that the limit or the system refused.", stats.OutOfMemoryCount)
	}
	if rss, err := residentBytes(); err == nil {
		value("gauge", "process_resident_memory_bytes", "Resident memory of the process, the mapped model included.", rss)
	}
	return out.Bytes()
}

func residentBytes() (int64, error) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, io.ErrUnexpectedEOF
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
