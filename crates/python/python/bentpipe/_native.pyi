"""The native module. Whoever uses the package has the classes of its other modules, which call these."""

from collections.abc import Callable, Iterator
from typing import final

__all__ = [
    "Ack",
    "Build",
    "Comparison",
    "ControllerClass",
    "Error",
    "Loss",
    "Path",
    "Round",
    "Run",
    "Scenario",
    "Survey",
    "Sweep",
    "Table",
    "Trace",
    "__version__",
    "merge_shards",
    "scenarios",
    "schema",
    "survey",
    "traces",
    "variants",
]

__version__: str

class Error(ValueError):
    """What was asked for cannot be; the message is that of the command."""

@final
class Table:
    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def column(self, name: str) -> list[str | float | int | bool | None]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Run:
    def json(self) -> str: ...
    def flows(self) -> Table: ...
    def links(self) -> Table: ...
    def samples(self) -> Table | None: ...
    def handovers(self) -> Table | None: ...
    def routes(self) -> Table | None: ...

@final
class Comparison:
    @property
    def scenario(self) -> str: ...
    @property
    def flows(self) -> list[str]: ...
    @property
    def replications(self) -> int: ...
    @property
    def chance(self) -> bool: ...
    def json(self) -> str: ...
    def ranking(self) -> Table: ...
    def runs(self) -> Table: ...
    def paired(self, one: str, other: str, measure: str) -> tuple[float, float | None, float | None, int]: ...

@final
class Build:
    """What a controller begins with. Sizes are in bytes."""

    @property
    def mss(self) -> int:
        """Payload of a full segment."""
    @property
    def cwnd_init(self) -> int:
        """Window at the start."""
    @property
    def cwnd_min(self) -> int:
        """The window never falls below this."""
    @property
    def cwnd_max(self) -> int:
        """The window never grows beyond this."""
    @property
    def parameters(self) -> dict[str, float]:
        """The values of the controller's parameters."""

@final
class Path:
    """What the sender knows of the path. Times are in seconds, sizes in bytes."""

    @property
    def now(self) -> float:
        """The time of the event, since the start of the run."""
    @property
    def mss(self) -> int:
        """Payload of a full segment."""
    @property
    def in_flight(self) -> int:
        """Bytes sent and neither acknowledged nor given up."""
    @property
    def peer_window(self) -> int:
        """What the receiver allows."""
    @property
    def srtt(self) -> float:
        """Smoothed round-trip time."""
    @property
    def latest_rtt(self) -> float:
        """The latest sample of it."""
    @property
    def min_rtt(self) -> float:
        """The smallest sample so far."""
    @property
    def round(self) -> int:
        """Round trips since the connection began."""
    @property
    def delivered(self) -> int:
        """Bytes delivered since then."""
    @property
    def cwnd_limited(self) -> bool:
        """The window, not the application or the receiver, limits the sender."""

@final
class Ack:
    """Data was acknowledged."""

    @property
    def bytes(self) -> int:
        """Bytes acknowledged for the first time."""
    @property
    def segments(self) -> int:
        """Segments that they came in."""
    @property
    def acks(self) -> int:
        """How many acknowledgements it stands for."""
    @property
    def delivery_rate(self) -> float | None:
        """A measurement of the delivery rate in bits per second, if there is one."""
    @property
    def app_limited(self) -> bool:
        """The application, not the network, limited the sender while that was measured."""
    @property
    def in_recovery(self) -> bool:
        """Losses found by gaps are being repaired."""
    @property
    def marked(self) -> int:
        """Of the bytes, what routers marked, where the peer tells of each mark."""

@final
class Loss:
    """Data was found lost."""

    @property
    def bytes(self) -> int:
        """Bytes found lost."""
    @property
    def cause(self) -> str:
        """How: `gap`, `timeout`, `nack`, `persistent`."""
    @property
    def new_episode(self) -> bool:
        """The first loss of its window."""
    @property
    def again(self) -> bool:
        """A repair was lost."""
    @property
    def looks_corrupt(self) -> bool:
        """The sender has reason to believe that noise, not a queue, lost it."""

@final
class Round:
    """What happened since the controller was told last: in a round trip, or until a loss."""

    @property
    def seconds(self) -> float:
        """How long it took."""
    @property
    def acks(self) -> int:
        """Acknowledgements."""
    @property
    def bytes(self) -> int:
        """Bytes acknowledged for the first time."""
    @property
    def segments(self) -> int:
        """Segments that they came in."""
    @property
    def lost_bytes(self) -> int:
        """Bytes found lost."""
    @property
    def loss(self) -> str | None:
        """The cause of a new loss episode, which ended it: `gap`, `timeout`, `nack`, `persistent`."""
    @property
    def min_rtt(self) -> float | None:
        """The smallest round-trip time in it."""
    @property
    def mean_rtt(self) -> float | None:
        """The mean of them."""
    @property
    def max_rtt(self) -> float | None:
        """The largest."""
    @property
    def delivery_rate(self) -> float | None:
        """The highest measurement of the delivery rate, in bits per second."""
    @property
    def marked(self) -> int:
        """Of the bytes, what routers marked, where the peer tells of each mark."""

@final
class ControllerClass:
    def __new__(
        cls,
        class_: object,
        name: str,
        summary: str,
        version: str | None,
        settings: list[tuple[str, str, float, float, float, str]],
        rounds: bool,
        signals: bool,
        /,
    ) -> ControllerClass: ...

@final
class Scenario:
    def with_controllers(self, controllers: list[ControllerClass]) -> Scenario: ...
    @staticmethod
    def open(name: str) -> Scenario: ...
    @staticmethod
    def parse(source: str, text: str, controllers: list[ControllerClass]) -> Scenario: ...
    @staticmethod
    def over(constellation: str, from_: str, to: str, /) -> Scenario: ...
    def with_values(self, changes: list[tuple[str, str]]) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    def run(
        self,
        seed: int | None,
        every: str | None,
        capture: str | None,
        capture_links: list[str],
        wire: bool,
    ) -> Run: ...
    def compare(
        self,
        variants: list[str] | None,
        seeds: list[int],
        jobs: int | None,
        flows: list[str],
    ) -> Comparison: ...

@final
class Sweep:
    def __new__(
        cls,
        scenario: Scenario,
        vary: list[tuple[str, list[str]]],
        variants: list[str],
        seeds: str,
        flows: list[str],
    ) -> Sweep: ...
    def __len__(self) -> int: ...
    def check(self, jobs: int | None) -> None: ...
    def run(self, first: int, end: int, jobs: int | None) -> Table: ...
    def run_part(self, runs: list[int]) -> bytes: ...
    def write(self, out: str, shard: str | None, replace: bool, jobs: int | None) -> tuple[int, int]: ...
    def gather(self, out: str, replace: bool, parts: Callable[[list[tuple[int, int]]], Iterator[bytes]]) -> tuple[int, int]: ...
    def join(self, parts: list[bytes]) -> Table: ...

@final
class Survey:
    @property
    def satellites(self) -> int: ...
    @property
    def start(self) -> str | None: ...
    @property
    def great_circle_km(self) -> float: ...
    @property
    def fibre_delay_s(self) -> float: ...
    @property
    def counts(self) -> tuple[int, int, int]: ...
    @property
    def delay_s(self) -> tuple[float, float, float, float] | None: ...
    @property
    def handover_counts(self) -> tuple[int, int]: ...
    def samples(self) -> Table: ...
    def handovers(self) -> Table: ...

@final
class Trace:
    @staticmethod
    def open(name: str, delays: str | None = None) -> Trace: ...
    @staticmethod
    def parse(source: str, text: str) -> Trace: ...
    @staticmethod
    def import_(format: str, file: str, up: bool, gap: int, interval: str) -> Trace: ...
    def with_(self, other: Trace) -> Trace: ...
    @property
    def seconds(self) -> float: ...
    def json(self) -> str: ...
    def rows(self) -> Table: ...
    def write(self, path: str) -> None: ...

def merge_shards(files: list[str], out: str, partial: bool) -> tuple[int, int]: ...
def scenarios() -> list[tuple[str, str]]: ...
def variants() -> list[tuple[str, str]]: ...
def schema() -> str: ...
def traces() -> list[str]:
    """The names of the traces that come with the package."""

def survey(
    constellation: str,
    from_: str,
    to: str,
    /,
    *,
    gateways: list[str],
    duration: str,
    step: str,
    first: str,
    update_interval: str,
    policy: str | None = None,
    ground_stations: bool | None = None,
    to_host: bool = False,
    mask: float | None = None,
    isl: int | None = None,
    start: str | None = None,
) -> Survey: ...
