//! The pairs of index and value of a row's sparse parts, and the order of their ids. Called by the decoder.

use super::kind::FeatureKind;
use crate::features::buffer::FeatureBuffer;
use crate::features::error::FeatureError;
use crate::features::kept::{KeptPairs, Narrowed};
use crate::features::precision::FeaturePrecision;
use crate::features::row::{Decoded, Null};
use crate::pg::{check_for_interrupts, Patience};
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_expand::hash::of_number;
use pgsvm_expand::numbers::{hashed_products, MOST_HASHED};
use pgsvm_expand::Collisions;

/// Room for the sparse parts of a row, kept from row to row.
#[derive(Default)]
pub struct SparseScratch {
    /// Number of sparse parts: ids step by it.
    parts: i64,
    /// Most pairs of a row.
    pub most: usize,
    pub(super) index: Vec<f64>,
    pub(super) value: Vec<f64>,
    pairs: Vec<(u32, f32)>,
    hashed: Vec<(u64, f64)>,
    /// In a training.
    pub(in crate::features) precision: Option<FeaturePrecision>,
    /// In a training, by sparse part, the indices that are hashed.
    met: Vec<Option<Collisions>>,
}

impl SparseScratch {
    /// For rows with that many sparse parts.
    pub fn new(parts: usize) -> Self {
        Self {
            parts: parts as i64,
            most: usize::MAX,
            ..Self::default()
        }
    }

    /// From now on the indices of the next sparse part that are hashed to so many bits, where they are, are counted.
    pub fn learn(&mut self, hash_bits: Option<u32>) -> Result<(), OutOfMemory> {
        let met = hash_bits.map(Collisions::new).transpose()?;
        self.met.room(1)?.push(met);
        Ok(())
    }

    /// Of the distinct indices met in each sparse part, the share whose feature is that of another one.
    pub fn collisions(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        let met = self.met.iter();
        met.map(|met| met.as_ref().and_then(Collisions::share))
    }

    /// Number of sparse parts.
    pub fn count(&self) -> i64 {
        self.parts
    }

    /// The indices and values that were read last: NaN for a NULL index, 0 for a NULL value.
    pub fn pairs(&self) -> (&[f64], &[f64]) {
        (&self.index, &self.value)
    }

    /// Adds the pairs that were read last to sparse part `number`. `nulls`: whether one of the indices is NULL, and one of the
    /// values.
    #[inline]
    pub fn add(
        &mut self,
        part: &dyn FeatureKind,
        number: i64,
        nulls: [bool; 2],
        out: &mut FeatureBuffer,
    ) -> Decoded {
        let [index_nulls, value_nulls] = nulls;
        let null = (index_nulls || value_nulls).then_some(Null);
        let (indices, values) = (self.index.len(), self.value.len());
        self.room(indices.min(values), out)?;
        if indices != values {
            return Err(FeatureError::SparseLength {
                part: part.name(),
                indices,
                values,
            });
        }
        if let Some(bits) = part.hash_bits() {
            self.push_hashed(part, bits, number, out)?;
        } else if index_nulls || !self.push_all(number, out) {
            self.push_each(part, number, out)?;
        }
        Ok(null)
    }

    /// Adds pairs that were kept.
    #[inline]
    pub fn add_kept(
        &mut self,
        part: &dyn FeatureKind,
        number: i64,
        pairs: &KeptPairs<'_>,
        out: &mut FeatureBuffer,
    ) -> Decoded {
        let (indices, values) = pairs;
        if let (Narrowed::Narrow(indices), Narrowed::Narrow(values)) = pairs {
            if self.push_narrow(part, number, (indices, values), out)? {
                return Ok(None);
            }
        }
        self.clear();
        match indices {
            Narrowed::Narrow(indices) => {
                let room = self.index.room(indices.len())?;
                room.extend(indices.iter().copied().map(f64::from));
            }
            Narrowed::Wide(indices) => {
                let room = self.index.room(indices.len())?;
                room.extend(indices.iter().map(|index| *index as f64));
            }
        }
        values.append(&mut self.value)?;
        self.add(part, number, [false; 2], out)
    }

    /// The same of such that 32 bits hold; false, and nothing added, where each is to be looked at, or one is no feature.
    #[inline]
    fn push_narrow(
        &self,
        part: &dyn FeatureKind,
        number: i64,
        (indices, values): (&[u32], &[f32]),
        out: &mut FeatureBuffer,
    ) -> Result<bool, FeatureError> {
        if part.hash_bits().is_some() || self.looks() {
            return Ok(false);
        }
        self.room(indices.len(), out)?;
        let (parts, number) = (self.parts as u64, number as u64);
        let id = |index| {
            let id = u64::from(index) * parts + number;
            (id as u32, id > i32::MAX as u64)
        };
        Ok(push_pairs((indices, values), id, |value| value, out))
    }

    /// Whether each pair is looked at.
    #[inline]
    fn looks(&self) -> bool {
        self.precision.as_ref().is_some_and(FeaturePrecision::looks)
    }

    /// Adds the pairs of the two arrays one by one, each looked at.
    fn push_each(
        &mut self,
        part: &dyn FeatureKind,
        number: i64,
        out: &mut FeatureBuffer,
    ) -> Result<(), FeatureError> {
        let mut precision = self.precision.as_mut().filter(|it| it.looks());
        for (index, value) in self.index.iter().zip(&self.value) {
            // NaN stands for a NULL index, as the column's type has none of its own
            if !index.is_nan() {
                let id = push_pair(part, (*index, *value), self.parts, number, out)?;
                if let Some(precision) = &mut precision {
                    precision.take(id, *value)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the pairs of the two arrays at the hashes of their indices, with a sign that the hash says too; values that meet add up.
    fn push_hashed(
        &mut self,
        part: &dyn FeatureKind,
        bits: u32,
        number: i64,
        out: &mut FeatureBuffer,
    ) -> Result<(), FeatureError> {
        self.hashed.clear();
        self.hashed.room(self.index.len())?;
        let mut met = self.met.get_mut(number as usize).and_then(Option::as_mut);
        for (index, value) in self.index.iter().zip(&self.value) {
            if index.is_nan() {
                continue;
            }
            let whole = *index as i64;
            if whole < 0 || whole as f64 != *index {
                return Err(no_index(part, *index));
            }
            if !(*value as f32).is_finite() {
                return Err(not_finite(part, *index, *value));
            }
            let hash = of_number(whole as u64);
            if let Some(met) = &mut met {
                met.add(hash)?;
            }
            let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
            self.hashed.push((hash & ((1 << bits) - 1), sign * value));
        }
        self.push_sums(part, number, out)
    }

    /// Adds the products of numbers at their hashes, likewise.
    pub fn products(
        &mut self,
        part: &dyn FeatureKind,
        number: i64,
        (numbers, degree, bits): (&[f64], u32, u32),
        out: &mut FeatureBuffer,
    ) -> Result<(), FeatureError> {
        self.hashed.clear();
        let (hashed, mut met) = (
            &mut self.hashed,
            self.met.get_mut(number as usize).and_then(Option::as_mut),
        );
        let mut patience = Patience::default();
        let taken = hashed_products(numbers, degree, |hash, value| {
            patience.tick();
            if let Some(met) = &mut met {
                met.add(hash)?;
            }
            let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
            hashed
                .room(1)?
                .push((hash & ((1 << bits) - 1), sign * value));
            Ok::<_, OutOfMemory>(())
        });
        let taken = taken.ok_or_else(|| FeatureError::TooManyMade {
            entry: part.name(),
            most: MOST_HASHED,
        })?;
        taken?;
        self.push_sums(part, number, out)
    }

    /// Adds what `hashed` holds; values of one feature add up.
    fn push_sums(
        &mut self,
        part: &dyn FeatureKind,
        number: i64,
        out: &mut FeatureBuffer,
    ) -> Result<(), FeatureError> {
        check_for_interrupts();
        self.hashed.sort_unstable_by_key(|(bucket, _)| *bucket);
        for same in self.hashed.chunk_by(|a, b| a.0 == b.0) {
            let sum: f64 = same.iter().map(|(_, value)| value).sum();
            push_pair(part, (same[0].0 as f64, sum), self.parts, number, out)?;
            check_pairs(out.sparse_index.len(), self.most)?;
        }
        Ok(())
    }

    /// Adds all pairs of the two arrays, for which there is room; false, and nothing added, where one of them is no feature, and
    /// where each is looked at.
    #[inline]
    fn push_all(&self, number: i64, out: &mut FeatureBuffer) -> bool {
        if self.looks() {
            return false;
        }
        let id = |index: f64| {
            // a cast clips what is too large, and the comparison then finds it out
            let whole = index as i32;
            let id = i64::from(whole) * self.parts + number;
            let bad = (whole < 0) | (f64::from(whole) != index) | (id > i64::from(i32::MAX));
            (id as u32, bad)
        };
        let pairs = (&self.index[..], &self.value[..]);
        out.rounded |= self.value.iter().any(|value| is_rounded(*value));
        push_pairs(pairs, id, |value| value as f32, out)
    }

    /// Forgets the pairs that were read last.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.index.clear();
        self.value.clear();
    }

    /// Reads a pair.
    #[inline(always)]
    pub(super) fn take(&mut self, index: f64, value: f64) -> Result<(), OutOfMemory> {
        if self.index.len() % PAIRS_AT_ONCE == PAIRS_AT_ONCE - 1 {
            check_for_interrupts();
        }
        self.index.room(1)?.push(index);
        self.value.room(1)?.push(value);
        Ok(())
    }

    /// Asks for room for so many indices and values at once.
    pub fn room(&self, more: usize, out: &mut FeatureBuffer) -> Result<(), FeatureError> {
        check_pairs(out.sparse_index.len().saturating_add(more), self.most)?;
        out.sparse_index.room(more)?;
        out.sparse_value.room(more)?;
        Ok(())
    }

    /// Adds one index and value of sparse part `number`.
    pub fn push(
        &self,
        part: &dyn FeatureKind,
        pair: (f64, f64),
        number: i64,
        out: &mut FeatureBuffer,
    ) -> Result<(), FeatureError> {
        push_pair(part, pair, self.parts, number, out).map(|_| ())
    }

    /// Adds the feature of a category's code, with its value.
    #[inline]
    pub fn code(
        &self,
        part: &dyn FeatureKind,
        (code, value): (u32, f32),
        out: &mut FeatureBuffer,
    ) -> Result<(), FeatureError> {
        let id = i64::from(code) * self.parts + self.parts - 1;
        if id > i64::from(i32::MAX) {
            return Err(FeatureError::TooManyCategories {
                column: part.name(),
            });
        }
        out.sparse_index.room(1)?.push(id as u32);
        out.sparse_value.room(1)?.push(value);
        Ok(())
    }

    /// The codes that categories may have, from 0 to this one, which is left out.
    pub fn codes(&self) -> u64 {
        (1u64 << 31) / self.parts.max(1) as u64
    }

    /// Brings the pairs of all parts into ascending order, where they are not; gives back an id that is there twice.
    pub fn sort(&mut self, out: &mut FeatureBuffer) -> Result<Option<u32>, OutOfMemory> {
        if out.sparse_index.is_sorted_by(|a, b| a < b) {
            return Ok(None);
        }
        self.pairs.clear();
        self.pairs.room(out.sparse_index.len())?;
        let pairs = out.sparse_index.iter().copied();
        self.pairs
            .extend(pairs.zip(out.sparse_value.iter().copied()));
        let mut patience = Patience::default();
        self.pairs.sort_unstable_by(|one, other| {
            patience.tick();
            one.0.cmp(&other.0)
        });
        if let Some(twice) = self.pairs.windows(2).find(|two| two[0].0 == two[1].0) {
            return Ok(Some(twice[0].0));
        }
        for (at, (index, value)) in self.pairs.iter().enumerate() {
            out.sparse_index[at] = *index;
            out.sparse_value[at] = *value;
        }
        Ok(None)
    }
}

/// Adds pairs, for which there is room, in loops without a branch; false, and nothing added, where one of them is no feature. `id`: the
/// feature of an index, and whether there is none.
#[inline(always)]
fn push_pairs<I: Copy, V: Copy>(
    (indices, values): (&[I], &[V]),
    id: impl Fn(I) -> (u32, bool),
    narrow: impl Fn(V) -> f32,
    out: &mut FeatureBuffer,
) -> bool {
    let start = out.sparse_index.len();
    let mut bad = false;
    for indices in indices.chunks(PAIRS_AT_ONCE) {
        check_for_interrupts();
        out.sparse_index.extend(indices.iter().map(|index| {
            let (id, is_none) = id(*index);
            bad |= is_none;
            id
        }));
    }
    for values in values.chunks(PAIRS_AT_ONCE) {
        check_for_interrupts();
        out.sparse_value.extend(values.iter().map(|value| {
            let value = narrow(*value);
            bad |= !value.is_finite();
            value
        }));
    }
    if bad {
        out.sparse_index.truncate(start);
        out.sparse_value.truncate(start);
    }
    !bad
}

/// Pairs taken between two looks for interrupts.
const PAIRS_AT_ONCE: usize = 1 << 16;

/// Adds one index and value of sparse part `number` of `parts`; gives back the feature's id. Inlined, since an error is many
/// times as large as an id and would be handed back through memory.
#[inline(always)]
fn push_pair(
    part: &dyn FeatureKind,
    (index, value): (f64, f64),
    parts: i64,
    number: i64,
    out: &mut FeatureBuffer,
) -> Result<u32, FeatureError> {
    // a cast clips what is too large, and the comparison then finds it out
    let whole = index as i64;
    let id = whole.saturating_mul(parts).saturating_add(number);
    if whole < 0 || whole as f64 != index || id > i64::from(i32::MAX) {
        return Err(no_index(part, index));
    }
    if !(value as f32).is_finite() {
        return Err(not_finite(part, index, value));
    }
    if out.sparse_index.len() % PAIRS_AT_ONCE == PAIRS_AT_ONCE - 1 {
        check_for_interrupts();
    }
    out.sparse_index.room(1)?.push(id as u32);
    out.sparse_value.room(1)?.push(value as f32);
    out.rounded |= is_rounded(value);
    Ok(id as u32)
}

/// Whether 32 bits do not hold a number.
pub fn is_rounded(value: f64) -> bool {
    f64::from(value as f32) != value
}

#[cold]
fn no_index(part: &dyn FeatureKind, index: f64) -> FeatureError {
    FeatureError::Index {
        part: part.name(),
        index,
    }
}

#[cold]
fn not_finite(part: &dyn FeatureKind, index: f64, value: f64) -> FeatureError {
    FeatureError::NotFinite {
        column: part.name(),
        element: Some(index as u64),
        value,
    }
}

/// Refuses a row of more pairs than may be.
pub(super) fn check_pairs(pairs: usize, most: usize) -> Result<(), FeatureError> {
    match pairs <= most {
        true => Ok(()),
        false => Err(FeatureError::LongRow {
            values: pairs.saturating_mul(2),
            most: most.saturating_mul(2),
        }),
    }
}
