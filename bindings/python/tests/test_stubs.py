"""Type stubs and package: what the stubs say is there, and the other way round."""

import ast
import os
import unittest

import trt
from trt import _C

FOLDER = os.path.dirname(trt.__file__)


def parsed(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
        return ast.parse(f.read(), name)


def functions(body):
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


class Stubs(unittest.TestCase):
    def test_operators(self):
        self.assertEqual(functions(parsed("_ops.pyi").body), set(_C._operators))
        self.assertEqual(functions(parsed("_nn_ops.pyi").body), {n for n, group in _C._groups.items() if group.startswith("nn_")})
        for name in ("special", "linalg"):
            self.assertLessEqual(functions(parsed(f"{name}.pyi").body) - {"__getattr__"}, set(dir(getattr(trt, name))))

    def test_methods(self):
        cls, = (n for n in parsed("_methods.pyi").body if isinstance(n, ast.ClassDef) and n.name == "OperatorMethods")
        self.assertEqual({n for n in functions(cls.body) if not hasattr(_C.TensorBase, n)}, set())
        base, = (n for n in parsed("_C.pyi").body if isinstance(n, ast.ClassDef) and n.name == "TensorBase")
        named = functions(base.body) | {n.target.id for n in base.body if isinstance(n, ast.AnnAssign)} | functions(cls.body)
        missing = {n for n in vars(_C.TensorBase) if not n.startswith("_")} - named
        self.assertEqual(missing, set())
        self.assertEqual({n for n in named if not hasattr(_C.TensorBase, n)} - {"__buffer__"}, set())

    def test_dtypes_and_errors(self):
        names = {n.target.id for n in parsed("_dtypes.pyi").body if isinstance(n, ast.AnnAssign)}
        self.assertEqual(names, set(_C._dtypes))
        errors = {n.name for n in parsed("_C.pyi").body if isinstance(n, ast.ClassDef) and n.name.endswith("Error")}
        self.assertEqual(errors, {n for n, v in vars(_C).items() if isinstance(v, type) and issubclass(v, Exception)})
        self.assertEqual({n for n in errors if not hasattr(trt, n)}, set())
        self.assertTrue(os.path.exists(os.path.join(FOLDER, "py.typed")))

    def test_everything_has_documentation(self):
        import inspect
        import pkgutil

        bare = []
        for info in pkgutil.walk_packages(trt.__path__, "trt."):
            if info.name.endswith("._C"):
                continue
            module = __import__(info.name, fromlist=["x"])
            if not module.__doc__:
                bare.append(info.name)
            for name, value in vars(module).items():
                if name.startswith("_") or getattr(value, "__module__", None) != info.name or not (inspect.isfunction(value) or inspect.isclass(value)):
                    continue
                if not value.__doc__ or value.__doc__ == getattr(value.__mro__[1] if inspect.isclass(value) else None, "__doc__", None):
                    bare.append(f"{info.name}.{name}")
        self.assertEqual(bare, [])


if __name__ == "__main__":
    unittest.main()
