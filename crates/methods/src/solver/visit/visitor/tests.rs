//! Rows two at a time beside one after the other.

use super::*;
use crate::objective::loss::{by_loss, Loss};
use crate::rows::row::{parts_mut, write, RowHead};
use crate::simd::{Level, Work};

const DENSE: usize = 21;
/// Between the offsets of two sides.
const BETWEEN: f64 = 2.3;

/// A row of numbers that differ from row to row.
fn words(ordinal: usize) -> Vec<u32> {
    words_of(ordinal, ordinal, None)
}

/// A side of a row with a target: its numbers are those of the other side.
fn side(ordinal: usize) -> Vec<u32> {
    // its sign in the heads of these tests
    let y = [1.0, -1.0][ordinal % 2];
    let target = (ordinal / 2) as f64 / 3.0 - 1.0;
    words_of(ordinal, ordinal / 2, Some(BETWEEN / 2.0 * y - target))
}

fn words_of(ordinal: usize, row: usize, offset: Option<f64>) -> Vec<u32> {
    let head = RowHead {
        offset,
        ordinal: ordinal as u32,
        group: (ordinal % 2) as u32,
        cost: 1.0 + row as f32,
    };
    let mut words = vec![0; head.row_words(DENSE, 0)];
    let dense = write(&mut words, head, DENSE, std::iter::empty());
    let mut q = 0.0;
    for (j, bits) in dense.iter_mut().enumerate() {
        let x = ((row * 31 + j * 17) % 23) as f32 / 11.0 - 0.9;
        (*bits, q) = (x.to_bits(), q + x * x);
    }
    *parts_mut(&mut words, DENSE).0 = q.to_bits();
    words
}

/// How rows are visited.
#[derive(Clone, Copy)]
enum At {
    One,
    Two,
    Sides,
}

/// Visits the rows twice over; gives back dual variables, weights, and what was summed.
struct Visits<'a> {
    rows: &'a [Vec<u32>],
    at: At,
    loss: Loss,
    damping: Option<&'a [f64]>,
    start: Option<&'a [f64]>,
    signs: [i8; 2],
}

impl Work for Visits<'_> {
    type Output = Vec<f64>;
    #[inline(always)]
    fn run<K: Isa>(self) -> Vec<f64> {
        let mut alpha = vec![0.0f32; self.rows.len()];
        let shrunk = Shrunk::new(alpha.len()).unwrap();
        let mut u: Vec<f64> = (0..=DENSE).map(|j| (j as f64).sin() / 9.0).collect();
        let head = HeadView {
            outliers: None,
            positive: None,
            signs: &self.signs,
            terms: Terms {
                c: 0.3,
                positive_weight: 1.0,
                loss: self.loss,
            },
            limits: ShrinkLimits {
                above: 0.2,
                below: -0.2,
            },
            alpha: Dual::share(&mut alpha),
            shrunk: &shrunk,
            start: self.start,
            form: WeightMap {
                damp: 0.8,
                columns: self.damping.map(|damp| Damping {
                    damp,
                    inverse: damp,
                }),
                whole: None,
                dense: DENSE,
                intercept: 1.0,
            },
            between_sides: matches!(self.at, At::Sides).then_some(BETWEEN),
        };
        let (sums, shrunk) = by_loss!(self.loss, loss => {
        let mut visitor = head.visitor(loss, &mut u, 1.5, Sums::ZERO, None);
        let mut deferred = Deferred::NONE;
        let mut shrunk = 0;
        for _ in 0..2 {
            for pair in self.rows.chunks_exact(2) {
                let [first, second] = [&pair[0], &pair[1]].map(|words| Row::new(words, DENSE));
                let next = [Next::NONE; 2];
                let together = match self.at {
                    At::Sides => visitor.has_both_sides(&first),
                    _ => visitor.go_together([&first, &second]),
                };
                let outcomes = match self.at {
                    At::Two if together => {
                        visitor.visit_two::<K, true>([&first, &second], next, &mut deferred)
                    }
                    At::Sides if together => {
                        visitor.visit_sides::<K, true>((&first, BETWEEN), next[0], &mut deferred)
                    }
                    _ => [
                        visitor.visit::<K, true>(&first, next[0], &mut deferred),
                        visitor.visit::<K, true>(&second, next[1], &mut deferred),
                    ],
                };
                for outcome in outcomes {
                    shrunk = 2 * shrunk + u32::from(outcome.shrinks);
                }
            }
        }
        visitor.catch_up::<K>(deferred);
            (visitor.sums, shrunk)
        });
        let Sums {
            full, high, low, ..
        } = sums;
        let (visits, updates) = (sums.visits as f64, sums.updates as f64);
        let mut out = vec![f64::from(shrunk), visits, updates, high, low];
        out.extend([
            full.start_loss,
            full.visit_loss,
            full.aq,
            full.support as f64,
        ]);
        out.extend(u);
        out.extend(alpha.iter().map(|alpha| f64::from(*alpha)));
        out
    }
}

#[test]
fn two_rows_at_a_time_are_visited_as_one_after_the_other() {
    let rows: Vec<_> = (0..12).map(words).collect();
    same_as_one_by_one(&rows, At::Two);
}

#[test]
fn two_sides_are_visited_as_two_rows_one_after_the_other() {
    let rows: Vec<_> = (0..12).map(side).collect();
    same_as_one_by_one(&rows, At::Sides);
}

fn same_as_one_by_one(rows: &[Vec<u32>], at: At) {
    let damping: Vec<f64> = (0..=DENSE).map(|j| 1.0 / (1.0 + j as f64)).collect();
    let start: Vec<f64> = (0..=DENSE).map(|j| (j as f64).cos() / 7.0).collect();
    for level in [Level::PLAIN, Level::best()] {
        for (loss, damping) in [
            (Loss::Hinge, None),
            (Loss::SquaredHinge, None),
            (Loss::Hinge, Some(&damping)),
        ] {
            for (start, signs) in [(None, [1, -1]), (Some(&start), [1, -1]), (None, [1, 0])] {
                // both sides of a row are a head's, or none
                if matches!(at, At::Sides) && signs == [1, 0] {
                    continue;
                }
                let visits = |at| {
                    level.run(Visits {
                        rows,
                        at,
                        loss,
                        damping: damping.map(Vec::as_slice),
                        start: start.map(Vec::as_slice),
                        signs,
                    })
                };
                let (one, two) = (visits(At::One), visits(at));
                assert!(one[2] > 6.0, "nothing moved: {one:?}");
                let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * (1.0 + a.abs());
                assert!(
                    one.iter().zip(&two).all(close),
                    "{level:?}\n{one:?}\n{two:?}"
                );
            }
        }
    }
}
