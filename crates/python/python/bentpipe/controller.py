"""Congestion controllers of one's own: facts in, limits out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bentpipe._native import Ack, Build, ControllerClass, Error, Loss, Path, Round

NAME = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True)
class Parameter:
    """What can be set: `set("flows.file.tcp.controller_parameters.beta", 0.8)`."""

    default: float
    low: float
    """The smallest sensible value."""
    high: float
    """The largest sensible value."""
    unit: str = "1"
    summary: str = ""


class Base:
    """What all controllers have. `cwnd` is the window in bytes and `pacing` the rate in bits per second that the sender obeys;
    what is `None` does not hold it back. They are looked at after each call. The window is kept between `build.cwnd_min` and
    `build.cwnd_max`."""

    name: ClassVar[str | None] = None
    """Its name in scenarios and comparisons; without one that of the class in small letters."""
    summary: ClassVar[str] = ""
    """What it does, in a line."""
    version: ClassVar[str | None] = None
    """Tells it from what it was before: change it whenever the class does something else. Files of sweeps need one, as runs of one
    version are not run again."""
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    """What can be set; the values are in `build.parameters`."""

    cwnd: float | None
    pacing: float | None

    def __init__(self, build: Build) -> None:
        self.cwnd = build.cwnd_init
        self.pacing = None


class Controller(Base):
    """A controller that is told of each acknowledgement. Of the data under way, of round trips and of loss episodes the sender
    keeps count. What it does must follow from what it is told alone, or two runs with the same seed differ."""

    def on_ack(self, path: Path, ack: Ack) -> None:
        """Data was acknowledged for the first time."""
        raise NotImplementedError(f"{type(self).__name__}.on_ack")

    def on_loss(self, path: Path, loss: Loss) -> None:
        """Data was found lost. `loss.new_episode` marks the first loss of its window: the one to answer."""
        raise NotImplementedError(f"{type(self).__name__}.on_loss")

    def on_signal(self, path: Path, signal: str, value: float | None) -> None:
        """Something else happened: `ecn_ce`, `spurious_loss`, `recovery_done`, `idle`, `mss` (bytes), `link_rate` (bit/s), `link_up`
        (1 or 0)."""


class RoundController(Base):
    """A controller that is told of whole round trips, which costs little however fast the link is. On each acknowledgement
    meanwhile the window grows by `growth` times the bytes that it acknowledges: 1 doubles it in a round trip, `path.mss / cwnd` adds a
    segment. It does not grow while losses are repaired or where something else holds back the sender."""

    growth: float

    def __init__(self, build: Build) -> None:
        super().__init__(build)
        self.growth = 0.0

    def on_round(self, path: Path, round: Round) -> None:
        """A round trip is over, or a new loss was found (`round.loss` is its cause then, else `None`). `cwnd` is what the window has
        grown to."""
        raise NotImplementedError(f"{type(self).__name__}.on_round")


AnyController = type[Controller] | type[RoundController]


def name_of(controller: AnyController) -> str:
    """The name of a controller in scenarios."""
    name = controller.name or controller.__name__.lower()
    if not NAME.fullmatch(name):
        raise Error(f"controller `{name}`: a name has small letters, digits and dashes, and begins with a letter")
    return name


# The native module keeps a class as long as the process lives, so each one is made once.
_made: dict[AnyController, ControllerClass] = {}


def native(controller: AnyController) -> ControllerClass:
    """A class as the native module takes it."""
    if controller not in _made:
        _made[controller] = _make(controller)
    return _made[controller]


def _make(controller: AnyController) -> ControllerClass:
    settings = [
        (name, parameter.unit, parameter.default, parameter.low, parameter.high, parameter.summary)
        for name, parameter in controller.parameters.items()
    ]
    signals = issubclass(controller, Controller) and controller.on_signal is not Controller.on_signal
    rounds = issubclass(controller, RoundController)
    name, summary, version = name_of(controller), controller.summary, controller.version
    return ControllerClass(controller, name, summary, version, settings, rounds, signals)
