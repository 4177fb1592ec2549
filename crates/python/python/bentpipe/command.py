"""The `bentpipe` command that comes with the package."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

from bentpipe._native import Error


def find() -> Path:
    """Where the command is: beside the Python that has the package, or on the path.

    Raises `Error` where there is none."""
    for scheme in (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")):
        command = Path(sysconfig.get_path("scripts", scheme)) / f"bentpipe{sysconfig.get_config_var('EXE') or ''}"
        if command.is_file():
            return command
    found = shutil.which("bentpipe")
    if found is None:
        raise Error("the command `bentpipe` is neither beside this Python nor on the path: install the package's wheel")
    return Path(found)
