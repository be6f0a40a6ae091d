#!/usr/bin/env python3
"""Trains a small convolutional network on Fashion-MNIST (60,000 images of clothes, 28 x 28 grey pixels, 10 classes) through the Python package trt,
evaluates it on the 10,000 test images, saves a checkpoint after every epoch, resumes from one, and predicts. The losses are those of
examples/c/fashion_mnist.c, digit for digit, and each program reads the other's checkpoints.

Errors are reported on stderr with exit status 1. A checkpoint is replaced only when the new one is completely on the disk.
"""

import argparse
import math
import os
import sys
import time

import trt
from trt import nn
from trt.nn import functional as F

CLASSES = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]
SIDE, EVAL_BATCH = 28, 500
FORMAT = "libtensorrt fashion_mnist 1"


class Failure(Exception):
    """What went wrong, for the user."""


def parse(arguments):
    def integer(low, high):
        def convert(text):
            value = int(text)
            if not low <= value <= high:
                raise argparse.ArgumentTypeError(f"an integer from {low} to {high} is needed, got {text}")
            return value
        return convert

    def positive(text):
        value = float(text)
        if not (value > 0 and math.isfinite(value)):
            raise argparse.ArgumentTypeError(f"a positive number is needed, got {text}")
        return value

    p = argparse.ArgumentParser(prog="fashion_mnist", description="Trains a small convolutional network on Fashion-MNIST.")
    p.error = lambda message: p.exit(2, f"fashion_mnist: {message}; see --help\n")
    p.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="folder with the four gzipped IDX files (default: Debian's package dataset-fashion-mnist)")
    p.add_argument("--epochs", type=integer(0, 1000), default=5, help="passes over the training images that the schedule spans (5)")
    p.add_argument("--batch-size", type=integer(2, 60000), default=128)
    p.add_argument("--lr", type=positive, default=5e-3)
    p.add_argument("--threads", type=integer(1, 1024), help="threads of the library (its own choice)")
    p.add_argument("--workers", type=integer(0, 64), default=0, help="threads that prepare batches (0)")
    p.add_argument("--seed", type=integer(0, 2**31 - 1), default=1)
    p.add_argument("--save", help="write a checkpoint after every epoch")
    p.add_argument("--resume", help="continue from one")
    p.add_argument("--predict", type=integer(0, 9999), help="show test image INDEX and what the network thinks")
    p.add_argument("--stop-after", type=integer(1, 1000), help="end after N epochs of the schedule")
    p.add_argument("--benchmark", type=integer(1, 100000), help="time STEPS training steps and exit")
    return p.parse_args(arguments)


def failing(what, function, *args, **kwargs):
    """The result of a call; an error of the library or the system becomes a Failure that tells what was done."""
    try:
        return function(*args, **kwargs)
    except (trt.Error, OSError) as e:
        raise Failure(f"{what}: {e}") from e


def load_images(directory, part):
    images = f"{directory}/{part}-images-idx3-ubyte.gz"
    dataset = failing("loading the images", trt.data.ImageDataset, images, f"{directory}/{part}-labels-idx1-ubyte.gz", mean=0.2860, std=0.3530)
    image, label = dataset[0]
    if image.shape != (1, SIDE, SIDE) or label.dim() != 0:
        raise Failure(f"{images} does not hold {SIDE} x {SIDE} images with one label each")
    return dataset


def build_network():
    layers = []
    for channels_in, channels_out in ((1, 32), (32, 64)):
        # The normalization behind a convolution has a bias.
        layers += [nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False), nn.BatchNorm2d(channels_out), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.25), nn.Linear(64 * 7 * 7, 128, bias=False), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, len(CLASSES)))


class Run:
    """Network, optimizer, schedule, and how many epochs are done."""

    def __init__(self, options, steps):
        self.options, self.epoch = options, 0
        self.network = build_network()
        self.optimizer = trt.optim.AdamW(self.network.parameters(), lr=options.lr)
        self.scheduler = trt.optim.lr_scheduler.OneCycleLR(self.optimizer, options.lr, total_steps=max(1, steps))

    def step(self, images, labels):
        loss = F.cross_entropy(self.network(images), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss

    def parts(self):
        return {"network": self.network, "optimizer": self.optimizer, "scheduler": self.scheduler}

    def save(self, path):
        state = {f"{part}.{name}": t for part, owner in self.parts().items() for name, t in owner.state_dict().items()}
        generator = trt.default_generator
        metadata = {"format": FORMAT, "epoch": self.epoch, "epochs": self.options.epochs, "batch_size": self.options.batch_size, "seed": self.options.seed,
                    "generator_seed": generator.initial_seed(), "generator_offset": generator.get_offset()}
        failing("saving the checkpoint", trt.safetensors.save_file, state, path, {k: str(v) for k, v in metadata.items()})

    def resume(self, path):
        file = failing("resuming", trt.safetensors.safe_open, path)
        metadata = file.metadata()
        if metadata.get("format") != FORMAT:
            raise Failure(f"{path} is no checkpoint of this program (format '{metadata.get('format', 'none')}', expected '{FORMAT}')")
        # The order of the images and the schedule follow from these: another value would silently continue something else.
        for name in ("epochs", "batch_size", "seed"):
            if metadata.get(name) != str(getattr(self.options, name)):
                raise Failure(f"{path} was trained with {name} {metadata.get(name)}, now it is {getattr(self.options, name)}; give the same value")
        for part, owner in self.parts().items():
            state = {name[len(part) + 1:]: failing("resuming", file.get_tensor, name) for name in file.keys() if name.startswith(part + ".")}
            failing(f"resuming the {part} (is it of another architecture?)", owner.load_state_dict, state)
        self.epoch = int(metadata["epoch"])
        trt.default_generator.manual_seed(int(metadata["generator_seed"])).set_offset(int(metadata["generator_offset"]))
        print(f"resumed {path} after epoch {self.epoch}")

    def train_epoch(self, loader, terminal):
        self.network.train()
        loader.set_epoch(self.epoch)
        total, count, start = 0.0, 0, time.perf_counter()
        for images, labels in loader:
            loss = self.step(images, labels).item()
            if not math.isfinite(loss):
                raise Failure(f"the loss became {loss} in epoch {self.epoch + 1}, step {count}; try a smaller --lr")
            total += loss
            count += 1
            if count % (10 if terminal else 100) == 0:
                rate = count * self.options.batch_size / (time.perf_counter() - start)
                line = f"epoch {self.epoch + 1}/{self.options.epochs}  step {count}/{len(loader)}  loss {total / count:.9g}  {rate:.0f} images/s"
                print(f"\r{line} " if terminal else line, end="" if terminal else "\n", flush=True)
        return total / max(1, count)

    @trt.inference_mode()
    def accuracy(self, loader):
        self.network.eval()
        right = count = 0
        for images, labels in loader:
            right += int((self.network(images).argmax(1) == labels).sum())
            count += labels.numel()
        return 100 * right / count

    @trt.inference_mode()
    def predict(self, dataset, index):
        if index >= len(dataset):
            raise Failure(f"there are only {len(dataset)} test images")
        image, label = dataset[index]
        print(f"\ntest image {index}:")
        for row in image[0].view(SIDE // 2, 2, SIDE).mean(1).mul(0.3530).add(0.2860).tolist():
            print("".join(" .:-=+*#%@"[max(0, min(9, int(grey * 9.99)))] for grey in row))
        self.network.eval()
        probabilities = self.network(image.unsqueeze(0)).softmax(1)[0]
        for name, p in zip(CLASSES, probabilities.tolist()):
            if p >= 0.01:
                print(f"  {100 * p:5.1f} %  {name}")
        print(f"prediction: {CLASSES[int(probabilities.argmax())]} (it is: {CLASSES[int(label)]})")


def benchmark(run, loader):
    """Times training steps alone."""
    warmup, done, start = 20, 0, 0.0
    run.network.train()
    while done < warmup + run.options.benchmark:
        for images, labels in loader:
            if done == warmup:
                start = time.perf_counter()
            run.step(images, labels)
            done += 1
            if done == warmup + run.options.benchmark:
                break
    print(f"rate {run.options.benchmark * run.options.batch_size / (time.perf_counter() - start):.1f}")


def main(arguments=None):
    o = parse(arguments)
    terminal = sys.stdout.isatty()
    if o.threads:
        trt.set_num_threads(o.threads)
    trt.manual_seed(o.seed)
    if o.save and not os.access(os.path.dirname(o.save) or ".", os.W_OK):
        raise Failure(f"saving the checkpoint: cannot write into {os.path.dirname(o.save)}")
    train, test = load_images(o.data, "train"), load_images(o.data, "t10k")
    train_loader = trt.data.DataLoader(train, o.batch_size, shuffle=True, drop_last=True, num_workers=o.workers, seed=o.seed)
    test_loader = trt.data.DataLoader(test, EVAL_BATCH, num_workers=o.workers, seed=o.seed)
    run = Run(o, 1000000 if o.benchmark else len(train_loader) * o.epochs)
    if not o.benchmark:
        print(run.network)
        print(f"{sum(p.numel() for p in run.network.parameters())} parameters, {len(train)} training images, {len(test)} test images, {trt.get_num_threads()} threads")
    if o.resume:
        run.resume(o.resume)
    if o.benchmark:
        return benchmark(run, train_loader)
    last = min(o.stop_after or o.epochs, o.epochs)
    start = time.perf_counter()
    if run.epoch >= last:
        print(f"test accuracy {run.accuracy(test_loader):.2f} %")
    while run.epoch < last:
        begin = time.perf_counter()
        loss = run.train_epoch(train_loader, terminal)
        rate = len(train_loader) * o.batch_size / (time.perf_counter() - begin)
        accuracy = run.accuracy(test_loader)
        run.epoch += 1
        print(f"{chr(13) if terminal else ''}epoch {run.epoch}/{o.epochs}  loss {loss:.9g}  test accuracy {accuracy:.2f} %  {rate:.0f} images/s", flush=True)
        if o.save:
            run.save(o.save)
            print(f"saved {o.save}")
    print(f"done in {time.perf_counter() - start:.1f} s")
    if o.predict is not None:
        run.predict(test, o.predict)


if __name__ == "__main__":
    try:
        main()
    except Failure as e:
        sys.stdout.flush()
        print(f"fashion_mnist: {e}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        os._exit(1)
