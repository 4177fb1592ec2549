"""Transport for satellite links: scenarios, comparisons, orbits and traces, as the `bentpipe` command has them.

The same scenario, seed and version give the same result on every machine. Results are tables, which pandas, polars, DuckDB and
pyarrow take as they are; names and units are those of the command's JSON and CSV: seconds, bytes, bits per second.
"""

from bentpipe._native import Ack, Build, Error, Loss, Path, Round, __version__, traces
from bentpipe.comparison import Comparison, Difference
from bentpipe.controller import Controller, Parameter, RoundController
from bentpipe.emulator import Relay, emulate, relay
from bentpipe.orbit import Orbit, orbit
from bentpipe.run import Run
from bentpipe.scenario import Scenario, over, scenario, scenarios, schema, variants
from bentpipe.sweep import Sweep, Written, merge, sweep
from bentpipe.table import Table
from bentpipe.trace import Trace, trace

__all__ = [
    "Ack",
    "Build",
    "Comparison",
    "Controller",
    "Difference",
    "Error",
    "Loss",
    "Orbit",
    "Parameter",
    "Path",
    "Relay",
    "Round",
    "RoundController",
    "Run",
    "Scenario",
    "Sweep",
    "Table",
    "Trace",
    "Written",
    "__version__",
    "emulate",
    "merge",
    "orbit",
    "over",
    "relay",
    "scenario",
    "scenarios",
    "schema",
    "sweep",
    "trace",
    "traces",
    "variants",
]
