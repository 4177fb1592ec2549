"""Tables of results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bentpipe import markup
from bentpipe._native import Table as Native

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    import xarray

class Table:
    """A table that whoever knows Arrow's PyCapsule interface takes as it is: `polars.DataFrame(table)`,
    `pyarrow.table(table)`, `duckdb.sql("from table")`, `pandas.DataFrame.from_arrow(table)`."""

    def __init__(self, native: Native) -> None:
        self._native = native

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
        return self._native.column_names

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, name: str) -> list[Any]:
        """The values of a column; what is not known is `None`."""
        return self._native.column(name)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, as dictionaries; what is not known is `None`."""
        names = self.column_names
        for values in zip(*(self[name] for name in names), strict=True):
            yield dict(zip(names, values, strict=True))

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """The same for pyarrow, which must be installed."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The same for pandas, which must be installed; before its version 3 pyarrow, too."""
        import pandas

        from_arrow = getattr(pandas.DataFrame, "from_arrow", None)
        frame: pandas.DataFrame = from_arrow(self) if from_arrow else self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The same for polars, which must be installed."""
        import polars

        return polars.DataFrame(self)

    def to_xarray(self, *dimensions: str) -> xarray.Dataset:
        """The same for xarray, which must be installed with pandas. The columns that are named become dimensions; without
        any the rows are numbered."""
        frame = self.to_pandas()
        if dimensions:
            frame = frame.set_index(list(dimensions))
        data: xarray.Dataset = frame.to_xarray()
        return data

    def __repr__(self) -> str:
        return f"<bentpipe.Table: {len(self)} rows of {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        return markup.table(self.column_names, self.rows(), len(self))
