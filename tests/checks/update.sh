#!/bin/sh
# Writes the committed descriptions of the interface anew after it grew: the headers of the operators, symbols.txt, libtensorrt.abi. Run it after
# a build. With --drop also symbols that went away may leave the lists, which a release forbids.
#   update.sh [BUILD_DIRECTORY] [--drop]
set -eu
cd "$(dirname "$0")/../.."
build=build drop=
for a in "$@"; do
  case $a in --drop) drop=--drop ;; *) build=$a ;; esac
done
/usr/bin/python3 src/ops/generate.py --headers include/tensorrt
python3 tests/checks/symbols.py "$build/src/libtensorrt.so" --update $drop
python3 tests/checks/abi.py --update
