//! What an evaluation is of: a version of a model, a relation, and the SQL for its rows' labels and
//! predictions. What the tables say of the model may have been written by anybody who owns it, so
//! nothing of it goes into SQL but quoted.

use super::relation::checked_source;
use crate::base::errors::{Code, Failure};
use crate::model::{self, Model};
use crate::pg::statement;
use crate::request::required;
use crate::request::source::quote;
use crate::targets::labels::qualified_type_name;
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use std::rc::Rc;

/// A model's version and the relation to evaluate it on.
pub struct Subject {
    /// The extension's, quoted.
    pub schema: String,
    pub model: Rc<Model>,
    pub label_column: String,
    /// As SQL writes it.
    label_type: String,
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
        let model = model::find(schema, model)?;
        let label_column = label.unwrap_or(&model.label_column).to_owned();
        Ok(Self {
            schema: model::schema_of_call(fcinfo),
            from: checked_source(relation, &label_column)?,
            label_type: existing_type(&model)?,
            label_column,
            model,
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
        let labels: Vec<_> = self
            .model
            .labels
            .iter()
            .map(|label| literal(label))
            .collect();
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
        let known = self.model.heads.iter().all(|head| head.sigmoid.is_some());
        match (known, self.model.labels.as_slice()) {
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
            literal(&self.model.name)
        )
    }
}

/// A type that a model names, as SQL writes it whatever the search path.
fn existing_type(model: &Model) -> Result<String, Failure> {
    let found = Spi::get_one_with_args::<pg_sys::Oid>(
        "SELECT pg_catalog.to_regtype($1)::pg_catalog.oid",
        &[model.label_type.as_str().into()],
    );
    match found {
        Ok(Some(found)) => Ok(qualified_type_name(found)),
        _ => Err(Failure::new(
            Code::ERRCODE_UNDEFINED_OBJECT,
            format!("type {} does not exist", model.label_type),
        )
        .detail(format!("The labels of model \"{}\" are of it.", model.name))
        .hint("Train the model again.")),
    }
}

/// A text as SQL writes it, with its type.
pub fn literal(text: &str) -> String {
    format!("{}::pg_catalog.text", quote_literal(text))
}
