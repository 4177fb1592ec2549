"""What the tests have in common."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest

LINE = """
name = "line"
description = "A link with losses"
encapsulation = "ip"
nodes = ["a", "b"]

[links.space]
between = ["a", "b"]
rate = "10 Mbit/s"
queue = "250 kB"
delay = "50 ms"
loss = 0.002

[flows.file]
from = "a"
to = "b"
size = "1 MB"
protocol = "tcp"
"""


@pytest.fixture
def line() -> bp.Scenario:
    """A short transfer over a link with losses."""
    return bp.scenario(toml=LINE)


@pytest.fixture
def line_file(tmp_path: Path) -> Path:
    """The same as a file."""
    path = tmp_path / "line.toml"
    path.write_text(LINE)
    return path


@pytest.fixture
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the `bentpipe` that was installed with the package."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("bentpipe")
        return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture
def printed(command: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., Any]:
    """The JSON that the command prints."""

    def run(*arguments: str) -> Any:
        done = command(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
