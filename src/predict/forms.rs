//! How to read an argument of each type for a model, or why that cannot be.

use super::argument::ArgumentForm;
use super::complaints::{call_hint, Called};
use crate::base::errors::{Code, Failure};
use crate::features::{
    parse_libsvm, ArrayPart, Decoder, FeatureBuffer, FeatureError, FeatureSet, LibsvmPart,
    SparsevecPart, TextPart,
};
use crate::model::Model;
use crate::pg::query::Column;
use crate::pg::types::{type_name, NumberKind};
use crate::pg::varlena::Varlena;
use crate::pg::vector::VectorKind;
use crate::pg::{grow, Patience};
use pgrx::pg_sys;
use pgsvm_core::memory::Room;

/// The argument's name in messages.
const ARGUMENT: &str = "features";

/// Arrays of numbers: all features in order.
pub fn array_form(
    model: &Model,
    called: &Called,
    kind: NumberKind,
) -> Result<ArgumentForm, Failure> {
    let decoder = array_decoder(model, called, "an array")?;
    Ok(match model.heads.len() {
        _ if model.features.unit_rows.is_some()
            || model.kernel.is_some()
            || model.features.skips_bad_rows =>
        {
            ArgumentForm::Decoded(decoder)
        }
        1 => ArgumentForm::Array { kind, decoder },
        _ => ArgumentForm::ArrayForHeads { kind, decoder },
    })
}

/// For arguments that hold all features in order; `argument` is what messages call them.
fn array_decoder(model: &Model, called: &Called, argument: &str) -> Result<Box<Decoder>, Failure> {
    check_no_categories(model, called, argument)?;
    if model.features.sparse_parts() > 0 {
        return Err(Failure::new(
            Code::ERRCODE_DATATYPE_MISMATCH,
            format!(
                "model \"{}\" has sparse features, which {argument} cannot give",
                model.name
            ),
        )
        .hint(call_hint(model, called)));
    }
    let features = FeatureSet {
        parts: vec![ArrayPart {
            name: ARGUMENT.to_owned(),
            type_name: type_name(called.type_id, -1),
            length: Some(model.dense_count as u32),
            made: None,
        }
        .into()],
        means: model.features.means.clone(),
        ..FeatureSet::default()
    };
    let decoder = Decoder::new(&features, &[argument_column(called.type_id)], model.nulls)?;
    Ok(Box::new(decoder))
}

/// pgvector's types: all features in order, or the one sparse part.
pub fn vector_form(
    model: &Model,
    called: &Called,
    kind: VectorKind,
) -> Result<ArgumentForm, Failure> {
    if kind != VectorKind::Sparsevec {
        return Ok(ArgumentForm::Decoded(array_decoder(
            model, called, "a vector",
        )?));
    }
    check_no_categories(model, called, "a sparsevec")?;
    if (model.features.dense_parts(), model.features.sparse_parts()) != (0, 1) {
        return Err(Failure::new(
            Code::ERRCODE_DATATYPE_MISMATCH,
            format!(
                "model \"{}\" has other features than one sparse column, which a sparsevec cannot give",
                model.name
            ),
        )
        .hint(call_hint(model, called)));
    }
    let part = SparsevecPart {
        name: ARGUMENT.to_owned(),
        type_name: type_name(called.type_id, -1),
    };
    let features = FeatureSet::of(vec![part.into()]);
    let decoder = Decoder::new(&features, &[argument_column(called.type_id)], model.nulls)?;
    Ok(ArgumentForm::Decoded(Box::new(decoder)))
}

/// Categories and words come out of columns only.
fn check_no_categories(model: &Model, called: &Called, argument: &str) -> Result<(), Failure> {
    let mut parts = model.features.parts.iter();
    if let Some(part) = parts.find(|part| part.vocabulary().is_some()) {
        return Err(Failure::new(
            Code::ERRCODE_DATATYPE_MISMATCH,
            format!(
                "model \"{}\" reads texts, which {argument} cannot give",
                model.name
            ),
        )
        .detail(format!("Its feature {} is a text's words.", part.name()))
        .hint(call_hint(model, called)));
    }
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
        .hint(call_hint(model, called))),
    }
}

/// Texts in LIBSVM notation: all dense features by their positions, or the one sparse part.
pub fn text_form(model: &Model, called: &Called) -> Result<ArgumentForm, Failure> {
    if let [part] = model.features.parts.as_slice() {
        if let Some(text) = part.as_one::<TextPart>().filter(|text| text.form.asked) {
            return only_text(model, text);
        }
    }
    check_no_categories(model, called, "a text in LIBSVM notation")?;
    match (model.features.dense_parts(), model.features.sparse_parts()) {
        (_, 0) => Ok(ArgumentForm::DenseText),
        (0, 1) => {
            let features = FeatureSet::of(vec![LibsvmPart::text(ARGUMENT).into()]);
            let columns = [argument_column(pg_sys::TEXTOID)];
            Ok(ArgumentForm::Decoded(Box::new(Decoder::new(
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
        .hint(call_hint(model, called))),
    }
}

/// The text of a model that reads nothing else.
fn only_text(model: &Model, text: &TextPart) -> Result<ArgumentForm, Failure> {
    let text = TextPart {
        name: ARGUMENT.to_owned(),
        ..text.clone()
    };
    let features = FeatureSet::of(vec![text.into()]);
    let columns = [argument_column(pg_sys::TEXTOID)];
    let decoder = Decoder::new(&features, &columns, model.nulls)?;
    Ok(ArgumentForm::Decoded(Box::new(decoder)))
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
pub unsafe fn read_dense_text(
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
