#!/usr/bin/env python3
"""How the native library is found: test_library.py JAVA TENSORRT.JAR CHECKS.JAR JNI_LIBRARY BASE_LIBRARY"""

import os
import shutil
import subprocess
import sys
import tempfile

java, jar, tests, native, base = sys.argv[1:]
failed = 0


def check(name, good, text):
    global failed
    print(("[       OK ] " if good else "[  FAILED  ] ") + "library." + name + ("" if good else f"\n{text}"))
    failed += not good


def load(*options, classpath=jar + ":" + tests, **environment):
    r = subprocess.run([java, *options, "-cp", classpath, "org.libtensorrt.LoadCheck"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       env={**os.environ, **environment})
    return r.returncode, r.stdout


with tempfile.TemporaryDirectory() as tmp:
    status, text = load(f"-Djava.io.tmpdir={tmp}")
    check("inside_the_jar", status == 0 and "tensor([2., 3.])" in text and f"{tmp}/tensorrt-" in text, text)
    check("no_copy_stays", os.listdir(tmp) == [], os.listdir(tmp))

    status, text = load(f"-Djava.io.tmpdir={tmp}/missing")
    check("no_temporary_directory", status != 0 and "UnsatisfiedLinkError" in text and "-Dtensorrt.library.path" in text, text)

    r = subprocess.run([java, f"-Djava.io.tmpdir={tmp}", "-cp", tests, "org.libtensorrt.LoadersCheck", jar, "5"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True)
    check("class_loaders", r.returncode == 0 and all(f"{i}: tensor([1., 1.])" in r.stdout for i in range(5)), r.stdout)
    check("no_copy_of_loaders_stays", os.listdir(tmp) == [], os.listdir(tmp))

    directory = os.path.join(tmp, "native")
    os.mkdir(directory)
    shutil.copy(base, os.path.join(directory, "libtensorrt.so.0"))
    shutil.copy(native, directory)
    status, text = load(f"-Dtensorrt.library.path={directory}", f"-Djava.io.tmpdir={tmp}/missing")
    check("by_property", status == 0 and f"{directory}/libtensorrt_jni.so" in text and f"{directory}/libtensorrt.so.0" in text, text)

    # Only the part for Java there: the system finds the rest.
    os.remove(os.path.join(directory, "libtensorrt.so.0"))
    status, text = load(f"-Dtensorrt.library.path={directory}", LD_LIBRARY_PATH=os.path.dirname(base))
    check("by_property_and_system", status == 0 and os.path.dirname(base) in text, text)

    status, text = load(f"-Dtensorrt.library.path={tmp}/nowhere")
    check("wrong_property", status != 0 and "nowhere/libtensorrt_jni.so" in text, text)

if failed:
    print(f"[  FAILED  ] {failed} test(s)")
sys.exit(1 if failed else 0)
