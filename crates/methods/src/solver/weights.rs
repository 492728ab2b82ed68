//! Weights and dual variables as they are handed out, in whichever form they are held.

use crate::simd::float::{Float, Numbers};

/// Up to this many features weights are kept in f64; above, in f32, which then is about twice as fast.
pub const WIDE_FEATURES: usize = 50_000;

/// One head's weights by feature, the intercept last.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    pub(in crate::solver) front: &'a [f32],
    pub(in crate::solver) rest: &'a [f32],
    pub(in crate::solver) stride: usize,
}

impl<'a> Column<'a> {
    /// Weights that lie one after another.
    pub(super) fn of(all: &'a [f32]) -> Self {
        Self {
            front: &[],
            rest: all,
            stride: 1,
        }
    }

    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.front.len() + self.rest.len().div_ceil(self.stride)
    }

    pub fn get(&self, feature: usize) -> f32 {
        match feature.checked_sub(self.front.len()) {
            None => self.front[feature],
            Some(behind) => self.rest[behind * self.stride],
        }
    }

    pub(super) fn iter(self) -> impl Iterator<Item = f32> + 'a {
        let rest = self.rest.iter().step_by(self.stride);
        self.front.iter().chain(rest).copied()
    }

    pub(super) fn copy_to(self, out: &mut [f32]) {
        for (out, value) in out.iter_mut().zip(self.iter()) {
            *out = value;
        }
    }
}

/// Weights of one head, for scaled rows, by feature id.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    values: Values<'a>,
    intercept: f64,
}

#[derive(Clone, Copy)]
enum Values<'a> {
    Wide(&'a [f64]),
    Narrow(&'a [f32]),
    /// The intercept behind them.
    Shared(Column<'a>),
}

impl<'a> Weights<'a> {
    /// Weights out of plain numbers.
    pub fn of(values: &'a [f64], intercept: f64) -> Self {
        Self {
            values: Values::Wide(values),
            intercept,
        }
    }

    /// Number of features.
    pub fn len(&self) -> usize {
        match self.values {
            Values::Wide(values) => values.len(),
            Values::Narrow(values) => values.len(),
            Values::Shared(column) => column.len() - 1,
        }
    }

    /// Whether there is no feature.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Weight of a feature.
    pub fn get(&self, feature: usize) -> f64 {
        match self.values {
            Values::Wide(values) => values[feature],
            Values::Narrow(values) => f64::from(values[feature]),
            Values::Shared(column) => f64::from(column.get(feature)),
        }
    }

    /// Weights in order of feature ids.
    pub fn iter(&self) -> impl Iterator<Item = f64> + Clone + 'a {
        let this = *self;
        (0..this.len()).map(move |feature| this.get(feature))
    }

    /// Weight of the constant feature, 0 without intercept.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    /// The decision about a scaled row of these features, in 64 bits; features beyond the last one count nothing.
    pub fn decision(&self, row: impl Iterator<Item = (u32, f32)>) -> f64 {
        let known = row.filter(|(feature, _)| (*feature as usize) < self.len());
        known.fold(self.intercept, |sum, (feature, value)| {
            sum + self.get(feature as usize) * f64::from(value)
        })
    }
}

impl<'a> Weights<'a> {
    /// Those of which the last is the intercept's.
    pub fn with_intercept(all: Numbers<'a>) -> Self {
        match all {
            Numbers::Wide(all) => {
                let (intercept, values) = split_intercept(all);
                let values = Values::Wide(values);
                Self { values, intercept }
            }
            Numbers::Narrow(all) => {
                let (intercept, values) = split_intercept(all);
                let values = Values::Narrow(values);
                Self { values, intercept }
            }
        }
    }
}

impl<'a> From<Column<'a>> for Weights<'a> {
    fn from(column: Column<'a>) -> Self {
        Self {
            intercept: column.get(column.len() - 1).into(),
            values: Values::Shared(column),
        }
    }
}

fn split_intercept<T: Float>(weights: &[T]) -> (f64, &[T]) {
    match weights.split_last() {
        Some((intercept, values)) => (intercept.to(), values),
        None => (0.0, weights),
    }
}

/// Dual variables of one head, by ordinal.
#[derive(Clone, Copy, Default)]
pub struct Duals<'a> {
    values: &'a [f32],
    /// From one row's value to the next row's: those of several heads may lie side by side.
    step: usize,
}

impl<'a> Duals<'a> {
    /// The values at 0, step, 2 step and so on.
    pub fn new(values: &'a [f32], step: usize) -> Self {
        Self { values, step }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len().div_ceil(self.step.max(1))
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The dual variable of a row.
    pub fn get(&self, ordinal: usize) -> f32 {
        self.values[ordinal * self.step]
    }

    /// Dual variables in order of ordinals.
    pub fn iter(&self) -> impl Iterator<Item = f32> + 'a {
        self.values.iter().step_by(self.step.max(1)).copied()
    }
}
