#!/bin/sh
# Instructions per call of the small workloads, which repeat exactly, against baseline.json: fails when one needs more than 3 % above it.
#   instructions.sh SMALL_OPS_PROGRAM [--update]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$1
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
calls=200
counts=
for workload in add add_grad view chain; do
  # Valgrind shows programs a processor with AVX2, whatever the machine is.
  line=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no --toggle-collect=run_measured "$program" $workload $calls 2>&1 |
         sed -n 's/.*Collected : \([0-9]*\).*/\1/p')
  [ "${line:-0}" -ge "$calls" ] || { echo "$workload: callgrind counted nothing in $program"; exit 1; }
  counts="$counts $workload=$((line / calls))"
done
exec python3 - "$here/baseline.json" "${2:-}" $counts <<'PY'
import json
import sys

path, update, counts = sys.argv[1], sys.argv[2] == "--update", dict(c.split("=") for c in sys.argv[3:])
counts = {k: int(v) for k, v in counts.items()}
if update:
    with open(path, "w") as f:
        json.dump(counts, f, indent=2)
        f.write("\n")
with open(path) as f:
    baseline = json.load(f)
failed = False
for name, count in counts.items():
    limit = baseline[name] * 1.03
    failed |= count > limit
    print(f"{name:10} {count:8d} instructions per call, baseline {baseline[name]}{' TOO MANY' if count > limit else ''}")
    if count < baseline[name] * 0.97:
        print(f"{'':10} less than the baseline: run instructions.sh with --update to keep the gain")
sys.exit(failed)
PY
