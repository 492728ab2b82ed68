//! `svm_index` and `svm_drop_index`: the numbers of a table's rows, kept for trainings that name the index. Runs in the calling
//! backend, with the caller's rights.

use crate::base::errors::{shortened, Code, Failure, OrRaise};
use crate::base::text::listed;
use crate::catalog::{identifiers, rights};
use crate::features::{self, Decoder, FeatureBuffer, FeatureError, FeaturePart, FeatureSet, Nulls};
use crate::index::chunks::{chunk_rows, ChunkBuilder};
use crate::index::stored::{self, Storing};
use crate::pg::call::Call;
use crate::pg::check_for_interrupts;
use crate::pg::executor::{Continue, Row, Running};
use crate::pg::long_errors::cut_off;
use crate::pg::origin::{self, Derived, Known};
use crate::pg::query::{self, Column};
use crate::pg::snapshot::with_latest;
use crate::request::source::{qualified_relation, quote, Source};
use crate::request::words::{entries, excluded};
use crate::request::{invalid, required};
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgsvm_core::memory::gathered;

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

/// Which columns are kept, and which are no numbers.
struct Columns {
    features: FeatureSet,
    others: Vec<String>,
}

impl Asked {
    fn make(self) -> Result<String, Failure> {
        rights::check_writable("svm_index()")?;
        let relation = required(self.relation, "relation")?;
        let source = Source::Relation(relation);
        let columns = columns(
            &source.columns()?,
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
        kept.tell(&name, &full_name, columns.others);
        Ok(name)
    }
}

/// The columns whose numbers are kept: those named, or all that are numbers or arrays of numbers and no identifiers.
fn columns(
    all: &[Column],
    named: Option<Vec<String>>,
    exclude: &[String],
) -> Result<Columns, Failure> {
    let is_number = |part: &FeaturePart| match part {
        FeaturePart::Column { .. } => true,
        FeaturePart::Array { made, .. } => made.is_none(),
        _ => false,
    };
    if let Some(entries) = named {
        let (features, _) = features::resolve(Some(&entries), all, "")?;
        let other = features.parts.iter().find(|part| !is_number(part));
        return match other {
            None => Ok(Columns {
                features,
                others: Vec::new(),
            }),
            Some(part) => Err(invalid(format!(
                "\"{}\" is no number, and an index keeps numbers and arrays of numbers",
                shortened(&part.name())
            ))
            .hint("Leave it out: a training takes from the table what the index has not")),
        };
    }
    let reasons = identifiers::reasons(all)?;
    let usable = all.iter().zip(&reasons);
    let usable =
        usable.filter(|(column, reason)| reason.is_none() && !exclude.contains(&column.name));
    let usable = gathered(usable.map(|(column, _)| column.clone()))?;
    let (mut features, _) = features::resolve(None, &usable, "")?;
    let others = features.parts.iter().filter(|part| !is_number(part));
    let others = gathered(others.map(FeaturePart::name))?;
    features.parts.retain(is_number);
    match features.parts.is_empty() {
        true => Err(FeatureError::Nothing.into()),
        false => Ok(Columns { features, others }),
    }
}

/// What became of the rows.
#[derive(Default)]
struct Counts {
    kept: u64,
    /// Rows with a NULL, or something that no training takes, in one of the columns.
    incomplete: u64,
    /// Rows that say not where they come from: their transactions may not have been over for all who look.
    unknown: u64,
    bytes: u64,
    columns: usize,
    /// Bytes of the table.
    table: f64,
}

/// Reads the relation and stores the index.
fn keep(name: &str, relation: &str, source: &Source, columns: &Columns) -> Result<Counts, Failure> {
    let names = columns.features.columns();
    let list = gathered(names.iter().map(|name| quote(name)))?;
    let planned = query::plan(&source.select(&list)?);
    let mut decoder = Decoder::new(&columns.features, &planned.columns, Nulls::Skip)?;
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
    let mut counts = Counts {
        columns: names.len(),
        table: planned.relation_bytes,
        ..Counts::default()
    };
    let mut builder = ChunkBuilder::default();
    let mut buffer = FeatureBuffer::default();
    let mut storing = None;
    let mut more = true;
    while more {
        check_for_interrupts();
        let mut failure = None;
        more = running.run(ROWS_A_STEP, &mut |row| match take(
            row,
            &mut decoder,
            &mut buffer,
            &mut builder,
            &mut counts,
        ) {
            Ok(()) => Continue::Yes,
            Err(reason) => {
                failure = Some(reason);
                Continue::No
            }
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        let full = chunk_rows(decoder.learned().dense_count().unwrap_or(1));
        while builder.rows() >= full || (!more && builder.rows() > 0) {
            let storing = match &mut storing {
                Some(storing) => storing,
                none => none.insert(begin(name, relation, decoder.learned(), &tables)?),
            };
            let chunk = builder.take(full)?;
            counts.bytes += (chunk.tuples.len() + chunk.numbers.len()) as u64;
            storing.put(chunk)?;
        }
    }
    running.finish();
    if storing.is_none() {
        begin(name, relation, decoder.learned(), &tables)?;
    }
    Ok(counts)
}

/// The tables whose rows are known, with all their columns.
fn known_tables(derived: &[Option<Derived>]) -> Result<Vec<Derived>, Failure> {
    let whole = derived.iter().flatten();
    let whole = whole.filter(|derived| derived.columns.iter().all(Option::is_some));
    Ok(gathered(whole.cloned())?)
}

fn begin(
    name: &str,
    relation: &str,
    features: &FeatureSet,
    tables: &[Derived],
) -> Result<Storing, Failure> {
    let length = |part: &FeaturePart| match part {
        FeaturePart::Array { length, .. } => length.unwrap_or(0),
        _ => 1,
    };
    let columns = features.parts.iter();
    let columns = gathered(columns.map(|part| (part.name(), length(part))))?;
    Storing::begin(name, relation, &columns, tables)
}

/// Keeps a row, if it is known and complete.
fn take(
    row: &Row<'_>,
    decoder: &mut Decoder,
    buffer: &mut FeatureBuffer,
    builder: &mut ChunkBuilder,
    counts: &mut Counts,
) -> Result<(), Failure> {
    if row.tuple == origin::NONE {
        counts.unknown += 1;
        return Ok(());
    }
    // SAFETY: the row has the columns of the plan from which the decoder was made.
    match unsafe { decoder.decode(row.values, row.nulls, buffer) } {
        Ok(()) if buffer.null_parts.is_empty() => {
            builder.push(row.tuple, &buffer.dense)?;
            counts.kept += 1;
        }
        Err(FeatureError::OutOfMemory(error)) => return Err(error.into()),
        // a training that takes these columns says what is wrong with it
        Ok(()) | Err(_) => counts.incomplete += 1,
    }
    Ok(())
}

impl Counts {
    /// Says what is kept.
    fn tell(&self, name: &str, relation: &str, others: Vec<String>) {
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
        if !others.is_empty() {
            detail.push(format!(
                "No numbers, read from the table: {}.",
                listed(&others)
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
