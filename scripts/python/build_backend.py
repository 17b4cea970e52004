"""Build backend of the wheel: maturin's, with the command `arraylab` built beside the module.

maturin packs a module or a program into a wheel, not both; programs that lie in the wheel's data directory are installed as
scripts. `ARRAYLAB_WHEEL_PROFILE` is the profile of both. In a release the program is static and the wheel is checked to be
manylinux; a development build is for the machine that made it. `ARRAYLAB_WHEEL_COMMAND` is a program that is packed instead of one
that is built here.
"""

import json
import os
import pathlib
import shutil
import subprocess
from contextlib import contextmanager

import maturin
from maturin import get_requires_for_build_sdist, get_requires_for_build_wheel

__all__ = [
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
]

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "python" / "arraylab.data"
#: The oldest glibc (2.34, 2021) that has all that Rust's standard library and SQLite call on Debian 12.
MANYLINUX = "manylinux_2_34"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """A wheel with module and command."""
    profile = os.environ.get("ARRAYLAB_WHEEL_PROFILE", "release")
    with _data_directory():
        _put_command(profile)
        settings = dict(config_settings or {})
        compatibility = MANYLINUX if profile == "release" else "linux"
        settings.setdefault("build-args", f"--profile {profile} --compatibility {compatibility} --auditwheel check")
        return maturin.build_wheel(wheel_directory, settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    """An archive of the sources, from which the wheel is built without the repository."""
    with _data_directory():
        return maturin.build_sdist(sdist_directory, config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """What the wheel says of itself."""
    with _data_directory():
        return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


@contextmanager
def _data_directory():
    """maturin asks for the directory even where nothing is to be packed."""
    (DATA / "scripts").mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        shutil.rmtree(DATA, ignore_errors=True)


def _put_command(profile):
    program = os.environ.get("ARRAYLAB_WHEEL_COMMAND") or _build_command(profile)
    shutil.copy2(program, DATA / "scripts" / "arraylab")
    subprocess.run(["strip", "--strip-debug", DATA / "scripts" / "arraylab"], check=False)


def _build_command(profile):
    words = ["cargo", "build", "--locked", "--profile", profile, "-p", "arraylab", "--message-format", "json-render-diagnostics"]
    environment = dict(os.environ)
    if profile == "release":
        # As `make dist` builds it: a static program runs with any glibc.
        machine = subprocess.run(["rustc", "-vV"], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
        words += ["--target", next(line.split()[1] for line in machine.splitlines() if line.startswith("host:"))]
        environment["RUSTFLAGS"] = "-C target-feature=+crt-static"
    built = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    artifacts = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    return next(
        artifact["executable"]
        for artifact in artifacts
        if artifact.get("reason") == "compiler-artifact" and artifact.get("executable") and artifact["target"]["name"] == "arraylab"
    )
