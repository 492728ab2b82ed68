//! What pass 1 finds out of its rows.

use std::collections::TryReserveError;
use std::mem::take;

use serde::{Deserialize, Serialize};

use super::alone::{Alone, MOST_WORDS};
use super::codec::ChunkError;
use super::encode;
use super::expansion::Expander;
use super::job::{Balance, ReadError, ReaderJob, ReaderReport};
use super::sample::PackedSample;
use crate::base::memory::{copied, list, OutOfMemory, Room};
use crate::objective::plan::MOST_FOLDS;
use crate::rows::compact::make_room;
use crate::rows::facts::{Facts, Rounding};
use crate::rows::row::row_words;
use crate::rows::source::{Example, RowError};
use crate::scaling::{Applier, ScaleLearner, Scaling, Spread, TargetJob, TargetScale, TargetSums};

/// What pass 1 has found out.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SeenRows {
    pub(super) learner: ScaleLearner,
    pub(super) scaling: Scaling,
    /// The scaling to use instead of one that is learned.
    pub(super) kept: Option<Scaling>,
    #[serde(deserialize_with = "list")]
    pub(super) means: Vec<f64>,
    pub(super) spread: Spread,
    pub(super) dense: Option<usize>,
    pub(super) rows: u64,
    pub(super) words: u64,
    /// Words of the rows when they are visited.
    visited_words: u64,
    groups: GroupCounts,
    balance: Balance,
    unit_rows: bool,
    /// By how much rows may be off before they are divided by their length, once all have been seen.
    unit_off: Option<f64>,
    as_they_come: bool,
    /// By class, see [`crate::cache::TrainerSide::positive_weights`].
    #[serde(deserialize_with = "list")]
    pub(super) positive_weights: Vec<f32>,
    pub(super) max_row_words: usize,
    /// The largest cost of a row as a share of what it counts as.
    most_cost: f64,
    /// Words of the longest row in a short form when it is visited.
    most_visited_words: usize,
    /// Finds the short forms that rows are to be kept in.
    #[serde(skip)]
    expander: Option<Expander>,
    /// Rows by which features are looked at that may tell the classes apart alone, where that is wanted; and what was found.
    #[serde(skip)]
    sample: Option<PackedSample>,
    pub(super) alone: Alone,
    /// Where labels are numbers: what is to become of them, what they come to, and once all have been seen what makes targets of them.
    target_job: Option<TargetJob>,
    has_offsets: bool,
    epsilon: Option<f64>,
    target_sums: TargetSums,
    pub(super) targets: Option<TargetScale>,
}

/// What classes and folds of others are called here.
#[derive(Debug, Clone, Copy)]
pub struct Renamed<'a> {
    /// By class of theirs, the same one here.
    pub classes: &'a [u32],
    /// The same of folds; none: as they are.
    pub folds: &'a [u32],
}

impl Renamed<'_> {
    /// A group of theirs, where so many folds may be.
    pub(super) fn group(self, group: u32, stride: u32) -> u32 {
        self.classes[(group / stride) as usize] * stride + self.fold(group % stride)
    }

    fn fold(self, fold: u32) -> u32 {
        self.folds.get(fold as usize).copied().unwrap_or(fold)
    }
}

/// Rows by group: a class and a fold.
#[derive(Debug, Serialize, Deserialize)]
struct GroupCounts {
    /// By group.
    #[serde(deserialize_with = "list")]
    rows: Vec<u64>,
    /// As how many rows those of each group count.
    #[serde(deserialize_with = "list")]
    counted: Vec<f64>,
    /// Folds that groups leave room for, and a bit for each that has rows.
    stride: u32,
    folds: u64,
    last_class: u32,
    /// Rows whose class differs from the row before.
    class_changes: u64,
}

impl GroupCounts {
    /// Counts a row of this group, which counts as so many, the first of all or not.
    fn add(&mut self, group: u32, counts_as: f64, first: bool) -> Result<(), RowError> {
        let place = group as usize;
        if place >= self.rows.len() {
            self.widen(place + 1)?;
        }
        self.rows[place] += 1;
        self.counted[place] += counts_as;
        let class = group / self.stride;
        self.folds |= 1u64.unbounded_shl(group % self.stride);
        self.class_changes += u64::from(!first && class != self.last_class);
        self.last_class = class;
        Ok(())
    }

    /// Whether they are those of so many classes; those that came as bytes may not be.
    fn are_sound(&self, classes: usize) -> bool {
        let stride = self.stride as usize;
        (1..=MOST_FOLDS).contains(&self.stride)
            && self.rows.len() <= classes.saturating_mul(stride)
            && self.counted.len() == self.rows.len()
            && (self.last_class as usize) < classes.max(1)
    }

    /// Has so many groups.
    fn widen(&mut self, groups: usize) -> Result<(), RowError> {
        let more = groups.saturating_sub(self.rows.len());
        let memory = |_| out_of_memory(4 * more);
        self.rows.try_reserve(more).map_err(memory)?;
        self.counted.try_reserve(more).map_err(memory)?;
        self.rows.resize(self.rows.len() + more, 0);
        self.counted.resize(self.rows.len(), 0.0);
        Ok(())
    }

    /// Gives classes and folds other numbers.
    fn rename(&mut self, names: Renamed<'_>) -> Result<(), RowError> {
        let stride = self.stride as usize;
        let all = names
            .classes
            .iter()
            .max()
            .map_or(0, |most| stride * (*most as usize + 1));
        let before = (take(&mut self.rows), take(&mut self.counted));
        let folds = take(&mut self.folds);
        self.widen(all)?;
        for (group, (rows, counted)) in before.0.iter().zip(&before.1).enumerate() {
            let place = names.group(group as u32, self.stride) as usize;
            self.rows[place] += *rows;
            self.counted[place] += *counted;
        }
        for fold in (0..self.stride).filter(|fold| folds >> fold & 1 != 0) {
            self.folds |= 1u64.unbounded_shl(names.fold(fold));
        }
        let last = names.classes.get(self.last_class as usize);
        self.last_class = last.copied().unwrap_or(0);
        Ok(())
    }

    /// Joins the counts of other rows.
    fn join(&mut self, more: &Self) -> Result<(), RowError> {
        self.widen(more.rows.len())?;
        for (own, more) in self.rows.iter_mut().zip(&more.rows) {
            *own = own.saturating_add(*more);
        }
        for (own, more) in self.counted.iter_mut().zip(&more.counted) {
            *own += more;
        }
        self.folds |= more.folds;
        self.class_changes = self.class_changes.saturating_add(more.class_changes);
        Ok(())
    }

    /// As how many rows all count, those of each group so many times; none: once.
    fn costs(&self, balance: &[f32]) -> f64 {
        let groups = self.counted.iter().enumerate();
        let by = |group: usize| balance.get(group).map_or(1.0, |it| f64::from(*it));
        groups.map(|(group, counted)| counted * by(group)).sum()
    }

    fn classes(&self) -> usize {
        self.rows.len().div_ceil(self.stride as usize)
    }

    /// By class, what balancing multiplies, and how many groups it has.
    fn balanced(&self) -> impl Iterator<Item = (f32, usize)> + '_ {
        let classes = || self.counted.chunks(self.stride as usize);
        let rows_of = |class: &[f64]| class.iter().sum::<f64>();
        let occurring = classes().filter(|class| rows_of(class) > 0.0).count();
        let rows: f64 = classes().map(rows_of).sum();
        classes().map(move |class| {
            let factor = match rows_of(class) {
                0.0 => 0.0,
                own => balancing(rows / (own * occurring as f64)),
            };
            (factor, class.len())
        })
    }
}

/// A factor of costs, of 20 bits: a 32-bit number holds its product with any weight of up to 4 bits, so that a row of weight 3
/// costs three times what one of weight 1 does, to the last bit.
fn balancing(factor: f64) -> f32 {
    const LOST: u32 = f64::MANTISSA_DIGITS - 20;
    let half = 1u64 << (LOST - 1);
    f64::from_bits((factor.to_bits() + half) & !(2 * half - 1)) as f32
}

impl SeenRows {
    /// `room`: words of rows that fit the cache.
    pub(super) fn new(job: &ReaderJob, room: usize) -> Self {
        Self {
            learner: ScaleLearner::new(job.scale, job.impute),
            scaling: Scaling::default(),
            kept: None,
            means: Vec::new(),
            spread: Spread::default(),
            dense: None,
            rows: 0,
            words: 0,
            visited_words: 0,
            groups: GroupCounts {
                rows: Vec::new(),
                counted: Vec::new(),
                stride: job.stride.max(1),
                folds: 0,
                last_class: 0,
                class_changes: 0,
            },
            balance: job.balance,
            unit_rows: job.unit_rows,
            unit_off: None,
            as_they_come: job.as_they_come,
            positive_weights: Vec::new(),
            max_row_words: 0,
            most_cost: 0.0,
            most_visited_words: 0,
            expander: job.expansion.and_then(|it| Expander::new(it, room)),
            sample: job.looks.then(|| PackedSample::new(MOST_WORDS, job.seed)),
            alone: Alone::default(),
            target_job: job.targets,
            has_offsets: false,
            epsilon: job.epsilon,
            target_sums: TargetSums::default(),
            targets: None,
        }
    }

    /// Rows of each group.
    pub(super) fn group_counts(&self) -> &[u64] {
        &self.groups.rows
    }

    /// Checks a row, the next that is taken, and gives its length; the first row fixes the dense part.
    pub(super) fn check(&mut self, example: &Example<'_>) -> Result<usize, RowError> {
        let dense = match self.dense {
            Some(dense) => dense,
            None => self.begin(example)?,
        };
        let length = encode::check(example, self.rows, dense)?;
        let Some(expander) = self.expander.as_mut().filter(|_| example.offset.is_none()) else {
            return Ok(length);
        };
        let found = expander.take(example, length);
        let found = found.map_err(|_| out_of_memory(length))?;
        Ok(found.map_or(length, |short| row_words(dense, short.len() / 2)))
    }

    /// Rows do not fit the cache, whatever was expected of them.
    pub(super) fn overflow(&mut self) {
        if let Some(expander) = &mut self.expander {
            expander.overflow();
        }
    }

    fn begin(&mut self, example: &Example<'_>) -> Result<usize, RowError> {
        let dense = example.dense.len();
        self.learner
            .begin(example.dense)
            .map_err(|_| out_of_memory(8 * dense))?;
        self.dense = Some(dense);
        Ok(dense)
    }

    /// Packs a checked row into `words` and learns from it.
    pub(super) fn take(
        &mut self,
        example: &Example<'_>,
        words: &mut [u32],
    ) -> Result<(), RowError> {
        let expander = self.expander.as_ref();
        let short = expander
            .filter(|_| example.offset.is_none())
            .and_then(Expander::found);
        let visited = encode::visited_words(example);
        if let Some(label) = example.offset {
            self.has_offsets = true;
            self.target_sums.take(label, example.rows);
        }
        if short.is_some() {
            self.most_visited_words = self.most_visited_words.max(visited);
        }
        encode::encode(example, (self.rows, short), &mut self.learner, words)?;
        self.groups
            .add(example.group, example.rows, self.rows == 0)?;
        if let Some(sample) = &mut self.sample {
            sample.take(words, example.dense.len())?;
        }
        self.max_row_words = self.max_row_words.max(words.len());
        let cost = f64::from(example.cost) / example.rows;
        self.most_cost = self.most_cost.max(cost);
        self.rows += 1;
        self.words += words.len() as u64;
        self.visited_words += visited as u64;
        Ok(())
    }

    /// Whether its parts fit one another, of rows of so many classes; those of bytes that came from elsewhere may not.
    pub(super) fn is_sound(&self, classes: usize) -> bool {
        let dense = self.dense.unwrap_or(0);
        let offset = usize::from(self.has_offsets);
        let longest = row_words(dense.min(1 << 32), self.learner.sparse() + offset);
        let is_new = |scaling: &Scaling| scaling == &Scaling::default();
        self.dense.is_some() == (self.rows > 0)
            && self.groups.are_sound(classes)
            && self.learner.is_sound(dense)
            && self.max_row_words <= longest
            // what surveys have no use for
            && is_new(&self.scaling)
            && self.kept.is_none()
            && self.most_visited_words == 0
            && self.means.is_empty()
            && self.spread.is_empty()
            && self.positive_weights.is_empty()
            && self.alone == Alone::default()
            && self.targets.is_none()
    }

    /// Whether others were seen in the same way; both are sound.
    pub(super) fn fits(&self, more: &Self) -> bool {
        self.groups.stride == more.groups.stride
            && self.balance == more.balance
            && self.unit_rows == more.unit_rows
            && self.as_they_come == more.as_they_come
            && self.target_job == more.target_job
            && (self.dense != more.dense || self.learner.fits(&more.learner))
    }

    /// Groups that a class has.
    pub(super) fn stride(&self) -> u32 {
        self.groups.stride
    }

    /// By how much rows may be off before they are divided by their length, where they are.
    pub(super) fn unit_off(&self) -> Option<f64> {
        self.unit_off
    }

    /// Gives classes and folds other numbers.
    pub(super) fn rename(&mut self, names: Renamed<'_>) -> Result<(), RowError> {
        self.groups.rename(names)
    }

    /// Joins what was seen of other rows, of which there are some. Gives back what is to be added to their dense values, see
    /// [`ScaleLearner::join`].
    pub(super) fn join(&mut self, more: Self) -> Result<Vec<f64>, RowError> {
        if self.rows == 0 {
            *self = more;
            return Ok(Vec::new());
        }
        if let (Some(expected), Some(found)) = (self.dense, more.dense) {
            if expected != found {
                let ordinal = self.rows;
                return Err(RowError::DenseLength {
                    ordinal,
                    expected,
                    found,
                });
            }
        }
        let shift = self.learner.join(&more.learner);
        let shift = shift.map_err(|error| RowError::OutOfMemory { bytes: error.bytes })?;
        self.groups.join(&more.groups)?;
        self.target_sums.join(&more.target_sums);
        self.has_offsets |= more.has_offsets;
        self.rows = self.rows.saturating_add(more.rows);
        self.words = self.words.saturating_add(more.words);
        self.visited_words = self.visited_words.saturating_add(more.visited_words);
        self.max_row_words = self.max_row_words.max(more.max_row_words);
        self.most_cost = self.most_cost.max(more.most_cost);
        self.most_visited_words = self.most_visited_words.max(more.most_visited_words);
        Ok(shift)
    }

    /// The report about the rows; `resident`: whether all fitted the cache, else with so many bytes of a spool.
    pub(super) fn report(
        &self,
        resident: bool,
        spool_bytes: u64,
    ) -> Result<ReaderReport, OutOfMemory> {
        let dense = self.dense.unwrap_or(0);
        let report = ReaderReport {
            rows: self.rows,
            bytes: 4 * self.words,
            dense_features: dense as u64,
            features: (dense + self.learner.sparse()) as u64,
            scaling: self.scaling.copied()?,
            provisional: copied(self.learner.provisional())?,
            group_counts: copied(self.group_counts())?,
            means: copied(&self.means)?,
            spread: self.spread.copied()?,
            alone: self.alone.copied()?,
            targets: self.targets,
            imprecise: Vec::new(),
            imprecise_features: 0,
            resident,
            spool_bytes,
        };
        Ok(report.with_imprecise(self.learner.imprecise()))
    }

    pub(super) fn complaint<S, P>(&self, error: ChunkError<P>) -> ReadError<S, P> {
        match error {
            ChunkError::Spool(error) => ReadError::Spool(error),
            ChunkError::Memory => memory(self.words),
            ChunkError::Corrupt => ReadError::SpoolCorrupt,
        }
    }

    /// Classes of which the trainer gets the weights as positives.
    pub(super) fn weighed(&self) -> usize {
        let classes = self.groups.classes();
        match self.balance {
            Balance::PositivesBeyond(few) if classes > few => classes,
            _ => 0,
        }
    }

    /// Costs are balanced as they come.
    pub(super) fn leave_weights(&mut self) {
        self.balance = Balance::None;
    }

    /// What balancing multiplies costs by, by group; empty where it multiplies none, or those of positives alone.
    pub(super) fn balance(&mut self) -> Result<Vec<f32>, TryReserveError> {
        let mut factors = Vec::new();
        if self.balance == Balance::None {
            return Ok(factors);
        }
        let balanced = self.groups.balanced();
        if self.weighed() > 0 {
            let mut weights = Vec::new();
            weights.try_reserve_exact(self.weighed())?;
            weights.extend(balanced.map(|(factor, _)| factor));
            self.positive_weights = weights;
            return Ok(factors);
        }
        factors.try_reserve_exact(self.groups.rows.len())?;
        factors.extend(balanced.flat_map(|(factor, groups)| std::iter::repeat_n(factor, groups)));
        Ok(factors)
    }

    /// Looks for features that tell the classes apart alone, where that is wanted and for the first time.
    pub(super) fn look(
        &mut self,
        column_of: &dyn Fn(u32) -> Option<u32>,
    ) -> Result<(), OutOfMemory> {
        if let Some(sample) = self.sample.take() {
            let dense = self.dense.unwrap_or(0);
            self.alone = Alone::of(sample.words(), dense, self.stride(), column_of)?;
        }
        Ok(())
    }

    /// `idle`: features of one value; `positive`: see [`crate::rows::source::Source::positive`].
    pub(super) fn finish(
        &mut self,
        idle: &[u32],
        positive: usize,
    ) -> Result<(Facts, Applier), OutOfMemory> {
        let dense = self.dense.unwrap_or(0);
        if self.most_visited_words > 0 {
            // scaling visits rows
            make_room(self.max_row_words, self.most_visited_words)?;
        }
        let (learned, occurring, mean_q) = self.learner.finish(idle)?;
        let kept = match &self.kept {
            Some(kept) => kept.kept_for(&learned)?,
            None => None,
        };
        let scaling = kept.unwrap_or(learned);
        self.means = self.learner.means()?;
        self.spread = self.learner.spread()?;
        let balance = self.balance()?;
        let costs = self.groups.costs(&balance) * self.most_cost;
        let rounding = match self.as_they_come {
            true => self.learner.rounding(&scaling, self.unit_rows),
            false => Rounding::default(),
        };
        self.unit_off = self.unit_rows.then(|| rounding.all_off());
        let (rounding, mean_q) = match self.unit_rows {
            true => (rounding.divided(mean_q.sqrt()), 1.0),
            false => (rounding, mean_q),
        };
        let provisional = self.learner.provisional();
        let (means, unit_off) = (&self.means, self.unit_off);
        let applier = Applier::new(&scaling, provisional, means, balance, unit_off)?;
        self.targets = self.target_job.map(|job| self.target_sums.scale(job));
        let applier = applier.with_targets(self.targets, self.stride());
        self.scaling = scaling;
        let facts = Facts {
            rows: self.rows as usize,
            dense,
            features: dense + self.learner.sparse(),
            occurring,
            groups: self.groups.rows.len(),
            folds: self.groups.folds,
            class_changes: self.groups.class_changes as usize,
            max_row_words: self.max_row_words,
            mean_row_words: (self.visited_words / self.rows.max(1)) as usize,
            stored_row_words: (self.words / self.rows.max(1)) as usize,
            most_visited_words: self.most_visited_words,
            mean_q,
            weighed: self.positive_weights.len(),
            positive,
            rounding,
            costs,
            offsets: self.has_offsets,
            epsilon: self.targets.map(|it| it.epsilon).or(self.epsilon),
            deviation: match &self.targets {
                Some(scale) => self.target_sums.deviation() / scale.unit(),
                None => 0.0,
            },
        };
        Ok((facts, applier))
    }
}

/// Room for a row of so many words, kept from row to row.
pub(super) fn grown(words: &mut Vec<u32>, length: usize) -> Result<&mut [u32], RowError> {
    if words.len() < length {
        let room = words.room(length - words.len());
        room.map_err(|_| out_of_memory(length))?;
        words.resize(length, 0);
    }
    Ok(&mut words[..length])
}

pub(super) fn out_of_memory(words: usize) -> RowError {
    RowError::OutOfMemory {
        bytes: 4 * words as u64,
    }
}

pub(super) fn memory<S, P>(words: u64) -> ReadError<S, P> {
    ReadError::Row(RowError::OutOfMemory { bytes: 4 * words })
}

#[cfg(test)]
mod tests {
    use super::balancing;

    #[test]
    fn three_times_a_balancing_factor_is_a_32_bit_number() {
        for rows in 1..2000u32 {
            let exact = 1999.0 / (2.0 * f64::from(rows));
            let factor = balancing(exact);
            assert!((f64::from(factor) / exact - 1.0).abs() < 1e-6);
            for weight in [2.0, 3.0, 5.0, 7.0, 10.0, 0.75] {
                assert_eq!(
                    f64::from(weight as f32 * factor),
                    weight * f64::from(factor)
                );
            }
        }
    }
}
