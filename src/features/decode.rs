//! Decodes rows: from PostgreSQL's values to the numbers of an example. Called once per row by the
//! reader and by predictions on rows, in whichever process they run.
//!
//! A row costs no allocation once the buffers have grown, but for the texts of integers that are
//! categories, and no call into the server except to detoast a compressed or out-of-line value, whose
//! copy is freed before `decode` returns, and for the label of an enum value that was not met before.
//! The caller need not reset a memory context for our sake.

use super::buffer::{FeatureBuffer, Nulls};
use super::by_name::ByName;
use super::error::FeatureError;
use super::kept::{KeptPairs, KeptRow, WantedParts};
use super::kinds::category::dictionary::CategoryLimits;
use super::kinds::category::one_hot::OneHot;
use super::kinds::made::MadeReader;
use super::kinds::number::columns;
use super::kinds::pairs::SparseScratch;
use super::kinds::text::reader::TextReader;
use super::kinds::{ArrayPart, FeaturePart, NumberPart, ProductsPart};
use super::part::Part;
use super::precision::FeaturePrecision;
use super::read_text::ReadText;
use super::row::{Decoded, Null, RowValues};
use super::set::FeatureSet;
use crate::pg::query::Column;
use crate::pg::varlena::Varlena;
use crate::pg::word::unpadded;
use crate::pg::Patience;
use pgrx::pg_sys;
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_expand::KeptWords;

/// The sign of an f64, and the lowest bit of its exponent, all of whose bits are set in infinite values and NaN.
const SIGN: u64 = 1 << 63;
const EXPONENT_ONE: u64 = 1 << 52;

/// Turns rows of one shape into features.
pub struct Decoder {
    features: FeatureSet,
    parts: Vec<Part>,
    /// Number of columns in a row.
    width: usize,
    nulls: Nulls,
    sparse: SparseScratch,
    one_hot: OneHot,
    texts: TextReader,
    made: Vec<MadeReader>,
    /// Most values of a row.
    most: usize,
    /// Whether rows teach what is learned of them.
    learns: bool,
    /// Whether texts are read as numbers, which may count as NULL.
    parses: bool,
}

impl Decoder {
    /// Prepares for rows with these `columns`, in which each column of `features` is found by name.
    /// Types may differ from those of the training as long as they are numbers where it had numbers,
    /// times where it had times and categories where it had categories.
    pub fn new(
        features: &FeatureSet,
        columns: &[Column],
        nulls: Nulls,
    ) -> Result<Self, FeatureError> {
        let by_name = ByName::new(columns)?;
        let (mut parts, mut made) = (Vec::new(), Vec::new());
        for part in &features.parts {
            let part = match part.made_reader(&by_name)? {
                Some(reader) => {
                    made.room(1)?.push(reader);
                    match part.is_dense() {
                        true => Part::Made(made.len() - 1),
                        false => Part::Products(made.len() - 1),
                    }
                }
                None => part.place(&by_name)?,
            };
            parts.room(1)?;
            let joined = parts
                .last_mut()
                .is_some_and(|last: &mut Part| last.join(&part));
            if !joined {
                parts.push(part);
            }
        }
        let parses = parts.iter().any(|part| matches!(part, Part::Parsed { .. }));
        Ok(Self {
            sparse: SparseScratch::new(features.sparse_parts()),
            one_hot: OneHot::new(features.parts.len())?,
            texts: TextReader::default(),
            made,
            features: features.copied()?,
            parts,
            width: columns.len(),
            nulls,
            most: usize::MAX,
            learns: true,
            parses,
        })
    }

    /// The same for the rows of a training, which learns categories from them. With `Nulls::Mean` a
    /// dense feature that is NULL decodes to NaN then, as its mean is not known yet.
    pub fn learning(
        features: &FeatureSet,
        columns: &[Column],
        nulls: Nulls,
        limits: CategoryLimits,
    ) -> Result<Self, FeatureError> {
        let mut decoder = Self::new(features, columns, nulls)?;
        for part in &mut decoder.features.parts {
            if let Some(reading) = part.reading_mut() {
                let thousands = reading.thousands.take();
                *reading = ReadText {
                    thousands,
                    ..ReadText::new(reading.by)
                };
            }
        }
        let end = decoder.sparse.codes();
        decoder.one_hot.learn(features, limits, end)?;
        for part in features.lone_sparse_parts() {
            decoder.sparse.learn(part.hash_bits())?;
        }
        decoder.sparse.precision = (decoder.sparse.count() > 0).then(FeaturePrecision::default);
        Ok(decoder)
    }

    /// The same for rows of so many values at most, where dense ones count one and sparse ones two: longer rows are refused
    /// before they take memory.
    pub fn with_rows_up_to(mut self, most: usize) -> Self {
        self.most = most;
        self.sparse.most = most / 2;
        self
    }

    /// Takes over the words of texts that a pass over the rows has kept, by part.
    pub fn keep(&mut self, kept: Vec<(usize, KeptWords)>) {
        self.texts.kept = kept;
    }

    /// The next row is the `number`-th of those that were read then, from 0.
    #[inline]
    pub fn at_row(&mut self, number: u64) {
        self.texts.row = number;
    }

    /// The features, with the array lengths and the categories that the rows so far have shown.
    pub fn learned(&self) -> &FeatureSet {
        &self.features
    }

    /// Notes in a copy of the features how many of what was hashed meet.
    pub fn note_collisions(&self, features: &mut FeatureSet) -> Result<(), OutOfMemory> {
        let mut sparse = self.sparse.collisions();
        for (number, part) in features.parts.iter_mut().enumerate() {
            if let Some(category) = part.as_one_mut() {
                self.one_hot.note_collisions(category, number)?;
            } else if !part.is_dense() {
                part.note_collisions(sparse.next().flatten());
            }
        }
        Ok(())
    }

    /// Takes the lengths of arrays over that others have found.
    pub fn know(&mut self, features: FeatureSet) {
        self.features = features;
    }

    /// The sparse features whose values lose more of their digits in 32 bits than their spread bears, by sparse id.
    pub fn imprecise(&self) -> impl Iterator<Item = u32> + '_ {
        let precision = self.sparse.precision.iter();
        precision.flat_map(FeaturePrecision::imprecise)
    }

    /// What it wants of kept rows: not the words of texts that it has from an earlier pass.
    pub fn wanted(&self) -> Result<WantedParts, OutOfMemory> {
        let has_words = |number| self.texts.kept.iter().any(|(of, _)| *of == number);
        WantedParts::of(self.parts.iter().copied(), has_words)
    }

    /// Bytes it takes, about.
    pub fn bytes(&self) -> usize {
        self.features.bytes() + self.parts.len() * size_of::<Part>()
    }

    /// Refuses category columns that look like keys, once a training's last row was decoded; `excluded` are left out already.
    pub fn check_keys(&self, excluded: &[String]) -> Result<(), FeatureError> {
        self.one_hot.check_keys(&self.features, excluded)
    }

    /// Has `decode` decode a row of which nothing is learned: it may be one that is left out.
    pub fn without_learning(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<(), FeatureError>,
    ) -> Result<(), FeatureError> {
        if !self.one_hot.is_learning() {
            return Ok(());
        }
        self.learns = false;
        let decoded = decode(self);
        self.learns = true;
        self.one_hot.row_teaches(true);
        decoded
    }

    /// Decodes one row into `out`, whose former content is lost. NULLs are noted in
    /// `out.null_parts`; what follows from them is the caller's to decide.
    ///
    /// # Safety
    /// `values` and `nulls` are a row with the columns given to `new`: valid values of those types
    /// wherever not NULL, for the duration of the call.
    pub unsafe fn decode(
        &mut self,
        values: &[pg_sys::Datum],
        nulls: &[bool],
        out: &mut FeatureBuffer,
    ) -> Result<(), FeatureError> {
        // SAFETY: as the caller promises.
        unsafe { self.decode_with(values, nulls, None, out) }
            .map_err(|error| self.features.paired(error))
    }

    /// The same of a row whose numbers were kept.
    ///
    /// # Safety
    /// As for `decode`.
    pub unsafe fn decode_kept(
        &mut self,
        values: &[pg_sys::Datum],
        nulls: &[bool],
        kept: KeptRow<'_>,
        out: &mut FeatureBuffer,
    ) -> Result<(), FeatureError> {
        // SAFETY: as the caller promises.
        unsafe { self.decode_with(values, nulls, Some(kept), out) }
            .map_err(|error| self.features.paired(error))
    }

    /// # Safety
    /// As for `decode`.
    #[inline(always)]
    unsafe fn decode_with(
        &mut self,
        values: &[pg_sys::Datum],
        nulls: &[bool],
        kept: Option<KeptRow<'_>>,
        out: &mut FeatureBuffer,
    ) -> Result<(), FeatureError> {
        assert!(values.len() >= self.width && nulls.len() >= self.width);
        out.clear();
        let row = RowValues { values, nulls };
        self.begin_row(&row);
        let (mut number, mut sparse_part) = (0, 0);
        let (nulls, limits) = (self.nulls, (self.nulls, self.most));
        for place in 0..self.parts.len() {
            let part = &mut self.features.parts[number];
            let sparse = (&mut self.sparse, &mut *out);
            // SAFETY: the row is as the caller promises, and each part has the type of its column.
            let null = unsafe {
                match (self.parts[place], &kept) {
                    (Part::Columns { at, count, kind }, kept) => {
                        match kept {
                            None => columns(number, &row, at..at + count, kind, out)?,
                            Some(kept) => kept.append(place, &mut out.dense)?,
                        }
                        number += count;
                        continue;
                    }
                    (Part::Array { .. } | Part::Vector { .. }, Some(kept)) => {
                        let part: &mut ArrayPart = part.placed();
                        part.take_kept(kept, place, self.most, &mut out.dense)?;
                        None
                    }
                    (Part::Parsed { at, padded }, _) => {
                        let part: &mut NumberPart = part.placed();
                        part.parse(&row, (at, padded), self.one_hot.teaches(), out)?
                    }
                    (Part::Made(reader), _) => {
                        let part: &mut ArrayPart = part.placed();
                        part.make(&mut self.made[reader], &row, limits, out)?
                    }
                    (Part::Array { at, kind }, _) => {
                        let part: &mut ArrayPart = part.placed();
                        part.decode(&row, (at, kind), limits, out)?
                    }
                    (Part::Vector { at, half }, _) => {
                        let part: &mut ArrayPart = part.placed();
                        part.decode_vector(&row, (at, half), nulls, out)?
                    }
                    (
                        at @ (Part::Sparse { .. } | Part::Libsvm { .. } | Part::Sparsevec { .. }),
                        kept,
                    ) => {
                        sparse_part += 1;
                        let kept = kept.as_ref().and_then(|kept| kept.pairs(place));
                        pairs((part, sparse_part - 1), at, kept, &row, sparse)?
                    }
                    (Part::Text { at, kind }, kept) => {
                        sparse_part += 1;
                        let numbers = (number, sparse_part - 1);
                        let kept = kept.as_ref().and_then(|kept| kept.words(place));
                        let from = (&row, at, kind, kept);
                        let to = (&self.sparse, &mut *out);
                        self.texts.decode(part.placed(), numbers, from, to)?
                    }
                    (Part::Category { at, kind }, _) => {
                        let part = (part.placed(), number);
                        self.one_hot.decode(part, &row, (at, kind), nulls, sparse)?
                    }
                    (Part::Crossed { first, second }, _) => {
                        let part = (part.placed(), number);
                        self.one_hot
                            .decode_pair(part, &row, [first, second], nulls, sparse)?
                    }
                    (
                        Part::Weighted {
                            category,
                            number: by,
                        },
                        _,
                    ) => {
                        let part = (part.placed(), number);
                        self.one_hot
                            .decode_weighted(part, &row, (category, by), nulls, sparse)?
                    }
                    (Part::Products(reader), _) => {
                        sparse_part += 1;
                        let part: &mut ProductsPart = part.placed();
                        part.decode(&mut self.made[reader], &row, sparse_part - 1, sparse)?
                    }
                }
            };
            if null.is_some() {
                out.null_parts.room(1)?.push(number);
            }
            number += 1;
        }
        self.end_row(out)
    }

    #[inline(always)]
    fn begin_row(&mut self, row: &RowValues<'_>) {
        if let Some(precision) = &mut self.sparse.precision {
            precision.begin_row();
        }
        if !self.learns {
            self.one_hot.row_teaches(false);
        } else if self.nulls == Nulls::Skip {
            // a row that will be left out leaves no categories behind
            let left_out = self.parses || row.nulls[..self.width].contains(&true);
            self.one_hot.row_teaches(!left_out || !self.lacks(row));
        }
    }

    /// What can be done once all parts are there.
    #[inline(always)]
    fn end_row(&mut self, out: &mut FeatureBuffer) -> Result<(), FeatureError> {
        self.check_dense(out)?;
        if !out.missing.is_empty() && self.nulls == Nulls::Mean {
            self.fill(out);
        }
        if !out.sparse_index.is_empty() {
            if let Some(twice) = self.sparse.sort(out)? {
                return Err(self.features.duplicate(twice));
            }
        }
        Ok(())
    }

    /// Whether a part that counts is NULL.
    #[cold]
    fn lacks(&self, row: &RowValues<'_>) -> bool {
        let mut number = 0;
        self.parts.iter().any(|part| {
            let first = number;
            number += part.count();
            match part {
                Part::Parsed { at, padded } => {
                    row.nulls[*at] || !self.says_something(first, row.values[*at], *padded)
                }
                Part::Made(reader) | Part::Products(reader) => self.made[*reader].lacks(row),
                _ => part.columns().any(|at| row.nulls[at]) && !self.is_left_out(first),
            }
        })
    }

    /// Whether a text in part `number` is a number or a time.
    fn says_something(&self, number: usize, datum: pg_sys::Datum, padded: bool) -> bool {
        let Some(reading) = self.features.parts[number].reading() else {
            return true;
        };
        // SAFETY: a text that is not NULL, of the row at hand.
        let text = unsafe { Varlena::open(datum) };
        let text = core::str::from_utf8(unpadded(text.payload(), padded));
        text.is_ok_and(|text| reading.by.read(text).is_some())
    }

    /// Whether all values of part `number` so far were such that training leaves the column out.
    pub fn is_left_out(&self, number: usize) -> bool {
        let known = self.features.parts[number].dictionary();
        known.is_some_and(|known| self.one_hot.only_uuids(known, number))
    }

    /// Whether part `number` is a category column that was NULL in all rows, where that is a category.
    pub fn is_only_null(&self, number: usize) -> bool {
        let known = self.features.parts[number].dictionary();
        known.is_some_and(|known| self.one_hot.only_null(known, number))
    }

    /// Whether part `number` is a category column whose values differ from row to row.
    pub fn are_different(&self, number: usize) -> bool {
        let part = &self.features.parts[number];
        let known = part.dictionary().filter(|_| part.crossed().is_none());
        known.is_some_and(|known| self.one_hot.are_different(known, number))
    }

    /// Puts in what stands for missing dense values.
    #[cold]
    fn fill(&self, out: &mut FeatureBuffer) {
        let mut patience = Patience::default();
        for at in &out.missing {
            patience.tick();
            out.dense[*at] = match self.one_hot.is_learning() {
                true => f64::NAN,
                false => self.features.means.get(*at).copied().unwrap_or(0.0),
            };
        }
    }

    /// One look over all dense values; only when one is not finite its column is searched for.
    #[inline]
    fn check_dense(&self, out: &FeatureBuffer) -> Result<(), FeatureError> {
        // an exponent of ones, and no other, carries into the sign
        let carried = |x: &f64| (x.to_bits() & !SIGN) + EXPONENT_ONE;
        let bad = out.dense.iter().fold(0, |bad, x| bad | carried(x)) & SIGN;
        match bad {
            0 => Ok(()),
            _ => Err(not_finite(&self.features, &out.dense)),
        }
    }
}

/// Names the first dense value that is not finite; `dense` may lack arrays of unknown length.
#[cold]
pub(crate) fn not_finite(features: &FeatureSet, dense: &[f64]) -> FeatureError {
    for (part, places) in features.dense_places() {
        let values = &dense[places.start.min(dense.len())..places.end.min(dense.len())];
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return FeatureError::NotFinite {
                column: part.column().to_owned(),
                element: (!part.is_one_value()).then_some(at as u64 + 1),
                value: values[at],
            };
        }
    }
    FeatureError::NotFinite {
        column: String::new(),
        element: None,
        value: f64::NAN,
    }
}

/// Decodes the pairs of the part that is the sparse one of this number; what is kept of it, where it is kept.
///
/// # Safety
/// As for `Decoder::decode`; the part stands at this place.
#[inline(always)]
unsafe fn pairs(
    (part, number): (&FeaturePart, i64),
    place: Part,
    kept: Option<KeptPairs<'_>>,
    row: &RowValues<'_>,
    (sparse, out): (&mut SparseScratch, &mut FeatureBuffer),
) -> Decoded {
    if let Some(pairs) = kept {
        return sparse.add_kept(&**part, number, &pairs, out);
    }
    // SAFETY: as the caller promises.
    match unsafe { part.read_pairs(place, row, sparse) }? {
        None => Ok(Some(Null)),
        Some(nulls) => sparse.add(&**part, number, nulls, out),
    }
}
