//! Decodes rows: from PostgreSQL's values to the numbers of an example. Called once per row by the
//! reader and by predictions on rows, in whichever process they run.
//!
//! A row costs no allocation once the buffers have grown, but for the texts of integers that are
//! categories, and no call into the server except to detoast a compressed or out-of-line value, whose
//! copy is freed before `decode` returns, and for the label of an enum value that was not met before.
//! The caller need not reset a memory context for our sake.

use super::buffer::{FeatureBuffer, Nulls};
use super::by_name::ByName;
use super::category::CategoryLimits;
use super::dense::columns;
use super::error::{utf8, FeatureError};
use super::kept::{KeptPairs, KeptRow};
use super::kinds::{ArrayPart, NumberPart, ProductsPart, TextPart};
use super::made::{make, MadeReader};
use super::one_hot::OneHot;
use super::part::Part;
use super::precision::Precision;
use super::read_text::ReadText;
use super::row::{Decoded, Null, RowValues};
use super::set::FeatureSet;
use super::sparse::{is_rounded, SparseScratch};
use super::text::{unpadded, TextReader};
use crate::pg::array::{ArrayProblem, NumberArray};
use crate::pg::prefetch;
use crate::pg::query::Column;
use crate::pg::types::{CategoryKind, NumberKind};
use crate::pg::varlena::Varlena;
use crate::pg::{grow, Patience};
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
            let part = match MadeReader::new(part, &by_name)? {
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
                *reading = ReadText::new(reading.by);
            }
        }
        let end = decoder.sparse.codes();
        decoder.one_hot.learn(features, limits, end);
        decoder.sparse.learn(features)?;
        decoder.sparse.precision = (decoder.sparse.count() > 0).then(Precision::default);
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

    /// The next row is the `number`-th of those that were gone over then, from 0.
    #[inline]
    pub fn at_row(&mut self, number: u64) {
        self.texts.row = number;
    }

    /// The features, with the array lengths and the categories that the rows so far have told.
    pub fn learned(&self) -> &FeatureSet {
        &self.features
    }

    /// Notes in a copy of the features how many of what was hashed meet.
    pub fn note_collisions(&self, features: &mut FeatureSet) -> Result<(), OutOfMemory> {
        let mut sparse = self.sparse.collisions();
        for (number, part) in features.parts.iter_mut().enumerate() {
            match part {
                part if part.dictionary().is_some() => {
                    self.one_hot.note_collisions(part, number)?;
                }
                part if part.is_dense() => {}
                part => part.note_collisions(sparse.next().flatten()),
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
        precision.flat_map(Precision::imprecise)
    }

    /// Where its parts stand in a row, in their order.
    pub(super) fn places(&self) -> &[Part] {
        &self.parts
    }

    /// Whether it has the words of text part `number` from an earlier pass.
    pub(super) fn has_words(&self, number: usize) -> bool {
        self.texts.kept.iter().any(|(of, _)| *of == number)
    }

    /// Most values of a row.
    pub(super) fn most(&self) -> usize {
        self.most
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
        for place in 0..self.parts.len() {
            let part = self.parts[place];
            // SAFETY: the row is as the caller promises, and each part has the type of its column.
            let null = unsafe {
                match (part, &kept) {
                    (Part::Columns { at, count, kind }, kept) => {
                        match kept {
                            None => columns(number, &row, at..at + count, kind, out)?,
                            Some(kept) => kept.append(place, &mut out.dense)?,
                        }
                        number += count;
                        continue;
                    }
                    (Part::Array { .. } | Part::Vector { .. }, Some(kept)) => {
                        self.kept_array(number, place, kept, &mut out.dense)?;
                        number += 1;
                        continue;
                    }
                    (Part::Parsed { at, padded }, _) => {
                        self.parsed(number, &row, (at, padded), out)?
                    }
                    (Part::Made(reader), _) => self.make(number, &row, reader, out)?,
                    (Part::Array { at, kind }, _) => self.array(number, &row, at, kind, out)?,
                    (Part::Vector { at, half }, _) => self.vector(number, &row, at, half, out)?,
                    (Part::Sparse { .. } | Part::Libsvm { .. } | Part::Sparsevec { .. }, kept) => {
                        sparse_part += 1;
                        let kept = kept.as_ref().and_then(|kept| kept.pairs(place));
                        self.sparse(part, (number, sparse_part - 1), kept, &row, out)?
                    }
                    (Part::Text { at, kind }, kept) => {
                        sparse_part += 1;
                        let part: &TextPart = self.features.parts[number].placed();
                        let out = (&self.sparse, &mut *out);
                        let numbers = (number, sparse_part - 1);
                        let kept = kept.as_ref().and_then(|kept| kept.words(place));
                        let from = (&row, at, kind, kept);
                        self.texts.decode(part, numbers, from, out)?
                    }
                    (Part::Crossed { first, second }, _) => {
                        self.crossed(number, &row, first, second, out)?
                    }
                    (Part::Category { at, kind }, _) => {
                        self.category(number, &row, at, kind, out)?
                    }
                    (
                        Part::Weighted {
                            category,
                            number: by,
                        },
                        _,
                    ) => self.weighted(number, &row, category, by, out)?,
                    (Part::Products(reader), _) => {
                        sparse_part += 1;
                        self.products((number, sparse_part - 1), &row, reader, out)?
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
            self.sparse.sort(&self.features, out)?;
        }
        Ok(())
    }

    /// Decodes part `number`, of the sparse ones `sparse_part`; what is kept of it, where it is kept.
    ///
    /// # Safety
    /// As for `decode`; the part is a sparse one.
    #[inline(always)]
    unsafe fn sparse(
        &mut self,
        place: Part,
        (number, sparse_part): (usize, i64),
        kept: Option<KeptPairs<'_>>,
        row: &RowValues<'_>,
        out: &mut FeatureBuffer,
    ) -> Decoded {
        let (part, sparse) = (&self.features.parts[number], &mut self.sparse);
        if let Some(pairs) = kept {
            return sparse.add_kept(&**part, sparse_part, &pairs, out);
        }
        // SAFETY: as the caller promises.
        match unsafe { sparse.read(part, place, row) }? {
            None => Ok(Some(Null)),
            Some(nulls) => sparse.add(&**part, sparse_part, nulls, out),
        }
    }

    /// Whether a part that counts is NULL.
    #[cold]
    fn lacks(&self, row: &RowValues<'_>) -> bool {
        let mut number = 0;
        self.parts.iter().any(|part| {
            let first = number;
            let columns = match part {
                Part::Columns { at, count, .. } => *at..*at + *count,
                Part::Array { at, .. }
                | Part::Vector { at, .. }
                | Part::Libsvm { at }
                | Part::Sparsevec { at }
                | Part::Category { at, .. }
                | Part::Text { at, .. } => *at..*at + 1,
                Part::Parsed { at, padded } => {
                    number += 1;
                    return row.nulls[*at] || !self.says_something(first, row.values[*at], *padded);
                }
                Part::Crossed { first, second } => {
                    number += 1;
                    return row.nulls[first.0] || row.nulls[second.0];
                }
                Part::Weighted {
                    category,
                    number: by,
                } => {
                    number += 1;
                    return row.nulls[category.0] || row.nulls[by.0];
                }
                Part::Made(reader) | Part::Products(reader) => {
                    number += 1;
                    return self.made[*reader].lacks(row);
                }
                Part::Sparse { index, value } => {
                    number += 1;
                    return row.nulls[index.0] || row.nulls[value.0];
                }
            };
            number += columns.len();
            row.nulls[columns].contains(&true) && !self.is_left_out(first)
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
        self.one_hot
            .only_uuids(&self.features.parts[number], number)
    }

    /// Whether part `number` is a category column that was NULL in all rows, where that is a category.
    pub fn is_only_null(&self, number: usize) -> bool {
        self.one_hot.only_null(&self.features.parts[number], number)
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

    /// The text in column `at` as number `number`; one that says nothing counts as NULL.
    ///
    /// # Safety
    /// As for `decode`; the column is text, of `char(n)` where `padded`.
    unsafe fn parsed(
        &mut self,
        number: usize,
        row: &RowValues<'_>,
        (at, padded): (usize, bool),
        out: &mut FeatureBuffer,
    ) -> Decoded {
        let NumberPart {
            name,
            reading: Some(reading),
            ..
        } = self.features.parts[number].placed()
        else {
            unreachable!("a text that nobody reads");
        };
        let mut value = None;
        if !row.nulls[at] {
            // SAFETY: as the caller promises; the value stays in place until it has been read.
            let text = unsafe { Varlena::open(row.values[at]) };
            let text = utf8(name, unpadded(text.payload(), padded))?;
            value = reading.by.read(text);
            if value.is_none() && self.one_hot.teaches() {
                reading.note(text)?;
            }
        }
        if value.is_none() {
            out.missing.room(1)?.push(out.dense.len());
        }
        out.dense.room(1)?.push(value.unwrap_or(0.0));
        Ok(value.is_none().then_some(Null))
    }

    /// # Safety
    /// As for `decode`; column `at` is an array of `kind`.
    #[inline]
    unsafe fn array(
        &mut self,
        number: usize,
        row: &RowValues<'_>,
        at: usize,
        kind: NumberKind,
        out: &mut FeatureBuffer,
    ) -> Decoded {
        if row.nulls[at] {
            return self.null_array(number, out);
        }
        let most = self.most;
        let (name, length) = self.array_part(number);
        // SAFETY: as the caller promises; the value stays in place during the call.
        let value = unsafe { Varlena::open(row.values[at]) };
        if value.is_in_place() {
            prefetch::row_ahead(value.payload());
        }
        let problem = |problem| FeatureError::from_array(name, problem);
        let array = NumberArray::new(value.payload(), kind).map_err(problem)?;
        check_length(name, array.len(), *length)?;
        let start = out.dense.len();
        check_row(start.saturating_add(array.len()), most)?;
        let any_null = array.append_to(&mut out.dense).map_err(problem)?;
        if any_null {
            out.missing.room(array.len())?;
            out.missing.extend(array.nulls().map(|at| start + at));
        }
        *length = Some(array.len() as u32);
        Ok(any_null.then_some(Null))
    }

    /// What part `number` makes of its columns.
    ///
    /// # Safety
    /// As for `decode`.
    unsafe fn make(
        &mut self,
        number: usize,
        row: &RowValues<'_>,
        reader: usize,
        out: &mut FeatureBuffer,
    ) -> Decoded {
        let most = self.most;
        let ArrayPart {
            name,
            length,
            made: Some(made),
            ..
        } = self.features.parts[number].placed()
        else {
            unreachable!("a reader of what is not made");
        };
        // SAFETY: as the caller promises.
        let numbers = unsafe { self.made[reader].numbers(name, row) }?;
        let Some(numbers) = numbers else {
            return self.null_array(number, out);
        };
        let count = make((name, made), numbers, &mut out.dense)?;
        *length = Some(count as u32);
        check_row(out.dense.len(), most)?;
        Ok(None)
    }

    /// NULL where array part `number` should be.
    #[cold]
    pub(super) fn null_array(&mut self, number: usize, out: &mut FeatureBuffer) -> Decoded {
        let nulls = self.nulls;
        let (name, length) = self.array_part(number);
        match (*length, nulls) {
            (None, Nulls::Zero | Nulls::Mean) => Err(FeatureError::UnknownLength {
                column: name.clone(),
            }),
            (length, _) => {
                let length = length.unwrap_or(0) as usize;
                let end = out.dense.len() + length;
                let mut patience = Patience::default();
                let missing = (out.dense.len()..end).inspect(|_| patience.tick());
                out.missing.room(length)?.extend(missing);
                out.dense.room(length)?;
                grow(&mut out.dense, end, 0.0);
                Ok(Some(Null))
            }
        }
    }

    /// Name and length, as far as known, of array part `number`.
    #[inline]
    pub(super) fn array_part(&mut self, number: usize) -> (&String, &mut Option<u32>) {
        let ArrayPart { name, length, .. } = self.features.parts[number].placed();
        (name, length)
    }

    /// # Safety
    /// As for `decode`; column `at` holds categories of `kind`.
    #[inline]
    unsafe fn category(
        &mut self,
        number: usize,
        row: &RowValues<'_>,
        at: usize,
        kind: CategoryKind,
        out: &mut FeatureBuffer,
    ) -> Decoded {
        let part = &mut self.features.parts[number];
        let null = row.nulls[at];
        if null && self.one_hot.only_uuids(part, number) {
            return Ok(None);
        }
        let code = match null {
            true => self.one_hot.null_code(part, self.nulls)?,
            // SAFETY: as the caller promises.
            false => unsafe { self.one_hot.code(part, number, row.values[at], kind) }?,
        };
        match code {
            Some(code) => self.sparse.code(&**part, (code, 1.0), out)?,
            None => out.unseen_categories += u64::from(!null),
        }
        Ok(null.then_some(Null))
    }

    /// The values of two columns together as one category; NULL where one of them is.
    ///
    /// # Safety
    /// As for `decode`; the columns hold categories of these kinds.
    unsafe fn crossed(
        &mut self,
        number: usize,
        row: &RowValues<'_>,
        first: (usize, CategoryKind),
        second: (usize, CategoryKind),
        out: &mut FeatureBuffer,
    ) -> Decoded {
        let part = &mut self.features.parts[number];
        let null = row.nulls[first.0] || row.nulls[second.0];
        let code = match null {
            true => self.one_hot.null_code(part, self.nulls)?,
            false => {
                let values = [first, second].map(|(at, kind)| (row.values[at], kind));
                // SAFETY: as the caller promises.
                unsafe { self.one_hot.pair_code(part, number, values) }?
            }
        };
        match code {
            Some(code) => self.sparse.code(&**part, (code, 1.0), out)?,
            None => out.unseen_categories += u64::from(!null),
        }
        Ok(null.then_some(Null))
    }

    /// A category with a number for its value; NULL where one of the two is.
    ///
    /// # Safety
    /// As for `decode`; the columns hold categories and numbers of these kinds.
    unsafe fn weighted(
        &mut self,
        number: usize,
        row: &RowValues<'_>,
        (at, kind): (usize, CategoryKind),
        (by, by_kind): (usize, NumberKind),
        out: &mut FeatureBuffer,
    ) -> Decoded {
        let part = &mut self.features.parts[number];
        let null = row.nulls[at] || row.nulls[by];
        let (code, value) = match null {
            true => (self.one_hot.null_code(part, self.nulls)?, 1.0),
            false => {
                // behind the row's dense values for a moment
                // SAFETY: as the caller promises.
                let code = unsafe {
                    columns(number, row, by..by + 1, by_kind, out)?;
                    self.one_hot.code(part, number, row.values[at], kind)
                }?;
                let value = out.dense.pop().unwrap_or(0.0);
                if !(value as f32).is_finite() {
                    return Err(FeatureError::NotFinite {
                        column: part.columns().nth(1).unwrap_or_default().to_owned(),
                        element: None,
                        value,
                    });
                }
                out.rounded |= is_rounded(value);
                (code, value as f32)
            }
        };
        match code {
            Some(code) if value != 0.0 => self.sparse.code(&**part, (code, value), out)?,
            Some(_) => {}
            None => out.unseen_categories += u64::from(!null),
        }
        Ok(null.then_some(Null))
    }

    /// The hashed products of numbers; NULL where one of them is.
    ///
    /// # Safety
    /// As for `decode`.
    unsafe fn products(
        &mut self,
        (number, sparse_part): (usize, i64),
        row: &RowValues<'_>,
        reader: usize,
        out: &mut FeatureBuffer,
    ) -> Decoded {
        let part: &mut ProductsPart = self.features.parts[number].placed();
        // SAFETY: as the caller promises.
        let numbers = unsafe { self.made[reader].numbers(&part.name, row) }?;
        match numbers {
            None => Ok(Some(Null)),
            Some(numbers) => self
                .sparse
                .products(part, sparse_part, numbers, out)
                .map(|()| None),
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

/// Refuses a row of more values than may be.
#[inline]
pub(super) fn check_row(values: usize, most: usize) -> Result<(), FeatureError> {
    match values <= most {
        true => Ok(()),
        false => Err(FeatureError::LongRow { values, most }),
    }
}

#[inline]
pub(super) fn check_length(
    name: &str,
    length: usize,
    expected: Option<u32>,
) -> Result<(), FeatureError> {
    match expected {
        Some(expected) if expected as usize == length => Ok(()),
        Some(expected) => Err(FeatureError::Length {
            column: name.to_owned(),
            length,
            expected: expected as usize,
            pair: None,
        }),
        None if length == 0 => Err(FeatureError::Empty {
            column: name.to_owned(),
        }),
        None => Ok(()),
    }
}

impl FeatureError {
    pub(crate) fn from_array(name: &str, problem: ArrayProblem) -> Self {
        let column = name.to_owned();
        match problem {
            ArrayProblem::Dimensions(dimensions) => Self::Dimensions { column, dimensions },
            ArrayProblem::Damaged => Self::Damaged { column },
            ArrayProblem::Memory(error) => Self::OutOfMemory(error),
        }
    }
}
