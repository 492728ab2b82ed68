//! Indexes as they are stored, in `svm_index` and `svm_index_chunk`: read and written with the caller's rights.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::json::has_small_texts;
use crate::catalog::spi_failure;
use crate::features::{List, ListKind};
use crate::index::chunks::Chunk;
use crate::pg::kept_statement::Kept;
use crate::pg::origin::Derived;
use crate::pg::select::{self, Parameter, PreparedSelect, ResultRow};
use crate::pg::snapshot::with_latest;
use crate::pg::statement;
use core::ops::Range;
use pgrx::pg_sys;
use pgsvm_core::memory::{gathered, OutOfMemory, Room};
use serde::{Deserialize, Serialize};
use std::ffi::CString;

/// Longest name of an index.
const MOST_NAME_BYTES: usize = 200;
/// Columns of a table or view, at most.
const MOST_COLUMNS: usize = 1664;

/// What an index is of.
#[derive(Debug)]
pub struct Stored {
    /// The extension's, quoted.
    schema: String,
    id: i64,
    pub name: String,
    /// None where no role has the name that its owner had.
    pub owner: Option<pg_sys::Oid>,
    /// The relation, with its schema.
    pub relation: String,
    /// What it keeps, as entries of `features`.
    pub features: Vec<String>,
    pub columns: Vec<KeptColumn>,
    pub lists: Vec<KeptList>,
    /// How the columns are derived from the rows of each table behind the relation.
    pub tables: Vec<Derived>,
}

/// How much an index keeps.
pub struct Size {
    pub rows: u64,
    pub bytes: u64,
}

/// A column of which something is kept.
#[derive(Debug)]
pub struct KeptColumn {
    pub name: String,
    /// Where its numbers stand in a row; None where only lists are made of it.
    pub numbers: Option<Range<usize>>,
}

/// A list that is kept: of which kind, and the columns that it is read from.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptList {
    pub kind: ListKind,
    columns: Vec<usize>,
    /// As in [`List`]: of one that is defined otherwise now nothing is kept.
    #[serde(default, skip_serializing_if = "is_none")]
    configuration: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_none(configuration: &u64) -> bool {
    *configuration == 0
}

impl KeptList {
    /// A list of a row, whose columns begin at place `first`.
    pub fn new(list: &List, first: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            kind: list.kind,
            configuration: list.configuration,
            columns: gathered(list.columns().map(|at| at - first))?,
        })
    }

    /// Whether it is this one, of whose columns `found` tells which ones of the index they are.
    pub fn is(&self, list: &List, found: impl Fn(usize) -> Option<usize>) -> bool {
        let own = self.columns.iter().map(|column| Some(*column));
        let kinds = [
            (self.kind, self.configuration),
            (list.kind, list.configuration),
        ];
        kinds[0] == kinds[1] && list.columns().map(found).eq(own)
    }
}

/// Refuses a text that cannot be the name of an index.
pub fn check_name(name: &str) -> Result<(), Failure> {
    match (1..=MOST_NAME_BYTES).contains(&name.len()) {
        true => Ok(()),
        false => Err(Failure::new(
            Code::ERRCODE_INVALID_NAME,
            format!("\"{}\" cannot be the name of an index", shortened(name)),
        )
        .detail(format!("A name has 1 to {MOST_NAME_BYTES} bytes."))
        .hint("svm_index('relation', name => 'name')")),
    }
}

/// The extension's schema, quoted.
fn schema() -> String {
    statement::quoted_schema(statement::extension_schema()).unwrap_or_default()
}

/// No index of this name that the caller may use.
pub fn unknown(name: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_UNDEFINED_OBJECT,
        format!("index \"{}\" does not exist", shortened(name)),
    )
    .hint("SELECT name FROM svm_indexes lists yours; svm_index('relation', name => '…') makes one")
}

fn damaged(name: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_DATA_CORRUPTED,
        format!("index \"{name}\" cannot be read"),
    )
    .hint("Make it again: svm_index('relation', name => '…')")
}

/// Calls `visit` with the rows of a SELECT.
fn each_row(
    sql: &str,
    parameters: &[Parameter<'_>],
    types: &[pg_sys::Oid],
    mut visit: impl FnMut(&ResultRow) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let sql = CString::new(sql).unwrap_or_default();
    let mut outcome = Ok(());
    select::connected(|| {
        let plan = PreparedSelect::once(&sql, types);
        plan.for_each(parameters, |row| {
            outcome = visit(row);
            outcome.is_ok()
        });
    });
    outcome
}

/// The index of this name: the caller's own, or else one of a role whose rights the caller has.
pub fn find(name: &str) -> Result<Stored, Failure> {
    let schema = schema();
    let sql = format!(
        "SELECT id, relation, pg_catalog.to_json(columns)::pg_catalog.text, pg_catalog.to_json(lengths)::pg_catalog.text,
             lists::pg_catalog.text, tables, pg_catalog.to_json(features)::pg_catalog.text, owner_oid::pg_catalog.int8
         FROM {schema}.svm_index WHERE name OPERATOR(pg_catalog.=) $1
         ORDER BY owner OPERATOR(pg_catalog.=) current_user DESC, owner LIMIT 1"
    );
    let mut found = None;
    each_row(&sql, &[Parameter::Text(name)], &[pg_sys::TEXTOID], |row| {
        found = Some(read(&schema, name, row)?.ok_or_else(|| damaged(name))?);
        Ok(())
    })?;
    found.ok_or_else(|| unknown(name))
}

/// The same, locked until the transaction ends, as those before have left it. Runs its own snapshots.
pub fn lock(name: &str) -> Result<Stored, Failure> {
    loop {
        let found = with_latest(|| find(name))?;
        // in its place there may be another one of this name by then
        if found.lock()? {
            let locked = with_latest(|| find(name))?;
            if locked.id == found.id {
                return Ok(locked);
            }
        }
    }
}

/// A row of svm_index; None where it makes no sense.
fn read(schema: &str, name: &str, row: &ResultRow) -> Result<Option<Stored>, Failure> {
    let (Some(id), Some(relation), Some(tables)) = (row.int8(1), row.text(2), row.varlena(6))
    else {
        return Ok(None);
    };
    let [names, lengths, lists, features] = [3, 4, 5, 7].map(|column| row.text(column));
    let (Some(names), Some(lengths), Some(lists), Some(features)) =
        (names, lengths, lists, features)
    else {
        return Ok(None);
    };
    let texts = [&names, &lists, &features];
    let longest = lengths
        .len()
        .max(texts.iter().map(|text| text.len()).max().unwrap_or(0));
    if !texts.iter().all(|text| has_small_texts(text)) || longest > 1 << 20 {
        return Ok(None);
    }
    let owner = row.int8(8).and_then(|owner| u32::try_from(owner).ok());
    let names: Vec<String> = serde_json::from_str(&names).unwrap_or_default();
    let lengths: Vec<Option<u32>> = serde_json::from_str(&lengths).unwrap_or_default();
    let lists: Option<Vec<KeptList>> = serde_json::from_str(&lists).ok();
    let Some(lists) = lists.filter(|lists| lists.len() <= MOST_COLUMNS) else {
        return Ok(None);
    };
    if names.len() != lengths.len() || !(1..=MOST_COLUMNS).contains(&names.len()) {
        return Ok(None);
    }
    let mut end = 0;
    let columns = names.into_iter().zip(lengths).map(|(name, length)| {
        let numbers = length.map(|length| {
            let start = end;
            end += length as usize;
            start..end
        });
        KeptColumn { name, numbers }
    });
    let columns: Vec<_> = columns.collect();
    let Some(tables) = read_tables(tables.payload(), columns.len())? else {
        return Ok(None);
    };
    Ok(Some(Stored {
        schema: schema.to_owned(),
        id,
        name: name.to_owned(),
        owner: owner.map(pg_sys::Oid::from),
        relation,
        features: serde_json::from_str(&features).unwrap_or_default(),
        columns,
        lists,
        tables,
    }))
}

/// Words of eight bytes: for each table its own and one for each column.
fn read_tables(bytes: &[u8], columns: usize) -> Result<Option<Vec<Derived>>, OutOfMemory> {
    let (words, rest) = bytes.as_chunks();
    if !rest.is_empty() || words.len() % (columns + 1) != 0 {
        return Ok(None);
    }
    let mut tables = Vec::new();
    for words in words.chunks_exact(columns + 1) {
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        let mut columns = words.map(Some);
        let table = columns.next().flatten().unwrap_or_default();
        let columns = gathered(columns)?;
        tables.room(1)?.push(Derived { table, columns });
    }
    Ok(Some(tables))
}

impl Stored {
    /// Locks it, also against transactions that see it as it was; false where it is gone.
    fn lock(&self) -> Result<bool, Failure> {
        let locked = Kept(&format!(
            "WITH locked AS (
                 UPDATE {}.svm_index SET refreshed_at = pg_catalog.now() WHERE id OPERATOR(pg_catalog.=) $1 RETURNING id
             )
             SELECT EXISTS (SELECT FROM locked)",
            self.schema
        ))
        .get_one::<bool>(&[self.id.into()]);
        Ok(locked.map_err(spi_failure)? == Some(true))
    }

    /// The relation; None where it is gone, or has another name.
    pub fn relation(&self) -> Result<Option<pg_sys::Oid>, Failure> {
        Kept("SELECT pg_catalog.to_regclass($1)::pg_catalog.oid")
            .get_one::<pg_sys::Oid>(&[self.relation.as_str().into()])
            .map_err(spi_failure)
    }

    /// How much it keeps.
    pub fn size(&self) -> Result<Size, Failure> {
        let (rows, bytes) = Kept(&format!(
            "SELECT pg_catalog.sum(rows) FILTER (WHERE part OPERATOR(pg_catalog.=) 0)::pg_catalog.int8,
                 pg_catalog.sum(pg_catalog.octet_length(tuples) OPERATOR(pg_catalog.+) pg_catalog.octet_length(numbers))::pg_catalog.int8
             FROM {}.svm_index_chunk WHERE index_id OPERATOR(pg_catalog.=) $1",
            self.schema
        ))
        .get_two::<i64, i64>(&[self.id.into()])
        .map_err(spi_failure)?;
        let [rows, bytes] = [rows, bytes].map(|it| it.unwrap_or(0) as u64);
        Ok(Size { rows, bytes })
    }

    /// Numbers of a row.
    pub fn width(&self) -> usize {
        let ends = self.columns.iter().rev();
        let mut ends = ends.filter_map(|column| Some(column.numbers.as_ref()?.end));
        ends.next().unwrap_or(0)
    }

    /// Whether it has words of texts.
    pub fn has_words(&self) -> bool {
        self.lists.iter().any(|list| list.kind == ListKind::Words)
    }

    /// The place of the column of this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Refuses an index whose relation is gone, or, where that is given, is another one.
    pub fn check_relation(&self, relation: Option<&str>) -> Result<(), Failure> {
        let Self {
            name,
            relation: own,
            ..
        } = self;
        if self.relation()?.is_none() {
            return Err(Failure::new(
                Code::ERRCODE_UNDEFINED_TABLE,
                format!("relation {own} of index \"{name}\" is gone, or has another name"),
            )
            .hint("svm_drop_index('name'), and svm_index('relation') for the one to train on"));
        }
        match relation.filter(|relation| relation != own) {
            None => Ok(()),
            Some(relation) => Err(Failure::new(
                Code::ERRCODE_WRONG_OBJECT_TYPE,
                format!("index \"{name}\" is of relation {own}, not of {relation}"),
            )
            .hint("svm_index('relation', name => '…') makes one; or leave \"index\" out of the options")),
        }
    }

    /// Reads what the rows are known by, a chunk after the other.
    pub fn each_chunk(
        &self,
        mut visit: impl FnMut(i32, usize, &[u8]) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let sql = format!(
            "SELECT chunk, rows, tuples FROM {}.svm_index_chunk
             WHERE index_id OPERATOR(pg_catalog.=) $1 AND part OPERATOR(pg_catalog.=) 0 ORDER BY chunk",
            self.schema
        );
        each_row(
            &sql,
            &[Parameter::Int8(self.id)],
            &[pg_sys::INT8OID],
            |row| {
                let rows = row.int4(2).and_then(|rows| usize::try_from(rows).ok());
                let whole = match (row.int4(1), rows, row.varlena(3)) {
                    (Some(chunk), Some(rows), Some(tuples)) => {
                        visit(chunk, rows, tuples.payload())?
                    }
                    _ => false,
                };
                whole.then_some(()).ok_or_else(|| damaged(&self.name))
            },
        )
    }

    /// Reads a part of a chunk.
    pub fn part(
        &self,
        (chunk, part): (i32, usize),
        mut visit: impl FnMut(&[u8]) -> Result<bool, OutOfMemory>,
    ) -> Result<(), Failure> {
        let sql = format!(
            "SELECT numbers FROM {}.svm_index_chunk
             WHERE index_id OPERATOR(pg_catalog.=) $1 AND chunk OPERATOR(pg_catalog.=) $2
                 AND part OPERATOR(pg_catalog.=) $3",
            self.schema
        );
        let mut whole = false;
        let parameters = [
            Parameter::Int8(self.id),
            Parameter::Int4(Some(chunk)),
            Parameter::Int4(Some(part as i32)),
        ];
        each_row(
            &sql,
            &parameters,
            &[pg_sys::INT8OID, pg_sys::INT4OID, pg_sys::INT4OID],
            |row| {
                whole = match row.varlena(1) {
                    Some(numbers) => visit(numbers.payload())?,
                    None => false,
                };
                Ok(())
            },
        )?;
        whole.then_some(()).ok_or_else(|| damaged(&self.name))
    }
}

/// An index that is being stored.
pub struct Storing {
    id: i64,
    schema: String,
    /// The number of the next chunk; None where there are no more numbers.
    next: Option<i32>,
}

/// What an index keeps of what.
pub struct Description<'a> {
    pub name: &'a str,
    pub relation: &'a str,
    pub features: &'a [String],
    /// Of each column the name, and how many numbers it has, None where only lists are made of it.
    pub columns: &'a [(&'a str, Option<u32>)],
    pub lists: &'a [KeptList],
    pub tables: &'a [Derived],
}

impl Storing {
    /// Begins an index in the place of the caller's own of that name, if there is one.
    pub fn begin(of: &Description<'_>) -> Result<Self, Failure> {
        let schema = schema();
        remove(&schema, of.name, false)?;
        let lists = serde_json::to_string(of.lists).unwrap_or_default();
        let names: Vec<&str> = of.columns.iter().map(|(name, _)| *name).collect();
        let lengths = of.columns.iter().map(|(_, length)| Some((*length)? as i32));
        let lengths: Vec<Option<i32>> = lengths.collect();
        let features: Vec<&str> = of.features.iter().map(String::as_str).collect();
        let id = Kept(&format!(
            "INSERT INTO {schema}.svm_index (name, relation, features, columns, lengths, lists, tables)
             VALUES ($1, $2, $3, $4, $5, $6::pg_catalog.jsonb, $7) RETURNING id"
        ))
        .get_one::<i64>(&[
            of.name.into(),
            of.relation.into(),
            features.into(),
            names.into(),
            lengths.into(),
            lists.into(),
            table_words(of.tables)?.into(),
        ]);
        Ok(Self {
            id: id.map_err(spi_failure)?.unwrap_or_default(),
            schema,
            next: Some(0),
        })
    }

    /// Goes on with an index that is locked, behind its last chunk, where it has one.
    pub fn go_on(index: &Stored, last: Option<i32>) -> Result<Self, OutOfMemory> {
        Ok(Self {
            id: index.id,
            schema: index.schema.clone(),
            next: last.map_or(Some(0), |last| last.checked_add(1)),
        })
    }

    /// Says of which tables it keeps rows.
    pub fn set_tables(&self, tables: &[Derived]) -> Result<(), Failure> {
        Kept(&format!(
            "UPDATE {}.svm_index SET tables = $2
             WHERE id OPERATOR(pg_catalog.=) $1 AND tables OPERATOR(pg_catalog.<>) $2",
            self.schema
        ))
        .run(&[self.id.into(), table_words(tables)?.into()])
        .map_err(spi_failure)
    }

    /// Removes chunks of these numbers.
    pub fn drop_chunks(&self, numbers: Vec<i32>) -> Result<(), Failure> {
        Kept(&format!(
            "DELETE FROM {}.svm_index_chunk
             WHERE index_id OPERATOR(pg_catalog.=) $1 AND chunk OPERATOR(pg_catalog.=) ANY ($2)",
            self.schema
        ))
        .run(&[self.id.into(), numbers.into()])
        .map_err(spi_failure)
    }

    /// Stores the next chunk.
    pub fn put(&mut self, chunk: Chunk) -> Result<(), Failure> {
        let schema = &self.schema;
        let insert = format!(
            "INSERT INTO {schema}.svm_index_chunk (index_id, chunk, part, rows, tuples, numbers) VALUES ($1, $2, $3, $4, $5, $6)"
        );
        let number = self.next.ok_or_else(out_of_numbers)?;
        let mut tuples = chunk.tuples;
        for (part, numbers) in chunk.numbers.into_iter().enumerate() {
            Kept(&insert)
                .run(&[
                    self.id.into(),
                    number.into(),
                    (part as i32).into(),
                    (chunk.rows as i32).into(),
                    core::mem::take(&mut tuples).into(),
                    numbers.into(),
                ])
                .map_err(spi_failure)?;
        }
        self.next = number.checked_add(1);
        Ok(())
    }
}

/// Tables as they are stored.
fn table_words(tables: &[Derived]) -> Result<Vec<u8>, OutOfMemory> {
    let mut words = Vec::new();
    for table in tables {
        let columns = table.columns.iter();
        let columns = columns.map(|column| column.unwrap_or_default());
        words.room(8 * (1 + table.columns.len()))?.extend(
            core::iter::once(table.table)
                .chain(columns)
                .flat_map(u64::to_le_bytes),
        );
    }
    Ok(words)
}

/// Chunks have been replaced so often that no number is left.
fn out_of_numbers() -> Failure {
    Failure::new(
        Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        "the index has no number left for another chunk",
    )
    .hint("Make it again: svm_index('relation', name => '…')")
}

/// Removes the caller's own index of this name, or, where `any` says so and there is none, that of a role whose rights the caller
/// has; false where there is none either.
fn remove(schema: &str, name: &str, any: bool) -> Result<bool, Failure> {
    let removed = Kept(&format!(
        "WITH own AS (
             SELECT id FROM {schema}.svm_index
             WHERE name OPERATOR(pg_catalog.=) $1 AND (owner OPERATOR(pg_catalog.=) current_user OR $2)
             ORDER BY owner OPERATOR(pg_catalog.=) current_user DESC, owner LIMIT 1
         ), gone AS (
             DELETE FROM {schema}.svm_index AS index USING own WHERE index.id OPERATOR(pg_catalog.=) own.id RETURNING index.id
         )
         SELECT pg_catalog.count(*) FROM gone"
    ))
    .get_one::<i64>(&[name.into(), any.into()]);
    Ok(removed.map_err(spi_failure)? == Some(1))
}

/// Removes an index.
pub fn drop(name: &str) -> Result<(), Failure> {
    match remove(&schema(), name, true)? {
        true => Ok(()),
        false => Err(unknown(name)),
    }
}
