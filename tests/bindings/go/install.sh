#!/bin/sh
# Installs a build directory into a temporary root and builds the program of the README against the installed Go package, as a reader would, offline.
#   install.sh BUILD_DIRECTORY
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")/../../.." && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
DESTDIR="$root/image" meson install -C "$build" --no-rebuild --quiet >/dev/null
package=$(dirname "$(find "$root/image" -path '*/share/tensorrt/go/go.mod')")
pc=$(find "$root/image" -name tensorrt.pc)
mkdir "$root/program"
cd "$root/program"
sed -n '/^```go$/,/^```$/{/^```/d;p}' "$here/README.md" >main.go
cat >go.mod <<END
module program

go 1.19

require tensorrt v0.0.0

replace tensorrt => $package
END
export PKG_CONFIG_PATH="$(dirname "$pc")" PKG_CONFIG_SYSROOT_DIR="$root/image" GOCACHE="$build/bindings/go/cache" GOFLAGS=-mod=mod GOPROXY=off GOWORK=off CGO_ENABLED=1
unset CC CXX
go build -buildvcs=false -o program .
said=$(LD_LIBRARY_PATH="$(dirname "$(find "$root/image" -name libtensorrt.so)")" ./program)
grep -qF "\`$said\`" "$here/README.md" || { echo "the README's Go program prints '$said', which is not what the README says"; exit 1; }
echo "a Go program outside the tree builds and runs"
