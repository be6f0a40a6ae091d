#!/bin/bash
# Installs what is missing, builds the library and the example, trains a small network on Fashion-MNIST and shows what it learned.
#
#   examples/quickstart.sh [OPTIONS OF fashion_mnist]      --epochs 5 and the like; see build/examples/fashion_mnist --help
#
# For Debian 12, as root when something is missing. The first run compiles the library, which takes a few minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(meson ninja-build gcc g++ pkg-config python3 python3-yaml libhwy-dev libopenblas0-pthread nlohmann-json3-dev zlib1g-dev
          dataset-fashion-mnist)
missing=$(comm -23 <(printf '%s\n' "${packages[@]}" | sort) \
                   <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null | sed -n 's/^installed //p' | sort))
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed() {
  tail -60 "$log"
  echo "$1"
  exit 1
}
if [ -n "$missing" ]; then
  [ "$(id -u)" = 0 ] || failed "these packages are missing, and only root can install them: $(echo $missing)"
  echo "installing $(echo $missing)"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1 || failed "installing failed"
fi
if [ ! -f build/build.ninja ]; then
  # Tests need more packages than the library; tests/run.sh turns them on.
  /usr/bin/python3 /usr/bin/meson setup build -Dtests=false >"$log" 2>&1 || failed "configuring failed"
fi
# Without a pipe: under pipefail a reader that stops early would look like a failure.
todo=$(ninja -C build -n examples/fashion_mnist 2>/dev/null || true)
case $todo in *"no work to do"*) ;; *) echo "building (a few minutes the first time)" ;; esac
. tests/progress.sh
build "$log" -C build ${JOBS:+-j$JOBS} examples/fashion_mnist || failed "building failed"
rm -f "$log"
saved=build/fashion_mnist.safetensors
build/examples/fashion_mnist --save $saved --predict 0 "$@"
echo "to look at other images, in $PWD: build/examples/fashion_mnist --resume $saved --predict INDEX"
