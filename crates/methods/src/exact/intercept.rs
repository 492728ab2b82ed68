//! The intercept of a head: f(x) = sum of y a k(x_j, x) + p sum of y a + b.
//!
//! | intercept | p | b |
//! |---|---|---|
//! | none | 0 | 0 |
//! | in the norm: a constant appended to phi(x) | 1 | 0 |
//! | free: in no norm, so that the dual asks for sum of y a = 0 | 0 | what makes the candidates' losses least |
//!
//! The sum is 0 at first, and steps along two candidates leave it as it is ([`tied`](super::tied), [`balance`](super::balance)).

use crate::base::interrupts;
use crate::objective::loss::{Loss, NO_LOSS_FROM};
use crate::objective::minimized::Intercept;

/// p and b.
#[derive(Debug, Clone, Copy)]
pub(super) struct Constant {
    pub(super) is_free: bool,
    pub(super) penalty: f64,
    pub(super) intercept: f64,
}

impl Constant {
    /// `intercept`: a free one.
    pub(super) fn new(kind: Intercept, intercept: f64) -> Self {
        let is_free = kind == Intercept::Free;
        Self {
            is_free,
            penalty: if is_free { 0.0 } else { kind.constant() },
            intercept: if is_free { intercept } else { 0.0 },
        }
    }
}

/// Of a row whose decision may be moved y - f, from where on it loses or does not, whether y is positive, and its weight.
type Breakpoint = (f64, bool, f64);

/// Those of a row of this decision, side and weight: where a parabola goes over into a line, another is taken away from there on.
pub(super) fn breakpoints(
    loss: Loss,
    (decision, side, weight): (f64, f64, f64),
) -> impl Iterator<Item = Breakpoint> {
    let at = move |bend: f64, weight: f64| {
        let breakpoint = side * (NO_LOSS_FROM - bend) - decision;
        (breakpoint, side > 0.0, weight)
    };
    let second = loss.second_bend().map(|bend| at(bend, -weight));
    [Some(at(0.0, weight)), second].into_iter().flatten()
}

/// By how much all decisions are to move for the sum of losses to be least. Where that is a range, its middle, and where the range has one end
/// alone, that end; 0 without rows.
///
/// The slope of the sum is straight between two breakpoints. Those below are of negative rows that lose, those above of positive ones.
pub(super) fn best_move(loss: Loss, rows: &mut [Breakpoint]) -> f64 {
    rows.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let steepness = |within: f64| match loss.curvature() {
        0.0 => loss.slope(),
        curvature => curvature * within,
    };
    // behind so many breakpoints
    let slope = |behind: usize, at: f64| {
        let sum = |rows: &[Breakpoint], positive: bool| {
            let losing = rows.iter().filter(|row| row.1 == positive && row.2 != 0.0);
            losing
                .map(|row| row.2 * steepness((at - row.0).abs()))
                .sum::<f64>()
        };
        interrupts::worked(rows.len());
        sum(&rows[..behind], false) - sum(&rows[behind..], true)
    };
    let (mut low, mut high) = (0, rows.len());
    while low < high {
        let middle = (low + high) / 2;
        match slope(middle, rows[middle].0) < 0.0 {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    // of parabolas the slope falls to 0 where a level range begins
    let is_level = |at: usize| loss.is_smooth() && slope(at, rows[at].0) == 0.0;
    if low < rows.len() && is_level(low) {
        low += 1;
    }
    let end = |at: usize| rows.get(at).map(|row| row.0);
    let (Some(from), to) = (low.checked_sub(1).and_then(end), end(low)) else {
        return end(0).unwrap_or(0.0);
    };
    let (Some(to), begin) = (to, slope(low, from)) else {
        return from;
    };
    match begin {
        0.0 if slope(low, to) == 0.0 => 0.5 * (from + to),
        begin if begin >= 0.0 => from,
        begin => from + (to - from) * begin / (begin - slope(low, to)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::{Random, Stream};

    #[test]
    fn no_other_move_leaves_less_losses() {
        let mut random = Random::new(3, Stream::Trainer);
        for round in 0..400 {
            let rows = 1 + round % 7;
            let row = |_| {
                let side = if random.unit() < 0.5 { 1.0 } else { -1.0 };
                // some decisions are equal
                let decision = (8.0 * random.unit()).round() - 4.0;
                (decision, side, 0.5 + (2.0 * random.unit()).round())
            };
            let rows: Vec<(f64, f64, f64)> = (0..rows).map(row).collect();
            for loss in [Loss::Hinge, Loss::SquaredHinge, Loss::Huber] {
                let losses = |by: f64| -> f64 {
                    let of = |(f, y, weight): &(f64, f64, f64)| weight * loss.value(y * (f + by));
                    rows.iter().map(of).sum()
                };
                let points = rows.iter().flat_map(|row| breakpoints(loss, *row));
                let mut points: Vec<Breakpoint> = points.collect();
                let found = best_move(loss, &mut points);
                let least = losses(found);
                for other in -1200..=1200 {
                    let other = losses(f64::from(other) / 100.0);
                    assert!(
                        least <= other + 1e-9,
                        "{loss:?} {rows:?} {found} {least} {other}"
                    );
                }
            }
        }
    }

    #[test]
    fn rows_of_one_side_move_no_further_than_they_must() {
        for loss in [Loss::Hinge, Loss::SquaredHinge, Loss::Huber] {
            let points = |rows: &[(f64, f64, f64)]| -> Vec<Breakpoint> {
                let points = rows.iter().flat_map(|row| breakpoints(loss, *row));
                points.collect()
            };
            for side in [1.0, -1.0] {
                let mut rows = points(&[0.0, 5.0, -3.0].map(|f| (side * f, side, 2.0)));
                assert_eq!(best_move(loss, &mut rows), side * 4.0);
            }
            // between two sides that nothing else keeps apart, the middle
            let mut rows = points(&[(4.0, 1.0, 1.0), (-3.0, -1.0, 1.0)]);
            assert_eq!(best_move(loss, &mut rows), -0.5);
            assert_eq!(best_move(loss, &mut []), 0.0);
        }
    }
}
