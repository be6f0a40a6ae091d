"""The programs in the READMEs run as they stand there."""

import contextlib
import io
import os
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def programs(path):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / path).read_text(encoding="utf-8"), re.S | re.M)


class Readme(unittest.TestCase):
    def run_all(self, path):
        texts = programs(path)
        self.assertTrue(texts)
        output = io.StringIO()
        with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(output):
            before = os.getcwd()
            os.chdir(directory)  # they may write files
            try:
                for text in texts:
                    exec(compile(text, path, "exec"), {})
            finally:
                os.chdir(before)
        return output.getvalue()

    def test_top(self):
        self.assertEqual(self.run_all("README.md"), "learned\n")

    def test_package(self):
        self.assertIn("tensor(", self.run_all("bindings/python/README.md"))


if __name__ == "__main__":
    unittest.main()
