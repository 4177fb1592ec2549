"""Links of scenarios between real programs, in real time."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from bentpipe import command
from bentpipe._native import Error
from bentpipe.scenario import Scenario

Address = tuple[str, int]
"""A host and a port."""

LEADS = " leads to "
"""What the command says of a relay that listens, behind its address."""
ENDS_WITHIN = 10.0
"""Seconds for which a program that was asked to end is waited for: the command itself kills what it runs after five."""


class Relay:
    """A link for UDP: what is sent to `address` gets to the target over it, and answers come back over it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._counters: dict[str, Any] | None = None

    @property
    def counters(self) -> dict[str, Any]:
        """What passed in each direction, as `bentpipe emulate --json` prints it. They are there when the link has ended.

        Raises `Error` before."""
        if self._counters is None:
            raise Error("counters: they are there behind the `with` block")
        return self._counters

    def _end(self, counters: dict[str, Any]) -> None:
        self._counters = counters


@contextmanager
def relay(
    scenario: Scenario,
    target: Address,
    *,
    listen: Address = ("127.0.0.1", 0),
    swap: bool = False,
    seed: int | None = None,
) -> Iterator[Relay]:
    """Puts the link on the path of the scenario's first flow before a UDP server, until the `with` block ends. Needs no rights.

    What the server sends travels like the flow's data; with `swap` what clients send does. Port 0 takes one that is free.

    Raises `Error` where the scenario cannot be emulated or the address cannot be had."""
    options = ["--udp", f"{_written(listen)}={_written(target)}", "--json", *_options(swap, seed)]
    with _started(scenario, options, (), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stderr is not None
        said = running.stderr.readline()
        if LEADS not in said:
            raise Error(_complaint(said + running.stderr.read()))
        host, _, port = said.partition(LEADS)[0].rpartition(":")
        link = Relay((host.strip("[]"), int(port)))
        yield link
        running.send_signal(signal.SIGINT)
        counters, said = running.communicate(timeout=ENDS_WITHIN)
        if running.returncode != 0:
            raise Error(_complaint(said))
        link._end(json.loads(counters))


@contextmanager
def emulate(
    scenario: Scenario,
    program: Sequence[str],
    *,
    server: str | None = None,
    internet: bool = False,
    swap: bool = False,
    seed: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """Runs a program behind the link on the path of the scenario's first flow, in network namespaces of its own. Needs root,
    `unshare` and `ip`.

    The program is at 10.53.0.1 and fd53::1; `server`, a line for the shell, runs on the other side, at 10.53.0.2 and fd53::2. With
    `internet` the program reaches what this host reaches instead. Its exit code is that of the program; `stdout` and `stderr` are
    those of `subprocess.Popen`. A program that still runs when the `with` block ends is asked to end."""
    if not program:
        raise Error("program: name one, such as `curl`")
    form = ["--internet"] if internet else ["--netns"]
    if server is not None:
        form += ["--server", server]
    with _started(scenario, [*form, *_options(swap, seed)], program, stdout=stdout, stderr=stderr) as running:
        yield running


@contextmanager
def _started(
    scenario: Scenario,
    options: Sequence[str],
    program: Sequence[str],
    *,
    stdout: int | None,
    stderr: int | None,
) -> Iterator[subprocess.Popen[str]]:
    # A file that the scenario names stands beside its own.
    source = Path(scenario.source)
    folder = source.resolve().parent if source.is_file() else None
    with NamedTemporaryFile("w", prefix=".bentpipe-", suffix=".toml", dir=folder, encoding="utf-8") as file:
        file.write(scenario.text)
        file.flush()
        arguments = [str(command.find()), "emulate", file.name, *options]
        arguments += ["--", *program] if program else []
        with subprocess.Popen(arguments, text=True, stdout=stdout, stderr=stderr) as running:
            try:
                yield running
            finally:
                if running.poll() is None:
                    running.terminate()
                    running.wait(ENDS_WITHIN)


def _options(swap: bool, seed: int | None) -> list[str]:
    return [*(["--swap"] if swap else []), *([] if seed is None else ["--seed", str(seed)])]


def _written(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _complaint(said: str) -> str:
    return said.strip().removeprefix("bentpipe: ").removeprefix("error: ")
