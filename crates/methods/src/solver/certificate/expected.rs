//! Estimates of a head's gap before it is proved: the gap that a pass seems to end with, how far such estimates are believed, and the range
//! of the projected gradients of visits.

use crate::objective::problem::StopRule;
use crate::solver::ledger::stop::Stop;

/// The gap estimated from losses at the time of the visit may be this much too large before it is believed.
const ESTIMATE_SLACK: f64 = 1.5;

/// The gap that a round of a truncated loss comes to before rows are sorted again, as a share of the one that it begins with.
const ROUND_SHARE: f64 = 0.2;
/// And at most: what is solved more loosely may come to weights at which the truncated objective is larger.
const ROUND_MOST: f64 = 0.003;

/// The most by which a gap estimated in active passes is doubted.
const MOST_DOUBT: f64 = 8.0;

/// Full passes that leave rows unread until all are read, whatever is estimated of them; twice as many after each time in vain.
const UNREAD_PASSES: u32 = 4;

/// Largest and smallest projected gradient of no visit.
const NO_GRADIENTS: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

#[derive(Debug)]
pub(in crate::solver) struct Expected {
    /// The gap that is to be there before a proof: the tolerance, or more where losses are truncated and rows are still to
    /// change sides.
    aim: f64,
    /// The gap that the last full pass seems to end with, and how far such estimates are believed.
    estimate: f64,
    slack: f64,
    /// Full passes since the last proof that left rows unread, which tell of no primal; and how many are too many.
    unread: u32,
    most_unread: u32,
    /// How many times smaller than what a proof waits for the gap estimated in active passes must be.
    doubt: f64,
    /// Whether the last active pass seems to have closed the gap.
    seems_there: bool,
    /// Whether other dual variables than those just proved are to be proved at once.
    again: bool,
    /// Largest and smallest projected gradient since the full pass began, and their range over the last one; None where its
    /// visits were none to the dual that is asked for.
    scan: [f64; 2],
    scanned: Option<f64>,
}

impl Expected {
    pub(in crate::solver) fn new(tolerance: f64) -> Self {
        Self {
            aim: tolerance,
            estimate: f64::INFINITY,
            slack: ESTIMATE_SLACK,
            unread: 0,
            most_unread: UNREAD_PASSES,
            doubt: 1.0,
            seems_there: false,
            again: false,
            scan: NO_GRADIENTS,
            scanned: None,
        }
    }

    /// Whether it ends whatever the gap is.
    pub(in crate::solver) fn ends_anyway(&self, stop: &Stop) -> bool {
        stop.is_last() || self.lies_within(stop)
    }

    /// Whether a gap is what a proof waits for.
    pub(in crate::solver) fn comes_to(&self, stop: &Stop, gap: f64) -> bool {
        stop.rule() == StopRule::Gap && self.doubt * gap <= self.aim
    }

    /// The gap that active passes seemed to have closed is open: that is believed the less from now on.
    pub(in crate::solver) fn doubt(&mut self) {
        if self.seems_there {
            self.doubt = (2.0 * self.doubt).min(MOST_DOUBT);
        }
    }

    /// What a proof waits for.
    pub(in crate::solver) fn aim(&self) -> f64 {
        self.aim
    }

    /// A gap of so much is to come to a share of itself before the next proof.
    pub(in crate::solver) fn aim_at(&mut self, stop: &Stop, gap: f64) {
        self.aim = (gap * ROUND_SHARE).min(ROUND_MOST).max(stop.tolerance());
        self.estimate = f64::INFINITY;
        self.seems_there = false;
    }

    /// Whether projected gradients are what it ends at, and lie within the tolerance of each other.
    pub(in crate::solver) fn lies_within(&self, stop: &Stop) -> bool {
        let within = |range| range <= stop.tolerance();
        stop.rule() == StopRule::ProjectedGradient && self.scanned.is_some_and(within)
    }

    pub(in crate::solver) fn begin_full(&mut self) {
        self.seems_there = false;
        self.scan = NO_GRADIENTS;
    }

    /// Takes into account the largest and smallest projected gradient of visits.
    pub(in crate::solver) fn scan(&mut self, high: f64, low: f64) {
        let [highest, lowest] = self.scan;
        self.scan = [highest.max(high), lowest.min(low)];
    }

    /// Ends what is scanned at the end of a full pass. `plain`: visits were to the dual that is asked for.
    pub(in crate::solver) fn end_scan(&mut self, plain: bool) {
        let [high, low] = self.scan;
        let range = high.max(0.0) - low.min(0.0);
        self.scanned = Some(range).filter(|_| plain && high >= low);
    }

    /// The range of projected gradients over the last full pass and what was visited in between.
    pub(in crate::solver) fn scanned(&self) -> Option<f64> {
        self.scanned
    }

    /// A full pass seems to end with this gap. `sees_all`: it tells the losses of all rows.
    pub(in crate::solver) fn end_full(&mut self, estimate: f64, sees_all: bool) {
        self.estimate = estimate;
        self.unread += u32::from(!sees_all);
    }

    /// Whether rows have been left unread for long: estimates of them may be wrong forever.
    pub(in crate::solver) fn is_overdue(&self) -> bool {
        self.unread >= self.most_unread
    }

    /// A proof has ended, and it goes on.
    pub(in crate::solver) fn go_on(&mut self) {
        if self.is_overdue() {
            self.most_unread = self.most_unread.saturating_mul(2);
        }
        self.unread = 0;
    }

    /// Notes whether an active pass seems to have closed the gap.
    pub(in crate::solver) fn end_active(&mut self, seems_there: bool) {
        self.seems_there = seems_there;
    }

    /// Whether what it ends at seems to be there.
    pub(in crate::solver) fn expects(&self, stop: &Stop) -> bool {
        match stop.rule() {
            StopRule::Gap | StopRule::MeanLoss => {
                self.seems_there || self.estimate < self.slack * self.aim
            }
            StopRule::ProjectedGradient => self.lies_within(stop),
        }
    }

    /// Learns from the gap that was proved instead of the one expected.
    pub(in crate::solver) fn learn(&mut self, proved: f64) {
        if !std::mem::take(&mut self.seems_there) {
            // an estimate that was too low by so much is trusted that much less; one at or below the dual, never again
            self.slack = self.slack.min(self.estimate / proved);
        }
    }

    /// Has others proved at once.
    pub(in crate::solver) fn ask_again(&mut self) {
        self.again = true;
    }

    pub(in crate::solver) fn asks_again(&self) -> bool {
        self.again
    }

    /// Whether the proof that begins is one of others.
    pub(in crate::solver) fn take_again(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_left_unread_are_gone_over_however_wrong_an_estimate_was() {
        let stop = Stop::new(StopRule::Gap, 1e-3, 1000);
        let mut expected = Expected::new(1e-3);
        // an estimate at the dual is believed once and never again
        expected.end_full(0.0, true);
        assert!(expected.expects(&stop));
        expected.learn(0.1);
        for most in [4, 8, 16] {
            for _ in 0..most {
                assert!(!expected.expects(&stop) && !expected.is_overdue());
                expected.end_full(1e-6, false);
            }
            assert!(expected.is_overdue());
            expected.go_on();
        }
        // passes that see all rows tell the primal, and need no proof
        for _ in 0..100 {
            expected.end_full(1e-6, true);
        }
        assert!(!expected.is_overdue());
    }
}
