//! The intercept that minimizes the primal while the other weights stay.
//!
//! The intercept's column is 1 in every row, so the primal has a larger curvature along it than along any other, and the last visits of a pass
//! move it at random. On text the primal was up to 0.3 % above that of the best intercept, when the dual was within 0.003 % of the optimum.
//! A shift s of the intercept b changes the primal by
//!
//! 1/2 (b + s)^2 - 1/2 b^2 + C sum c (L(y (f + s)) - L(y f)),     f the row's score,
//!
//! which is convex, and each row's loss has its breakpoint at s = y - f, and perhaps a second one (see
//! [`BreakpointMoments`](crate::objective::loss::BreakpointMoments)). Rows are gathered into buckets by their breakpoints while
//! their losses are summed, and from sums of each bucket the primal follows at every border between buckets. Borders
//! lie close near 0 and far apart far from it: whatever the scale of the intercept, the best of them gains nearly as
//! much as the best shift would. Only the certificate's weights take the shift; training goes on from where it was.

use crate::objective::loss::{Loss, NO_LOSS_FROM};

/// Buckets in a doubling, as bits of the fraction of a breakpoint.
const FRACTION_BITS: u32 = 2;
/// The least border but 0 is 2^LEAST, the greatest 2^MOST.
const LEAST: i32 = -20;
const MOST: i32 = 6;
/// Buckets on each side of 0: one up to the least border, and one beyond the greatest.
const SIDE: usize = (((MOST - LEAST) << FRACTION_BITS) + 2) as usize;

/// Sums over rows by bucket, from the lowest bucket up.
pub(in crate::solver) struct Breakpoints {
    losses: Vec<[BreakpointSums; 2]>,
    /// Rows whose score changes its sign in the bucket: those with label 1 less those with label -1.
    turns: Vec<i64>,
}

/// Sums of c, c k and c k^2 over breakpoints k, and a place that makes it as long as a vector of the processor. Those of rows
/// with label -1 come first in a bucket, then those of rows with label 1.
type BreakpointSums = [f64; 4];

/// A shifted intercept that is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::solver) struct Shifted {
    pub(in crate::solver) intercept: f64,
    /// What the primal loses, at least.
    pub(in crate::solver) gain: f64,
    /// Rows more on the right side.
    pub(in crate::solver) turned: i64,
}

impl Breakpoints {
    pub(in crate::solver) fn new() -> Self {
        Self {
            losses: vec![[[0.0; 4]; 2]; 2 * SIDE],
            turns: vec![0; 2 * SIDE],
        }
    }

    /// Adds what was gathered from other rows.
    pub(in crate::solver) fn join(&mut self, other: &Breakpoints) {
        let sums = self.losses.as_flattened_mut().as_flattened_mut();
        let others = other.losses.as_flattened().as_flattened();
        sums.iter_mut()
            .zip(others)
            .for_each(|(all, some)| *all += some);
        let turns = self.turns.iter_mut().zip(&other.turns);
        turns.for_each(|(all, some)| *all += some);
    }

    /// Adds a row with label `y` (1 or -1) and its score, whose loss has its second bend, if any, so far within the margin.
    #[inline(always)]
    pub(in crate::solver) fn add(
        &mut self,
        (y, cost, score): (f64, f64, f64),
        second_bend: Option<f64>,
    ) {
        self.add_at(y - score, y, cost);
        if let Some(bend) = second_bend {
            self.add_at(y * (NO_LOSS_FROM - bend) - score, y, -cost);
        }
        self.turns[bucket_of(-score)] += y as i64;
    }

    #[inline(always)]
    fn add_at(&mut self, breakpoint: f64, y: f64, cost: f64) {
        let moments = &mut self.losses[bucket_of(breakpoint)][usize::from(y > 0.0)];
        let row = [cost, cost * breakpoint, cost * breakpoint * breakpoint, 0.0];
        for (sum, value) in moments.iter_mut().zip(row) {
            *sum += value;
        }
    }

    /// A better intercept than `from`, rounded by `round`, if there is one. `c`: the cost parameter; `free`: it is not in the norm.
    pub(in crate::solver) fn better(
        &self,
        from: f64,
        c: f64,
        (loss, free): (Loss, bool),
        round: impl Fn(f64) -> f64,
    ) -> Option<Shifted> {
        let losses = self.losses(loss);
        let of_norm = |shift: f64| match free {
            true => 0.0,
            false => shift * (from + 0.5 * shift),
        };
        let change = |shift: f64, loss: f64| of_norm(shift) + c * (loss - losses[SIDE]);
        let borders = (1..2 * SIDE).map(|k| (k, change(border(k), losses[k])));
        let (best, _) = borders.fold(
            (SIDE, 0.0),
            |best, next| {
                if next.1 < best.1 {
                    next
                } else {
                    best
                }
            },
        );
        if best == SIDE {
            return None;
        }
        let intercept = round(from + border(best));
        let shift = intercept - from;
        // rounding has moved it off the border; on the chord of a convex function its loss is not underestimated
        let (low, high) = if shift < border(best) {
            (best - 1, best)
        } else {
            (best, best + 1)
        };
        if low == 0 || high == 2 * SIDE {
            return None;
        }
        let along = (shift - border(low)) / (border(high) - border(low));
        let loss = losses[low] + along * (losses[high] - losses[low]);
        let gain = -change(shift, loss);
        (gain > 0.0).then(|| Shifted {
            intercept,
            gain,
            turned: self.turned(best),
        })
    }

    /// sum c L at the border before each bucket.
    fn losses(&self, loss: Loss) -> [f64; 2 * SIDE] {
        let mut losses = [0.0; 2 * SIDE];
        let mut below = [0.0; 4];
        for (k, [negative, _]) in self.losses.iter().enumerate() {
            losses[k] += beyond(below, border(k), -1.0, loss);
            below
                .iter_mut()
                .zip(negative)
                .for_each(|(sum, more)| *sum += more);
        }
        let mut above = [0.0; 4];
        for (k, [_, positive]) in self.losses.iter().enumerate().rev() {
            above
                .iter_mut()
                .zip(positive)
                .for_each(|(sum, more)| *sum += more);
            losses[k] += beyond(above, border(k), 1.0, loss);
        }
        losses
    }

    /// Rows more on the right side at the border before this bucket than without a shift.
    fn turned(&self, bucket: usize) -> i64 {
        if bucket > SIDE {
            self.turns[SIDE..bucket].iter().sum()
        } else {
            -self.turns[bucket..SIDE].iter().sum::<i64>()
        }
    }
}

/// sum c L over breakpoints all above s (`sign` 1) or all below it (-1), from their moments.
fn beyond([count, first, second, _]: BreakpointSums, s: f64, sign: f64, loss: Loss) -> f64 {
    if [count, first, second] == [0.0; 3] {
        return 0.0;
    }
    loss.sum_beyond([count, first, second], s, sign).max(0.0)
}

/// The bucket of a breakpoint: those below 0 and 0 itself come first. A breakpoint on a border belongs to the bucket before it.
#[inline(always)]
fn bucket_of(breakpoint: f64) -> usize {
    let above = breakpoint > 0.0;
    let bits = breakpoint.abs().to_bits() - u64::from(above);
    let step = (bits >> (f64::MANTISSA_DIGITS - 1 - FRACTION_BITS)) as usize;
    let place = (step.max(FIRST_STEP) - FIRST_STEP).min(SIDE - 1);
    if above {
        SIDE + place
    } else {
        SIDE - 1 - place
    }
}

/// The step of exponent and fraction before the one that begins at 2^LEAST.
const FIRST_STEP: usize = (((1023 + LEAST) << FRACTION_BITS) - 1) as usize;

/// The border before a bucket; that before the first is far below all.
fn border(bucket: usize) -> f64 {
    match bucket {
        0 => f64::NEG_INFINITY,
        SIDE => 0.0,
        k if k > SIDE => border_at(k - SIDE),
        k => -border_at(SIDE - k),
    }
}

/// The border so many buckets away from 0.
fn border_at(place: usize) -> f64 {
    let step = (FIRST_STEP + place) as u64;
    f64::from_bits(step << (f64::MANTISSA_DIGITS - 1 - FRACTION_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::{Random, Stream};

    const LOSSES: [Loss; 3] = [Loss::Hinge, Loss::SquaredHinge, Loss::Huber];

    struct Rows(Vec<(f64, f64, f64)>);

    impl Rows {
        fn random(seed: u64, offset: f64) -> Self {
            let mut random = Random::new(seed, Stream::Trainer);
            let mut number = || f64::from(random.below(20_001) as u32) / 1e4 - 1.0;
            let row = |_| {
                let (y, noise) = (number(), number());
                let score = offset + 2.0 * noise + 0.8 * y.signum();
                (y.signum(), 0.5 + number().abs(), score)
            };
            Self((0..500).map(row).filter(|row| row.0 != 0.0).collect())
        }

        fn breakpoints(&self, loss: Loss) -> Breakpoints {
            // in two parts, as by a team
            let (some, others) = self.0.split_at(self.0.len() / 3);
            let gather = |rows: &[(f64, f64, f64)]| {
                let mut breakpoints = Breakpoints::new();
                rows.iter()
                    .for_each(|row| breakpoints.add(*row, loss.second_bend()));
                breakpoints
            };
            let mut breakpoints = gather(some);
            breakpoints.join(&gather(others));
            breakpoints
        }

        /// 1/2 b^2 + C sum c L where the scores of these rows are shifted by b - `from`.
        fn primal(&self, from: f64, b: f64, c: f64, loss: Loss) -> f64 {
            let of_row =
                |(y, cost, score): &(f64, f64, f64)| cost * loss.value(y * (score + b - from));
            0.5 * b * b + c * self.0.iter().map(of_row).sum::<f64>()
        }

        fn right(&self, shift: f64) -> i64 {
            let right = |(y, _, score): &&(f64, f64, f64)| (score + shift >= 0.0) == (*y > 0.0);
            self.0.iter().filter(right).count() as i64
        }
    }

    #[test]
    fn what_the_primal_gains_is_what_it_is_said_to_and_nearly_all_there_is() {
        for (seed, loss) in (0..40).flat_map(|seed| LOSSES.map(|loss| (seed, loss))) {
            let offset = [0.0, 1e-3, -0.02, 0.3, -2.0][seed as usize % 5];
            let rows = Rows::random(seed, offset);
            let (from, c) = (offset, 0.1);
            let before = rows.primal(from, from, c, loss);
            let grid = (-40_000..=40_000).map(|k| from + f64::from(k) * 1e-4);
            let least = grid.fold(before, |least, b| least.min(rows.primal(from, b, c, loss)));
            let shifted = rows.breakpoints(loss).better(from, c, (loss, false), |b| b);
            let Some(shifted) = shifted else {
                assert!(before - least < 1e-6 * before, "{seed}");
                continue;
            };
            let after = rows.primal(from, shifted.intercept, c, loss);
            assert!((before - after - shifted.gain).abs() < 1e-9 * before);
            assert!(
                after - least <= 0.1 * (before - least) + 1e-9 * before,
                "{seed}"
            );
            let shift = shifted.intercept - from;
            assert_eq!(shifted.turned, rows.right(shift) - rows.right(0.0));
        }
    }

    #[test]
    fn a_rounded_intercept_gains_no_less_than_it_is_said_to() {
        for seed in 0..40 {
            let rows = Rows::random(seed, 0.3);
            let round = |b: f64| (b * 64.0).round() / 64.0;
            if let Some(shifted) =
                rows.breakpoints(Loss::Hinge)
                    .better(0.3, 0.1, (Loss::Hinge, false), round)
            {
                let gain = rows.primal(0.3, 0.3, 0.1, Loss::Hinge)
                    - rows.primal(0.3, shifted.intercept, 0.1, Loss::Hinge);
                assert!(gain >= shifted.gain - 1e-12, "{gain} {shifted:?}");
                assert_eq!(shifted.intercept, round(shifted.intercept));
            }
        }
    }

    #[test]
    fn the_best_intercept_stays() {
        let mut breakpoints = Breakpoints::new();
        let better = |breakpoints: &Breakpoints, from: f64| {
            breakpoints.better(from, 1.0, (Loss::Hinge, false), |b| b)
        };
        assert_eq!(better(&breakpoints, 0.0), None);
        breakpoints.add((1.0, 1.0, 0.5), None);
        breakpoints.add((-1.0, 1.0, -0.5), None);
        assert_eq!(better(&breakpoints, 0.0), None);
        assert!(better(&breakpoints, 3.0).is_some());
    }

    #[test]
    fn a_kink_lies_between_the_borders_of_its_bucket() {
        for exponent in -30..12 {
            for part in [1.0, 1.1, 1.25, 1.5, 1.75, 1.99] {
                for breakpoint in [part * 2f64.powi(exponent), -part * 2f64.powi(exponent)] {
                    let bucket = bucket_of(breakpoint);
                    assert!(border(bucket) < breakpoint);
                    assert!(bucket + 1 == 2 * SIDE || breakpoint <= border(bucket + 1));
                }
            }
        }
        assert_eq!((bucket_of(0.0), bucket_of(-0.0)), (SIDE - 1, SIDE - 1));
        assert_eq!(border(SIDE), 0.0);
    }
}
