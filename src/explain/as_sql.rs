//! `svm_as_sql`: a decision as an SQL expression over the model's columns, for any database. Numbers
//! are written so that they read back as they are; only the order of additions may differ, and the rows of a kernel machine
//! are compared in 64 bits, which predictions round to 32.

mod kernel_machine;
mod unit_rows;

use crate::base::errors::{Code, Failure, OrRaise};
use crate::base::text;
use crate::combinations::models;
use crate::features::{identifier, Feature, FeaturePart, Nulls, Operand};
use crate::model::{self, ClassArgument, Model};
use crate::pg::c_function;
use crate::pg::select::text_datum;
use crate::pg::varlena::Varlena;
use pgrx::pg_sys;
use pgsvm_core::memory::{all_of, OutOfMemory, Room};
use pgsvm_core::quantiles;
use std::collections::HashMap;

c_function!(svm_as_sql_wrapper, pg_finfo_svm_as_sql_wrapper, svm_as_sql);

/// Most terms of an expression.
const MAX_TERMS: usize = 100_000;
/// Most terms of one sum: SQLite takes expressions up to 1000 deep, and a sum is as deep as it is long.
const SUM_TERMS: usize = 400;

/// `svm_as_sql(model, class) -> text`; a NULL class is for models of two, or of quantiles, of which it is the one that stands for all.
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
        let model = model::of_call(fcinfo, &name).or_raise();
        let named = (!class.isnull)
            .then(|| ClassArgument::default().read(&model, fcinfo, 1))
            .transpose()
            .or_raise();
        let class = match (named, model.heads.len()) {
            (named, 2..) if model.regresses => {
                named.unwrap_or_else(|| quantiles::middle(&model.quantiles))
            }
            (None, 1) => 1,
            (Some(_), 1) if model.regresses => 1,
            (None, _) => model
                .too_many_classes("an expression", "svm_as_sql", "")
                .raise(),
            (Some(class), _) => class,
        };
        check_parts(&model).or_raise();
        let written = match model.quantiles.len() > 1 && model.kernel.is_none() {
            true => of_quantiles(&model, class),
            false => expression(&model, class),
        };
        text_datum(&written.or_raise())
    }
}

/// Of several quantiles the one at this place, as predictions are sorted.
fn of_quantiles(model: &Model, place: usize) -> Result<String, Failure> {
    let each = (0..model.heads.len()).map(|head| expression(model, head));
    let each = all_of(each.map(|one| one.map(|one| format!("SELECT {one} AS prediction"))))?;
    Ok(at_place(&each, place)?)
}

/// Of these SELECTs of one prediction each the one at this place, the smallest first.
fn at_place(predictions: &[String], place: usize) -> Result<String, OutOfMemory> {
    let all = text::joined(predictions, "\nUNION ALL ")?;
    text::written(format_args!(
        "(SELECT prediction FROM ({all}) AS predictions\nORDER BY prediction LIMIT 1 OFFSET {place})"
    ))
}

fn expression(model: &Model, class: usize) -> Result<String, Failure> {
    if let Some((machine, form)) = model.kernel.as_ref().zip(model.features.kernel.as_ref()) {
        return kernel_machine::expression(model, (machine, form), class);
    }
    let (head, sign) = model.head_of_class(class);
    let written = WrittenDecision {
        model,
        head,
        sign,
        categories: categories(model, head, sign)?,
    };
    let intercept = sign * model.heads[head].intercept;
    if let Some(scaling) = &model.features.unit_rows {
        return Ok(unit_rows::expression(&written, scaling, intercept)?);
    }
    let mut terms = Vec::new();
    terms
        .room(1)?
        .push(format!("+ CAST({intercept:?} AS double precision)"));
    let mut feature = 0;
    for operand in operands(&model.features.parts) {
        terms.room(1)?.extend(match operand {
            Operand::Category(name, type_name, _) => Some(written.category(name, type_name)?),
            Operand::Number(column, is_truth) => {
                feature += 1;
                match is_truth {
                    true => written.truth(feature - 1, &column),
                    false => written.number(feature - 1, &column),
                }
            }
        });
    }
    Ok(sum(terms)?)
}

/// What these parts put into the decision, one after the other.
fn operands(parts: &[FeaturePart]) -> impl Iterator<Item = Operand<'_>> {
    parts.iter().filter_map(|part| part.as_sql().ok()).flatten()
}

/// The weights of a category column's values.
#[derive(Default)]
struct Categories<'a> {
    values: Vec<(&'a str, f64)>,
    null: f64,
}

/// The weights of all category columns, by column.
///
/// # Errors
/// When the model has too many features.
fn categories(
    model: &Model,
    head: usize,
    sign: f64,
) -> Result<HashMap<&str, Categories<'_>>, Failure> {
    check_terms(model)?;
    let mut columns: HashMap<&str, Categories<'_>> = HashMap::new();
    for (id, weights) in model.sparse.iter() {
        let weight = sign * weights[head];
        let id = model.dense_count as u64 + u64::from(id);
        match model.features.feature(id) {
            Feature::Category(column, value) if weight != 0.0 => {
                let column = columns.room(1)?.entry(column).or_default();
                column.values.room(1)?.push((value, weight));
            }
            Feature::Null(column) => columns.room(1)?.entry(column).or_default().null = weight,
            _ => {}
        }
    }
    Ok(columns)
}

/// Refuses a model with features that cannot be written.
fn check_parts(model: &Model) -> Result<(), Failure> {
    let mut refused = model.features.parts.iter();
    let refused = refused.find_map(|part| part.as_sql().err().map(|why| (part.name(), why)));
    let Some((part, detail)) = refused else {
        return Ok(());
    };
    let name = model.base_name().replace('\'', "''");
    Err(models::unwritten_features(part, &model.name, detail, name))
}

/// Refuses a linear model with too many features.
fn check_terms(model: &Model) -> Result<(), Failure> {
    let features = model.dense_count + model.sparse.iter().take(MAX_TERMS).count();
    // of several quantiles each has its terms
    if features.saturating_mul(model.quantiles.len().max(1)) <= MAX_TERMS {
        return Ok(());
    }
    Err(Failure::new(
        Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        format!(
            "model \"{}\" has more features than an SQL expression can hold",
            model.name
        ),
    )
    .detail(format!("At most {MAX_TERMS} can be written.")))
}

/// A decision on its way into SQL. Each term starts with its sign; a feature that adds nothing is left
/// out, unless a NULL in it makes the decision NULL.
struct WrittenDecision<'a> {
    model: &'a Model,
    head: usize,
    sign: f64,
    categories: HashMap<&'a str, Categories<'a>>,
}

impl WrittenDecision<'_> {
    fn weight(&self, feature: usize) -> f64 {
        self.sign * self.model.dense_of(self.head)[feature]
    }

    /// Weight times number.
    fn number(&self, feature: usize, value: &str) -> Option<String> {
        let weight = self.weight(feature);
        match instead_of_null(self.model, feature) {
            None => Some(format!("{} * {value}", signed(weight))),
            Some(_) if weight == 0.0 => None,
            Some(number) => Some(format!(
                "{} * COALESCE({value}, {number:?})",
                signed(weight)
            )),
        }
    }

    /// The weight where the column is true.
    fn truth(&self, feature: usize, column: &str) -> Option<String> {
        let weight = self.weight(feature);
        let otherwise = match instead_of_null(self.model, feature) {
            None => String::new(),
            Some(_) if weight == 0.0 => return None,
            Some(number) => format!(" ELSE {:?}", weight * number),
        };
        Some(format!(
            "+ CASE WHEN {column} THEN {weight:?} WHEN NOT {column} THEN 0{otherwise} END"
        ))
    }

    /// The weight of the category; one that training did not see counts nothing.
    fn category(&self, name: &str, type_name: &str) -> Result<String, OutOfMemory> {
        let column = identifier(name);
        let known = self.categories.get(name);
        let null = match self.model.nulls {
            Nulls::Error | Nulls::Skip => "NULL".to_owned(),
            Nulls::Zero => "0".to_owned(),
            Nulls::Mean => format!("{:?}", known.map_or(0.0, |known| known.null)),
        };
        let mut cases = format!("+ CASE WHEN {column} IS NULL THEN {null}");
        for (value, weight) in known.iter().flat_map(|known| &known.values) {
            let value = literal(value, type_name);
            let case = format!(" WHEN {column} = {value} THEN {weight:?}");
            cases.room(case.len())?.push_str(&case);
        }
        let end = " ELSE 0 END";
        cases.room(end.len())?.push_str(end);
        Ok(cases)
    }
}

/// What stands for NULL in a dense feature; None where NULL makes the decision NULL.
fn instead_of_null(model: &Model, feature: usize) -> Option<f64> {
    match model.nulls {
        Nulls::Error | Nulls::Skip => None,
        Nulls::Zero => Some(0.0),
        Nulls::Mean => model.features.means.get(feature).copied(),
    }
}

/// The number of a dense feature in a row, less its centre and times its factor.
fn scaled(
    model: &Model,
    feature: usize,
    (column, is_truth): (&str, bool),
    scaling: (f64, f64),
) -> String {
    let instead = instead_of_null(model, feature);
    let value = match (is_truth, instead) {
        (false, None) => column.to_owned(),
        (false, Some(number)) => format!("COALESCE({column}, {number:?})"),
        (true, instead) => {
            let instead = instead.map_or(String::new(), |number| format!(" ELSE {number:?}"));
            format!("CASE WHEN {column} THEN 1 WHEN NOT {column} THEN 0{instead} END")
        }
    };
    let value = format!("CAST({value} AS double precision)");
    match scaling {
        (0.0, 1.0) => value,
        (centre, factor) => format!("(({value} - ({centre:?})) * {factor:?})"),
    }
}

/// A category as a value of its column.
fn literal(value: &str, type_name: &str) -> String {
    match type_name {
        "boolean" | "smallint" | "integer" | "bigint" => value.to_owned(),
        _ => format!("'{}'", value.replace('\'', "''")),
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

/// The sum of the terms, each of which starts with its sign.
fn sum(mut terms: Vec<String>) -> Result<String, OutOfMemory> {
    while terms.len() > SUM_TERMS {
        let sums = terms.chunks(SUM_TERMS);
        terms = all_of(sums.map(|some| joined("+ (", some, ")")))?;
    }
    joined("", &terms, "")
}

/// The terms one after another; the first without its sign if that is a plus.
fn joined(before: &str, terms: &[String], behind: &str) -> Result<String, OutOfMemory> {
    let bytes: usize = terms.iter().map(|term| term.len() + 1).sum();
    let mut sum = String::new();
    sum.room(before.len() + bytes + behind.len())?
        .push_str(before);
    for (at, term) in terms.iter().enumerate() {
        match at {
            0 => sum.push_str(term.strip_prefix("+ ").unwrap_or(term)),
            _ => {
                sum.push('\n');
                sum.push_str(term);
            }
        }
    }
    sum.push_str(behind);
    Ok(sum)
}
