//! When a head ends: at the first gap within its tolerance, or where its problem says so by other rules; or when no pass is left.

use crate::objective::problem::StopRule;
use crate::objective::report::{Certificate, StopReason};

/// The largest part of the tolerance that is left to rounding: of a bound that is rough, what is above says little.
const MOST_LEFT: f64 = 0.125;

#[derive(Debug)]
pub(in crate::solver) struct Stop {
    rule: StopRule,
    tolerance: f64,
    max_passes: u32,
    /// The part of the tolerance that is left to what rounding may change in the end.
    left: f64,
    /// Passes over all rows.
    passes: u32,
    reason: Option<StopReason>,
}

impl Stop {
    pub(in crate::solver) fn new(rule: StopRule, tolerance: f64, max_passes: u32) -> Self {
        Self {
            rule,
            tolerance,
            max_passes,
            left: 0.0,
            passes: 0,
            reason: None,
        }
    }

    pub(in crate::solver) fn rule(&self) -> StopRule {
        self.rule
    }

    pub(in crate::solver) fn tolerance(&self) -> f64 {
        self.tolerance
    }

    pub(in crate::solver) fn max_passes(&self) -> u32 {
        self.max_passes
    }

    /// Passes over all rows that have ended.
    pub(in crate::solver) fn passes(&self) -> u32 {
        self.passes
    }

    pub(in crate::solver) fn count_pass(&mut self) {
        self.passes += 1;
    }

    pub(in crate::solver) fn is_last(&self) -> bool {
        self.passes >= self.max_passes
    }

    /// Whether a gap is what it ends at.
    pub(in crate::solver) fn is_met_by(&self, gap: f64) -> bool {
        self.rule == StopRule::Gap && gap <= self.tolerance - self.left
    }

    /// Rounding may widen the gap by so much at most: that is left to it, as far as it is a small part of the tolerance.
    pub(in crate::solver) fn leave_to_rounding(&mut self, gap: f64) {
        self.left = gap.min(MOST_LEFT * self.tolerance);
    }

    /// This certificate is true of a head with this C times rows, which has ended: not by its tolerance where that is missed.
    pub(in crate::solver) fn recount(&mut self, certificate: &Certificate, weight: f64) {
        let missed = certificate.misses(self.rule, self.tolerance, weight);
        if missed && self.reason == Some(StopReason::Tolerance) {
            self.reason = Some(StopReason::MaxPasses);
        }
    }

    pub(in crate::solver) fn end(&mut self, reason: StopReason) {
        self.reason = Some(reason);
    }

    pub(in crate::solver) fn reason(&self) -> Option<StopReason> {
        self.reason
    }
}
