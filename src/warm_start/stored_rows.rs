//! Reading the tables of what a version remembers, a chunk a row.

use crate::base::errors::{Code, Failure};
use crate::catalog::trained_by::training;
use crate::pg::array::{ArrayProblem, NumberArray};
use crate::pg::select::{self, Parameter, PreparedSelect, ResultRow};
use crate::pg::types::NumberKind;
use pgrx::pg_sys;
use pgsvm_core::memory::{gathered, OutOfMemory};
use std::ffi::CString;

/// What a version remembers makes no sense.
pub fn damaged(model: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_DATA_CORRUPTED,
        format!("what model \"{model}\" remembers of its rows cannot be read"),
    )
    .hint(format!("Train it again: {}", training(model, "")))
}

/// A column's array of numbers; None where it is NULL or holds one.
pub fn numbers(row: &ResultRow, column: i32) -> Result<Option<Vec<f32>>, OutOfMemory> {
    let wide = wide_numbers(row, column, NumberKind::Float4)?;
    wide.map(|all| gathered(all.iter().map(|number| *number as f32)))
        .transpose()
}

/// The same of float8, or of another kind.
pub fn wide_numbers(
    row: &ResultRow,
    column: i32,
    kind: NumberKind,
) -> Result<Option<Vec<f64>>, OutOfMemory> {
    let Some(value) = row.varlena(column) else {
        return Ok(None);
    };
    let mut numbers = Vec::new();
    let array = NumberArray::new(value.payload(), kind);
    match array.and_then(|array| array.append_to(&mut numbers)) {
        Ok(any_null) => Ok((!any_null).then_some(numbers)),
        Err(ArrayProblem::Memory(error)) => Err(error),
        Err(ArrayProblem::Dimensions(_) | ArrayProblem::Damaged) => Ok(None),
    }
}

/// Calls `visit` with each row of a SELECT whose parameter is a version's id.
pub fn each_row(
    sql: &str,
    id: i64,
    mut visit: impl FnMut(&ResultRow) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let sql = CString::new(sql).unwrap_or_default();
    let mut outcome = Ok(());
    select::connected(|| {
        let plan = PreparedSelect::once(&sql, &[pg_sys::INT8OID]);
        plan.for_each(&[Parameter::Int8(id)], |row| {
            outcome = visit(row);
            outcome.is_ok()
        });
    });
    outcome
}
