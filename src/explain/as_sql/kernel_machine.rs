//! The decision of a kernel machine: f(x) = sum_j a_j k(z_j, x) + b, a sum over a list that has a line for each landmark z_j.
//! With two features:
//!
//! ```sql
//! b + (WITH landmarks(f1, z1, z2) AS MATERIALIZED (VALUES (a_1, …), (a_2, …)),
//!     features(x1, x2) AS MATERIALIZED (SELECT the row's values, scaled as landmarks are),
//!     compared(f1, v) AS MATERIALIZED (SELECT f1, gamma * ((x1 - z1) * (x1 - z1) + …) FROM landmarks CROSS JOIN features)
//! SELECT SUM(f1 * EXP(-v)) FROM compared)
//! ```
//!
//! Without MATERIALIZED PostgreSQL reads the list again for each row, and scales the row again for each landmark. A NULL makes
//! each v NULL, and so the sum. Classes that are told apart two by two have a factor for each other class, and votes of their sums; several
//! quantiles have a factor each, and the sums in their order.

use super::{at_place, literal, operands, scaled, signed, sum};
use crate::base::errors::Failure;
use crate::combinations::models;
use crate::features::{identifier, Dictionary, KernelForm, Nulls, Operand};
use crate::model::{KernelMachine, Model};
use crate::pg::Patience;
use pgsvm_core::kernels::{Kernel, Rows};
use pgsvm_core::memory::{gathered, OutOfMemory, Room};

/// Most numbers of landmarks and factors: PostgreSQL 15 plans 110,000 in 0.4 s and 150 MB.
const MOST_NUMBERS: usize = 200_000;
/// Most columns of a list of values: PostgreSQL has up to 1,664, SQLite 2,000.
const MOST_COLUMNS: usize = 1600;
/// Kernel values below this one are written as 0: PostgreSQL has an error for numbers that are nearly none.
const LEAST_VALUE: f64 = 1e-250;

/// The decision for a class, or the quantile at this place.
pub(super) fn expression(
    model: &Model,
    (machine, form): (&KernelMachine, &KernelForm),
    class: usize,
) -> Result<String, Failure> {
    let heads = heads(model, class)?;
    let landmarks = landmarks(machine, &heads)?;
    check_size(model, landmarks.len(), heads.len())?;
    let Some(kernel) = form.kernel() else {
        unreachable!("checked when the model was loaded");
    };
    let written = WrittenMachine {
        model,
        columns: columns(model, form)?,
        heads,
        class,
    };
    Ok(written.expression(machine, &landmarks, &kernel)?)
}

/// The heads that speak about a class, each with the sign of its decision for it; about a quantile all.
fn heads(model: &Model, class: usize) -> Result<Vec<(usize, f64)>, OutOfMemory> {
    let mut heads = Vec::new();
    if model.quantiles.len() > 1 {
        return gathered((0..model.heads.len()).map(|head| (head, 1.0)));
    }
    if model.pairs.is_none() {
        heads.room(1)?.push(model.head_of_class(class));
        return Ok(heads);
    }
    for head in 0..model.heads.len() {
        let (positive, negative) = model.classes_of_head(head);
        if positive == class || negative == Some(class) {
            let sign = if positive == class { 1.0 } else { -1.0 };
            heads.room(1)?.push((head, sign));
        }
    }
    Ok(heads)
}

/// The landmarks that have a factor in one of the heads; at least one.
fn landmarks(machine: &KernelMachine, heads: &[(usize, f64)]) -> Result<Vec<usize>, OutOfMemory> {
    let has_factor = |at: &usize| {
        let mut heads = heads.iter();
        heads.any(|(head, _)| machine.factors(*head)[*at] != 0.0)
    };
    let mut all = Vec::new();
    let count = machine.landmarks().len();
    all.room(count)?.extend((0..count).filter(has_factor));
    if all.is_empty() {
        all.push(0);
    }
    Ok(all)
}

/// Refuses a machine whose text would be larger than a server likes to plan.
fn check_size(model: &Model, landmarks: usize, heads: usize) -> Result<(), Failure> {
    let categories = model.features.parts.iter();
    let categories = categories.filter_map(|part| part.dictionary());
    let categories: u64 = categories.map(Dictionary::len).sum();
    let features = model.dense_count.saturating_add(categories as usize);
    let columns = features.saturating_add(heads);
    if columns <= MOST_COLUMNS && landmarks.saturating_mul(columns) <= MOST_NUMBERS {
        return Ok(());
    }
    Err(models::large_machine(
        &model.name,
        landmarks,
        features,
        MOST_NUMBERS,
        MOST_COLUMNS,
        model.base_name().replace('\'', "''"),
    ))
}

/// A feature: its id, and its scaled value in a row.
struct ScaledFeature {
    feature: usize,
    value: String,
}

/// All features of the model.
fn columns(model: &Model, form: &KernelForm) -> Result<Vec<ScaledFeature>, OutOfMemory> {
    let mut columns = Vec::new();
    let mut dense = 0;
    for operand in operands(&model.features.parts) {
        match operand {
            Operand::Number(column, is_truth) => {
                let by = scaling(model, form, dense);
                columns.room(1)?.push(ScaledFeature {
                    feature: dense,
                    value: scaled(model, dense, (&column, is_truth), by),
                });
                dense += 1;
            }
            Operand::Category(name, type_name, known) => {
                let (column, null) = (identifier(name), of_null(model.nulls));
                for (value, code) in known.coded() {
                    let value = literal(value, type_name);
                    let is_it = format!("IS NULL THEN {null} WHEN {column} = {value}");
                    columns
                        .room(1)?
                        .push(category(model, form, code, (&column, &is_it)));
                }
                if let Some(code) = known.null_code() {
                    columns
                        .room(1)?
                        .push(category(model, form, code, (&column, "IS NULL")));
                }
            }
        }
    }
    Ok(columns)
}

/// The feature of a category's code: its factor where the column is that category.
fn category(
    model: &Model,
    form: &KernelForm,
    code: u32,
    (column, is_it): (&str, &str),
) -> ScaledFeature {
    let feature = model.dense_count + code as usize;
    let (_, factor) = scaling(model, form, feature);
    let case = format!("CASE WHEN {column} {is_it} THEN {factor:?} ELSE 0 END");
    ScaledFeature {
        feature,
        value: format!("CAST({case} AS double precision)"),
    }
}

/// What values of a category column are where it is NULL.
fn of_null(nulls: Nulls) -> &'static str {
    match nulls {
        Nulls::Error | Nulls::Skip => "NULL",
        Nulls::Zero | Nulls::Mean => "0",
    }
}

/// What is taken from a feature's values, and what they are multiplied with then.
fn scaling(model: &Model, form: &KernelForm, feature: usize) -> (f64, f64) {
    let first = || form.first.get(feature).copied().unwrap_or(0.0);
    match (&model.features.unit_rows, &form.scaling) {
        (Some(scaling), _) => (scaling.centre_of(feature), scaling.factor_of(feature)),
        (None, Some(scaling)) => match scaling.factor.is_empty() && feature < scaling.dense {
            true => (first(), 1.0),
            false => (scaling.centre_of(feature), scaling.factor_of(feature)),
        },
        (None, None) => (0.0, 1.0),
    }
}

/// A decision on its way into SQL.
struct WrittenMachine<'a> {
    model: &'a Model,
    columns: Vec<ScaledFeature>,
    heads: Vec<(usize, f64)>,
    class: usize,
}

impl WrittenMachine<'_> {
    fn expression(
        &self,
        machine: &KernelMachine,
        landmarks: &[usize],
        kernel: &Kernel,
    ) -> Result<String, OutOfMemory> {
        let (argument, value) = compared(kernel, self.columns.len())?;
        let factors = names("f", self.heads.len())?;
        let pieces = [
            "(WITH landmarks(",
            &factors,
            ", ",
            &names("z", self.columns.len())?,
            ") AS MATERIALIZED (VALUES\n",
            &self.list(machine, landmarks)?,
            "),\n",
            &self.features()?,
            "compared(",
            &factors,
            ", v) AS MATERIALIZED (SELECT ",
            &factors,
            ",\n",
            &argument,
            "\nFROM landmarks CROSS JOIN features)",
        ];
        let (before, behind) = self.decision(&value)?;
        let mut text = before;
        for piece in pieces.into_iter().chain([behind.as_str()]) {
            push(&mut text, piece)?;
        }
        Ok(text)
    }

    /// A line for each landmark: factors, and features as they are scaled. Types are said in the first one.
    fn list(&self, machine: &KernelMachine, landmarks: &[usize]) -> Result<String, OutOfMemory> {
        let mut list = String::new();
        let mut patience = Patience::default();
        for (place, at) in landmarks.iter().enumerate() {
            let heads = self.heads.iter();
            let factors = heads.map(|(head, sign)| sign * machine.factors(*head)[*at]);
            let columns = self.columns.iter();
            let values = columns.map(|column| value_of(machine.landmarks(), *at, column.feature));
            for (n, number) in factors.chain(values).enumerate() {
                patience.tick();
                push(&mut list, if n == 0 { "(" } else { ", " })?;
                let number = match (place, number) {
                    (0, _) => format!("CAST({number:?} AS double precision)"),
                    (_, 0.0) => "0".to_owned(),
                    _ => format!("{number:?}"),
                };
                push(&mut list, &number)?;
            }
            let is_last = place + 1 == landmarks.len();
            push(&mut list, if is_last { ")" } else { "),\n" })?;
        }
        Ok(list)
    }

    /// The row's features as they are scaled, and divided by their length where the model does so.
    fn features(&self) -> Result<String, OutOfMemory> {
        let is_unit = self.model.features.unit_rows.is_some();
        let count = self.columns.len();
        let name = if is_unit { "scaled(" } else { "features(" };
        let mut text = String::new();
        push(&mut text, name)?;
        push(&mut text, &names("x", count)?)?;
        push(&mut text, ") AS MATERIALIZED (SELECT ")?;
        for (place, column) in self.columns.iter().enumerate() {
            push(&mut text, if place == 0 { "" } else { ",\n" })?;
            push(&mut text, &column.value)?;
        }
        push(&mut text, "),\n")?;
        if is_unit {
            let squares = sum_of(count, |n| format!("+ x{n} * x{n}"))?;
            for piece in [
                "squares(q) AS MATERIALIZED (SELECT ",
                &squares,
                " FROM scaled),\nlengths(l) AS MATERIALIZED (SELECT CASE WHEN q > 0 THEN SQRT(q) ELSE 1 END FROM squares),\nfeatures(",
                &names("x", count)?,
                ") AS MATERIALIZED (SELECT ",
                &listed(count, |n| format!("x{n} / l"))?,
                " FROM scaled CROSS JOIN lengths),\n",
            ] {
                push(&mut text, piece)?;
            }
        }
        Ok(text)
    }

    /// What stands before and behind the comparisons, where `value` is the kernel's of one.
    fn decision(&self, value: &str) -> Result<(String, String), OutOfMemory> {
        let intercept = |(head, sign): &(usize, f64)| sign * self.model.heads[*head].intercept;
        if self.heads.len() == 1 && self.model.pairs.is_none() {
            let intercept = intercept(&self.heads[0]);
            let before = format!("CAST({intercept:?} AS double precision)\n+ ");
            return Ok((before, format!("\nSELECT SUM(f1 * {value}) FROM compared)")));
        }
        let count = self.heads.len();
        let sums = listed(count, |n| {
            let intercept = signed(intercept(&self.heads[n - 1]));
            format!("SUM(f{n} * {value}) {intercept}")
        })?;
        let mut behind = String::new();
        for piece in [
            ",\ndecisions(",
            &names("h", count)?,
            ") AS MATERIALIZED (SELECT ",
            &sums,
            " FROM compared)\nSELECT ",
        ] {
            push(&mut behind, piece)?;
        }
        if self.model.pairs.is_none() {
            let each = (1..=count).map(|n| format!("SELECT h{n} AS prediction FROM decisions"));
            push(&mut behind, &at_place(&gathered(each)?, self.class)?)?;
            push(&mut behind, ")")?;
            return Ok((String::new(), behind));
        }
        let all = sum_of(count, |n| format!("+ h{n}"))?;
        let votes = sum_of(count, |n| {
            format!("+ CASE WHEN h{n} > 0 THEN 1 WHEN h{n} = 0 THEN 0.5 WHEN h{n} < 0 THEN 0 END")
        })?;
        for piece in [
            votes.as_str(),
            "\n+ (",
            &all,
            ") / (ABS(",
            &all,
            ") + 1) / 3 FROM decisions)",
        ] {
            push(&mut behind, piece)?;
        }
        Ok((String::new(), behind))
    }
}

/// What the kernel is a function of, for a row and a landmark of so many features; and the function, of that as `v`.
fn compared(kernel: &Kernel, count: usize) -> Result<(String, String), OutOfMemory> {
    let products = || sum_of(count, |n| format!("+ x{n} * z{n}"));
    let line = |gamma: f64, coef0: f64| {
        let coef0 = signed(coef0);
        products().map(|products| format!("{gamma:?} * ({products}) {coef0}"))
    };
    Ok(match *kernel {
        Kernel::Linear => (products()?, "v".to_owned()),
        Kernel::Rbf { gamma } => {
            let distance = sum_of(count, |n| format!("+ (x{n} - z{n}) * (x{n} - z{n})"))?;
            let most = -LEAST_VALUE.ln();
            let value = format!("CASE WHEN v > {most:.0} THEN 0 ELSE EXP(-v) END");
            (format!("{gamma:?} * ({distance})"), value)
        }
        Kernel::Polynomial {
            gamma,
            degree: 1,
            coef0,
        } => (line(gamma, coef0)?, "v".to_owned()),
        Kernel::Polynomial {
            gamma,
            degree,
            coef0,
        } => {
            let least = LEAST_VALUE.powf(1.0 / f64::from(degree));
            let power =
                format!("CASE WHEN ABS(v) < {least:.1e} THEN 0 ELSE POWER(v, {degree}) END");
            (line(gamma, coef0)?, power)
        }
        Kernel::Sigmoid { gamma, coef0 } => (line(gamma, coef0)?, "TANH(v)".to_owned()),
    })
}

/// A feature's value in a landmark.
fn value_of(landmarks: &Rows, at: usize, feature: usize) -> f64 {
    if let Some(value) = landmarks.dense(at).get(feature) {
        return f64::from(*value);
    }
    let sparse = landmarks.sparse(at);
    let found = sparse.binary_search_by_key(&feature, |[feature, _]| *feature as usize);
    found.map_or(0.0, |place| f64::from(f32::from_bits(sparse[place][1])))
}

/// `x1, x2, …`
fn names(letter: &str, count: usize) -> Result<String, OutOfMemory> {
    listed(count, |n| format!("{letter}{n}"))
}

/// As many as that, from 1, with commas between them.
fn listed(count: usize, each: impl Fn(usize) -> String) -> Result<String, OutOfMemory> {
    let mut list = String::new();
    for n in 1..=count {
        push(&mut list, if n == 1 { "" } else { ", " })?;
        push(&mut list, &each(n))?;
    }
    Ok(list)
}

/// The sum of as many terms, from 1, each of which starts with its sign.
fn sum_of(count: usize, each: impl Fn(usize) -> String) -> Result<String, OutOfMemory> {
    sum(gathered((1..=count).map(each))?)
}

fn push(text: &mut String, piece: &str) -> Result<(), OutOfMemory> {
    text.room(piece.len())?.push_str(piece);
    Ok(())
}
