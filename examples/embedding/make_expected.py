#!/usr/bin/env python3
"""Makes expected.json: sentences with the token numbers and the vectors that the sentence encoder all-MiniLM-L6-v2 must give.

Usage: make_expected.py MODEL_DIRECTORY > expected.json

MODEL_DIRECTORY holds model.safetensors and tokenizer.json (get_model.sh fetches them). Needs torch and tokenizers, which no test needs. The vectors are
PyTorch's: BERT's encoder (Devlin et al., 2019) as the model's config.json describes it, the mean over the tokens, scaled to length 1.
"""

import json
import math
import struct
import sys

import numpy
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

MAX_TOKENS = 256  # [CLS] and [SEP] included
HEADS = 12

SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "A fast, dark-coloured fox leaps above a sleepy hound!",
    "How do I reset my password?",
    "I can't log in; please help me recover my account",
    "x",
    "",
    "Crème brûlée à la façon de l'école, naïve coöperation",
    "北京是中国的首都。",
    "Strasse STRASSE straße ΣΊΣΥΦΟΣ",
    "C++ templates: std::vector<int> v{1, 2, 3}; // 42%",
    "tabs\tand\nnew lines\u00a0and zero\u200bwidth \ufffd",
    "e\u0301 \u0130stanbul \u0000 \u0007 bell",
    "Pneumonoultramicroscopicsilicovolcanoconiosis " + "a" * 101,
    "unaffable 😀 emoji 👩‍👩‍👧 and [MASK] [UNK] tokens",
    " ".join(f"word{i} of a long text" for i in range(80)),
]


def load(path):
    with open(path, "rb") as f:
        data = f.read()
    (n,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, d in json.loads(data[8:8 + n]).items():
        if name != "__metadata__" and d["dtype"] == "F32":
            begin, end = d["data_offsets"]
            tensors[name] = torch.from_numpy(numpy.frombuffer(data[8 + n + begin:8 + n + end], dtype="<f4").reshape(d["shape"]).copy())
    return tensors


def encode(p, ids):
    """The vector [384] of one sentence's token numbers."""
    norm = lambda x, name: F.layer_norm(x, (x.shape[-1],), p[name + ".weight"], p[name + ".bias"], 1e-12)
    linear = lambda x, name: F.linear(x, p[name + ".weight"], p[name + ".bias"])
    ids = torch.tensor(ids)
    x = p["embeddings.word_embeddings.weight"][ids] + p["embeddings.token_type_embeddings.weight"][0] + p["embeddings.position_embeddings.weight"][:len(ids)]
    x = norm(x, "embeddings.LayerNorm")
    for i in range(6):
        layer = f"encoder.layer.{i}."
        q, k, v = (linear(x, layer + f"attention.self.{n}").view(len(ids), HEADS, -1).transpose(0, 1) for n in ("query", "key", "value"))
        weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]), -1)
        context = (weights @ v).transpose(0, 1).reshape(len(ids), -1)
        x = norm(linear(context, layer + "attention.output.dense") + x, layer + "attention.output.LayerNorm")
        x = norm(linear(F.gelu(linear(x, layer + "intermediate.dense")), layer + "output.dense") + x, layer + "output.LayerNorm")
    return F.normalize(x.mean(0), dim=0)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    p = load(sys.argv[1] + "/model.safetensors")
    tokenizer = Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    cases = []
    with torch.inference_mode():
        for sentence in SENTENCES:
            ids = tokenizer.encode(sentence).ids
            cases.append({"sentence": sentence, "ids": ids, "vector": [round(v, 7) for v in encode(p, ids).tolist()]})
    print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")


if __name__ == "__main__":
    main()
