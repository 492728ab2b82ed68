//! Examples out of PostgreSQL: runs the source's SELECT a piece at a time, decodes each row and
//! hands it to the pure reader. Runs in the process that plays the reader role.
//!
//! NULLs do not end the scan: they are counted, so that the error can say how many there are.

use crate::base::errors::{Code, Failure};
use crate::features::{Decoder, FeatureBuffer, FeatureError, FeatureSet, Nulls};
use crate::keys::chunks::KeyChunk;
use crate::pg::executor::{Continue, Row};
use crate::pg::kept_rows::KeptRows;
use crate::pg::query::Planned;
use crate::planning::job::Job;
use crate::reading::constants::Constants;
use crate::reading::helpers::{Helpers, Rows};
use crate::targets::costs::Costs;
use crate::targets::groups::Groups;
use crate::targets::labels::{self, LabelValue};
use crate::warm_start::admission::{Admitted, Keys};
use crate::warm_start::following::Following;
use pgsvm_core::memory::{copied, gathered, OutOfMemory};
use pgsvm_core::{Cache, Example, ReaderReport, RowError, Source};
use std::cell::RefCell;
use std::rc::Rc;

/// The rows of a training's source.
pub struct RowSource {
    rows: Option<Rows>,
    /// Those behind them.
    added: Option<Rc<RefCell<KeptRows>>>,
    decode: RowDecoder,
    /// What a training without a key begins from.
    begins: Option<Following>,
}

/// Turns a row into an example.
struct RowDecoder {
    groups: Groups,
    costs: Costs,
    decoder: Decoder,
    buffer: FeatureBuffer,
    nulls: Nulls,
    /// NULLs met in each feature part.
    null_counts: Vec<u64>,
    rows_seen: u64,
    rows_skipped: u64,
    keys: Option<Keys>,
    /// Whether categories go on from those of a model.
    continues: bool,
    cache_bytes: usize,
    /// Columns of one value.
    constants: Constants,
    /// Whether rows are divided by their length.
    unit_rows: bool,
}

/// What a row turned out to be.
enum Decoded {
    Example { group: u32, cost: f32 },
    Skipped,
}

impl RowSource {
    /// Starts the query of `job`, planned in this process. `following`: what the training begins from; `helpers`: who
    /// fetches rows too.
    pub fn start(
        planned: &Planned,
        job: &Job,
        mut following: Option<Following>,
        helpers: Option<Helpers>,
    ) -> Result<Self, Failure> {
        let (features, columns) = (&job.features, &job.columns);
        let read = &planned.columns[..columns.features.end];
        let decoder = Decoder::learning(features, read, job.nulls, job.categories)?
            .with_rows_up_to(job.cache_bytes / size_of::<f32>());
        let continues = following.is_some();
        let added = following.as_mut().and_then(|it| it.added.take());
        if let Some(added) = &added {
            added.borrow_mut().rewind();
        }
        let (keys, begins) = match columns.key.clone() {
            Some(column) => (Some(Keys::new(column, following, job.slacks)), None),
            None => (None, following),
        };
        let fold = columns.fold.as_ref();
        Ok(Self {
            rows: Some(Rows::start(planned, job, helpers)),
            added,
            decode: RowDecoder {
                groups: Groups::new(&columns.label, fold, &job.plan, job.terms.seed),
                costs: Costs::new(columns.weight.as_ref(), &job.class_weights),
                null_counts: vec![0; features.parts.len()],
                decoder,
                buffer: FeatureBuffer::default(),
                nulls: job.nulls,
                rows_seen: 0,
                rows_skipped: 0,
                keys,
                continues,
                cache_bytes: job.cache_bytes,
                constants: Constants::new(!job.categories.named && columns.key.is_none()),
                unit_rows: job.unit_rows,
            },
            begins,
        })
    }

    /// The label values by class id; there are two at least once every row was read.
    pub fn classes(&self) -> Result<Vec<LabelValue>, OutOfMemory> {
        gathered(self.decode.groups.classes().iter().cloned())
    }

    /// The same where they are.
    pub fn known_classes(&self) -> &[LabelValue] {
        self.decode.groups.classes()
    }

    /// The values of the fold column by fold, none where there is no such column.
    pub fn fold_values(&self) -> Vec<String> {
        self.decode.groups.fold_values()
    }

    /// The feature set with all that was learned, and the dense features that were read and are none of
    /// its. Means stand for NULL, where that is the rule. The spread is that of the rows that were looked at: where others
    /// were screened, what was known before stays.
    pub fn features(&self, report: &ReaderReport) -> Result<(FeatureSet, Vec<u64>), OutOfMemory> {
        let decode = &self.decode;
        let mut features = decode.decoder.learned().without_data()?;
        features.nulls = copied(&decode.null_counts)?;
        features.means = Rc::new(copied(&report.means)?);
        let screening = self.following().and_then(|it| it.screening.as_ref());
        if screening.is_none_or(|screening| screening.rows.is_empty()) {
            features.spread = Rc::new(report.spread.copied()?);
        }
        if decode.unit_rows {
            features.spread = Rc::new(report.spread.scaled(&report.scaling)?);
            features.unit_rows = Some(Rc::new(report.scaling.copied()?));
        }
        let constant = decode.constant_parts()?;
        let numbers = 0..features.parts.len();
        let uuids = numbers.clone().map(|it| decode.decoder.is_left_out(it));
        let uuids = gathered(
            uuids
                .zip(&constant)
                .filter(|(_, out)| !**out)
                .map(|(out, _)| out),
        )?;
        let dropped = features.leave_out_constants(&constant)?;
        features.leave_out(&uuids)?;
        Ok((features, dropped))
    }

    /// The dense features that were read and are none of the model's.
    pub fn dropped(&self) -> Result<Vec<u64>, OutOfMemory> {
        let constant = self.decode.constant_parts()?;
        self.decode.decoder.learned().dense_of(&constant)
    }

    /// The sparse features whose values lose more of their digits in 32 bits than their spread bears, by sparse id.
    pub fn imprecise(&self) -> impl Iterator<Item = u32> + '_ {
        self.decode.decoder.imprecise()
    }

    /// Keys and digests of the rows.
    pub fn key_chunks(&self) -> &[KeyChunk] {
        self.decode.keys.as_ref().map_or(&[], Keys::chunks)
    }

    /// Gives keys and digests away.
    pub fn take_key_chunks(&mut self) -> Vec<KeyChunk> {
        let keys = self.decode.keys.as_mut();
        keys.map_or_else(Vec::new, Keys::take_chunks)
    }

    /// What versions of rows are known by, row after row, where those are wanted.
    pub fn versions(&self) -> Option<&[u64]> {
        self.decode.keys.as_ref().and_then(Keys::versions)
    }

    /// Gives them away.
    pub fn take_versions(&mut self) -> Option<Vec<u64>> {
        self.decode.keys.as_mut().and_then(Keys::take_versions)
    }

    /// What the training begins from.
    pub fn following(&self) -> Option<&Following> {
        let by_key = self.decode.keys.as_ref().and_then(Keys::following);
        by_key.or(self.begins.as_ref())
    }

    /// The same, to be given up.
    pub fn following_mut(&mut self) -> Option<&mut Following> {
        let by_key = self.decode.keys.as_mut().and_then(Keys::following_mut);
        by_key.or(self.begins.as_mut())
    }

    /// Rows left out because of a NULL or a weight of 0.
    pub fn rows_skipped(&self) -> u64 {
        self.decode.rows_skipped
    }
}

impl RowSource {
    /// Goes on behind the last row of the source, or of those added to it; false when that was the last one.
    fn next_rows(&mut self) -> Result<bool, Failure> {
        match self.rows.take() {
            Some(rows) => rows.finish(),
            None => self.added = None,
        }
        if self.added.is_some() {
            return Ok(true);
        }
        if let Some(keys) = &mut self.decode.keys {
            keys.complete()?;
        }
        self.decode.check_complete()?;
        Ok(false)
    }
}

impl Source for RowSource {
    type Error = Failure;

    fn fetch(
        &mut self,
        count: usize,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<bool, Failure> {
        let decode = &mut self.decode;
        let mut failure = None;
        let visit = &mut |row: &Row<'_>| match decode.visit(row, sink) {
            Ok(()) => Continue::Yes,
            Err(reason) => {
                failure = Some(reason);
                Continue::No
            }
        };
        let more = match (&mut self.rows, &self.added) {
            (Some(rows), _) => rows.run(count as u64, visit),
            (None, Some(added)) => added.borrow_mut().run(count as u64, visit),
            (None, None) => return Ok(false),
        };
        match failure {
            Some(failure) => Err(failure),
            None if more => Ok(true),
            None => self.next_rows(),
        }
    }

    fn idle(&self) -> Result<Vec<u32>, OutOfMemory> {
        self.decode.constant_features()
    }

    fn positive(&self) -> usize {
        match labels::ascending(self.decode.groups.classes()).as_slice() {
            [_, greater] => *greater,
            _ => 1,
        }
    }
}

impl RowDecoder {
    fn visit(
        &mut self,
        row: &Row<'_>,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<(), Failure> {
        self.rows_seen += 1;
        let admitted = match &mut self.keys {
            None => None,
            Some(keys) => match keys.admit(row, self.rows_seen)? {
                None => return Ok(()),
                admitted => admitted,
            },
        };
        self.take(row, admitted, sink)
            .map_err(|failure| match &self.keys {
                // rows come in no order of the table's own: the key tells which one it is
                Some(keys) => failure.in_detail(&format!("Its key: {}.", keys.name(row))),
                None => failure,
            })
    }

    /// Takes a row that is known by `key`, where there is one.
    fn take(
        &mut self,
        row: &Row<'_>,
        key: Option<Admitted>,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<(), Failure> {
        let mut class = None;
        if let (Some(keys), Some(admitted)) = (&mut self.keys, &key) {
            if keys.may_screen(admitted) {
                let Some(found) = self.groups.of(row)? else {
                    return Ok(());
                };
                if keys.screen(admitted, found.0, self.groups.classes(), self.rows_seen)? {
                    return Ok(());
                }
                class = Some(found);
            }
        }
        match self.decode(row, key, class)? {
            Decoded::Skipped => Ok(()),
            Decoded::Example { group, cost } => sink(&Example {
                group,
                cost,
                dense: &self.buffer.dense,
                sparse_index: &self.buffer.sparse_index,
                sparse_value: &self.buffer.sparse_value,
            })
            .map_err(|error| self.row_failure(error)),
        }
    }

    /// `known`: the row's class and group where they are known already.
    fn decode(
        &mut self,
        row: &Row<'_>,
        key: Option<Admitted>,
        known: Option<(u32, u32)>,
    ) -> Result<Decoded, Failure> {
        // SAFETY: the executor's row has the columns of the plan from which the decoder was made.
        unsafe { self.decoder.decode(row.values, row.nulls, &mut self.buffer) }
            .map_err(|error| self.decode_failure(error))?;
        let nulls = &self.buffer.null_parts;
        for part in nulls {
            self.null_counts[*part] += 1;
        }
        let usable = nulls.is_empty() || matches!(self.nulls, Nulls::Zero | Nulls::Mean);
        if !usable {
            self.rows_skipped += 1;
            return Ok(Decoded::Skipped);
        }
        let weight = self.costs.weight(row, self.rows_seen)?;
        if weight == 0.0 {
            self.rows_skipped += 1;
            return Ok(Decoded::Skipped);
        }
        let found = match known {
            None => self.groups.of(row)?,
            known => known,
        };
        let Some((class, group)) = found else {
            return Ok(Decoded::Skipped);
        };
        let cost = self.costs.of(weight, class, self.groups.classes())?;
        self.constants.take(self.decoder.learned(), &self.buffer)?;
        if let (Some(keys), Some(key)) = (&mut self.keys, key) {
            keys.take(key, (class, self.groups.classes()), weight, &self.buffer)?;
        }
        Ok(Decoded::Example { group, cost })
    }

    /// By part, whether it had one value in all rows and is left out for it.
    fn constant_parts(&self) -> Result<Vec<bool>, OutOfMemory> {
        self.constants.parts(&self.decoder, &self.null_counts)
    }

    /// The features of these parts, by id.
    fn constant_features(&self) -> Result<Vec<u32>, OutOfMemory> {
        let (parts, features) = (self.constant_parts()?, self.decoder.learned());
        let dense = features.dense_of(&parts)?;
        let numbers = parts.iter().enumerate().filter(|(_, out)| **out);
        let categories = numbers.filter_map(|(number, _)| features.only_category(number));
        let all = dense.iter().copied().chain(categories);
        gathered(all.filter_map(|id| u32::try_from(id).ok()))
    }

    fn decode_failure(&self, error: FeatureError) -> Failure {
        match error {
            FeatureError::LongRow { values, .. } => {
                let (row_bytes, needed_cache_bytes) = Cache::bytes_for(values);
                self.row_failure(RowError::CacheTooSmall {
                    ordinal: self.rows_seen - 1,
                    row_bytes: row_bytes as u64,
                    cache_bytes: self.cache_bytes as u64,
                    needed_cache_bytes: needed_cache_bytes as u64,
                })
            }
            error => error.in_row(self.rows_seen).into(),
        }
    }

    /// What can be said only after the last row.
    fn check_complete(&self) -> Result<(), Failure> {
        let labels = &self.groups.labels;
        if self.rows_seen == 0 {
            return Err(
                Failure::new(Code::ERRCODE_NO_DATA, "the source has no rows")
                    .hint("Two rows, one of each class, are the least a training needs"),
            );
        }
        let mut complaints = Vec::new();
        if labels.nulls > 0 {
            complaints.push(
            Failure::new(
                Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!(
                    "label column \"{}\" contains {}",
                    labels.column(),
                    counted(labels.nulls, "NULL value")
                ),
            )
            .hint(format!(
                "Leave those rows out: svm_train_query('SELECT * FROM … WHERE {} IS NOT NULL', {}, model => '…')",
                pgrx::spi::quote_identifier(labels.column()),
                pgrx::spi::quote_literal(labels.column())
            )));
        }
        if self.nulls == Nulls::Error {
            complaints.extend(self.check_nulls().err());
        }
        if !self.continues {
            complaints.extend(self.decoder.check_keys().err().map(Failure::from));
        }
        if let Some(complaints) = Failure::join(complaints) {
            return Err(complaints);
        }
        match labels.classes() {
            [] => Err(Failure::new(
                Code::ERRCODE_NO_DATA,
                format!(
                    "no row is left after skipping {} with NULL features or weight 0",
                    counted(self.rows_skipped, "row")
                ),
            )
            .hint("nulls => 'mean' and nulls => 'zero' keep rows with NULL features")),
            [only] => Err(Failure::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "label column \"{}\" holds only one value, \"{}\"",
                    labels.column(),
                    only.text
                ),
            )
            .hint("A training needs rows of two classes")),
            classes => self.costs.check_complete(classes),
        }
    }

    fn check_nulls(&self) -> Result<(), Failure> {
        let counts: Vec<(String, u64)> = self
            .decoder
            .learned()
            .parts
            .iter()
            .zip(&self.null_counts)
            .enumerate()
            .filter(|(number, (_, count))| **count > 0 && !self.decoder.is_left_out(*number))
            .map(|(_, (part, count))| (part.name(), *count))
            .collect();
        let Some((name, count)) = counts.first() else {
            return Ok(());
        };
        let mut failure = Failure::new(
            Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!(
                "feature column \"{name}\" contains {}",
                counted(*count, "NULL value")
            ),
        )
        .hint("nulls => 'skip' leaves such rows out, nulls => 'mean' takes the column's mean or a category of its own, nulls => 'zero' counts a NULL as 0");
        if counts.len() > 1 {
            let all: Vec<_> = counts
                .iter()
                .map(|(name, count)| format!("\"{name}\" ({count})"))
                .collect();
            failure = failure.detail(format!("Columns with NULL values: {}.", all.join(", ")));
        }
        Err(failure)
    }

    /// The pure reader's complaint in the words of the table.
    fn row_failure(&self, error: RowError) -> Failure {
        match error {
            RowError::NonFinite { feature, value, .. } => Failure::new(
                Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!(
                    "feature {} holds {value:e}, which is out of range for training",
                    self.decoder.learned().feature_name(feature)
                ),
            )
            .detail(format!("It is in row {} of the source.", self.rows_seen))
            .hint("Training works with 32-bit numbers: magnitudes up to 3.4e38"),
            RowError::CacheTooSmall {
                row_bytes,
                cache_bytes,
                needed_cache_bytes,
                ..
            } => Failure::new(
                Code::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                format!(
                    "the cache of {cache_bytes} bytes is too small for a row of {row_bytes} bytes"
                ),
            )
            .detail(format!("It is row {} of the source.", self.rows_seen))
            .hint(format!(
                "SET pgsvm.cache_size = '{}kB'",
                needed_cache_bytes.div_ceil(1024)
            )),
            other => Failure::from(other),
        }
    }
}

impl From<RowError> for Failure {
    fn from(error: RowError) -> Self {
        let code = match error {
            RowError::OutOfMemory { .. } => Code::ERRCODE_OUT_OF_MEMORY,
            RowError::TooManyRows { .. } | RowError::FeatureTooLarge { .. } => {
                Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED
            }
            _ => Code::ERRCODE_INVALID_PARAMETER_VALUE,
        };
        Failure::new(code, error.to_string())
    }
}

fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
