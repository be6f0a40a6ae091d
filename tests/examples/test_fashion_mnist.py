#!/usr/bin/env python3
"""The example as a user runs it: test_fashion_mnist.py PROGRAM [--real DIR | --same-as OTHER].

Without --real on a small data set made here (blobs of ten kinds): equal losses for 1 and 2 threads and with loader workers, resuming, prediction, and
every failure that must end in a clear message: wrong, truncated or missing data files, a full disk, a checkpoint of another architecture or with other
settings. With --same-as: the losses are, digit for digit, those of the program OTHER, and each reads the other's checkpoint. With --real on Fashion-MNIST: at least 91.0 % after 5 epochs. Prints a line for each check, then `N passed, M failed, K skipped`.
"""

import argparse
import gzip
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

passed, failed, skipped = [], [], []


def report(name, ok, detail=""):
    (passed if ok else failed).append(name)
    print(("ok    " if ok else "FAIL  ") + name + (f": {detail}" if detail and not ok else ""), flush=True)


def write_idx(path, shape, data, cut=None, level=1):
    raw = bytes([0, 0, 8, len(shape)]) + b"".join(struct.pack(">I", s) for s in shape) + bytes(data)
    packed = gzip.compress(raw, level)
    with open(path, "wb") as f:
        f.write(packed[:cut] if cut else packed)


def make_data(directory, train=600, test=500):
    rng = random.Random(7)
    for part, n in (("train", train), ("t10k", test)):
        pixels, labels = bytearray(), bytearray()
        for _ in range(n):
            kind = rng.randrange(10)
            image = bytearray(rng.randrange(60) for _ in range(784))
            row, col = 2 + 5 * (kind // 2), 4 + 12 * (kind % 2)
            for y in range(row, row + 5):
                for x in range(col, col + 9):
                    image[28 * y + x] = 200 + rng.randrange(56)
            pixels += image
            labels.append(kind)
        write_idx(f"{directory}/{part}-images-idx3-ubyte.gz", (n, 28, 28), pixels)
        write_idx(f"{directory}/{part}-labels-idx1-ubyte.gz", (n,), labels)


def run(program, *args):
    r = subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=900)
    return r.returncode, r.stdout, r.stderr


def losses(text):
    return re.findall(r"^epoch (\d+)/\d+  loss (\S+)  test accuracy (\S+)", text, re.M)


def small_checks(program, tmp):
    data = f"{tmp}/data"
    os.mkdir(data)
    make_data(data)
    base = ["--data", data, "--batch-size", 50, "--epochs", 3, "--lr", 0.01]
    code, one, err = run(program, *base, "--threads", 1)
    report("trains", code == 0 and len(losses(one)) == 3, err)
    report("learns", bool(losses(one)) and float(losses(one)[-1][2]) > 90, str(losses(one)))
    report("same losses with 2 threads", losses(run(program, *base, "--threads", 2)[1]) == losses(one) != [])
    report("same losses run twice", losses(run(program, *base, "--threads", 2)[1]) == losses(one) != [])
    report("same losses with 2 workers", losses(run(program, *base, "--workers", 2)[1]) == losses(one) != [])
    report("other losses with another seed", losses(run(program, *base, "--seed", 2)[1]) != losses(one))

    checkpoint = f"{tmp}/net.safetensors"
    code, first, err = run(program, *base, "--save", checkpoint, "--stop-after", 1)
    report("saves", code == 0 and os.path.exists(checkpoint), err)
    code, rest, err = run(program, *base, "--resume", checkpoint, "--predict", 3)
    report("resumes where it stopped", code == 0 and losses(first) + losses(rest) == losses(one), err or str(losses(rest)))
    report("predicts", "prediction: " in rest)
    with open(checkpoint, "rb") as f:
        content = f.read()
    code, _, err = run(program, *base, "--resume", checkpoint, "--seed", 5)
    report("refuses other settings", code == 1 and "seed" in err, err)
    code, _, err = run(program, *base, "--stop-after", 1, "--save", "/dev/full")
    report("full disk or no file", code == 1 and "saving" in err, err)
    code, out, err = run(program, *base, "--stop-after", 1, "--save", f"{tmp}/no/such/folder/x")
    report("folder missing, told before training", code == 1 and "saving" in err and not losses(out), err)
    full = full_disk(tmp)
    if full:
        target = f"{full}/net.safetensors"
        with open(target, "wb") as f:
            f.write(content[:1000])
        code, _, err = run(program, *base, "--stop-after", 1, "--save", target)
        with open(target, "rb") as f:
            kept = f.read() == content[:1000]
        report("full disk loses nothing", code == 1 and kept and os.listdir(full) == ["net.safetensors"], err + str(os.listdir(full)))
        subprocess.run(["umount", full])
    else:
        skipped.append("full disk")
        print("skip  full disk loses nothing: no file system can be mounted here")

    def broken(name, change, want):
        path = f"{tmp}/broken.safetensors"
        with open(path, "wb") as f:
            f.write(change(content))
        code, _, err = run(program, *base, "--resume", path)
        report(name, code == 1 and want in err and "fashion_mnist:" in err, f"exit {code}: {err}")

    header = struct.unpack("<Q", content[:8])[0]
    text = content[8:8 + header]
    renamed = text.replace(b'"network.0.weight"', b'"network.9.weight"')
    broken("another architecture", lambda c: c[:8] + renamed + c[8 + header:], "0.weight")
    reshaped = text.replace(b"[128,3136]", b"[3136,128]")
    broken("another shape", lambda c: c[:8] + reshaped + c[8 + header:], "10.weight")
    broken("truncated checkpoint", lambda c: c[:-100], "broken.safetensors")
    broken("no checkpoint at all", lambda c: b"\x00" * 64, "broken.safetensors")
    code, _, err = run(program, *base, "--resume", f"{tmp}/nothing")
    report("missing checkpoint", code == 1 and "nothing" in err, err)

    def bad_data(name, damage, want):
        folder = f"{tmp}/{name.replace(' ', '_')}"
        os.mkdir(folder)
        for f in os.listdir(data):
            os.symlink(f"{data}/{f}", f"{folder}/{f}")
        damage(folder)
        code, _, err = run(program, "--data", folder)
        report(name, code == 1 and want in err, f"exit {code}: {err}")

    images = "train-images-idx3-ubyte.gz"

    def replace(folder, **kw):
        os.unlink(f"{folder}/{images}")
        write_idx(f"{folder}/{images}", **kw)

    bad_data("truncated gzip", lambda d: replace(d, shape=(600, 28, 28), data=os.urandom(600 * 784), cut=5000), images)
    bad_data("short data", lambda d: replace(d, shape=(600, 28, 28), data=bytes(599 * 784)), images)
    bad_data("other image size", lambda d: replace(d, shape=(600, 14, 14), data=bytes(600 * 196)), images)
    bad_data("images and labels differ", lambda d: replace(d, shape=(500, 28, 28), data=bytes(500 * 784)), "500")
    bad_data("data missing", lambda d: os.unlink(f"{d}/{images}"), images)
    for args in (["--epochs", "x"], ["--nonsense", "1"], ["--lr", "-1"], ["--save"]):
        code, _, err = run(program, *args)
        report(f"bad option {' '.join(args)}", code == 2 and err.startswith("fashion_mnist:"), err)


def same_checks(program, other, tmp):
    data = f"{tmp}/data"
    os.mkdir(data)
    make_data(data)
    base = ["--data", data, "--batch-size", 50, "--epochs", 3, "--lr", 0.01]
    code, mine, err = run(program, *base)
    report("trains", code == 0 and len(losses(mine)) == 3, err)
    report("same losses as the other program", losses(mine) == losses(run(other, *base)[1]) != [])
    for first, second, name in ((program, other, "the other reads its checkpoint"), (other, program, "it reads the other's checkpoint")):
        checkpoint = f"{tmp}/{name.replace(' ', '_')}"
        run(first, *base, "--save", checkpoint, "--stop-after", 1)
        code, rest, err = run(second, *base, "--resume", checkpoint)
        report(name, code == 0 and losses(rest) == losses(mine)[1:] != [], err)
    code, _, err = run(program, "--data", f"{tmp}/nothing")
    report("missing data", code == 1 and "nothing" in err, err)


def full_disk(tmp):
    """A file system of 64 KiB with nothing on it, or None where none can be mounted."""
    path = f"{tmp}/full"
    os.mkdir(path)
    r = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path], capture_output=True)
    return path if r.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--real", metavar="DIR")
    parser.add_argument("--same-as", metavar="OTHER")
    args = parser.parse_args()
    if args.real:
        if not os.path.isdir(args.real):
            skipped.append("real data")
            print(f"skip  accuracy: {args.real} is not there")
        else:
            code, out, err = run(args.program, "--data", args.real)
            got = losses(out)
            report("accuracy after 5 epochs is at least 91.0 %", code == 0 and len(got) == 5 and float(got[-1][2]) >= 91.0, err or str(got))
            print("      " + "; ".join(f"epoch {e}: loss {l}, {a} %" for e, l, a in got))
    else:
        with tempfile.TemporaryDirectory() as tmp:
            if args.same_as:
                same_checks(args.program, args.same_as, tmp)
            else:
                small_checks(args.program, tmp)
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
