#!/usr/bin/env python3
"""What examples/quickstart.sh and tests/run.sh decide: what they install, who may, what they build and what they say and return.

Each case runs a copy of the script in a small project of the same layout, with the real Meson and Ninja. Debian's side (dpkg-query, apt-get, id)
is played by programs that come first on PATH: they know the packages and the user that the case names, and write down how they were called.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

DPKG_QUERY = r"""#!/bin/sh
# Answers for the packages that $DIR/packages lists as "status name"; like the real one it fails when it does not know one.
[ "$1 $2" = '-W -f=${db:Status-Status} ${Package}\n' ] || { echo "unexpected format $*" >&2; exit 9; }
shift 2
code=0
for package in "$@"; do
  grep -x "[a-z-]* $package" "$DIR/packages" || { echo "dpkg-query: no packages found matching $package" >&2; code=1; }
done
exit $code
"""

APT_GET = r"""#!/bin/sh
echo "$* frontend=$DEBIAN_FRONTEND" >>"$DIR/apt"
echo "the output of apt-get $1"
[ "$1" != "$APT_FAILS" ]
"""

ID = '#!/bin/sh\n[ "$*" = -u ] && echo "$USER_ID"\n'

PROJECT = {
    "meson.build": "project('small')\nsubdir('examples')\nif get_option('tests')\n  subdir('tests')\nendif\n",
    "meson_options.txt": "option('tests', type: 'boolean', value: true)\noption('examples', type: 'boolean', value: true)\n",
    "examples/meson.build": "custom_target(input: 'program', output: 'fashion_mnist', command: ['sh', files('copy'), '@INPUT@', '@OUTPUT@'], build_by_default: true)\n",
    "examples/copy": '[ ! -f "$DIR/broken" ] || { echo "error: broken on purpose"; exit 1; }\ncp "$1" "$2"\nchmod +x "$2"\n',
    "examples/program": '#!/bin/sh\necho "the program got $*"\n',
    "tests/meson.build": "test('plain', find_program('sh'), args: ['-c', 'test ! -f \"$DIR/bad\"'])\n"
                         "test('threaded', find_program('true'), suite: 'threads')\n"
                         "test('long', find_program('true'), suite: 'slow')\ntest('count', find_program('true'), suite: ['bench'])\n",
}


class Machine:
    """A directory with the small project in it, and the stand-ins."""

    def __init__(self, directory, script):
        self.dir, self.script = directory, script
        for name, text in PROJECT.items():
            self.write("tree/" + name, text)
        for name in (script, "tests/report.py", "tests/progress.sh"):
            shutil.copy(os.path.join(ROOT, name), os.path.join(directory, "tree", name))
        for name, text in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET), ("id", ID)):
            self.write("bin/" + name, text)
            os.chmod(os.path.join(directory, "bin", name), 0o755)
        with open(os.path.join(ROOT, script), encoding="utf-8") as f:
            text = f.read()
        self.packages = re.search(r"^packages=\(([^)]*)\)", text, re.M).group(1).split()
        found = re.search(r"^bindings=\(([^)]*)\)", text, re.M)
        self.bindings = found.group(1).split() if found else []
        self.install(self.packages)
        os.mkdir(os.path.join(directory, "temporary"))

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def install(self, packages, removed=(), bindings=True):
        """Makes these the packages that are installed, and `removed` such of which the configuration is left."""
        self.write("packages", "".join(f"installed {p}\n" for p in [*packages, *(self.bindings if bindings else [])]) + "".join(f"config-files {p}\n" for p in removed))

    def mark(self, name, present=True):
        path = os.path.join(self.dir, name)
        if present:
            self.write(name, "")
        else:
            os.remove(path)

    def path(self, name):
        return os.path.join(self.dir, "tree", name)

    def environment(self, user=0, apt_fails="", **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MESON", "NINJA", "PROGRESS"))}
        env.update(PATH=os.path.join(self.dir, "bin") + ":/usr/sbin:/usr/bin:/sbin:/bin", DIR=self.dir, USER_ID=str(user), APT_FAILS=apt_fails, JOBS="2",
                   TMPDIR=os.path.join(self.dir, "temporary"), **more)
        return env

    def run(self, *options, user=0, apt_fails="", **more):
        """(exit status, lines of output, lines about apt-get)."""
        apt = os.path.join(self.dir, "apt")
        if os.path.exists(apt):
            os.remove(apt)
        env = self.environment(user, apt_fails, **more)
        done = subprocess.run([self.path(self.script), *options], env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=120)
        same(f"{self.script} {' '.join(options)}: temporary files left behind", os.listdir(os.path.join(self.dir, "temporary")), [])
        calls = []
        if os.path.exists(apt):
            with open(apt, encoding="utf-8") as f:
                calls = f.read().splitlines()
        return done.returncode, done.stdout.splitlines(), calls


    def on_terminal(self):
        """(exit status, what a terminal gets)."""
        controller, terminal = os.openpty()
        done = subprocess.Popen([self.path(self.script)], env=self.environment(), cwd="/", stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal)
        os.close(terminal)
        text = b""
        try:
            while part := os.read(controller, 4096):
                text += part
        except OSError:  # the last writer is gone
            pass
        os.close(controller)
        return done.wait(timeout=120), text.decode()


def check_progress(machine, product):
    """Every script shows the steps of the build: rewriting one line on a terminal, in lines of their own elsewhere, and not at all in a short build."""
    change = lambda: os.utime(machine.path("examples/program"))
    for seconds, shown in (("30", False), ("0", True)):
        change()
        code, lines, _ = machine.run(PROGRESS_SECONDS=seconds)
        same("progress: exit status", code, 0)
        same(f"progress every {seconds} s", "building [1/1]" in lines, shown)
    change()
    code, text = machine.on_terminal()
    same("progress on a terminal: exit status", code, 0)
    if "\rbuilding [1/1]\x1b[K" not in text or "building [1/1]\n" in text or product not in text.rsplit("\r\x1b[K", 1)[-1]:
        raise SystemExit(f"progress on a terminal: {text!r}")


def same(what, got, expected):
    if got != expected:
        raise SystemExit(f"{what}\n  expected {expected!r}\n  got      {got!r}")


def has(what, lines, part, present=True):
    if any(part in line for line in lines) != present:
        raise SystemExit(f"{what}: {part!r} should {'' if present else 'not '}be in\n  " + "\n  ".join(lines))


def check_packages(machine, built, last):
    """The part that both scripts share. `built` is a file that exists once something was built; `last` the lines that end a failed run."""
    absent = ["meson", "libhwy-dev", "python3-yaml"]  # python3 is there: no name may stand for another
    rest = [p for p in machine.packages if p not in absent]
    machine.install(rest, removed=["meson"])
    code, lines, apt = machine.run(user=1000)
    same("without root: exit status", code, 1)
    same("without root", lines, ["these packages are missing, and only root can install them: libhwy-dev meson python3-yaml", *last])
    same("without root: apt-get", apt, [])
    for step in ("update", "install"):
        code, lines, apt = machine.run(apt_fails=step)
        same(f"apt-get {step} fails: exit status", code, 1)
        same(f"apt-get {step} fails: what is told first", lines[0], "installing libhwy-dev meson python3-yaml")
        has(f"apt-get {step} fails", lines, f"the output of apt-get {step}")
        has(f"apt-get {step} fails", lines, "installing failed")
        same(f"apt-get {step} fails: the end", lines[len(lines) - len(last):], last)
        same(f"apt-get {step} fails: calls", [c.split()[0] for c in apt], ["update"] if step == "update" else ["update", "install"])
    if os.path.exists(built):
        raise SystemExit("built although packages were missing")
    code, lines, apt = machine.run()
    same("as root: exit status", code, 0)
    has("as root", lines, "installing libhwy-dev meson python3-yaml")
    has("as root", lines, "the output of apt-get", False)
    same("as root: calls", apt, ["update -qq frontend=noninteractive",
                                 "install -y -qq --no-install-recommends libhwy-dev meson python3-yaml frontend=noninteractive"])
    if not os.path.exists(built):
        raise SystemExit("installed, but not built")
    machine.install(machine.packages)


def check_quickstart(directory):
    machine = Machine(directory, "examples/quickstart.sh")
    machine.write("tree/tests/meson.build", "error('the tests need packages that quickstart.sh does not install')\n")
    built = machine.path("build/examples/fashion_mnist")
    check_packages(machine, built, [])
    code, lines, apt = machine.run("--epochs", "1", user=1000)
    same("again: exit status", code, 0)
    more = f"to look at other images, in {machine.path('').rstrip('/')}: build/examples/fashion_mnist --resume build/fashion_mnist.safetensors --predict INDEX"
    same("again", lines, ["the program got --save build/fashion_mnist.safetensors --predict 0 --epochs 1", more])
    same("again: apt-get", apt, [])
    os.utime(machine.path("examples/program"))
    code, lines, _ = machine.run(user=1000)
    same("after a change", (code, lines[0][:8], len(lines)), (0, "building", 3))
    check_progress(machine, "the program got")
    machine.mark("broken")
    os.remove(built)
    code, lines, _ = machine.run()
    same("a build that fails: exit status", code, 1)
    has("a build that fails", lines, "error: broken on purpose")
    same("a build that fails: the end", lines[-1], "building failed")
    machine.mark("broken", False)
    shutil.rmtree(machine.path("build"))
    os.rename(machine.path("meson.build"), machine.path("elsewhere"))
    code, lines, _ = machine.run()
    same("no configuration: the end", (code, lines[-1]), (1, "configuring failed"))
    os.rename(machine.path("elsewhere"), machine.path("meson.build"))
    code, lines, _ = machine.run()
    same("from nothing", (code, lines[-2:]), (0, ["the program got --save build/fashion_mnist.safetensors --predict 0", more]))


def check_run(directory):
    machine = Machine(directory, "tests/run.sh")
    failed = "0 passed, 1 failed, 0 skipped"
    check_packages(machine, machine.path("build/examples/fashion_mnist"), [failed])
    code, lines, apt = machine.run(user=1000)
    same("everything", (code, lines[-1], apt), (0, "4 passed, 0 failed, 0 skipped", []))
    # The bindings' packages are installed where that is possible, and tests run without them where not.
    machine.install(machine.packages, bindings=False)
    code, lines, apt = machine.run(user=1000)
    same("no bindings, not root", (code, lines[-1], apt), (0, "4 passed, 0 failed, 0 skipped", []))
    has("no bindings, not root", lines, "skipped: tests of the bindings that need golang-go, which is missing")
    code, lines, apt = machine.run(apt_fails="install")
    same("no bindings to be had", (code, lines[-1]), (0, "4 passed, 0 failed, 0 skipped"))
    has("no bindings to be had", lines, "skipped: tests of the bindings that need golang-go, which is missing")
    code, lines, apt = machine.run()
    same("bindings as root", (code, lines[-1]), (0, "4 passed, 0 failed, 0 skipped"))
    has("bindings as root", lines, "skipped: tests", present=False)
    has("bindings as root", apt, "golang-go")
    machine.install(machine.packages)
    code, lines, _ = machine.run("--quick", user=1000)
    same("--quick", (code, lines[-1]), (0, "2 passed, 0 failed, 0 skipped"))
    machine.mark("bad")
    code, lines, _ = machine.run()
    same("a test that fails", (code, lines[-2:]), (1, ["failed: small / plain (FAIL)", "3 passed, 1 failed, 0 skipped"]))
    machine.mark("bad", False)
    check_progress(machine, "4 passed, 0 failed, 0 skipped")
    machine.mark("broken")
    os.utime(machine.path("examples/program"))
    code, lines, _ = machine.run()
    same("a build that fails", (code, lines[-1]), (1, failed))
    has("a build that fails", lines, "building failed")
    has("a build that fails", lines, "error: broken on purpose")
    machine.mark("broken", False)
    code, lines, _ = machine.run("--unknown")
    same("an unknown option: exit status", code, 2)
    has("an unknown option", lines, "tests/run.sh --quick")
    # What quickstart.sh configured has no tests.
    shutil.rmtree(machine.path("build"))
    shutil.copy(os.path.join(ROOT, "examples", "quickstart.sh"), machine.path("examples/quickstart.sh"))
    run, machine.script = machine.script, "examples/quickstart.sh"
    same("quickstart before: exit status", machine.run()[0], 0)
    machine.script = run
    code, lines, _ = machine.run()
    same("after quickstart", (code, lines[-1]), (0, "4 passed, 0 failed, 0 skipped"))
    missing = set(Machine(os.path.join(directory, "other"), "examples/quickstart.sh").packages) - set(machine.packages)
    same("packages of quickstart.sh that run.sh does not install", missing, set())


def main():
    for check in (check_quickstart, check_run):
        with tempfile.TemporaryDirectory(prefix="trt_scripts_") as directory:
            check(directory)
    print("quickstart.sh and run.sh install, build, run and report as they should")


if __name__ == "__main__":
    sys.exit(main())
