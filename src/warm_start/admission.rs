//! The keys of a training's rows, in whichever process reads: each must be there once. Where a model follows its table,
//! which is in the leader only, they say which rows are trained on and where each row's dual variable begins.

use crate::base::errors::{shortened, Code, Failure};
use crate::features::FeatureBuffer;
use crate::keys::chunks::{KeyChunk, KeyChunks, KeyKind};
use crate::keys::digest::{self, RowDigests};
use crate::keys::seen::Seen;
use crate::pg::deform::Row;
use crate::pg::kept_rows::KeptRows;
use crate::pg::origin;
use crate::pg::query::Column;
use crate::pg::types::type_name;
use crate::targets::labels::{with_text, LabelValue};
use crate::training::passed_over::Passing;
use crate::warm_start::memory::Memory;
use pgrx::pg_sys;
use pgsvm_core::{Scaling, Start};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;

/// The key column of a training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyColumn {
    pub name: String,
    pub kind: KeyKind,
    /// Whether another column behind it says which rows are added to those of the source.
    pub marks_added: bool,
}

impl KeyKind {
    /// The kind for a column.
    ///
    /// # Errors
    /// When its type cannot be a key.
    pub fn of_column(column: &Column) -> Result<Self, Failure> {
        // SAFETY: a catalog look-up inside a transaction.
        match unsafe { pg_sys::getBaseType(column.type_oid) } {
            pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID => Ok(Self::Integer),
            pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::UUIDOID => Ok(Self::Text),
            _ => Err(Failure::new(
                Code::ERRCODE_DATATYPE_MISMATCH,
                format!(
                    "key column \"{}\" has type {}, which cannot be a key",
                    column.name,
                    type_name(column.type_oid, column.typmod)
                ),
            )
            .hint("A key is smallint, integer, bigint, text, varchar or uuid")),
        }
    }

    /// The word that svm_version keeps.
    pub fn word(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Text => "text",
        }
    }

    /// Reads what `word` writes.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Integer, Self::Text]
            .into_iter()
            .find(|kind| kind.word() == word)
    }

    /// The type to which a key is cast where rows are read.
    pub fn cast(self) -> &'static str {
        match self {
            Self::Integer => "pg_catalog.int8",
            Self::Text => "pg_catalog.text",
        }
    }

    /// What a key is known by.
    pub fn known_by(self, datum: pg_sys::Datum) -> u128 {
        match self {
            Self::Integer => u128::from(datum.value() as u64),
            Self::Text => with_text(datum, digest::of_key),
        }
    }

    /// How a key reads.
    fn shown(self, datum: pg_sys::Datum) -> String {
        match self {
            Self::Integer => (datum.value() as i64).to_string(),
            Self::Text => {
                let text = with_text(datum, |bytes| String::from_utf8_lossy(bytes).into_owned());
                format!("\"{text}\"")
            }
        }
    }
}

/// The keys met so far.
pub struct Keys {
    column: KeyColumn,
    /// The key's place in the row.
    at: usize,
    seen: Seen,
    chunks: KeyChunks,
    digests: RowDigests,
    /// Digests of the labels, by class.
    labels: Vec<u64>,
    /// What versions of rows are known by, row after row, or [`origin::NONE`]; where rows are to get leeways.
    versions: Option<Vec<u64>>,
    following: Option<Following>,
}

/// A training that begins from what a model knows.
pub struct Following {
    /// Name of that model.
    pub model: String,
    pub memory: Memory,
    pub rows: Rows,
    /// By row taken, the row of the memory whose dual variable it begins with, or NOTHING.
    starts: Vec<u32>,
    counts: Counts,
    by_key: bool,
    /// Which rows need not be looked at, where there are such.
    pub passing: Option<Passing>,
    /// Rows to be read behind those of the source.
    pub added: Option<Rc<RefCell<KeptRows>>>,
}

/// Which rows of the source are trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    All,
    /// Those that the memory knows, and those marked as added, which it must not know.
    Known,
}

/// How the rows taken compare with those remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub unchanged: u64,
    pub changed: u64,
    pub added: u64,
    /// Remembered, but not there any more.
    pub gone: u64,
    /// In the source, but not taken.
    pub unused: u64,
}

/// What a row that is trained on is known by.
#[derive(Debug, Clone, Copy)]
pub struct Admitted {
    key: u128,
    /// The row of the memory with that key.
    known: Option<u32>,
    origin: u64,
}

/// No row of the memory.
const NOTHING: u32 = u32::MAX;
/// About a millisecond of copying.
const ROWS_BETWEEN_INTERRUPTS: usize = 1 << 18;

impl Counts {
    /// Rows that are trained on.
    fn taken(&self) -> u64 {
        self.unchanged + self.changed + self.added
    }
}

impl Following {
    pub fn new(model: String, memory: Memory, rows: Rows) -> Self {
        Self {
            model,
            by_key: memory.rows.len() > 0,
            memory,
            rows,
            starts: Vec::new(),
            counts: Counts::default(),
            passing: None,
            added: None,
        }
    }

    /// Lets rows be passed over where that is worth it; what is known of them stands in `schema` under the version's `id`.
    pub fn pass_over(&mut self, schema: &str, id: i64, tolerance: f64) -> Result<(), Failure> {
        let leeways = self.memory.load_leeways(schema, id)?;
        self.passing =
            leeways.and_then(|it| Passing::plan(it, self.memory.support_vectors(), tolerance));
        Ok(())
    }

    /// What svm_version keeps: the version begun from, and with a key the counts.
    pub fn report(&self) -> serde_json::Value {
        let mut report = serde_json::json!({ "model": self.memory.name() });
        if self.by_key {
            let Counts {
                unchanged,
                changed,
                added,
                gone,
                unused,
            } = self.counts;
            report["rows"] = serde_json::json!({
                "unchanged": unchanged, "changed": changed, "new": added, "gone": gone, "left_out": unused,
            });
        }
        if let Some(passing) = &self.passing {
            report["passed_over"] = passing.rows.len().into();
        }
        report
    }

    /// Whether a row is trained on.
    fn wants(&mut self, known: bool, added: bool) -> Result<bool, ()> {
        if self.rows == Rows::All {
            return Ok(true);
        }
        match (known, added) {
            (true, true) => Err(()),
            (false, false) => {
                self.counts.unused += 1;
                Ok(false)
            }
            (true, false) | (false, true) => Ok(true),
        }
    }

    fn take(&mut self, known: Option<u32>, digest: u64) -> Result<(), Failure> {
        let start = match known {
            Some(row) if self.memory.rows.digest(row) == digest => {
                self.counts.unchanged += 1;
                row
            }
            Some(_) => {
                self.counts.changed += 1;
                NOTHING
            }
            None => {
                self.counts.added += 1;
                NOTHING
            }
        };
        self.starts.try_reserve(1).map_err(|_| out_of_memory())?;
        self.starts.push(start);
        Ok(())
    }

    fn complete(&mut self) -> Result<(), Failure> {
        let found = self.counts.unchanged + self.counts.changed;
        self.counts.gone = self.memory.rows.len() as u64 - found;
        if self.rows == Rows::All || self.counts.gone == 0 {
            return Ok(());
        }
        let rows = match self.counts.gone {
            1 => "1 row".to_owned(),
            many => format!("{many} rows"),
        };
        Err(Failure::new(
            Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "{rows} that model \"{}\" was trained on cannot be found in its source any more",
                self.model
            ),
        )
        .detail("The certificate is over all rows, so they are all read again.")
        .hint("svm_refresh(model) trains the model on the rows that its source has now"))
    }

    /// By head of the training, where it begins: of these classes in order of first appearance, with so many features,
    /// the dense ones first. What is known of the rows is given up.
    pub fn take_starts(
        &mut self,
        rows: usize,
        classes: &[LabelValue],
        scaling: &Scaling,
        features: (usize, usize),
        dropped: &[u64],
    ) -> Result<Vec<Start>, Failure> {
        let heads = match classes {
            [_, positive] => std::slice::from_ref(positive),
            all => all,
        };
        let of_head = |class: &LabelValue| {
            Ok(Start {
                duals: self.duals(&class.text, rows)?,
                weights: self
                    .memory
                    .weights_of(&class.text, scaling, features, dropped)?,
            })
        };
        let starts = heads.iter().map(of_head).collect();
        if let (Some(passing), [positive]) = (&mut self.passing, heads) {
            let all = (features.0, passing.features());
            passing.before = self
                .memory
                .weights_of(&positive.text, scaling, all, dropped)?;
        }
        self.memory.forget_rows();
        self.starts = Vec::new();
        starts
    }

    /// The dual variables with which the rows begin in the head of a class.
    fn duals(&self, class: &str, rows: usize) -> Result<Vec<f32>, Failure> {
        let mut duals: Vec<f32> = Vec::new();
        duals
            .try_reserve_exact(rows.max(self.starts.len()))
            .map_err(|_| out_of_memory())?;
        let known = self.memory.duals_of(class);
        for starts in self.starts.chunks(ROWS_BETWEEN_INTERRUPTS) {
            crate::pg::check_for_interrupts();
            let begin = |row: &u32| known.get(*row as usize).copied().unwrap_or(0.0);
            duals.extend(starts.iter().map(begin));
        }
        // without a key nothing is known of the rows
        duals.resize(rows, 0.0);
        Ok(duals)
    }
}

impl Keys {
    /// For rows whose key stands at `at`, and behind it whether they are added, where the column says so.
    /// `leeways`: whether rows are to get some.
    pub fn new(column: KeyColumn, at: usize, following: Option<Following>, leeways: bool) -> Self {
        Self {
            chunks: KeyChunks::new(column.kind),
            column,
            at,
            seen: Seen::default(),
            digests: RowDigests::default(),
            labels: Vec::new(),
            versions: leeways.then(Vec::new),
            following,
        }
    }

    /// What row `number` of the source is known by; None where it is not trained on.
    ///
    /// # Errors
    /// A key that is NULL or comes twice, an added row that the model knows.
    pub fn admit(&mut self, row: &Row<'_>, number: u64) -> Result<Option<Admitted>, Failure> {
        let name = &self.column.name;
        let place = || format!("It is in row {number} of the source.");
        if row.nulls[self.at] {
            return Err(null_key(name, number));
        }
        let datum = row.values[self.at];
        let shown = || self.column.kind.shown(datum);
        let key = self.column.kind.known_by(datum);
        let mut known = None;
        if let Some(following) = &mut self.following {
            known = following.memory.rows.find(key)?;
            let added = self.column.marks_added && row.values[self.at + 1].value() as i32 != 0;
            match following.wants(known.is_some(), added) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(()) => {
                    return Err(Failure::new(
                        Code::ERRCODE_UNIQUE_VIOLATION,
                        format!(
                            "key {} is among the rows to add and among those that model \"{}\" was trained on",
                            shown(),
                            following.model
                        ),
                    )
                    .hint("Leave it out of the rows to add, or let svm_refresh(model) find out what has changed"))
                }
            }
        }
        if self.seen.insert(key).map_err(|_| out_of_memory())? {
            let origin = row.origin;
            return Ok(Some(Admitted { key, known, origin }));
        }
        Err(Failure::new(
            Code::ERRCODE_UNIQUE_VIOLATION,
            format!("key column \"{name}\" holds {} twice", shown()),
        )
        .detail(place())
        .hint("A key says which row is which: key => 'column' names one whose values are unique"))
    }

    /// What a row that was admitted is known by: the column and its value.
    pub fn name(&self, row: &Row<'_>) -> String {
        let shown = self.column.kind.shown(row.values[self.at]);
        format!("{} {}", self.column.name, shortened(&shown))
    }

    /// Whether a row may be passed over, if it is the one that the model knows.
    #[inline]
    pub fn may_pass_over(&self, row: &Admitted) -> bool {
        let passing = self.following.as_ref().and_then(|it| it.passing.as_ref());
        let (Some(passing), Some(known)) = (passing, row.known) else {
            return false;
        };
        row.origin != origin::NONE && passing.has_leeway(known)
    }

    /// Takes a row that is trained on without a look at its features, if it is the one that the model knows and
    /// [`Self::may_pass_over`]; row `number` of the source.
    pub fn pass_over(
        &mut self,
        row: &Admitted,
        class: u32,
        classes: &[LabelValue],
        number: u64,
    ) -> Result<bool, Failure> {
        let version = digest::of_version(self.label(class, classes), row.origin);
        let (Some(following), Some(known)) = (&mut self.following, row.known) else {
            return Ok(false);
        };
        let place = following.counts.taken();
        let passed = following.passing.as_mut().map_or(Ok(false), |passing| {
            passing.pass_over(known, version, class, number, place)
        })?;
        if passed {
            following.counts.unchanged += 1;
            let digest = following.memory.rows.digest(known);
            self.chunks.push(row.key, digest)?;
            self.push_version(version)?;
        }
        Ok(passed)
    }

    /// Takes a row that is trained on.
    pub fn take(
        &mut self,
        Admitted { key, known, origin }: Admitted,
        (class, classes): (u32, &[LabelValue]),
        weight: f64,
        features: &FeatureBuffer,
    ) -> Result<(), Failure> {
        let label = self.label(class, classes);
        let digest = self.digests.of_row(label, weight, features)?;
        if let Some(following) = &mut self.following {
            following.take(known, digest)?;
            if let Some(passing) = &mut following.passing {
                passing.looked_at(class);
            }
        }
        self.chunks.push(key, digest)?;
        self.push_version(match origin {
            origin::NONE => origin,
            origin => digest::of_version(label, origin),
        })
    }

    /// The digest of a class's label.
    fn label(&mut self, class: u32, classes: &[LabelValue]) -> u64 {
        let new = classes[self.labels.len()..].iter();
        self.labels
            .extend(new.map(|class| digest::of_label(&class.text)));
        self.labels[class as usize]
    }

    fn push_version(&mut self, version: u64) -> Result<(), Failure> {
        if let Some(versions) = &mut self.versions {
            versions.try_reserve(1).map_err(|_| out_of_memory())?;
            versions.push(version);
        }
        Ok(())
    }

    /// What versions of rows are known by, where that is wanted.
    pub fn versions(&self) -> Option<&[u64]> {
        self.versions.as_deref()
    }

    /// Gives them away.
    pub fn take_versions(&mut self) -> Option<Vec<u64>> {
        self.versions.take()
    }

    /// What can be said only after the last row.
    pub fn complete(&mut self) -> Result<(), Failure> {
        self.seen = Seen::default();
        match &mut self.following {
            Some(following) => following.complete(),
            None => Ok(()),
        }
    }

    pub fn chunks(&self) -> &[KeyChunk] {
        self.chunks.chunks()
    }

    /// Gives the chunks away.
    pub fn take_chunks(&mut self) -> Vec<KeyChunk> {
        self.chunks.take()
    }

    pub fn following(&self) -> Option<&Following> {
        self.following.as_ref()
    }

    pub fn following_mut(&mut self) -> Option<&mut Following> {
        self.following.as_mut()
    }
}

/// A key that is NULL, in row `number` of the source.
pub fn null_key(column: &str, number: u64) -> Failure {
    Failure::new(
        Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        format!("key column \"{column}\" contains NULL"),
    )
    .detail(format!("It is in row {number} of the source."))
    .hint("A key says which row is which: no row may lack it")
}

pub fn out_of_memory() -> Failure {
    Failure::new(
        Code::ERRCODE_OUT_OF_MEMORY,
        "out of memory for the keys of the rows",
    )
}
