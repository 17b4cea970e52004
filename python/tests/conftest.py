"""Runs that the tests read, made once by the command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import arraylab

LONG = os.environ.get("ARRAYLAB_LONG") == "1"


def command(*words, check=True):
    """Runs the command that was installed with the package."""
    environment = os.environ | {"ARRAYLAB_PYTHON": sys.executable}
    done = subprocess.run([arraylab._command.path(), *map(str, words)], capture_output=True, text=True, env=environment)
    assert not check or done.returncode == 0, done.stderr
    return done


def json_lines(text):
    """Objects of a text with one on each line."""
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="session")
def example_run(tmp_path_factory) -> Path:
    """The plan `quick` on a twin, a second a case."""
    run = tmp_path_factory.mktemp("runs") / "quick"
    command("run", "quick", "--target", "twin:composite-flash", "--out", run, "--set", "runtime=1", "--set", "ramp_time=0.2")
    return run
