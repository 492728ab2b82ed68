//! The decision of a model that divides rows by their length: the sum of weights times values over the root of the sum of
//! their squares.

use super::{literal, operands, signed, sum, Written};
use crate::features::{identifier, Dictionary, Nulls, Operand};
use pgsvm_core::memory::{OutOfMemory, Room};
use pgsvm_core::Scaling;

/// The decision.
pub(super) fn expression(
    written: &Written<'_>,
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
                let value = scaled(written, scaling, &column, is_truth, feature);
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

/// A column's value as the model scales it.
fn scaled(
    written: &Written<'_>,
    scaling: &Scaling,
    column: &str,
    is_truth: bool,
    feature: usize,
) -> String {
    let instead = written.instead_of_null(feature);
    let value = match (is_truth, instead) {
        (false, None) => column.to_owned(),
        (false, Some(number)) => format!("COALESCE({column}, {number:?})"),
        (true, instead) => {
            let instead = instead.map_or(String::new(), |number| format!(" ELSE {number:?}"));
            format!("CASE WHEN {column} THEN 1 WHEN NOT {column} THEN 0{instead} END")
        }
    };
    let value = format!("CAST({value} AS double precision)");
    match (scaling.centre_of(feature), scaling.factor_of(feature)) {
        (0.0, 1.0) => value,
        (centre, factor) => format!("(({value} - ({centre:?})) * {factor:?})"),
    }
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
