#!/bin/sh
# `pip install .` in bindings/python: builds the wheel in an environment of its own, installs it into another one, and runs the package's tests with it.
#   wheel.sh PYTHON [TEST.py ...]
# Exit status 77, with the reason, where pip cannot get what a build needs.
set -eu
python=$1
shift
top=$(cd "$(dirname "$0")/../../.." && pwd)
tests=$top/bindings/python/tests
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
"$python" -m venv "$root/venv" 2>"$root/log" || { echo "SKIP: no venv: $(tail -1 "$root/log")"; exit 77; }
pip="$root/venv/bin/python -m pip --disable-pip-version-check"
# shellcheck disable=SC2086
$pip download -q --no-deps -d "$root/need" "meson-python>=0.15" 2>"$root/log" || { echo "SKIP: meson-python cannot be had: $(tail -1 "$root/log")"; exit 77; }
if command -v ccache >/dev/null; then
  case ${CC:-} in ccache*) ;; *) export CC="ccache ${CC:-cc}" ;; esac
  case ${CXX:-} in ccache*) ;; *) export CXX="ccache ${CXX:-c++}" ;; esac
fi
# shellcheck disable=SC2086
$pip install -q "$top/bindings/python" >"$root/log" 2>&1 || { tail -40 "$root/log"; echo "pip install failed"; exit 1; }
cd "$root"
unset PYTHONPATH
"$root/venv/bin/python" - "$root/venv" <<'END'
import sys, trt
assert trt.__file__.startswith(sys.argv[1]), trt.__file__
assert (trt.ones(2, 3) @ trt.ones(3, 2)).tolist() == [[3, 3], [3, 3]]
print(trt.build_info().splitlines()[0])
END
for test in "$@"; do
  "$root/venv/bin/python" "$tests/$test" >"$root/log" 2>&1 || { cat "$root/log"; echo "$test fails with the wheel"; exit 1; }
  echo "$test: $(tail -1 "$root/log")"
done
