#!/bin/sh
# The comments of the public headers build without a warning.
set -eu
cd "$(dirname "$0")/../.."
command -v doxygen >/dev/null || { echo "doxygen is not installed"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
{ cat tests/checks/Doxyfile; echo "OUTPUT_DIRECTORY = $out"; } | doxygen - >"$out/log" 2>&1 || { cat "$out/log"; exit 1; }
if grep -qi -e warning -e error "$out/log"; then
  head -50 "$out/log"
  exit 1
fi
test -s "$out/html/index.html"
echo "documentation builds without warnings"
