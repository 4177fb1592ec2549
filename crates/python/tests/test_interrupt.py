"""Ctrl-C ends what takes long, and what was there before stays."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

LONG = """
import signal
import sys
import bentpipe as bp

# Who runs the tests in the background of a shell ignores it, and hands that on.
signal.signal(signal.SIGINT, signal.default_int_handler)

geo = bp.scenario("geo").set("flows.file.size", "4000 GB").set("duration", "1000 h")
try:
    print("begins", flush=True)
    {work}
except KeyboardInterrupt:
    print("broken off", flush=True)
    sys.exit(3)
"""


@pytest.mark.parametrize(
    "work",
    [
        "geo.run()",
        'geo.compare(["cubic", "bbr"], seeds=2)',
        'bp.sweep(geo, {"links.satellite.loss": [0, 0.01]}, seeds=2).run(out=sys.argv[1])',
        'bp.sweep(geo, {"links.satellite.loss": [0, 0.01]}, seeds=2).run()',
    ],
)
def test_a_signal_breaks_off_what_takes_long(work: str, tmp_path: Path) -> None:
    script = LONG.format(work=work)
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "out.parquet")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "begins\n"
        process.send_signal(signal.SIGINT)
        try:
            said, wrong = process.communicate(timeout=60)
        finally:
            process.kill()
        assert (said, process.returncode) == ("broken off\n", 3), wrong
