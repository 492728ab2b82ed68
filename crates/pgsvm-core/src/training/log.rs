//! What a training did when: an entry for each pass, sweep of the working set or block, in bounded memory.
//!
//! At the end of a pass an entry has the bounds that are known anyway. Between passes the dual is computed for it, in time linear in the
//! features, but only if the visits since the last entry cost many times as much. When there are [`MOST_ENTRIES`], every second one is
//! dropped, and from then on only every second new one is kept. The last one is always kept.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::base::memory::{OutOfMemory, Room};
use crate::base::thinned::Thinned;
use crate::objective::report::HeadReport;
use crate::rows::facts::Facts;
use crate::solver::ledger::Ledgers;

/// Entries kept: 200 KB.
const MOST_ENTRIES: usize = 2048;
/// The dual is computed where visits since the last entry read so many values for each feature.
const VALUES_PER_FEATURE: u64 = 32;

/// What has just ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The reading of the source.
    Load,
    /// A pass over all rows.
    Pass,
    /// A pass that recomputed the certificate.
    Verify,
    /// Visits to some of the rows in the cache: those of the active set, or a sweep of the working set.
    Active,
    /// A block of rows.
    Block,
    /// A factor of the kernel matrix of all rows.
    Factor,
}

/// An entry; counts are since the beginning. Of several heads primal and dual are sums.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// What has just ended.
    pub event: Event,
    /// Wall seconds since the trainer was made, loading included.
    pub seconds: f64,
    /// Passes begun, those that verify included.
    pub pass: u32,
    /// The block's number within its pass, from 1.
    pub block: Option<u32>,
    /// Heads under training.
    pub heads: u32,
    /// Rows that have come from the source and the spool.
    pub rows_read: u64,
    /// Rows visited, over all heads.
    pub visits: u64,
    /// Visits that changed a dual variable, or with Pegasos the weights.
    pub updates: u64,
    /// At the end of a pass the largest D known, between passes D at this time; None where it was not computed.
    pub dual: Option<f64>,
    /// The smallest P known: that of the weights at the start of this or an earlier pass, or those verified.
    pub primal: Option<f64>,
    /// The largest of the heads' smallest gaps known; None before the first pass has ended.
    pub gap: Option<f64>,
    /// Rows in the cache, or of the active set.
    pub cache_rows: u64,
    /// Rows dropped from the working set as uninformative, or to make room.
    pub evictions: u64,
    /// At the end of a pass over all rows: the largest range that a head's projected gradients had since it began, which is
    /// what StreamSVM stops by (equation 10). None where visits are not to the dual that is asked for: with a shift, and with
    /// Pegasos.
    pub projected_gradient: Option<f64>,
}

/// What the form of the training knows of an entry.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) event: Event,
    pub(super) pass: u32,
    pub(super) block: Option<u32>,
    /// Rows that have come from the spool.
    pub(super) rows_streamed: u64,
    pub(super) cache_rows: u64,
    pub(super) evictions: u64,
}

pub(super) struct Log {
    started: Instant,
    facts: Facts,
    kept: Thinned<LogEntry>,
    /// Weights at some of the entries, where they are wanted.
    weights: Option<Thinned<Snapshot>>,
    /// Visits and updates of the stage before.
    visits: u64,
    updates: u64,
    /// Visits at the last dual.
    visits_at_dual: u64,
    /// The last pass of the stage before.
    pass_before: u32,
}

/// Weights on the way.
#[derive(Debug)]
pub struct Snapshot {
    /// The time of the entry that they belong to.
    pub seconds: f64,
    /// Head by head, for scaled rows, the intercept behind the others.
    pub weights: Vec<f32>,
}

impl Snapshot {
    fn of(seconds: f64, solver: &impl Ledgers) -> Result<Self, OutOfMemory> {
        let mut weights = Vec::new();
        for head in 0..solver.len() {
            let of_head = solver.weights(head);
            let room = weights.room(of_head.len() + 1)?;
            room.extend(of_head.iter().map(|weight| weight as f32));
            room.push(of_head.intercept() as f32);
        }
        Ok(Self { seconds, weights })
    }
}

impl LogEntry {
    /// The same with what these heads have come to, proved.
    pub(super) fn proved_by(self, reports: &[HeadReport]) -> Self {
        let certificates = reports.iter().map(|report| report.certificate);
        Self {
            event: Event::Verify,
            primal: Some(certificates.clone().map(|it| it.primal).sum()),
            dual: Some(certificates.clone().map(|it| it.dual).sum()),
            gap: Some(certificates.map(|it| it.gap).fold(0.0, f64::max)),
            ..self
        }
    }

    /// Loading has ended.
    fn loaded(started: Instant, facts: &Facts, heads: usize) -> Self {
        Self {
            event: Event::Load,
            seconds: started.elapsed().as_secs_f64(),
            pass: 0,
            block: None,
            heads: heads as u32,
            rows_read: facts.rows as u64,
            visits: 0,
            updates: 0,
            dual: Some(0.0),
            primal: None,
            gap: None,
            cache_rows: 0,
            evictions: 0,
            projected_gradient: None,
        }
    }
}

impl Log {
    /// `started`: when the trainer was made. The first entry says that loading has ended.
    pub(super) fn new(started: Instant, facts: &Facts, heads: usize) -> Self {
        let mut this = Self {
            started,
            facts: *facts,
            kept: Thinned::new(MOST_ENTRIES),
            weights: None,
            visits: 0,
            updates: 0,
            visits_at_dual: 0,
            pass_before: 0,
        };
        this.kept.keep(LogEntry::loaded(started, facts, heads));
        this
    }

    /// Notes what has just ended.
    pub(super) fn note(&mut self, solver: &mut impl Ledgers, moment: Moment) {
        let visits = self.visits + solver.visits();
        let dual = self.dual(solver, visits, moment.event);
        let known = |value: f64| Some(value).filter(|value| value.is_finite());
        let seconds = self.started.elapsed().as_secs_f64();
        self.keep_weights(seconds, solver);
        self.kept.keep(LogEntry {
            event: moment.event,
            seconds,
            pass: moment.pass,
            block: moment.block,
            heads: solver.len() as u32,
            rows_read: self.facts.rows as u64 + moment.rows_streamed,
            visits,
            updates: self.updates + solver.updates(),
            dual: dual.and_then(known),
            primal: known(solver.known_primal()),
            gap: solver.gap(),
            cache_rows: moment.cache_rows,
            evictions: moment.evictions,
            projected_gradient: solver
                .projected_gradient()
                .filter(|_| moment.event == Event::Pass),
        });
    }

    /// The dual objective, where it is known or has not been computed for a long time.
    fn dual(&mut self, solver: &mut impl Ledgers, visits: u64, event: Event) -> Option<f64> {
        let ended = matches!(event, Event::Pass | Event::Verify);
        let cost = VALUES_PER_FEATURE * (self.facts.features as u64 + 1) * solver.len() as u64;
        let values = (visits - self.visits_at_dual) * self.facts.mean_row_words.max(1) as u64;
        if ended {
            Some(solver.known_dual())
        } else if values >= cost {
            self.visits_at_dual = visits;
            solver.dual()
        } else {
            None
        }
    }

    /// Keeps the weights of the entries that follow, of as many as there is room for.
    pub(super) fn watch(&mut self, heads: usize) {
        self.weights = Some(Thinned::of_weights(self.facts.features + 1, heads));
    }

    /// Keeps the weights at an entry of this time, where they are wanted.
    fn keep_weights(&mut self, seconds: f64, solver: &impl Ledgers) {
        let Some(kept) = &mut self.weights else {
            return;
        };
        // those that cannot be had are missing, and no reason to end
        if let Ok(snapshot) = Snapshot::of(seconds, solver) {
            kept.keep(snapshot);
        }
    }

    /// The weights kept, in order of time.
    pub(super) fn snapshots(&self) -> impl Iterator<Item = &Snapshot> {
        self.weights.iter().flat_map(Thinned::iter)
    }

    /// Other heads are trained from here on, after so many visits and updates.
    pub(super) fn carry_on(&mut self, visits: u64, updates: u64) {
        (self.visits, self.updates) = (visits, updates);
        self.visits_at_dual = visits;
        self.pass_before = self.entries().last().map_or(0, |entry| entry.pass);
    }

    /// The heads have ended with what is proved now. Bounds that were noted on the way came from sums that rounding had moved a
    /// little: none is left that says more than the proof.
    pub(super) fn settle(&mut self, primal: f64, dual: f64, gap: Option<f64>) {
        for entry in self.kept.iter_mut() {
            if entry.pass <= self.pass_before {
                continue;
            }
            entry.primal = entry.primal.map(|noted| noted.max(primal));
            entry.gap = entry
                .gap
                .map(|noted| gap.map_or(noted, |gap| noted.max(gap)));
            if matches!(entry.event, Event::Pass | Event::Verify) {
                entry.dual = entry.dual.map(|noted| noted.min(dual));
            }
        }
    }

    /// All rows have been read once more, which makes so many passes where it counts: the last entry is about what the heads have
    /// ended with.
    pub(super) fn end_with(&mut self, pass: u32, (primal, dual): (f64, f64), gap: Option<f64>) {
        self.settle(primal, dual, gap);
        let Some(last) = self.kept.last_mut() else {
            return;
        };
        (last.primal, last.dual, last.gap) = (Some(primal), Some(dual), gap);
        let more = pass.saturating_sub(last.pass);
        if more > 0 {
            let recount = LogEntry {
                event: Event::Verify,
                seconds: self.started.elapsed().as_secs_f64(),
                pass,
                block: None,
                rows_read: last.rows_read + u64::from(more) * self.facts.rows as u64,
                projected_gradient: None,
                ..*last
            };
            self.kept.keep(recount);
        }
    }

    /// The entries, in order of time.
    pub(super) fn entries(&self) -> impl Iterator<Item = LogEntry> + '_ {
        self.kept.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Log {
        let facts = Facts {
            rows: 10,
            groups: 2,
            ..Facts::default()
        };
        Log::new(Instant::now(), &facts, 1)
    }

    #[test]
    fn a_long_training_is_thinned_out_and_keeps_its_end() {
        let mut log = log();
        let first = log.entries().next().expect("loading has ended");
        let many = 10 * MOST_ENTRIES as u64 + 3;
        for visits in 1..=many {
            log.kept.keep(LogEntry { visits, ..first });
        }
        let visits: Vec<_> = log.entries().map(|entry| entry.visits).collect();
        assert!(visits.len() > MOST_ENTRIES / 2 && visits.len() <= MOST_ENTRIES + 1);
        assert!(visits.is_sorted_by(|a, b| a < b));
        assert_eq!((visits[0], visits.last()), (0, Some(&many)));
    }
}
