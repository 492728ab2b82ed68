//! Rows of a version in one table, many to a statement: beginning a statement, with the table's checks and policies, takes longer than
//! inserting most rows does.

use crate::pg::check_for_interrupts;
use crate::pg::kept_statement::KeptStatement;
use core::fmt::Write;
use pgrx::datum::DatumWithOid;
use pgrx::spi::SpiError;
use pgrx::Spi;

/// Rows of a statement.
const AT_ONCE: usize = 64;
/// Bytes of values after which no row more is waited for.
const ENOUGH_BYTES: usize = 1 << 20;

/// A row of one of the tables.
pub trait StoredRow {
    const TABLE: &'static str;
    /// Beside `version_id`, which comes first.
    const COLUMNS: &'static [&'static str];

    /// One for each column, of the same type in each row.
    fn values(&self) -> Vec<DatumWithOid<'_>>;

    /// Bytes that the values take, about.
    fn bytes(&self) -> usize;
}

/// Stores rows of a version as they come.
pub struct RowsOfVersion<'a, R> {
    /// The extension's, quoted.
    schema: &'a str,
    version_id: i64,
    waiting: Vec<R>,
    bytes: usize,
}

impl<'a, R: StoredRow> RowsOfVersion<'a, R> {
    pub fn of(schema: &'a str, version_id: i64) -> Self {
        Self {
            schema,
            version_id,
            // of a constant size
            waiting: Vec::with_capacity(AT_ONCE),
            bytes: 0,
        }
    }

    /// Stores a row, now or with those that follow.
    pub fn put(&mut self, row: R) -> Result<(), SpiError> {
        self.bytes += row.bytes();
        self.waiting.push(row);
        match self.waiting.len() < AT_ONCE && self.bytes < ENOUGH_BYTES {
            true => Ok(()),
            false => self.store(),
        }
    }

    /// Stores those that wait.
    pub fn finish(mut self) -> Result<(), SpiError> {
        self.store()
    }

    /// All by one statement, or, so that few statements are kept, one after the other.
    fn store(&mut self) -> Result<(), SpiError> {
        let some = match self.waiting.len() {
            AT_ONCE => AT_ONCE,
            _ => 1,
        };
        let insert = self.statement(some);
        for rows in self.waiting.chunks(some) {
            check_for_interrupts();
            // the values are of the connection, whose end frees them
            Spi::connect_mut(|client| {
                let mut values = vec![self.version_id.into()];
                values.extend(rows.iter().flat_map(R::values));
                client
                    .update(KeptStatement(&insert), None, &values)
                    .map(|_| ())
            })?;
        }
        self.waiting.clear();
        self.bytes = 0;
        Ok(())
    }

    /// The statement for so many rows.
    fn statement(&self, rows: usize) -> String {
        let columns = R::COLUMNS.len();
        let (schema, table, names) = (self.schema, R::TABLE, R::COLUMNS.join(", "));
        let mut sql = format!("INSERT INTO {schema}.{table} (version_id, {names}) VALUES ");
        for row in 0..rows {
            sql.push_str(if row > 0 { ", ($1" } else { "($1" });
            for column in 0..columns {
                // a text takes what is written to it
                let _ = write!(sql, ", ${}", 2 + row * columns + column);
            }
            sql.push(')');
        }
        sql
    }
}
