//! `svm_index`, `svm_refresh_index` and `svm_drop_index`: what a table's rows were decoded to, kept for trainings that name the index.
//! Runs in the calling backend, with the caller's rights, or, where an index is brought up to date, with those of its owner.

use crate::base::errors::{shortened, Code, Failure, OrRaise};
use crate::base::text::listed;
use crate::catalog::{identifiers, rights};
use crate::features::{
    self, ArrayPart, Decoder, FeatureBuffer, FeatureError, FeaturePart, FeatureSet, ListReader,
    Listed, Nulls,
};
use crate::index::chunks::ChunkBuilder;
use crate::index::lists::MOST_ENTRIES;
use crate::index::renewal::{Met, Renewal};
use crate::index::stored::{self, Description, KeptList, Size, StoredIndex, Storing};
use crate::pg::acting::ActingAs;
use crate::pg::call::Call;
use crate::pg::check_for_interrupts;
use crate::pg::executor::{Continue, DeformedRow, RunningQuery};
use crate::pg::long_errors::cut_off;
use crate::pg::memory_ends::prepared;
use crate::pg::origin::{self, DerivedOrigin, KnownColumns};
use crate::pg::query;
use crate::pg::snapshot::with_latest;
use crate::planning::source_columns::check_excluded;
use crate::reading::vocabularies::find_texts;
use crate::request::source::{qualified_relation, quote, GivenSource};
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
    let _prepared = prepared();
    // SAFETY: PostgreSQL calls the function by its SQL declaration, whose arguments have these types.
    let asked = unsafe {
        let call = Call::of(fcinfo);
        IndexArguments {
            relation: call.get("relation"),
            features: call.texts("features"),
            name: call.text("name"),
            exclude: call.texts("exclude"),
        }
    };
    cut_off(|| asked.make()).or_raise()
}

/// `svm_refresh_index(name) -> text`: the name.
#[pg_extern(sql = false)]
fn svm_refresh_index(name: Option<&str>) -> String {
    let _prepared = prepared();
    cut_off(|| refresh(name)).or_raise()
}

/// `svm_drop_index(name) -> text`: the name.
#[pg_extern(sql = false)]
fn svm_drop_index(name: Option<&str>) -> String {
    let _prepared = prepared();
    let drop = || {
        rights::check_writable("svm_drop_index()")?;
        let name = required(name, "name")?;
        stored::drop(name)?;
        Ok::<_, Failure>(shortened(name))
    };
    drop().or_raise()
}

/// The arguments of `svm_index`.
struct IndexArguments {
    relation: Option<pg_sys::Oid>,
    features: Option<Vec<Option<String>>>,
    name: Option<String>,
    exclude: Option<Vec<Option<String>>>,
}

/// What is kept, and which columns are not.
struct IndexColumns {
    /// What is so many numbers in every row, and lists.
    numbers: FeatureSet,
    lists: FeatureSet,
    others: Vec<String>,
}

impl IndexColumns {
    /// Of parts that may be kept.
    fn new(parts: Vec<FeaturePart>, others: Vec<String>) -> Self {
        let (lists, numbers) = parts
            .into_iter()
            .partition(|part: &FeaturePart| part.is_list());
        Self {
            numbers: FeatureSet::of(numbers),
            lists: FeatureSet::of(lists),
            others,
        }
    }

    /// Has arrays be as long as an index has them; whether it has the same columns and as many lists.
    fn take_lengths(&mut self, index: &StoredIndex) -> bool {
        let names = self.names().unwrap_or_default();
        let kept = index.columns.iter().map(|column| column.name.as_str());
        if !kept.eq(names.iter().copied()) || self.lists.parts.len() != index.lists.len() {
            return false;
        }
        let kept = |name: &str| {
            let numbers = index.columns[index.column(name)?].numbers.as_ref()?;
            u32::try_from(numbers.len()).ok()
        };
        self.numbers
            .parts
            .iter_mut()
            .all(|part| match part.as_one_mut() {
                Some(ArrayPart { name, length, .. }) => {
                    *length = kept(name).filter(|kept| *kept > 0);
                    length.is_some()
                }
                None => part.columns().all(|name| kept(name) == Some(1)),
            })
    }

    /// What is kept, as entries of `features`.
    fn entries(&self) -> Result<Vec<String>, OutOfMemory> {
        let parts = self.numbers.parts.iter().chain(&self.lists.parts);
        gathered(parts.map(|part| part.entry()))
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

impl IndexArguments {
    fn make(self) -> Result<String, Failure> {
        rights::check_writable("svm_index()")?;
        let relation = required(self.relation, "relation")?;
        let source = GivenSource::Relation(relation);
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
    source: &GivenSource,
    named: Option<Vec<String>>,
    exclude: &[String],
) -> Result<IndexColumns, Failure> {
    let all = source.columns()?;
    check_excluded(exclude, &all)?;
    if let Some(entries) = named {
        let (features, _) = features::resolve(Some(&entries), &all, "")?;
        let other = features.parts.iter().find(|part| !part.may_be_indexed());
        return match other {
            None => Ok(IndexColumns::new(features.parts, Vec::new())),
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
    find_texts((&planned, list.len(), None), &mut features, (false, false))?;
    let others = features.parts.iter().filter(|part| !part.may_be_indexed());
    let others = gathered(others.map(|part| part.name()))?;
    features.parts.retain(|part| part.may_be_indexed());
    match features.parts.is_empty() {
        true => Err(FeatureError::Nothing { columns: others }.into()),
        false => Ok(IndexColumns::new(features.parts, others)),
    }
}

/// What became of the rows.
#[derive(Default)]
struct IndexCounts {
    kept: u64,
    /// Rows with a NULL, or something that no training takes, in one of the columns.
    incomplete: u64,
    /// By list, rows in which it lies as it is.
    in_rows: Vec<u64>,
    /// Rows that say not where they come from.
    unknown: u64,
    /// Whether that may be because they, or what they are read by, were written too lately.
    is_unsettled: bool,
    bytes: u64,
    columns: usize,
    /// Bytes of the table.
    table: f64,
}

/// Reads the relation and stores the index.
fn keep(
    name: &str,
    relation: &str,
    source: &GivenSource,
    columns: &IndexColumns,
) -> Result<IndexCounts, Failure> {
    let mut reading = IndexReading::start(source, columns)?;
    if reading.tables.is_empty() && !reading.running.is_unsettled() {
        return Err(unknown_rows(relation));
    }
    let mut builder = reading.rows.builder()?;
    let mut storing = None;
    reading.each(|rows, tables, row| {
        if let Some(row) = row {
            if !rows.decode(row)? {
                return Ok(());
            }
            rows.push(row, &mut builder)?;
            rows.counts.kept += 1;
        }
        let ends = row.is_none();
        if builder.is_full() || (ends && (storing.is_none() || !builder.is_empty())) {
            let storing = match &mut storing {
                Some(storing) => storing,
                none => none.insert(rows.begin((name, relation), columns, tables)?),
            };
            if !builder.is_empty() {
                let chunk = builder.take()?;
                rows.counts.bytes += chunk.bytes() as u64;
                storing.put(chunk)?;
            }
        }
        Ok(())
    })?;
    Ok(reading.counts())
}

/// Brings an index up to date, as its owner.
fn refresh(name: Option<&str>) -> Result<String, Failure> {
    rights::check_writable("svm_refresh_index()")?;
    let (index, role) = stored::lock(required(name, "name")?)?;
    let acting = ActingAs {
        role,
        search_path: None,
    };
    // whoever calls: it keeps what its owner may read
    acting.run(|| with_latest(|| renew(&index)))?;
    Ok(index.shown)
}

/// The same with its owner's rights and the latest snapshot.
fn renew(index: &StoredIndex) -> Result<(), Failure> {
    index.check_relation(None)?;
    index.drop_unbelieved()?;
    let source = GivenSource::Relation(index.relation()?.unwrap_or(pg_sys::InvalidOid));
    let columns = || {
        let entries = gathered(index.features.iter().cloned())?;
        self::columns(&source, Some(entries), &[]).map_err(|failure| {
            failure.hint(
                "svm_index('…', features => '{…}', name => '…') makes it again of other columns",
            )
        })
    };
    let mut as_before = columns()?;
    let fits = as_before.take_lengths(index);
    let reading = IndexReading::start(&source, &as_before)?;
    let before = index.size()?.rows;
    // where its owner may read nothing any more, nothing is scanned
    let is_empty = reading.tables.is_empty();
    let is_unknown = is_empty && !reading.running.is_unsettled();
    if fits && (is_empty || reading.has_same_rows(index)) {
        let counts = reading.renew(index)?;
        if is_unknown && counts.unknown > 0 {
            return Err(unknown_rows(&index.relation));
        }
        return counts.tell_renewed(index, before);
    }
    reading.running.finish();
    let columns = columns()?;
    let counts = keep(&index.name, &index.relation, &source, &columns)?;
    counts.tell_anew(index, before, &columns);
    Ok(())
}

/// The rows of a relation as they are read.
struct IndexReading {
    running: RunningQuery,
    /// The tables whose rows are known.
    tables: Vec<DerivedOrigin>,
    rows: IndexIntake,
}

impl IndexReading {
    fn start(source: &GivenSource, columns: &IndexColumns) -> Result<Self, Failure> {
        let names = columns.names()?;
        let list = gathered(names.iter().map(|name| quote(name)))?;
        let planned = query::plan(&source.select(&list)?);
        let known = KnownColumns {
            origins: None,
            derived: Some(0..list.len()),
        };
        let mut running = RunningQuery::start_knowing(&planned, known);
        let tables = known_tables(running.derived())?;
        running.keep_tables(|table| tables.iter().any(|known| known.table == table));
        let counts = IndexCounts {
            columns: names.len(),
            table: planned.relation_bytes,
            in_rows: filled(0, columns.lists.parts.len())?,
            ..IndexCounts::default()
        };
        Ok(Self {
            running,
            tables,
            rows: IndexIntake {
                decoder: Decoder::new(&columns.numbers, &planned.columns, Nulls::Skip)?,
                lists: ListReader::new(&columns.lists, &planned.columns, MOST_ENTRIES)?,
                buffer: FeatureBuffer::default(),
                counts,
            },
        })
    }

    /// Whether rows that an index knows are the same as those that are read now where they are known by the same, and it knows
    /// some.
    fn has_same_rows(&self, index: &StoredIndex) -> bool {
        let lists = self.rows.lists.lists();
        let mut lists = lists.zip(&index.lists);
        if !lists.all(|(list, kept)| kept.is(&list, Some)) {
            return false;
        }
        let before = |now: &DerivedOrigin| index.tables.iter().find(|it| it.table == now.table);
        let mut known = self
            .tables
            .iter()
            .filter_map(|now| Some((now, before(now)?)));
        let any = self.tables.iter().any(|now| before(now).is_some());
        any && known.all(|(now, before)| now.columns == before.columns)
    }

    /// Calls `visit` with each row, and with none at the end.
    fn each(
        &mut self,
        mut visit: impl FnMut(
            &mut IndexIntake,
            &[DerivedOrigin],
            Option<&DeformedRow<'_>>,
        ) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self {
            running,
            tables,
            rows,
        } = self;
        let mut more = true;
        while more {
            check_for_interrupts();
            let mut failure = None;
            more = running.run(
                ROWS_A_STEP,
                &mut |row| match visit(rows, tables, Some(row)) {
                    Ok(()) => Continue::Yes,
                    Err(reason) => {
                        failure = Some(reason);
                        Continue::No
                    }
                },
            );
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        visit(rows, tables, None)
    }

    /// Ends, and says what became of the rows.
    fn counts(self) -> IndexCounts {
        let is_unsettled = self.running.is_unsettled();
        self.running.finish();
        IndexCounts {
            is_unsettled,
            ..self.rows.counts
        }
    }

    /// Brings an index up to date that knows the same rows; of those that are kept, the ones that it did not know are counted.
    fn renew(mut self, index: &StoredIndex) -> Result<IndexCounts, Failure> {
        let mut renewal = Renewal::new(index, self.rows.builder()?)?;
        self.each(|rows, _, row| {
            let Some(row) = row else {
                return Ok(());
            };
            let met = match row.tuple {
                origin::NONE => Met::New,
                tuple => renewal.meet(tuple)?,
            };
            if met == Met::Known || !rows.decode(row)? {
                return Ok(());
            }
            renewal.before_new()?;
            rows.push(row, &mut renewal.builder)?;
            rows.counts.kept += u64::from(met == Met::New);
            Ok(())
        })?;
        renewal.finish()?.set_tables(&self.tables)?;
        Ok(self.counts())
    }
}

fn unknown_rows(relation: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_WRONG_OBJECT_TYPE,
        format!("rows of {relation} do not say where they come from"),
    )
    .detail("An index knows rows that a scan of a table hands over, with columns as they are, or numbers that PostgreSQL's own immutable functions make of them.")
    .hint("CREATE MATERIALIZED VIEW … AS SELECT …, and svm_index of that")
}

/// The tables whose rows are known, with all their columns.
fn known_tables(derived: &[Option<DerivedOrigin>]) -> Result<Vec<DerivedOrigin>, Failure> {
    let whole = derived.iter().flatten();
    let whole = whole.filter(|derived| derived.columns.iter().all(Option::is_some));
    Ok(gathered(whole.cloned())?)
}

/// How rows are taken into an index.
struct IndexIntake {
    decoder: Decoder,
    lists: ListReader,
    buffer: FeatureBuffer,
    counts: IndexCounts,
}

impl IndexIntake {
    /// Where they go.
    fn builder(&self) -> Result<ChunkBuilder, OutOfMemory> {
        ChunkBuilder::new(self.lists.lists().map(|list| list.kind))
    }

    /// Begins to store an index of these columns.
    fn begin(
        &self,
        (name, relation): (&str, &str),
        columns: &IndexColumns,
        tables: &[DerivedOrigin],
    ) -> Result<Storing, Failure> {
        let parts = &self.decoder.learned().parts;
        let length = |column: &str| {
            let part = parts.iter().find(|part| part.name() == column)?;
            Some(part.width().unwrap_or(0))
        };
        let names = columns.names()?;
        let lengths = gathered(names.iter().map(|column| (*column, length(column))))?;
        let lists = all_of(self.lists.lists().map(|list| KeptList::new(&list, 0)))?;
        Storing::begin(&Description {
            name,
            relation,
            features: &columns.entries()?,
            columns: &lengths,
            lists: &lists,
            tables,
        })
    }

    /// Whether a row is known and complete; its numbers are in the buffer then.
    fn decode(&mut self, row: &DeformedRow<'_>) -> Result<bool, Failure> {
        if row.tuple == origin::NONE {
            self.counts.unknown += 1;
            return Ok(false);
        }
        let buffer = &mut self.buffer;
        // SAFETY: the row has the columns of the plan from which the decoder was made.
        match unsafe { self.decoder.decode(row.values, row.nulls, buffer) } {
            Ok(()) if buffer.null_parts.is_empty() => Ok(true),
            Err(FeatureError::OutOfMemory(error)) => Err(error.into()),
            // a training that takes these columns says what is wrong with it
            Ok(()) | Err(_) => {
                self.counts.incomplete += 1;
                Ok(false)
            }
        }
    }

    /// Keeps a row that is decoded.
    fn push(&mut self, row: &DeformedRow<'_>, builder: &mut ChunkBuilder) -> Result<(), Failure> {
        for (number, list) in builder.lists.iter_mut().enumerate() {
            // SAFETY: as in `decode`.
            let read = unsafe { self.lists.read(number, row.values, row.nulls) }?;
            self.counts.in_rows[number] += u64::from(matches!(read, Some(Listed::InRow)));
            list.push(read)?;
        }
        builder.push(row.tuple, &self.buffer.dense)?;
        Ok(())
    }
}

impl IndexCounts {
    /// Says what is kept.
    fn tell(&self, name: &str, relation: &str, columns: &IndexColumns) {
        let more = self.of_columns(columns);
        self.say(
            format!(
                "index {name}: {}",
                self.size(self.kept, self.bytes, relation)
            ),
            more,
        );
    }

    /// The same of an index of which no row was known any more, of so many.
    fn tell_anew(&self, index: &StoredIndex, before: u64, columns: &IndexColumns) {
        let mut more = self.of_columns(columns);
        if before > 0 {
            more.push(format!(
                "Of the {} that it had none is known any more: the table was rewritten or restored, or columns are read otherwise.",
                rows(before)
            ));
        }
        let size = self.size(self.kept, self.bytes, &index.relation);
        self.say(format!("index {}: made again: {size}", index.shown), more);
    }

    /// Says how an index was brought up to date that had so many rows.
    fn tell_renewed(&self, index: &StoredIndex, before: u64) -> Result<(), Failure> {
        let Size { rows: kept, bytes } = index.size()?;
        let gone = (before + self.kept).saturating_sub(kept);
        // the same row may come more often than before
        let added = kept + gone - before;
        let mut more = Vec::new();
        if added > 0 && gone > 0 {
            more.push(
                "A row that has changed is one that is gone and one that is added.".to_owned(),
            );
        }
        self.say(
            format!(
                "index {}: {} added, {} gone; {}",
                index.shown,
                rows(added),
                gone,
                self.size(kept, bytes, &index.relation)
            ),
            more,
        );
        Ok(())
    }

    /// Why rows are not kept that say not where they come from.
    fn unknown_rows(&self) -> String {
        let rows = rows(self.unknown);
        match self.is_unsettled {
            true => format!(
                "Not kept: {rows} that this transaction has written itself, or whose table was made or altered by it or since its snapshot. \
                 svm_refresh_index takes them in when it has ended."
            ),
            false => format!(
                "Not kept: {rows} of a table whose rows do not say where they come from."
            ),
        }
    }

    fn size(&self, kept: u64, bytes: u64, relation: &str) -> String {
        let megabytes = |bytes: f64| bytes / f64::from(1 << 20);
        format!(
            "{}, {} columns, {:.1} MB; {relation} has {:.1} MB",
            rows(kept),
            self.columns,
            megabytes(bytes as f64),
            megabytes(self.table)
        )
    }

    /// What there is to say of columns.
    fn of_columns(&self, columns: &IndexColumns) -> Vec<String> {
        let in_rows = columns.lists.parts.iter().zip(&self.in_rows);
        let in_rows = in_rows.filter(|(_, count)| **count > 0);
        let in_rows = in_rows.map(|(part, count)| {
            format!(
                "In the row as it is, and read from there: {} of {}.",
                part.name(),
                rows(*count)
            )
        });
        let mut all: Vec<_> = in_rows.collect();
        if !columns.others.is_empty() {
            all.push(format!(
                "Not kept, read from the table: {}.",
                listed(&columns.others)
            ));
        }
        all
    }

    /// Says it, with the rows that are not kept and `more` in the detail.
    fn say(&self, what: String, more: Vec<String>) {
        let said = Failure::new(Code::ERRCODE_SUCCESSFUL_COMPLETION, what);
        let mut detail = Vec::new();
        if self.incomplete > 0 {
            detail.push(format!(
                "Not kept: {} with a NULL in one of the columns, or what is not finite or of another length.",
                rows(self.incomplete)
            ));
        }
        if self.unknown > 0 {
            detail.push(self.unknown_rows());
        }
        detail.extend(more);
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
