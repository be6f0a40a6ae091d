# shellcheck shell=bash
# For examples/quickstart.sh and tests/run.sh: builds, and shows how far it is.
#
#   build LOG NINJA_ARGUMENTS...    Ninja's output goes to LOG; its exit status is the function's (where pipefail is set)
#
# On a terminal one line counts the steps and is removed at the end. Elsewhere a line is printed every PROGRESS_SECONDS (30).
build() {
  local log=$1 line shown=$SECONDS terminal=
  shift
  [ -t 1 ] && terminal=1
  ninja "$@" 2>&1 | {
    while IFS= read -r line; do
      printf '%s\n' "$line" >&3
      case $line in
        \[*[0-9]/[0-9]*\]\ *)
          if [ -n "$terminal" ]; then
            printf '\rbuilding %s]\033[K' "${line%%]*}"
          elif [ $((SECONDS - shown)) -ge "${PROGRESS_SECONDS:-30}" ]; then
            shown=$SECONDS
            echo "building ${line%%]*}]"
          fi ;;
      esac
    done 3>"$log"
    [ -z "$terminal" ] || printf '\r\033[K'
  }
}
