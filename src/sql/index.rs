//! `svm_index` and `svm_drop_index`: what a table's rows were decoded to, kept for trainings that name the index. Runs in the calling
//! backend, with the caller's rights.

use crate::base::errors::{shortened, Code, Failure, OrRaise};
use crate::base::text::listed;
use crate::catalog::{identifiers, rights};
use crate::features::{
    self, Decoder, FeatureBuffer, FeatureError, FeaturePart, FeatureSet, ListReader, Listed, Nulls,
};
use crate::index::chunks::ChunkBuilder;
use crate::index::lists::MOST_ENTRIES;
use crate::index::stored::{self, KeptList, Storing};
use crate::pg::call::Call;
use crate::pg::check_for_interrupts;
use crate::pg::executor::{Continue, Row, Running};
use crate::pg::long_errors::cut_off;
use crate::pg::origin::{self, Derived, Known};
use crate::pg::query;
use crate::pg::snapshot::with_latest;
use crate::reading::vocabularies::find_texts;
use crate::request::source::{qualified_relation, quote, Source};
use crate::request::words::{entries, excluded};
use crate::request::{invalid, required};
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgsvm_core::memory::{all_of, filled, gathered, OutOfMemory, Room};

/// Rows between two looks for interrupts.
const ROWS_A_STEP: u64 = 1000;

/// `svm_index(relation, features, name, exclude) -> text`: the index's name.
#[pg_extern(sql = false)]
fn svm_index(fcinfo: pg_sys::FunctionCallInfo) -> String {
    // SAFETY: PostgreSQL calls the function by its SQL declaration, whose arguments have these types.
    let asked = unsafe {
        let call = Call::of(fcinfo);
        Asked {
            relation: call.get("relation"),
            features: call.texts("features"),
            name: call.text("name"),
            exclude: call.texts("exclude"),
        }
    };
    cut_off(|| asked.make()).or_raise()
}

/// `svm_drop_index(name) -> text`: the name.
#[pg_extern(sql = false)]
fn svm_drop_index(name: Option<&str>) -> String {
    let drop = || {
        rights::check_writable("svm_drop_index()")?;
        let name = required(name, "name")?;
        stored::drop(name)?;
        Ok::<_, Failure>(shortened(name))
    };
    drop().or_raise()
}

/// The arguments of `svm_index`.
struct Asked {
    relation: Option<pg_sys::Oid>,
    features: Option<Vec<Option<String>>>,
    name: Option<String>,
    exclude: Option<Vec<Option<String>>>,
}

/// What is kept, and which columns are not.
struct Columns {
    /// What is so many numbers in every row, and lists.
    numbers: FeatureSet,
    lists: FeatureSet,
    others: Vec<String>,
}

impl Columns {
    /// Of parts that may be kept.
    fn new(parts: Vec<FeaturePart>, others: Vec<String>) -> Self {
        let set = |parts| FeatureSet {
            parts,
            ..FeatureSet::default()
        };
        let (lists, numbers) = parts.into_iter().partition(FeaturePart::is_list);
        Self {
            numbers: set(numbers),
            lists: set(lists),
            others,
        }
    }

    /// The columns that are read, each once.
    fn names(&self) -> Result<Vec<&str>, OutOfMemory> {
        let mut names = self.numbers.columns();
        for name in self.lists.columns() {
            if !names.contains(&name) {
                names.room(1)?.push(name);
            }
        }
        Ok(names)
    }
}

impl Asked {
    fn make(self) -> Result<String, Failure> {
        rights::check_writable("svm_index()")?;
        let relation = required(self.relation, "relation")?;
        let source = Source::Relation(relation);
        let columns = columns(
            &source,
            self.features.map(entries).transpose()?,
            &excluded(self.exclude.unwrap_or_default())?,
        )?;
        let full_name = qualified_relation(relation).unwrap_or_default();
        let name = match self.name {
            Some(name) => name,
            None => source.default_model_name("index")?,
        };
        stored::check_name(&name)?;
        let kept = with_latest(|| keep(&name, &full_name, &source, &columns))?;
        kept.tell(&name, &full_name, &columns);
        Ok(name)
    }
}

/// What is kept: what is named, or all columns that may be kept as they are and are no identifiers.
fn columns(
    source: &Source,
    named: Option<Vec<String>>,
    exclude: &[String],
) -> Result<Columns, Failure> {
    let may_be_kept = |part: &FeaturePart| match part {
        FeaturePart::Column { .. } => true,
        FeaturePart::Array { made, .. } => made.is_none(),
        part => part.is_list(),
    };
    let all = source.columns()?;
    if let Some(entries) = named {
        let (features, _) = features::resolve(Some(&entries), &all, "")?;
        let other = features.parts.iter().find(|part| !may_be_kept(part));
        return match other {
            None => Ok(Columns::new(features.parts, Vec::new())),
            Some(part) => Err(invalid(format!(
                "\"{}\" is no number, and an index keeps numbers, arrays of numbers, sparse features and words of texts",
                shortened(&part.name())
            ))
            .hint("Leave it out: a training takes from the table what the index has not")),
        };
    }
    let reasons = identifiers::reasons(&all)?;
    let usable = all.iter().zip(&reasons);
    let usable =
        usable.filter(|(column, reason)| reason.is_none() && !exclude.contains(&column.name));
    let usable = gathered(usable.map(|(column, _)| column.clone()))?;
    let (mut features, _) = features::resolve(None, &usable, "")?;
    let list = gathered(features.columns().into_iter().map(quote))?;
    let planned = query::plan(&source.select(&list)?);
    find_texts((&planned, list.len()), &mut features, false)?;
    let others = features.parts.iter().filter(|part| !may_be_kept(part));
    let others = gathered(others.map(FeaturePart::name))?;
    features.parts.retain(may_be_kept);
    match features.parts.is_empty() {
        true => Err(FeatureError::Nothing.into()),
        false => Ok(Columns::new(features.parts, others)),
    }
}

/// What became of the rows.
#[derive(Default)]
struct Counts {
    kept: u64,
    /// Rows with a NULL, or something that no training takes, in one of the columns.
    incomplete: u64,
    /// By list, rows in which it lies as it is.
    in_rows: Vec<u64>,
    /// Rows that say not where they come from: their transactions may not have been over for all who look.
    unknown: u64,
    bytes: u64,
    columns: usize,
    /// Bytes of the table.
    table: f64,
}

/// Reads the relation and stores the index.
fn keep(name: &str, relation: &str, source: &Source, columns: &Columns) -> Result<Counts, Failure> {
    let names = columns.names()?;
    let list = gathered(names.iter().map(|name| quote(name)))?;
    let planned = query::plan(&source.select(&list)?);
    let known = Known {
        origins: None,
        derived: Some(0..list.len()),
    };
    let mut running = Running::start_knowing(&planned, known);
    let tables = known_tables(running.derived())?;
    if tables.is_empty() {
        return Err(Failure::new(
            Code::ERRCODE_WRONG_OBJECT_TYPE,
            format!("rows of {relation} do not say where they come from"),
        )
        .detail("An index knows rows that a scan of a table hands over, with columns as they are, or numbers that PostgreSQL's own immutable functions make of them.")
        .hint("CREATE MATERIALIZED VIEW … AS SELECT …, and svm_index of that"));
    }
    let lists = ListReader::new(&columns.lists, &planned.columns, MOST_ENTRIES)?;
    let builder = ChunkBuilder::new(lists.lists().map(|list| list.kind))?;
    let mut rows = Rows {
        builder,
        decoder: Decoder::new(&columns.numbers, &planned.columns, Nulls::Skip)?,
        lists,
        buffer: FeatureBuffer::default(),
        counts: Counts {
            columns: names.len(),
            table: planned.relation_bytes,
            in_rows: filled(0, columns.lists.parts.len())?,
            ..Counts::default()
        },
    };
    let mut storing = None;
    let mut more = true;
    while more {
        check_for_interrupts();
        let mut failure = None;
        let mut full = false;
        more = running.run(ROWS_A_STEP, &mut |row| {
            let taken = rows.take(row);
            full = rows.builder.is_full();
            match taken {
                Ok(()) if !full => Continue::Yes,
                Ok(()) => Continue::No,
                Err(reason) => {
                    failure = Some(reason);
                    Continue::No
                }
            }
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        more |= full;
        if full || (!more && !rows.builder.is_empty()) {
            let storing = match &mut storing {
                Some(storing) => storing,
                none => none.insert(rows.begin((name, relation), &names, &tables)?),
            };
            let chunk = rows.builder.take()?;
            rows.counts.bytes += chunk.bytes() as u64;
            storing.put(chunk)?;
        }
    }
    running.finish();
    if storing.is_none() {
        rows.begin((name, relation), &names, &tables)?;
    }
    Ok(rows.counts)
}

/// The tables whose rows are known, with all their columns.
fn known_tables(derived: &[Option<Derived>]) -> Result<Vec<Derived>, Failure> {
    let whole = derived.iter().flatten();
    let whole = whole.filter(|derived| derived.columns.iter().all(Option::is_some));
    Ok(gathered(whole.cloned())?)
}

/// Rows on their way into an index.
struct Rows {
    decoder: Decoder,
    lists: ListReader,
    buffer: FeatureBuffer,
    builder: ChunkBuilder,
    counts: Counts,
}

impl Rows {
    /// Begins to store an index of these columns.
    fn begin(
        &self,
        (name, relation): (&str, &str),
        columns: &[&str],
        tables: &[Derived],
    ) -> Result<Storing, Failure> {
        let parts = &self.decoder.learned().parts;
        let length = |column: &str| {
            let part = parts.iter().find(|part| part.name() == column)?;
            Some(match part {
                FeaturePart::Array { length, .. } => length.unwrap_or(0),
                _ => 1,
            })
        };
        let columns = gathered(columns.iter().map(|column| (*column, length(column))))?;
        let lists = all_of(self.lists.lists().map(|list| KeptList::new(&list, 0)))?;
        Storing::begin(name, relation, (&columns, &lists), tables)
    }

    /// Keeps a row, if it is known and complete.
    fn take(&mut self, row: &Row<'_>) -> Result<(), Failure> {
        if row.tuple == origin::NONE {
            self.counts.unknown += 1;
            return Ok(());
        }
        let buffer = &mut self.buffer;
        // SAFETY: the row has the columns of the plan from which the decoder was made.
        match unsafe { self.decoder.decode(row.values, row.nulls, buffer) } {
            Ok(()) if buffer.null_parts.is_empty() => {}
            Err(FeatureError::OutOfMemory(error)) => return Err(error.into()),
            // a training that takes these columns says what is wrong with it
            Ok(()) | Err(_) => {
                self.counts.incomplete += 1;
                return Ok(());
            }
        }
        for (number, list) in self.builder.lists.iter_mut().enumerate() {
            // SAFETY: the same.
            let read = unsafe { self.lists.read(number, row.values, row.nulls) }?;
            self.counts.in_rows[number] += u64::from(matches!(read, Some(Listed::InRow)));
            list.push(read)?;
        }
        self.builder.push(row.tuple, &self.buffer.dense)?;
        self.counts.kept += 1;
        Ok(())
    }
}

impl Counts {
    /// Says what is kept.
    fn tell(&self, name: &str, relation: &str, columns: &Columns) {
        let megabytes = |bytes: f64| bytes / f64::from(1 << 20);
        let said = Failure::new(
            Code::ERRCODE_SUCCESSFUL_COMPLETION,
            format!(
                "index {name}: {}, {} columns, {:.1} MB; {relation} has {:.1} MB",
                rows(self.kept),
                self.columns,
                megabytes(self.bytes as f64),
                megabytes(self.table)
            ),
        );
        let mut detail = Vec::new();
        if self.incomplete > 0 {
            detail.push(format!(
                "Not kept: {} with a NULL in one of the columns, or what is not finite or of another length.",
                rows(self.incomplete)
            ));
        }
        if self.unknown > 0 {
            detail.push(format!(
                "Not kept: {} of transactions that may not be over for all who look, or of a table whose rows do not say where they come from.",
                rows(self.unknown)
            ));
        }
        let in_rows = columns.lists.parts.iter().zip(&self.in_rows);
        for (part, count) in in_rows.filter(|(_, count)| **count > 0) {
            detail.push(format!(
                "In the row as it is, and read from there: {} of {}.",
                part.name(),
                rows(*count)
            ));
        }
        if !columns.others.is_empty() {
            detail.push(format!(
                "Not kept, read from the table: {}.",
                listed(&columns.others)
            ));
        }
        match detail.is_empty() {
            true => said.notice(),
            false => said.detail(detail.join("\n")).notice(),
        }
    }
}

/// So many rows.
fn rows(count: u64) -> String {
    match count {
        1 => "1 row".to_owned(),
        count => format!("{count} rows"),
    }
}
