//! Intervals around predictions of numbers, from how far predictions of rows held out were off: split conformal prediction.
//!
//! Of n absolute residuals |t - f| of rows held out, f +- the k-th smallest with k = ceil((n + 1) q) holds the label of another row with
//! probability q or more, where rows come in no order that matters (Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random World*,
//! 2005; Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, JASA 113, 2018, theorem 2.2). Where k > n no number is large enough.
//!
//! Residuals here are of folds, while f is of all rows: the jackknife, by folds. Its coverage is q where leaving a fold out hardly moves
//! predictions (Barber, Candes, Ramdas and Tibshirani, *Predictive inference with the jackknife+*, Annals of Statistics 49, 2021), as it
//! hardly does where a norm is in the objective (Bousquet and Elisseeff, JMLR 2, 2002).
//!
//! Of many residuals some order statistics are kept: see [`kept_ranks`]. A coverage between two of them takes the larger one.

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, gathered, list, OutOfMemory};

/// Residuals that are all kept.
const MOST_KEPT: u64 = 1000;
/// Of more, shares of the rows, in ten-thousandths: from here on each, below each tenth of them.
const PARTS: u64 = 10_000;
const FINE_FROM: u64 = 9900;
const STEP: usize = 10;

/// Absolute residuals of rows held out.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct ConformalResiduals {
    /// How many there were.
    rows: u64,
    /// Those kept, ascending.
    #[serde(deserialize_with = "list")]
    sizes: Vec<f64>,
}

/// The ranks of the residuals that are kept of so many, counted from 1, ascending.
fn kept_ranks(rows: u64) -> impl Iterator<Item = u64> {
    let is_all = rows <= MOST_KEPT;
    let all = (1..=rows).take_while(move |_| is_all);
    let coarse = (STEP as u64..=FINE_FROM).step_by(STEP);
    let parts = coarse.chain(FINE_FROM + 1..PARTS);
    // the products have room for 2^50 rows
    let some = parts.map(move |part| ((rows + 1) * part).div_ceil(PARTS).min(rows));
    let some = some.chain([rows]).filter(move |_| !is_all);
    all.chain(some)
}

impl ConformalResiduals {
    /// Of these, which are put in order. None where there are none, or some that is no finite number.
    pub fn of(sizes: &mut [f32]) -> Result<Option<Self>, OutOfMemory> {
        sizes.sort_unstable_by(f32::total_cmp);
        let rows = sizes.len() as u64;
        let kept = kept_ranks(rows).map(|rank| f64::from(sizes[rank as usize - 1]));
        Ok(Self::new(rows, gathered(kept)?))
    }

    /// Of so many, these kept; None where they are not those of so many.
    pub fn new(rows: u64, sizes: Vec<f64>) -> Option<Self> {
        let is_size = |size: &f64| (0.0..f64::INFINITY).contains(size);
        let sound = (1..1 << 50).contains(&rows)
            && kept_ranks(rows).count() == sizes.len()
            && sizes.iter().all(is_size)
            && sizes.windows(2).all(|two| two[0] <= two[1]);
        sound.then_some(Self { rows, sizes })
    }

    /// How many there were.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Those kept, ascending.
    pub fn sizes(&self) -> &[f64] {
        &self.sizes
    }

    /// How far from a prediction the label is with this probability, between 0 and 1; infinitely far where there are too few for it.
    pub fn half_width(&self, coverage: f64) -> f64 {
        // a coverage like 0.7 may be rounded up in binary, which is to add no rank
        let rank = ((self.rows + 1) as f64 * coverage * (1.0 - 4.0 * f64::EPSILON)).ceil();
        let rank = (rank as u64).max(1);
        let at = kept_ranks(self.rows).position(|kept| kept >= rank);
        at.map_or(f64::INFINITY, |at| self.sizes[at])
    }

    /// Has the label be in other units, this many of which are one of those before.
    pub fn multiply(&mut self, by: f64) {
        self.sizes.iter_mut().for_each(|size| *size *= by);
    }

    /// The same once more.
    pub fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            rows: self.rows,
            sizes: copied(&self.sizes)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: u32) -> ConformalResiduals {
        // each size is its rank, in another order
        let mut sizes: Vec<f32> = (0..rows).map(|n| (n * 37 % rows + 1) as f32).collect();
        let found = ConformalResiduals::of(&mut sizes).expect("memory");
        found.expect("finite numbers")
    }

    #[test]
    fn ranks_are_those_of_split_conformal_prediction() {
        let ten = of(9);
        let widths = [0.1, 0.5, 0.7, 0.71, 0.9, 0.91].map(|coverage| ten.half_width(coverage));
        assert_eq!(widths, [1.0, 5.0, 7.0, 8.0, 9.0, f64::INFINITY]);
        assert_eq!(of(1).half_width(0.5), 1.0);
        assert_eq!(of(1).half_width(0.51), f64::INFINITY);
    }

    #[test]
    fn a_summary_is_never_narrower_and_exact_at_what_it_keeps() {
        for rows in [1000u32, 1001, 1003, 20_011, 131_101] {
            let found = of(rows);
            assert!(found.sizes().len() <= 1100);
            for part in 1..10_000u32 {
                let exact = (u64::from(rows) + 1) * u64::from(part);
                let exact = exact.div_ceil(10_000);
                let width = found.half_width(f64::from(part) / 10_000.0);
                if exact > u64::from(rows) {
                    assert_eq!(width, f64::INFINITY, "{rows} {part}");
                    continue;
                }
                assert!(width >= exact as f64, "{rows} {part}");
                if part % 10 == 0 || part >= 9900 {
                    assert_eq!(width, exact as f64, "{rows} {part}");
                }
                assert!(width <= exact as f64 + f64::from(rows) / 900.0 + 1.0);
            }
        }
    }

    #[test]
    fn what_is_no_summary_is_refused() {
        assert_eq!(ConformalResiduals::new(3, vec![1.0, 2.0]), None);
        assert_eq!(ConformalResiduals::new(2, vec![2.0, 1.0]), None);
        assert_eq!(ConformalResiduals::new(1, vec![f64::NAN]), None);
        assert_eq!(ConformalResiduals::new(1, vec![-1.0]), None);
        assert_eq!(ConformalResiduals::new(0, vec![]), None);
        assert_eq!(ConformalResiduals::new(u64::MAX, vec![1.0]), None);
        let found = of(5000);
        let again = ConformalResiduals::new(found.rows(), found.sizes().to_vec());
        assert_eq!(again, Some(found));
    }
}
