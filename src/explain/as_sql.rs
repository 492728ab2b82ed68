//! `svm_as_sql`: a decision as an SQL expression over the model's columns, for any database. Numbers
//! are written so that they read back as they are; only the order of additions may differ.

use crate::errors::{Code, Failure, OrRaise};
use crate::features::{FeaturePart, Nulls};
use crate::model::{self, ClassArgument, Model};
use crate::pg::c_function;
use crate::pg::select::text_datum;
use crate::pg::statement;
use crate::pg::varlena::Varlena;
use pgrx::pg_sys;

c_function!(svm_as_sql_wrapper, pg_finfo_svm_as_sql_wrapper, svm_as_sql);

/// Most terms of an expression.
const MAX_TERMS: usize = 100_000;
/// Most terms of one sum: SQLite takes expressions up to 1000 deep, and a sum is as deep as it is long.
const SUM_TERMS: usize = 400;

/// `svm_as_sql(model, class) -> text`; a NULL class is for models of two.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, with two arguments.
unsafe fn svm_as_sql(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises.
    unsafe {
        let [name, class] = *(*fcinfo).args.as_slice(2) else {
            unreachable!("two arguments");
        };
        if name.isnull {
            (*fcinfo).isnull = true;
            return pg_sys::Datum::from(0);
        }
        let name = Varlena::open(name.value);
        let name = String::from_utf8_lossy(name.payload());
        let model = model::find(statement::schema_of_call(fcinfo), &name).or_raise();
        let class = match (class.isnull, model.heads.len()) {
            (true, 1) => 1,
            (true, _) => model
                .too_many_classes("an expression", "svm_as_sql", "")
                .raise(),
            (false, _) => ClassArgument::default().read(&model, fcinfo, 1).or_raise(),
        };
        text_datum(&expression(&model, class).or_raise())
    }
}

fn expression(model: &Model, class: usize) -> Result<String, Failure> {
    if model.dense_count > MAX_TERMS {
        return Err(Failure::new(
            Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!(
                "model \"{}\" has {} features, too many for an SQL expression",
                model.name, model.dense_count
            ),
        )
        .detail(format!("At most {MAX_TERMS} can be written.")));
    }
    let (head, sign) = model.head_of_class(class);
    let mut weights = model.dense_of(head).iter().map(|weight| sign * weight);
    let intercept = sign * model.heads[head].intercept;
    let mut terms = vec![format!("+ CAST({intercept:?} AS double precision)")];
    for part in &model.features.parts {
        match part {
            FeaturePart::Column { name, type_name } => {
                let weight = weights.next().unwrap_or_default();
                let column = identifier(name);
                terms.extend(match type_name.as_str() {
                    "boolean" => truth_term(model.nulls, weight, &column),
                    _ => number_term(model.nulls, weight, &column),
                });
            }
            FeaturePart::Array { name, length, .. } => {
                let column = identifier(name);
                for place in 1..=length.unwrap_or(0) {
                    let weight = weights.next().unwrap_or_default();
                    terms.extend(number_term(
                        model.nulls,
                        weight,
                        &format!("{column}[{place}]"),
                    ));
                }
            }
            FeaturePart::Sparse { .. } | FeaturePart::Libsvm { .. } => {
                return Err(Failure::new(
                    Code::ERRCODE_FEATURE_NOT_SUPPORTED,
                    format!(
                        "features {} of model \"{}\" cannot be written as an SQL expression",
                        part.name(),
                        model.name
                    ),
                )
                .detail("SQL has no short form for sparse features.")
                .hint(format!(
                    "Their weights: SELECT * FROM svm_weights('{}').",
                    model.base_name().replace('\'', "''")
                )))
            }
        }
    }
    Ok(sum(terms))
}

/// Weight times number. A feature that counts nothing is left out, unless a NULL in it makes the
/// decision NULL.
fn number_term(nulls: Nulls, weight: f64, column: &str) -> Option<String> {
    match nulls {
        Nulls::Zero if weight == 0.0 => None,
        Nulls::Zero => Some(format!("{} * COALESCE({column}, 0)", signed(weight))),
        Nulls::Skip | Nulls::Error => Some(format!("{} * {column}", signed(weight))),
    }
}

/// The weight where the column is true.
fn truth_term(nulls: Nulls, weight: f64, column: &str) -> Option<String> {
    match nulls {
        Nulls::Zero if weight == 0.0 => None,
        Nulls::Zero => Some(format!("+ CASE WHEN {column} THEN {weight:?} ELSE 0 END")),
        Nulls::Skip | Nulls::Error => Some(format!(
            "+ CASE WHEN {column} THEN {weight:?} WHEN NOT {column} THEN 0 END"
        )),
    }
}

/// A number behind its sign, with as many digits as make it the same number again.
fn signed(number: f64) -> String {
    let sign = match number < 0.0 {
        true => '-',
        false => '+',
    };
    format!("{sign} {:?}", number.abs())
}

/// A name in quotes: without them other databases would read it in upper case, or as a keyword.
fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The sum of the terms, each of which starts with its sign.
fn sum(mut terms: Vec<String>) -> String {
    let joined = |terms: &[String]| {
        let sum = terms.join("\n");
        match sum.strip_prefix("+ ") {
            Some(sum) => sum.to_owned(),
            None => sum,
        }
    };
    while terms.len() > SUM_TERMS {
        terms = terms
            .chunks(SUM_TERMS)
            .map(|some| format!("+ ({})", joined(some)))
            .collect();
    }
    joined(&terms)
}
