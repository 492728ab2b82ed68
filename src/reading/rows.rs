//! Examples out of PostgreSQL: runs the source's SELECT a piece at a time, decodes each row and
//! hands it to the pure reader. Runs in the process that plays the reader role.

use crate::base::errors::{About, Failure};
use crate::catalog::identifiers::is_named_as_key;
use crate::features::{Feature, FeaturePart, FeatureSet};
use crate::index::kept::{KeptIndex, Served};
use crate::keys::chunks::KeyChunk;
use crate::pg::executor::{Continue, DeformedRow};
use crate::pg::kept_rows::KeptTuples;
use crate::pg::query::Planned;
use crate::planning::bad_rows::BadRows;
use crate::planning::job::{Job, Telltales};
use crate::reading::helpers::{Helpers, SourceRows};
use crate::reading::learned::LearnedRows;
use crate::reading::row_decoder::RowDecoder;
use crate::request::source;
use crate::targets::labels::{self, LabelValue};
use crate::warm_start::admission::Keys;
use crate::warm_start::following::Following;
use pgsvm_core::engine::RowSample;
use pgsvm_core::memory::{copied, gathered, OutOfMemory, Room};
use pgsvm_core::{Alone, Example, ReaderReport, RowError, Source, Survey, TellingColumn};
use std::cell::RefCell;
use std::rc::Rc;

/// The rows of a training's source.
pub struct RowSource {
    rows: Option<SourceRows>,
    /// Those behind them.
    added: Option<Rc<RefCell<KeptTuples>>>,
    decode: RowDecoder,
    /// What a training without a key begins from.
    begins: Option<Following>,
    /// Whether the source is a table, or its partitions.
    in_table: bool,
    /// Rows by which a kernel machine is compared with the linear one, where that is wanted.
    sample: Option<RowSample>,
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
        let columns = &job.statement.columns;
        let read = &planned.columns[..columns.features.end];
        let mut decode = RowDecoder::learning(job, read)?;
        let continues = following.is_some();
        let added = following.as_mut().and_then(|it| it.added.take());
        if let Some(added) = &added {
            added.borrow_mut().rewind();
        }
        let (keys, begins) = match columns.key.clone() {
            Some(column) => (Some(Keys::new(column, following, job.looks.slacks)), None),
            None => (None, following),
        };
        (decode.keys, decode.continues) = (keys, continues);
        let mut rows = SourceRows::start(planned, job, helpers);
        if let Some(index) = &job.index {
            let names = job.features.columns();
            let columns = (job.statement.columns.features.start, &names[..]);
            let wanted = decode.decoder.wanted()?;
            let kept = KeptIndex::open(index.clone(), rows.running(), &wanted, columns)?;
            decode.kept = Some(kept);
        }
        Ok(Self {
            rows: Some(rows),
            added,
            decode,
            begins,
            in_table: job.statement.in_table,
            sample: job
                .looks
                .compares
                .then(|| RowSample::new(job.terms.parameters.seed)),
        })
    }

    /// Has it known that rows are those of a model that is trained again.
    pub fn continues(&mut self) {
        self.decode.continues = true;
    }

    /// The rows of `job` once more, whose features, classes and values of a fold column are known: to learn their keys.
    pub fn again(
        planned: &Planned,
        job: &Job,
        features: &FeatureSet,
        known: (&[LabelValue], &[String]),
    ) -> Result<Self, Failure> {
        let read = &planned.columns[..job.statement.columns.features.end];
        let mut decode = RowDecoder::knowing(job, read, features, known)?;
        let key = job.statement.columns.key.clone();
        decode.keys = key.map(|column| Keys::new(column, None, false));
        Ok(Self {
            rows: Some(SourceRows::start(planned, job, None)),
            added: None,
            decode,
            begins: None,
            in_table: job.statement.in_table,
            sample: None,
        })
    }

    /// The rows of `job` when others have read all of them and learned this, if something is wrong with all of them says so.
    pub fn learned(
        planned: &Planned,
        job: &Job,
        learned: LearnedRows,
    ) -> Result<(Self, Survey), Failure> {
        let read = &planned.columns[..job.statement.columns.features.end];
        let mut decode = RowDecoder::learning(job, read)?;
        let survey = decode.adopt(learned, job)?;
        decode.check_complete()?;
        let this = Self {
            rows: None,
            added: None,
            decode,
            begins: None,
            sample: None,
            in_table: job.statement.in_table,
        };
        Ok((this, survey))
    }

    /// The features as rows were decoded, with these means in the place of NULLs, where that is the rule.
    pub fn decoded_features(&self, means: &[f64]) -> Result<FeatureSet, OutOfMemory> {
        let mut features = self.decode.decoder.learned().copied()?;
        self.decode.decoder.note_collisions(&mut features)?;
        features.means = Rc::new(copied(means)?);
        Ok(features)
    }

    /// What of `rows` tells the classes apart alone, what only counts them and what is NULL in all of them, by name.
    pub fn telltales(&self, found: &Alone, rows: u64) -> Result<Telltales, OutOfMemory> {
        let features = self.decode.decoder.learned();
        let mut out = Telltales::default();
        for (part, nulls) in features.parts.iter().zip(&self.decode.null_counts) {
            // texts that cannot be read are told of
            if rows > 0 && *nulls == rows && part.reading().is_none() {
                out.empty.room(1)?.push(part.name());
            }
        }
        for (number, part) in features.parts.iter().enumerate() {
            if self.decode.decoder.are_different(number) {
                out.distinct.room(1)?.push(part.name());
            }
        }
        // where there is one column there is nothing else to learn from, unless it is called as keys are
        let is_lone = matches!(&features.parts[..], [part] if part.is_one_value());
        let may_be_said = |name: &str| !is_lone || is_named_as_key(name);
        for telling in found.telling.iter().filter(|_| !is_lone) {
            let name = match telling.what {
                TellingColumn::Feature(id) => features.feature_name(id),
                TellingColumn::Part(part) => match features.parts.get(part as usize) {
                    Some(part) => part.name(),
                    None => continue,
                },
            };
            out.telling.room(1)?.push((name, telling.measure));
        }
        for id in found.codes.iter().filter(|_| !is_lone) {
            let Feature::Column(name) = features.feature(*id) else {
                continue;
            };
            let is_whole = |part: &FeaturePart| {
                let whole = matches!(part.type_name(), "smallint" | "integer" | "bigint");
                let text = part.reading().is_some();
                (whole || text) && part.column() == name && part.is_number()
            };
            if features.parts.iter().any(is_whole) && !found.counting.contains(id) {
                out.codes.room(1)?.push(name.to_owned());
            }
        }
        for id in &found.counting {
            let Feature::Column(name) = features.feature(*id) else {
                continue;
            };
            // days in their order are a time, not a count
            let is_number = |part: &FeaturePart| part.is_number() && part.column() == name;
            if features.parts.iter().any(is_number) && may_be_said(name) {
                out.counting.room(1)?.push(name.to_owned());
            }
        }
        for id in found
            .different
            .iter()
            .filter(|id| !found.counting.contains(id))
        {
            if let Feature::Column(name) = features.feature(*id) {
                if is_named_as_key(name) {
                    out.keys.room(1)?.push(name.to_owned());
                }
            }
        }
        Ok(out)
    }

    /// The label values by class id; there are two at least once every row was read.
    pub fn classes(&self) -> Result<Vec<LabelValue>, OutOfMemory> {
        gathered(self.decode.groups.classes().iter().cloned())
    }

    /// The same where they are.
    pub fn known_classes(&self) -> &[LabelValue] {
        self.decode.groups.classes()
    }

    /// The values of the fold column by fold, for scans that are told them.
    pub fn known_folds(&self) -> Vec<String> {
        self.decode.groups.known_folds()
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
            decode.decoder.note_collisions(&mut features)?;
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
        if decode.nulls_by_rows && !features.has_nulls() {
            features.means = Rc::default();
        }
        Ok((features, dropped))
    }

    /// The dense features that were read and are none of the model's.
    pub fn dropped(&self) -> Result<Vec<u64>, OutOfMemory> {
        let constant = self.decode.constant_parts()?;
        self.decode.decoder.learned().dense_of(&constant)
    }

    /// The sparse features whose values lose more of their digits in 32 bits than their spread bears, by sparse id.
    pub fn imprecise(&self) -> impl Iterator<Item = u32> + '_ {
        let whole = self.decode.imprecise.iter().copied();
        whole.chain(self.decode.decoder.imprecise())
    }

    /// Keys and digests of the rows.
    pub fn key_chunks(&self) -> &[KeyChunk] {
        self.decode.keys.as_ref().map_or(&[], Keys::chunks)
    }

    /// How an index has served, where there is one.
    pub fn served(&self) -> Option<Served> {
        let kept = self.decode.kept.as_ref()?;
        Some(kept.served(self.decode.decoder.learned()))
    }

    /// Gives the rows away by which a kernel machine is compared.
    pub fn take_sample(&mut self) -> Option<RowSample> {
        self.sample.take()
    }

    /// Knows keys and digests no longer.
    pub fn drop_keys(&mut self) {
        self.decode.keys = None;
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

    /// Rows left out because something is wrong with them.
    pub fn bad_rows(&self) -> BadRows {
        self.decode.bad_rows.clone()
    }

    /// Rows left out because they have no label.
    pub fn rows_unlabelled(&self) -> u64 {
        self.decode.groups.labels.nulls
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

impl RowSource {
    /// Where the row that a failure is about lies, of a source that is a table.
    fn placed(&mut self, failure: Failure) -> Failure {
        let wanted = failure.about != About::All && self.in_table;
        let place = self
            .rows
            .as_mut()
            .filter(|_| wanted)
            .and_then(SourceRows::place);
        match place {
            None => failure,
            Some(place) => {
                let table = source::qualified_relation(place.table).unwrap_or_default();
                failure.in_detail(&format!("Its ctid: {} in {table}.", place.ctid()))
            }
        }
    }
}

impl Source for RowSource {
    type Error = Failure;

    fn fetch(
        &mut self,
        count: usize,
        sink: &mut dyn FnMut(&Example<'_>) -> Result<(), RowError>,
    ) -> Result<bool, Failure> {
        let (decode, sample) = (&mut self.decode, &mut self.sample);
        let mut failure = None;
        let sink = &mut |example: &Example<'_>| {
            // it is for a hint, which may be missing
            if sample.as_mut().is_some_and(|it| it.look(example).is_err()) {
                *sample = None;
            }
            sink(example)
        };
        let visit = &mut |row: &DeformedRow<'_>| match decode.visit(row, sink) {
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
            Some(failure) => Err(self.placed(failure)),
            None if more => Ok(true),
            None => self.next_rows(),
        }
    }

    fn idle(&self) -> Result<Vec<u32>, OutOfMemory> {
        self.decode.constant_features()
    }

    fn category_of(&self, sparse: u32) -> Option<u32> {
        let part = self.decode.decoder.learned().category_part(sparse)?;
        u32::try_from(part).ok()
    }

    fn positive(&self) -> usize {
        match labels::ascending(self.decode.groups.classes()).as_slice() {
            [_, greater] => *greater,
            _ => 1,
        }
    }
}
