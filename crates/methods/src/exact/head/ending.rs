//! How rounds of a truncated loss follow one another, and how a head ends: with the best machine that a pass has seen, seen once more.

use crate::base::memory::{filled, gathered, OutOfMemory};
use crate::exact::candidates::Candidates;
use crate::exact::head::{Head, HeadStep, Proved, Stage, NONE};
use crate::exact::intercept::Constant;
use crate::exact::known::{value_of, without_weights, Known};
use crate::exact::outliers::{are_sorted, Outliers};
use crate::exact::{ExactError, ExactJob};
use crate::objective::report::{Certificate, StopReason};

/// A round of a truncated loss has led on where it is less by this part of the tolerance; where it has not, the same problem is solved to this part of
/// the gap before, and to no less than that of the tolerance.
const LED_ON: f64 = 0.01;
const CLOSER: f64 = 0.25;
const CLOSEST: f64 = 0.01;

/// What a machine that is known is made again for: to be what the head ends with, or for its decisions to begin a round.
pub(super) enum Again {
    AtEnd,
    ForRound,
}

/// Of a truncated loss.
pub(super) struct Rounds {
    /// What was minimized when rows were sorted last.
    sorted_at: f64,
    /// The part of the tolerance to which the round's problem is solved.
    pub(super) share: f64,
    /// Whether no row has been an outlier in some round.
    all_in: bool,
}

impl Rounds {
    pub(super) const FIRST: Self = Self {
        sorted_at: f64::INFINITY,
        share: 1.0,
        all_in: false,
    };
}

impl Head {
    /// Another round: rows go to the sides that their losses say, or all of them in, and what is left of the dual variables is where it begins.
    pub(super) fn begin_round<S, P>(
        &mut self,
        job: &ExactJob,
        decisions: &[f32],
        all_in: bool,
    ) -> Result<HeadStep, ExactError<S, P>> {
        match &mut self.outliers {
            Some(outliers) if all_in => outliers.clear(),
            Some(outliers) => outliers.sort(job.loss, &self.sides, decisions),
            None => {}
        }
        self.rounds = Rounds {
            sorted_at: match all_in {
                true => f64::INFINITY,
                false => value_of(&self.report),
            },
            share: 1.0,
            all_in: all_in || self.rounds.all_in,
        };
        self.choose_anew(job, decisions)?;
        self.proved = Proved {
            begun: true,
            ..Proved::default()
        };
        (self.resorted, self.stands, self.at_once) = (true, false, 0);
        Ok(HeadStep::Passed(self.report.certificate.gap))
    }

    /// Whether the machine of the last pass is proved: its gap is within the tolerance, and rows are on the sides that their losses say.
    fn is_proved(&self, job: &ExactJob) -> bool {
        let Certificate { primal, gap, .. } = self.report.certificate;
        let truncated = self.report.truncated.as_ref();
        gap <= job.tolerance && are_sorted(primal, truncated, job.tolerance)
    }

    /// Has the round's problem be solved more closely; whether that may be.
    fn come_closer(&mut self, job: &ExactJob) -> bool {
        let gap = self.report.certificate.gap;
        let share = CLOSER * (gap / job.tolerance).min(self.rounds.share);
        let may = share >= CLOSEST;
        if may {
            self.rounds.share = share;
        }
        may
    }

    /// What comes after the problem has been solved as far as it was to be: of a truncated loss whose rows are not sorted another round, begun at
    /// the best machine known, if that is better than the one before; else None, as the same problem is solved more closely. Otherwise the
    /// end. `goes_on`: whether another round may begin, and whether this one may go on.
    pub(super) fn end_round<S, P>(
        &mut self,
        job: &ExactJob,
        goes_on: (bool, bool),
        is_best: bool,
        decisions: &[f32],
    ) -> Result<Option<HeadStep>, ExactError<S, P>> {
        if self.outliers.is_none() || !goes_on.0 || self.is_proved(job) {
            return self.end_with_best(job, goes_on.0, is_best, decisions);
        }
        let least = self.rounds.sorted_at * (1.0 - LED_ON * job.tolerance);
        let best = self.best.as_ref().map_or(f64::INFINITY, |it| it.value);
        let leads_on = best < least || self.rounds.sorted_at == f64::INFINITY;
        match self.best.take() {
            Some(best) if leads_on && !is_best => self.make_again(job, (best, Again::ForRound)),
            best if leads_on => {
                self.best = best;
                self.begin_round(job, decisions, false).map(Some)
            }
            best => {
                self.best = best;
                match goes_on.1 && self.come_closer(job) {
                    true => Ok(None),
                    false => self.end_with_best(job, true, is_best, decisions),
                }
            }
        }
    }

    /// Ends with the best machine known, weights of 0 among them. Where these are better than all that rounds of a truncated loss have come to
    /// their sides were no good, and one with all rows in begins, once.
    fn end_with_best<S, P>(
        &mut self,
        job: &ExactJob,
        goes_on: bool,
        is_best: bool,
        decisions: &[f32],
    ) -> Result<Option<HeadStep>, ExactError<S, P>> {
        let most = self.outliers.as_ref().map_or(f64::INFINITY, Outliers::most);
        let kind = (self.candidates.constant.is_free, most);
        let (b, nothing) = match self.offsets.is_empty() {
            true => without_weights(job.loss, self.side_weights, kind),
            false => (0.0, self.at_zero[1]),
        };
        match self.best.take() {
            Some(best) if best.is_within(nothing, job.tolerance) => match is_best {
                true => Ok(Some(self.end(job))),
                false => self.make_again(job, (best, Again::AtEnd)),
            },
            _ if self.outliers.is_some() && goes_on && !self.rounds.all_in => {
                self.candidates.duals.fill(0.0);
                self.begin_round(job, decisions, true).map(Some)
            }
            _ => {
                let is_out = |(row, side): (usize, &i8)| {
                    let score = b + self.offsets.get(row).copied().unwrap_or(0.0);
                    *side != 0 && job.loss.value(f64::from(*side) * score) > most
                };
                let out = gathered(self.sides.iter().enumerate().map(is_out))?;
                let duals = filled(0.0, self.duals.len())?;
                let nothing = Known::of(nothing, duals, b, Some(out));
                self.make_again(job, (nothing, Again::AtEnd))
            }
        }
    }

    /// Makes a machine again that is known. The pass that follows says what it is.
    fn make_again<S, P>(
        &mut self,
        job: &ExactJob,
        (known, again): (Known, Again),
    ) -> Result<Option<HeadStep>, ExactError<S, P>> {
        self.duals = known.duals;
        if let (Some(outliers), Some(out)) = (&mut self.outliers, known.out) {
            outliers.set(out);
        }
        // its support vectors alone
        self.near = f64::NEG_INFINITY;
        (self.again, self.resorted) = (Some(again), true);
        self.gather_anew(job, known.intercept);
        Ok(Some(HeadStep::Passed(self.report.certificate.gap)))
    }

    /// Candidates are to be gathered from the first row on.
    pub(super) fn gather_anew(&mut self, job: &ExactJob, intercept: f64) {
        self.seconds += self.candidates.seconds;
        let constant = Constant::new(job.intercept, intercept);
        let width = self.candidates.width();
        self.candidates = Candidates::new(job.kernel, job.loss, constant, width);
        self.kernel_rows = None;
        self.places.fill(NONE);
        self.stage = Stage::Gathering(0);
    }

    /// Keeps what a pass in 64 bits has said, where that is the best; whether it is.
    pub(super) fn keep_best(&mut self, job: &ExactJob) -> Result<bool, OutOfMemory> {
        self.take_duals();
        let proved = (self.is_proved(job), job.tolerance);
        let machine = (
            &self.duals[..],
            self.candidates.constant.intercept,
            self.outliers.as_ref().map(Outliers::out),
        );
        Known::keep(&mut self.best, &self.report, proved, machine)
    }

    /// Ends with the machine of the last pass. Gives back its gap.
    pub(super) fn end(&mut self, job: &ExactJob) -> HeadStep {
        self.take_duals();
        self.report.stop = Some(match self.is_proved(job) {
            true => StopReason::Tolerance,
            false => StopReason::MaxPasses,
        });
        HeadStep::Ended(self.report.certificate.gap)
    }
}
