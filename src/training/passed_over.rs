//! Rows that a follow-up passes over. A row that is the same version as when the model was trained
//! ([`crate::pg::origin`]), whose dual variable is 0 and whose leeway ([`pgsvm_core::leeway`]) is more than the weights may be
//! expected to move, is neither decoded nor trained on: its loss was 0 and stays 0. Behind the training the distance that the
//! weights have moved proves that for each such row; those for which it does not are looked at then, and what they lose is
//! added to the primal. Where the gap is no longer within the tolerance with that, the training is done again to a smaller
//! one, or with all rows.
//!
//! In the process that follows, which has no workers.

use crate::base::errors::{Failure, OrRaise};
use crate::features::{Decoder, FeatureBuffer, FeatureSet, Nulls};
use crate::keys::digest;
use crate::pg::check_for_interrupts;
use crate::pg::executor::{Continue, Row};
use crate::pg::query;
use crate::planning::job::Job;
use crate::reading::helpers;
use crate::request::Request;
use crate::targets::costs::Costs;
use crate::targets::labels::LabelValue;
use crate::training::leader::Trained;
use crate::warm_start::admission::out_of_memory;
use pgsvm_core::leeway::{code_at, code_of, leeway_of, Metric, Ruler};
use pgsvm_core::memory::{gathered, Room};
use pgsvm_core::{Leeways, Outside, Purpose, Scaling, StopReason, Weights};

/// How far weights are expected to move at most from training to training, in the unit of leeways: so much times the square
/// root of features over support vectors, as noise has it, but no more than this; and at a tolerance above 1e-3 by its square
/// root more.
const FARTHEST: f64 = 0.5;
const FARTHEST_AT_ALL: f64 = 0.15;
/// The share of that which they are expected to move at least; between the two one octave is as likely as another.
const NEAREST_SHARE: f64 = 0.02;
/// What it costs to have expected too little, of what all rows cost.
const PENALTY: f64 = 0.3;
/// The least that passing over is expected to save, of what all rows cost, where it is tried.
const LEAST_SAVING: f64 = 0.3;
/// A training whose gap is too large with what rows passed over lose is done again to a smaller one: by so many times the
/// difference, as long as this share of the tolerance is left.
const CAUTION: f64 = 1.5;
const LEAST_SHARE: f64 = 0.2;
/// Rows looked at again between interrupts.
const ROWS_AT_A_TIME: u64 = 1000;

/// Whether the rows of a training can have leeways: it keeps their keys, and neither how they are decoded nor how much they
/// count depends on what the other rows are like.
pub fn possible(request: &Request, features: &FeatureSet) -> bool {
    request.key.is_some()
        && matches!(request.nulls, Nulls::Error | Nulls::Skip)
        && !request.class_weight.is_balanced()
        && features.categories().next().is_none()
        && request.plan.costs.len() == 1
        && request.plan.purpose == Purpose::Train
        && request.plan.folds.is_none()
        && !request.plan.probability
        && !request.unit_rows
}

/// Which rows a certificate covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Covers {
    AllRows,
    /// All, but the gap is not within the tolerance; trained to this share of it, it should be.
    WithAWiderGap(f64),
    /// Not those that were passed over.
    NotAll,
}

/// What a version knows of its rows' leeways, or what is to be stored of them.
pub struct RowLeeways {
    /// By label.
    pub metrics: Vec<(String, Metric)>,
    /// By row what its version is known by, or `origin::NONE`.
    pub versions: Vec<u64>,
    /// By row.
    pub codes: Vec<u8>,
    /// Of the rows that are measured.
    pub scaling: Scaling,
}

/// Which rows are passed over.
pub struct Passing {
    known: RowLeeways,
    /// The least code of a row that is.
    least: u8,
    /// A bit for each class of which a row was looked at: one of each has to be.
    looked_at: u64,
    /// Those that were, in the order of the source.
    pub rows: Vec<PassedOver>,
    /// The weights that the leeways are about, the intercept's last; None where they do not fit the features.
    pub before: Option<Vec<f64>>,
    /// The gap that is wanted in the end.
    pub tolerance: f64,
}

/// A row that was passed over.
#[derive(Debug, Clone, Copy)]
pub struct PassedOver {
    /// Its number in the source, from 1.
    number: u32,
    /// Its place among the rows that are trained on, from 0.
    pub place: u32,
    /// The row of the model that it is.
    known: u32,
    class: u32,
}

impl Passing {
    /// Of a model that stands on so many rows, for a gap of `tolerance`; None where it is not worth it.
    pub fn plan(known: RowLeeways, support_vectors: usize, tolerance: f64) -> Option<Self> {
        let features = known.metrics.first()?.1.centre.len();
        let noise = FARTHEST * (features as f64 / support_vectors.max(1) as f64).sqrt();
        let farthest = noise.min(FARTHEST_AT_ALL) * (tolerance / 1e-3).sqrt().max(1.0);
        let (least, saving) = best_code(&known.codes, farthest);
        (saving >= LEAST_SAVING).then_some(Self {
            known,
            least,
            looked_at: 0,
            rows: Vec::new(),
            before: None,
            tolerance,
        })
    }

    /// Whether a row of the model has so much leeway that it may be passed over.
    #[inline]
    pub fn has_leeway(&self, known: u32) -> bool {
        self.known.codes[known as usize] >= self.least
    }

    /// Notes that a row of a class is looked at.
    pub fn looked_at(&mut self, class: u32) {
        self.looked_at |= 1 << class.min(63);
    }

    /// Passes over row `number` of the source, which would be number `place` of those trained on, if it is that version of
    /// the model's row.
    pub fn pass_over(
        &mut self,
        known: u32,
        version: u64,
        class: u32,
        number: u64,
        place: u64,
    ) -> Result<bool, Failure> {
        let (Ok(number), Ok(place)) = (u32::try_from(number), u32::try_from(place)) else {
            return Ok(false);
        };
        let same = self.known.versions[known as usize] == version;
        if !same || self.looked_at & 1 << class.min(63) == 0 {
            return Ok(false);
        }
        self.rows.try_reserve(1).map_err(|_| out_of_memory())?;
        self.rows.push(PassedOver {
            number,
            place,
            known,
            class,
        });
        Ok(true)
    }

    /// The scaling in which the rows passed over have their leeway.
    pub fn scaling(&self) -> &Scaling {
        &self.known.scaling
    }

    /// The features that the metrics know.
    pub fn features(&self) -> usize {
        let features = |(_, metric): &(String, Metric)| metric.centre.len();
        self.known.metrics.iter().map(features).max().unwrap_or(0)
    }

    /// The metrics of these classes; none unless they are those that there were.
    pub fn metrics(&self, classes: &[LabelValue]) -> Vec<Metric> {
        let of = |class: &LabelValue| {
            let mut all = self.known.metrics.iter();
            all.find(|(label, _)| *label == class.text)
                .map(|(_, metric)| metric.clone())
        };
        match classes.len() == self.known.metrics.len() {
            true => classes
                .iter()
                .map(of)
                .collect::<Option<_>>()
                .unwrap_or_default(),
            false => Vec::new(),
        }
    }

    fn code(&self, row: &PassedOver) -> u8 {
        self.known.codes[row.known as usize]
    }
}

/// The code from which on rows are best passed over where weights move so far at most, and what that is expected to save as a
/// share of all rows.
fn best_code(codes: &[u8], farthest: f64) -> (u8, f64) {
    let mut rows = [0u64; 256];
    for code in codes {
        rows[usize::from(*code)] += 1;
    }
    let (mut passed, mut best) = (0, (u8::MAX, 0.0));
    for code in (1..=u8::MAX).rev() {
        passed += rows[usize::from(code)];
        let octaves = (farthest / leeway_of(code)).log2() / NEAREST_SHARE.recip().log2();
        let enough = 1.0 - octaves.clamp(0.0, 1.0);
        let share = passed as f64 / codes.len().max(1) as f64;
        let saving = enough * share - (1.0 - enough) * PENALTY;
        if saving > best.1 {
            best = (code, saving);
        }
    }
    best
}

/// Proves that the rows passed over lose nothing, or adds what they lose, and gives back their codes. Where it cannot,
/// `trained.covers` says so.
pub fn prove(
    job: &Job,
    trained: &mut Trained,
    weights: Weights<'_>,
    passing: &Passing,
) -> Result<Vec<u8>, Failure> {
    let mut codes = Vec::new();
    if passing.rows.is_empty() {
        return Ok(codes);
    }
    let metrics = passing.metrics(&trained.reader.classes);
    let scaling = &trained.reader.report.scaling;
    let comparable = !metrics.is_empty() && passing.scaling().agrees_with(scaling);
    let Some(before) = passing.before.as_ref().filter(|_| comparable) else {
        trained.covers = Covers::NotAll;
        return Ok(codes);
    };
    let moved = metrics.iter().map(|it| distance(it, before, weights));
    let after: Vec<[Option<u8>; 256]> = moved.map(codes_after).collect();
    let mut uncertain = Vec::new();
    codes
        .try_reserve_exact(passing.rows.len())
        .map_err(|_| out_of_memory())?;
    for (at, row) in passing.rows.iter().enumerate() {
        let code = after[row.class as usize][usize::from(passing.code(row))];
        if code.is_none() {
            uncertain.room(1)?.push(at);
        }
        codes.push(code.unwrap_or(0));
    }
    let mut outside = Outside::without_loss((passing.rows.len() - uncertain.len()) as u64);
    if !uncertain.is_empty() {
        let look = Look::new(job, trained, weights, passing, &metrics)?;
        let Some(seen) = look.at(&uncertain, &mut codes)? else {
            trained.covers = Covers::NotAll;
            return Ok(codes);
        };
        outside.extend(&seen);
        if let Some(followed) = &mut trained.followed {
            followed["looked_at_again"] = uncertain.len().into();
        }
    }
    account(job, trained, passing.tolerance, &outside);
    Ok(codes)
}

/// Keeps the leeways of all rows, where they have some: of those trained on, and with these codes of those passed over.
pub fn keep(
    trained: &mut Trained,
    leeways: Option<Leeways>,
    versions: Option<Vec<u64>>,
    (passed, codes): (&[PassedOver], &[u8]),
) {
    let (Some(leeways), Some(versions)) = (leeways, versions) else {
        return;
    };
    let rows = trained.reader.report.rows as usize;
    let all = merge(leeways.codes.into_iter(), passed, |row| codes[row]);
    if trained.covers != Covers::AllRows || versions.len() != rows {
        return;
    }
    let labels = trained.reader.classes.iter();
    let labels = labels.map(|class| class.text.clone());
    trained.leeways = Some(RowLeeways {
        metrics: labels.zip(leeways.metrics).collect(),
        versions,
        codes: gathered(all).or_raise(),
        scaling: trained.reader.report.scaling.copied().or_raise(),
    });
}

/// By code, the code of a row once the weights have moved this far; None where it may lose something then.
fn codes_after(distance: f64) -> [Option<u8>; 256] {
    core::array::from_fn(|code| {
        let left = leeway_of(code as u8) - distance;
        (left >= 0.0).then(|| code_of(left))
    })
}

/// What is known of all rows, in their order: of those trained on, and where they belong of those passed over, by number
/// among these.
pub fn merge<'a, T>(
    mut trained: impl Iterator<Item = T> + 'a,
    passed: &'a [PassedOver],
    of_passed: impl Fn(usize) -> T + 'a,
) -> impl Iterator<Item = T> + 'a {
    let (mut place, mut next) = (0u32, 0);
    core::iter::from_fn(move || {
        let is_passed = passed.get(next).is_some_and(|row| row.place == place);
        place += 1;
        match is_passed {
            true => {
                next += 1;
                Some(of_passed(next - 1))
            }
            false => trained.next(),
        }
    })
}

/// How far weights are from where they were.
fn distance(metric: &Metric, before: &[f64], now: Weights<'_>) -> f64 {
    let Some((intercept, before)) = before.split_last() else {
        return f64::INFINITY;
    };
    let now_at = |feature: usize| match feature < now.len() {
        true => now.get(feature),
        false => 0.0,
    };
    let change = before
        .iter()
        .enumerate()
        .map(|(j, before)| now_at(j) - before);
    metric.distance(change, now.intercept() - intercept)
}

/// Puts rows passed over into what is said of the training, whose gap is to be within the tolerance with them.
fn account(job: &Job, trained: &mut Trained, tolerance: f64, outside: &Outside) {
    let trained_on = trained.reader.report.rows;
    trained.reader.report.rows += outside.rows();
    let report = &mut trained.trainer.report;
    report.rows += outside.rows();
    // it is of the other rows only
    report.fit = None;
    let c = job.plan.costs.first().copied().unwrap_or(1.0);
    for head in &mut report.heads {
        head.cover(trained_on, c, outside);
        let arrived = head.stop == Some(StopReason::Tolerance);
        if arrived && head.certificate.gap > tolerance {
            let lost = outside.primal(c) / head.certificate.primal;
            let share = 1.0 - CAUTION * lost / tolerance;
            trained.covers = match share >= LEAST_SHARE {
                true => Covers::WithAWiderGap(share),
                false => Covers::NotAll,
            };
        }
    }
}

/// A look at rows that were passed over.
struct Look<'a> {
    job: &'a Job,
    passing: &'a Passing,
    features: FeatureSet,
    scaling: Scaling,
    weights: Weights<'a>,
    rulers: Vec<Ruler>,
    classes: Vec<LabelValue>,
    /// Digests of the labels, by class.
    labels: Vec<u64>,
}

impl<'a> Look<'a> {
    fn new(
        job: &'a Job,
        trained: &Trained,
        weights: Weights<'a>,
        passing: &'a Passing,
        metrics: &[Metric],
    ) -> Result<Self, Failure> {
        let scaling = trained.reader.report.scaling.copied()?;
        let labels = trained.reader.classes.iter();
        Ok(Self {
            job,
            passing,
            features: FeatureSet::from_json(&trained.reader.features)?.unwrap_or_default(),
            weights,
            rulers: metrics
                .iter()
                .map(|metric| Ruler::new(metric, scaling.dense))
                .collect(),
            scaling,
            labels: labels.map(|class| digest::of_label(&class.text)).collect(),
            classes: gathered(trained.reader.classes.iter().cloned())?,
        })
    }

    /// Looks at these of the rows passed over and gives them their codes; None where they are not found any more.
    fn at(&self, rows: &[usize], codes: &mut [u8]) -> Result<Option<Outside>, Failure> {
        // the same statement, planned alike, gives the same rows in the same order: the snapshot is the same
        let planned = query::plan(&self.job.select);
        let feature_columns = 1 + self.features.columns().len();
        let columns = &planned.columns[..feature_columns];
        let mut decoder = Decoder::new(&self.features, columns, self.job.nulls)?;
        let mut costs = Costs::new(self.job, feature_columns);
        let mut running = helpers::running(&planned, self.job);
        let (mut number, mut next) = (0u32, 0);
        let (mut seen, mut buffer) = (Outside::default(), FeatureBuffer::default());
        let (mut failure, mut more) = (None, true);
        while more && next < rows.len() {
            check_for_interrupts();
            more = running.run(ROWS_AT_A_TIME, &mut |row| {
                number = number.saturating_add(1);
                let at = rows.get(next).copied();
                let Some(at) = at.filter(|at| self.passing.rows[*at].number == number) else {
                    return Continue::Yes;
                };
                match self.look(at, row, &mut decoder, &mut buffer, &mut costs) {
                    Ok(Some((side, margin, cost, code))) => {
                        next += 1;
                        codes[at] = code;
                        seen.add(self.job.terms.loss, margin, side, cost);
                        Continue::Yes
                    }
                    Ok(None) => Continue::No,
                    Err(reason) => {
                        failure = Some(reason);
                        Continue::No
                    }
                }
            });
        }
        running.finish();
        match failure {
            Some(reason) => Err(reason),
            None => Ok((next == rows.len()).then_some(seen)),
        }
    }

    /// Side, margin, cost and code of a row passed over; None where it is another one.
    fn look(
        &self,
        at: usize,
        row: &Row<'_>,
        decoder: &mut Decoder,
        buffer: &mut FeatureBuffer,
        costs: &mut Costs,
    ) -> Result<Option<(f64, f64, f32, u8)>, Failure> {
        let passed = &self.passing.rows[at];
        let version = digest::of_version(self.labels[passed.class as usize], row.origin);
        if version != self.passing.known.versions[passed.known as usize] {
            return Ok(None);
        }
        // SAFETY: the executor's row has the columns of the plan from which the decoder was made.
        unsafe { decoder.decode(row.values, row.nulls, buffer) }
            .map_err(|error| error.in_row(u64::from(passed.number)))?;
        let weight = costs.weight(row, u64::from(passed.number))?;
        let cost = costs.of(weight, passed.class, &self.classes)?;
        let scaled = |(feature, raw): (usize, f64)| self.scaling.scaled(feature, raw) as f32;
        let dense = buffer.dense.iter().copied().enumerate().map(scaled);
        let dense: Vec<f32> = dense.collect();
        let all = buffer.sparse_index.iter().zip(&buffer.sparse_value);
        let entries = || {
            all.clone().map(|(index, value)| {
                let feature = self.scaling.dense + *index as usize;
                (feature as u32, scaled((feature, f64::from(*value))))
            })
        };
        let mut decision = self.weights.intercept();
        let all = (0u32..).zip(dense.iter().copied()).chain(entries());
        for (feature, value) in all.filter(|(feature, _)| (*feature as usize) < self.weights.len())
        {
            decision += self.weights.get(feature as usize) * f64::from(value);
        }
        let side = match passed.class {
            0 => -1.0,
            _ => 1.0,
        };
        let margin = side * decision;
        let ruler = &self.rulers[passed.class as usize];
        let code = code_at(margin as f32, || ruler.length(&dense, entries()));
        Ok(Some((side, margin, cost, code)))
    }
}
