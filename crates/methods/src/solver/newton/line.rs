//! Where the primal is lowest on the way from the best weights to others: P(best + t s), 0 < t <= 1, in one pass.
//!
//! Along the line the loss of a row is a parabola on one side of its kink and 0 on the other. Kinks are sorted into bins whose
//! edges grow by the same factor each, so that short steps are found as well as long ones; at the edges the slope
//! of P is exact, and within the bin where it crosses 0 it is taken for straight. Rows whose parabola ends at its kink and
//! those where it begins there are summed up from either end, so that nothing is added that is subtracted again.

use serde::{Deserialize, Serialize};

use crate::base::memory::{list, OutOfMemory};
use crate::base::zeros::zeros;

/// Bins for each halving of t, and halvings.
const BINS: usize = 8;
const HALVINGS: usize = 40;
const LAST: usize = BINS * HALVINGS;

/// Half the slope of a sum of parabolas c (l + t d)^2: at 0, and how it grows with t.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Slope(f64, f64);

impl Slope {
    fn add(&mut self, other: Self) {
        self.0 += other.0;
        self.1 += other.1;
    }

    fn at(self, t: f64) -> f64 {
        self.0 + t * self.1
    }
}

/// Sums of a pass.
#[derive(Serialize, Deserialize)]
pub(super) struct Line {
    /// Of the rows within the margin at both ends.
    throughout: Slope,
    /// By bin: half slopes at 0 and how they grow, of rows whose parabola ends there, and of those where it begins.
    #[serde(deserialize_with = "list")]
    ends: Vec<f64>,
    #[serde(deserialize_with = "list")]
    begins: Vec<f64>,
}

/// Where bin number `bin` ends; bin 0 begins at 0.
fn edge(bin: usize) -> f64 {
    ((bin as f64 - LAST as f64) / BINS as f64).exp2()
}

/// The bin of a kink between 0 and 1.
fn bin_of(kink: f64) -> usize {
    let place = LAST as f64 + BINS as f64 * kink.log2();
    (place.ceil().max(0.0) as usize).min(LAST)
}

impl Line {
    pub(super) fn new() -> Result<Self, OutOfMemory> {
        Ok(Self {
            throughout: Slope::default(),
            ends: zeros(2 * (LAST + 1))?,
            begins: zeros(2 * (LAST + 1))?,
        })
    }

    /// Whether it has all bins; one that came as bytes may not.
    pub(super) fn is_sound(&self) -> bool {
        let bins = 2 * (LAST + 1);
        self.ends.len() == bins && self.begins.len() == bins
    }

    /// Adds a row with weight c whose distance within the margin is l at 0, and l + d at 1.
    #[inline(always)]
    pub(super) fn add(&mut self, c: f64, l: f64, d: f64) {
        let to = l + d;
        let slope = Slope(c * l * d, c * d * d);
        let bins = match (l > 0.0, to > 0.0) {
            (true, true) => return self.throughout.add(slope),
            (true, false) => &mut self.ends,
            (false, true) => &mut self.begins,
            (false, false) => return,
        };
        let bin = 2 * bin_of(l / -d);
        bins[bin] += slope.0;
        bins[bin + 1] += slope.1;
    }

    /// Adds what another one knows, of other rows.
    pub(super) fn join(&mut self, other: &Self) {
        self.throughout.add(other.throughout);
        let bins = [
            (&mut self.ends, &other.ends),
            (&mut self.begins, &other.begins),
        ];
        for (own, more) in bins {
            for (own, more) in own.iter_mut().zip(more) {
                *own += more;
            }
        }
    }

    /// The t where P is lowest; `own`: the slope of 1/2 |w|^2 at 0 and how it grows, `curvature` C L''. None where P does
    /// not fall.
    pub(super) fn lowest(&self, own: (f64, f64), curvature: f64) -> Option<f64> {
        let of = |bins: &[f64], bin: usize| Slope(bins[2 * bin], bins[2 * bin + 1]);
        let mut ending = Slope::default();
        // of the rows whose parabola reaches beyond each bin, from the last one down
        let mut beyond = [Slope::default(); LAST + 1];
        for bin in (0..=LAST).rev() {
            beyond[bin] = ending;
            ending.add(of(&self.ends, bin));
        }
        let mut begun = Slope::default();
        let (mut before, mut slope_before) = (0.0, {
            let mut all = self.throughout;
            all.add(ending);
            own.0 + curvature * all.0
        });
        if slope_before >= 0.0 {
            return None;
        }
        for (bin, beyond) in beyond.iter().enumerate() {
            begun.add(of(&self.begins, bin));
            let mut all = self.throughout;
            all.add(*beyond);
            all.add(begun);
            let t = edge(bin);
            let slope = own.0 + t * own.1 + curvature * all.at(t);
            if slope >= 0.0 {
                let part = slope_before / (slope_before - slope);
                return (bin > 0).then_some(before + part * (t - before));
            }
            (before, slope_before) = (t, slope);
        }
        Some(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_point_is_that_of_a_search() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        for case in 0..50 {
            let size = 10f64.powi(case % 7);
            let rows: Vec<[f64; 3]> = (0..200)
                .map(|_| [next(), 2.0 * next() - 0.5, size * (next() - 0.6)])
                .collect();
            let (own, c) = ((-5.0 * next(), 3.0 * next()), 0.7);
            let mut line = Line::new().unwrap();
            for [c, l, d] in &rows {
                line.add(*c, *l, *d);
            }
            let slope = |t: f64| {
                let loss = rows.iter().map(|[c, l, d]| c * (l + t * d).max(0.0) * d);
                own.0 + t * own.1 + 2.0 * c * loss.sum::<f64>()
            };
            if slope(0.0) >= 0.0 {
                assert!(line.lowest(own, 2.0 * c).is_none());
                continue;
            }
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..200 {
                let middle = 0.5 * (low + high);
                match slope(middle) < 0.0 {
                    true => low = middle,
                    false => high = middle,
                }
            }
            let t = line.lowest(own, 2.0 * c).unwrap();
            assert!((t - low).abs() <= 0.1 * low, "{case}: {t} and {low}");
        }
    }
}
