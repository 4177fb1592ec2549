//! Facts in columns, which Python takes as Arrow.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::error::error;

/// A table, in one batch.
#[pyclass(frozen, module = "bentpipe._native")]
#[derive(Clone)]
pub(crate) struct Table(RecordBatch);

impl From<RecordBatch> for Table {
    fn from(batch: RecordBatch) -> Self {
        Self(batch)
    }
}

#[pymethods]
impl Table {
    /// The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The values of a column; what is not known is `None`.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.0.column_by_name(name);
        let names = || self.column_names().join(", ");
        let column =
            column.ok_or_else(|| error(format!("no column `{name}`; there are {}", names())))?;
        values(py, column)
    }

    /// The Arrow PyCapsule interface: the schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.0.schema()).map_err(error)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The Arrow PyCapsule interface: the batch. Another schema than that of the table cannot be had.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore what it cannot give (Arrow, "The PyCapsule interface").
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// The values of a column of one of the kinds that [`Columns`] makes.
fn values<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    let column = column.as_any();
    if let Some(numbers) = column.downcast_ref::<Float64Array>() {
        PyList::new(py, numbers.iter().collect::<Vec<_>>())
    } else if let Some(counts) = column.downcast_ref::<UInt64Array>() {
        PyList::new(py, counts.iter().collect::<Vec<_>>())
    } else if let Some(truths) = column.downcast_ref::<BooleanArray>() {
        PyList::new(py, truths.iter().collect::<Vec<_>>())
    } else if let Some(texts) = column.downcast_ref::<StringArray>() {
        PyList::new(py, texts.iter().collect::<Vec<_>>())
    } else {
        Err(error("a column of a kind that has no values in Python"))
    }
}

/// Columns of a table that is being made, a row for each of some things.
pub(crate) struct Columns<'a, T> {
    rows: &'a [T],
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl<'a, T> Columns<'a, T> {
    /// No column yet, and a row for each of these.
    pub(crate) const fn of(rows: &'a [T]) -> Self {
        Self { rows, fields: Vec::new(), arrays: Vec::new() }
    }

    /// Adds a column of texts.
    pub(crate) fn text<V: Into<Option<&'a str>>>(
        self,
        name: &str,
        value: impl Fn(&'a T) -> V,
    ) -> Self {
        let column: StringArray = self.rows.iter().map(|row| value(row).into()).collect();
        self.with(name, DataType::Utf8, Arc::new(column))
    }

    /// Adds a column of whole numbers.
    pub(crate) fn count<V: Into<Option<u64>>>(
        self,
        name: &str,
        value: impl Fn(&'a T) -> V,
    ) -> Self {
        let column: UInt64Array = self.rows.iter().map(|row| value(row).into()).collect();
        self.with(name, DataType::UInt64, Arc::new(column))
    }

    /// Adds a column of numbers.
    pub(crate) fn number<V: Into<Option<f64>>>(
        self,
        name: &str,
        value: impl Fn(&'a T) -> V,
    ) -> Self {
        let column: Float64Array = self.rows.iter().map(|row| value(row).into()).collect();
        self.with(name, DataType::Float64, Arc::new(column))
    }

    /// Adds a column of what is true or false.
    pub(crate) fn truth<V: Into<Option<bool>>>(
        self,
        name: &str,
        value: impl Fn(&'a T) -> V,
    ) -> Self {
        let column: BooleanArray = self.rows.iter().map(|row| value(row).into()).collect();
        self.with(name, DataType::Boolean, Arc::new(column))
    }

    /// The table of these columns.
    pub(crate) fn table(self) -> PyResult<Table> {
        let schema = Arc::new(Schema::new(self.fields));
        RecordBatch::try_new(schema, self.arrays).map(Table).map_err(error)
    }

    fn with(mut self, name: &str, kind: DataType, column: ArrayRef) -> Self {
        // Whether a value is there is a matter of the run, not of the table.
        self.fields.push(Field::new(name, kind, true));
        self.arrays.push(column);
        self
    }
}
