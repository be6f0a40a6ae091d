#!/usr/bin/env python3
"""Tests of every operator in the table, generated from sample calls: no operator is named here (given.py names those that need hand-made samples).

  run.py [--library PATH] [--cases FILE.jsonl.gz ...] [--ops add,mul.Scalar] [--checks meta,out] [--quick] [--jobs N] [--results FILE] [--verbose]

Samples are the recorded cases of tests/golden/data (or --cases), and for overloads without one those of given.py or calls made up from the schema. Checks
(checks.py): numerical first and second derivatives, Meta, layouts of arguments and gradients, out and in-place variants, equal bits with one
and two threads, lower dtypes. A failure that is known and right has a reason in exceptions.py.

Prints a line for each operator and check that fails, and at last `opinfo: P checks passed, F failed, S skipped`. The calls run in child
processes; what crashes or hangs counts as failed, and the rest of that sample's checks go on in a new process. --results writes a line of JSON
per operator and check for coverage.py.
"""

import argparse
import collections
import glob
import gzip
import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 60     # that one sample may take
QUICK_CASES = 2  # recorded cases of an overload with --quick


# --- the child --------------------------------------------------------------------------------------------------------------

def load_operators(golden):
    import samples  # noqa: F401  (the search path for gen)
    from gen import model

    operators = golden.Operators()
    operators.schemas_by_name = {name for names in operators.overloads.values() for name in names}
    groups = model.load(os.path.join(samples.ROOT, "src", "ops"))
    operators.no_meta = {op.name for ops in groups.values() for op in ops if op.kind == "native" and op.spec == "no_meta"}
    return operators


def run_sample(checks, context, ctx, wanted, without, tell):
    for name, check in checks.CHECKS.items():
        if (wanted and name not in wanted) or name in without:
            continue
        tell(["at", name])
        try:
            for outcome in check(ctx):
                if isinstance(outcome, context.Skip):
                    tell(["skip", outcome.check, outcome.reason])
                elif isinstance(outcome, context.Takes):
                    tell(["takes", outcome.dtype, ""])
                else:
                    tell(["pass" if outcome[1] is None else "fail", *outcome])
        except context.trt.Error as e:
            tell(["fail", name, context.describe(e)])
        except Exception as e:  # a fault of the driver must not end the run
            where = e.__traceback__
            while where.tb_next:
                where = where.tb_next
            tell(["fail", name, f"{type(e).__name__} in line {where.tb_lineno}: {e}"])


def child():
    """Reads tasks from stdin, one JSON a line; answers with lines of JSON, the last of a task being ["done"]."""
    results = os.fdopen(os.dup(1), "w")
    sys.stdout = sys.stderr
    import checks
    import context
    import given
    import samples

    operators = load_operators(samples.golden)
    samples.trt.set_num_threads(1)
    warnings.simplefilter("ignore")  # of lost imaginary parts
    threaded = set()

    def tell(x):
        print(json.dumps(x), file=results, flush=x[0] in ("at", "done"))

    for line in sys.stdin:
        task = json.loads(line)
        if task["kind"] == "list":
            tell(["list", *functional_overloads(operators)])
        else:
            tell(["at", "sample"])
            if task["kind"] == "case":
                case = json.loads(task["case"])
                made = samples.from_case(operators, case, f"{case['op']} {case['dtype']}, case {task['number']}")
                made = [made] if made else []
                if made and not task["quick"] and case["dtype"] == "float32":
                    # Again in float64, for the derivatives.
                    made.append(made[0].map_arrays(lambda a: samples.Array("float64", a.shape, a.data) if a.dtype == "float32" else a))
            else:
                try:
                    if task["op"] in given.GIVEN:
                        made = given.samples(task["op"])[:1 if task["quick"] else None]
                    else:
                        made = samples.made_up(operators, task["op"], 1 if task["quick"] else samples.MADE_UP)
                except samples.trt.Error as e:
                    tell(["op", task["op"]])
                    tell(["fail", "sample", context.describe(e)])
                    tell(["done"])
                    continue
                if not made:
                    tell(["op", task["op"]])
                    tell(["skip", "sample", "no sample can be made up from the schema"])
            for s in made:
                ctx = context.Context(operators, s, task["quick"])
                tell(["op", s.op])
                if task["ops"] and s.op not in task["ops"] and ctx.name not in task["ops"]:
                    continue
                wanted = task["checks"]
                if task["quick"]:
                    # Threads once for each overload: the tiled samples are what takes time.
                    without = task["without"] + (["threads"] if s.op in threaded else [])
                    threaded.add(s.op)
                else:
                    without = task["without"]
                if task["kind"] == "case" and not any(a.dtype == "float64" for _, a in s.arrays()) and not wanted:
                    wanted = ["meta", "layouts", "out", "in place", "kinds"]
                run_sample(checks, context, ctx, wanted, without, tell)
        tell(["done"])


def functional_overloads(operators):
    """The overloads to test: those which are not the in-place or out form of another one."""
    out = []
    for names in operators.overloads.values():
        for full in names:
            name, _, overload = full.partition(".")
            if overload == "out" or overload.endswith("_out"):
                continue
            base = name[:-1] + ("." + overload if overload else "") if name.endswith("_") else None
            if base in operators.schemas_by_name:
                continue
            out.append(full)
    return sorted(out)


# --- the parent ---------------------------------------------------------------------------------------------------------------

class Child:
    def __init__(self, environment):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.buffer = b""

    def run(self, task):
        """Yields the answers to a task; after a crash or a timeout the last one is ["ended", reason]."""
        try:
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        end = time.monotonic() + SECONDS
        while True:
            *lines, self.buffer = self.buffer.split(b"\n")
            for line in lines:
                answer = json.loads(line)
                if answer == ["done"]:
                    return
                yield answer
            if not select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                self.process.kill()
                self.process.wait()
                yield ["ended", f"took more than {SECONDS} s"]
                return
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                yield ["ended", f"the process ended with status {self.process.wait()}"]
                return
            self.buffer += chunk

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Run:
    """What the checks gave, by operator and check."""

    def __init__(self):
        self.counts = collections.defaultdict(collections.Counter)  # (op, check) -> verdicts
        self.reasons = {}
        self.dtypes = collections.defaultdict(set)  # op -> what its tensors were
        self.lock = threading.Lock()

    def note(self, op, verdict, check, reason):
        with self.lock:
            if verdict == "takes":
                self.dtypes[op].add(check)
                return
            self.counts[op, check][verdict] += 1
            if reason and (verdict == "fail" or (op, check) not in self.reasons) and self.counts[op, check][verdict] == 1:
                self.reasons[op, check] = reason

    def work(self, tasks, environment):
        worker = Child(environment)
        while True:
            try:
                task = tasks.get_nowait()
            except queue.Empty:
                worker.close()
                return
            op, check = task.get("op") or task["name"], "sample"
            for answer in worker.run(task):
                if answer[0] == "op":
                    op = answer[1]
                elif answer[0] == "at":
                    check = answer[1]
                elif answer[0] == "ended":
                    self.note(op, "fail", check, answer[1])
                    worker = Child(environment)
                    if check != "sample":
                        tasks.put({**task, "without": task["without"] + [check]})
                else:
                    self.note(op, *answer)


def read_cases(paths):
    """[(number, operator, line)] of all recorded cases."""
    out = []
    for path in paths:
        with gzip.open(path, "rt") as lines:
            for i, line in enumerate(lines):
                out.append((i + 1, line.split('"', 4)[3], line))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", help="another libtensorrt.so for the package")
    parser.add_argument("--cases", action="append", help="recorded cases; default: tests/golden/data/*.jsonl.gz")
    parser.add_argument("--ops", help="names, with or without overload, separated by commas")
    parser.add_argument("--checks", help="names of checks.CHECKS, separated by commas")
    parser.add_argument("--quick", action="store_true", help="few samples, about a minute")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", help="file for what came out, a line of JSON per operator and check")
    parser.add_argument("--verbose", action="store_true", help="show what was skipped, and why")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    sys.path.insert(0, HERE)
    if args.child:
        return child()
    environment = dict(os.environ)
    if args.library:
        environment["LD_PRELOAD"] = ":".join(filter(None, [environment.get("LD_PRELOAD"), os.path.abspath(args.library)]))
    paths = args.cases or sorted(glob.glob(os.path.join(HERE, "..", "golden", "data", "*.jsonl.gz")))
    ops = args.ops.split(",") if args.ops else []
    common = {"quick": args.quick, "ops": ops, "checks": args.checks.split(",") if args.checks else [], "without": []}

    lister = Child(environment)
    listed = [a for a in lister.run({"kind": "list"})]
    lister.close()
    if not listed or listed[0][0] != "list":
        print(f"the library cannot be used: {listed[0][1] if listed else 'no answer'}")
        return 1
    overloads = listed[0][1:]

    run, started = Run(), time.monotonic()
    # First the recorded cases: they show which overloads have one.
    stages = [[], []]
    seen = collections.Counter()
    for number, name, line in read_cases(paths):
        kind = (name, '"float64"' in line[:200])
        seen[kind] += 1
        if ops and not any(o.split(".")[0].replace("_", "") in name.replace(".", "").replace("_", "") or name.split(".")[-1] in o for o in ops):
            continue
        if not args.quick or seen[kind] <= QUICK_CASES:
            stages[0].append({"kind": "case", "case": line, "number": number, "name": name, **common})
    for stage in range(2):
        if stage == 1:
            # Recorded cases may all be 0-d or empty or of integers: those with a layout to change and a gradient count.
            layouts = {op for op, check in run.counts if check in ("transposed", "sliced", "expanded")}
            sampled = {op for op, check in run.counts if check == "gradient" and op in layouts}
            import given
            stages[1] = [{"kind": "schema", "op": op, **common} for op in overloads
                         if (op not in sampled or op in given.GIVEN) and (not ops or op in ops or op.split(".")[0] in ops)]
        tasks = queue.Queue()
        for task in stages[stage]:
            tasks.put(task)
        workers = [threading.Thread(target=run.work, args=(tasks, environment)) for _ in range(args.jobs)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
    return report(run, args, time.monotonic() - started)


def report(run, args, seconds):
    import exceptions

    totals, used = collections.Counter(), set()
    for (op, check), counts in sorted(run.counts.items()):
        reason = run.reasons.get((op, check), "").replace("\n", " ")[:230]
        excused = exceptions.reason_for(op, check) if counts["fail"] else None
        if excused:
            used.add(excused[0])
            counts["skip"] += counts["fail"]
            counts["fail"] = 0
            reason = excused[1]
        if counts["fail"]:
            print(f"{op}, {check}: {reason}" + (f" ({counts['fail']} of {counts['fail'] + counts['pass']})" if counts["fail"] + counts["pass"] > 1 else ""))
        elif args.verbose and counts["skip"]:
            print(f"skipped {op}, {check} ({counts['skip']}): {reason}")
        totals.update(counts)
    if args.verbose and not args.ops and not args.checks and not args.quick:
        for key in exceptions.EXCEPTIONS:
            if key not in used:
                print("exception not needed: " + ", ".join(key))
    if args.results:
        with open(args.results, "w", encoding="utf-8") as f:
            for (op, check), counts in sorted(run.counts.items()):
                f.write(json.dumps({"op": op, "check": check, **counts, "reason": run.reasons.get((op, check), "")}) + "\n")
            for op, dtypes in sorted(run.dtypes.items()):
                f.write(json.dumps({"op": op, "dtypes": sorted(dtypes)}) + "\n")
    if args.verbose:
        print(f"{seconds:.0f} s")
    print(f"opinfo: {totals['pass']} checks passed, {totals['fail']} failed, {totals['skip']} skipped")
    return 1 if totals["fail"] or not totals["pass"] else 0


if __name__ == "__main__":
    sys.exit(main())
