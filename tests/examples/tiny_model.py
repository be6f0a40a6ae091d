"""A small encoder with random weights, and the vectors that it must give: for tests of the embedding programs where the real model is not there.

Its vocabulary and the texts are those of examples/embedding/tokens.json, which also says into which pieces each text is cut: a program that cuts differently
gives another vector. The vectors are computed here, in double precision, by numpy.
"""

import json
import math
import os
import struct

import numpy as np

LAYERS, HEADS, WIDTH, INNER, POSITIONS, EPS = 2, 32, 64, 96, 256, 1e-12


def weights(vocabulary):
    rng = np.random.default_rng(7)

    def normal(*shape, scale):
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    w = {"embeddings.word_embeddings.weight": normal(vocabulary, WIDTH, scale=1), "embeddings.position_embeddings.weight": normal(POSITIONS, WIDTH, scale=0.5),
         "embeddings.token_type_embeddings.weight": normal(2, WIDTH, scale=0.5)}
    norms = ["embeddings.LayerNorm"]
    for i in range(LAYERS):
        p = f"encoder.layer.{i}."
        norms += [p + "attention.output.LayerNorm", p + "output.LayerNorm"]
        for name, out, into in (("attention.self.query", WIDTH, WIDTH), ("attention.self.key", WIDTH, WIDTH), ("attention.self.value", WIDTH, WIDTH),
                                ("attention.output.dense", WIDTH, WIDTH), ("intermediate.dense", INNER, WIDTH), ("output.dense", WIDTH, INNER)):
            w[f"{p}{name}.weight"] = normal(out, into, scale=2 / math.sqrt(into))
            w[f"{p}{name}.bias"] = normal(out, scale=0.2)
    for name in norms:
        w[name + ".weight"] = 1 + normal(WIDTH, scale=0.2)
        w[name + ".bias"] = normal(WIDTH, scale=0.2)
    return w


def write(directory, vocabulary):
    """Writes config.json, vocab.txt and model.safetensors; gives the weights."""
    config = {"model_type": "bert", "hidden_act": "gelu", "hidden_size": WIDTH, "layer_norm_eps": EPS, "max_position_embeddings": POSITIONS,
              "num_attention_heads": HEADS, "num_hidden_layers": LAYERS}
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)
    with open(os.path.join(directory, "vocab.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(vocabulary) + "\n")
    w, header, data = weights(len(vocabulary)), {}, b""
    for name, a in w.items():
        header[name] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(directory, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
    return {name: a.astype(np.float64) for name, a in w.items()}


def vector(w, ids):
    def linear(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * w[name + ".weight"] + w[name + ".bias"]

    n = len(ids)
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:n] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, "embeddings.LayerNorm")
    for i in range(LAYERS):
        p = f"encoder.layer.{i}."
        q, k, v = (linear(x, f"{p}attention.self.{name}").reshape(n, HEADS, -1).swapaxes(0, 1) for name in ("query", "key", "value"))
        scores = q @ k.swapaxes(1, 2) / math.sqrt(WIDTH // HEADS)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        y = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(n, WIDTH)
        x = norm(x + linear(y, p + "attention.output.dense"), p + "attention.output.LayerNorm")
        y = linear(x, p + "intermediate.dense")
        y = y * (1 + np.vectorize(math.erf)(y / math.sqrt(2))) / 2
        x = norm(x + linear(y, p + "output.dense"), p + "output.LayerNorm")
    x = x.mean(0)
    return (x / np.linalg.norm(x)).tolist()


def make(directory, tokens_json):
    """Writes the model and gives the cases: [{"sentence", "vector"}]."""
    with open(tokens_json, encoding="utf-8") as f:
        table = json.load(f)
    vocabulary = table["vocabulary"]
    w = write(directory, vocabulary)
    cases = []
    for text, pieces in table["cases"]:
        ids = [vocabulary.index(p) for p in ["[CLS]", *pieces.split(), "[SEP]"]]
        cases.append({"sentence": text, "vector": vector(w, ids)})
    # Cut off at 256 tokens.
    ids = [vocabulary.index("hello")] * 254
    cases.append({"sentence": "hello " * 1000, "vector": vector(w, [vocabulary.index("[CLS]"), *ids, vocabulary.index("[SEP]")])})
    return cases
