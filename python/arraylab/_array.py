"""Arrays: descriptions that twins are built of."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _native


def arrays() -> list[str]:
    """Names of the arrays that ship.

    >>> "flashsystem-840" in arraylab.arrays()
    True
    """
    return _native.array_names()


class Array:
    """An array's description, checked. It never changes: :meth:`replace` gives another one.

    >>> array = arraylab.Array.load("flashsystem-840")
    >>> array.name
    'flashsystem-840'
    """

    def __init__(self, name: str, text: str, *, is_shipped: bool = False):
        _native.array_parse(name, text)
        #: Its name.
        self.name = name
        #: Its text in the array language.
        self.text = text
        self._is_shipped = is_shipped

    @classmethod
    def load(cls, name_or_path: str | os.PathLike[str]) -> "Array":
        """An array by the name under which it ships, or from a file."""
        name, text, is_shipped = _native.array_load(os.fspath(name_or_path))
        return cls(name, text, is_shipped=is_shipped)

    @classmethod
    def of(cls, array: "Array | str | os.PathLike[str] | Mapping[str, Any]", name: str = "array") -> "Array":
        """The array itself, one by its name or path, or one of a dictionary in the array language."""
        if isinstance(array, Array):
            return array
        if isinstance(array, Mapping):
            return cls(name, json.dumps(dict(array), indent=2))
        return cls.load(array)

    def replace(self, path: str, value: Any) -> "Array":
        """Another array with the value at a path replaced: a number, a text with its unit or a map of the array language.

        >>> more = arraylab.Array.load("flashsystem-840").replace("fabric.ports", 16)
        >>> more.name
        'flashsystem-840'
        """
        return Array(self.name, _native.array_replace(self.name, self.text, path, json.dumps(value)))

    def check(self) -> dict[str, Any]:
        """What follows by arithmetic, as ``arraylab check --json`` has it: capacity, ceilings, values with origins, warnings.

        >>> arraylab.Array.load("flashsystem-840").check()["capacity"]["usable_bytes"] > 0
        True
        """
        checked: dict[str, Any] = json.loads(_native.array_check(self.name, self.text))
        return checked

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Writes the text to a file, which ``arraylab`` takes as an array."""
        target = Path(path)
        target.write_text(self.text)
        return target

    def _target(self, directory: Path) -> str:
        """The target of a run on its twin; what does not ship is written into the directory first."""
        if self._is_shipped:
            return f"twin:{self.name}"
        return f"twin:{self.write(directory / f'{self.name}.yaml')}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Array) and (self.name, self.text) == (other.name, other.text)

    def __hash__(self) -> int:
        return hash((self.name, self.text))

    def __repr__(self) -> str:
        return f"<Array {self.name}>"

    def _repr_html_(self) -> str:
        try:
            checked = self.check()
        except Exception:
            return f"<p><b>{html.escape(self.name)}</b></p><pre>{html.escape(self.text)}</pre>"
        rows = "".join(
            f"<tr><td>{html.escape(one['part'])}</td><td>{one['rw']}</td><td>{one['bs']:,}</td><td>{one['iops']:,.0f}</td></tr>"
            for one in checked["ceilings"]
        )
        capacity = checked["capacity"]
        return (
            f"<p><b>{html.escape(checked['title'])}</b>, {capacity['usable_bytes'] / 1e12:,.1f} TB of "
            f"{capacity['raw_bytes'] / 1e12:,.1f} TB usable. No load goes above these:</p>"
            f"<table><thead><tr><th>part</th><th>rw</th><th>bs (bytes)</th><th>IOPS at most</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
