//! From the `features` argument of a prediction to a decision: an array of numbers, a row, a vector of
//! pgvector or a text in LIBSVM notation. What the argument's type asks for is settled once per call site.

use super::answered::{are_answer, has_answer};
use super::complaints::{argument_failure, document_failure, null_feature, wrong_type, Called};
use super::document::DocumentReader;
use super::forms::{array_form, read_dense_text, text_form, vector_form};
use super::held::{HeldArgument, HELD};
use super::row_reader::{read_row, RowReader};
use crate::base::errors::Failure;
use crate::features::{Decoder, FeatureBuffer};
use crate::model::Model;
use crate::pg::array::NumberArray;
use crate::pg::prefetch;
use crate::pg::record::RowValue;
use crate::pg::types::{type_kind, NumberKind, TypeKind};
use crate::pg::varlena::{self, Varlena};
use pgrx::pg_sys;

/// How to read the argument at one call site.
pub struct RowArgument {
    form: ArgumentForm,
    called: Called,
    buffer: FeatureBuffer,
}

/// What an argument of some type is read by.
pub enum ArgumentForm {
    /// All features in order, for a model with one head; the decoder is for what the direct way does
    /// not take.
    Array {
        kind: NumberKind,
        decoder: Box<Decoder>,
    },
    /// The same for a model with more heads.
    ArrayForHeads {
        kind: NumberKind,
        decoder: Box<Decoder>,
    },
    /// The one sparse part, or the elements of a vector.
    Decoded(Box<Decoder>),
    /// The dense features as text, by position from 1.
    DenseText,
    Row(Option<Box<RowReader>>),
    /// A row that holds all features in one column.
    Held(Box<HeldArgument>),
    /// A jsonb object.
    Document(Box<DocumentReader>),
}

impl RowArgument {
    /// Prepares for the arguments of a call.
    pub fn new(model: &Model, called: Called) -> Result<Self, Failure> {
        let form = match type_kind(called.type_id) {
            TypeKind::Array(kind) => array_form(model, &called, kind)?,
            TypeKind::Text => text_form(model, &called)?,
            TypeKind::Vector(kind) => vector_form(model, &called, kind)?,
            TypeKind::Row => ArgumentForm::Row(None),
            TypeKind::Json { is_text } => {
                ArgumentForm::Document(Box::new(DocumentReader::new(model, is_text)?))
            }
            _ => return Err(wrong_type(model, &called)),
        };
        Ok(Self {
            form,
            called,
            buffer: FeatureBuffer::default(),
        })
    }

    /// Bytes it takes, about, beside the model.
    pub fn bytes(&self) -> usize {
        let reader = match &self.form {
            ArgumentForm::Row(Some(reader)) => reader.bytes(),
            ArgumentForm::Array { decoder, .. }
            | ArgumentForm::ArrayForHeads { decoder, .. }
            | ArgumentForm::Decoded(decoder) => decoder.bytes(),
            ArgumentForm::Document(reader) => reader.bytes(),
            ArgumentForm::Held(held) => held.bytes(),
            ArgumentForm::Row(None) | ArgumentForm::DenseText => 0,
        };
        reader + self.buffer.bytes()
    }

    /// The decision about a plain array without NULLs that lies in memory as it is; None for all
    /// else. Neither panics nor raises an error.
    ///
    /// # Safety
    /// As for `decision`.
    #[inline(always)]
    pub unsafe fn plain_array_decision(&self, model: &Model, datum: pg_sys::Datum) -> Option<f64> {
        match &self.form {
            ArgumentForm::Array { kind, .. } => {
                // SAFETY: as the caller promises.
                let payload = unsafe { varlena::plain_payload(datum) }?;
                prefetch::row_ahead(payload);
                array_decision(model, *kind, payload)
            }
            _ => None,
        }
    }

    /// Settles, for a row, whether it holds all features in one column.
    ///
    /// # Safety
    /// As for `decision`.
    #[inline]
    unsafe fn meet(&mut self, model: &Model, datum: pg_sys::Datum) {
        if !matches!(self.form, ArgumentForm::Row(None) | ArgumentForm::Held(_)) {
            return;
        }
        // SAFETY: as the caller promises, a row value.
        let row = unsafe { RowValue::open(datum) };
        if matches!(&self.form, ArgumentForm::Held(held) if held.fits(&row)) {
            return;
        }
        // a column of that name which the model reads is a column like others
        let held = HeldArgument::of(&row).filter(|_| !model.features.columns().contains(&HELD));
        self.form = match held {
            Some(held) => ArgumentForm::Held(Box::new(held)),
            None => ArgumentForm::Row(None),
        };
    }

    /// The decision of a model with one head; None where a NULL makes it NULL.
    ///
    /// # Safety
    /// `datum` is a value, not NULL, of the type given to `new`.
    #[inline]
    pub unsafe fn decision(
        &mut self,
        model: &Model,
        datum: pg_sys::Datum,
    ) -> Result<Option<f64>, Failure> {
        if let ArgumentForm::Array { kind, .. } = &self.form {
            // SAFETY: as the caller promises.
            let value = unsafe { Varlena::open(datum) };
            if let Some(decision) = array_decision(model, *kind, value.payload()) {
                return Ok(Some(decision));
            }
        }
        // SAFETY: as the caller promises.
        unsafe { self.meet(model, datum) };
        if let ArgumentForm::Held(held) = &mut self.form {
            // SAFETY: as the caller promises, for the row and what it holds.
            let decision = unsafe {
                held.ask((model, &self.called), datum, |it, held| {
                    it.decision(model, held)
                })
            };
            return Ok(decision?.flatten());
        }
        // SAFETY: as the caller promises.
        let Some(row) = (unsafe { self.row(model, datum) })? else {
            return Ok(None);
        };
        let decision = model.decision(row);
        Ok(are_answer(model, &[decision])?.then_some(decision))
    }

    /// Writes the decision of each head to `out`; false where a NULL makes them NULL.
    ///
    /// # Safety
    /// As for `decision`.
    pub unsafe fn decisions(
        &mut self,
        model: &Model,
        datum: pg_sys::Datum,
        out: &mut Vec<f64>,
    ) -> Result<bool, Failure> {
        // SAFETY: as the caller promises; features in a row are valid while that is.
        unsafe {
            self.meet(model, datum);
            match &mut self.form {
                ArgumentForm::Held(held) => {
                    let answered = held.ask((model, &self.called), datum, |it, held| {
                        it.decisions(model, held, out)
                    });
                    return Ok(answered?.unwrap_or(false));
                }
                ArgumentForm::Array { .. } => {
                    let decision = self.decision(model, datum)?;
                    out.clear();
                    out.extend(decision);
                    return Ok(decision.is_some());
                }
                ArgumentForm::ArrayForHeads { kind, .. } => {
                    let value = Varlena::open(datum);
                    if array_decisions(model, *kind, &value, out).is_some() {
                        return Ok(true);
                    }
                }
                _ => {}
            }
            match self.row(model, datum)? {
                Some(row) => model.decisions(row, out),
                None => return Ok(false),
            }
        }
        are_answer(model, out)
    }

    /// The features as numbers; None where a NULL makes the answer NULL.
    ///
    /// # Safety
    /// As for `decision`.
    pub unsafe fn row(
        &mut self,
        model: &Model,
        datum: pg_sys::Datum,
    ) -> Result<Option<&FeatureBuffer>, Failure> {
        // SAFETY: as the caller promises.
        unsafe { self.meet(model, datum) };
        if matches!(self.form, ArgumentForm::Held(_)) {
            // SAFETY: as the caller promises.
            let read = unsafe { self.read_held(model, datum) }?;
            return Ok(read.then_some(&self.buffer));
        }
        // SAFETY: as the caller promises.
        let answered = unsafe {
            let read = match self.read(model, datum) {
                Err(_) if self.is_null_document(datum) => return Ok(None),
                read => read,
            };
            let (form, buffer) = (&mut self.form, &self.buffer);
            has_answer(model, read, buffer, || {
                refuse_null(model, form, buffer, datum)
            })
        }?;
        if !answered {
            return Ok(None);
        }
        model.prepare(&mut self.buffer);
        Ok(Some(&self.buffer))
    }

    /// Whether it is a document that is null as a whole.
    ///
    /// # Safety
    /// As for `decision`.
    #[cold]
    unsafe fn is_null_document(&self, datum: pg_sys::Datum) -> bool {
        // SAFETY: as the caller promises.
        matches!(&self.form, ArgumentForm::Document(reader) if unsafe { reader.is_null(datum) })
    }

    /// Reads the features as they are.
    ///
    /// # Safety
    /// As for `decision`, of a form that does not hold the features in a column.
    #[inline(always)]
    unsafe fn read(&mut self, model: &Model, datum: pg_sys::Datum) -> Result<(), Failure> {
        let (called, buffer) = (&self.called, &mut self.buffer);
        // SAFETY: as the caller promises; each form was chosen by the argument's type.
        unsafe {
            match &mut self.form {
                ArgumentForm::Array { decoder, .. }
                | ArgumentForm::ArrayForHeads { decoder, .. }
                | ArgumentForm::Decoded(decoder) => decoder
                    .decode(&[datum], &[false], buffer)
                    .map_err(|error| argument_failure(model, called, error, datum)),
                ArgumentForm::DenseText => read_dense_text(model, datum, buffer)
                    .map_err(|error| argument_failure(model, called, error, datum)),
                ArgumentForm::Row(reader) => read_row((model, called), datum, reader, buffer),
                ArgumentForm::Document(reader) => reader
                    .read(datum, buffer)
                    .map_err(|failure| document_failure(model, failure)),
                ArgumentForm::Held(_) => unreachable!("read from its column"),
            }
        }
    }

    /// Reads and prepares the features that a column of the row holds; false where a NULL makes the answer NULL.
    ///
    /// # Safety
    /// As for `decision`.
    unsafe fn read_held(&mut self, model: &Model, datum: pg_sys::Datum) -> Result<bool, Failure> {
        let ArgumentForm::Held(held) = &mut self.form else {
            unreachable!("features that a column holds");
        };
        let buffer = &mut self.buffer;
        // SAFETY: as the caller promises, for the row and what it holds.
        let read = unsafe {
            held.ask((model, &self.called), datum, |argument, features| {
                let usable = argument.row(model, features)?.is_some();
                core::mem::swap(&mut argument.buffer, buffer);
                Ok(usable)
            })
        };
        Ok(read?.unwrap_or(false))
    }
}

/// What is said of a NULL where it is an error, with the row that it is in.
///
/// # Safety
/// `datum` is what was read.
#[cold]
unsafe fn refuse_null(
    model: &Model,
    form: &mut ArgumentForm,
    row: &FeatureBuffer,
    datum: pg_sys::Datum,
) -> Failure {
    let by_name = matches!(form, ArgumentForm::Row(_) | ArgumentForm::Document(_));
    let failure = null_feature(model, row, by_name);
    match form {
        // SAFETY: as the caller promises.
        ArgumentForm::Row(Some(reader)) => {
            reader.name_row(unsafe { &RowValue::open(datum) }, failure)
        }
        _ => failure,
    }
}

/// The decision about an array whose elements can be multiplied where they lie and come to a number.
#[inline(always)]
fn array_decision(model: &Model, kind: NumberKind, payload: &[u8]) -> Option<f64> {
    let array = NumberArray::new(payload, kind).ok()?;
    let sum = array.dot(&model.dense)?;
    sum.is_finite().then_some(sum + model.intercept)
}

/// The same for each head; None, with anything in `out`, where the direct way does not do.
fn array_decisions(
    model: &Model,
    kind: NumberKind,
    value: &Varlena<'_>,
    out: &mut Vec<f64>,
) -> Option<()> {
    let array = NumberArray::new(value.payload(), kind).ok()?;
    if value.is_in_place() {
        prefetch::row_ahead(value.payload());
    }
    out.clear();
    for (number, head) in model.heads.iter().enumerate() {
        let decision = array.dot(model.dense_of(number))? + head.intercept;
        out.push(Some(decision).filter(|decision| decision.is_finite())?);
    }
    Some(())
}
