"""Figures and what notebooks show."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import bentpipe as bp
import pytest

pytest.importorskip("matplotlib")

Shown = bp.Run | bp.Comparison | bp.Orbit | bp.Trace


@pytest.fixture(params=["run", "comparison", "orbit", "trace"])
def shown(request: pytest.FixtureRequest, line: bp.Scenario) -> Shown:
    """One result of each kind."""
    kinds: dict[str, Callable[[], Shown]] = {
        "run": lambda: line.run(seed=1, samples="100 ms"),
        "comparison": lambda: line.compare(["cubic", "bbr"], seeds=3),
        "orbit": lambda: bp.orbit("iridium", "Berkeley", "Boston", duration="20 min", step="10 s"),
        "trace": lambda: bp.trace("starlink-down"),
    }
    return kinds[request.param]()


def test_every_axis_has_a_quantity_and_its_unit(shown: Shown) -> None:
    figure = shown.plot()
    labels = [axes.get_ylabel() or axes.get_xlabel() for axes in figure.axes]
    assert labels and all(", " in label for label in labels), labels
    assert figure.axes[-1].get_xlabel() and figure.axes[0].get_title(loc="left")


def test_a_distribution_has_a_step_for_each_run_and_ends_at_one(line: bp.Scenario) -> None:
    compared = line.compare(["cubic", "bbr"], seeds=3)
    (axes,) = compared.plot_distribution().axes
    legend = axes.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == compared.ranking["variant"]
    for curve in axes.get_lines():
        shares = [float(share) for share in curve.get_ydata(orig=True)]  # type: ignore[union-attr]
        assert len(shares) == 1 + compared.replications and (shares[0], shares[-1]) == (0.0, 1.0)


def test_light_and_dark_differ_in_their_paper_and_nothing_else_is_changed(shown: Shown) -> None:
    import matplotlib
    from matplotlib.colors import to_rgb

    before = dict(matplotlib.rcParams)
    light, dark = (sum(to_rgb(shown.plot(dark=dark).get_facecolor())) for dark in (False, True))
    assert light == 3.0 and dark < 0.5
    assert dict(matplotlib.rcParams) == before


def test_a_notebook_shows_a_table_and_a_figure_for_both_screens(shown: Shown) -> None:
    text = shown._repr_html_()
    assert "<table>" in text and text.count("data:image/svg+xml;base64,") == 2
    assert shown._repr_html_() == text


def test_without_matplotlib_there_is_the_table_alone(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bentpipe.markup.find_spec", lambda _name: None)
    assert "<picture>" not in shown._repr_html_()


def test_the_package_itself_needs_no_other() -> None:
    import subprocess

    program = (
        "import sys, bentpipe as bp; bp.scenario('handoff').set('duration', '5 s').run(seed=1)._repr_html_();"
        "heavy = {'matplotlib', 'numpy', 'pandas', 'pyarrow', 'polars', 'dask'} & set(sys.modules); assert not heavy, heavy"
    )
    done: Any = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
