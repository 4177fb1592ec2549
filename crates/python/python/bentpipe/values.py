"""Values of Python as scenarios have them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from bentpipe._native import Error

Time = str | float
"""A time with its unit, such as `"50 ms"`, or a number of seconds."""

Value = str | bool | int | float | Sequence["Value"] | Mapping[str, "Value"]
"""What a key of a scenario can be set to."""


def time(argument: str, value: Time) -> str:
    """A time as the native module takes it: a text with a unit. Texts are checked there."""
    if isinstance(value, str):
        return value
    nanoseconds = round(value * 1e9)
    if nanoseconds < 0:
        raise Error(f"{argument}: {value} s is less than no time")
    return f"{nanoseconds} ns"


def toml(value: Value) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_text(key)} = {toml(inner)}" for key, inner in value.items()) + " }"
    return "[" + ", ".join(toml(inner) for inner in value) + "]"


def _text(text: str) -> str:
    # A string of JSON is a string of TOML, but for characters beyond U+FFFF, which `ensure_ascii` would write as pairs.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
