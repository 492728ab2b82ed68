//! From the `features` argument of a prediction to a decision: an array of numbers, a row, a vector of
//! pgvector or a text in LIBSVM notation. What the argument's type asks for is settled once per call site.

use super::document::{self, DocumentReader};
use super::held::Held;
use super::row_name;
use crate::base::errors::{Code, Failure};
use crate::base::settings::{self, PredictNulls};
use crate::features::{
    parse_libsvm, Decoder, FeatureBuffer, FeatureError, FeaturePart, FeatureSet, Nulls,
};
use crate::model::{relation_changes, Model};
use crate::pg::array::NumberArray;
use crate::pg::prefetch;
use crate::pg::query::Column;
use crate::pg::record::{RowShape, RowValue};
use crate::pg::types::{type_kind, type_name, NumberKind, TypeKind};
use crate::pg::varlena::{self, Varlena};
use crate::pg::vector::VectorKind;
use crate::pg::{grow, Patience};
use pgrx::pg_sys;
use pgsvm_core::memory::{gathered, Room};

/// How to read the argument at one call site.
pub struct Argument {
    form: Form,
    buffer: FeatureBuffer,
}

enum Form {
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
    Held(Box<Held>),
    /// A jsonb object.
    Document(Box<DocumentReader>),
}

/// What rows of one shape need.
struct RowReader {
    shape: RowShape,
    decoder: Decoder,
    /// Columns of text where the model wants another type, which may hold nothing but NULL.
    only_null: Vec<(usize, FeatureError)>,
    /// Changes of relations when the shape was looked up.
    changes: u64,
}

/// The argument's name in messages.
const ARGUMENT: &str = "features";
/// Most columns that a hint lists.
const HINTED_COLUMNS: usize = 10;

impl Argument {
    /// Prepares for arguments of this type.
    pub fn new(model: &Model, type_id: pg_sys::Oid) -> Result<Self, Failure> {
        let form = match type_kind(type_id) {
            TypeKind::Array(kind) => array_form(model, type_id, kind)?,
            TypeKind::Text => text_form(model)?,
            TypeKind::Vector(kind) => vector_form(model, type_id, kind)?,
            TypeKind::Row => Form::Row(None),
            TypeKind::Json { is_text } => {
                Form::Document(Box::new(DocumentReader::new(model, is_text)?))
            }
            _ => return Err(wrong_type(model, type_id)),
        };
        Ok(Self {
            form,
            buffer: FeatureBuffer::default(),
        })
    }

    /// Bytes it takes, about, beside the model.
    pub fn bytes(&self) -> usize {
        let reader = match &self.form {
            Form::Row(Some(reader)) => reader.shape.bytes() + reader.decoder.bytes(),
            Form::Array { decoder, .. }
            | Form::ArrayForHeads { decoder, .. }
            | Form::Decoded(decoder) => decoder.bytes(),
            Form::Document(reader) => reader.bytes(),
            Form::Held(held) => held.bytes(),
            Form::Row(None) | Form::DenseText => 0,
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
            Form::Array { kind, .. } => {
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
    unsafe fn meet(&mut self, datum: pg_sys::Datum) {
        if !matches!(self.form, Form::Row(None) | Form::Held(_)) {
            return;
        }
        // SAFETY: as the caller promises, a row value.
        let row = unsafe { RowValue::open(datum) };
        if matches!(&self.form, Form::Held(held) if held.fits(&row)) {
            return;
        }
        self.form = match Held::of(&row) {
            Some(held) => Form::Held(Box::new(held)),
            None => Form::Row(None),
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
        if let Form::Array { kind, .. } = &self.form {
            // SAFETY: as the caller promises.
            let value = unsafe { Varlena::open(datum) };
            if let Some(decision) = array_decision(model, *kind, value.payload()) {
                return Ok(Some(decision));
            }
        }
        // SAFETY: as the caller promises.
        unsafe { self.meet(datum) };
        if let Form::Held(held) = &mut self.form {
            // SAFETY: as the caller promises; the features are valid while the row is.
            unsafe {
                let row = RowValue::open(datum);
                return match held.features(model, &row)? {
                    Some((argument, features)) => argument.decision(model, features),
                    None => Ok(None),
                };
            }
        }
        // SAFETY: as the caller promises.
        let Some(row) = (unsafe { self.row(model, datum) })? else {
            return Ok(None);
        };
        let decision = model.decision(row);
        match decision.is_finite() {
            true => Ok(Some(decision)),
            false => Err(out_of_range(model)),
        }
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
            self.meet(datum);
            match &mut self.form {
                Form::Held(held) => {
                    let row = RowValue::open(datum);
                    return match held.features(model, &row)? {
                        Some((argument, features)) => argument.decisions(model, features, out),
                        None => Ok(false),
                    };
                }
                Form::Array { .. } => {
                    let decision = self.decision(model, datum)?;
                    out.clear();
                    out.extend(decision);
                    return Ok(decision.is_some());
                }
                Form::ArrayForHeads { kind, .. } => {
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
        match out.iter().all(|decision| decision.is_finite()) {
            true => Ok(true),
            false => Err(out_of_range(model)),
        }
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
        unsafe { self.meet(datum) };
        let buffer = &mut self.buffer;
        // SAFETY: as the caller promises; each form was chosen by the argument's type.
        unsafe {
            match &mut self.form {
                Form::Array { decoder, .. }
                | Form::ArrayForHeads { decoder, .. }
                | Form::Decoded(decoder) => decoder
                    .decode(&[datum], &[false], buffer)
                    .map_err(|error| argument_failure(model, error, datum))?,
                Form::DenseText => read_dense_text(model, datum, buffer)
                    .map_err(|error| argument_failure(model, error, datum))?,
                Form::Row(reader) => read_row(model, datum, reader, buffer)?,
                Form::Document(reader) => reader
                    .read(datum, buffer)
                    .map_err(|failure| document_failure(model, failure))?,
                Form::Held(held) => {
                    let row = RowValue::open(datum);
                    match held.features(model, &row)? {
                        Some((argument, features)) => {
                            if argument.row(model, features)?.is_none() {
                                return Ok(None);
                            }
                            core::mem::swap(&mut argument.buffer, buffer);
                            return Ok(Some(buffer));
                        }
                        None => return Ok(None),
                    }
                }
            }
        }
        if !buffer.null_parts.is_empty() {
            match model.nulls {
                Nulls::Zero | Nulls::Mean => {}
                Nulls::Skip => return Ok(None),
                Nulls::Error if settings::predict_nulls() == PredictNulls::Null => return Ok(None),
                Nulls::Error => {
                    let by_name = matches!(self.form, Form::Row(_) | Form::Document(_));
                    let failure = null_feature(model, buffer, by_name);
                    return Err(match &mut self.form {
                        // SAFETY: as the caller promises.
                        Form::Row(Some(reader)) => name_row(
                            &mut reader.shape,
                            unsafe { &RowValue::open(datum) },
                            failure,
                        ),
                        _ => failure,
                    });
                }
            }
        }
        model.prepare(buffer);
        Ok(Some(buffer))
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

fn out_of_range(model: &Model) -> Failure {
    Failure::new(
        Code::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
        format!("the decision of model \"{}\" is out of range", model.name),
    )
}

fn array_form(model: &Model, type_id: pg_sys::Oid, kind: NumberKind) -> Result<Form, Failure> {
    let decoder = array_decoder(model, type_id, "an array")?;
    Ok(match model.heads.len() {
        _ if model.features.unit_rows.is_some() => Form::Decoded(decoder),
        1 => Form::Array { kind, decoder },
        _ => Form::ArrayForHeads { kind, decoder },
    })
}

/// For arguments that hold all features in order; `argument` is what messages call them.
fn array_decoder(
    model: &Model,
    type_id: pg_sys::Oid,
    argument: &str,
) -> Result<Box<Decoder>, Failure> {
    check_no_categories(model, argument)?;
    if model.features.sparse_parts() > 0 {
        return Err(Failure::new(
            Code::ERRCODE_DATATYPE_MISMATCH,
            format!(
                "model \"{}\" has sparse features, which {argument} cannot give",
                model.name
            ),
        )
        .hint(call_hint(model)));
    }
    let features = FeatureSet {
        parts: vec![FeaturePart::Array {
            name: ARGUMENT.to_owned(),
            type_name: type_name(type_id, -1),
            length: Some(model.dense_count as u32),
        }],
        means: model.features.means.clone(),
        ..FeatureSet::default()
    };
    let decoder = Decoder::new(&features, &[argument_column(type_id)], model.nulls)?;
    Ok(Box::new(decoder))
}

/// pgvector's types: all features in order, or the one sparse part.
fn vector_form(model: &Model, type_id: pg_sys::Oid, kind: VectorKind) -> Result<Form, Failure> {
    if kind != VectorKind::Sparsevec {
        return Ok(Form::Decoded(array_decoder(model, type_id, "a vector")?));
    }
    check_no_categories(model, "a sparsevec")?;
    if (model.features.dense_parts(), model.features.sparse_parts()) != (0, 1) {
        return Err(Failure::new(
            Code::ERRCODE_DATATYPE_MISMATCH,
            format!(
                "model \"{}\" has other features than one sparse column, which a sparsevec cannot give",
                model.name
            ),
        )
        .hint(call_hint(model)));
    }
    let features = FeatureSet {
        parts: vec![FeaturePart::Sparsevec {
            name: ARGUMENT.to_owned(),
            type_name: type_name(type_id, -1),
        }],
        ..FeatureSet::default()
    };
    let decoder = Decoder::new(&features, &[argument_column(type_id)], model.nulls)?;
    Ok(Form::Decoded(Box::new(decoder)))
}

/// Categories come out of columns only.
fn check_no_categories(model: &Model, argument: &str) -> Result<(), Failure> {
    match model.features.categories().next() {
        None => Ok(()),
        Some((column, _)) => Err(Failure::new(
            Code::ERRCODE_DATATYPE_MISMATCH,
            format!(
                "model \"{}\" reads categories, which {argument} cannot give",
                model.name
            ),
        )
        .detail(format!("Column \"{column}\" holds categories."))
        .hint(call_hint(model))),
    }
}

fn text_form(model: &Model) -> Result<Form, Failure> {
    check_no_categories(model, "a text in LIBSVM notation")?;
    match (model.features.dense_parts(), model.features.sparse_parts()) {
        (_, 0) => Ok(Form::DenseText),
        (0, 1) => {
            let features = FeatureSet {
                parts: vec![FeaturePart::Libsvm {
                    name: ARGUMENT.to_owned(),
                    type_name: "text".to_owned(),
                }],
                ..FeatureSet::default()
            };
            let columns = [argument_column(pg_sys::TEXTOID)];
            Ok(Form::Decoded(Box::new(Decoder::new(
                &features,
                &columns,
                model.nulls,
            )?)))
        }
        _ => Err(Failure::new(
            Code::ERRCODE_DATATYPE_MISMATCH,
            format!(
                "model \"{}\" reads several columns, which one text cannot give",
                model.name
            ),
        )
        .hint(call_hint(model))),
    }
}

fn argument_column(type_oid: pg_sys::Oid) -> Column {
    Column {
        name: ARGUMENT.to_owned(),
        type_oid,
        typmod: -1,
        base: None,
    }
}

/// LIBSVM notation for dense features: positions count from 1, those left out are 0.
///
/// # Safety
/// `datum` is a text value.
unsafe fn read_dense_text(
    model: &Model,
    datum: pg_sys::Datum,
    out: &mut FeatureBuffer,
) -> Result<(), FeatureError> {
    out.clear();
    out.dense.room(model.dense_count)?;
    grow(&mut out.dense, model.dense_count, 0.0);
    // SAFETY: as the caller promises.
    let value = unsafe { Varlena::open(datum) };
    let mut last = 0;
    let mut patience = Patience::default();
    parse_libsvm(value.payload(), |index, value| {
        patience.tick();
        let place = usize::try_from(index)
            .ok()
            .filter(|index| *index > 0)
            .and_then(|index| out.dense.get_mut(index - 1))
            .ok_or(FeatureError::Position {
                index,
                features: model.dense_count,
            })?;
        if index <= last && *place != 0.0 {
            return Err(FeatureError::DuplicateIndex {
                part: ARGUMENT.to_owned(),
                index: index as u32,
            });
        }
        if !value.is_finite() {
            return Err(FeatureError::NotFinite {
                column: ARGUMENT.to_owned(),
                element: Some(index as u64),
                value,
            });
        }
        last = last.max(index);
        *place = value;
        Ok(())
    })
}

/// # Safety
/// `datum` is a row value.
unsafe fn read_row(
    model: &Model,
    datum: pg_sys::Datum,
    reader: &mut Option<Box<RowReader>>,
    out: &mut FeatureBuffer,
) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let row = unsafe { RowValue::open(datum) };
    let changes = relation_changes();
    let known = reader
        .take()
        .filter(|reader| reader.changes == changes && reader.shape.fits(&row));
    let reader = match known {
        Some(known) => reader.insert(known),
        None => {
            let shape = RowShape::of(&row);
            let (decoder, only_null) =
                decoder_of(model, &shape).map_err(|error| row_failure(model, error))?;
            reader.insert(Box::new(RowReader {
                shape,
                decoder,
                only_null,
                changes,
            }))
        }
    };
    let (values, nulls) = reader.shape.deform(&row);
    let wrong = reader.only_null.iter().find(|(at, _)| !nulls[*at]);
    let decoded = match wrong {
        Some((_, error)) => Err(error.clone()),
        // SAFETY: the decoder was made for the shape's columns; those of another type are NULL.
        None => unsafe { reader.decoder.decode(values, nulls, out) },
    };
    decoded.map_err(|error| name_row(&mut reader.shape, &row, row_failure(model, error)))
}

/// Says which row of its table it is, where that can be told.
#[cold]
fn name_row(shape: &mut RowShape, row: &RowValue, failure: Failure) -> Failure {
    match row_name::of(shape, row) {
        Some(name) => failure.in_detail(&format!("It is in the row with {name}.")),
        None => failure,
    }
}

/// The decoder for rows of a shape. NULL without a type becomes a column of text, in a subquery and as a
/// parameter: such a column will do for any feature as long as it is NULL.
fn decoder_of(
    model: &Model,
    shape: &RowShape,
) -> Result<(Decoder, Vec<(usize, FeatureError)>), FeatureError> {
    let mut columns = gathered(shape.columns().iter().cloned())?;
    let mut only_null: Vec<(usize, FeatureError)> = Vec::new();
    loop {
        let error = match Decoder::new(&model.features, &columns, model.nulls) {
            Ok(decoder) => return Ok((decoder, only_null)),
            Err(error) => error,
        };
        let FeatureError::Type { column, .. } = &error else {
            return Err(error);
        };
        let at = columns.iter().position(|known| known.name == *column);
        let wanted = document::column_type(&model.features, column);
        match (at, wanted) {
            (Some(at), Some(wanted)) if columns[at].type_oid == pg_sys::TEXTOID => {
                columns[at].type_oid = wanted;
                only_null.push((at, error));
            }
            _ => return Err(error),
        }
    }
}

fn row_failure(model: &Model, error: FeatureError) -> Failure {
    let missing = matches!(&error, FeatureError::MissingColumn { near, .. } if near.is_empty());
    let failure = Failure::from(error);
    let failure = match failure.detail {
        None => failure.detail(format!("Model \"{}\" reads it.", model.name)),
        Some(_) => failure,
    };
    match missing {
        true => failure.hint(call_hint(model)),
        false => failure,
    }
}

fn document_failure(model: &Model, failure: Failure) -> Failure {
    let failure = match failure.detail {
        None => failure.detail(format!("Model \"{}\" reads it.", model.name)),
        Some(_) => failure,
    };
    match failure.hint {
        Some(_) => failure,
        None => failure.hint(format!(
            "Pass an object with the fields {}.",
            hinted_columns(model)
        )),
    }
}

/// # Safety
/// `datum` is the argument.
unsafe fn argument_failure(model: &Model, error: FeatureError, datum: pg_sys::Datum) -> Failure {
    let features = model.dense_count;
    match &error {
        FeatureError::Length { .. } | FeatureError::Empty { .. } => Failure::from(error)
            .detail(format!("Model \"{}\" has {features} features.", model.name)),
        FeatureError::LibsvmSyntax { .. } => {
            // SAFETY: LIBSVM notation is read from text arguments only.
            let text = unsafe { Varlena::open(datum) };
            let failure = Failure::from(error);
            match text.payload().first() {
                Some(b'{') => failure.hint("An array literal needs its type: '{1,2}'::float8[]."),
                _ => failure,
            }
        }
        _ => error.into(),
    }
}

fn null_feature(model: &Model, row: &FeatureBuffer, by_name: bool) -> Failure {
    let part = row
        .null_parts
        .first()
        .filter(|_| by_name)
        .and_then(|at| model.features.parts.get(*at));
    let what = match part {
        Some(part) => format!("feature \"{}\" contains NULL", part.name()),
        None => "the features contain NULL".to_owned(),
    };
    Failure::new(Code::ERRCODE_NULL_VALUE_NOT_ALLOWED, what)
    .detail(format!(
        "Model \"{}\" was trained with nulls => 'error', and pgsvm.predict_nulls is 'error'.",
        model.name
    ))
    .hint("SET pgsvm.predict_nulls = 'null' predicts NULL; nulls => 'mean' or 'zero' in training puts a value in its place.")
}

fn wrong_type(model: &Model, type_id: pg_sys::Oid) -> Failure {
    Failure::new(
        Code::ERRCODE_DATATYPE_MISMATCH,
        format!(
            "features of type {} cannot be predicted from",
            type_name(type_id, -1)
        ),
    )
    .detail("Features are a row, a jsonb object, an array of numbers, a vector of pgvector, or a text in LIBSVM notation.")
    .hint(call_hint(model))
}

/// The columns that the model reads, or the first of them.
fn hinted_columns(model: &Model) -> String {
    let mut columns = model.features.columns();
    if columns.len() > HINTED_COLUMNS {
        columns.truncate(HINTED_COLUMNS);
        columns.push("…");
    }
    columns.join(", ")
}

/// How to call the model so that it works.
fn call_hint(model: &Model) -> String {
    format!(
        "Pass a whole row with the columns {}: SELECT svm_decision('{}', t) FROM … AS t.",
        hinted_columns(model),
        model.base_name().replace('\'', "''")
    )
}
