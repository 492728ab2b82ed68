//! Products and kernel values of blocks of rows with landmarks.
//!
//! Dense parts of landmarks are packed once, and multiplied with rows a panel at a time. A row's sparse entries each go
//! through the landmarks that have that feature, so a million features cost no more than the entries that meet.

use std::ops::Range;

use crate::base::interrupts;
use crate::base::memory::{filled, gathered, OutOfMemory, Room as _};
use crate::kernel::Kernel;
use crate::rows::Rows;
use crate::simd::panels::{self, Lines};
use crate::simd::Level;

/// Multiplications of vectors that are taken at a time, between two looks for interrupts: a millisecond or two.
const AT_ONCE: usize = 1 << 26;
/// What a kernel value takes beside its product, in those.
const BESIDE: usize = 16;

/// Rows that others are multiplied with.
#[derive(Debug)]
pub struct Landmarks {
    rows: Rows,
    /// The dense parts once more, in panels.
    packed: Vec<f32>,
    /// Sparse features of any of them, ascending; where the landmarks of each begin; those landmarks and their values.
    features: Vec<u32>,
    starts: Vec<usize>,
    holders: Vec<(u32, f32)>,
    /// Squared norms, and those of the sparse parts, where there are any.
    wide_squares: Vec<f64>,
    sparse_squares: Vec<f64>,
    /// The largest squared norm.
    most_square: f64,
    /// Whether they lie so far from 0 that 32 bits have little of a distance that is made of products.
    far: bool,
}

/// So many times farther from 0 than from their mean, squared, rows are far.
const FAR: f64 = 8.0;
/// Where gamma |z|² is more than this, distances in 32 bits are sums of squared differences: of products they would lose a ten-thousandth.
const NEAR_IN_32_BITS: f64 = 256.0;

impl Landmarks {
    pub fn new(rows: Rows) -> Result<Self, OutOfMemory> {
        let mut all: Vec<(u32, u32, f32)> = Vec::new();
        all.room(rows.all_sparse().len())?;
        for row in 0..rows.len() {
            let entries = rows.sparse(row).iter();
            all.extend(
                entries.map(|[feature, bits]| (*feature, row as u32, f32::from_bits(*bits))),
            );
        }
        all.sort_unstable_by_key(|(feature, row, _)| (*feature, *row));
        let (mut features, mut starts) = (Vec::new(), Vec::new());
        for (place, (feature, ..)) in all.iter().enumerate() {
            if features.last() != Some(feature) {
                features.room(1)?.push(*feature);
                starts.room(1)?.push(place);
            }
        }
        starts.room(1)?.push(all.len());
        let holders = gathered(all.iter().map(|(_, row, value)| (*row, *value)))?;
        let sparse_squares = match features.is_empty() {
            true => Vec::new(),
            false => gathered((0..rows.len()).map(|row| sparse_square(rows.sparse(row))))?,
        };
        let wide_squares = gathered((0..rows.len()).map(|row| rows.wide_square(row)))?;
        Ok(Self {
            packed: packed(&rows)?,
            far: is_far(&rows)?,
            most_square: wide_squares.iter().copied().fold(0.0, f64::max),
            wide_squares,
            rows,
            features,
            starts,
            holders,
            sparse_squares,
        })
    }

    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        let sparse = self.holders.len() + self.sparse_squares.len();
        self.rows.bytes() + 4 * self.packed.len() + 8 * (sparse + self.wide_squares.len())
    }

    pub fn into_rows(self) -> Rows {
        self.rows
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether kernel values with some of them can be asked for: features are all dense.
    pub(crate) fn can_be_parted(&self) -> bool {
        self.features.is_empty()
    }

    /// Their dense parts in panels.
    pub(crate) fn packed(&self) -> &[f32] {
        &self.packed
    }

    /// Whether kernel values in 32 bits are those of differences: of products they lose gamma times the squares.
    pub fn wants_differences(&self, kernel: &Kernel) -> bool {
        match *kernel {
            Kernel::Rbf { gamma } => self.far || gamma * self.most_square > NEAR_IN_32_BITS,
            _ => false,
        }
    }

    /// The largest squared norm times the gamma of a kernel of distances, as far as values in 32 bits lose by it.
    pub fn nearness(&self, kernel: &Kernel) -> f64 {
        match *kernel {
            Kernel::Rbf { gamma } if !self.wants_differences(kernel) => gamma * self.most_square,
            _ => 0.0,
        }
    }

    /// Whether they lie far from 0, beside how far they are from one another.
    pub(crate) fn is_far(&self) -> bool {
        self.far
    }

    /// Their squared norms, in 64 bits, and the largest.
    pub(crate) fn wide_squares(&self) -> &[f64] {
        &self.wide_squares
    }

    pub(crate) fn most_square(&self) -> f64 {
        self.most_square
    }

    /// Squared norms of their sparse parts; none where none has any.
    pub(crate) fn sparse_squares(&self) -> &[f64] {
        &self.sparse_squares
    }

    /// k(x, z) of rows `first` and some more, as many as `out` holds, with each landmark z: row after row.
    ///
    /// Panics where rows are of another width.
    pub fn kernel_values(
        &self,
        kernel: &Kernel,
        level: Level,
        rows: &Rows,
        first: usize,
        out: &mut [f32],
    ) {
        self.kernel_values_with(0..self.len(), kernel, level, (rows, first), out);
    }

    /// The same with these landmarks alone: whole panels, where they [can be parted](Self::can_be_parted).
    pub(crate) fn kernel_values_with(
        &self,
        some: Range<usize>,
        kernel: &Kernel,
        level: Level,
        (rows, first): (&Rows, usize),
        out: &mut [f32],
    ) {
        let landmarks = some.len();
        if landmarks == 0 {
            return;
        }
        let a_row = landmarks * (rows.width() + BESIDE);
        let at_once = (AT_ONCE / a_row).max(1);
        for (part, out) in out.chunks_mut(at_once * landmarks).enumerate() {
            let (from, count) = (first + part * at_once, out.len() / landmarks);
            if self.wants_differences(kernel) {
                self.far_values(some.clone(), kernel, level, (rows, from), out);
            } else {
                self.products(some.clone(), level, (rows, from), out);
                let own = &rows.squares()[from..from + count];
                let squares = &self.rows.squares()[some.clone()];
                kernel.values(level, out, own, squares);
            }
            // vectors take several at a time
            interrupts::worked(count * a_row / 8);
        }
    }

    /// Products of some rows with some landmarks.
    fn products(
        &self,
        some: Range<usize>,
        level: Level,
        (rows, first): (&Rows, usize),
        out: &mut [f32],
    ) {
        let (width, landmarks) = (rows.width(), some.len());
        let count = out.len() / landmarks;
        match width {
            0 => out.fill(0.0),
            _ => level.run(panels::Multiply {
                rows: Lines::close(&rows.all_dense()[first * width..], width, count),
                width,
                packed: &self.packed[some.start * width..][..panels::packed_len(landmarks, width)],
                others: landmarks,
                out: Lines::close(&mut *out, landmarks, count),
                subtract: false,
            }),
        }
        for (row, out) in out.chunks_exact_mut(landmarks).enumerate() {
            let entries = rows.sparse(first + row);
            self.each_meeting(entries, |landmark, value, other| {
                out[landmark] += value * other;
            });
        }
    }

    /// Has each sparse entry of a row looked at with each landmark that has its feature, and that landmark's value.
    #[inline(always)]
    pub(crate) fn each_meeting(&self, entries: &[[u32; 2]], mut look: impl FnMut(usize, f32, f32)) {
        // entries ascend, and so do the features that are left
        let mut from = 0;
        for [feature, bits] in entries {
            let value = f32::from_bits(*bits);
            from += self.features[from..].partition_point(|known| known < feature);
            match self.features.get(from) {
                None => break,
                Some(known) if known != feature => continue,
                Some(_) => {}
            }
            let holders = &self.holders[self.starts[from]..self.starts[from + 1]];
            interrupts::worked(holders.len());
            for (landmark, other) in holders {
                look(*landmark as usize, value, *other);
            }
        }
    }
}

/// Whether the dense parts of rows are far from 0, beside how far they are from one another.
fn is_far(rows: &Rows) -> Result<bool, OutOfMemory> {
    let (width, count) = (rows.width(), rows.len() as f64);
    let mut sums = filled(0.0f64, width)?;
    let mut squares = 0.0;
    for row in 0..rows.len() {
        for (sum, x) in sums.iter_mut().zip(rows.dense(row)) {
            *sum += f64::from(*x);
            squares += f64::from(*x) * f64::from(*x);
        }
    }
    let centre: f64 = sums.iter().map(|sum| sum * sum / count).sum();
    Ok(rows.len() > 1 && squares > FAR * (squares - centre))
}

fn sparse_square(entries: &[[u32; 2]]) -> f64 {
    let square = |[_, bits]: &[u32; 2]| f64::from(f32::from_bits(*bits)).powi(2);
    entries.iter().map(square).sum()
}

/// The dense parts of rows in panels.
fn packed(rows: &Rows) -> Result<Vec<f32>, OutOfMemory> {
    let width = rows.width();
    let mut packed = filled(0.0, panels::packed_len(rows.len(), width))?;
    if width > 0 {
        let all = Lines::close(rows.all_dense(), width, rows.len());
        panels::pack(all, width, &mut packed, |number| number);
    }
    Ok(packed)
}

/// Room for the kernel values of a block of rows, which is kept from block to block: in 32 bits and in 64.
#[derive(Debug, Default)]
pub struct Room(Vec<f32>, Vec<f64>);

impl Room {
    /// For so many values.
    pub(crate) fn of(&mut self, values: usize) -> Result<&mut [f32], OutOfMemory> {
        if self.0.len() < values {
            self.0 = Vec::new();
            self.0 = filled(0.0, values)?;
        }
        Ok(&mut self.0[..values])
    }

    /// The same in 64 bits.
    pub(crate) fn of_wide(&mut self, values: usize) -> Result<&mut [f64], OutOfMemory> {
        if self.1.len() < values {
            self.1 = Vec::new();
            self.1 = filled(0.0, values)?;
        }
        Ok(&mut self.1[..values])
    }
}
