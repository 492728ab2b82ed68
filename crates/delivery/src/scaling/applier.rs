//! What is done to packed rows once all have been seen: scaling, means for missing values, balanced costs.

use std::collections::TryReserveError;

use super::{Scaling, TargetScale};
use crate::rows::compact;
use crate::rows::row::{self, Row};
use crate::simd::{Isa, Level, Work};

/// A [`Scaling`] made ready for rows whose dense values are kept relative to a provisional centre.
#[derive(Debug)]
pub struct Applier {
    level: Level,
    shift: Vec<f64>,
    factor: Vec<f64>,
    sparse_factor: Vec<f32>,
    dense: usize,
    /// What a missing value becomes, by dense feature; empty: none is missing.
    fill: Vec<f32>,
    /// What costs are multiplied by, by group; empty: by 1.
    balance: Vec<f32>,
    /// Where rows are divided by their length, by how much each may be off before that, as a vector.
    unit_off: Option<f64>,
    /// Where labels are numbers, what makes offsets of them, and the groups that a class has.
    targets: Option<(TargetScale, u32)>,
}

impl Applier {
    /// `provisional`: what was subtracted from the dense values already; empty means nothing. `means`: of the dense
    /// features where values may be missing, else empty. `balance`: what costs are multiplied by, by group; empty: by 1.
    /// `unit_off`: where rows are divided by their length, by how much each may be off before that, as a vector.
    pub fn new(
        scaling: &Scaling,
        provisional: &[f64],
        means: &[f64],
        balance: Vec<f32>,
        unit_off: Option<f64>,
    ) -> Result<Self, TryReserveError> {
        let (mut shift, mut factor, mut sparse_factor) = (Vec::new(), Vec::new(), Vec::new());
        shift.try_reserve_exact(scaling.factor.len())?;
        factor.try_reserve_exact(scaling.factor.len())?;
        sparse_factor.try_reserve_exact(scaling.sparse_factor.len())?;
        for j in 0..scaling.factor.len() {
            let centre = scaling.centre.get(j).copied().unwrap_or(0.0);
            shift.push(centre - provisional.get(j).copied().unwrap_or(0.0));
        }
        factor.extend_from_slice(&scaling.factor);
        let mut fill = Vec::new();
        fill.try_reserve_exact(means.len())?;
        fill.extend(means.iter().enumerate().map(|(j, mean)| {
            let factor = scaling.factor.get(j).copied().unwrap_or(1.0);
            match scaling.centre.is_empty() {
                // the mean is stored in 32 bits as any value is
                true => (f64::from(*mean as f32) * factor) as f32,
                false => ((mean - scaling.centre[j]) * factor) as f32,
            }
        }));
        sparse_factor.extend_from_slice(&scaling.sparse_factor);
        Ok(Self {
            level: Level::best(),
            shift,
            factor,
            sparse_factor,
            dense: scaling.dense,
            fill,
            balance,
            unit_off,
            targets: None,
        })
    }

    /// The same for rows whose offsets are labels still: those of class 0 are on the negative side, all others on the positive one.
    /// `stride`: groups that a class has.
    pub fn with_targets(mut self, targets: Option<TargetScale>, stride: u32) -> Self {
        self.targets = targets.map(|it| (it, stride.max(1)));
        self
    }

    /// Makes a row ready in place and sets its Q.
    pub fn apply(&self, words: &mut [u32]) {
        self.level.run(Apply {
            applier: self,
            words,
        });
    }
}

struct Apply<'a> {
    applier: &'a Applier,
    words: &'a mut [u32],
}

/// Partial sums of squares, in a fixed order; in one sum each addition would wait for the last.
const LANES: usize = 8;

#[inline(always)]
fn squared([_, bits]: [u32; 2]) -> f64 {
    let x = f64::from(f32::from_bits(bits));
    x * x
}

impl Work for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Isa>(self) {
        let Applier {
            shift,
            factor,
            sparse_factor,
            dense,
            fill,
            balance,
            unit_off,
            targets,
            ..
        } = self.applier;
        if let Some((targets, stride)) = targets {
            row::change_offset(self.words, *dense, |label, group| {
                let y = if group < *stride { -1.0 } else { 1.0 };
                targets.offset(label, y)
            });
        }
        if !balance.is_empty() {
            row::multiply_cost(self.words, balance);
        }
        let (_, values, _) = row::parts_mut(self.words, *dense);
        if !factor.is_empty() {
            for ((bits, shift), factor) in values.iter_mut().zip(shift).zip(factor) {
                *bits = (((f64::from(f32::from_bits(*bits)) - shift) * factor) as f32).to_bits();
            }
        }
        for (bits, fill) in values.iter_mut().zip(fill) {
            if f32::from_bits(*bits).is_nan() {
                *bits = fill.to_bits();
            }
        }
        let mut squares = [0.0f64; LANES];
        let (wide, rest) = values.as_chunks::<LANES>();
        for bits in wide {
            for k in 0..LANES {
                let x = f64::from(f32::from_bits(bits[k]));
                squares[k] += x * x;
            }
        }
        for bits in rest {
            let x = f64::from(f32::from_bits(*bits));
            squares[0] += x * x;
        }
        let scaled = !sparse_factor.is_empty();
        let row = Row::new(self.words, *dense);
        if row.is_compact() {
            // entries that are made are as they are
            let made = compact::visited(row);
            let (wide, rest) = made.sparse().as_chunks::<LANES>();
            for entries in wide {
                for k in 0..LANES {
                    squares[k] += squared(entries[k]);
                }
            }
            for entry in rest {
                squares[1] += squared(*entry);
            }
        }
        let (q, values, sparse) = row::parts_mut(self.words, *dense);
        let square = |[index, bits]: &mut [u32; 2]| {
            let mut x = f32::from_bits(*bits);
            if scaled {
                x *= sparse_factor[*index as usize - dense];
                *bits = x.to_bits();
            }
            f64::from(x) * f64::from(x)
        };
        let (wide, rest) = sparse.as_chunks_mut::<LANES>();
        for entries in wide {
            for k in 0..LANES {
                squares[k] += square(&mut entries[k]);
            }
        }
        for entry in rest {
            squares[1] += square(entry);
        }
        let square = squares.iter().sum::<f64>();
        let square = match unit_off {
            Some(off) if square > 0.0 => divide(values, sparse, square.sqrt(), *off),
            _ => square as f32,
        };
        *q = square.to_bits();
    }
}

/// Divides a row by its length, which may be off by so much, as a vector, and gives its Q.
///
/// Vectors x and z divided by their lengths are no more than 2 |x - z| / (|x| + |z|) from each other (Dunkl and Williams, *A simple norm
/// inequality*, American Mathematical Monthly 71, 1964): no more than 2 |x - z| / |x|, as they never are more than 2.
#[inline(always)]
fn divide(values: &mut [u32], sparse: &mut [[u32; 2]], length: f64, off: f64) -> f32 {
    let divided = |bits: &mut u32| {
        let x = (f64::from(f32::from_bits(*bits)) / length) as f32;
        *bits = x.to_bits();
    };
    values.iter_mut().for_each(divided);
    sparse.iter_mut().for_each(|[_, bits]| divided(bits));
    row::unit_q((2.0 * off / length).min(2.0))
}
