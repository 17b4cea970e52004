"""Values of settings as the command takes them."""

from typing import Any

from ._error import ArraylabError


def text_of(name: str, value: Any) -> str:
    """A number or a text; true and false are `on` and `off`."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if not isinstance(value, (str, int, float)):
        raise ArraylabError(f"`{name}` is a {type(value).__name__}\nhint: a number or a text, such as 4096 or 4k")
    return str(value)
