package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The test program is the service, too.
func TestMain(m *testing.M) {
	if os.Getenv("EMBEDDING_SERVICE_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func defaults(t *testing.T, model string, more ...string) options {
	t.Helper()
	o, err := parse(append([]string{"--model", model, "--max-tokens", "32"}, more...))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func post(t *testing.T, url, body string) (status int, text string) {
	t.Helper()
	r, err := http.Post(url+"/embed", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return read(t, r)
}

func get(t *testing.T, url string) (status int, text string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, r)
}

func read(t *testing.T, r *http.Response) (status int, text string) {
	t.Helper()
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(data)
}

func inputs(texts ...string) string {
	data, _ := json.Marshal(map[string][]string{"inputs": texts})
	return string(data)
}

func embeddings(t *testing.T, text string) [][]float32 {
	t.Helper()
	var body map[string][][]float32
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return body["embeddings"]
}

// metric is the value of a line of /metrics.
func metric(t *testing.T, url, name string) float64 {
	t.Helper()
	_, text := get(t, url+"/metrics")
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, name+" ") {
			v, err := strconv.ParseFloat(line[len(name)+1:], 64)
			if err != nil {
				t.Fatal(line)
			}
			return v
		}
	}
	t.Fatalf("no %s in\n%s", name, text)
	return 0
}

func TestServer(t *testing.T) {
	model, weights := writeModel(t, tinyConfig)
	s, err := load(defaults(t, model, "--max-body", "20000", "--max-inputs", "50"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.batcher.Close()
	server := httptest.NewServer(s.Handler())
	defer server.Close()

	texts := []string{"", "hello", "unaffable world!", strings.Repeat("hello ", 100), "北京 [MASK]", "\"\\\u2028"}
	tokenizer, want := tinyTokenizer(t, 32), map[string][]float64{}
	for _, text := range texts {
		want[text] = reference(tinyConfig, weights, tokenizer.Encode(text))
	}
	var all sync.WaitGroup
	for i := 0; i < 16; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			for k := 0; k < 10; k++ {
				mine := append(append([]string{}, texts[i%len(texts):]...), texts[:k%len(texts)]...)
				status, text := post(t, server.URL, inputs(mine...))
				if status != 200 {
					t.Errorf("%d %s", status, text)
					return
				}
				vectors := embeddings(t, text)
				for j, one := range mine {
					if d := distance(vectors[j], want[one]); !(d < 1e-5) {
						t.Errorf("%q: off by %g", one, d)
					}
				}
			}
		}(i)
	}
	all.Wait()
	if status, text := post(t, server.URL, `{"inputs": []}`); status != 200 || len(embeddings(t, text)) != 0 {
		t.Errorf("no inputs: %d %s", status, text)
	}

	for _, c := range []struct {
		body   string
		status int
		part   string
	}{
		{"", 400, "EOF"},
		{"{", 400, "EOF"},
		{"[]", 400, "array"},
		{"null", 400, "missing"},
		{"{}", 400, "missing"},
		{`{"inputs": null}`, 400, "missing"},
		{`{"inputs": "hello"}`, 400, "string"},
		{`{"inputs": [1]}`, 400, "number"},
		{`{"inputs": ["a", null]}`, 400, "input 1 is null"},
		{`{"inputs": [["a"]]}`, 400, "array"},
		{`{"inputs": ["a"], "more": 1}`, 400, "more"},
		{`{"inputs": ["a"]} {}`, 400, "follows"},
		{`{"inputs": ["a"]]`, 400, ""},
		{`{"inputs": ["a`, 400, "EOF"},
		{"{\"inputs\": [\"a\nb\"]}", 400, "invalid character"},
		{inputs(make([]string, 51)...), 413, "51"},
		{inputs(strings.Repeat("a", 20000)), 413, "20000 bytes"},
	} {
		status, text := post(t, server.URL, c.body)
		var body map[string]string
		if err := json.Unmarshal([]byte(text), &body); status != c.status || err != nil || !strings.Contains(body["error"], c.part) {
			t.Errorf("%.60s: %d %s", c.body, status, text)
		}
	}
	// Without a length, too.
	r, err := http.Post(server.URL+"/embed", "application/json", io.MultiReader(strings.NewReader(inputs(strings.Repeat("a", 20000)))))
	if err != nil {
		t.Fatal(err)
	}
	if status, text := read(t, r); status != 413 {
		t.Errorf("a long body without a length: %d %s", status, text)
	}
	if status, _ := get(t, server.URL+"/embed"); status != 405 {
		t.Errorf("GET /embed: %d", status)
	}
	if status, _ := get(t, server.URL+"/other"); status != 404 {
		t.Errorf("GET /other: %d", status)
	}
	if status, text := get(t, server.URL+"/healthz"); status != 200 || !strings.Contains(text, "ok") {
		t.Errorf("/healthz: %d %s", status, text)
	}

	for name, want := range map[string]float64{
		`embedding_requests_total{code="200"}`:        161,
		`embedding_requests_total{code="400"}`:        15,
		`embedding_requests_total{code="405"}`:        1,
		`embedding_requests_total{code="413"}`:        3,
		`embedding_request_seconds_count`:             180,
		`embedding_request_seconds_bucket{le="+Inf"}`: 180,
		`embedding_waiting_texts`:                     0,
		`embedding_requests_in_flight`:                0,
	} {
		if got := metric(t, server.URL, name); got != want {
			t.Errorf("%s is %v, not %v", name, got, want)
		}
	}
	sent := 0.0
	for i := 0; i < 16; i++ {
		for k := 0; k < 10; k++ {
			sent += float64(len(texts) - i%len(texts) + k%len(texts))
		}
	}
	if got := metric(t, server.URL, "embedding_batch_texts_sum"); got != sent {
		t.Errorf("%v texts were in batches, %v were sent", got, sent)
	}
	for _, name := range []string{"tensorrt_memory_allocated_bytes", "tensorrt_memory_limit_bytes", "process_resident_memory_bytes"} {
		if metric(t, server.URL, name) <= 0 {
			t.Errorf("%s is not positive", name)
		}
	}
	_, text := get(t, server.URL+"/metrics")
	line := regexp.MustCompile(`^(# (HELP|TYPE) \S+ .+|[a-z_]+(\{[a-z]+="[^"]+"\})? [-+0-9.e]+)$`)
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		if !line.MatchString(l) {
			t.Errorf("a line that Prometheus would refuse: %s", l)
		}
	}
}

func TestTooManyRequests(t *testing.T) {
	model, _ := writeModel(t, tinyConfig)
	s, err := load(defaults(t, model, "--max-requests", "2"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.batcher.Close()
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	// Two requests whose bodies do not end.
	var writers []*io.PipeWriter
	ended := make(chan int, 2)
	for i := 0; i < 2; i++ {
		body, writer := io.Pipe()
		writers = append(writers, writer)
		go func() {
			r, err := http.Post(server.URL+"/embed", "application/json", body)
			if err != nil {
				ended <- 0
				return
			}
			r.Body.Close()
			ended <- r.StatusCode
		}()
	}
	waitFor(t, "2 requests", func() bool { return metric(t, server.URL, "embedding_requests_in_flight") == 2 })
	r, err := http.Post(server.URL+"/embed", "application/json", strings.NewReader(inputs("hello")))
	if err != nil {
		t.Fatal(err)
	}
	if status, text := read(t, r); status != 503 || r.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", status, text)
	}
	for _, w := range writers {
		io.WriteString(w, inputs("hello"))
		w.Close()
		if status := <-ended; status != 200 {
			t.Errorf("a slow request: %d", status)
		}
	}
	if status, text := post(t, server.URL, inputs("hello")); status != 200 {
		t.Errorf("%d %s", status, text)
	}
}

// --- the service as a process ---

type process struct {
	*exec.Cmd
	address string
	output  chan string // all that it wrote, when it has ended
}

func start(t *testing.T, model string, more ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], append([]string{"--model", model, "--listen", "127.0.0.1:0"}, more...)...), output: make(chan string, 1)}
	p.Env = append(os.Environ(), "EMBEDDING_SERVICE_MAIN=1")
	out, err := p.StderrPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill() })
	lines, address := bufio.NewReader(out), make(chan string, 1)
	go func() {
		var all bytes.Buffer
		for {
			line, err := lines.ReadString('\n')
			all.WriteString(line)
			if found := strings.TrimPrefix(line, "listening on "); found != line {
				address <- strings.TrimSpace(found)
			}
			if err != nil {
				close(address)
				p.output <- all.String()
				return
			}
		}
	}()
	if p.address = <-address; p.address == "" {
		t.Fatal(<-p.output)
	}
	return p
}

func (p *process) url() string { return "http://" + p.address }

// ended waits for the end and gives the status.
func (p *process) ended(t *testing.T) (status int, output string) {
	t.Helper()
	select {
	case output = <-p.output:
	case <-time.After(30 * time.Second):
		t.Fatal("the process did not end")
	}
	p.Wait()
	return p.ProcessState.ExitCode(), output
}

func TestShutdown(t *testing.T) {
	model, _ := writeModel(t, tinyConfig)
	p := start(t, model, "--max-tokens", "32", "--drain", "500ms")
	if status, _ := get(t, p.url()+"/healthz"); status != 200 {
		t.Fatal(status)
	}
	// A request is under way when the signal comes, and ends later.
	connection, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	body := inputs("hello world")
	fmt.Fprintf(connection, "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:5])
	waitFor(t, "the request", func() bool { return metric(t, p.url(), "embedding_requests_in_flight") == 1 })
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a failing /healthz", func() bool {
		status, _ := get(t, p.url()+"/healthz")
		return status == 503
	})
	if status, _ := post(t, p.url(), inputs("hello")); status != 200 {
		t.Errorf("a request while it drains: %d", status)
	}
	http.DefaultClient.CloseIdleConnections()
	waitFor(t, "refused connections", func() bool {
		c, err := net.Dial("tcp", p.address)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	io.WriteString(connection, body[5:])
	r, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, text := read(t, r); status != 200 || len(embeddings(t, text)[0]) != tinyConfig.HiddenSize {
		t.Errorf("the request under way: %d %s", status, text)
	}
	if status, output := p.ended(t); status != 0 || !strings.HasSuffix(output, "stopped\n") {
		t.Errorf("status %d\n%s", status, output)
	}
}

func TestCutOff(t *testing.T) {
	model, _ := writeModel(t, tinyConfig)
	p := start(t, model, "--max-tokens", "32", "--grace", "100ms")
	connection, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	io.WriteString(connection, "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
	waitFor(t, "the request", func() bool { return metric(t, p.url(), "embedding_requests_in_flight") == 1 })
	p.Process.Signal(syscall.SIGTERM)
	if status, output := p.ended(t); status != 1 || !strings.Contains(output, "cut off") {
		t.Errorf("status %d\n%s", status, output)
	}
}

func TestMemoryCeiling(t *testing.T) {
	large := config{HiddenAct: "gelu", HiddenSize: 96, LayerNormEps: 1e-12, MaxPositionEmbeddings: 256, ModelType: "bert", NumAttentionHeads: 48, NumHiddenLayers: 1}
	model, weights := writeModel(t, large)
	p := start(t, model, "--memory-limit", "16", "--batch-tokens", "1000000", "--queue-tokens", "1000000")
	tokenizer := tinyTokenizer(t, 256)
	want := map[string][]float64{}
	for _, text := range []string{"hello", "hello hello ", strings.Repeat("hello ", 39)} {
		want[text] = reference(large, weights, tokenizer.Encode(text))
	}
	small := func() {
		t.Helper()
		status, text := post(t, p.url(), inputs("hello"))
		if status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		if d := distance(embeddings(t, text)[0], want["hello"]); !(d < 1e-5) {
			t.Errorf("off by %g", d)
		}
	}
	small()
	// The attention of one such text needs more than the limit.
	for i := 0; i < 3; i++ {
		if status, text := post(t, p.url(), inputs("hello", strings.Repeat("world ", 300))); status != 503 || !strings.Contains(text, "memory") {
			t.Errorf("%d %.200s", status, text)
		}
		small()
	}
	// These do not fit as one batch, but in parts.
	many := make([]string, 256)
	for i := range many {
		many[i] = strings.Repeat("hello ", i%40)
	}
	refused := metric(t, p.url(), "tensorrt_memory_refused_total")
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			status, text := post(t, p.url(), inputs(many...))
			if status != 200 {
				t.Errorf("%d %.200s", status, text)
				return
			}
			for i, v := range embeddings(t, text) {
				if w := want[many[i]]; w != nil && !(distance(v, w) < 1e-5) {
					t.Errorf("text %d has another vector", i)
				}
			}
		}()
	}
	all.Wait()
	if now := metric(t, p.url(), "tensorrt_memory_refused_total"); !(now > refused) {
		t.Error("nothing was refused: the test is too easy")
	}
	if peak, limit := metric(t, p.url(), "tensorrt_memory_reserved_peak_bytes"), metric(t, p.url(), "tensorrt_memory_limit_bytes"); peak > limit || limit != 16<<20 {
		t.Errorf("%v bytes were reserved, %v are allowed", peak, limit)
	}
	small()
	p.Process.Signal(syscall.SIGTERM)
	if status, output := p.ended(t); status != 0 {
		t.Errorf("status %d\n%s", status, output)
	}
}

func TestBadArguments(t *testing.T) {
	model, _ := writeModel(t, tinyConfig)
	for _, c := range []struct {
		part string
		args []string
	}{
		{"nothing-here", []string{"--model", "nothing-here"}},
		{"--max-tokens says", []string{"--model", model, "--max-tokens", "65"}},
		{"positive", []string{"--workers", "0"}},
		{"unknown argument", []string{"more"}},
		{"flag", []string{"--bogus"}},
		{"address", []string{"--model", model, "--max-tokens", "32", "--listen", "127.0.0.1:99999"}},
	} {
		cmd := exec.Command(os.Args[0], c.args...)
		cmd.Env = append(os.Environ(), "EMBEDDING_SERVICE_MAIN=1")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.part) || strings.Contains(string(out), "goroutine") {
			t.Errorf("%v: %v\n%s", c.args, err, out)
		}
	}
}
