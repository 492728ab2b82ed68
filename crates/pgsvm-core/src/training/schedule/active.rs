//! Active passes over rows in memory: which blocks they visit, and after how many of them a full pass is worth more.

use crate::rows::facts::Facts;

/// Visits of active rows between full passes, as a multiple of the rows.
const ACTIVE_VISITS: usize = 2;
/// Active passes between full passes.
const ACTIVE_PASSES: usize = 20;
/// An active pass is worth its O(d) work when it visits at least one value for so many features.
pub(in crate::training) const FEATURES_PER_VALUE: usize = 16;

/// Active passes since the last full one.
#[derive(Clone, Copy, Default)]
pub(in crate::training) struct Done {
    pub(in crate::training) passes: usize,
    /// A head's share of their visits.
    pub(in crate::training) visits: usize,
}

impl Done {
    /// Whether no more are due until the next full pass, with this patience.
    pub(in crate::training) fn is_enough(self, patience: usize, facts: &Facts) -> bool {
        self.passes >= ACTIVE_PASSES * patience
            || self.visits >= ACTIVE_VISITS * patience * facts.rows
    }
}

/// Whether a pass over so many rows is worth its work.
pub(in crate::training) fn pays(rows: usize, facts: &Facts) -> bool {
    let values = rows * facts.mean_row_words.max(1);
    rows > 0 && values * FEATURES_PER_VALUE >= facts.features
}

/// Orders the blocks of `width` rows that have a row in the active set, whose bits for the rows `64 n..64 (n + 1)` are
/// `active(n)`. Gives back how many rows are in it.
pub(in crate::training) fn order_active(
    order: &mut Vec<u32>,
    (rows, width): (usize, usize),
    active: impl Fn(usize) -> u64,
) -> usize {
    order.clear();
    let mut count = 0;
    for n in 0..rows.div_ceil(64) {
        let mut active = active(n);
        count += active.count_ones() as usize;
        while active != 0 {
            let block = active.trailing_zeros() as usize / width;
            order.push((64 * n / width + block) as u32);
            active &= !(((1 << width) - 1) << (block * width));
        }
    }
    count
}
