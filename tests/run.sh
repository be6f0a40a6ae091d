#!/bin/bash
# Installs what is missing, builds, and runs every test. The last line is "N passed, M failed, K skipped"; the exit status is 1 when M > 0.
#
#   tests/run.sh            everything in build/, warnings as errors
#   tests/run.sh --quick    only tests that need less than a few seconds
#   tests/run.sh --asan     the tests of code in build-asan/, with AddressSanitizer and UndefinedBehaviorSanitizer
#   tests/run.sh --tsan     the tests that start threads in build-tsan/, with ThreadSanitizer
#
# For Debian 12 (as root when something is missing). JOBS sets the number of compilations and tests at a time.
set -uo pipefail
cd "$(dirname "$0")/.."

packages=(meson ninja-build gcc g++ binutils pkg-config python3 python3-yaml python3-numpy libhwy-dev libopenblas0-pthread nlohmann-json3-dev
          zlib1g-dev libcmocka-dev dataset-fashion-mnist abigail-tools doxygen valgrind)
# What only the bindings need. A binding whose packages cannot be had is left out, and this program says so.
bindings=(swig golang-go python3-dev default-jdk-headless junit5 libgoogle-gson-java)
mode=full
for option in "$@"; do
  case $option in
    --quick) mode=quick ;;
    --asan) mode=asan ;;
    --tsan) mode=tsan ;;
    *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 2 ;;
  esac
done
jobs=${JOBS:-$(nproc)}
log=$(mktemp)
trap 'rm -f "$log" "$log.errors"' EXIT

die() {
  echo "$1"
  [ -n "${2:-}" ] && tail -60 "$2"
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

# What dpkg-query does not know, or knows as not installed.
missing() {
  comm -23 <(printf '%s\n' "$@" | sort) \
           <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | sort)
}
install() {
  echo "installing $*"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; } >"$log" 2>&1
}
needed=$(missing "${packages[@]}")
if [ -n "$needed" ]; then
  [ "$(id -u)" = 0 ] || die "these packages are missing, and only root can install them: $(echo $needed)"
  # shellcheck disable=SC2086
  install $needed || die "installing failed" "$log"
fi
for package in $(missing "${bindings[@]}"); do
  if [ "$(id -u)" != 0 ] || ! install "$package"; then
    echo "skipped: tests of the bindings that need $package, which is missing"
  fi
done

# Debian's Meson runs with Debian's Python, whatever python3 is on PATH; so do the tests that are Python programs.
meson() { /usr/bin/python3 /usr/bin/meson "$@"; }

options=(-Dwerror=true -Dtests=true)
selection=()
case $mode in
  full) build=build ;;
  quick)
    build=build
    selection=(--no-suite slow --no-suite bench) ;;
  asan)
    build=build-asan
    # -O1: less makes the vector code too slow to run, more (the kernels ask for it) too slow to compile. -g1: reports have lines.
    options+=(-Db_sanitize=address,undefined -Doptimization=1 -Ddebug=true -Dexamples=false -Db_lundef=false)
    # Without the precompiled header, so that a source that lacks an #include is found.
    options+=(-Db_pch=false)
    # The C++ side reads enumerations that a C host may fill with any number, on purpose.
    options+=("-Dcpp_args=-O1 -g1 -fno-sanitize=enum -fno-sanitize-recover=undefined -Wno-maybe-uninitialized")
    export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:allocator_may_return_null=1}
    export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1} ;;
  tsan)
    build=build-tsan
    options+=(-Db_sanitize=thread -Doptimization=1 -Ddebug=true -Dexamples=false -Db_lundef=false "-Dcpp_args=-O1 -g1 -Wno-maybe-uninitialized")
    options+=(-Db_pch=false)
    selection=(--suite threads)
    export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1} ;;
esac

if [ ! -f $build/build.ninja ]; then
  rm -rf $build
  meson setup $build "${options[@]}" >"$log" 2>&1 || die "configuring failed" "$log"
elif ! grep -q '^werror = true' $build/meson-private/cmd_line.txt; then
  meson configure $build "${options[@]}" >"$log" 2>&1 || die "configuring failed" "$log"
fi
echo "building in $build/"
. tests/progress.sh
if ! build "$log" -C $build -j"$jobs"; then
  # The failed commands' messages, without the lines of progress.
  grep -v '^\[[0-9]*/[0-9]*\] ' "$log" >"$log.errors"
  mv "$log.errors" "$log"
  die "building failed" "$log"
fi

# Leaves no result behind that a run which did not happen could be read from.
rm -f $build/meson-logs/testlog.json
meson test -C $build --no-rebuild --num-processes "$jobs" --print-errorlogs "${selection[@]}" | grep -v -e '^ninja: ' -e '^$' -e '^Full log'
python3 tests/report.py $build/meson-logs/testlog.json
