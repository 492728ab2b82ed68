//! The incomplete Cholesky factorization of the kernel matrix of all rows, K ≈ H H', by machines that each have some of the
//! rows and theirs of H: PSVM's Algorithm 1. Row i is row i / m of machine i % m.
//!
//! ```text
//! v        diagonal of K - H H'
//! pivot    the row i with the greatest v of all machines; its machine is the master of this column
//! spread   x_i and H_i1 ... H_ik, H_ik = sqrt(v_i)                                          equation 3
//! column   H_jk = (k(x_j, x_i) - sum of H_jl H_il over l < k) / H_ik,  0 for earlier pivots   equation 4
//! v        v_j -= H_jk²                                                                     equation 5
//! stop     so many columns, or sum v <= tolerance sum k(x, x), or no v above rounding
//! ```
//!
//! Two messages a column: value, place and rest of the trace to the master and back, then the pivot to all. H has 32 bits, kernel
//! values and what is summed 64.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::base::memory::{copied, filled, gathered, OutOfMemory, Room as _};
use crate::base::zeros::zeros;
use crate::interior::exchange::{combined, Combine, Exchange, Halt, Pivot};
use crate::interior::values::{FactorSpool, Values};
use crate::kernels::pivots::{NEGATIVE, ROUNDING};
use crate::kernels::{Expansion, Factor, Kernel, KernelError, Landmarks, Rows};
use crate::rows::row::Row;
use crate::simd::{Isa, Level, Work};

/// Rows between two looks for interrupts: kernel values and a column of so many take a millisecond or two.
const BLOCK: usize = 1024;

/// The rows of a machine.
#[derive(Debug)]
pub struct Share {
    pub(super) rows: Rows,
    pub(super) groups: Vec<u32>,
    pub(super) costs: Vec<f32>,
    /// What scores have beside decisions; empty where that is nothing.
    pub(super) offsets: Vec<f64>,
}

impl Share {
    /// None yet.
    pub fn new(width: usize) -> Self {
        Self {
            rows: Rows::new(width),
            groups: Vec::new(),
            costs: Vec::new(),
            offsets: Vec::new(),
        }
    }

    /// Makes room for so many rows in all.
    pub fn room_for(&mut self, rows: usize) -> Result<(), OutOfMemory> {
        let more = rows.saturating_sub(self.len());
        self.groups.try_reserve_exact(more)?;
        self.costs.try_reserve_exact(more)?;
        self.rows.room_for(more)
    }

    /// Takes a row.
    pub(super) fn take(&mut self, row: &Row<'_>) -> Result<(), OutOfMemory> {
        let features = (row.dense(), row.sparse());
        let offset = row.has_offset().then(|| row.offset());
        self.push(features, row.group() as u32, (row.cost(), offset))
    }

    /// Takes a row of dense values and sparse entries, of this group, cost and offset, which all rows have or none.
    pub fn push(
        &mut self,
        (dense, sparse): (&[f32], &[[u32; 2]]),
        group: u32,
        (cost, offset): (f32, Option<f64>),
    ) -> Result<(), OutOfMemory> {
        if let Some(offset) = offset {
            self.offsets.room(1)?.push(offset);
        }
        self.rows.push(dense, sparse)?;
        self.groups.room(1)?.push(group);
        self.costs.room(1)?.push(cost);
        Ok(())
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + 8 * (self.len() + self.offsets.len())
    }

    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }
}

/// How far it is to go.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Aim {
    pub(super) kernel: Kernel,
    pub(super) rank: usize,
    pub(super) tolerance: f64,
}

/// A machine's rows of H, and what is known of all.
pub(super) struct Factored {
    values: Values,
    /// Columns that there are.
    rank: usize,
    /// What each row has behind them: 1 where an intercept is in the norm, its weight being the last of w, else 0.
    pub(super) constant: f64,
    /// Sums over all rows: of k(x, x), and what is left of it.
    pub(super) trace: f64,
    pub(super) rest: f64,
    /// By column, before it and after the last one, what was left.
    pub(super) rests: Vec<f64>,
    pivots: Vec<usize>,
    /// On the master the pivots' features and rows of H.
    landmarks: Rows,
    lower: Vec<Vec<f64>>,
}

impl Factored {
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// The rows of H.
    pub(super) fn values(&self) -> &Values {
        &self.values
    }

    /// Room of a row of H.
    pub(super) fn stride(&self) -> usize {
        self.values.stride()
    }

    /// On the master: by head of `machine` the weights of rows of H whose decisions at the pivots are its own, and its intercept behind
    /// them.
    pub(super) fn projected(&self, machine: &Expansion) -> Result<Vec<f64>, OutOfMemory> {
        let lower = || self.lower.iter().map(Vec::as_slice);
        gathered(
            machine
                .projected(&self.landmarks, lower)?
                .into_iter()
                .flatten(),
        )
    }

    /// What the master has, as the factor of a map.
    pub(super) fn into_factor(self, kernel: Kernel) -> Result<Option<Factor>, OutOfMemory> {
        let rank = self.rank;
        let mut lower = zeros(rank * rank)?;
        for (own, known) in lower.chunks_exact_mut(rank.max(1)).zip(&self.lower) {
            own[..known.len()].copy_from_slice(known);
        }
        let left_out = (self.rest / self.trace).max(0.0);
        Ok(Factor::of(
            kernel,
            self.landmarks,
            lower,
            self.pivots,
            left_out,
        ))
    }
}

/// Factors: `share` is the part of this machine, whose rows of H go to the spool where there is one; `tell` hears how many
/// columns there are.
pub(super) fn factor<E: Exchange>(
    aim: &Aim,
    share: &Share,
    spool: Option<Box<dyn FactorSpool>>,
    exchange: &mut E,
    mut tell: impl FnMut(usize),
) -> Result<Factored, Halt> {
    let mut factoring = Factoring::new(aim, share, spool, exchange)?;
    while factoring.factored.rank < aim.rank && factoring.column(exchange)? {
        tell(factoring.factored.rank);
    }
    let rest = factoring.pivot(exchange)?[2];
    factoring.factored.rest = rest.max(0.0);
    factoring.factored.rests.room(1)?.push(rest);
    Ok(factoring.factored)
}

struct Factoring<'a> {
    aim: &'a Aim,
    share: &'a Share,
    level: Level,
    residuals: Vec<f64>,
    /// Of all rows the greatest k(x, x).
    largest: f64,
    /// This machine's own rows that are pivots.
    taken: Vec<usize>,
    values: Vec<f64>,
    factored: Factored,
}

impl<'a> Factoring<'a> {
    fn new<E: Exchange>(
        aim: &'a Aim,
        share: &'a Share,
        spool: Option<Box<dyn FactorSpool>>,
        exchange: &mut E,
    ) -> Result<Self, Halt> {
        let mut residuals = Vec::new();
        residuals.room(share.len())?;
        for row in 0..share.len() {
            let value = aim.kernel.own_value(share.rows.wide_square(row));
            if !(value as f32).is_finite() {
                let row = row * exchange.machines() + exchange.own();
                return Err(KernelError::NotFinite { row }.into());
            }
            residuals.push(value);
        }
        let mut this = Self {
            aim,
            share,
            level: Level::best(),
            largest: 0.0,
            taken: Vec::new(),
            values: filled(0.0, BLOCK.min(share.len()))?,
            factored: Factored {
                values: Values::new(share.len(), aim.rank, spool)?,
                rank: 0,
                constant: 0.0,
                trace: 0.0,
                rest: 0.0,
                rests: Vec::new(),
                pivots: Vec::new(),
                landmarks: Rows::new(share.rows.width()),
                lower: Vec::new(),
            },
            residuals,
        };
        let [greatest, _, trace] = this.pivot(exchange)?;
        let least = this.residuals.iter().copied().fold(0.0, f64::min);
        this.largest = greatest;
        this.factored.trace = trace;
        check(
            &this.residuals,
            greatest,
            &(0..share.len()),
            least,
            exchange,
        )?;
        match greatest > 0.0 {
            true => Ok(this),
            false => Err(KernelError::Zero.into()),
        }
    }

    /// Of all machines the greatest residual, its row and the sum of all.
    fn pivot<E: Exchange>(&self, exchange: &mut E) -> Result<[f64; 3], Halt> {
        let (mut place, mut greatest) = (0, f64::NEG_INFINITY);
        let mut sum = 0.0;
        for (row, residual) in self.residuals.iter().enumerate() {
            sum += residual;
            if *residual > greatest {
                (place, greatest) = (row, *residual);
            }
        }
        let row = place * exchange.machines() + exchange.own();
        combined(exchange, [greatest, row as f64, sum], Combine::Pivot)
    }

    /// Takes another column; false where there is none to take.
    fn column<E: Exchange>(&mut self, exchange: &mut E) -> Result<bool, Halt> {
        let [greatest, row, rest] = self.pivot(exchange)?;
        let ends = rest <= self.aim.tolerance * self.factored.trace;
        if ends || greatest <= ROUNDING * self.largest {
            return Ok(false);
        }
        self.factored.rests.room(1)?.push(rest);
        let row = row as usize;
        let (from, place) = (row % exchange.machines(), row / exchange.machines());
        let own = match from == exchange.own() {
            true => Some(self.own_pivot(place, greatest)?),
            false => None,
        };
        let pivot = exchange.spread(from, own)?;
        if exchange.own() == 0 {
            self.factored.landmarks.push_from(&pivot.features, 0)?;
            self.factored.lower.room(1)?.push(copied(&pivot.factors)?);
            self.factored.pivots.room(1)?.push(row);
        }
        let own = (from == exchange.own()).then_some(place);
        self.take(&pivot, own, exchange)?;
        if let Some(place) = own {
            self.taken.room(1)?.push(place);
        }
        for taken in &self.taken {
            self.residuals[*taken] = 0.0;
        }
        self.factored.rank += 1;
        Ok(true)
    }

    fn own_pivot(&self, place: usize, residual: f64) -> Result<Pivot, Halt> {
        let mut features = Rows::new(self.share.rows.width());
        features.push_from(&self.share.rows, place)?;
        let known = self.factored.values.row(place, self.factored.rank)?;
        let mut factors = Vec::new();
        factors.room(known.len() + 1)?;
        factors.extend(known.iter().map(|value| f64::from(*value)));
        factors.push(residual.sqrt());
        Ok(Pivot { features, factors })
    }

    /// The column of this machine's rows, of which `own` is the pivot: it has the diagonal, and pivots before it have 0.
    fn take<E: Exchange>(
        &mut self,
        pivot: &Pivot,
        own: Option<usize>,
        exchange: &E,
    ) -> Result<(), Halt> {
        let mut features = Rows::new(self.share.rows.width());
        features.push_from(&pivot.features, 0)?;
        let landmark = Landmarks::new(features)?;
        let column = self.factored.rank;
        let diagonal = pivot.factors[column] as f32;
        let Self {
            aim,
            share,
            level,
            largest,
            taken,
            residuals,
            values,
            factored,
        } = self;
        let stride = factored.stride();
        let make = |rows: Range<usize>, known: &mut [f32]| {
            let values = &mut values[..rows.len()];
            let from = (&share.rows, rows.start);
            landmark.wide_values(&aim.kernel, *level, from, values);
            let least = level.run(Column {
                values,
                factors: &pivot.factors,
                known,
                stride,
                residuals: &mut residuals[rows.clone()],
            });
            check(residuals, *largest, &rows, least, exchange)
        };
        factored
            .values
            .add_column(column, BLOCK, make, |rows, put| {
                for taken in taken.iter().filter(|row| rows.contains(row)) {
                    put(*taken, 0.0);
                }
                if let Some(own) = own.filter(|row| rows.contains(row)) {
                    put(own, diagonal);
                }
            })
    }
}

/// Refuses a residual below 0 by more than rounding, the least of these rows.
fn check<E: Exchange>(
    residuals: &[f64],
    largest: f64,
    rows: &Range<usize>,
    least: f64,
    exchange: &E,
) -> Result<(), Halt> {
    let scale = match largest > 0.0 {
        true => largest,
        false => 1.0,
    };
    if least >= NEGATIVE * scale {
        return Ok(());
    }
    let mut places = rows.clone();
    let place = places.find(|row| residuals[*row] == least);
    Err(KernelError::NotPositive {
        row: place.unwrap_or(0) * exchange.machines() + exchange.own(),
        residual: least / scale,
    }
    .into())
}

/// The next column of some rows, whose least residual it gives back.
struct Column<'a> {
    /// k(x, z) of each with the pivot.
    values: &'a [f64],
    factors: &'a [f64],
    known: &'a mut [f32],
    stride: usize,
    residuals: &'a mut [f64],
}

impl Work for Column<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<K: Isa>(self) -> f64 {
        let column = self.factors.len() - 1;
        let (before, diagonal) = self.factors.split_at(column);
        let inverse = 1.0 / diagonal[0];
        let mut least = f64::INFINITY;
        let rows = self.known.chunks_exact_mut(self.stride);
        for ((row, value), residual) in rows.zip(self.values).zip(self.residuals) {
            let product = dot::<K>(&row[..column], before);
            let factor = ((*value - product) * inverse) as f32;
            row[column] = factor;
            *residual -= f64::from(factor) * f64::from(factor);
            least = least.min(*residual);
        }
        least
    }
}

/// In partial sums, in a fixed order.
#[inline(always)]
pub(super) fn dot<K: Isa>(row: &[f32], other: &[f64]) -> f64 {
    const LANES: usize = 16;
    let mut sums = [0.0f64; LANES];
    let (wide, rest) = row.as_chunks::<LANES>();
    let (others, last) = other.as_chunks::<LANES>();
    for (row, other) in wide.iter().zip(others) {
        for lane in 0..LANES {
            sums[lane] = add::<K>(f64::from(row[lane]), other[lane], sums[lane]);
        }
    }
    let mut sum = sums.iter().sum();
    for (value, other) in rest.iter().zip(last) {
        sum = add::<K>(f64::from(*value), *other, sum);
    }
    sum
}

/// `a b + sum`, with one rounding where the processor has that.
#[inline(always)]
pub(super) fn add<K: Isa>(a: f64, b: f64, sum: f64) -> f64 {
    match K::FUSED {
        true => a.mul_add(b, sum),
        false => a * b + sum,
    }
}
