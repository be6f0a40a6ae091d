#!/bin/sh
# Installs a build directory into a temporary root and builds a program outside of the tree with pkg-config alone.
#   install.sh BUILD_DIRECTORY
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR="$root/image" meson install -C "$build" --no-rebuild --quiet >/dev/null
pc=$(find "$root/image" -name tensorrt.pc)
test -n "$pc" || { echo "tensorrt.pc is not installed"; exit 1; }
# The program in the README, as a reader would paste it.
sed -n '/^```c$/,/^```$/{/^```/d;p}' "$here/../../README.md" >"$root/outside.c"
cd "$root"
export PKG_CONFIG_PATH="$(dirname "$pc")" PKG_CONFIG_SYSROOT_DIR="$root/image"
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Wextra -Werror -pedantic outside.c -o outside $(pkg-config --cflags --libs tensorrt)
libdir=$(dirname "$(find "$root/image" -name libtensorrt.so)")
said=$(LD_LIBRARY_PATH="$libdir" ./outside)
grep -qF "\`$said\`" "$here/../../README.md" || { echo "the README's program prints '$said', which is not what the README says"; exit 1; }
if find "$root/image" -name tensorrt.hpp | grep -q .; then
  sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$here/../../README.md" >outside.cpp
  # shellcheck disable=SC2046
  ${CXX:-c++} -std=c++17 -Wall -Wextra -Werror outside.cpp -o outside_cpp $(pkg-config --cflags --libs tensorrt)
  LD_LIBRARY_PATH="$libdir" ./outside_cpp | grep -qx learned || { echo "the README's C++ program did not learn"; exit 1; }
fi
# Every public header of the tree must be there.
for h in "$here"/../../include/tensorrt/*; do
  find "$root/image" -name "$(basename "$h")" | grep -q . || { echo "$(basename "$h") is not installed"; exit 1; }
done
echo "a program outside the tree builds and runs"
