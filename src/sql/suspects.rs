//! `svm_suspects`: the rows of a relation whose labels the model doubts most. One SELECT, run with the
//! caller's rights through the executor, which may share it out to parallel workers. Of a regression it scans twice: what error is an
//! outlier is told by the median of all.

use crate::base::errors::{Code, Failure, OrRaise};
use crate::base::near;
use crate::combinations::{following, novelty};
use crate::model::{self, Model};
use crate::pg::c_function;
use crate::pg::call::Call;
use crate::pg::query::{self, Column};
use crate::pg::result_set::ResultSet;
use crate::pg::select;
use crate::pg::varlena::Varlena;
use crate::predict::ranked::checked_count;
use crate::request::loss_named;
use crate::request::source::{free_name, quote, GivenSource};
use crate::request::words::sql_float;
use crate::sql::out_of_fold;
use crate::targets::labels::compared_type;
use pgrx::pg_sys;
use pgrx::spi::quote_literal;
use pgsvm_core::outlying;
use std::ffi::CString;

c_function!(
    svm_suspects_wrapper,
    pg_finfo_svm_suspects_wrapper,
    svm_suspects
);

/// `svm_suspects(model, relation | source, n, folds) -> TABLE(example jsonb, label text, predicted text, margin float8)`.
///
/// # Safety
/// `fcinfo` is PostgreSQL's, by a declaration with these arguments.
unsafe fn svm_suspects(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: as the caller promises; the values are of the declared types.
    unsafe {
        let mut rows = ResultSet::begin(fcinfo);
        let [name, named, count, folds] = *(*fcinfo).args.as_slice(4) else {
            unreachable!("four arguments");
        };
        if name.isnull || named.isnull {
            return pg_sys::Datum::from(0);
        }
        let name = Varlena::open(name.value);
        let name = String::from_utf8_lossy(name.payload());
        let model = model::of_call(fcinfo, &name)
            .map_err(|failure| model::or_swapped(fcinfo, &name, failure))
            .or_raise();
        if model.finds_novelties {
            novelty::suspects(model.name.replace('\'', "''")).raise();
        }
        let source = GivenSource::of_call(&Call::of(fcinfo)).or_raise();
        let limit = (!count.isnull).then_some(count.value.value() as i32);
        limit.map(|limit| checked_count("n", limit, 1).or_raise());
        let schema = model::schema_of_call(fcinfo);
        check_label(&model, &source.columns().or_raise(), &source).or_raise();
        if !folds.isnull {
            refuse_distributed(&source).or_raise();
            let asked = out_of_fold::AskedFolds {
                schema: &schema,
                model: &model,
                source: &source,
                folds: folds.value.value() as i32,
                below: select::connected(|| doubted_below(&schema, &model.name)),
                limit,
            };
            out_of_fold::visit(&asked, |row| {
                rows.put(|| [1, 2, 3, 4].map(|column| row.datum(column)))
            })
            .or_raise();
            return pg_sys::Datum::from(0);
        }
        let asked = SuspectsArguments {
            name: &name,
            below: select::connected(|| doubted_below(&schema, &model.name)),
            limit,
        };
        let query = query(&asked, &model, &source).or_raise();
        select::connected(|| {
            select::for_each_at_once(&query, |row| {
                rows.put(|| [1, 2, 3, 4].map(|column| row.datum(column)));
            });
        });
    }
    pg_sys::Datum::from(0)
}

/// What is asked for.
struct SuspectsArguments<'a> {
    name: &'a str,
    /// The margin below which labels are doubted.
    below: f64,
    limit: Option<i32>,
}

/// The margin below which the labels of model `name@version` are doubted: 0, or that of its outliers. SPI is connected.
fn doubted_below(schema: &str, name: &str) -> f64 {
    // before an update there is no such column
    let query = format!(
        "SELECT (pg_catalog.to_jsonb(stored) OPERATOR(pg_catalog.->>) 'truncation')::pg_catalog.float8, stored.loss
         FROM {schema}.svm_versions AS stored
         WHERE pg_catalog.concat(stored.name, '@', stored.version) OPERATOR(pg_catalog.=) {}::pg_catalog.text",
        quote_literal(name)
    );
    let query = CString::new(query).unwrap_or_default();
    let mut below = 0.0;
    select::for_each_at_once(&query, |row| {
        if let Some(s) = row.float8(1).filter(|s| *s > 0.0) {
            let loss = row.text(2).and_then(|word| loss_named(&word));
            below = loss.map_or(0.0, |loss| loss.margin_at(1.0 + s));
        }
    });
    below
}

/// How rows are judged, in SQL.
struct Judgement<'a> {
    /// The model as an argument, and whether it predicts numbers.
    name: String,
    regresses: bool,
    /// The label of a row as the text that is shown, and as a number.
    label: &'a str,
    number: &'a str,
}

impl Judgement<'_> {
    /// What is predicted of this row.
    fn predicted(&self, row: &str) -> String {
        match self.regresses {
            false => format!("svm_internal.svm_row_class({}, {row})", self.name),
            true => format!(
                "CAST(svm_internal.svm_row_decision({}, {row}) AS pg_catalog.text)",
                self.name
            ),
        }
    }

    /// How far the model speaks for the row's label; of a number how far off it is.
    fn margin(&self, row: &str) -> String {
        let Self {
            name,
            label,
            number,
            ..
        } = self;
        match self.regresses {
            false => format!("svm_internal.svm_row_margin({name}, {row}, {label})"),
            true => format!(
                "pg_catalog.abs({number} OPERATOR(pg_catalog.-) svm_internal.svm_row_decision({name}, {row}))"
            ),
        }
    }

    /// The order of the most doubtful first.
    fn order(&self) -> &'static str {
        match self.regresses {
            false => "",
            true => " DESC NULLS LAST",
        }
    }

    /// What margins of doubtful labels are: below this number, or outliers among those of all rows of `from`.
    fn doubtful(&self, below: f64, from: &str, row: &str) -> String {
        match self.regresses {
            false => format!("OPERATOR(pg_catalog.<) ({})", sql_float(below)),
            true => format!(
                "OPERATOR(pg_catalog.>) ((SELECT {}::pg_catalog.float8 OPERATOR(pg_catalog.*) svm_internal.svm_median({}) FROM {from}))",
                sql_float(outlying(1.0)),
                self.margin(row)
            ),
        }
    }
}

/// SQL for the label of row `alias` as a number.
pub(super) fn label_as_number(model: &Model, columns: &[Column], alias: &str) -> String {
    let mut all = columns.iter();
    let column = all.find(|column| column.name == model.label_column);
    let type_oid = column.map_or(pg_sys::TEXTOID, |column| column.type_oid);
    format!(
        "CAST(CAST({alias}.{} AS {}) AS pg_catalog.float8)",
        quote(&model.label_column),
        compared_type(&model.label_type, type_oid)
    )
}

/// The SELECT. What is slow, the row as jsonb, is made only of the rows that are shown.
fn query(
    asked: &SuspectsArguments<'_>,
    model: &Model,
    source: &GivenSource,
) -> Result<CString, Failure> {
    let columns = source.columns()?;
    let relation = source.table_expression()?;
    // a column of the relation would stand for the row if it had the alias for its name
    let alias = quote(&free_name("pgsvm row", &columns));
    let label = format!(
        "CAST({alias}.{} AS pg_catalog.text)",
        quote(&model.label_column)
    );
    let judged = Judgement {
        name: format!("{}::pg_catalog.text", quote_literal(asked.name)),
        regresses: model.regresses,
        label: &label,
        number: &label_as_number(model, &columns, &alias),
    };
    let limit = asked
        .limit
        .map_or("ALL".to_owned(), |limit| limit.to_string());
    let order = judged.order();
    // a query has a name already
    let named = match source {
        GivenSource::Relation(_) => relation.clone(),
        GivenSource::Query(_) => format!("(SELECT * FROM {relation})"),
    };
    let query = match query::spread_of(&format!("SELECT * FROM {relation}")).is_citus {
        false => {
            let from = format!("(SELECT * FROM {relation}) AS {alias} WHERE {label} IS NOT NULL");
            format!(
                "SELECT pg_catalog.to_jsonb(suspect.example), suspect.label, {}, suspect.margin
                 FROM (SELECT {alias} AS example, {label} AS label, {} AS margin
                       FROM {from} ORDER BY 3{order} LIMIT {limit}) AS suspect
                 WHERE suspect.margin {}",
                judged.predicted("suspect.example"),
                judged.margin(&alias),
                judged.doubtful(asked.below, &from, &alias)
            )
        }
        // nodes know the columns of their tables' rows, and nobody else does; each sends its own few
        true => {
            let row = format!("{alias}::pg_catalog.record");
            let beside = model::beside_nodes();
            let from = format!("{named} AS {alias}{beside} WHERE {label} IS NOT NULL");
            format!(
                "SELECT suspect.example, suspect.label, suspect.predicted, suspect.margin
                 FROM (SELECT pg_catalog.to_jsonb({alias}) AS example, {label} AS label,
                           {} AS predicted, {} AS margin
                       FROM {from} ORDER BY 4{order} LIMIT {limit}) AS suspect
                 WHERE suspect.margin {} ORDER BY 4{order}",
                judged.predicted(&row),
                judged.margin(&row),
                judged.doubtful(asked.below, &from, &row)
            )
        }
    };
    Ok(CString::new(query).unwrap_or_default())
}

/// Refuses a relation whose rows nodes of Citus have: out of fold rows are source_name apart by numbers of all of them.
fn refuse_distributed(source: &GivenSource) -> Result<(), Failure> {
    let relation = source.table_expression()?;
    if !query::spread_of(&format!("SELECT * FROM {relation}")).is_citus {
        return Ok(());
    }
    Err(following::distributed_suspects(source.named()?, relation))
}

/// Refuses a relation that lacks the label.
fn check_label(model: &Model, columns: &[Column], source: &GivenSource) -> Result<(), Failure> {
    if columns
        .iter()
        .any(|column| column.name == model.label_column)
    {
        return Ok(());
    }
    let source_name = source.named()?;
    let label = quote(&model.label_column);
    let names = columns.iter().map(|column| column.name.as_str());
    let near = near::names(&model.label_column, names);
    let meant = near.first().map_or("…".to_owned(), |name| quote(name));
    Err(Failure::new(
        Code::ERRCODE_UNDEFINED_COLUMN,
        format!(
            "label column \"{}\" does not exist in {source_name}",
            model.label_column
        ),
    )
    .detail(format!("It is the label of model \"{}\".", model.name))
    .hint(match source {
        GivenSource::Query(_) if near.is_empty() => {
            format!("Select it too: 'SELECT {label}, … FROM …'.")
        }
        GivenSource::Query(_) => {
            format!("Give {meant} that name: 'SELECT {meant} AS {label}, … FROM …'.")
        }
        GivenSource::Relation(_) => format!(
            "Give it that name in a query: {}.",
            quote_literal(format!("SELECT *, {meant} AS {label} FROM {source_name}"))
        ),
    }))
}
