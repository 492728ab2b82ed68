//! Labels that are numbers: what is learned of them in pass 1, and the offsets that rows get by it.
//!
//! A loss of the distance between a score f and a target t that is zero up to epsilon is the sum of two losses of margins: one of a row that
//! is to score at least t - epsilon, and one of a row that is to score at most t + epsilon. With L a loss of the margin m, which
//! is lost below m = 1,
//!
//! L_epsilon(f - t) = L(f + 1 + epsilon - t) + L(-(f - 1 - epsilon - t)),    L(z) = max(0, 1 - z)^q
//!
//! So a row is delivered twice, on the negative side and on the positive one, and each of the two has an offset o that is added to its score:
//! o = y (1 + epsilon) - t, y = -1 and +1. (Vapnik, *The Nature of Statistical Learning Theory*, 1995, section 6.1; LIBSVM solves its
//! epsilon-SVR in this form too: Chang and Lin, 2011, section 4.1.3.)
//!
//! Targets are standardized before: t = (label - centre) / deviation.
//!
//! Huber's loss is a parabola up to a distance delta and straight beyond. It needs no number of its own, as
//! huber_delta(r) = delta^2 huber_1(r / delta): targets are divided by delta too, and with scores of delta f
//!
//! 1/2 |w|^2 + C sum huber_delta(t - <w, x>) = delta^2 (1/2 |w / delta|^2 + C sum huber_1(t / delta - <w / delta, x>))

use serde::{Deserialize, Serialize};

use crate::objective::loss::NO_LOSS_FROM;

/// What is to become of labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TargetJob {
    /// By how much a score may be off without a loss, in the units of targets; finite, not below 0.
    pub epsilon: f64,
    /// Of Huber's loss the distance from which on it is straight, in the units of labels that are standardized or left; finite, above 0.
    pub delta: Option<f64>,
    /// Whether targets are labels with mean 0 and standard deviation 1 (over n), or labels as they are.
    pub standardizes: bool,
}

/// Sums over labels, each of which counts as so many rows (Welford 1962; Chan, Golub and LeVeque 1979 for sums of parts).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TargetSums {
    rows: f64,
    mean: f64,
    /// Sum of squared distances from the mean.
    squares: f64,
}

impl TargetSums {
    /// Adds a label that counts as so many rows.
    pub fn take(&mut self, label: f64, rows: f64) {
        self.join(&Self {
            rows,
            mean: label,
            squares: 0.0,
        });
    }

    /// Adds those of other rows.
    pub fn join(&mut self, more: &Self) {
        let rows = self.rows + more.rows;
        if more.rows > 0.0 {
            let (away, share) = (more.mean - self.mean, more.rows / rows);
            self.squares += more.squares + away * away * self.rows * share;
            self.mean += away * share;
            self.rows = rows;
        }
    }

    /// The standard deviation of the labels.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.rows.max(f64::MIN_POSITIVE)).sqrt()
    }

    /// What targets are made by.
    pub fn scale(&self, job: TargetJob) -> TargetScale {
        let deviation = self.deviation();
        let can = job.standardizes && deviation > 0.0 && deviation.is_finite();
        let (centre, deviation) = match (can, job.standardizes) {
            (true, _) => (self.mean, deviation),
            // labels that are all the same
            (false, true) if self.mean.is_finite() => (self.mean, 1.0),
            (false, _) => (0.0, 1.0),
        };
        TargetScale {
            centre,
            deviation,
            epsilon: job.epsilon,
            delta: job.delta,
        }
    }
}

/// target = (label - centre) / (delta deviation), and how far from it a score loses nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TargetScale {
    pub centre: f64,
    pub deviation: f64,
    pub epsilon: f64,
    pub delta: Option<f64>,
}

impl TargetJob {
    /// Has the loss change its form so far from the label: from where on an error costs, or Huber's loss is straight.
    pub fn set_width(&mut self, width: f64) {
        match &mut self.delta {
            Some(delta) => *delta = width,
            None => self.epsilon = width,
        }
    }
}

impl TargetScale {
    /// What a difference of scores by 1 is of labels.
    pub fn unit(&self) -> f64 {
        self.delta() * self.deviation
    }

    /// The target of a label.
    pub fn target(&self, label: f64) -> f64 {
        (label - self.centre) / self.unit()
    }

    /// The label that a score stands for.
    pub fn label(&self, score: f64) -> f64 {
        self.centre + self.unit() * score
    }

    /// What the objective of labels in parts of their deviation is of that of targets.
    pub fn of_objective(&self) -> f64 {
        self.delta() * self.delta()
    }

    /// What targets are divided by beside their deviation.
    pub fn delta(&self) -> f64 {
        self.delta.unwrap_or(1.0)
    }

    /// Has weights of labels, the intercept's last, be those of targets.
    pub fn rescale(&self, weights: &mut [f64]) {
        if let Some(intercept) = weights.last_mut() {
            *intercept -= self.centre;
        }
        weights.iter_mut().for_each(|it| *it /= self.unit());
    }

    /// The offset of a row with this label on this side, -1 or 1.
    pub fn offset(&self, label: f64, y: f64) -> f64 {
        y * (NO_LOSS_FROM + self.epsilon) - self.target(label)
    }

    /// Whether it is one: what came from elsewhere may not be.
    pub fn is_sound(&self) -> bool {
        self.centre.is_finite()
            && self.deviation > 0.0
            && self.unit() > 0.0
            && self.unit().is_finite()
            && (0.0..f64::INFINITY).contains(&self.epsilon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::loss::Loss;
    use crate::objective::minimized::target_of;

    const JOB: TargetJob = TargetJob {
        epsilon: 0.25,
        delta: None,
        standardizes: true,
    };

    fn sums(labels: &[f64]) -> TargetSums {
        let mut sums = TargetSums::default();
        labels.iter().for_each(|label| sums.take(*label, 1.0));
        sums
    }

    #[test]
    fn parts_come_to_what_the_whole_does() {
        let labels: Vec<f64> = (0..100).map(|n| f64::from(n * 37 % 101) + 1e9).collect();
        let whole = sums(&labels).scale(JOB);
        let mut parts = sums(&labels[..30]);
        parts.join(&TargetSums::default());
        parts.join(&sums(&labels[30..]));
        let parts = parts.scale(JOB);
        let mean = labels.iter().sum::<f64>() / 100.0;
        let squares = labels.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
        assert!((whole.centre - mean).abs() < 1e-6);
        assert!((whole.deviation / (squares / 100.0).sqrt() - 1.0).abs() < 1e-9);
        assert!((parts.deviation / whole.deviation - 1.0).abs() < 1e-9);
    }

    #[test]
    fn labels_that_are_all_the_same_have_targets() {
        let scale = sums(&[7.0; 5]).scale(JOB);
        assert_eq!((scale.target(7.0), scale.label(0.0)), (0.0, 7.0));
    }

    #[test]
    fn targets_in_parts_of_delta_have_hubers_loss() {
        let (delta, job) = (
            0.3,
            TargetJob {
                epsilon: 0.0,
                ..JOB
            },
        );
        let scale = sums(&[1.0, 2.0, 6.0]).scale(TargetJob {
            delta: Some(delta),
            ..job
        });
        let plain = sums(&[1.0, 2.0, 6.0]).scale(job);
        for (label, score) in [(1.0, 0.3), (6.0, -2.0), (2.0, 1.4), (2.0, -1.2)] {
            let lost = |y: f64| Loss::Huber.value(y * (score / delta + scale.offset(label, y)));
            let off = f64::abs(score - plain.target(label));
            let expected = match off <= delta {
                true => 0.5 * off * off,
                false => delta * (off - 0.5 * delta),
            };
            let found = scale.of_objective() * (lost(-1.0) + lost(1.0));
            assert!((found - expected).abs() < 1e-12, "{label} {score}");
            assert!((scale.label(score / delta) - plain.label(score)).abs() < 1e-12);
        }
    }

    #[test]
    fn two_losses_of_margins_are_one_of_a_distance() {
        let scale = sums(&[1.0, 2.0, 6.0]).scale(JOB);
        for (label, score) in [(1.0, 0.3), (6.0, -2.0), (2.0, 1.4), (2.0, -0.44)] {
            let lost = |y: f64| (1.0 - y * (score + scale.offset(label, y))).max(0.0);
            let expected = ((score - scale.target(label)).abs() - 0.25).max(0.0);
            assert!((lost(-1.0) + lost(1.0) - expected).abs() < 1e-12);
            for y in [-1.0, 1.0] {
                let target = target_of(scale.offset(label, y), y, scale.epsilon);
                assert!((target - scale.target(label)).abs() < 1e-12);
            }
        }
    }
}
