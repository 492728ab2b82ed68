//! The primal along a line, exactly at the edges of bins: P(w_b + t s), 0 < t <= [`FARTHEST`], in one pass.
//!
//! Along the line the loss of a row is straight on one side of its kink and 0 on the other. Kinks are sorted into bins.
//! Each doubling of t has the same number of bins, of equal width, so the first bits of the number t are its bin. Rows whose loss ends at
//! their kink are summed up from one end, and rows whose loss begins there from the other.

use serde::{Deserialize, Serialize};

use crate::base::memory::{filled, list, OutOfMemory};
use crate::objective::evaluation::right_side;
use crate::objective::loss::NO_LOSS_FROM;

/// The longest step, in lengths of s.
const FARTHEST: f64 = 4.0;
/// Bins for each halving of t, and halvings.
const BINS: usize = 1 << BIN_BITS;
const BIN_BITS: u32 = 6;
const HALVINGS: usize = 16;
const LAST: usize = BINS * HALVINGS;
/// Bits of a place behind those of its bin, and the others of the edge of bin 0.
const REST_BITS: u32 = f64::MANTISSA_DIGITS - 1 - BIN_BITS;
const FIRST: u64 = (FARTHEST.to_bits() >> REST_BITS) - LAST as u64;
/// The bin that ends at t = 1.
const NEWEST: usize = LAST - 2 * BINS;

/// Straight losses c (l + t e), summed up.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Straight(f64, f64);

impl Straight {
    fn add(&mut self, other: Self) {
        self.0 += other.0;
        self.1 += other.1;
    }
}

/// A line `at` + t `along`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Line {
    pub(super) at: f64,
    pub(super) along: f64,
}

impl Line {
    pub(super) const ZERO: Self = Self {
        at: 0.0,
        along: 0.0,
    };

    /// Where another one passes it; it rises more steeply.
    fn passed_by(self, other: Self) -> f64 {
        (self.at - other.at) / (other.along - self.along)
    }

    /// How much more another one is.
    fn less_than(self, other: Self) -> Self {
        Self {
            at: other.at - self.at,
            along: other.along - self.along,
        }
    }

    fn times(self, c: f64) -> Straight {
        Straight(c * self.at, c * self.along)
    }
}

/// Sums of a pass.
#[derive(Serialize, Deserialize)]
pub(super) struct Kinks {
    /// Losses that are nowhere 0, those that are everywhere, by bin those that end there, and those that begin there.
    #[serde(deserialize_with = "list")]
    sums: Vec<Straight>,
    /// Rows on the right side at t = 0, and by bin how many more are at its end; behind these those that stay on their side.
    right: i64,
    #[serde(deserialize_with = "list")]
    turns: Vec<i64>,
}

const THROUGHOUT: usize = 0;
const NOWHERE: usize = 1;
const ENDS: usize = 2;
const BEGINS: usize = ENDS + LAST + 1;
const SUMS: usize = BEGINS + LAST + 1;
/// Where the sum of a row is that has no loss at t = 0 or one, and behind the last bin none or one.
const PLACES: [[usize; 2]; 2] = [[NOWHERE, BEGINS], [ENDS, THROUGHOUT]];
const STAYS: usize = LAST + 1;

/// The lowest point found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lowest {
    pub(super) step: f64,
    /// The losses there, times c and not yet C; and rows on the right side.
    pub(super) loss: f64,
    pub(super) right: u64,
}

/// Where bin number `bin` ends; bin 0 begins at 0.
fn edge(bin: usize) -> f64 {
    f64::from_bits((FIRST + bin as u64) << REST_BITS)
}

/// The bin of a place between 0 and [`FARTHEST`].
fn bin_of(place: f64) -> usize {
    // the first edge that is not before it; without the sign, which 0 may have
    let up = place.abs().to_bits().div_ceil(1 << REST_BITS);
    (up.saturating_sub(FIRST) as usize).min(LAST)
}

/// Where the largest of some lines is another one next, beyond where `top` is, and which: of equals the steepest.
#[inline(always)]
fn next_above(lines: &[Line], top: Line) -> Option<(f64, Line)> {
    let mut next: Option<(f64, Line)> = None;
    for line in lines.iter().filter(|line| line.along > top.along) {
        let place = top.passed_by(*line);
        let is_next = next.is_none_or(|(known, other)| {
            place < known || (place == known && line.along > other.along)
        });
        if is_next {
            next = Some((place, *line));
        }
    }
    next
}

impl Kinks {
    pub(super) fn new() -> Result<Self, OutOfMemory> {
        Ok(Self {
            sums: filled(Straight::default(), SUMS)?,
            right: 0,
            turns: filled(0, STAYS + 1)?,
        })
    }

    /// Whether it has all bins; one that came as bytes may not.
    pub(super) fn is_sound(&self) -> bool {
        self.sums.len() == SUMS && self.turns.len() == STAYS + 1
    }

    /// Adds a row of sign y and cost c whose margin is `at` at t = 0 and `at` + t `along` elsewhere.
    #[inline(always)]
    pub(super) fn add(&mut self, (y, c): (f64, f64), at: f64, along: f64) {
        let (l, e) = (NO_LOSS_FROM - at, -along);
        // which of these it is follows no rule that a processor could learn: so all is done without asking
        let (from, to) = (l > 0.0, l + FARTHEST * e > 0.0);
        let bin = bin_of(l / -e) * usize::from(from != to);
        self.sums[PLACES[usize::from(from)][usize::from(to)] + bin].add(Straight(c * l, c * e));
        let is_right = right_side(at, y);
        let stays = right_side(at + FARTHEST * along, y);
        let place = match is_right == stays {
            true => STAYS,
            false => bin_of(-at / along),
        };
        self.right += i64::from(is_right);
        self.turns[place] += i64::from(stays) - i64::from(is_right);
    }

    /// Adds a loss that is the same all along the line, of a row on the wrong side.
    #[inline(always)]
    pub(super) fn add_constant(&mut self, loss: f64) {
        self.sums[THROUGHOUT].add(Straight(loss, 0.0));
    }

    /// Adds a row of cost c whose loss is the largest of these lines, of which that of its own class is 0.
    #[inline(always)]
    pub(super) fn add_largest(&mut self, c: f64, lines: &[Line], own: usize) {
        let steeper = |a: &Line, b: &Line| a.at.total_cmp(&b.at).then(a.along.total_cmp(&b.along));
        let Some(mut top) = lines.iter().copied().max_by(steeper) else {
            return;
        };
        self.sums[THROUGHOUT].add(top.times(c));
        while let Some((place, next)) = next_above(lines, top) {
            if place >= FARTHEST {
                break;
            }
            self.sums[BEGINS + bin_of(place)].add(top.less_than(next).times(c));
            top = next;
        }
        self.count_right(lines, own);
    }

    /// A row gets its own class where all other lines are below 1: along one piece of the line. Of equals the first one is taken.
    #[inline(always)]
    fn count_right(&mut self, lines: &[Line], own: usize) {
        let (mut begins, mut ends, mut is_right) = (0.0, f64::INFINITY, true);
        for (class, line) in lines.iter().enumerate() {
            let (over, along) = (line.at - 1.0, line.along);
            let wins = over < 0.0 || (over == 0.0 && class > own);
            if class == own {
                continue;
            }
            is_right &= wins;
            match over + FARTHEST * along < 0.0 {
                true if !wins => begins = f64::max(begins, -over / along),
                false if wins && along > 0.0 => ends = f64::min(ends, -over / along),
                false if !wins => ends = 0.0,
                _ => {}
            }
        }
        self.right += i64::from(is_right);
        if !is_right && begins < ends {
            self.turns[bin_of(begins)] += 1;
        }
        if ends < FARTHEST && (is_right || begins < ends) {
            self.turns[bin_of(ends)] -= 1;
        }
    }

    /// Adds what another one knows, of other rows.
    pub(super) fn join(&mut self, more: &Self) {
        for (own, more) in self.sums.iter_mut().zip(&more.sums) {
            own.add(*more);
        }
        self.right = self.right.saturating_add(more.right);
        for (own, more) in self.turns.iter_mut().zip(&more.turns) {
            *own = own.saturating_add(*more);
        }
    }

    /// The edge where P is lowest, or t = 0; `own`: 1/2 |w_b|^2, <w_b, s> and 1/2 |s|^2, `c` what losses count.
    pub(super) fn lowest(&self, own: [f64; 3], c: f64) -> Lowest {
        let value = |it: &Lowest| own[0] + it.step * (own[1] + it.step * own[2]) + c * it.loss;
        let mut best = self.at_best();
        self.walk(|_, edge| {
            if value(&edge) < value(&best) {
                best = edge;
            }
        });
        best
    }

    /// At t = 1.
    pub(super) fn at_newest(&self) -> Lowest {
        let mut found = self.at_best();
        self.walk(|bin, edge| {
            if bin == NEWEST {
                found = edge;
            }
        });
        found
    }

    /// At t = 0.
    fn at_best(&self) -> Lowest {
        let ends = self.sums[ENDS..BEGINS].iter().map(|it| it.0);
        Lowest {
            step: 0.0,
            loss: self.sums[THROUGHOUT].0 + ends.sum::<f64>(),
            right: self.right.max(0) as u64,
        }
    }

    /// From edge to edge.
    fn walk(&self, mut visit: impl FnMut(usize, Lowest)) {
        let mut ending = Straight::default();
        let mut beyond = [Straight::default(); LAST + 1];
        for bin in (0..=LAST).rev() {
            beyond[bin] = ending;
            ending.add(self.sums[ENDS + bin]);
        }
        let (mut begun, mut right) = (Straight::default(), self.right);
        for (bin, beyond) in beyond.iter().enumerate() {
            begun.add(self.sums[BEGINS + bin]);
            right = right.saturating_add(self.turns[bin]);
            let step = edge(bin);
            let sums = [self.sums[THROUGHOUT], *beyond, begun];
            let loss = sums.iter().map(|it| it.0 + step * it.1).sum();
            let right = right.max(0) as u64;
            visit(bin, Lowest { step, loss, right });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::{Random, Stream};

    #[test]
    fn a_place_is_in_the_bin_that_ends_at_or_behind_it() {
        assert_eq!((edge(LAST), edge(NEWEST)), (FARTHEST, 1.0));
        assert_eq!((bin_of(0.0), bin_of(-0.0), bin_of(FARTHEST)), (0, 0, LAST));
        let mut random = Random::new(8, Stream::Sample);
        for _ in 0..1000 {
            let place = FARTHEST * random.unit().powi(12);
            let bin = bin_of(place);
            assert!(place <= edge(bin) && (bin == 0 || place > edge(bin - 1)));
            assert_eq!(bin_of(edge(bin)), bin);
        }
    }

    #[test]
    fn a_decision_of_zero_is_the_larger_label() {
        let mut kinks = Kinks::new().unwrap();
        kinks.add((1.0, 1.0), 0.0, 0.0);
        kinks.add((-1.0, 1.0), 0.0, 0.0);
        let (best, newest) = (kinks.at_best(), kinks.at_newest());
        assert_eq!((best.right, newest.right), (1, 1));
        // from 0 to the other side, and to its own
        kinks.add((1.0, 1.0), 0.0, -0.5);
        kinks.add((-1.0, 1.0), 0.0, 0.5);
        let (best, newest) = (kinks.at_best(), kinks.at_newest());
        assert_eq!((best.right, newest.right), (2, 2));
    }

    #[test]
    fn losses_at_the_lowest_edge_are_those_of_the_rows_there() {
        for case in 0..30 {
            let mut random = Random::new(case, Stream::Sample);
            let size = 10f64.powi(case as i32 % 5 - 2);
            let rows: Vec<[f64; 3]> = (0..300)
                .map(|_| {
                    [
                        random.unit(),
                        3.0 * random.unit() - 1.0,
                        size * (random.unit() - 0.3),
                    ]
                })
                .collect();
            let (mut one, mut other) = (Kinks::new().unwrap(), Kinks::new().unwrap());
            for (row, [c, at, along]) in rows.iter().enumerate() {
                let half = if row % 3 == 0 { &mut one } else { &mut other };
                half.add((-1.0, *c), *at, *along);
            }
            one.join(&other);
            let (own, c) = ([0.3, -0.4 * random.unit(), 0.5 * size], 0.2);
            let found = one.lowest(own, c);
            assert_eq!(one.at_newest().step, 1.0);
            let loss = |t: f64| -> f64 {
                rows.iter()
                    .map(|[c, at, along]| c * (1.0 - at - t * along).max(0.0))
                    .sum()
            };
            let value = |t: f64| own[0] + t * own[1] + t * t * own[2] + c * loss(t);
            assert!((loss(found.step) - found.loss).abs() < 1e-9, "case {case}");
            let right = rows
                .iter()
                .filter(|[_, at, along]| at + found.step * along > 0.0);
            assert_eq!(right.count() as u64, found.right, "case {case}");
            for t in (0..400).map(|place| f64::from(place) * 0.01) {
                assert!(
                    value(found.step) <= value(t) + 0.01 * value(0.0).abs(),
                    "case {case} at {t}"
                );
            }
        }
    }

    #[test]
    fn the_largest_of_lines_is_summed_up_exactly_at_edges() {
        for case in 0..40 {
            let mut random = Random::new(case, Stream::Sample);
            let (classes, size) = (3 + case as usize % 8, 10f64.powi(case as i32 % 5 - 2));
            let rows: Vec<(f64, usize, Vec<Line>)> = (0..200)
                .map(|row| {
                    let own = row % classes;
                    let mut lines: Vec<Line> = (0..classes)
                        .map(|_| Line {
                            at: 4.0 * random.unit() - 1.0,
                            along: size * (random.unit() - 0.5),
                        })
                        .collect();
                    lines[own] = Line::ZERO;
                    (random.unit(), own, lines)
                })
                .collect();
            let (mut one, mut other) = (Kinks::new().unwrap(), Kinks::new().unwrap());
            for (row, (c, own, lines)) in rows.iter().enumerate() {
                let half = if row % 3 == 0 { &mut one } else { &mut other };
                half.add_largest(*c, lines, *own);
            }
            one.join(&other);
            let at = |line: &Line, t: f64| line.at + t * line.along;
            let mut edges = vec![one.at_best()];
            one.walk(|_, edge| edges.push(edge));
            for edge in edges {
                let (mut loss, mut right) = (0.0, 0);
                for (c, own, lines) in &rows {
                    loss += c * lines.iter().map(|it| at(it, edge.step)).fold(0.0, f64::max);
                    let mut others = lines.iter().enumerate();
                    right += u64::from(
                        others.all(|(class, it)| class == *own || at(it, edge.step) < 1.0),
                    );
                }
                let place = format!("case {case} at {}", edge.step);
                assert!(
                    (loss - edge.loss).abs() < 1e-9 * (1.0 + loss),
                    "{place}: {loss}, {edge:?}"
                );
                assert_eq!(right, edge.right, "{place}");
            }
        }
    }
}
