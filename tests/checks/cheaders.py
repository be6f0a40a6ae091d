"""Reads the declarations of the public C headers. They are plain: no macros but TRT_API, one declaration per function."""

import os
import re
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = os.path.join(ROOT, "include")


@dataclass
class Parameter:
    type: str   # "const trt_tensor*", without spaces before the stars
    name: str


@dataclass
class Function:
    name: str
    result: str
    parameters: list
    header: str   # "tensorrt/base.h"
    line: int
    comment: str  # of the declaration, without the comment signs; "" when there is none


def public_headers():
    """Names relative to include/, sorted."""
    directory = os.path.join(INCLUDE, "tensorrt")
    return ["tensorrt/" + f for f in sorted(os.listdir(directory)) if f.endswith(".h")]


def _clean_type(text):
    text = " ".join(text.split())
    return re.sub(r"\s*\*\s*", "*", text).replace("*const", "* const").strip()


def _parameter(text):
    m = re.match(r"^(.*?)(\w+)$", " ".join(text.split()))
    return Parameter(_clean_type(m.group(1)), m.group(2))


_DECLARATION = re.compile(r"TRT_API\s+([^();]*?)\b(trt_\w+)\s*\(([^;]*)\)\s*;")


def functions(header):
    """The exported functions of one header, in order."""
    with open(os.path.join(INCLUDE, header), encoding="utf-8") as f:
        text = f.read()
    # Comments become spaces of the same length, so that positions stay; the comment that ends just before a declaration is its own.
    comments = {}

    def blank(m):
        comments[m.end()] = m.group(0)
        return re.sub(r"[^\n]", " ", m.group(0))

    code = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
    out = []
    for m in _DECLARATION.finditer(code):
        before = re.search(r"\s*$", text[:m.start()]).start()
        comment = re.sub(r"^[ \t]*\*( |$)", "", comments.get(before, "").strip("/*"), flags=re.M)
        inner = m.group(3).strip()
        parameters = [] if inner in ("", "void") else [_parameter(p) for p in inner.split(",")]
        out.append(Function(m.group(2), _clean_type(m.group(1)), parameters, header, code.count("\n", 0, m.start()) + 1, comment.strip()))
    return out


def all_functions():
    return [f for h in public_headers() for f in functions(h)]


def declaration_count(header):
    """How many declarations carry TRT_API, to notice one that the parser does not understand."""
    with open(os.path.join(INCLUDE, header), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    return len(re.findall(r"^[ \t]*TRT_API\b", text, flags=re.M))
