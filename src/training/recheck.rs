//! Proves, after a training, that the rows that it screened ([`crate::warm_start::screening`]) lose nothing. For most of them the distance
//! that the weights have moved is the proof. The others are looked at, and what they lose is added to the primal. If the gap is then no
//! longer within the tolerance, the training is done again, to a smaller gap or with all rows.
//!
//! Runs in the process that follows the table, which has no workers.

use crate::base::errors::Failure;
use crate::features::{Decoder, FeatureBuffer};
use crate::keys::{digest, out_of_memory};
use crate::pg::check_for_interrupts;
use crate::pg::executor::{Continue, DeformedRow};
use crate::pg::query::Planned;
use crate::planning::job::{Job, ReaderOutcome};
use crate::reading::helpers;
use crate::targets::costs::RowCosts;
use crate::targets::labels::LabelValue;
use crate::warm_start::screening::{ScreenedRow, Screening};
use pgsvm_core::leeway::{code_at, code_of, leeway_of, Metric, Ruler};
use pgsvm_core::memory::Room;
use pgsvm_core::{Outside, StopReason, TrainerReport, Weights};

/// A training whose gap is too large with what screened rows lose is done again to a smaller one: by so many times the
/// difference, as long as this share of the tolerance is left.
const CAUTION: f64 = 1.5;
const LEAST_SHARE: f64 = 0.2;
/// Rows looked at again between interrupts.
const ROWS_AT_A_TIME: u64 = 1000;

/// Which rows a certificate covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Covers {
    AllRows,
    /// All, but the gap is not within the tolerance; trained to this share of it, it should be.
    WithAWiderGap(f64),
    /// Not those that were screened.
    NotAll,
}

/// What is known behind a training of the rows that it screened.
#[derive(Default)]
pub struct Rechecked {
    pub rows: Vec<ScreenedRow>,
    /// The code of each one's margin slack.
    pub codes: Vec<u8>,
    /// Rows that were looked at, where there were such.
    pub looked_at: Option<u64>,
    /// What they come to; None where there are no rows, or it is not known.
    pub outside: Option<Outside>,
    /// The gap that is wanted with them.
    tolerance: f64,
}

impl Rechecked {
    /// Which rows the certificates of a report cover that is about these rows too, of a training at cost `c`.
    pub fn covers(&self, c: f64, report: &TrainerReport) -> Covers {
        let Some(outside) = &self.outside else {
            return match self.rows.is_empty() {
                true => Covers::AllRows,
                false => Covers::NotAll,
            };
        };
        let mut covers = Covers::AllRows;
        for head in &report.heads {
            let arrived = head.stop == Some(StopReason::Tolerance);
            if arrived && head.certificate.gap > self.tolerance {
                let lost = outside.primal(c) / head.certificate.primal;
                let share = 1.0 - CAUTION * lost / self.tolerance;
                covers = match share >= LEAST_SHARE {
                    true => Covers::WithAWiderGap(share),
                    false => Covers::NotAll,
                };
            }
        }
        covers
    }
}

/// Finds out what the screened rows lose at these weights. The plan is that by which rows were read, and `reader` what was
/// learned of those trained on.
pub fn recheck(
    job: &Job,
    planned: &Planned,
    reader: &ReaderOutcome,
    weights: Weights<'_>,
    screening: Screening,
) -> Result<Rechecked, Failure> {
    let mut found = Rechecked {
        tolerance: screening.tolerance,
        ..Rechecked::default()
    };
    if screening.rows.is_empty() {
        return Ok(found);
    }
    let metrics = screening.metrics(&reader.classes);
    let scaling = &reader.report.scaling;
    let comparable = !metrics.is_empty() && screening.scaling().agrees_with(scaling);
    if let Some(before) = screening.before.as_ref().filter(|_| comparable) {
        let moved = metrics.iter().map(|it| distance(it, before, weights));
        let after: Vec<[Option<u8>; 256]> = moved.map(codes_after).collect();
        let uncertain = found.take_codes(&screening, &after)?;
        let certain = screening.rows.len() - uncertain.len();
        let outside = Outside::without_loss(certain as u64);
        found.outside = match uncertain.is_empty() {
            true => Some(outside),
            false => {
                let recheck = Recheck::new(job, planned, reader, weights, &screening, &metrics);
                found.looked_at = Some(uncertain.len() as u64);
                let seen = recheck.at(&uncertain, &mut found.codes)?;
                seen.map(|seen| outside.with(&seen))
            }
        };
    }
    found.rows = screening.rows;
    Ok(found)
}

impl Rechecked {
    /// Gives the rows their codes by what the code of each says by class, and gives back those that may lose something, by
    /// number.
    fn take_codes(
        &mut self,
        screening: &Screening,
        after: &[[Option<u8>; 256]],
    ) -> Result<Vec<usize>, Failure> {
        let mut uncertain = Vec::new();
        self.codes
            .try_reserve_exact(screening.rows.len())
            .map_err(|_| out_of_memory())?;
        for (at, row) in screening.rows.iter().enumerate() {
            let code = after[row.class as usize][usize::from(screening.code(row))];
            if code.is_none() {
                uncertain.room(1)?.push(at);
            }
            self.codes.push(code.unwrap_or(0));
        }
        Ok(uncertain)
    }
}

/// By code, the code of a row once the weights have moved this far; None where it may lose something then.
fn codes_after(distance: f64) -> [Option<u8>; 256] {
    core::array::from_fn(|code| {
        let left = leeway_of(code as u8) - distance;
        (left >= 0.0).then(|| code_of(left))
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

/// What it takes to read rows again.
struct RowsAgain {
    decoder: Decoder,
    buffer: FeatureBuffer,
    costs: RowCosts,
}

impl RowsAgain {
    /// Decodes a screened row into the buffer; returns its cost.
    fn take(
        &mut self,
        row: &DeformedRow<'_>,
        screened: &ScreenedRow,
        classes: &[LabelValue],
    ) -> Result<f32, Failure> {
        let number = u64::from(screened.number);
        // SAFETY: the executor's row has the columns of the plan from which the decoder was made.
        unsafe { (self.decoder).decode(row.values, row.nulls, &mut self.buffer) }
            .map_err(|error| error.in_row(number))?;
        let weight = self.costs.weight(row, number)?;
        self.costs.of(weight, screened.class, classes)
    }
}

/// What a screened row comes to.
struct EvaluatedRow {
    side: f64,
    margin: f64,
    cost: f32,
    code: u8,
}

/// Looks again at rows that were screened.
struct Recheck<'a> {
    job: &'a Job,
    planned: &'a Planned,
    /// What was learned of the rows trained on.
    reader: &'a ReaderOutcome,
    screening: &'a Screening,
    weights: Weights<'a>,
    /// By class.
    rulers: Vec<Ruler>,
    /// Digests of the labels, by class.
    labels: Vec<u64>,
}

impl<'a> Recheck<'a> {
    fn new(
        job: &'a Job,
        planned: &'a Planned,
        reader: &'a ReaderOutcome,
        weights: Weights<'a>,
        screening: &'a Screening,
        metrics: &[Metric],
    ) -> Self {
        let scaling = &reader.report.scaling;
        let labels = reader.classes.iter();
        Self {
            job,
            planned,
            reader,
            screening,
            weights,
            rulers: metrics
                .iter()
                .map(|metric| Ruler::new(metric, scaling.dense))
                .collect(),
            labels: labels.map(|class| digest::of_label(&class.text)).collect(),
        }
    }

    /// Looks at these of the screened rows and gives them their codes; None where they are not found any more.
    fn at(&self, rows: &[usize], codes: &mut [u8]) -> Result<Option<Outside>, Failure> {
        let job = self.job;
        let columns = &self.planned.columns[..job.statement.columns.features.end];
        let mut reading = RowsAgain {
            decoder: Decoder::new(&self.reader.features, columns, job.rows.nulls)?,
            buffer: FeatureBuffer::default(),
            costs: RowCosts::new(
                job.statement.columns.weight.as_ref(),
                job.class_weight.by_label(),
            )?,
        };
        // the same plan gives the same rows in the same order: the snapshot is the same
        let mut running = helpers::running(self.planned, job);
        let (mut number, mut next) = (0u32, 0);
        let (mut seen, mut failure, mut more) = (Outside::default(), None, true);
        while more && next < rows.len() {
            check_for_interrupts();
            more = running.run(ROWS_AT_A_TIME, &mut |row| {
                number = number.saturating_add(1);
                let at = rows.get(next).copied();
                let Some(at) = at.filter(|at| self.screening.rows[*at].number == number) else {
                    return Continue::Yes;
                };
                let evaluated = self.evaluate(at, row, &mut reading);
                if let Ok(Some(found)) = evaluated {
                    next += 1;
                    codes[at] = found.code;
                    seen.add(job.terms.loss(), found.margin, found.side, found.cost);
                    return Continue::Yes;
                }
                failure = evaluated.err();
                Continue::No
            });
        }
        running.finish();
        let all = (next == rows.len()).then_some(seen);
        failure.map_or(Ok(all), Err)
    }

    /// None where the row is another one.
    fn evaluate(
        &self,
        at: usize,
        row: &DeformedRow<'_>,
        reading: &mut RowsAgain,
    ) -> Result<Option<EvaluatedRow>, Failure> {
        let screened = &self.screening.rows[at];
        let version = digest::of_version(self.labels[screened.class as usize], row.origin);
        if version != self.screening.version(screened) {
            return Ok(None);
        }
        let cost = reading.take(row, screened, &self.reader.classes)?;
        let buffer = &reading.buffer;
        let scaling = &self.reader.report.scaling;
        let scaled = |(feature, raw): (usize, f64)| scaling.scaled(feature, raw) as f32;
        let dense = buffer.dense.iter().copied().enumerate();
        let dense: Vec<f32> = dense.map(scaled).collect();
        let all = buffer.sparse_index.iter().zip(&buffer.sparse_value);
        let entries = || {
            all.clone().map(|(index, value)| {
                let feature = scaling.dense + *index as usize;
                (feature as u32, scaled((feature, f64::from(*value))))
            })
        };
        let all = (0u32..).zip(dense.iter().copied()).chain(entries());
        let side = if screened.class == 0 { -1.0 } else { 1.0 };
        let margin = side * self.weights.decision(all);
        let ruler = &self.rulers[screened.class as usize];
        Ok(Some(EvaluatedRow {
            side,
            margin,
            cost,
            code: code_at(margin as f32, || ruler.length(&dense, entries())),
        }))
    }
}
