"""Scenarios: what is run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, overload

from bentpipe import _native, values
from bentpipe._native import Error
from bentpipe.comparison import Comparison
from bentpipe.controller import AnyController, name_of, native
from bentpipe.run import Run
from bentpipe.values import Time, Value

FIRST_SEEDS = 10
"""Runs of each variant where nothing is said."""


class Scenario:
    """Nodes, links between them, flows over them. A scenario never changes: `set` gives another one."""

    def __init__(self, native: _native.Scenario, controllers: tuple[AnyController, ...] = ()) -> None:
        self._native = native
        self._controllers = controllers

    @property
    def name(self) -> str:
        """Its name."""
        return self._native.name

    @property
    def description(self) -> str:
        """What it is."""
        return self._native.description

    @property
    def source(self) -> str:
        """The file or the name that it came from."""
        return self._native.source

    @property
    def native(self) -> _native.Scenario:
        """What the native module has of it."""
        return self._native

    @property
    def controllers(self) -> tuple[AnyController, ...]:
        """The classes that it may name."""
        return self._controllers

    @property
    def text(self) -> str:
        """Its TOML, with all values that were set."""
        return self._native.text

    @overload
    def set(self, key: str, value: Value, /) -> Scenario: ...
    @overload
    def set(self, changes: Mapping[str, Value], /) -> Scenario: ...
    def set(self, key: str | Mapping[str, Value], value: Value | None = None, /) -> Scenario:
        """The same with another value: `set("links.satellite.loss", 0.01)`, or several at once in a dictionary. Keys are those
        of `bentpipe run --set`. Whether the values fit together is asked when all are set.

        Raises `Error` where a key does not exist or a value cannot be."""
        if isinstance(key, str):
            if value is None:
                raise Error(f"set: `{key}` needs a value")
            key = {key: value}
        changes = [(name, values.toml(inner)) for name, inner in key.items()]
        return Scenario(self._native.with_values(changes), self._controllers)

    def with_controllers(self, *controllers: AnyController) -> Scenario:
        """The same with these classes for it to name: `set("flows.file.tcp.controller", "mine")`. `compare` takes them as they are.

        Raises `Error` where two controllers have the same name."""
        known = (*self._controllers, *(new for new in controllers if new not in self._controllers))
        return Scenario(self._native.with_controllers([native(one) for one in known]), known)

    def run(
        self,
        seed: int | None = None,
        samples: Time | None = None,
        *,
        pcap: str | os.PathLike[str] | None = None,
        pcap_links: Iterable[str] = (),
        wire: bool = False,
    ) -> Run:
        """Runs it once, with its own seed or this one.

        `samples` is the time from one look at the flows to the next, such as `"50 ms"` or `0.05`; without it there are no
        samples. `pcap` is the file for a capture of every packet that enters a link, or one of `pcap_links`. With `wire` every
        packet is encoded and real bits are flipped; the result is the same.

        Raises `Error` where parts of the scenario do not fit together, or the file cannot be written."""
        every = None if samples is None else values.time("samples", samples)
        capture = None if pcap is None else os.fspath(pcap)
        return Run(self._native.run(seed, every, capture, list(pcap_links), wire))

    def compare(
        self,
        variants: Iterable[str | AnyController] | None = None,
        seeds: int | Iterable[int] = FIRST_SEEDS,
        *,
        jobs: int | None = None,
        flows: Iterable[str] = (),
    ) -> Comparison:
        """Runs it with each variant and ranks them by goodput.

        `variants` are names of `bentpipe.variants()`, or classes, which are TCP with that controller; without any they are the usual ones that the scenario can have. `seeds` are
        the seeds of the runs of each variant, or how many there are from 1 on. `jobs` is the number of threads, one for each core
        if it is left out; the result does not depend on it. `flows` are the flows that are compared; if there are none, all that
        send a file or without end.

        Raises `Error` where a flow or a variant cannot be."""
        chosen = None if variants is None else list(variants)
        if chosen is not None and not chosen:
            raise Error("variants: name at least one, such as `cubic`")
        brought = [variant for variant in chosen or () if not isinstance(variant, str)]
        scenario = self.with_controllers(*brought) if brought else self
        names = None if chosen is None else [variant_name(one) for one in chosen]
        return Comparison(scenario._native.compare(names, _seeds(seeds), checked_jobs(jobs), list(flows)))

    def __repr__(self) -> str:
        return f"<bentpipe.Scenario {self.name}: {self.description}>"

    def __reduce__(self) -> tuple[Any, tuple[str, str, tuple[AnyController, ...]]]:
        return _parse, (self.source, self.text, self._controllers)


def variant_name(variant: str | AnyController) -> str:
    """The name of a variant; a class is TCP with that controller."""
    return variant if isinstance(variant, str) else f"tcp-{name_of(variant)}"


def _seeds(seeds: int | Iterable[int]) -> list[int]:
    chosen = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not chosen:
        raise Error("seeds: there must be one at least")
    if len(set(chosen)) < len(chosen):
        raise Error("seeds: one comes twice, which would be the same run")
    if min(chosen) < 0 or max(chosen) >= 2**64:
        raise Error("seeds: they lie in 0..=18446744073709551615")
    return chosen


def checked_jobs(jobs: int | None) -> int | None:
    """A number of threads. Raises `Error` for one that does nothing."""
    if jobs is not None and jobs < 1:
        raise Error(f"jobs: {jobs} threads do nothing; leave it out for one on each core")
    return jobs


def _parse(source: str, text: str, controllers: tuple[AnyController, ...] = ()) -> Scenario:
    classes = [native(one) for one in controllers]
    return Scenario(_native.Scenario.parse(source, text, classes), controllers)


def scenario(name: str | os.PathLike[str] | None = None, *, toml: str | None = None) -> Scenario:
    """The scenario in a file, or the one of this name that comes with the package (`bentpipe.scenarios()`), or that of a text.

    Raises `Error` where there is none or it is not valid, with the line and the key."""
    if toml is not None:
        return _parse("scenario" if name is None else os.fspath(name), toml)
    if name is None:
        raise Error("scenario: give a name, a file, or a text as `toml`")
    return Scenario(_native.Scenario.open(os.fspath(name)))


def over(constellation: str, from_: str, to: str) -> Scenario:
    """A flow between two places over a constellation, as `bentpipe run --profile` has it."""
    return Scenario(_native.Scenario.over(constellation, from_, to))


def scenarios() -> dict[str, str]:
    """The scenarios that come with the package, and what each of them is."""
    return dict(_native.scenarios())


def variants() -> dict[str, str]:
    """The variants that `compare` knows by name, and what each of them is."""
    return dict(_native.variants())


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files."""
    document: dict[str, Any] = json.loads(_native.schema())
    return document
