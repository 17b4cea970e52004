//! Tables for Python: the Arrow C stream interface, which polars, pandas, DuckDB and PyArrow read without a copy, and
//! NumPy over the same memory.

use crate::errors::{REFUSED, raise_text, refused};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    RecordBatchIterator, RecordBatchOptions, UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Schema};
use diagnostic::Problem;
use frame::{Column, Frame, Values};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use std::sync::Arc;

/// A table. `polars.DataFrame(table)`, `pyarrow.table(table)` and `pandas` read it without a copy.
#[pyclass(module = "arraylab._native", frozen)]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    /// Takes over the columns of a frame; only texts are copied.
    pub fn new(frame: Frame) -> PyResult<Table> {
        let rows = frame.rows();
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = frame
            .columns
            .into_iter()
            .map(|column| {
                let name = column.name.clone();
                let array = array_of(column);
                (Field::new(name, array.data_type().clone(), true), array)
            })
            .unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
        batch.map(|batch| Table { batch }).map_err(|error| raise_text(&error.to_string(), REFUSED))
    }
}

fn array_of(column: Column) -> ArrayRef {
    let nulls = column.present.map(NullBuffer::from);
    match column.values {
        Values::Integers(values) => Arc::new(Int64Array::new(values.into(), nulls)),
        Values::Unsigned(values) => Arc::new(UInt64Array::new(values.into(), nulls)),
        Values::Floats(values) => Arc::new(Float64Array::new(values.into(), nulls)),
        Values::Booleans(values) => Arc::new(BooleanArray::new(values.into(), nulls)),
        Values::Texts(values) => {
            let texts = values.iter().enumerate().map(|(row, text)| {
                nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then_some(text.as_str())
            });
            Arc::new(texts.collect::<LargeStringArray>())
        }
        Values::Categories { places, texts } => {
            let texts = Arc::new(LargeStringArray::from(texts));
            let places = UInt32Array::new(places.into(), nulls);
            // Every place is that of a text: they were made together.
            Arc::new(DictionaryArray::<UInt32Type>::new(places, texts))
        }
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Names of the columns.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.batch.schema().fields().iter().map(|field| field.name().clone()))
    }

    /// Memory of the columns, in bytes.
    #[getter]
    fn size_bytes(&self) -> usize {
        self.batch.get_array_memory_size()
    }

    /// The table as an Arrow C stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A wish for another schema is best effort by the interface; this table has one.
        let _ = requested_schema;
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// A column for NumPy: an object whose `__array_interface__` is over this table's memory, or a list of values where
    /// texts or missing values have no such form; and whether it is one.
    fn numpy_parts<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(array) = self.batch.column_by_name(name) else {
            let schema = self.batch.schema();
            let names = schema.fields().iter().map(|field| field.name().as_str());
            let hint = plan::did_you_mean(name, names.clone())
                .unwrap_or_else(|| format!("there are {}", names.collect::<Vec<_>>().join(", ")));
            let problem = Problem::new(format!("there is no column `{name}`"));
            return Err(refused(problem.with_hint(hint)));
        };
        let any = array.as_any();
        let numbers: Option<(usize, &str)> = if array.null_count() > 0 {
            None
        } else if let Some(values) = any.downcast_ref::<Int64Array>() {
            Some((values.values().as_ptr() as usize, "<i8"))
        } else if let Some(values) = any.downcast_ref::<UInt64Array>() {
            Some((values.values().as_ptr() as usize, "<u8"))
        } else {
            any.downcast_ref::<Float64Array>().map(|values| (values.values().as_ptr() as usize, "<f8"))
        };
        if let Some((address, kind)) = numbers {
            return Ok((true, address, kind, array.len()).into_pyobject(py)?.into_any());
        }
        let list = PyList::new(py, (0..array.len()).map(|row| Cell::of(array, row)))?;
        Ok((false, list).into_pyobject(py)?.into_any())
    }
}

/// A value for Python.
#[derive(IntoPyObject)]
enum Cell {
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Boolean(bool),
    Text(String),
    Missing(Option<bool>),
}

impl Cell {
    fn of(array: &ArrayRef, row: usize) -> Cell {
        let any = array.as_any();
        if array.is_null(row) {
            Cell::Missing(None)
        } else if let Some(values) = any.downcast_ref::<Int64Array>() {
            Cell::Integer(values.value(row))
        } else if let Some(values) = any.downcast_ref::<UInt64Array>() {
            Cell::Unsigned(values.value(row))
        } else if let Some(values) = any.downcast_ref::<Float64Array>() {
            Cell::Float(values.value(row))
        } else if let Some(values) = any.downcast_ref::<BooleanArray>() {
            Cell::Boolean(values.value(row))
        } else if let Some(values) = any.downcast_ref::<LargeStringArray>() {
            Cell::Text(values.value(row).to_owned())
        } else if let Some(values) = any.downcast_ref::<DictionaryArray<UInt32Type>>() {
            let texts = values.values().as_any().downcast_ref::<LargeStringArray>();
            let place = values.key(row);
            let text = texts.zip(place).map(|(texts, place)| texts.value(place).to_owned());
            text.map_or(Cell::Missing(None), Cell::Text)
        } else {
            Cell::Missing(None)
        }
    }
}
