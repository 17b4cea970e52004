"""Documentation that runs: examples of docstrings, stubs, notebooks."""

import doctest
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import arraylab

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def modules():
    """The package's modules, without those that are programs or native."""
    names = [module.name for module in pkgutil.iter_modules(arraylab.__path__)]
    return [f"arraylab.{name}" for name in names if name not in ("_native", "_hyperqueue", "__main__")]


def test_examples(example_run):
    """Proves that every example in a docstring does what it says."""
    names = {"arraylab": arraylab, "EXAMPLE_RUN": example_run}
    examples = 0
    for name in ["arraylab", *modules()]:
        __import__(name)
        found = doctest.testmod(sys.modules[name], extraglobs=names, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert found.failed == 0, name
        examples += found.attempted
    assert examples > 30


def test_public_names_are_documented():
    """Proves that every public function, class and method has a docstring, and that functions show an example."""
    for name in arraylab.__all__:
        one = getattr(arraylab, name)
        if inspect.isfunction(one):
            assert ">>>" in one.__doc__ or name in ("compare", "fit"), name
        if inspect.isclass(one):
            assert inspect.getdoc(one), name
            for member, value in vars(one).items():
                assert member.startswith("_") or inspect.getdoc(value), f"{name}.{member}"


def test_stubs_are_those_of_the_module(tmp_path):
    """Proves that the stubs have every name and argument of the native module, and that the package type-checks."""
    for words in (["mypy.stubtest", "arraylab._native"], ["mypy", "--strict", "-p", "arraylab"]):
        # The second reads what the first made of the stubs of NumPy and polars.
        environment = os.environ | {"MYPY_CACHE_DIR": str(tmp_path)}
        done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, env=environment, cwd="/tmp")
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[notebook.stem for notebook in NOTEBOOKS])
def test_notebooks(notebook, tmp_path, monkeypatch):
    """Proves that each notebook runs from end to end in an empty directory and is kept without outputs."""
    import nbformat
    from nbclient import NotebookClient

    read = nbformat.read(notebook, as_version=4)
    for cell in read.cells:
        assert not cell.get("outputs") and not cell.get("execution_count"), "outputs are stripped: jupyter nbconvert --clear-output --inplace"
    monkeypatch.chdir(tmp_path)
    NotebookClient(read, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in read.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)


def test_there_are_four_notebooks():
    """Proves that no notebook is skipped because it is not there."""
    assert len(NOTEBOOKS) == 4
