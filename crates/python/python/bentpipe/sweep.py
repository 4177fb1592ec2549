"""Sweeps: many runs of a scenario, a row for each, on this machine or on workers."""

from __future__ import annotations

import ctypes
import functools
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, starmap
from pathlib import Path
from typing import Any, Protocol, overload

from bentpipe import _native, values
from bentpipe._native import Error
from bentpipe.controller import AnyController
from bentpipe.scenario import FIRST_SEEDS, Scenario, checked_jobs, variant_name
from bentpipe.table import Table
from bentpipe.values import Value

PART_SECONDS = 0.25
"""What a part takes a worker where nobody says how many runs it has: some twenty times what Dask takes for a task."""
SMALLEST = 8
"""The last parts have so many times fewer runs at least."""
LARGEST_PART = 1024
"""Most runs of such a part."""
AHEAD = 64
"""Parts that are asked for before the first of them is there, so that the memory of many does not fill."""
FOR_EACH = 2
"""Parts for each worker, if that is more; and so few where runs are short, so that their parts grow soon."""


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameters of `mallopt` of the GNU C library."""
KEPT = 32 << 20
"""Bytes that a worker keeps for its next run: what that library would come to by itself."""


class Future(Protocol):
    """What is not there yet."""

    def result(self) -> tuple[bytes, float]: ...


class Client(Protocol):
    """Who has workers: a `dask.distributed.Client`, or an `Executor` of `concurrent.futures`."""

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Any: ...


@dataclass(frozen=True)
class Written:
    """The Parquet file of a sweep."""

    path: Path
    rows: int
    """Rows in it."""
    run: int
    """Those of them that were run now; the others were there."""


class Sweep:
    """Runs that are planned: each value of each key with each variant and each seed."""

    def __init__(
        self,
        scenario: Scenario,
        vary: Mapping[str, Iterable[Value]],
        variants: Iterable[str | AnyController],
        seeds: int | Iterable[int],
        flows: Iterable[str],
    ) -> None:
        chosen = list(variants)
        brought = [variant for variant in chosen if not isinstance(variant, str)]
        self._scenario = scenario.with_controllers(*brought) if brought else scenario
        self._vary = [(key, [_written(value) for value in inner]) for key, inner in vary.items()]
        self._variants = [variant_name(variant) for variant in chosen]
        self._seeds = _seeds(seeds)
        self._flows = list(flows)
        self._native = self._plan()

    def _plan(self) -> _native.Sweep:
        return _native.Sweep(self._scenario.native, self._vary, self._variants, self._seeds, self._flows)

    def __len__(self) -> int:
        """How many runs there are."""
        return len(self._native)

    def check(self) -> None:
        """Whether every cell can be run. Raises `Error` for the first that cannot; `run` asks before its first run."""
        self._native.check(None)

    @overload
    def run(
        self, *, out: None = None, jobs: int | None = None, client: Client | None = None, chunk: int | None = None
    ) -> Table: ...
    @overload
    def run(
        self,
        *,
        out: str | os.PathLike[str],
        jobs: int | None = None,
        client: Client | None = None,
        chunk: int | None = None,
        shard: str | None = None,
        replace: bool = False,
    ) -> Written: ...
    def run(
        self,
        *,
        out: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
        client: Client | None = None,
        chunk: int | None = None,
        shard: str | None = None,
        replace: bool = False,
    ) -> Table | Written:
        """Runs everything and gives the rows in the order of the runs, or writes them into the Parquet file `out`.

        A file that is there already keeps its rows: a sweep that was broken off goes on where it was, and one that grew runs what is
        new. With `replace` rows that it does not have any more are dropped. `shard`, such as `3/100`, is the third of a hundred parts, which
        `merge` puts together. `jobs` is the number of threads, one for each core if it is left out. With `client` the runs go to its
        workers, `chunk` at a time, or as many as take a quarter of a second; a part whose worker dies is run by another one, if the client sees to that, as Dask does. The rows
        and the file are the same whoever ran what.

        Raises `Error` where a run cannot be, before the first one is; or the file is something else."""
        self._native.check(checked_jobs(jobs))
        unversioned = [one.__name__ for one in self._scenario.controllers if one.version is None]
        if out is not None and unversioned:
            raise Error(f"out: the file would not notice that {unversioned[0]} has changed; give the class a version, such as `version = \"1\"`")
        if client is not None and (jobs is not None or shard is not None):
            raise Error("client: its workers are the jobs, and it has the whole sweep; leave out jobs and shard")
        if chunk is not None and chunk < 1:
            raise Error(f"chunk: {chunk} runs are none")
        if out is None:
            if client is None:
                return Table(self._native.run(0, len(self), checked_jobs(jobs)))
            return Table(self._native.join(list(self._parts(client, chunk, [(0, len(self))]))))
        path = os.fspath(out)
        if client is None:
            rows, run = self._native.write(path, shard, replace, checked_jobs(jobs))
        else:
            rows, run = self._native.gather(path, replace, lambda missing: self._parts(client, chunk, missing))
        return Written(Path(path), rows, run)

    def _parts(self, client: Client, chunk: int | None, missing: Iterable[tuple[int, int]]) -> Iterator[bytes]:
        spans = list(missing)
        runs = chain.from_iterable(starmap(range, spans))
        left = sum(end - first for first, end in spans)
        workers = _threads(client)
        threads = workers or os.cpu_count() or 1
        few = FOR_EACH * threads
        # Dask has what a task gives on the workers that need it, and makes it anew where it is lost. Others take the sweep with each part.
        planned = client.submit(_itself, self, pure=False) if workers is not None else self
        many = max(AHEAD, few)
        # Nobody knows yet how long a run takes, unless it does not matter.
        size, least, ahead = (1, 1, few) if chunk is None else (chunk, chunk, many)
        waiting: deque[tuple[int, Future]] = deque()
        while True:
            # Towards the end parts become smaller, so that no worker waits long for the others.
            while len(waiting) < ahead and (part := list(islice(runs, min(size, max(left // (2 * threads), least))))):
                waiting.append((len(part), client.submit(run_part, planned, part)))
                left -= len(part)
            if not waiting:
                return
            count, future = waiting.popleft()
            rows, seconds = future.result()
            yield rows
            if chunk is None:
                size = min(max(int(PART_SECONDS * count / max(seconds, 1e-6)), 1), LARGEST_PART)
                least = max(size // SMALLEST, 1)
                ahead = many if size == 1 else few

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_native"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._native = self._plan()

    def __repr__(self) -> str:
        return f"<bentpipe.Sweep of {self._scenario.name}: {len(self)} runs>"


def run_part(sweep: Sweep, runs: list[int]) -> tuple[bytes, float]:
    """What a worker does: the runs of these numbers, as Arrow's IPC, and the seconds that they took."""
    _keep_memory()
    began = time.perf_counter()
    return sweep._native.run_part(runs), time.perf_counter() - began


@functools.cache
def _keep_memory() -> None:
    # Dask has the C library of its workers give memory back at each chance. The next run asks for it again: a third of its time.
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for parameter in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD):
        mallopt(parameter, KEPT)


def _itself(sweep: Sweep) -> Sweep:
    return sweep


def _threads(client: Client) -> int | None:
    # Dask says how many there are, which may be none yet; executors say nothing.
    threads: Callable[[], Mapping[str, int]] | None = getattr(client, "nthreads", None)
    return max(sum(threads().values()), 1) if threads else None


def _written(value: Value) -> str:
    # Numbers with a unit, such as `0.5 BDP`, become columns of numbers, which quotes would hide.
    return value if isinstance(value, str) else values.toml(value)


def _seeds(seeds: int | Iterable[int]) -> str:
    if isinstance(seeds, int):
        return f"1-{seeds}"
    return ",".join(str(seed) for seed in seeds)


def sweep(
    scenario: Scenario,
    vary: Mapping[str, Iterable[Value]],
    variants: Iterable[str | AnyController] = (),
    seeds: int | Iterable[int] = FIRST_SEEDS,
    *,
    flows: Iterable[str] = (),
) -> Sweep:
    """Plans a sweep: `sweep(geo, {"links.satellite.queue": ["0.5 BDP", "1 BDP"]}, ["cubic", "bbr"], seeds=100)`.

    Without variants the flows are what the scenario says. `seeds` are the seeds of each cell, or how many there are from 1 on. `flows`
    are the flows that are measured; if there are none, all that send a file or without end.

    Raises `Error` where something is there twice or cannot be read."""
    return Sweep(scenario, vary, variants, seeds, flows)


def merge(files: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], *, partial: bool = False) -> Written:
    """Puts the files of shards together; with `partial` also where runs are missing.

    Raises `Error` where files are not of one sweep, or runs are missing."""
    rows, _ = _native.merge_shards([os.fspath(file) for file in files], os.fspath(out), partial)
    return Written(Path(out), rows, 0)
