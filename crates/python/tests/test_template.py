"""The template of a controller works where it is copied to."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).parents[3] / "templates" / "controller-python"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TEMPLATE, tmp_path / "mine"))


def test_its_tests_pass(copy: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_it_compares_its_controllers_and_draws_them(copy: Path) -> None:
    pytest.importorskip("matplotlib")
    done = subprocess.run([sys.executable, "gentle.py", "handoff"], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "tcp-gentle-by-rounds" in done.stdout
    assert (copy / "compared.svg").read_text().startswith("<?xml")
