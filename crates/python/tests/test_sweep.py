"""Sweeps, here and on workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from controllers import Halving

VARY = {"links.space.loss": [0.001, 0.01], "links.space.queue": ["0.5 BDP", "1 BDP"]}


@pytest.fixture
def short(line: bp.Scenario) -> bp.Scenario:
    return line.set("flows.file.size", "100 kB")


@pytest.fixture
def planned(short: bp.Scenario) -> bp.Sweep:
    return bp.sweep(short, VARY, ["cubic", "bbr"], seeds=4)


@pytest.fixture
def whole(planned: bp.Sweep, tmp_path: Path) -> bytes:
    """What one thread of this process writes."""
    written = planned.run(out=tmp_path / "whole.parquet", jobs=1)
    assert (written.rows, written.run) == (32, 32)
    return written.path.read_bytes()


def test_each_value_meets_each_variant_and_each_seed(planned: bp.Sweep) -> None:
    rows = planned.run()
    assert len(rows) == len(planned) == 32
    cells = set(zip(rows["links.space.loss"], rows["links.space.queue"], rows["variant"], rows["seed"], strict=True))
    assert len(cells) == 32 and (0.01, 0.5, "tcp-bbr", 4) in cells
    assert rows["run"] == list(range(32))


def test_a_sweep_has_what_a_comparison_has(short: bp.Scenario) -> None:
    rows = bp.sweep(short, {}, ["cubic", "bbr"], seeds=3).run()
    runs = short.compare(["cubic", "bbr"], seeds=3).runs
    assert {name: rows[name] for name in runs.column_names} == {name: runs[name] for name in runs.column_names}


def test_the_file_is_that_of_the_command(
    planned: bp.Sweep, whole: bytes, short: bp.Scenario, tmp_path: Path, command: Callable[..., Any]
) -> None:
    scenario, out = tmp_path / "line.toml", tmp_path / "command.parquet"
    scenario.write_text(short.text)
    vary = ["--vary", "links.space.loss=0.001,0.01", "--vary", "links.space.queue=0.5,1 BDP"]
    done = command("sweep", str(scenario), *vary, "--variants", "cubic,bbr", "--seeds", "1-4", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == whole


def test_what_is_there_is_not_run_again(planned: bp.Sweep, short: bp.Scenario, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    planned.run(out=out)
    assert planned.run(out=out).run == 0
    more = bp.sweep(short, VARY, ["cubic", "bbr", "reno"], seeds=4).run(out=out)
    assert (more.rows, more.run) == (48, 16)
    with pytest.raises(bp.Error, match="rows are of another sweep"):
        planned.run(out=out)
    assert planned.run(out=out, replace=True).rows == 32


def test_shards_come_together(planned: bp.Sweep, whole: bytes, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.parquet" for number in (1, 2, 3)]
    for number, file in enumerate(files, start=1):
        planned.run(out=file, shard=f"{number}/3")
    assert bp.merge(files, tmp_path / "all.parquet").rows == 32
    assert (tmp_path / "all.parquet").read_bytes() == whole
    with pytest.raises(bp.Error, match="is in none of the files"):
        bp.merge(files[1:], tmp_path / "some.parquet")


def test_an_executor_gives_the_same_bytes(planned: bp.Sweep, whole: bytes, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        written = planned.run(out=tmp_path / "threads.parquet", client=threads, chunk=3)
        rows = planned.run(client=threads, chunk=5)
        own = planned.run(out=tmp_path / "own.parquet", client=threads)
    assert written.path.read_bytes() == own.path.read_bytes() == whole
    assert list(rows.rows()) == list(planned.run().rows())
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        written = planned.run(out=tmp_path / "processes.parquet", client=processes, chunk=7)
    assert written.path.read_bytes() == whole


def test_what_workers_did_before_an_error_is_kept(planned: bp.Sweep, whole: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"

    class Dying:
        """Runs two parts and no more."""

        left = 2

        def submit(self, function: Any, /, *arguments: Any) -> Any:
            self.left -= 1
            part = function(*arguments) if self.left >= 0 else None

            class Done:
                def result(self) -> tuple[bytes, float]:
                    if part is None:
                        raise ConnectionError("the worker is gone")
                    rows, seconds = part
                    assert isinstance(rows, bytes)
                    return rows, seconds

            return Done()

    with pytest.raises(ConnectionError, match="the worker is gone"):
        planned.run(out=out, client=Dying(), chunk=5)
    assert not out.exists()
    written = planned.run(out=out)
    assert (written.rows, written.run) == (32, 22)
    assert out.read_bytes() == whole


def test_workers_run_what_is_new_and_nothing_else(planned: bp.Sweep, short: bp.Scenario, tmp_path: Path) -> None:
    out, fresh = tmp_path / "grown.parquet", tmp_path / "fresh.parquet"
    planned.run(out=out)
    grown = bp.sweep(short, VARY, ["cubic", "reno", "bbr"], seeds=5)
    with ThreadPoolExecutor(2) as threads:
        written = grown.run(out=out, client=threads, chunk=3)
        grown.run(out=fresh, client=threads, chunk=7)
    assert (written.rows, written.run) == (60, 28)
    assert out.read_bytes() == fresh.read_bytes()


def test_the_version_of_a_class_says_whether_its_runs_are_known(short: bp.Scenario, tmp_path: Path) -> None:
    class First(Halving):
        name = "mine"
        version = "1"

    class Second(First):
        version = "2"

    out = tmp_path / "mine.parquet"
    assert bp.sweep(short, {}, ["cubic", First], seeds=3).run(out=out).run == 6
    assert bp.sweep(short, {}, ["cubic", First], seeds=3).run(out=out).run == 0
    with pytest.raises(bp.Error, match="3 of its 6 rows are of another sweep"):
        bp.sweep(short, {}, ["cubic", Second], seeds=3).run(out=out)
    assert bp.sweep(short, {}, ["cubic", Second], seeds=3).run(out=out, replace=True).run == 3


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A scheduler and two workers of Dask, each a process."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as started:
        yield started


@pytest.mark.filterwarnings("ignore")
def test_dask_finishes_a_sweep_whose_worker_is_killed_in_the_middle(
    cluster: Any, planned: bp.Sweep, whole: bytes, tmp_path: Path
) -> None:
    import os
    import signal

    import distributed

    with distributed.Client(cluster) as client:
        victim = cluster.workers[0].pid
        killed: list[int] = []

        class Killing:
            """Kills a worker once it has parts to run and others were gathered."""

            def submit(self, function: Any, /, *arguments: Any) -> Any:
                future = client.submit(function, *arguments, pure=False)
                if arguments[1][0] >= 16 and not killed:
                    killed.append(victim)
                    os.kill(victim, signal.SIGKILL)
                return future

        written = planned.run(out=tmp_path / "dask.parquet", client=Killing(), chunk=2)
        assert killed and written.path.read_bytes() == whole
        assert planned.run(client=client, chunk=4)["run"] == list(range(32))


def test_a_sweep_travels_as_it_is(planned: bp.Sweep, short: bp.Scenario) -> None:
    copy = pickle.loads(pickle.dumps(planned))
    assert list(copy.run().rows()) == list(planned.run().rows())
    own = bp.sweep(short, {}, [Halving], seeds=2)
    assert list(pickle.loads(pickle.dumps(own)).run().rows()) == list(own.run().rows())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"vary": {"links.space.loss": []}}, "vary: `links.space.loss` has no value"),
        ({"vary": {"links.space.loss": [0.1, 0.1]}}, "0.1 is there twice"),
        ({"vary": {"links.space.los": [0.1]}}, "did you mean `loss`"),
        ({"vary": {"links.space.loss": [0.1, 2]}}, "--vary links.space.loss=2"),
        ({"variants": ["cubik"]}, "did you mean `cubic`"),
        ({"seeds": 0}, "seeds: "),
        ({"flows": ["fil"]}, "did you mean `file`"),
    ],
)
def test_what_cannot_be_swept_is_said_before_the_first_run(short: bp.Scenario, arguments: dict[str, Any], said: str) -> None:
    complete: dict[str, Any] = {"vary": {}, "variants": ["cubic"], "seeds": 2} | arguments
    with pytest.raises(bp.Error) as error:
        bp.sweep(short, **complete).run()
    assert said in str(error.value)


def test_options_that_do_not_go_together_are_said(planned: bp.Sweep, short: bp.Scenario, tmp_path: Path) -> None:
    own = bp.sweep(short, {}, [Halving], seeds=2)
    with pytest.raises(bp.Error, match="Halving has changed; give the class a version"):
        own.run(out=tmp_path / "own.parquet")
    with ThreadPoolExecutor(1) as threads, pytest.raises(bp.Error, match="leave out jobs"):
        planned.run(client=threads, jobs=2)
    with pytest.raises(bp.Error, match="chunk: 0 runs"):
        planned.run(chunk=0)
    assert not (tmp_path / "own.parquet").exists()
