//! What sparse values lose when they are kept in 32 bits, against how far they spread. Pure; called by the decoder of a
//! training. The core looks at dense values.
//!
//! A 32-bit number is off by a 16-millionth of itself at most. Rows that do not have a sparse feature have 0 there, so that is
//! more than a millionth of the feature's spread only where 996 rows of 1000 have it. Hence only the features of the first
//! row are looked at.

use pgsvm_core::memory::{OutOfMemory, Room};

/// Rows that are all looked at, and of those behind them one in so many.
const FIRST_ROWS: u64 = 1 << 10;
const ONE_IN: u64 = 64;
/// Features that are looked at, at most.
const MOST_FEATURES: usize = 1 << 12;
/// A feature loses too much where its values are off by more than this share of their standard deviation, in the root mean
/// square.
const MOST_LOST: f64 = 1e-6;

/// Sums over the rows looked at.
#[derive(Default)]
pub(super) struct FeaturePrecision {
    rows: u64,
    /// Whether the row at hand is looked at, and is the first that has sparse features.
    looks: bool,
    collects: bool,
    looked: f64,
    /// By id.
    features: Vec<SparseFeature>,
}

/// Of a feature: its first value, how often it was there, the sums of what its values are away from the first and of their
/// squares, and that of the squares of what they lost.
struct SparseFeature {
    id: u32,
    base: f64,
    values: f64,
    away: f64,
    square: f64,
    lost: f64,
}

impl FeaturePrecision {
    /// Begins a row.
    pub fn begin_row(&mut self) {
        if self.collects {
            self.features.sort_unstable_by_key(|feature| feature.id);
        }
        self.collects = self.features.is_empty();
        if self.collects {
            self.looked = 0.0;
        }
        self.rows += 1;
        self.looks = self.rows <= FIRST_ROWS || self.rows.is_multiple_of(ONE_IN);
        self.looked += f64::from(u8::from(self.looks));
    }

    /// Whether the row at hand is looked at.
    #[inline]
    pub fn looks(&self) -> bool {
        self.looks
    }

    /// Looks at a finite value of the row at hand.
    pub fn take(&mut self, id: u32, value: f64) -> Result<(), OutOfMemory> {
        if self.collects && self.features.len() < MOST_FEATURES {
            self.features.room(1)?.push(SparseFeature {
                id,
                base: value,
                values: 0.0,
                away: 0.0,
                square: 0.0,
                lost: 0.0,
            });
        }
        let found = match self.collects {
            true => self.features.last_mut().filter(|it| it.id == id),
            false => {
                let at = self.features.binary_search_by_key(&id, |it| it.id);
                at.ok().map(|at| &mut self.features[at])
            }
        };
        if let Some(feature) = found {
            let away = value - feature.base;
            let lost = value - f64::from(value as f32);
            feature.values += 1.0;
            feature.away += away;
            feature.square += away * away;
            feature.lost += lost * lost;
        }
        Ok(())
    }

    /// The features that lose too much, by sparse id.
    pub fn imprecise(&self) -> impl Iterator<Item = u32> + '_ {
        let all = self.features.iter();
        all.filter(|it| it.loses(self.looked)).map(|it| it.id)
    }
}

impl SparseFeature {
    /// Of so many rows, of which those without it have 0.
    fn loses(&self, rows: f64) -> bool {
        let absent = rows - self.values;
        let away = self.away - absent * self.base;
        let square = self.square + absent * self.base * self.base;
        let variance = square - away * away / rows;
        variance > 0.0 && self.lost > MOST_LOST * MOST_LOST * variance
    }
}
