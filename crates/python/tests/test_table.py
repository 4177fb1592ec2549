"""Tables go to the libraries that people have, as they are."""

from __future__ import annotations

import bentpipe as bp
import pytest


@pytest.fixture
def samples(line: bp.Scenario) -> bp.Table:
    return line.run(seed=1, samples="100 ms").samples


def test_a_table_has_columns_and_rows(samples: bp.Table) -> None:
    rows = list(samples.rows())
    assert len(rows) == len(samples)
    assert list(rows[0]) == samples.column_names
    assert [row["time_s"] for row in rows] == samples["time_s"]
    assert rows[0]["route_delay_s"] is None
    with pytest.raises(bp.Error, match="no column `cwnd`; there are time_s, "):
        _ = samples["cwnd"]


def test_pyarrow_takes_it(samples: bp.Table) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(samples)
    assert table.to_pydict() == {name: samples[name] for name in samples.column_names}
    assert str(table.schema.field("cwnd_bytes").type) == "uint64"
    assert str(pyarrow.schema(samples).field("phase").type) == "string"
    assert samples.to_arrow().equals(table)


def test_a_stream_outlives_its_table(line: bp.Scenario) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    reader = pyarrow.RecordBatchReader.from_stream(line.run(seed=1).links)
    assert reader.read_all().num_rows == 2
    capsule = line.run(seed=1).links.__arrow_c_stream__()
    del capsule


def test_pandas_takes_it(samples: bp.Table) -> None:
    pytest.importorskip("pandas")
    frame = samples.to_pandas()
    assert list(frame.columns) == samples.column_names
    assert frame["delivered_bytes"].tolist() == samples["delivered_bytes"]


def test_polars_takes_it(samples: bp.Table) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(samples)
    assert frame.rows(named=True) == list(samples.rows())
    assert samples.to_polars().equals(frame)


def test_duckdb_takes_it(samples: bp.Table) -> None:
    duckdb = pytest.importorskip("duckdb")
    most = duckdb.sql("select count(*), max(delivered_bytes) from samples").fetchall()
    assert most == [(len(samples), max(samples["delivered_bytes"]))]


def test_xarray_takes_it(samples: bp.Table) -> None:
    pytest.importorskip("xarray")
    data = samples.to_xarray("flow", "time_s")
    assert dict(data.sizes) == {"flow": 1, "time_s": len(samples)}
    assert data["delivered_bytes"].sel(flow="file").values.tolist() == samples["delivered_bytes"]


def test_a_notebook_shows_the_first_rows(samples: bp.Table) -> None:
    text = samples._repr_html_()
    assert text.count("<tr>") == min(len(samples), 20) + 1
    assert "<th>cwnd_bytes</th>" in text
