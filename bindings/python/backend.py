"""The build backend of pyproject.toml: meson-python on the whole project.

meson-python wants pyproject.toml beside the project's meson.build, which stands two folders up. So it is given a folder of links to what a build
needs of the project, with this folder's pyproject.toml and README.md at its top.
"""

import contextlib
import os
import tempfile

import mesonpy

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OF_THE_PROJECT = ("meson.build", "meson_options.txt", "LICENSE", "bindings", "include", "kernels", "pkgconfig", "src")
OF_THE_PACKAGE = ("pyproject.toml", "README.md")


@contextlib.contextmanager
def _project():
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="trt-build-") as folder:
        for names, origin in ((OF_THE_PROJECT, ROOT), (OF_THE_PACKAGE, HERE)):
            for name in names:
                os.symlink(os.path.join(origin, name), os.path.join(folder, name))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def get_requires_for_build_wheel(config_settings=None):
    with _project():
        return mesonpy.get_requires_for_build_wheel(config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    wheel_directory = os.path.abspath(wheel_directory)
    with _project():
        return mesonpy.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the source is the whole project: install from a checkout of it")
