//! Whether a version is whole: `svm_version.stored_rows` says how many rows it has in each of the other tables. A dump that
//! was restored in part, or the first copy of a replication under way, leaves a version without some of them.

use crate::base::errors::{Code, Failure};
use crate::base::json::{self, SMALL_BYTES};
use crate::pg::statement::database_name;
use serde_json::{Map, Value};

/// How many rows a version has in each table. Where nobody counted, those of 0.2.0 that a dump brought, one whose training
/// found weights has some: restoring fills a table whole or not at all.
pub struct StoredRows {
    counts: Option<Map<String, Value>>,
    has_weights: bool,
}

impl StoredRows {
    /// From the column `stored_rows`, as text; None where that is nonsense. `has_weights`: whether its weights cannot be all
    /// 0, as far as its outcome tells.
    pub fn read(counts: Option<&str>, has_weights: bool) -> Option<Self> {
        Some(Self {
            counts: match counts {
                Some(text) if text.len() > SMALL_BYTES => return None,
                Some(text) => Some(json::read(text).ok()?),
                None => None,
            },
            has_weights,
        })
    }

    /// Of a model that comes from no table.
    pub fn uncounted() -> Self {
        Self {
            counts: None,
            has_weights: false,
        }
    }

    /// Counts by table.
    pub fn to_json(counts: &[(&str, usize)]) -> Value {
        let counts = counts
            .iter()
            .map(|(table, count)| ((*table).to_owned(), Value::from(*count as u64)));
        Value::Object(counts.collect())
    }

    /// Whether a training counted them.
    pub fn are_counted(&self) -> bool {
        self.counts.is_some()
    }

    /// Refuses `model`, named with its version, where `found` rows of `table` are not what it has.
    pub fn check(&self, model: &str, table: &str, found: usize) -> Result<(), Failure> {
        let Some(counts) = &self.counts else {
            return match found == 0 && self.has_weights {
                true => Err(not_whole(
                    model,
                    table,
                    format!("it has no rows in {table}"),
                )),
                false => Ok(()),
            };
        };
        let stored = counts.get(table).and_then(Value::as_u64).unwrap_or(0);
        if stored == found as u64 {
            return Ok(());
        }
        if stored < found as u64 {
            return Err(too_many(model, table, found));
        }
        let what = format!("it has {found} of {stored} rows in {table}");
        Err(not_whole(model, table, what))
    }
}

/// Refuses a model whose current version is not there.
pub fn without_version(model: &str, version: i32) -> Failure {
    let what = format!("its current version {version} is not in svm_version");
    not_whole(model, "svm_version", what)
}

fn too_many(model: &str, table: &str, found: usize) -> Failure {
    Failure::new(
        Code::ERRCODE_DATA_CORRUPTED,
        format!("model \"{model}\" has {found} rows in {table}, more than were stored with it"),
    )
    .hint("Train it again, or use an older version: name@1.")
}

fn not_whole(model: &str, table: &str, what: String) -> Failure {
    Failure::new(
        Code::ERRCODE_DATA_CORRUPTED,
        format!("model \"{model}\" is not whole: {what}"),
    )
    .detail("A dump that was restored in part leaves a model so, and the first copy of a replication while it lasts.")
    .hint(format!(
        "Restore them: pg_restore --enable-row-security --data-only -d {} --table={table} ARCHIVE, or wait for the copy; else train the model again.",
        shell_word(&database_name())
    ))
}

/// A name as a shell reads it, as `svm_problems` writes it.
fn shell_word(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    match name.bytes().all(plain) && !name.starts_with(['-', '.']) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}
