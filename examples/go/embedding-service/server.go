package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	trt "tensorrt"
)

// Limits of what a client may ask for.
type Limits struct {
	Body     int64 // bytes of a request
	Inputs   int   // texts of a request
	Requests int   // requests at a time
}

// Server answers POST /embed, GET /healthz and GET /metrics.
type Server struct {
	tokenizer *Tokenizer
	batcher   *Batcher
	metrics   *Metrics
	limits    Limits
	inFlight  int64
	draining  int32
}

// NewServer makes a server; what it is given stays the caller's.
func NewServer(tokenizer *Tokenizer, batcher *Batcher, metrics *Metrics, limits Limits) *Server {
	return &Server{tokenizer: tokenizer, batcher: batcher, metrics: metrics, limits: limits}
}

// Drain makes /healthz tell that no requests should be sent any more. They are still answered.
func (s *Server) Drain() { atomic.StoreInt32(&s.draining, 1) }

// Handler gives the routes.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/embed", s.embed)
	mux.HandleFunc("/healthz", s.health)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Write(s.metrics.Text(s.batcher.Waiting(), int(atomic.LoadInt64(&s.inFlight))))
	})
	return mux
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	if atomic.LoadInt32(&s.draining) != 0 {
		reply(w, http.StatusServiceUnavailable, []byte(`{"status": "stopping"}`+"\n"))
		return
	}
	reply(w, http.StatusOK, []byte(`{"status": "ok"}`+"\n"))
}

// failure is an error with the status that it is answered with.
type failure struct {
	status int
	text   string
}

func (f *failure) Error() string { return f.text }

func (s *Server) embed(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	status, body := http.StatusOK, []byte(nil)
	vectors, err := s.vectors(w, r)
	if err == nil {
		body = encodeVectors(vectors)
	} else {
		status = statusOf(err)
		body, _ = json.Marshal(map[string]string{"error": err.Error()})
		body = append(body, '\n')
	}
	switch status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	}
	s.metrics.Request(status, time.Since(began))
	reply(w, status, body)
}

func statusOf(err error) int {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f.status
	case errors.Is(err, ErrBusy), errors.Is(err, trt.OutOfMemory), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func reply(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}

func (s *Server) vectors(w http.ResponseWriter, r *http.Request) ([][]float32, error) {
	if r.Method != http.MethodPost {
		return nil, &failure{http.StatusMethodNotAllowed, "POST is needed"}
	}
	defer atomic.AddInt64(&s.inFlight, -1)
	if atomic.AddInt64(&s.inFlight, 1) > int64(s.limits.Requests) {
		return nil, ErrBusy
	}
	inputs, err := s.inputs(w, r)
	if err != nil {
		return nil, err
	}
	ids := make([][]int32, len(inputs))
	for i, text := range inputs {
		ids[i] = s.tokenizer.Encode(text)
	}
	return s.batcher.Embed(r.Context(), ids)
}

// inputs reads the body, {"inputs": ["...", ...]}.
func (s *Server) inputs(w http.ResponseWriter, r *http.Request) ([]string, error) {
	tooLarge := &failure{http.StatusRequestEntityTooLarge, fmt.Sprintf("a request may have %d bytes", s.limits.Body)}
	if r.ContentLength > s.limits.Body {
		return nil, tooLarge
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.limits.Body))
	if err != nil {
		// Go 1.19 has a type for this one.
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, tooLarge
		}
		return nil, &failure{http.StatusBadRequest, "reading the request: " + err.Error()}
	}
	var body struct {
		Inputs *[]*string `json:"inputs"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&body)
	if err == nil {
		if _, more := decoder.Token(); more != io.EOF {
			err = errors.New("something follows the object")
		} else if body.Inputs == nil {
			err = errors.New(`"inputs" is missing`)
		}
	}
	if err != nil {
		return nil, &failure{http.StatusBadRequest, `{"inputs": ["...", ...]} is needed: ` + err.Error()}
	}
	if len(*body.Inputs) > s.limits.Inputs {
		return nil, &failure{http.StatusRequestEntityTooLarge, fmt.Sprintf("a request may have %d inputs, got %d", s.limits.Inputs, len(*body.Inputs))}
	}
	inputs := make([]string, len(*body.Inputs))
	for i, text := range *body.Inputs {
		if text == nil {
			return nil, &failure{http.StatusBadRequest, fmt.Sprintf(`{"inputs": ["...", ...]} is needed: input %d is null`, i)}
		}
		inputs[i] = *text
	}
	return inputs, nil
}

// encodeVectors gives {"embeddings": [[...], ...]}, each number with as many digits as tell it from its neighbours.
func encodeVectors(vectors [][]float32) []byte {
	size := 32
	for _, v := range vectors {
		size += 13*len(v) + 2
	}
	out := append(make([]byte, 0, size), `{"embeddings": [`...)
	for i, v := range vectors {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(out, '[')
		for j, x := range v {
			if j > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendFloat(out, float64(x), 'g', -1, 32)
		}
		out = append(out, ']')
	}
	return append(out, "]}\n"...)
}
