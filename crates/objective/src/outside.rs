//! Rows that a training does not read although its certificate covers them. Their dual variables are 0. The code that knows the rows adds up
//! their losses at the reported weights after the training. This file has the sums only.

use crate::evaluation::right_side;
use crate::loss::Loss;
use crate::report::{Certificate, HeadReport, TrainerReport};

/// What rows come to that were not trained on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Outside {
    rows: u64,
    wrong: u64,
    /// At a margin of exactly 0, the positive ones less the negative ones.
    ties: i64,
    /// Losses times costs.
    losses: f64,
}

impl Outside {
    /// So many rows that are known to lose nothing, and so to lie on their side.
    pub fn without_loss(rows: u64) -> Self {
        Self {
            rows,
            ..Self::default()
        }
    }

    /// One more row, of the side `y` (1 or -1).
    pub fn add(&mut self, loss: Loss, margin: f64, y: f64, cost: f32) {
        self.rows += 1;
        self.wrong += u64::from(!right_side(margin, y));
        if margin == 0.0 {
            self.ties += y.signum() as i64;
        }
        self.losses += f64::from(cost) * loss.value(margin);
    }

    /// These rows and several more.
    #[must_use]
    pub fn with(self, more: &Self) -> Self {
        Self {
            rows: self.rows + more.rows,
            wrong: self.wrong + more.wrong,
            ties: self.ties + more.ties,
            losses: self.losses + more.losses,
        }
    }

    /// The rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// What they add to the primal.
    pub fn primal(&self, c: f64) -> f64 {
        c * self.losses
    }
}

impl TrainerReport {
    /// Says of the rows trained on and of those outside what it says of those trained on, at cost `c`. How well the heads fit
    /// is not known of the rows outside, and is left out.
    pub fn cover(&mut self, c: f64, outside: &Outside) {
        let trained_on = self.rows;
        self.rows += outside.rows;
        self.fit = None;
        for head in &mut self.heads {
            head.cover(trained_on, c, outside);
        }
    }
}

impl HeadReport {
    /// Says of `rows` rows trained on and of those outside what it says of those trained on.
    fn cover(&mut self, rows: u64, c: f64, outside: &Outside) {
        let right = self.training_accuracy * rows as f64 + (outside.rows - outside.wrong) as f64;
        let all = (rows + outside.rows) as f64;
        self.training_accuracy = right / all;
        self.ties = (self.ties * rows as f64 + outside.ties as f64) / all;
        let primal = self.certificate.primal + outside.primal(c);
        self.certificate = Certificate::of(primal, self.certificate.dual);
    }

    /// The sides change places: what lies on the boundary between them counts for the other one.
    pub fn swap_sides(&mut self) {
        self.training_accuracy -= self.ties;
        self.ties = -self.ties;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::StopReason;

    fn report() -> HeadReport {
        HeadReport {
            certificate: Certificate::of(10.0, 9.0),
            training_accuracy: 0.75,
            ties: 0.0,
            stop: Some(StopReason::Tolerance),
            support_vectors: 4,
            updates: None,
            rounding: 0.0,
            truncated: None,
            kappa: 1.0,
        }
    }

    #[test]
    fn losses_add_to_the_primal_and_widen_the_gap() {
        let mut outside = Outside::without_loss(2);
        outside.add(Loss::SquaredHinge, -1.0, 1.0, 0.5);
        outside.add(Loss::SquaredHinge, 3.0, -1.0, 7.0);
        assert_eq!(outside.primal(5.0), 10.0);
        let mut report = report();
        report.cover(4, 5.0, &outside);
        assert_eq!(report.certificate, Certificate::of(20.0, 9.0));
        assert_eq!(report.certificate.gap, 0.55);
        assert_eq!(report.training_accuracy, 6.0 / 8.0);
    }

    #[test]
    fn rows_on_the_boundary_change_sides_with_their_head() {
        let mut outside = Outside::default();
        for y in [1.0, 1.0, -1.0] {
            outside.add(Loss::Hinge, 0.0, y, 1.0);
        }
        let mut report = report();
        report.cover(1, 1.0, &outside);
        let before = report.training_accuracy;
        report.swap_sides();
        // two are wrong now and one is right
        assert!((report.training_accuracy - (before - 1.0 / 4.0)).abs() < 1e-12);
        report.swap_sides();
        assert!((report.training_accuracy - before).abs() < 1e-12);
    }

    #[test]
    fn a_margin_of_zero_is_right_for_the_positive_side_only() {
        let mut outside = Outside::default();
        outside.add(Loss::Hinge, 0.0, 1.0, 1.0);
        outside.add(Loss::Hinge, -0.0, 1.0, 1.0);
        outside.add(Loss::Hinge, 0.0, -1.0, 1.0);
        let more = Outside::default().with(&outside);
        let mut report = report();
        report.cover(4, 1.0, &more);
        assert_eq!(report.training_accuracy, (3.0 + 2.0) / 7.0);
        assert_eq!(report.certificate.primal, 13.0);
    }
}
