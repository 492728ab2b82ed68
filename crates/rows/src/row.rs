//! The packed form of an example, the same in the arena, the spool, the ring and the working set.
//!
//! A row is a run of 32-bit words, padded to whole quads (16 bytes):
//!
//! | word | holds |
//! |---|---|
//! | 0 | ordinal |
//! | 1 | number s of sparse entries |
//! | 2 | group id |
//! | 3 | cost (f32) |
//! | 4 | Q = squared norm after scaling, without the intercept (f32) |
//! | 5 .. 5+d | dense part (f32) |
//! | .. 5+d+2s | sparse entries: feature id (dense part counted in), value (f32) |
//!
//! d is the same for every row of a job and stands in the control block.
//!
//! With the highest bit of word 1 set the row is [`crate::compact`]: what stands in the place of its entries is a string. With the next bit
//! set what stands in the place of its last entry is an offset, one number of 64 bits: what its score has beside <w, x>. A row
//! without one has the offset 0.

use pgsvm_base::words::as_floats;

pub const HEADER_WORDS: usize = 5;
/// Words rows are padded to.
pub const QUAD: usize = 4;

const ORDINAL: usize = 0;
const SPARSE: usize = 1;
const GROUP: usize = 2;
const COST: usize = 3;
const Q: usize = 4;

/// The bits of a Q of 1, and how many powers of two its last ones tell apart; a power's distance from the exponent of a 64-bit number, and
/// what that is multiplied by to become one.
const UNIT_Q: u32 = 1.0f32.to_bits();
const POWERS: i64 = 32;
const NO_POWER: i64 = 1023 + 1 - POWERS;
const EXPONENT: u64 = 1 << 52;

/// Set in the number of sparse entries where these words are a string.
const COMPACT: u32 = 1 << 31;

/// Set in the number of sparse entries where the last one's two words are an offset.
const OFFSET_BIT: u32 = 30;
const OFFSET: u32 = 1 << OFFSET_BIT;
/// The entries that there are places for.
const ENTRIES: u32 = OFFSET - 1;

/// Words of a row with this many dense and sparse values.
#[inline]
pub fn row_words(dense: usize, sparse: usize) -> usize {
    (HEADER_WORDS + dense + 2 * sparse).next_multiple_of(QUAD)
}

/// A row seen in place.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    words: &'a [u32],
    dense: usize,
}

impl<'a> Row<'a> {
    /// The row that starts at the beginning of `words`, which may go on behind it.
    #[inline(always)]
    pub fn new(words: &'a [u32], dense: usize) -> Self {
        let length = row_words(dense, (words[SPARSE] & ENTRIES) as usize);
        Self {
            words: &words[..length],
            dense,
        }
    }

    /// The same of words that may be anything: None where they are no row with its entries as they are, each of a feature behind the
    /// dense ones and below `features`, and of a group below `groups`.
    pub fn checked(words: &'a [u32], dense: usize, features: usize, groups: usize) -> Option<Self> {
        let sparse = *words.get(SPARSE)?;
        let without_entry = sparse & (OFFSET | ENTRIES) == OFFSET;
        if dense > words.len() || sparse & COMPACT != 0 || without_entry {
            return None;
        }
        let words = words.get(..row_words(dense, (sparse & ENTRIES) as usize))?;
        let row = Self { words, dense };
        let known = dense..features.max(dense);
        let mut entries = row.sparse().iter();
        let all_known = entries.all(|[feature, _]| known.contains(&(*feature as usize)));
        let known = all_known && row.offset().is_finite();
        (dense <= features && row.group() < groups && known).then_some(row)
    }

    #[inline(always)]
    pub fn ordinal(&self) -> usize {
        self.words[ORDINAL] as usize
    }

    #[inline(always)]
    pub fn group(&self) -> usize {
        self.words[GROUP] as usize
    }

    #[inline(always)]
    pub fn cost(&self) -> f32 {
        f32::from_bits(self.words[COST])
    }

    /// Squared norm, without the intercept.
    #[inline(always)]
    pub fn q(&self) -> f32 {
        f32::from_bits(self.words[Q])
    }

    /// By how much a row that was divided by its length may be off, as a vector, as [`unit_q`] has it. One of length 0 may have had any
    /// direction before it was rounded.
    #[inline(always)]
    pub fn unit_off(&self) -> f64 {
        match self.words[Q] {
            0 => 1.0,
            q => match q.wrapping_sub(UNIT_Q) {
                0 => 0.0,
                power => f64::from_bits((i64::from(power) + NO_POWER) as u64 * EXPONENT),
            },
        }
    }

    #[inline(always)]
    pub fn dense(&self) -> &'a [f32] {
        as_floats(&self.words[HEADER_WORDS..HEADER_WORDS + self.dense])
    }

    /// Pairs of feature id and value bits.
    #[inline(always)]
    pub fn sparse(&self) -> &'a [[u32; 2]] {
        let from = HEADER_WORDS + self.dense;
        let places = self.words[SPARSE] & (OFFSET | ENTRIES);
        let entries = (places & ENTRIES) - (places >> OFFSET_BIT);
        self.words[from..from + 2 * entries as usize]
            .as_chunks::<2>()
            .0
    }

    /// Whether it has an offset, be it 0.
    #[inline(always)]
    pub fn has_offset(&self) -> bool {
        self.words[SPARSE] & OFFSET != 0
    }

    /// What its score has beside <w, x>.
    #[inline(always)]
    pub fn offset(&self) -> f64 {
        if !self.has_offset() {
            return 0.0;
        }
        match *offset_place(self.words, self.dense) {
            [low, high] => f64::from_bits(u64::from(high) << 32 | u64::from(low)),
        }
    }

    /// Whether the place of its entries holds a string, of which they are made when it is visited.
    #[inline(always)]
    pub fn is_compact(&self) -> bool {
        self.words[SPARSE] & COMPACT != 0
    }

    /// The words of that string.
    pub(crate) fn string(&self) -> &'a [u32] {
        let from = HEADER_WORDS + self.dense;
        &self.words[from..from + 2 * (self.words[SPARSE] & ENTRIES) as usize]
    }

    /// Values of the row when it is visited, by which work is measured.
    #[inline(always)]
    pub fn visited_values(&self) -> usize {
        match self.is_compact() {
            false => self.values(),
            true => crate::compact::visited_words(self),
        }
    }

    /// The whole row, padding included.
    #[inline(always)]
    pub fn words(&self) -> &'a [u32] {
        self.words
    }

    /// Stored values, by which work is measured.
    #[inline(always)]
    pub fn values(&self) -> usize {
        self.words.len()
    }
}

/// A number for what a row holds, whatever its own number is; the same in every process. Rows that differ have the same one about
/// as often as chance has it.
///
/// Sums of products of pairs of words, each word with a number of its place added: the NH of Black, Halevi, Krawczyk, Krovetz,
/// Rogaway, UMAC, CRYPTO 1999.
#[inline(always)]
pub fn digest(row: &Row<'_>) -> u64 {
    let words = &row.words()[SPARSE..];
    let (pairs, rest) = words.as_chunks::<2>();
    let mut sum = 0u64;
    for (place, [a, b]) in pairs.iter().enumerate() {
        sum = sum.wrapping_add(product(*a, *b, place as u32));
    }
    for word in rest {
        sum = sum.wrapping_add(product(*word, 0, u32::MAX));
    }
    // sums of sums would tell fewer rows apart
    let mixed = (sum ^ (sum >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

#[inline(always)]
fn product(a: u32, b: u32, place: u32) -> u64 {
    let own = |word: u32, by: u32| u64::from(word.wrapping_add(place.wrapping_mul(by) ^ by));
    own(a, 0x9e37_79b1).wrapping_mul(own(b, 0x85eb_ca77))
}

/// Where the offset of a row that has one stands.
#[inline(always)]
fn offset_place(words: &[u32], dense: usize) -> &[u32; 2] {
    let entries = (words[SPARSE] & ENTRIES) as usize;
    let behind = HEADER_WORDS + dense + 2 * entries;
    // a row says that it has one only where it has at least its place
    words[..behind].last_chunk().unwrap_or(&[0; 2])
}

/// The sparse entries of a row with this many dense values as far as these words of it go, its padding perhaps taken
/// for one more.
#[inline(always)]
pub fn entries_within(words: &[u32], dense: usize) -> &[[u32; 2]] {
    let from = (HEADER_WORDS + dense).min(words.len());
    words[from..].as_chunks::<2>().0
}

/// What goes into a row besides its features.
#[derive(Clone, Copy)]
pub struct RowHead {
    pub ordinal: u32,
    pub group: u32,
    pub cost: f32,
    /// None takes no place.
    pub offset: Option<f64>,
}

impl RowHead {
    /// Words of a row with this many dense and sparse values.
    pub fn row_words(&self, dense: usize, sparse: usize) -> usize {
        row_words(dense, sparse + usize::from(self.offset.is_some()))
    }
}

/// Writes a row but for its dense part, which is given back to be filled, into `out`: exactly
/// [`RowHead::row_words`] words. Q stays 0 until the row is scaled.
#[inline]
pub fn write(
    out: &mut [u32],
    head: RowHead,
    dense: usize,
    sparse: impl ExactSizeIterator<Item = (u32, f32)>,
) -> &mut [u32] {
    out[ORDINAL] = head.ordinal;
    out[SPARSE] = sparse.len() as u32;
    out[GROUP] = head.group;
    out[COST] = head.cost.to_bits();
    out[Q] = 0;
    let mut at = HEADER_WORDS + dense;
    for (index, value) in sparse {
        out[at] = index;
        out[at + 1] = value.to_bits();
        at += 2;
    }
    if let Some(offset) = head.offset {
        out[SPARSE] = (out[SPARSE] + 1) | OFFSET;
        out[at..at + 2].copy_from_slice(&halves(offset));
        at += 2;
    }
    out[at..].fill(0);
    &mut out[HEADER_WORDS..HEADER_WORDS + dense]
}

/// The two words of a number of 64 bits.
fn halves(number: f64) -> [u32; 2] {
    let bits = number.to_bits();
    [bits as u32, (bits >> 32) as u32]
}

/// Puts another offset in the place of that of a row that has one.
pub fn change_offset(words: &mut [u32], dense: usize, change: impl FnOnce(f64, u32) -> f64) {
    let row = Row::new(words, dense);
    if !row.has_offset() {
        return;
    }
    let changed = change(row.offset(), words[GROUP]);
    let behind = HEADER_WORDS + dense + 2 * (words[SPARSE] & ENTRIES) as usize;
    words[behind - 2..behind].copy_from_slice(&halves(changed));
}

/// Writes a compact row, which has no offset, but for its dense part, which is given back to be filled: exactly
/// `row_words(dense, string.len() / 2)` words. Q stays 0 until the row is scaled.
pub fn write_compact<'a>(
    out: &'a mut [u32],
    head: RowHead,
    dense: usize,
    string: &[u32],
) -> &'a mut [u32] {
    let pairs = string.as_chunks::<2>().0;
    let pairs = pairs
        .iter()
        .map(|[first, second]| (*first, f32::from_bits(*second)));
    write(out, head, dense, pairs);
    out[SPARSE] |= COMPACT;
    &mut out[HEADER_WORDS..HEADER_WORDS + dense]
}

/// Writes head and dense part of a compact row for one with so many entries, whose place is given back.
pub(crate) fn begin_visited<'a>(
    stored: &Row<'_>,
    entries: usize,
    out: &'a mut [u32],
) -> &'a mut [[u32; 2]] {
    let from = HEADER_WORDS + stored.dense;
    out[..from].copy_from_slice(&stored.words[..from]);
    out[SPARSE] = entries as u32;
    let (place, padding) = out[from..].split_at_mut(2 * entries);
    padding.fill(0);
    place.as_chunks_mut::<2>().0
}

/// Q of a row of length 1 that may be off by so much, as a vector: 1, but its last bits say by which power of two from 2^-30 to 2. Whoever
/// steps by it steps by a few millionths less.
#[inline(always)]
pub fn unit_q(off: f64) -> f32 {
    if off == 0.0 {
        return 1.0;
    }
    let exponent = off.to_bits().div_ceil(EXPONENT);
    let power = (exponent as i64 - NO_POWER).clamp(1, POWERS);
    f32::from_bits(UNIT_Q + power as u32)
}

/// Multiplies a row's cost by the factor of its group; it stays positive and finite.
#[inline(always)]
pub fn multiply_cost(words: &mut [u32], factors: &[f32]) {
    let cost = f32::from_bits(words[COST]) * factors[words[GROUP] as usize];
    words[COST] = cost.clamp(f32::MIN_POSITIVE, f32::MAX).to_bits();
}

/// Puts a row into another group.
pub fn rename_group(words: &mut [u32], renamed: impl Fn(u32) -> u32) {
    words[GROUP] = renamed(words[GROUP]);
}

/// Adds these numbers to the dense values of a row; none to add nothing.
pub fn shift_dense(words: &mut [u32], shift: &[f64]) {
    for (bits, shift) in words[HEADER_WORDS..].iter_mut().zip(shift) {
        *bits = ((f64::from(f32::from_bits(*bits)) + shift) as f32).to_bits();
    }
}

/// The dense values and sparse entries of a row being scaled in place, and where its Q goes.
#[inline]
pub fn parts_mut(words: &mut [u32], dense: usize) -> (&mut u32, &mut [u32], &mut [[u32; 2]]) {
    // a string has no entries to be scaled
    let sparse = match words[SPARSE] & COMPACT {
        0 => Row::new(words, dense).sparse().len(),
        _ => 0,
    };
    let (head, rest) = words.split_at_mut(HEADER_WORDS);
    let (dense, rest) = rest.split_at_mut(dense);
    (
        &mut head[Q],
        dense,
        rest[..2 * sparse].as_chunks_mut::<2>().0,
    )
}
/// The values of a row that are not 0, by feature.
#[inline(always)]
pub fn entries<'a>(row: &Row<'a>) -> impl Iterator<Item = (usize, f64)> + 'a {
    let dense = row.dense().iter().enumerate();
    let dense = dense.map(|(j, x)| (j, f64::from(*x)));
    let sparse = row.sparse().iter();
    let sparse = sparse.map(|&[j, bits]| (j as usize, f64::from(f32::from_bits(bits))));
    dense.chain(sparse).filter(|(_, x)| *x != 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_length_1_is_off_by_the_next_power_of_two() {
        let off = |off: f64| {
            let mut words = [0; 8];
            words[Q] = unit_q(off).to_bits();
            assert!((Row::new(&words, 0).q() - 1.0).abs() < 4e-6);
            Row::new(&words, 0).unit_off()
        };
        for power in -30..=1 {
            let exact = 2f64.powi(power);
            assert_eq!(off(exact), exact);
            assert_eq!(off(0.7 * exact), exact);
        }
        assert_eq!((off(0.0), off(1e-20)), (0.0, 2f64.powi(-30)));
        assert_eq!(Row::new(&[0; 8], 0).unit_off(), 1.0);
    }
}
