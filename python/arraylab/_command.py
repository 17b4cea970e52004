"""Where the command `arraylab` is."""

import os
import shutil
import sysconfig
from pathlib import Path

from ._error import ArraylabError


def path() -> str:
    """The command that was installed with this package; ``ARRAYLAB_COMMAND`` names another."""
    given = os.environ.get("ARRAYLAB_COMMAND")
    if given:
        return given
    beside = Path(sysconfig.get_path("scripts")) / "arraylab"
    if beside.is_file():
        return str(beside)
    found = shutil.which("arraylab")
    if found is None:
        raise ArraylabError("there is no command `arraylab`\nhint: pip install arraylab brings it; ARRAYLAB_COMMAND names one")
    return found
