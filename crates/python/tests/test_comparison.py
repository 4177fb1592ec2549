"""Comparisons: every run, the ranking, and paired differences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import bentpipe as bp
import pytest


def test_the_ranking_is_that_of_the_command(line: bp.Scenario, line_file: Path, printed: Callable[..., Any]) -> None:
    document = printed("compare", str(line_file), "--variants", "bbr,cubic,xstp", "--reps", "3", "--format", "json")
    compared = line.compare(["bbr", "cubic", "xstp"], seeds=3)
    assert compared.summary == document
    assert compared.ranking["variant"] == [row["variant"] for row in document["rows"]]
    assert compared.ranking["goodput_bps"] == [row["goodput"]["mean"] for row in document["rows"]]
    assert (compared.scenario, compared.flows, compared.replications) == ("line", ["file"], 3)


def test_nothing_is_averaged_away(line: bp.Scenario) -> None:
    compared = line.compare(["cubic", "bbr"], seeds=[5, 2, 9])
    runs = compared.runs
    assert list(zip(runs["variant"], runs["seed"], strict=True)) == [
        (variant, seed) for variant in ("tcp-cubic", "tcp-bbr") for seed in (5, 2, 9)
    ]
    for name, goodput in zip(compared.ranking["variant"], compared.ranking["goodput_bps"], strict=True):
        own = [row["goodput_bps"] for row in runs.rows() if row["variant"] == name]
        assert goodput == pytest.approx(mean(own))
    shares = [sum(row[f"limited_by_{limit}"] for limit in ("cwnd", "pacing", "rcv_buf", "snd_buf", "application"))
              for row in runs.rows()]
    assert shares == pytest.approx([1.0] * 6)


def test_differences_are_those_of_runs_with_the_same_seed(line: bp.Scenario) -> None:
    compared = line.compare(["cubic", "bbr"], seeds=4)
    by_seed: dict[tuple[Any, Any], float] = {
        (row["variant"], row["seed"]): float(row["goodput_bps"] or 0) for row in compared.runs.rows()
    }
    differences = [by_seed["tcp-bbr", seed] - by_seed["tcp-cubic", seed] for seed in range(1, 5)]
    found = compared.paired("bbr", "tcp-cubic")
    assert (found.measure, found.n) == ("goodput_bps", 4)
    assert found.mean == pytest.approx(mean(differences)) and found.sd == pytest.approx(stdev(differences))
    # Student's t of three degrees of freedom at 97.5 %.
    assert found.ci95 == pytest.approx(3.18245 * stdev(differences) / 2, rel=1e-4)
    turned = compared.paired("cubic", "bbr")
    assert turned.mean == pytest.approx(-found.mean) and turned.significant == found.significant


def test_without_chance_there_is_one_run_of_each(line: bp.Scenario) -> None:
    compared = line.set("links.space.loss", 0).compare(["cubic", "reno"], seeds=5)
    assert (compared.chance, compared.replications, len(compared.runs)) == (False, 1, 2)
    assert compared.paired("cubic", "reno").ci95 is None


def test_the_number_of_threads_changes_nothing(line: bp.Scenario) -> None:
    one, two = (line.compare(["cubic", "bbr"], seeds=3, jobs=jobs).summary for jobs in (1, 2))
    assert one == two


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"variants": ["cubik"]}, "did you mean `cubic`"),
        ({"variants": []}, "variants: name at least one"),
        ({"variants": ["cubic"], "seeds": []}, "seeds: there must be one"),
        ({"variants": ["cubic"], "seeds": [1, 1]}, "seeds: one comes twice"),
        ({"variants": ["cubic"], "seeds": [-1]}, "seeds: they lie in"),
        ({"variants": ["cubic"], "jobs": 0}, "jobs: 0 threads"),
        ({"variants": ["cubic"], "flows": ["fil"]}, "did you mean `file`"),
    ],
)
def test_what_cannot_be_compared_is_said(line: bp.Scenario, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(bp.Error) as error:
        line.compare(**arguments)
    assert said in str(error.value)


def test_a_pair_that_was_not_compared_is_said(line: bp.Scenario) -> None:
    compared = line.compare(["cubic"], seeds=1)
    with pytest.raises(bp.Error, match="`bbr` was not compared"):
        compared.paired("cubic", "bbr")
    with pytest.raises(bp.Error, match="did you mean `goodput_bps`"):
        compared.paired("cubic", "cubic", "goodput")
    with pytest.raises(bp.Error, match="fairness: no two runs"):
        compared.paired("cubic", "cubic", "fairness")
