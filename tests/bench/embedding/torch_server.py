#!/usr/bin/env python3
"""The embedding service of examples/embedding with PyTorch, for comparison: torch_server.py MODEL_DIRECTORY [--port N] [--threads N] [--buckets]

What one would write with PyTorch and little else: a thread for each connection, which tokenizes (tokenizers, in Rust), and one that computes all
requests that wait as one padded batch, in inference mode, with scaled_dot_product_attention and a mask. Queries, keys and values come of one product.
With --buckets the texts that wait are sorted by length and computed in batches that are at most half as long again as their shortest text.
"""

import argparse
import http.server
import json
import queue
import struct
import sys
import threading

import numpy
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

MAX_TOKENS, HEADS, LAYERS = 256, 12, 6


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


class Encoder:
    def __init__(self, path):
        p = self.p = load(path)
        for i in range(LAYERS):
            base = f"encoder.layer.{i}.attention.self."
            for part in ("weight", "bias"):
                p[f"{base}qkv.{part}"] = torch.cat([p[f"{base}{n}.{part}"] for n in ("query", "key", "value")])

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.p[name + ".weight"], self.p[name + ".bias"], 1e-12)

    def linear(self, x, name):
        return F.linear(x, self.p[name + ".weight"], self.p[name + ".bias"])

    @torch.inference_mode()
    def __call__(self, texts):
        p, rows, tokens = self.p, len(texts), max(map(len, texts))
        ids = torch.zeros(rows, tokens, dtype=torch.long)
        mask = torch.zeros(rows, tokens, dtype=torch.bool)
        for i, t in enumerate(texts):
            ids[i, :len(t)] = torch.tensor(t)
            mask[i, :len(t)] = True
        x = F.embedding(ids, p["embeddings.word_embeddings.weight"])
        x = x + p["embeddings.token_type_embeddings.weight"][0] + p["embeddings.position_embeddings.weight"][:tokens]
        x = self.norm(x, "embeddings.LayerNorm")
        attended = None if all(len(t) == tokens for t in texts) else mask[:, None, None, :]
        for i in range(LAYERS):
            layer = f"encoder.layer.{i}."
            q, k, v = self.linear(x, layer + "attention.self.qkv").view(rows, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=attended).transpose(1, 2).reshape(rows, tokens, -1)
            x = self.norm(self.linear(context, layer + "attention.output.dense") + x, layer + "attention.output.LayerNorm")
            x = self.norm(self.linear(F.gelu(self.linear(x, layer + "intermediate.dense")), layer + "output.dense") + x, layer + "output.LayerNorm")
        weights = mask[:, :, None].float()
        return F.normalize((x * weights).sum(1) / weights.sum(1), dim=1).tolist()


class Batcher(threading.Thread):
    def __init__(self, encoder, limit, buckets):
        super().__init__(daemon=True)
        self.encoder, self.limit, self.buckets, self.waiting = encoder, limit, buckets, queue.SimpleQueue()

    def embed(self, texts):
        items = [(t, queue.SimpleQueue()) for t in texts]
        for item in items:
            self.waiting.put(item)
        return [answer.get() for _, answer in items]

    def run(self):
        while True:
            batch = [self.waiting.get()]
            while len(batch) < self.limit:
                try:
                    batch.append(self.waiting.get_nowait())
                except queue.Empty:
                    break
            for part in self.parts(batch):
                for (_, answer), vector in zip(part, self.encoder([t for t, _ in part])):
                    answer.put(vector)

    def parts(self, batch):
        if not self.buckets:
            return [batch]
        parts = []
        for item in sorted(batch, key=lambda item: len(item[0])):
            if not parts or len(item[0]) > 1.5 * len(parts[-1][0][0]):
                parts.append([])
            parts[-1].append(item)
        return parts


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one packet

    def do_POST(self):
        inputs = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]
        ids = [e.ids for e in self.server.tokenizer.encode_batch(inputs)] if len(inputs) > 1 else [self.server.tokenizer.encode(t).ids for t in inputs]
        body = json.dumps({"embeddings": self.server.batcher.embed(ids)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--buckets", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    server = Server(("127.0.0.1", args.port), Handler)
    server.tokenizer = Tokenizer.from_file(args.model + "/tokenizer.json")
    server.tokenizer.no_padding()
    server.tokenizer.enable_truncation(MAX_TOKENS)
    server.batcher = Batcher(Encoder(args.model + "/model.safetensors"), args.batch, args.buckets)
    server.batcher.start()
    print(f"listening on 127.0.0.1:{server.server_address[1]}", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
