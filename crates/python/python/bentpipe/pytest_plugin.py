"""A plugin for pytest that puts tests behind links.

`@pytest.mark.bentpipe("geo", seed=1, set={"links.satellite.loss": 0.01})` names the link. Such a test may take the fixture
`bentpipe_relay`: `bentpipe_relay(("127.0.0.1", 5000))` is the address of a link for UDP that leads there. With `server="..."`, a line
for the shell, the whole test runs in a network namespace behind the link instead, with the server on its other side at 10.53.0.2 and
fd53::2; it is skipped where the namespaces cannot be made. `internet=True` gives it what this host reaches. Fixtures of such a test
are set up inside, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from bentpipe.emulator import Address, emulate, relay
from bentpipe.scenario import Scenario, scenario

INSIDE = "BENTPIPE_PYTEST_INSIDE"
"""Set where a test runs behind its link already."""
MARK = 'bentpipe(scenario, *, seed=None, set={}, server=None, internet=False): run the test behind a link'


def pytest_configure(config: pytest.Config) -> None:
    """Makes the mark known."""
    config.addinivalue_line("markers", MARK)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """Runs a test that asks for namespaces in them, once more by itself."""
    mark = pyfuncitem.get_closest_marker("bentpipe")
    if mark is None or os.environ.get(INSIDE) or not (mark.kwargs.get("server") or mark.kwargs.get("internet")):
        return None
    lacking = _lacking()
    if lacking:
        pytest.skip(f"a test behind a link in namespaces takes {lacking}")
    link, seed = _link(mark)
    test = f"{pyfuncitem.config.rootpath / pyfuncitem.nodeid}"
    # Options of the project are read again; those that were given for the whole session are not for one test.
    program = ["env", f"{INSIDE}=1", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", test]
    options: dict[str, Any] = {name: mark.kwargs[name] for name in ("server", "internet") if name in mark.kwargs}
    with emulate(link, program, seed=seed, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options) as running:
        said, _ = running.communicate()
    if running.returncode != 0:
        pytest.fail(f"behind {link.name}:\n{said}", pytrace=False)
    return True


@pytest.fixture
def bentpipe_relay(request: pytest.FixtureRequest) -> Iterator[Callable[[Address], Address]]:
    """The address of a link for UDP that leads to another address; the link is that of the test's mark."""
    mark = request.node.get_closest_marker("bentpipe")
    if mark is None:
        pytest.fail("bentpipe_relay: the test has no mark `bentpipe` that names the link", pytrace=False)
    link, seed = _link(mark)
    with ExitStack() as links:

        def lead(target: Address) -> Address:
            return links.enter_context(relay(link, target, seed=seed)).address

        yield lead


def _link(mark: pytest.Mark) -> tuple[Scenario, int | None]:
    known = {"seed", "set", "server", "internet"}
    wrong = set(mark.kwargs) - known
    if len(mark.args) != 1 or wrong:
        pytest.fail(f"write {MARK.partition(':')[0]}; there is no {', '.join(sorted(wrong)) or 'scenario'}", pytrace=False)
    changes: Mapping[str, Any] = mark.kwargs.get("set", {})
    named = mark.args[0]
    link = named if isinstance(named, Scenario) else scenario(named)
    return (link.set(changes) if changes else link), mark.kwargs.get("seed")


def _lacking() -> str:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "root"
    return " and ".join(name for name in ("unshare", "ip") if shutil.which(name) is None)
