//! What an evaluation is of: a version of a model, a relation, and the SQL for its rows' labels and
//! predictions. What the tables say of the model may have been written by anybody who owns it, so
//! nothing of it goes into SQL but quoted.

use super::relation::checked_source;
use crate::errors::{Code, Failure};
use crate::labels::qualified_type_name;
use crate::model;
use crate::pg::statement;
use crate::source::quote;
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgrx::spi::SpiError;

/// A model's version and the relation to evaluate it on.
pub struct Subject {
    /// The extension's, quoted.
    pub schema: String,
    /// `name@version`.
    pub model: String,
    /// The labels that the model knows, in its order.
    pub labels: Vec<String>,
    pub label_column: String,
    label_type: String,
    has_probabilities: bool,
    /// The relation, quoted and qualified.
    from: String,
}

/// The name under which the queries see a row of the relation; a column of it would have to be called so.
const ROW: &str = "\"pgsvm row\"";

impl Subject {
    /// What the arguments name.
    pub fn of_call(
        fcinfo: pg_sys::FunctionCallInfo,
        model: Option<&str>,
        relation: Option<pg_sys::Oid>,
        label: Option<&str>,
    ) -> Result<Self, Failure> {
        let model = required(model, "model")?;
        let relation = required(relation, "relation")?;
        // SAFETY: PostgreSQL called with it.
        let schema = unsafe { statement::schema_of_call(fcinfo) };
        let model = model::find(schema, model)?.name.clone();
        let stored = Stored::read(&model::schema_of_call(fcinfo), &model)?;
        let label_column = label.map_or(stored.label_column, str::to_owned);
        Ok(Self {
            schema: model::schema_of_call(fcinfo),
            from: checked_source(relation, &label_column)?,
            model,
            labels: stored.labels,
            label_column,
            label_type: stored.label_type,
            has_probabilities: stored.has_probabilities,
        })
    }

    /// A FROM item of the relation's rows: `actual`, `predicted` and the given columns. OFFSET 0 keeps
    /// PostgreSQL from computing a column once for each place that it is used at.
    pub fn rows(&self, columns: &[String]) -> String {
        let columns: String = columns.iter().map(|column| format!(", {column}")).collect();
        format!(
            "(SELECT {} AS actual, {} AS predicted{columns} FROM {} AS {ROW} OFFSET 0)",
            self.actual(),
            self.call("svm_classify", &[]),
            self.from
        )
    }

    /// The label as the model writes it; values are compared in the label's type.
    fn actual(&self) -> String {
        let value = format!(
            "CAST({ROW}.{} AS {})",
            quote(&self.label_column),
            self.label_type
        );
        let labels = self.label_array();
        format!(
            "coalesce(({labels})[pg_catalog.array_position(({labels})::{}[], {value})],
                 CAST({value} AS pg_catalog.text))",
            self.label_type
        )
    }

    /// The labels as an array of text.
    pub fn label_array(&self) -> String {
        let labels: Vec<_> = self.labels.iter().map(|label| literal(label)).collect();
        format!("ARRAY[{}]::pg_catalog.text[]", labels.join(", "))
    }

    /// The decision of a model of two classes.
    pub fn decision(&self) -> String {
        self.call("svm_decision", &[])
    }

    /// The decision for one class against the rest.
    pub fn decision_of(&self, class: &str) -> String {
        self.call("svm_decision", &[literal(class)])
    }

    /// Of two classes the probability of the positive one, of more that of the actual class; NULL where the model
    /// has no probabilities or does not know the class.
    pub fn probability(&self) -> String {
        let labels = self.label_array();
        match (self.has_probabilities, self.labels.as_slice()) {
            (false, _) => "NULL::pg_catalog.float8".to_owned(),
            (true, [_, positive]) => self.call("svm_probability", &[literal(positive)]),
            (true, _) => format!(
                "CASE WHEN {0} OPERATOR(pg_catalog.=) ANY ({labels}) THEN {1} END",
                self.actual(),
                self.call("svm_probability", &[self.actual()])
            ),
        }
    }

    fn call(&self, function: &str, more: &[String]) -> String {
        let more: String = more
            .iter()
            .map(|argument| format!(", {argument}"))
            .collect();
        format!(
            "{}.{function}({}, {ROW}{more})",
            self.schema,
            literal(&self.model)
        )
    }
}

/// What the tables say of a version.
struct Stored {
    label_column: String,
    label_type: String,
    labels: Vec<String>,
    has_probabilities: bool,
}

impl Stored {
    /// Of the version that `model`, a name@version, names.
    fn read(schema: &str, model: &str) -> Result<Self, Failure> {
        let (name, version) = model.rsplit_once('@').unwrap_or((model, ""));
        let version: Option<i32> = version.parse().ok();
        let row = Spi::connect(|client| {
            client
                .select(
                    &format!(
                        "SELECT v.label_column, pg_catalog.to_regtype(v.label_type)::pg_catalog.oid, v.label_values,
                             (SELECT pg_catalog.bool_and(h.sigmoid_slope IS NOT NULL AND h.sigmoid_offset IS NOT NULL)
                              FROM {schema}.svm_head AS h WHERE h.version_id OPERATOR(pg_catalog.=) v.id)
                         FROM {schema}.svm_model AS m
                         JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id
                         WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.version OPERATOR(pg_catalog.=) $2"
                    ),
                    None,
                    &[name.into(), version.into()],
                )?
                .first()
                .get_heap_tuple()?
                .map(|row| {
                    Ok((
                        row.get::<String>(1)?,
                        row.get::<pg_sys::Oid>(2)?,
                        row.get::<Vec<Option<String>>>(3)?,
                        row.get::<bool>(4)?,
                    ))
                })
                .transpose()
        });
        let row = row.map_err(|error| unreadable(model, &error))?;
        let (label_column, label_type, labels, probabilities) =
            row.unwrap_or((None, None, None, None));
        let (Some(label_column), Some(label_type), Some(labels)) =
            (label_column, label_type, labels)
        else {
            return Err(Failure::new(
                Code::ERRCODE_UNDEFINED_OBJECT,
                format!("the type of the labels of model \"{model}\" does not exist any more"),
            )
            .hint("Train the model again."));
        };
        Ok(Self {
            label_column,
            label_type: qualified_type_name(label_type),
            labels: labels.into_iter().map(Option::unwrap_or_default).collect(),
            has_probabilities: probabilities.unwrap_or(false),
        })
    }
}

fn unreadable(model: &str, error: &SpiError) -> Failure {
    Failure::new(
        Code::ERRCODE_INTERNAL_ERROR,
        format!("could not read model \"{model}\": {error}"),
    )
}

fn required<T>(value: Option<T>, name: &str) -> Result<T, Failure> {
    value.ok_or_else(|| {
        Failure::new(
            Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("argument \"{name}\" must not be NULL"),
        )
    })
}

/// A text as SQL writes it, with its type.
pub fn literal(text: &str) -> String {
    // a backslash means itself whatever standard_conforming_strings is
    let escape = if text.contains('\\') { "E" } else { "" };
    let quoted = text.replace('\'', "''").replace('\\', "\\\\");
    format!("{escape}'{quoted}'::pg_catalog.text")
}
