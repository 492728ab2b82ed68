//! Indexes as they are stored, in `svm_index` and `svm_index_chunk`: read and written with the caller's rights.

use crate::base::errors::{shortened, Code, Failure};
use crate::base::json;
use crate::base::text::listed;
use crate::catalog::spi_failure;
use crate::features::{ListKind, ListOfPart};
use crate::index::chunks::Chunk;
use crate::pg::acting::{self, ActingAs};
use crate::pg::kept_statement::{read_one, read_two, KeptStatement};
use crate::pg::origin::DerivedOrigin;
use crate::pg::select::{self, Parameter, PreparedSelect, ResultRow};
use crate::pg::snapshot::with_latest;
use crate::pg::statement::{self, ReadOnly};
use core::ops::Range;
use pgrx::pg_sys;
use pgrx::spi::quote_literal;
use pgsvm_core::memory::{gathered, list, OutOfMemory, Room};
use serde::{Deserialize, Serialize};
use std::ffi::CString;

/// Longest name of an index.
const MOST_NAME_BYTES: usize = 200;
/// Columns of a table or view, at most.
const MOST_COLUMNS: usize = 1664;

/// What an index is of.
#[derive(Debug)]
pub struct StoredIndex {
    /// The extension's, quoted.
    schema: String,
    id: i64,
    pub name: String,
    /// The name, of another role's index behind that of the role: what finds it again.
    pub shown: String,
    /// None where no role has the name that its owner had.
    pub owner: Option<pg_sys::Oid>,
    /// The relation, with its schema.
    pub relation: String,
    /// What it keeps, as entries of `features`.
    pub features: Vec<String>,
    pub columns: Vec<KeptColumn>,
    pub lists: Vec<KeptList>,
    /// How the columns are derived from the rows of each table behind the relation.
    pub tables: Vec<DerivedOrigin>,
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
    #[serde(deserialize_with = "list")]
    columns: Vec<usize>,
    /// As in [`ListOfPart`]: of one that is defined otherwise now nothing is kept.
    #[serde(default, skip_serializing_if = "is_none")]
    configuration: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_none(configuration: &u64) -> bool {
    *configuration == 0
}

impl KeptList {
    /// A list of a row, whose columns begin at place `first`.
    pub fn new(list: &ListOfPart, first: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            kind: list.kind,
            configuration: list.configuration,
            columns: gathered(list.columns().map(|at| at - first))?,
        })
    }

    /// Whether it is this one, of whose columns `found` tells which ones of the index they are.
    pub fn is(&self, list: &ListOfPart, found: impl Fn(usize) -> Option<usize>) -> bool {
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
    match (1..=MOST_NAME_BYTES).contains(&name.len()) && !name.contains('.') {
        true => Ok(()),
        false => Err(Failure::new(
            Code::ERRCODE_INVALID_NAME,
            format!("\"{}\" cannot be the name of an index", shortened(name)),
        )
        .detail(format!(
            "A name has 1 to {MOST_NAME_BYTES} bytes and no dot, which separates owner and name in owner.name."
        ))
        .hint("svm_index('…', name => '…')")),
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
    .hint("SELECT name FROM svm_indexes lists yours; svm_index('…', name => '…') makes one")
}

/// The same where another role has one of this name.
fn of_another(name: &str, owner: &str) -> Failure {
    let full = shortened(&format!("{owner}.{name}"));
    unknown(name)
        .detail(format!(
            "Role \"{owner}\" has one, and what it keeps is what that role wrote."
        ))
        .hint(format!(
            "Name it with its owner to use it all the same: '{full}'"
        ))
}

fn ambiguous(name: &str, owners: &[String]) -> Failure {
    Failure::new(
        Code::ERRCODE_AMBIGUOUS_ALIAS,
        format!("\"{}\" may be the index of several roles", shortened(name)),
    )
    .detail(format!(
        "These have one of a relation of theirs: {}.",
        listed(owners)
    ))
    .hint(format!(
        "Name it with its owner: '{}.{}'",
        owners.first().map_or("…", String::as_str),
        shortened(name)
    ))
}

fn ownerless(name: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_UNDEFINED_OBJECT,
        format!("index \"{name}\" belongs to a role that is gone"),
    )
    .hint(format!(
        "svm_drop_index('{}'), and svm_index('…') for one of your own",
        shortened(name)
    ))
}

fn not_a_member(name: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("index \"{name}\" belongs to another role"),
    )
    .detail("It is brought up to date with the rights of its owner.")
    .hint("A member of that role, or a superuser, may do it")
}

fn damaged(name: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_DATA_CORRUPTED,
        format!("index \"{name}\" cannot be read"),
    )
    .hint("Make it again: svm_index('…', name => '…')")
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

/// Whose index a name may stand for besides the caller's own, unless it says so itself.
#[derive(Clone, Copy)]
pub enum Believed {
    /// This role's, to which the rows belong that are to be read, where they belong to one.
    Owner(Option<pg_sys::Oid>),
    /// That of a role to which the relation belongs that it is of.
    OwnerOfItsRelation,
}

/// The columns of svm_index that are read, and what follows them.
const COLUMNS: &str = "index.id, index.relation, pg_catalog.to_json(index.columns)::pg_catalog.text,
    pg_catalog.to_json(index.lengths)::pg_catalog.text, index.lists::pg_catalog.text, index.tables,
    pg_catalog.to_json(index.features)::pg_catalog.text, index.owner_oid::pg_catalog.int8, index.name";

/// Whose it is: the caller's, that of whoever else is meant, somebody else's.
const OWN: i32 = 2;
const MEANT: i32 = 1;
const OTHER: i32 = 0;

/// The index that a text names: `owner.name`, or a name: of the caller's own, or else of one whose owner is `believed`. What an
/// index keeps is what its owner wrote, so that of anybody else must be named with its owner.
pub fn find(text: &str, believed: Believed) -> Result<StoredIndex, Failure> {
    let schema = schema();
    let (owner, name) = match text.rsplit_once('.') {
        Some((owner, name)) => (Some(owner), name),
        None => (None, text),
    };
    let (others, role) = match (owner, believed) {
        (Some(_), _) => (
            "coalesce(role.rolname, index.owner) OPERATOR(pg_catalog.=) $3",
            0,
        ),
        (None, Believed::Owner(owner)) => (
            "index.owner_oid::pg_catalog.int8 OPERATOR(pg_catalog.=) $2",
            owner.map_or(0, |owner| i64::from(owner.to_u32())),
        ),
        (None, Believed::OwnerOfItsRelation) => (
            "EXISTS (
                 SELECT FROM pg_catalog.pg_class AS class
                 JOIN pg_catalog.pg_namespace AS space ON space.oid OPERATOR(pg_catalog.=) class.relnamespace
                 WHERE class.relowner OPERATOR(pg_catalog.=) index.owner_oid AND index.relation OPERATOR(pg_catalog.=) pg_catalog.concat(
                     pg_catalog.quote_ident(space.nspname), '.', pg_catalog.quote_ident(class.relname))
             )",
            0,
        ),
    };
    let sql = format!(
        "SELECT {COLUMNS}, coalesce(role.rolname, index.owner)::pg_catalog.text, whose
         FROM {schema}.svm_index AS index
         LEFT JOIN pg_catalog.pg_roles AS role ON role.oid OPERATOR(pg_catalog.=) index.owner_oid
         CROSS JOIN LATERAL (SELECT CASE
             WHEN $3 OPERATOR(pg_catalog.=) '' AND role.rolname OPERATOR(pg_catalog.=) CURRENT_USER THEN {OWN}
             WHEN {others} THEN {MEANT} ELSE {OTHER} END) AS known (whose)
         WHERE index.name OPERATOR(pg_catalog.=) $1 AND $2 IS NOT NULL ORDER BY whose DESC, index.owner LIMIT 100"
    );
    let mut all: Vec<(i32, String, Option<StoredIndex>)> = Vec::new();
    let parameters = [
        Parameter::Text(name),
        Parameter::Int8(role),
        Parameter::Text(owner.unwrap_or_default()),
    ];
    let types = [pg_sys::TEXTOID, pg_sys::INT8OID, pg_sys::TEXTOID];
    each_row(&sql, &parameters, &types, |row| {
        let whose = row.int4(11).unwrap_or(OTHER);
        if all.first().is_none_or(|(before, ..)| *before == whose) {
            let found = match whose {
                OTHER => None,
                _ => Some(read(&schema, row)?.ok_or_else(|| damaged(text))?),
            };
            all.room(1)?
                .push((whose, row.text(10).unwrap_or_default(), found));
        }
        Ok(())
    })?;
    if all.len() > 1 && all[0].0 != OTHER {
        let owners = gathered(all.into_iter().map(|(_, owner, _)| owner))?;
        return Err(ambiguous(name, &owners));
    }
    match all.into_iter().next() {
        Some((OWN, _, Some(found))) => Ok(found),
        Some((_, owner, Some(found))) => Ok(StoredIndex {
            shown: format!("{owner}.{name}"),
            ..found
        }),
        Some((_, other, None)) if owner.is_none() => Err(of_another(name, &other)),
        _ => Err(unknown(text)),
    }
}

/// The same, locked until the transaction ends, as those before have left it, and the role that it belongs to. Runs its own
/// snapshots.
pub fn lock(text: &str) -> Result<(StoredIndex, pg_sys::Oid), Failure> {
    let find = || with_latest(|| find(text, Believed::OwnerOfItsRelation));
    loop {
        let found = find()?;
        let owner = found
            .owner
            .filter(|owner| acting::role_name(*owner).is_some());
        let role = owner.ok_or_else(|| ownerless(&found.shown))?;
        // who sees all rows has not their owners' rights yet
        if !acting::has_rights_of(role) {
            return Err(not_a_member(&found.shown));
        }
        let acting = ActingAs {
            role,
            search_path: None,
        };
        // only its owner writes into it; in its place there may be another one of this name by then
        if acting.run(|| found.lock())? {
            let locked = find()?;
            if locked.id == found.id {
                return Ok((locked, role));
            }
        }
    }
}

/// A row of svm_index; None where it makes no sense.
fn read(schema: &str, row: &ResultRow) -> Result<Option<StoredIndex>, Failure> {
    let (Some(id), Some(relation), Some(tables), Some(name)) =
        (row.int8(1), row.text(2), row.varlena(6), row.text(9))
    else {
        return Ok(None);
    };
    let [names, lengths, lists, features] = [3, 4, 5, 7].map(|column| row.text(column));
    let (Some(names), Some(lengths), Some(lists), Some(features)) =
        (names, lengths, lists, features)
    else {
        return Ok(None);
    };
    let texts = [&names, &lengths, &lists, &features];
    if texts.iter().any(|text| text.len() > 1 << 20) {
        return Ok(None);
    }
    let owner = row.int8(8).and_then(|owner| u32::try_from(owner).ok());
    let names: Vec<String> = json::read_received(&names).unwrap_or_default();
    let lengths: Vec<Option<u32>> = json::read_received(&lengths).unwrap_or_default();
    let lists: Option<Vec<KeptList>> = json::read_list(&lists).ok();
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
    Ok(Some(StoredIndex {
        schema: schema.to_owned(),
        id,
        shown: name.clone(),
        name,
        owner: owner.map(pg_sys::Oid::from),
        relation,
        features: json::read_received(&features).unwrap_or_default(),
        columns,
        lists,
        tables,
    }))
}

/// Words of eight bytes: for each table its own and one for each column.
fn read_tables(bytes: &[u8], columns: usize) -> Result<Option<Vec<DerivedOrigin>>, OutOfMemory> {
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
        tables.room(1)?.push(DerivedOrigin { table, columns });
    }
    Ok(Some(tables))
}

impl StoredIndex {
    /// Locks it, also against transactions that see it as it was; false where it is gone.
    fn lock(&self) -> Result<bool, Failure> {
        let locked = KeptStatement(&format!(
            "WITH locked AS (
                 UPDATE {}.svm_index SET refreshed_at = pg_catalog.now() WHERE id OPERATOR(pg_catalog.=) $1 RETURNING id
             )
             SELECT EXISTS (SELECT FROM locked)",
            self.schema
        ))
        .run_returning::<bool>(&[self.id.into()]);
        Ok(locked.map_err(spi_failure)? == Some(true))
    }

    /// The relation; None where it is gone, or has another name.
    pub fn relation(&self) -> Result<Option<pg_sys::Oid>, Failure> {
        let ask = KeptStatement("SELECT pg_catalog.to_regclass($1)::pg_catalog.oid");
        read_one::<pg_sys::Oid>(ask, &[self.relation.as_str().into()]).map_err(spi_failure)
    }

    /// How much it keeps.
    pub fn size(&self) -> Result<Size, Failure> {
        let ask = format!(
            "SELECT pg_catalog.sum(rows) FILTER (WHERE part OPERATOR(pg_catalog.=) 0)::pg_catalog.int8,
                 pg_catalog.sum(pg_catalog.octet_length(tuples) OPERATOR(pg_catalog.+) pg_catalog.octet_length(numbers))::pg_catalog.int8
             FROM {}.svm_index_chunk WHERE index_id OPERATOR(pg_catalog.=) $1 AND written_by OPERATOR(pg_catalog.=) $2",
            self.schema
        );
        let found =
            read_two::<i64, i64>(KeptStatement(&ask), &[self.id.into(), self.writer().into()]);
        let (rows, bytes) = found.map_err(spi_failure)?;
        let [rows, bytes] = [rows, bytes].map(|it| it.unwrap_or(0) as u64);
        Ok(Size { rows, bytes })
    }

    /// Who wrote what is believed of it: its owner. What another role wrote is not, be it a member of that one, or one whose
    /// index it was before.
    fn writer(&self) -> pg_sys::Oid {
        self.owner.unwrap_or(pg_sys::InvalidOid)
    }

    /// Removes what is not believed.
    pub fn drop_unbelieved(&self) -> Result<(), Failure> {
        KeptStatement(&format!(
            "DELETE FROM {}.svm_index_chunk WHERE index_id OPERATOR(pg_catalog.=) $1 AND written_by OPERATOR(pg_catalog.<>) $2",
            self.schema
        ))
        .run(&[self.id.into(), self.writer().into()])
        .map_err(spi_failure)
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
    pub fn check_relation(&self, relation: Option<(pg_sys::Oid, &str)>) -> Result<(), Failure> {
        let Self {
            shown,
            relation: own,
            ..
        } = self;
        let Some(found) = self.relation()? else {
            return Err(Failure::new(
                Code::ERRCODE_UNDEFINED_TABLE,
                format!("relation {own} of index \"{shown}\" is gone, or has another name"),
            )
            .hint(format!(
                "svm_drop_index({}), and svm_index('…') for the one to train on",
                quote_literal(shown)
            )));
        };
        match relation.filter(|(relation, _)| *relation != found) {
            None => Ok(()),
            Some((_, relation)) => Err(Failure::new(
                Code::ERRCODE_WRONG_OBJECT_TYPE,
                format!("index \"{shown}\" is of relation {own}, not of {relation}"),
            )
            .hint("svm_index('…', name => '…') makes one; or leave \"index\" out of the options")),
        }
    }

    /// Reads what the rows are known by, a chunk after the other.
    pub fn each_chunk(
        &self,
        mut visit: impl FnMut(i32, usize, &[u8]) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        // what is unlogged a standby has not, and its rows have no origin
        if matches!(statement::read_only(), Some(ReadOnly::Standby)) {
            return Ok(());
        }
        let sql = format!(
            "SELECT chunk, rows, tuples FROM {}.svm_index_chunk
             WHERE index_id OPERATOR(pg_catalog.=) $1 AND part OPERATOR(pg_catalog.=) 0
                 AND written_by::pg_catalog.int8 OPERATOR(pg_catalog.=) $2 ORDER BY chunk",
            self.schema
        );
        let parameters = [self.id, self.writer().to_u32().into()].map(Parameter::Int8);
        each_row(&sql, &parameters, &[pg_sys::INT8OID; 2], |row| {
            let rows = row.int4(2).and_then(|rows| usize::try_from(rows).ok());
            let whole = match (row.int4(1), rows, row.varlena(3)) {
                (Some(chunk), Some(rows), Some(tuples)) => visit(chunk, rows, tuples.payload())?,
                _ => false,
            };
            whole.then_some(()).ok_or_else(|| damaged(&self.shown))
        })
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
                 AND part OPERATOR(pg_catalog.=) $3 AND written_by::pg_catalog.int8 OPERATOR(pg_catalog.=) $4",
            self.schema
        );
        let mut whole = false;
        let parameters = [
            Parameter::Int8(self.id),
            Parameter::Int4(Some(chunk)),
            Parameter::Int4(Some(part as i32)),
            Parameter::Int8(self.writer().to_u32().into()),
        ];
        let [number, id] = [pg_sys::INT4OID, pg_sys::INT8OID];
        each_row(&sql, &parameters, &[id, number, number, id], |row| {
            whole = match row.varlena(1) {
                Some(numbers) => visit(numbers.payload())?,
                None => false,
            };
            Ok(())
        })?;
        whole.then_some(()).ok_or_else(|| damaged(&self.shown))
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
    pub tables: &'a [DerivedOrigin],
}

impl Storing {
    /// Begins an index in the place of the caller's own of that name, if there is one.
    pub fn begin(of: &Description<'_>) -> Result<Self, Failure> {
        let schema = schema();
        KeptStatement(&format!(
            "DELETE FROM {schema}.svm_index
             WHERE name OPERATOR(pg_catalog.=) $1 AND (owner OPERATOR(pg_catalog.=) CURRENT_USER
                 OR owner_oid OPERATOR(pg_catalog.=) $2)"
        ))
        .run(&[of.name.into(), acting::current_user().into()])
        .map_err(spi_failure)?;
        let lists = serde_json::to_string(of.lists).unwrap_or_default();
        let names: Vec<&str> = of.columns.iter().map(|(name, _)| *name).collect();
        let lengths = of.columns.iter().map(|(_, length)| Some((*length)? as i32));
        let lengths: Vec<Option<i32>> = lengths.collect();
        let features: Vec<&str> = of.features.iter().map(String::as_str).collect();
        let id = KeptStatement(&format!(
            "INSERT INTO {schema}.svm_index (name, relation, features, columns, lengths, lists, tables)
             VALUES ($1, $2, $3, $4, $5, $6::pg_catalog.jsonb, $7) RETURNING id"
        ))
        .run_returning::<i64>(&[
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
    pub fn go_on(index: &StoredIndex, last: Option<i32>) -> Result<Self, OutOfMemory> {
        Ok(Self {
            id: index.id,
            schema: index.schema.clone(),
            next: last.map_or(Some(0), |last| last.checked_add(1)),
        })
    }

    /// Says of which tables it keeps rows.
    pub fn set_tables(&self, tables: &[DerivedOrigin]) -> Result<(), Failure> {
        KeptStatement(&format!(
            "UPDATE {}.svm_index SET tables = $2
             WHERE id OPERATOR(pg_catalog.=) $1 AND tables OPERATOR(pg_catalog.<>) $2",
            self.schema
        ))
        .run(&[self.id.into(), table_words(tables)?.into()])
        .map_err(spi_failure)
    }

    /// Removes chunks of these numbers.
    pub fn drop_chunks(&self, numbers: Vec<i32>) -> Result<(), Failure> {
        KeptStatement(&format!(
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
            KeptStatement(&insert)
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
fn table_words(tables: &[DerivedOrigin]) -> Result<Vec<u8>, OutOfMemory> {
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
    .hint("Make it again: svm_index('…', name => '…')")
}

/// Removes the index that a text names.
pub fn drop(text: &str) -> Result<(), Failure> {
    let found = with_latest(|| find(text, Believed::OwnerOfItsRelation))?;
    let removed = KeptStatement(&format!(
        "WITH gone AS (DELETE FROM {}.svm_index WHERE id OPERATOR(pg_catalog.=) $1 RETURNING id)
         SELECT pg_catalog.count(*) FROM gone",
        found.schema
    ))
    .run_returning::<i64>(&[found.id.into()]);
    match removed.map_err(spi_failure)? {
        Some(1) => Ok(()),
        _ => Err(unknown(text)),
    }
}
