//! Sums of the products of rows with themselves: rows are packed into panels of columns and multiplied a block of them at a
//! time, or, where they have few values, gone through value by value.

use crate::base::interrupts;
use crate::base::memory::OutOfMemory;
use crate::base::zeros::zeros;
use crate::lower::{Lower, SQUARE};
use crate::simd::tile::{self, PANEL};
use crate::simd::{Isa, Level, Work};

/// Numbers of a block: half a megabyte, which the second cache holds beside what the product needs.
const BLOCK_NUMBERS: usize = 1 << 16;
/// Rows of a block at least, so that a product is worth its way through the sums, and at most.
const LEAST_ROWS: usize = 32;
const MOST_ROWS: usize = 256;
/// A row is gone through value by value where the pairs of its values are fewer than those of all columns by this factor:
/// so much faster, multiplication by multiplication, is a product of blocks.
const SCATTERED: usize = 12;

/// Most columns of sums that are sent to another process, or come from one: the sums are a gigabyte then.
pub const MOST_SENT: usize = 1 << 14;

/// Sums under way.
pub struct Gram {
    sums: Lower,
    /// Panel after panel, in each the rows packed so far.
    block: Vec<f64>,
    block_rows: usize,
    packed: usize,
    /// Rows whose values may lie anywhere come packed or not: those that are packed are set to 0 first.
    length: usize,
}

/// The work of [`Gram::multiply`]. Gives back how many multiplications it took.
struct Multiply<'a>(&'a mut Gram);

impl Work for Multiply<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<K: Isa>(self) -> usize {
        self.0.multiply::<K>()
    }
}

/// A row to be added, with a constant behind its features.
#[derive(Clone, Copy)]
pub struct Added<'a> {
    pub dense: &'a [f32],
    /// Pairs of column and value bits, columns ascending.
    pub sparse: &'a [[u32; 2]],
    pub constant: f64,
    pub weight: f64,
}

impl Gram {
    /// Nothing yet, for rows of so many values with the constant.
    pub fn new(length: usize) -> Result<Self, OutOfMemory> {
        let sums = Lower::new(length)?;
        let wide = sums.panels() * PANEL;
        let block_rows = (BLOCK_NUMBERS / wide).clamp(LEAST_ROWS, MOST_ROWS);
        Ok(Self {
            block: zeros(block_rows * wide)?,
            block_rows,
            sums,
            packed: 0,
            length,
        })
    }

    /// With these sums to begin with.
    pub fn of(sums: Lower) -> Result<Self, OutOfMemory> {
        let mut this = Self::new(sums.length())?;
        this.sums = sums;
        Ok(this)
    }

    /// The sums, but for what is packed still.
    pub fn sums(&self) -> &Lower {
        &self.sums
    }

    /// Adds what another one has summed up; both have been finished.
    pub fn join(&mut self, other: &Self) {
        self.sums.add(&other.sums);
    }

    /// Values of the rows, with the constant.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Bytes for rows of so many values.
    pub fn bytes(length: usize) -> usize {
        let wide = length.next_multiple_of(PANEL);
        8 * (Lower::numbers(length) + BLOCK_NUMBERS.max(LEAST_ROWS * wide))
    }

    /// Whether a row with so many values out of `length` is gone through value by value.
    pub fn scatters(values: usize, length: usize) -> bool {
        SCATTERED * values * values < length * length
    }

    /// Adds the products of a row with itself, times its weight; those of a full block are taken on the way. Gives back how many
    /// multiplications of blocks that took.
    #[inline(always)]
    pub fn add<K: Isa>(&mut self, row: Added<'_>) -> usize {
        let values = row.dense.len() + row.sparse.len() + 1;
        if Self::scatters(values, self.length) {
            self.scatter(row);
            return 0;
        }
        self.pack(row);
        match self.packed == self.block_rows {
            true => K::apart(Multiply(self)),
            false => 0,
        }
    }

    #[inline(always)]
    fn scatter(&mut self, row: Added<'_>) {
        let dense = row.dense.iter().enumerate();
        let dense = dense.map(|(column, value)| (column, f64::from(*value)));
        let sparse = row.sparse.iter();
        let sparse =
            sparse.map(|[column, bits]| (*column as usize, f64::from(f32::from_bits(*bits))));
        let all = dense.chain(sparse).chain([(self.length - 1, row.constant)]);
        for (place, (number, value)) in all.clone().enumerate() {
            let factor = row.weight * value;
            let sums = self.sums.row_mut(number);
            for (column, other) in all.clone().take(place + 1) {
                sums[column * PANEL] += factor * other;
            }
        }
    }

    #[inline(always)]
    fn pack(&mut self, row: Added<'_>) {
        let (factor, stride) = (row.weight.sqrt(), self.block_rows * PANEL);
        let place = self.packed * PANEL;
        let (whole, rest) = row.dense.as_chunks::<PANEL>();
        let panels = self.block.chunks_exact_mut(stride);
        let mut panels = panels.map(|panel| &mut panel[place..place + PANEL]);
        for values in whole {
            if let Some(panel) = panels.next() {
                for (packed, value) in panel.iter_mut().zip(values) {
                    *packed = factor * f64::from(*value);
                }
            }
        }
        let mut rest = rest;
        for panel in panels {
            panel.fill(0.0);
            for (packed, value) in panel.iter_mut().zip(rest) {
                *packed = factor * f64::from(*value);
            }
            rest = &[];
        }
        let block = &mut self.block;
        let at = |column: usize| column / PANEL * stride + place + column % PANEL;
        for [column, bits] in row.sparse {
            block[at(*column as usize)] += factor * f64::from(f32::from_bits(*bits));
        }
        block[at(self.length - 1)] = factor * row.constant;
        self.packed += 1;
    }

    /// Takes the products of what is packed.
    #[inline(always)]
    fn multiply<K: Isa>(&mut self) -> usize {
        let (rows, panels) = (self.packed, self.sums.panels());
        let stride = self.block_rows * PANEL;
        let (block, sums) = (&self.block, &mut self.sums);
        let packed = |panel: usize| block[panel * stride..][..rows * PANEL].as_chunks().0;
        for panel in 0..panels {
            let (squares, _) = sums.panel_mut(panel);
            for (other, square) in squares.chunks_exact_mut(PANEL).enumerate() {
                tile::add::<K>(square, 1.0, packed(other), packed(panel));
            }
            interrupts::worked(rows * SQUARE * (panel + 1));
        }
        self.packed = 0;
        rows * SQUARE * (panels * (panels + 1) / 2)
    }

    /// Takes the products of what is left.
    pub fn finish(&mut self, level: Level) {
        if self.packed > 0 {
            level.run(Multiply(self));
        }
    }

    /// The sums, or room for others: a caller that takes them gives one back.
    pub fn sums_mut(&mut self) -> &mut Lower {
        &mut self.sums
    }

    /// Has these sums, and nothing packed beside them.
    pub fn begin_with(&mut self, sums: Lower) {
        self.packed = 0;
        self.sums = sums;
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.packed = 0;
        self.sums.clear();
    }
}

/// Products that have been finished, as their sums.
pub mod finished {
    use super::Gram;
    use crate::lower::Lower;
    use serde::{de, Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(gram: &Option<Gram>, to: S) -> Result<S::Ok, S::Error> {
        gram.as_ref().map(Gram::sums).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Gram>, D::Error> {
        let sums = Option::<Lower>::deserialize(from)?;
        if sums
            .as_ref()
            .is_some_and(|it| it.length() == 0 || !it.is_sound())
        {
            return Err(de::Error::custom("no matrix"));
        }
        sums.map(Gram::of).transpose().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as dense and sparse values, added to sums.
    struct Add<'a>(&'a mut Gram, &'a [(Vec<f32>, Vec<[u32; 2]>)]);

    impl Work for Add<'_> {
        type Output = ();

        #[inline(always)]
        fn run<K: Isa>(self) {
            for (number, (dense, sparse)) in self.1.iter().enumerate() {
                self.0.add::<K>(Added {
                    dense,
                    sparse,
                    constant: 1.0,
                    weight: 1.0 + (number % 3) as f64,
                });
            }
        }
    }

    #[test]
    fn sums_are_those_of_the_products_one_by_one() {
        for (dense, features) in [(1, 1), (5, 9), (24, 24), (0, 70), (100, 131), (47, 600)] {
            let rows = rows(dense, features);
            let length = features + 1;
            let mut expected = vec![vec![0.0; length]; length];
            for (number, row) in rows.iter().enumerate() {
                let all = spread_out(row, features);
                let weight = 1.0 + (number % 3) as f64;
                for (expected, own) in expected.iter_mut().zip(&all) {
                    for (sum, other) in expected.iter_mut().zip(&all) {
                        *sum += weight * own * other;
                    }
                }
            }
            for level in [Level::PLAIN, Level::best()] {
                let mut gram = Gram::new(length).unwrap();
                level.run(Add(&mut gram, &rows));
                gram.finish(level);
                for (i, row) in expected.iter().enumerate() {
                    for (j, b) in row.iter().enumerate().take(i + 1) {
                        let (a, b) = (gram.sums_mut().get(i, j), *b);
                        assert!((a - b).abs() < 1e-6, "{features}: {i}, {j}: {a} and {b}");
                    }
                }
            }
        }
    }

    /// Rows of so many dense features, the others sparse.
    fn rows(dense: usize, features: usize) -> Vec<(Vec<f32>, Vec<[u32; 2]>)> {
        let value = |row: usize, column: usize| ((row * 7 + column * 13) % 11) as f32 - 5.0;
        let row = |row: usize| {
            let sparse = (dense..features).filter(|column| (row + column).is_multiple_of(5));
            let entry = |column: usize| [column as u32, value(row, column).to_bits()];
            (
                (0..dense).map(|column| value(row, column)).collect(),
                sparse.map(entry).collect(),
            )
        };
        (0..300).map(row).collect()
    }

    /// Every feature of a row, and 1 behind them.
    fn spread_out((dense, sparse): &(Vec<f32>, Vec<[u32; 2]>), features: usize) -> Vec<f64> {
        let mut all = vec![0.0; features + 1];
        for (all, value) in all.iter_mut().zip(dense) {
            *all = f64::from(*value);
        }
        for [column, bits] in sparse {
            all[*column as usize] = f64::from(f32::from_bits(*bits));
        }
        all[features] = 1.0;
        all
    }
}
