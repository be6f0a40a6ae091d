#!/usr/bin/env python3
"""Gives sentences as vectors: the encoder all-MiniLM-L6-v2 (examples/embedding/README.md) through the Python package trt.

  embed.py --model DIR "How do I reset my password?" "I cannot log in"
  embed.py --model DIR < sentences.txt

Sentences are the arguments or, without any, the lines of the standard input. For each one a line with its vector is written, a list in JSON, as soon as the
batch is computed that it is in. Errors are reported on stderr with exit status 1.
"""

import argparse
import itertools
import json
import math
import os
import sys

import trt
from trt.nn import functional as F

EMBEDDING = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "embedding")


class Failure(Exception):
    """What went wrong, for the user."""


class Characters:
    """What becomes of each code point; characters.txt says just what the model's own tokenizer does."""

    def __init__(self, path=os.path.join(EMBEDDING, "characters.txt")):
        self.kinds, self.mapped, self.large = {}, {}, []
        with open(path, encoding="ascii") as file:
            for line in file:
                name, *words = line.split()
                for word in words if name[0] != "#" else ():
                    if name == "mapped":
                        c, to = word.split("=")
                        self.mapped[chr(int(c, 16))] = "".join(chr(int(x, 16)) for x in to.split("+"))
                    else:
                        first, last = (int(x, 16) for x in (word.split("-") * 2)[:2])
                        self._fill(name, first, last)
        self._fill("dropped", 0xD800, 0xDFFF)  # halves of pairs, and what was no UTF-8

    def _fill(self, kind, first, last):
        if last - first < 10000:
            self.kinds.update((chr(c), kind) for c in range(first, last + 1))
        else:
            self.large.append((chr(first), chr(last), kind))

    def kind(self, c):
        if c in self.kinds or c < "\u3400":  # before the first large range
            return self.kinds.get(c)
        return next((kind for first, last, kind in self.large if first <= c <= last), None)

    def normalized(self, c):
        if "\uac00" <= c <= "\ud7a3":  # a syllable of Hangul: its two or three parts
            n = ord(c) - 0xAC00
            return chr(0x1100 + n // 588) + chr(0x1161 + n // 28 % 21) + (chr(0x11A7 + n % 28) if n % 28 else "")
        return self.mapped.get(c, c)


class Tokenizer:
    """BERT's uncased one: words are taken apart into the longest pieces of the vocabulary."""

    SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    MAX_WORD = 100  # characters beyond which a word is unknown

    def __init__(self, vocabulary, max_tokens):
        """vocabulary: its pieces in order. Texts are cut off at max_tokens, [CLS] and [SEP] included."""
        if max_tokens < 2:
            raise Failure(f"at least 2 tokens are needed, got {max_tokens}")
        self.pieces = {piece: number for number, piece in enumerate(vocabulary)}
        self.longest = max(map(len, self.pieces), default=0)
        self.max_tokens, self.characters = max_tokens, Characters()
        missing = [s for s in self.SPECIAL if s not in self.pieces]
        if missing:
            raise Failure(f"the vocabulary has no {missing[0]}")
        self.unk, self.cls, self.sep = (self.pieces[s] for s in self.SPECIAL[1:4])

    def encode(self, text):
        """The numbers of the tokens, at least two and at most max_tokens."""
        return [self.cls, *itertools.islice(self._tokens(text), self.max_tokens - 2), self.sep]

    def _tokens(self, text):
        begin = at = 0
        while (at := text.find("[", at)) >= 0:
            named = next((s for s in self.SPECIAL if text.startswith(s, at)), None)
            if named is None:
                at += 1
                continue
            yield from self._words(text[begin:at])
            yield self.pieces[named]
            begin = at = at + len(named)
        yield from self._words(text[begin:])

    def _words(self, text):
        word, kind = [], self.characters.kind
        for c in text:
            of = kind(c)
            if of == "dropped":
                continue
            apart = of in ("spaces", "ideographs")
            if apart:
                yield from self._pieces(word)
            for n in self.characters.normalized(c) if of != "spaces" else ():
                if kind(n) == "punctuation":
                    yield from self._pieces(word)
                    yield from self._pieces([n])
                else:
                    word.append(n)
            if apart:
                yield from self._pieces(word)
        yield from self._pieces(word)

    def _pieces(self, word):
        """The tokens of the word, which is then empty."""
        text, ids, begin = "".join(word), [], 0
        word.clear()
        if len(text) > self.MAX_WORD:
            return [self.unk]
        while begin < len(text):
            prefix = "##" if begin else ""
            for end in range(min(len(text), begin + self.longest), begin, -1):
                found = self.pieces.get(prefix + text[begin:end])
                # A piece "##" is a mark, not the inside of a word; one that begins with ## stands inside only.
                if found is not None and (begin or end - begin < 3 or not text.startswith("##")):
                    ids.append(found)
                    begin = end
                    break
            else:
                return [self.unk]
        return ids


class Encoder:
    """BERT's encoder (Devlin et al., 2019) with the mean over the tokens as a text's vector, scaled to length 1."""

    def __init__(self, directory):
        path = os.path.join(directory, "config.json")
        with open(path, encoding="utf-8") as file:
            c = json.load(file)
        if (c.get("model_type"), c.get("hidden_act"), c.get("position_embedding_type", "absolute")) != ("bert", "gelu", "absolute"):
            raise Failure(f"{path}: a BERT encoder with gelu and absolute positions is needed")
        self.heads, self.layers, self.eps = c["num_attention_heads"], c["num_hidden_layers"], c["layer_norm_eps"]
        self.max_tokens = c["max_position_embeddings"]
        self.weights = trt.safetensors.load_file(os.path.join(directory, "model.safetensors"))
        self.width = c["hidden_size"]

    def _linear(self, x, name):
        return F.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def _norm(self, x, name):
        return F.layer_norm(x, [self.width], self.weights[name + ".weight"], self.weights[name + ".bias"], self.eps)

    def _layer(self, x, prefix, lengths):
        q, k, v = (self._linear(x, f"{prefix}attention.self.{name}") for name in ("query", "key", "value"))
        outputs, at = [], 0
        for n in lengths:  # all but the attention goes through all texts' tokens at once
            qs, ks, vs = (t.narrow(0, at, n).reshape(n, self.heads, -1).transpose(0, 1) for t in (q, k, v))
            weights = (qs @ ks.transpose(1, 2) / math.sqrt(self.width // self.heads)).softmax(-1)
            outputs.append((weights @ vs).transpose(0, 1).reshape(n, self.width))
            at += n
        x = self._norm(self._linear(trt.cat(outputs), prefix + "attention.output.dense") + x, prefix + "attention.output.LayerNorm")
        inner = F.gelu(self._linear(x, prefix + "intermediate.dense"))
        return self._norm(self._linear(inner, prefix + "output.dense") + x, prefix + "output.LayerNorm")

    @trt.inference_mode()
    def encode(self, texts):
        """The vectors of texts, each given as its tokens' numbers: a tensor [texts, width]."""
        w = self.weights
        ids = trt.tensor([i for text in texts for i in text])
        places = trt.tensor([p for text in texts for p in range(len(text))])
        x = F.embedding(ids, w["embeddings.word_embeddings.weight"]) + F.embedding(places, w["embeddings.position_embeddings.weight"])
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        lengths = [len(text) for text in texts]
        for i in range(self.layers):
            x = self._layer(x, f"encoder.layer.{i}.", lengths)
        means, at = [], 0
        for n in lengths:
            means.append(x.narrow(0, at, n).mean(0))
            at += n
        return F.normalize(trt.stack(means))


def parse(arguments):
    def positive(text):
        value = int(text)
        if value < 1:
            raise argparse.ArgumentTypeError(f"a positive number is needed, got {text}")
        return value

    p = argparse.ArgumentParser(prog="embed", description="Gives sentences as vectors, a line of JSON for each.")
    p.error = lambda message: p.exit(2, f"embed: {message}; see --help\n")
    p.add_argument("sentences", nargs="*", metavar="SENTENCE", help="without any: the lines of the standard input")
    p.add_argument("--model", default=os.path.join(EMBEDDING, "model"), help="directory with config.json, model.safetensors and vocab.txt")
    p.add_argument("--threads", type=positive, help="threads of the library (its own choice)")
    p.add_argument("--max-tokens", type=positive, default=256, help="tokens at which a text is cut off (256)")
    p.add_argument("--batch-tokens", type=positive, default=1024, help="tokens in a batch of more than one text (1024)")
    return p.parse_args(arguments)


def batches(texts, batch_tokens):
    batch, tokens = [], 0
    for ids in texts:
        if batch and tokens + len(ids) > batch_tokens:
            yield batch
            batch, tokens = [], 0
        batch.append(ids)
        tokens += len(ids)
    if batch:
        yield batch


def run(args):
    if args.threads:
        trt.set_num_threads(args.threads)
    with open(os.path.join(args.model, "vocab.txt"), encoding="utf-8", newline="\n") as file:
        tokenizer = Tokenizer(file.read().removesuffix("\n").split("\n"), args.max_tokens)
    encoder = Encoder(args.model)
    if args.max_tokens > encoder.max_tokens:
        raise Failure(f"the model takes {encoder.max_tokens} tokens, --max-tokens says {args.max_tokens}")
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    sentences = args.sentences or (line.rstrip("\r\n") for line in sys.stdin)
    for batch in batches(map(tokenizer.encode, sentences), args.batch_tokens):
        for vector in encoder.encode(batch).tolist():
            # Nine digits tell each float32 from its neighbours.
            print(json.dumps([float(f"{x:.9g}") for x in vector]))
        sys.stdout.flush()


def main():
    try:
        run(parse(sys.argv[1:]))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.exit(130)
    except (Failure, trt.Error, OSError, ValueError, KeyError) as e:
        sys.exit(f"embed: {e}")


if __name__ == "__main__":
    main()
