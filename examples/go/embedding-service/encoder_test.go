package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	trt "tensorrt"
)

// tinyConfig is a model small enough to compute by hand.
var tinyConfig = config{HiddenAct: "gelu", HiddenSize: 12, LayerNormEps: 1e-12, MaxPositionEmbeddings: 64, ModelType: "bert", NumAttentionHeads: 3,
	NumHiddenLayers: 2, PositionEmbeddingType: "absolute"}

type matrix struct {
	shape []int
	data  []float32
}

// writeModel makes a directory with a model of random weights, which it also gives.
func writeModel(t testing.TB, c config) (string, map[string]matrix) {
	t.Helper()
	random, weights := rand.New(rand.NewSource(1)), map[string]matrix{}
	dict, err := trt.NewStateDict()
	if err != nil {
		t.Fatal(err)
	}
	defer dict.Close()
	add := func(name string, around float32, shape ...int) {
		n := 1
		for _, s := range shape {
			n *= s
		}
		m := matrix{shape, make([]float32, n)}
		for i := range m.data {
			m.data[i] = around + 0.3*float32(random.NormFloat64())
		}
		weights[name] = m
		x, err := trt.FromSlice(m.data, shape...)
		if err == nil {
			err = dict.Set(name, x)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	linear := func(name string, out, in int) {
		add(name+".weight", 0, out, in)
		add(name+".bias", 0, out)
	}
	norm := func(name string) {
		add(name+".weight", 1, c.HiddenSize)
		add(name+".bias", 0, c.HiddenSize)
	}
	width := c.HiddenSize
	add("embeddings.word_embeddings.weight", 0, len(tinyVocabulary), width)
	add("embeddings.position_embeddings.weight", 0, c.MaxPositionEmbeddings, width)
	add("embeddings.token_type_embeddings.weight", 0, 2, width)
	norm("embeddings.LayerNorm")
	for i := 0; i < c.NumHiddenLayers; i++ {
		prefix := fmt.Sprintf("encoder.layer.%d.", i)
		for _, part := range []string{"query", "key", "value"} {
			linear(prefix+"attention.self."+part, width, width)
		}
		linear(prefix+"attention.output.dense", width, width)
		norm(prefix + "attention.output.LayerNorm")
		linear(prefix+"intermediate.dense", 4*width, width)
		linear(prefix+"output.dense", width, 4*width)
		norm(prefix + "output.LayerNorm")
	}
	directory := t.TempDir()
	text, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, "config.json"), text, 0o666)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, "vocab.txt"), []byte(strings.Join(tinyVocabulary, "\n")+"\n"), 0o666)
	}
	if err == nil {
		err = dict.Save(filepath.Join(directory, "model.safetensors"), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return directory, weights
}

// reference computes a text's vector with loops, in float64.
func reference(c config, weights map[string]matrix, ids []int32) []float64 {
	width, n := c.HiddenSize, len(ids)
	at := func(name string, row, column int) float64 {
		m := weights[name]
		return float64(m.data[row*m.shape[len(m.shape)-1]+column])
	}
	rows := func(columns int, f func(i, j int) float64) [][]float64 {
		out := make([][]float64, n)
		for i := range out {
			out[i] = make([]float64, columns)
			for j := range out[i] {
				out[i][j] = f(i, j)
			}
		}
		return out
	}
	linear := func(x [][]float64, name string) [][]float64 {
		return rows(weights[name+".weight"].shape[0], func(i, j int) float64 {
			sum := at(name+".bias", 0, j)
			for k, v := range x[i] {
				sum += v * at(name+".weight", j, k)
			}
			return sum
		})
	}
	norm := func(x [][]float64, name string) [][]float64 {
		for i := range x {
			mean, variance := 0.0, 0.0
			for _, v := range x[i] {
				mean += v / float64(width)
			}
			for _, v := range x[i] {
				variance += (v - mean) * (v - mean) / float64(width)
			}
			for j, v := range x[i] {
				x[i][j] = (v-mean)/math.Sqrt(variance+c.LayerNormEps)*at(name+".weight", 0, j) + at(name+".bias", 0, j)
			}
		}
		return x
	}
	plus := func(x, y [][]float64) [][]float64 {
		return rows(width, func(i, j int) float64 { return x[i][j] + y[i][j] })
	}
	x := norm(rows(width, func(i, j int) float64 {
		return at("embeddings.word_embeddings.weight", int(ids[i]), j) + at("embeddings.position_embeddings.weight", i, j) +
			at("embeddings.token_type_embeddings.weight", 0, j)
	}), "embeddings.LayerNorm")
	size := width / c.NumAttentionHeads
	for l := 0; l < c.NumHiddenLayers; l++ {
		prefix := fmt.Sprintf("encoder.layer.%d.", l)
		q, k, v := linear(x, prefix+"attention.self.query"), linear(x, prefix+"attention.self.key"), linear(x, prefix+"attention.self.value")
		context := rows(width, func(i, j int) float64 {
			first, total, sum := j/size*size, 0.0, 0.0
			for o := 0; o < n; o++ {
				score := 0.0
				for d := first; d < first+size; d++ {
					score += q[i][d] * k[o][d]
				}
				e := math.Exp(score / math.Sqrt(float64(size)))
				total += e
				sum += e * v[o][j]
			}
			return sum / total
		})
		x = norm(plus(linear(context, prefix+"attention.output.dense"), x), prefix+"attention.output.LayerNorm")
		up := linear(x, prefix+"intermediate.dense")
		active := rows(len(up[0]), func(i, j int) float64 { return up[i][j] * 0.5 * (1 + math.Erf(up[i][j]/math.Sqrt2)) })
		x = norm(plus(linear(active, prefix+"output.dense"), x), prefix+"output.LayerNorm")
	}
	vector, length := make([]float64, width), 0.0
	for j := range vector {
		for i := range x {
			vector[j] += x[i][j] / float64(n)
		}
		length += vector[j] * vector[j]
	}
	for j := range vector {
		vector[j] /= math.Sqrt(length)
	}
	return vector
}

func distance(a []float32, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	most := 0.0
	for i := range a {
		d := math.Abs(float64(a[i]) - b[i])
		if math.IsNaN(d) {
			return d
		}
		most = math.Max(most, d)
	}
	return most
}

func randomTexts(count, longest int) [][]int32 {
	random, texts := rand.New(rand.NewSource(2)), make([][]int32, count)
	for i := range texts {
		texts[i] = make([]int32, 1+random.Intn(longest))
		for j := range texts[i] {
			texts[i][j] = int32(random.Intn(len(tinyVocabulary)))
		}
	}
	return texts
}

func TestEncoder(t *testing.T) {
	directory, weights := writeModel(t, tinyConfig)
	e, err := LoadEncoder(directory)
	if err != nil {
		t.Fatal(err)
	}
	texts := append(randomTexts(20, tinyConfig.MaxPositionEmbeddings), []int32{0}, make([]int32, tinyConfig.MaxPositionEmbeddings))
	vectors, err := e.Encode(texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, ids := range texts {
		want := reference(tinyConfig, weights, ids)
		if d := distance(vectors[i], want); !(d < 1e-5) {
			t.Errorf("text %d of %d tokens: off by %g", i, len(ids), d)
		}
		alone, err := e.Encode([][]int32{ids})
		if err != nil {
			t.Fatal(err)
		}
		if d := distance(alone[0], want); !(d < 1e-5) {
			t.Errorf("text %d alone: off by %g", i, d)
		}
	}
	// From many goroutines the same.
	var all sync.WaitGroup
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			if again, err := e.Encode(texts); err != nil || !reflect.DeepEqual(again, vectors) {
				t.Errorf("another result, or %v", err)
			}
		}()
	}
	all.Wait()
	for _, bad := range [][][]int32{{{}}, {make([]int32, tinyConfig.MaxPositionEmbeddings+1)}, {{1}, {int32(len(tinyVocabulary))}}, {{-1}}} {
		if _, err := e.Encode(bad); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
	if vectors, err := e.Encode(nil); err != nil || len(vectors) != 0 {
		t.Errorf("no texts: %v %v", vectors, err)
	}
}

// Nothing is left of a call.
func TestEncoderMemory(t *testing.T) {
	directory, _ := writeModel(t, tinyConfig)
	e, err := LoadEncoder(directory)
	if err != nil {
		t.Fatal(err)
	}
	texts := randomTexts(40, 60)
	held := func() int64 {
		stats, err := trt.GetMemoryStats(trt.CPU)
		if err != nil {
			t.Fatal(err)
		}
		return stats.AllocatedCurrent
	}
	var before int64
	for i := 0; i < 20; i++ {
		if _, err := e.Encode(texts); err != nil {
			t.Fatal(err)
		}
		if i == 4 {
			before = held()
		}
	}
	if grown := held() - before; grown > 64<<10 {
		t.Errorf("%d bytes more after 15 calls", grown)
	}
}

func TestBadModel(t *testing.T) {
	if _, err := LoadEncoder(t.TempDir()); !os.IsNotExist(err) {
		t.Errorf("an empty directory: %v", err)
	}
	for _, c := range []struct {
		message string
		change  func(c *config)
	}{
		{"gelu", func(c *config) { c.HiddenAct = "relu" }},
		{"sizes", func(c *config) { c.NumAttentionHeads = 5 }},
		{"encoder.layer.2.", func(c *config) { c.NumHiddenLayers = 3 }},
		{"shape [32 12]", func(c *config) { c.MaxPositionEmbeddings = 32 }},
	} {
		directory, _ := writeModel(t, tinyConfig)
		changed := tinyConfig
		c.change(&changed)
		text, _ := json.Marshal(changed)
		if err := os.WriteFile(filepath.Join(directory, "config.json"), text, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadEncoder(directory); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", c.message, err)
		}
	}
}

// The real model gives what PyTorch gives.
func TestExpected(t *testing.T) {
	directory := os.Getenv("EMBEDDING_MODEL")
	if directory == "" {
		directory = "../../embedding/model"
	}
	if _, err := os.Stat(filepath.Join(directory, "model.safetensors")); err != nil {
		t.Skipf("no model in %s; examples/embedding/get_model.sh fetches it", directory)
	}
	data, err := os.ReadFile("../../embedding/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Sentence string
		IDs      []int32
		Vector   []float64
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatal(len(cases), err)
	}
	vocabulary, err := os.Open(filepath.Join(directory, "vocab.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer vocabulary.Close()
	tokenizer, err := NewTokenizer(vocabulary, 256)
	if err != nil {
		t.Fatal(err)
	}
	e, err := LoadEncoder(directory)
	if err != nil {
		t.Fatal(err)
	}
	texts := make([][]int32, len(cases))
	for i, c := range cases {
		texts[i] = tokenizer.Encode(c.Sentence)
		if !reflect.DeepEqual(texts[i], c.IDs) {
			t.Errorf("%q: got tokens %v, want %v", c.Sentence, texts[i], c.IDs)
		}
		alone, err := e.Encode([][]int32{c.IDs})
		if err != nil {
			t.Fatal(err)
		}
		if d := distance(alone[0], c.Vector); !(d < 1e-5) {
			t.Errorf("%q: off by %g", c.Sentence, d)
		}
	}
	vectors, err := e.Encode(texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		if d := distance(vectors[i], c.Vector); !(d < 1e-5) {
			t.Errorf("%q in a batch: off by %g", c.Sentence, d)
		}
	}
}
