"""Real programs and tests behind links."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import bentpipe as bp
import pytest

pytest_plugins = ["pytester"]

in_namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"),
    reason="network namespaces take root, unshare and ip",
)


@pytest.fixture
def echo() -> Iterator[tuple[str, int]]:
    """A server that sends back what it gets, until it gets nothing."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            data, client = server.recvfrom(2000)
            if not data:
                return
            server.sendto(data, client)

    thread = threading.Thread(target=serve)
    thread.start()
    yield server.getsockname()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
        last.sendto(b"", server.getsockname())
    thread.join()
    server.close()


def test_a_relay_delays_what_passes_and_counts_it(line: bp.Scenario, echo: tuple[str, int]) -> None:
    with bp.relay(line.set("links.space.loss", 0), echo) as link:
        with pytest.raises(bp.Error, match="behind the `with` block"):
            _ = link.counters
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(20)
            begun = time.monotonic()
            client.sendto(b"there and back", link.address)
            assert client.recv(2000) == b"there and back"
            # Not less than the delay of the link, twice; how much more is the machine's business.
            assert time.monotonic() - begun >= 0.1
    assert (link.counters["forward"]["delivered"], link.counters["return"]["delivered"]) == (1, 1)


def test_a_relay_that_cannot_be_says_why(line: bp.Scenario, echo: tuple[str, int]) -> None:
    with pytest.raises(bp.Error, match="127.0.0.1:"), bp.relay(line, echo, listen=echo):
        pass


def test_a_relay_ends_with_its_block_also_by_an_exception(line: bp.Scenario, echo: tuple[str, int]) -> None:
    with pytest.raises(KeyError), bp.relay(line, echo) as link:
        raise KeyError("of the test")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
        again.bind(link.address)


@in_namespaces
def test_a_program_runs_behind_the_link_with_a_server_on_its_other_side(line: bp.Scenario) -> None:
    look = "import os; print(os.popen('ip -o -4 addr show bentpipe0').read())"
    with bp.emulate(line, [sys.executable, "-c", look], stdout=subprocess.PIPE) as program:
        out, _ = program.communicate(timeout=60)
    assert program.returncode == 0 and "10.53.0.1/24" in out


@in_namespaces
def test_a_program_that_still_runs_is_ended_with_the_block(line: bp.Scenario) -> None:
    with bp.emulate(line, ["sleep", "1000"]) as program:
        assert program.poll() is None
    assert program.returncode is not None


def test_no_program_is_said(line: bp.Scenario) -> None:
    with pytest.raises(bp.Error, match="program: name one"), bp.emulate(line, []):
        pass


RELAYED = """
import socket, pytest

@pytest.mark.bentpipe("geo", set={"links.satellite.delay": "30 ms"}, seed=3)
def test_datagrams_pass(bentpipe_relay):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        server.bind(("127.0.0.1", 0))
        server.settimeout(20)
        client.sendto(b"over a link", bentpipe_relay(server.getsockname()))
        assert server.recv(100) == b"over a link"

def test_without_a_mark(bentpipe_relay): ...

@pytest.mark.bentpipe("goe")
def test_of_no_link(bentpipe_relay): ...

@pytest.mark.bentpipe("geo", sede=1)
def test_of_no_option(bentpipe_relay): ...
"""

ENCLOSED = """
import os, urllib.request, pytest

@pytest.mark.bentpipe("leo-broadband", server="exec PYTHON -m http.server --bind 10.53.0.2 8000")
def test_the_server_answers():
    assert urllib.request.urlopen("http://10.53.0.2:8000/", timeout=30).status == 200

@pytest.mark.bentpipe("leo-broadband", server="exec PYTHON -m http.server --bind 10.53.0.2 8000")
def test_that_fails():
    assert urllib.request.urlopen("http://10.53.0.2:8000/", timeout=30).status == 404
"""


def run(pytester: pytest.Pytester, text: str) -> pytest.RunResult:
    pytester.makepyfile(text)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider")


def test_the_plugin_gives_a_test_a_link_for_udp(pytester: pytest.Pytester) -> None:
    result = run(pytester, RELAYED)
    result.assert_outcomes(passed=1, errors=3)
    result.stdout.fnmatch_lines(["*has no mark `bentpipe`*"])
    result.stdout.fnmatch_lines(["*did you mean the built-in scenario `geo`*"])
    result.stdout.fnmatch_lines(["*there is no sede*"])


@in_namespaces
def test_the_plugin_puts_a_whole_test_behind_a_link(pytester: pytest.Pytester) -> None:
    result = run(pytester, ENCLOSED.replace("PYTHON", sys.executable))
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*behind leo-broadband*", "*assert 200 == 404*"])


def test_without_root_such_a_test_is_skipped(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import os\nos.geteuid = lambda: 1000\n")
    result = run(pytester, ENCLOSED.replace("PYTHON", sys.executable))
    result.assert_outcomes(skipped=2)
