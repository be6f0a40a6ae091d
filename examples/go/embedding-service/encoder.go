package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	trt "tensorrt"
)

// Encoder is BERT's encoder (Devlin et al., 2019) with the mean over the tokens as a text's vector, scaled to length 1. Encode may be called from
// any number of goroutines.
type Encoder struct {
	words     *trt.Tensor // [vocabulary, width]
	positions *trt.Tensor // [positions, width], the type of the first sentence added
	norm      affine
	layers    []layer
	heads     int
	width     int
	eps       float64
	maxTokens int
}

// affine is a weight and a bias.
type affine struct{ weight, bias *trt.Tensor }

type layer struct {
	qkv, attention, up, down affine // qkv: queries (scaled), keys and values of one product
	attentionNorm, norm      affine
}

type config struct {
	HiddenAct             string  `json:"hidden_act"`
	HiddenSize            int     `json:"hidden_size"`
	LayerNormEps          float64 `json:"layer_norm_eps"`
	MaxPositionEmbeddings int     `json:"max_position_embeddings"`
	ModelType             string  `json:"model_type"`
	NumAttentionHeads     int     `json:"num_attention_heads"`
	NumHiddenLayers       int     `json:"num_hidden_layers"`
	PositionEmbeddingType string  `json:"position_embedding_type"`
}

func readConfig(path string) (config, error) {
	var c config
	data, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if c.ModelType != "bert" || c.HiddenAct != "gelu" || (c.PositionEmbeddingType != "" && c.PositionEmbeddingType != "absolute") {
		return c, fmt.Errorf("%s: a BERT encoder with gelu and absolute positions is needed, got %q, %q, %q", path, c.ModelType, c.HiddenAct, c.PositionEmbeddingType)
	}
	if c.NumAttentionHeads < 1 || c.HiddenSize < 1 || c.HiddenSize%c.NumAttentionHeads != 0 || c.NumHiddenLayers < 1 || c.MaxPositionEmbeddings < 2 ||
		!(c.LayerNormEps > 0) {
		return c, fmt.Errorf("%s: sizes that do not fit together", path)
	}
	return c, nil
}

// calls keeps the first error of a chain of calls. A call after an error gets a nil tensor and fails on its own.
type calls struct{ err error }

func (c *calls) tensor(t *trt.Tensor, err error) *trt.Tensor {
	c.check(err)
	return t
}

func (c *calls) check(err error) {
	if c.err == nil {
		c.err = err
	}
}

// LoadEncoder reads config.json and model.safetensors of a directory. The weights stay on a mapping of the file, but for those of the attention,
// which are put together.
func LoadEncoder(directory string) (*Encoder, error) {
	cfg, err := readConfig(filepath.Join(directory, "config.json"))
	if err != nil {
		return nil, err
	}
	file, err := trt.OpenSafetensors(filepath.Join(directory, "model.safetensors"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	e := &Encoder{heads: cfg.NumAttentionHeads, width: cfg.HiddenSize, eps: cfg.LayerNormEps, maxTokens: cfg.MaxPositionEmbeddings}
	var c calls
	get := func(name string, shape ...int) *trt.Tensor {
		if c.err != nil {
			return nil
		}
		t := c.tensor(file.Tensor(name, trt.LoadMap))
		if c.err != nil {
			return nil
		}
		got := t.Shape()
		ok := t.DType() == trt.Float32 && len(got) == len(shape)
		for i := 0; ok && i < len(shape); i++ {
			ok = got[i] == shape[i] || shape[i] < 0
		}
		if !ok {
			c.check(fmt.Errorf("%s: float32 of shape %v is needed, got %v of %v", name, shape, t.DType(), got))
		}
		return t
	}
	linear := func(name string, out, in int) affine {
		return affine{get(name+".weight", out, in), get(name+".bias", out)}
	}
	norm := func(name string) affine { return affine{get(name+".weight", e.width), get(name+".bias", e.width)} }
	// joined closes what it joins.
	joined := func(parts ...affine) (all affine) {
		if c.err != nil {
			return all
		}
		var weights, biases []*trt.Tensor
		for _, p := range parts {
			weights, biases = append(weights, p.weight), append(biases, p.bias)
			defer p.weight.Close()
			defer p.bias.Close()
		}
		return affine{c.tensor(trt.Cat(weights)), c.tensor(trt.Cat(biases))}
	}
	err = trt.NoGrad(func() error {
		e.words = get("embeddings.word_embeddings.weight", -1, e.width)
		positions := get("embeddings.position_embeddings.weight", cfg.MaxPositionEmbeddings, e.width)
		types := get("embeddings.token_type_embeddings.weight", -1, e.width)
		if c.err == nil {
			e.positions = c.tensor(positions.Add(c.tensor(types.Select(0, 0))))
		}
		e.norm = norm("embeddings.LayerNorm")
		for i := 0; i < cfg.NumHiddenLayers && c.err == nil; i++ {
			prefix := fmt.Sprintf("encoder.layer.%d.", i)
			query := linear(prefix+"attention.self.query", e.width, e.width)
			key := linear(prefix+"attention.self.key", e.width, e.width)
			value := linear(prefix+"attention.self.value", e.width, e.width)
			// The scores' factor 1/sqrt(width of a head) goes into the queries.
			if c.err == nil {
				scale := 1 / math.Sqrt(float64(e.width/e.heads))
				query = affine{c.tensor(query.weight.MulScalar(scale)), c.tensor(query.bias.MulScalar(scale))}
			}
			up := linear(prefix+"intermediate.dense", -1, e.width)
			e.layers = append(e.layers, layer{
				qkv:           joined(query, key, value),
				attention:     linear(prefix+"attention.output.dense", e.width, e.width),
				attentionNorm: norm(prefix + "attention.output.LayerNorm"),
				up:            up,
				down:          linear(prefix+"output.dense", e.width, -1),
				norm:          norm(prefix + "output.LayerNorm"),
			})
		}
		return c.err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(directory, "model.safetensors"), err)
	}
	return e, nil
}

// Encode gives the vectors of texts, each given as its tokens' numbers (int32). All tokens of all texts are the rows of one matrix, so that no
// work goes into padding; only the attention goes through the texts one by one.
func (e *Encoder) Encode(texts [][]int32) (vectors [][]float32, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	rows := 0
	for _, ids := range texts {
		if len(ids) == 0 || len(ids) > e.maxTokens {
			return nil, fmt.Errorf("a text needs 1 to %d tokens, got %d", e.maxTokens, len(ids))
		}
		rows += len(ids)
	}
	err = trt.InferenceMode(func() error {
		return trt.InScope(func(*trt.Scope) error {
			flat, err := e.forward(texts, rows)
			if err == nil {
				vectors = make([][]float32, len(texts))
				for i := range vectors {
					vectors[i] = flat[i*e.width : (i+1)*e.width : (i+1)*e.width]
				}
			}
			return err
		})
	})
	return vectors, err
}

// span is where a text's tokens are.
type span struct{ row, tokens int }

// forward gives the vectors one behind the other.
func (e *Encoder) forward(texts [][]int32, rows int) ([]float32, error) {
	var c calls
	ids, places := make([]int32, 0, rows), make([]int32, 0, rows)
	spans := make([]span, len(texts))
	for i, text := range texts {
		spans[i] = span{len(ids), len(text)}
		ids = append(ids, text...)
		for p := range text {
			places = append(places, int32(p))
		}
	}
	words := c.tensor(trt.Embedding(e.words, c.tensor(trt.FromSlice(ids))))
	x := c.tensor(trt.Embedding(e.positions, c.tensor(trt.FromSlice(places))))
	c.check(words.Add_(x))
	x = e.normalized(&c, words, e.norm)
	for i := range e.layers {
		if c.err != nil {
			return nil, c.err
		}
		// What a layer made but its result goes when the layer is done.
		before := x
		c.check(trt.InScope(func(s *trt.Scope) error {
			var c calls
			x = s.Keep(e.layer(&c, &e.layers[i], x, spans, rows))
			return c.err
		}))
		before.Close()
	}
	defer func() { x.Close() }()
	means := make([]*trt.Tensor, len(spans))
	for i, s := range spans {
		part := c.tensor(x.Narrow(0, s.row, s.tokens))
		means[i] = c.tensor(part.Mean(trt.MeanOptions{Dim: []int{0}}))
	}
	if c.err != nil {
		return nil, c.err
	}
	flat, err := trt.Normalize(c.tensor(trt.Stack(means)))
	if err != nil {
		return nil, err
	}
	return trt.ToSlice[float32](flat)
}

func (e *Encoder) normalized(c *calls, x *trt.Tensor, n affine) *trt.Tensor {
	return c.tensor(trt.LayerNorm(x, []int{e.width}, trt.LayerNormOptions{Weight: n.weight, Bias: n.bias, Eps: trt.Some(e.eps)}))
}

func linear(c *calls, x *trt.Tensor, l affine) *trt.Tensor {
	return c.tensor(trt.Linear(x, l.weight, trt.LinearOptions{Bias: l.bias}))
}

func (e *Encoder) layer(c *calls, l *layer, x *trt.Tensor, spans []span, rows int) *trt.Tensor {
	qkv := linear(c, x, l.qkv)
	context := c.tensor(trt.Empty([]int{rows, e.width}))
	size := e.width / e.heads
	for _, s := range spans {
		if c.err != nil {
			return nil
		}
		// The queries, keys and values of each head, as they lie in the product.
		step, first := 3*e.width, s.row*3*e.width
		rowsOf := func(offset int) *trt.Tensor {
			return c.tensor(qkv.AsStrided([]int{e.heads, s.tokens, size}, []int{size, step, 1}, trt.AsStridedOptions{StorageOffset: trt.Some(first + offset)}))
		}
		q, v := rowsOf(0), rowsOf(2*e.width)
		k := c.tensor(qkv.AsStrided([]int{e.heads, size, s.tokens}, []int{size, 1, step}, trt.AsStridedOptions{StorageOffset: trt.Some(first + e.width)}))
		weights := c.tensor(c.tensor(q.Bmm(k)).Softmax(-1))
		into := c.tensor(context.AsStrided([]int{e.heads, s.tokens, size}, []int{size, e.width, 1}, trt.AsStridedOptions{StorageOffset: trt.Some(s.row * e.width)}))
		c.check(weights.BmmOut(v, into))
	}
	y := linear(c, context, l.attention)
	c.check(y.Add_(x))
	y = e.normalized(c, y, l.attentionNorm)
	qkv.Close()
	up := linear(c, y, l.up)
	active := c.tensor(up.Gelu())
	up.Close()
	z := linear(c, active, l.down)
	c.check(z.Add_(y))
	return e.normalized(c, z, l.norm)
}
