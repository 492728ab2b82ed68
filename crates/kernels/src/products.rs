//! Products and kernel values of blocks of rows with landmarks.
//!
//! Dense parts of landmarks are packed once, and multiplied with rows a panel at a time; products of which neither side stays are
//! those of `matrixmultiply`. A row's sparse entries each go through the landmarks that have that
//! feature, so a million features cost no more than the entries that meet.

use std::ops::Range;

use crate::base::interrupts;
use crate::base::memory::{filled, gathered, OutOfMemory, Room as _};
use crate::kernel::Kernel;
use crate::rows::Rows;
use crate::simd::{panels, Level};

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
}

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
        Ok(Self {
            packed: packed(&rows)?,
            rows,
            features,
            starts,
            holders,
        })
    }

    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + 4 * self.packed.len() + 8 * self.holders.len()
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
            self.products(some.clone(), level, (rows, from), out);
            let own = &rows.squares()[from..from + count];
            let squares = &self.rows.squares()[some.clone()];
            kernel.values(level, out, own, squares);
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
                rows: &rows.all_dense()[first * width..(first + count) * width],
                width,
                packed: &self.packed[some.start * width..][..panels::packed_len(landmarks, width)],
                others: landmarks,
                out,
            }),
        }
        if self.features.is_empty() {
            return;
        }
        for (row, out) in out.chunks_exact_mut(landmarks).enumerate() {
            // entries ascend, and so do the features that are left
            let mut from = 0;
            for [feature, bits] in rows.sparse(first + row) {
                let value = f32::from_bits(*bits);
                from += self.features[from..].partition_point(|known| known < feature);
                match self.features.get(from) {
                    None => break,
                    Some(known) if known != feature => continue,
                    Some(_) => {}
                }
                let holders = &self.holders[self.starts[from]..self.starts[from + 1]];
                for (landmark, other) in holders {
                    out[*landmark as usize] += value * other;
                }
                interrupts::worked(holders.len());
            }
        }
    }
}

/// The dense parts of rows in panels.
fn packed(rows: &Rows) -> Result<Vec<f32>, OutOfMemory> {
    let width = rows.width();
    let mut packed = filled(0.0, panels::packed_len(rows.len(), width))?;
    if width > 0 {
        panels::pack(rows.all_dense(), width, &mut packed);
    }
    Ok(packed)
}

/// Products of all rows of `a` with all rows of `b`, both of this width.
///
/// Panics where the slices are not of such sizes.
pub fn multiply(a: &[f32], b: &[f32], width: usize, out: &mut [f32]) {
    let (rows, columns) = (a.len() / width, b.len() / width);
    assert!(rows * width == a.len() && columns * width == b.len() && rows * columns == out.len());
    let (width_step, columns_step) = (width as isize, columns as isize);
    // SAFETY: a is rows x width, row after row, b columns x width, taken for its transpose, and out rows x columns, as
    // has been checked; strides stay within them, and out is borrowed alone.
    unsafe {
        matrixmultiply::sgemm(
            rows,
            width,
            columns,
            1.0,
            a.as_ptr(),
            width_step,
            1,
            b.as_ptr(),
            1,
            width_step,
            0.0,
            out.as_mut_ptr(),
            columns_step,
            1,
        );
    }
}

/// A matrix as it lies in a slice: rows of so many numbers, of which the first few count.
#[derive(Clone, Copy)]
pub(crate) struct View<'a, T> {
    pub(crate) numbers: &'a [T],
    pub(crate) stride: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl<T> View<'_, T> {
    fn fits(numbers: usize, stride: usize, rows: usize, columns: usize) -> bool {
        columns <= stride && (rows == 0 || (rows - 1) * stride + columns <= numbers)
    }

    fn is_sound(&self) -> bool {
        Self::fits(self.numbers.len(), self.stride, self.rows, self.columns)
    }
}

/// `out -= a b'`, with rows of `out` of this stride.
pub(crate) fn subtract_products(
    a: View<'_, f64>,
    b: View<'_, f64>,
    out: &mut [f64],
    stride: usize,
) {
    let fits = View::<f64>::fits(out.len(), stride, a.rows, b.rows);
    assert!(a.is_sound() && b.is_sound() && fits && a.columns == b.columns);
    // SAFETY: each matrix lies within its slice, as has been checked, and out is borrowed alone.
    unsafe {
        matrixmultiply::dgemm(
            a.rows,
            a.columns,
            b.rows,
            -1.0,
            a.numbers.as_ptr(),
            a.stride as isize,
            1,
            b.numbers.as_ptr(),
            1,
            b.stride as isize,
            1.0,
            out.as_mut_ptr(),
            stride as isize,
            1,
        );
    }
}

/// `out = a b'`, with rows of `out` of this stride.
pub(crate) fn products_into(a: View<'_, f32>, b: View<'_, f32>, out: &mut [f32], stride: usize) {
    let fits = View::<f32>::fits(out.len(), stride, a.rows, b.rows);
    assert!(a.is_sound() && b.is_sound() && fits && a.columns == b.columns);
    // SAFETY: as above.
    unsafe {
        matrixmultiply::sgemm(
            a.rows,
            a.columns,
            b.rows,
            1.0,
            a.numbers.as_ptr(),
            a.stride as isize,
            1,
            b.numbers.as_ptr(),
            1,
            b.stride as isize,
            0.0,
            out.as_mut_ptr(),
            stride as isize,
            1,
        );
    }
}

/// Room for the kernel values of a block of rows, which is kept from block to block.
#[derive(Debug, Default)]
pub struct Room(Vec<f32>);

impl Room {
    /// For so many values.
    pub(crate) fn of(&mut self, values: usize) -> Result<&mut [f32], OutOfMemory> {
        if self.0.len() < values {
            self.0 = Vec::new();
            self.0 = filled(0.0, values)?;
        }
        Ok(&mut self.0[..values])
    }
}
