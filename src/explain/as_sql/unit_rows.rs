//! The decision of a model that divides rows by their length: the sum of weights times values over the root of the sum of
//! their squares.

use super::{literal, operands, scaled, signed, sum, WrittenDecision};
use crate::features::{identifier, Dictionary, Nulls, Operand};
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_core::Scaling;

/// The decision.
pub(super) fn expression(
    written: &WrittenDecision<'_>,
    scaling: &Scaling,
    intercept: f64,
) -> Result<String, OutOfMemory> {
    let (mut products, mut squares) = (Vec::new(), Vec::new());
    let mut feature = 0;
    // numbers first
    let mut categories = Vec::new();
    for operand in operands(&written.model.features.parts) {
        match operand {
            Operand::Category(name, type_name, known) => {
                categories.room(1)?.push((name, type_name, known));
            }
            Operand::Number(column, is_truth) => {
                let by = (scaling.centre_of(feature), scaling.factor_of(feature));
                let value = scaled(written.model, feature, (&column, is_truth), by);
                let product = format!("{} * {value}", signed(written.weight(feature)));
                products.room(1)?.push(product);
                squares.room(1)?.push(format!("+ {value} * {value}"));
                feature += 1;
            }
        }
    }
    for (name, type_name, known) in categories {
        products.room(1)?.push(written.category(name, type_name)?);
        let square = is_known(written.model.nulls, name, type_name, known)?;
        squares.room(1)?.push(square);
    }
    let (products, squares) = (sum(products)?, sum(squares)?);
    let pieces = [
        &format!("CAST({intercept:?} AS double precision)\n+ CASE WHEN "),
        &squares,
        " > 0 THEN (",
        &products,
        ") / SQRT(",
        &squares,
        ") WHEN ",
        &squares,
        " = 0 THEN 0 END",
    ];
    let mut all = String::new();
    for piece in pieces {
        all.room(piece.len())?.push_str(piece);
    }
    Ok(all)
}

/// 1 for a category that the model knows, else 0.
fn is_known(
    nulls: Nulls,
    name: &str,
    type_name: &str,
    dictionary: &Dictionary,
) -> Result<String, OutOfMemory> {
    let column = identifier(name);
    let null = match nulls {
        Nulls::Error | Nulls::Skip => "NULL",
        Nulls::Mean if dictionary.null_code().is_some() => "1",
        Nulls::Zero | Nulls::Mean => "0",
    };
    let mut cases = format!("+ CASE WHEN {column} IS NULL THEN {null}");
    for value in dictionary.values() {
        let case = format!(" WHEN {column} = {} THEN 1", literal(value, type_name));
        cases.room(case.len())?.push_str(&case);
    }
    cases.room(16)?.push_str(" ELSE 0 END");
    Ok(cases)
}
