//! `svm_evaluate`, `svm_confusion` and `svm_roc`: one query each that scans the relation once, predicts
//! its rows and feeds the aggregates. It runs through SPI with the caller's rights, in parallel where
//! PostgreSQL finds that worth it. A row whose label or prediction is NULL is left out.

use super::subject::{literal, number, Says, Subject};
use crate::base::errors::{Code, Failure, OrRaise};
use crate::base::text::{joined, terminated, written};
use crate::combinations::models;
use crate::pg::long_errors::cut_off;
use crate::pg::memory_ends::prepared;
use crate::request::source::quote;
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgrx::spi::{quote_literal, SpiError, SpiHeapTupleData};
use pgsvm_core::memory::{owned, OutOfMemory, Room};
use pgsvm_core::quantiles;

/// Most classes whose areas are averaged: each row takes as many decisions again.
const MOST_AREAS: usize = 32;

/// `svm_evaluate(model, relation | query [, label])`.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn svm_evaluate(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(rows, Option<i64>),
        name!(accuracy, Option<f64>),
        name!(balanced_accuracy, Option<f64>),
        name!(precision, Option<f64>),
        name!(recall, Option<f64>),
        name!(f1, Option<f64>),
        name!(auc, Option<f64>),
        name!(log_loss, Option<f64>),
        name!(rows_left_out, Option<i64>),
        name!(unseen_words, Option<f64>),
        name!(unseen_categories, Option<i64>),
        name!(unseen_labels, Option<i64>),
        name!(rmse, Option<f64>),
        name!(mae, Option<f64>),
        name!(r2, Option<f64>),
        name!(pinball, Option<f64>),
        name!(median_absolute_error, Option<f64>),
    ),
> {
    let _prepared = prepared();
    // SAFETY: PostgreSQL calls the function by its SQL declaration.
    let subject = unsafe { Subject::of_call(fcinfo) }.or_raise();
    let mut unknown = None;
    let rows = rows_of(evaluation(&subject), |row| {
        let (rows, labels) = (row.get::<i64>(1)?, row.get::<i64>(12)?);
        let example = row.get::<&str>(13)?;
        unknown = subject.unknown_labels(rows, labels, example);
        Ok((
            rows,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
            row.get(5)?,
            row.get(6)?,
            row.get(7)?,
            row.get(8)?,
            row.get(9)?,
            row.get(10)?,
            row.get(11)?,
            labels,
            row.get(14)?,
            row.get(15)?,
            row.get(16)?,
            row.get(17)?,
            row.get(18)?,
        ))
    });
    let rows = rows.or_raise();
    if let Some(warning) = unknown {
        warning.warn();
    }
    TableIterator::new(rows)
}

/// `svm_confusion(model, relation | query [, label])`.
#[pg_extern(sql = false)]
fn svm_confusion(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(actual, Option<String>),
        name!(predicted, Option<String>),
        name!(rows, Option<i64>),
    ),
> {
    let _prepared = prepared();
    // SAFETY: PostgreSQL calls the function by its SQL declaration.
    let subject = unsafe { Subject::of_call(fcinfo) }.or_raise();
    subject.model.check_classes().or_raise();
    let rows = rows_of(confusion(&subject), |row| {
        let text = |at: usize| {
            let text = row.get::<&str>(at)?;
            Ok::<_, SpiError>(text.map(|text| owned(text).or_raise()))
        };
        Ok((text(1)?, text(2)?, row.get(3)?))
    });
    TableIterator::new(rows.or_raise())
}

/// `svm_roc(model, relation | query [, label])`.
#[pg_extern(sql = false)]
fn svm_roc(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(threshold, Option<f64>),
        name!(false_positive_rate, Option<f64>),
        name!(true_positive_rate, Option<f64>),
    ),
> {
    let _prepared = prepared();
    // SAFETY: PostgreSQL calls the function by its SQL declaration.
    let subject = unsafe { Subject::of_call(fcinfo) }.or_raise();
    subject.model.check_classes().or_raise();
    let rows = rows_of(roc(&subject), |row| {
        Ok((row.get(1)?, row.get(2)?, row.get(3)?))
    });
    TableIterator::new(rows.or_raise())
}

/// The rows of a query of ours.
fn rows_of<T>(
    query: Result<String, Failure>,
    mut read: impl FnMut(&SpiHeapTupleData<'_>) -> Result<T, SpiError>,
) -> Result<Vec<T>, Failure> {
    let query = terminated(&query?)?;
    let rows = || {
        Spi::connect(|client| {
            let mut rows = Vec::new();
            for row in client.select(&query, None, &[])? {
                rows.room(1).or_raise().push(read(&row)?);
            }
            Ok(rows)
        })
    };
    cut_off(rows).map_err(|error: SpiError| {
        Failure::new(
            Code::ERRCODE_INTERNAL_ERROR,
            format!("could not evaluate: {error}"),
        )
    })
}

/// The query of `svm_evaluate`: one row.
fn evaluation(subject: &Subject) -> Result<String, Failure> {
    if subject.model.regresses {
        return of_numbers(subject);
    }
    let labels = subject.model.labels.as_slice();
    let says = match subject.says_class() {
        Says::Class if labels.len() <= MOST_AREAS || subject.has_probabilities() => {
            Says::Everything
        }
        Says::Decision if subject.is_isotonic() => Says::Everything,
        enough => enough,
    };
    let predicted = subject.predicted(says)?;
    let Measures {
        metrics,
        area,
        loss,
    } = match labels {
        [_, positive] => of_two(subject, says, &predicted, positive)?,
        labels => of_many(subject, &predicted, labels)?,
    };
    let [words, categories] = unseen(subject);
    let rows = rows_asked(subject, says)?;
    let labels = subject.label_array()?;
    Ok(written(format_args!(
        "SELECT (found.metrics).rows, (found.metrics).accuracy, (found.metrics).balanced_accuracy,
             (found.metrics).precision, (found.metrics).recall, (found.metrics).f1, found.area, found.loss,
             found.rows OPERATOR(pg_catalog.-) (found.metrics).rows, found.words, found.categories, found.labels, found.label,
             {NOTHING}, {NOTHING}, {NOTHING}, {NOTHING}, {NOTHING}
         FROM (SELECT {metrics} AS metrics, {area} AS area, {loss} AS loss, pg_catalog.count(*) AS rows,
                   {words} AS words, {categories} AS categories,
                   pg_catalog.count(*) FILTER (WHERE row.actual OPERATOR(pg_catalog.<>) ALL ({labels})) AS labels,
                   pg_catalog.min(row.actual COLLATE pg_catalog.\"C\") FILTER (WHERE row.actual OPERATOR(pg_catalog.<>) ALL ({labels}))
                       AS label
               FROM {rows} AS row) AS found"
    ))?)
}

/// The rows of an evaluation, with what is unseen in them where there may be some.
fn rows_asked(subject: &Subject, says: Says) -> Result<String, OutOfMemory> {
    match subject.has_words() || subject.has_categories() {
        true => subject.rows_and_unseen(says),
        false => subject.rows(says),
    }
}

/// What counts unseen words, and rows with unseen categories.
fn unseen(subject: &Subject) -> [&'static str; 2] {
    [
        match subject.has_words() {
            true => UNSEEN_WORDS,
            false => NOTHING,
        },
        match subject.has_categories() {
            true => UNSEEN_CATEGORIES,
            false => "NULL::pg_catalog.int8",
        },
    ]
}

/// The same of a regression: how far predictions are from labels; of several quantiles the middle one is the prediction.
fn of_numbers(subject: &Subject) -> Result<String, Failure> {
    let [words, categories] = unseen(subject);
    let quantiles = subject.model.quantiles.as_slice();
    let (says, decision, pinball) = match quantiles {
        [] => (
            Says::Decision,
            "inside.decision".to_owned(),
            NOTHING.to_owned(),
        ),
        all => {
            let middle = format!("inside.quantiles[{}]", 1 + quantiles::middle(all));
            (Says::Quantiles, middle, pinball(all)?)
        }
    };
    let rows = rows_asked(subject, says)?;
    let nothing = [NOTHING; 7].join(", ");
    // avg() squares what it is given once more, and large squares have none
    let square =
        "(pg_catalog.sum(row.away OPERATOR(pg_catalog.*) row.away) OPERATOR(pg_catalog./) \
                   pg_catalog.count(row.away)::pg_catalog.float8)";
    let variance = "pg_catalog.var_pop(row.actual) FILTER (WHERE row.away IS NOT NULL)";
    Ok(written(format_args!(
        "SELECT found.rows, {nothing}, found.all_rows OPERATOR(pg_catalog.-) found.rows, found.words, found.categories,
             NULL::pg_catalog.int8, NULL::pg_catalog.text, found.rmse, found.mae, found.r2, found.pinball, found.middle
         FROM (SELECT pg_catalog.count(row.away) AS rows, pg_catalog.count(*) AS all_rows, pg_catalog.sqrt({square}) AS rmse,
                   pg_catalog.avg(pg_catalog.abs(row.away)) AS mae,
                   CASE WHEN {variance} OPERATOR(pg_catalog.>) 0::pg_catalog.float8
                       THEN 1::pg_catalog.float8 OPERATOR(pg_catalog.-) ({square} OPERATOR(pg_catalog./) {variance}) END AS r2,
                   {pinball} AS pinball, svm_internal.svm_median(pg_catalog.abs(row.away)) AS middle, {words} AS words, {categories} AS categories
               FROM (SELECT inside.*, inside.actual OPERATOR(pg_catalog.-) {decision} AS away FROM {rows} AS inside) AS row)
             AS found"
    ))?)
}

/// The mean of the losses of quantiles, as SQL: see [`quantiles::pinball`].
fn pinball(quantiles: &[f64]) -> Result<String, OutOfMemory> {
    let one = |(at, tau): (usize, &f64)| {
        let below = format!(
            "(row.actual OPERATOR(pg_catalog.-) row.quantiles[{}])",
            1 + at
        );
        format!(
            "GREATEST({} OPERATOR(pg_catalog.*) {below}, {} OPERATOR(pg_catalog.*) {below})",
            number(*tau),
            number(tau - 1.0)
        )
    };
    let all = quantiles.iter().enumerate().map(one);
    let all = joined(all, " OPERATOR(pg_catalog.+) ")?;
    let count = number(quantiles.len() as f64);
    written(format_args!(
        "pg_catalog.avg(({all}) OPERATOR(pg_catalog./) {count}) FILTER (WHERE row.away IS NOT NULL)"
    ))
}

/// Aggregates over the rows, as SQL: what counts of labels tell, the area under the curve, and the loss of probabilities.
struct Measures {
    metrics: String,
    area: String,
    loss: String,
}

/// Of the words in rows with a label the share that the model does not have; NULL where there are none.
const UNSEEN_WORDS: &str = "(pg_catalog.sum(row.unseen[2]) FILTER (WHERE row.actual IS NOT NULL))::pg_catalog.float8
    OPERATOR(pg_catalog./) CASE WHEN (pg_catalog.sum(row.unseen[1]) FILTER (WHERE row.actual IS NOT NULL))
        OPERATOR(pg_catalog.>) 0::pg_catalog.numeric
    THEN (pg_catalog.sum(row.unseen[1]) FILTER (WHERE row.actual IS NOT NULL))::pg_catalog.float8 END";

/// Rows with a label and a category that the model has not seen.
const UNSEEN_CATEGORIES: &str = "pg_catalog.count(*) FILTER (WHERE row.actual IS NOT NULL
    AND row.unseen[3] OPERATOR(pg_catalog.>) 0::pg_catalog.int8)";

const NOTHING: &str = "NULL::pg_catalog.float8";

fn of_two(
    subject: &Subject,
    says: Says,
    predicted: &str,
    positive: &str,
) -> Result<Measures, Failure> {
    let schema = &subject.schema;
    let positive = literal(positive);
    let truth = format!("row.actual OPERATOR(pg_catalog.=) {positive}");
    // decisions are larger for usual rows, and novel ones are looked for
    let found = match subject.model.finds_novelties {
        true => literal(&subject.model.labels[0]),
        false => positive,
    };
    Ok(Measures {
        metrics: format!("svm_internal.svm_label_metrics(row.actual, {predicted}, {found})"),
        area: format!("{schema}.svm_auc({}, {truth})", subject.decision(says)),
        loss: log_loss(schema, subject.probability(says), &truth)?,
    })
}

/// The area is the mean of those of each class against the others; one without rows has none and does not count.
fn of_many(subject: &Subject, predicted: &str, labels: &[String]) -> Result<Measures, Failure> {
    let schema = &subject.schema;
    let area_of = |(at, label): (usize, &String)| {
        let (decision, label) = (subject.decision_of(at), literal(label));
        format!("{schema}.svm_auc({decision}, row.actual OPERATOR(pg_catalog.=) {label})")
    };
    let area = match labels.len() <= MOST_AREAS {
        true => written(format_args!(
            "(SELECT pg_catalog.avg(area) FROM pg_catalog.unnest(ARRAY[{}]) AS area)",
            joined(labels.iter().enumerate().map(area_of), ", ")?
        ))?,
        false => NOTHING.to_owned(),
    };
    Ok(Measures {
        metrics: written(format_args!(
            "svm_internal.svm_label_metrics(row.actual, {predicted})"
        ))?,
        area,
        loss: log_loss(schema, subject.probability_of_actual()?, "true")?,
    })
}

fn log_loss(schema: &str, probability: Option<String>, truth: &str) -> Result<String, OutOfMemory> {
    match probability {
        Some(probability) => written(format_args!(
            "{schema}.svm_log_loss({probability}, {truth})"
        )),
        None => Ok(NOTHING.to_owned()),
    }
}

/// The query of `svm_confusion`: each pair of the model's classes, and those that occur beside, in the
/// order of the classes.
fn confusion(subject: &Subject) -> Result<String, Failure> {
    let labels = subject.label_array()?;
    let says = subject.says_class();
    Ok(written(format_args!(
        "WITH counted AS (
             SELECT row.actual, {} AS predicted, pg_catalog.count(*) AS rows FROM {} AS row
             WHERE row.actual IS NOT NULL
             GROUP BY 1, 2
         ), known AS (
             SELECT actual, predicted
             FROM pg_catalog.unnest({labels}) AS actual, pg_catalog.unnest({labels}) AS predicted
         )
         SELECT coalesce(counted.actual, known.actual), coalesce(counted.predicted, known.predicted),
             coalesce(counted.rows, 0)
         FROM (SELECT * FROM counted WHERE predicted IS NOT NULL) AS counted FULL JOIN known
             ON known.actual OPERATOR(pg_catalog.=) counted.actual
             AND known.predicted OPERATOR(pg_catalog.=) counted.predicted
         ORDER BY pg_catalog.array_position({labels}, coalesce(counted.actual, known.actual)),
             coalesce(counted.actual, known.actual),
             pg_catalog.array_position({labels}, coalesce(counted.predicted, known.predicted))",
        subject.predicted(says)?,
        subject.rows(says)?
    ))?)
}

/// The query of `svm_roc`: points of the curve in their order.
fn roc(subject: &Subject) -> Result<String, Failure> {
    let [_, positive] = subject.model.labels.as_slice() else {
        return Err(models::roc_classes(
            &subject.model.name,
            subject.model.labels.len(),
            &subject.schema,
            quote_literal(subject.model.base_name()),
            quote(&subject.label_column),
            quote_literal(&subject.model.labels[0]),
        ));
    };
    Ok(written(format_args!(
        "SELECT point.threshold, point.false_positive_rate, point.true_positive_rate
         FROM pg_catalog.unnest((
             SELECT {}.svm_roc_points(row.decision, row.actual OPERATOR(pg_catalog.=) {})
             FROM {} AS row
         )) AS point",
        subject.schema,
        literal(positive),
        subject.rows(Says::Decision)?
    ))?)
}
