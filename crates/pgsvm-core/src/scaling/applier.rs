//! The scaling of packed rows.

use std::collections::TryReserveError;

use super::Scaling;
use crate::kernel::{Kernel, Level, Work};
use crate::row;

/// A [`Scaling`] made ready for rows whose dense values are kept relative to a provisional centre.
#[derive(Debug)]
pub(crate) struct Applier {
    level: Level,
    shift: Vec<f64>,
    factor: Vec<f64>,
    sparse_factor: Vec<f32>,
    dense: usize,
}

impl Applier {
    /// `provisional`: what was subtracted from the dense values already; empty means nothing.
    pub(crate) fn new(scaling: &Scaling, provisional: &[f64]) -> Result<Self, TryReserveError> {
        let (mut shift, mut factor, mut sparse_factor) = (Vec::new(), Vec::new(), Vec::new());
        shift.try_reserve_exact(scaling.factor.len())?;
        factor.try_reserve_exact(scaling.factor.len())?;
        sparse_factor.try_reserve_exact(scaling.sparse_factor.len())?;
        for j in 0..scaling.factor.len() {
            let centre = scaling.centre.get(j).copied().unwrap_or(0.0);
            shift.push(centre - provisional.get(j).copied().unwrap_or(0.0));
        }
        factor.extend_from_slice(&scaling.factor);
        sparse_factor.extend_from_slice(&scaling.sparse_factor);
        Ok(Self {
            level: Level::best(),
            shift,
            factor,
            sparse_factor,
            dense: scaling.dense,
        })
    }

    /// Scales a row in place and sets its Q.
    pub(crate) fn apply(&self, words: &mut [u32]) {
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

impl Work for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(self) {
        let Applier {
            shift,
            factor,
            sparse_factor,
            dense,
            ..
        } = self.applier;
        let (q, values, sparse) = row::parts_mut(self.words, *dense);
        if !factor.is_empty() {
            for ((bits, shift), factor) in values.iter_mut().zip(shift).zip(factor) {
                *bits = (((f64::from(f32::from_bits(*bits)) - shift) * factor) as f32).to_bits();
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
        *q = (squares.iter().sum::<f64>() as f32).to_bits();
    }
}
