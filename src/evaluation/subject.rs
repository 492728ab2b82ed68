//! What an evaluation is of: a version of a model, a relation or a query, and the SQL for its rows' labels and
//! predictions. What the tables say of the model may have been written by anybody who owns it, so
//! nothing of it goes into SQL but quoted.

use super::rows;
use crate::base::errors::{shortened, Code, Failure};
use crate::base::near;
use crate::base::text::{joined, written};
use crate::combinations::novelty;
use crate::features::FeaturePart;
use crate::model::{self, Model};
use crate::pg::call::Call;
use crate::request::required;
use crate::request::source::GivenSource;
use crate::targets::labels::compared_type;
use pgrx::pg_sys;
use pgrx::spi::quote_literal;
use pgsvm_core::memory::{owned, OutOfMemory};
use pgsvm_core::Sigmoid;
use pgsvm_expand::Vocabulary;
use std::rc::Rc;

/// A model's version and the rows to evaluate it on.
pub struct Subject {
    /// The extension's, quoted.
    pub schema: String,
    pub model: Rc<Model>,
    pub label_column: String,
    /// The label of a row, in its type.
    value: String,
    /// The type that labels are compared in, one of PostgreSQL's own.
    compared_type: &'static str,
    /// The relation's columns that are needed, and no others: a FROM item.
    from: String,
    /// What the queries call a row of it, as SQL writes it.
    row: String,
    /// What is joined with it.
    beside: &'static str,
    /// The same as a row value.
    pub row_value: String,
}

/// What the model is asked about a row. A row, one of a subquery, is a `record`, as the argument of the functions is then: it
/// matches exactly, and no function that somebody puts beside them can match better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// Of two classes.
    Decision,
    Class,
    /// The number of the class, from 1, then all decisions, then all probabilities if there are some: of two classes one of each, for
    /// the positive one.
    Everything,
    /// All that are predicted.
    Quantiles,
}

/// Labels that a hint shows.
const SHOWN_LABELS: usize = 5;
/// Most labels that are compared one by one.
const MOST_COMPARED: usize = 32;

impl Subject {
    /// What the arguments name. `features` is the column that holds all features, where there is one.
    ///
    /// # Safety
    /// PostgreSQL called a function with these arguments, which are of the types that sql/ gives them.
    pub unsafe fn of_call(fcinfo: pg_sys::FunctionCallInfo) -> Result<Self, Failure> {
        // SAFETY: as the caller promises.
        let (model, source, label, features) = unsafe {
            let call = Call::of(fcinfo);
            let model = required(call.text("model"), "model")?;
            let source = GivenSource::of_call(&call)
                .map_err(|failure| model::or_swapped(fcinfo, &model, failure))?;
            (model, source, call.text("label"), call.text("features"))
        };
        let model = model::of_call(fcinfo, &model)?;
        if label.is_none() && model.finds_novelties {
            return Err(novelty::evaluation(&model.name));
        }
        let label_column = owned(label.as_deref().unwrap_or(&model.label_column))?;
        let features = features.as_deref();
        let schema = model::schema_of_call(fcinfo);
        let rows = rows::of(&source, &model, &label_column, features)?;
        let compared_type = compared_type(&model.label_type, rows.label_type);
        // whether a row is strange
        let is_said = model.finds_novelties && rows.label_type == pg_sys::BOOLOID;
        let label = match is_said {
            true => format!(
                "CASE WHEN {0} THEN 'novel' WHEN NOT {0} THEN 'usual' END",
                rows.label
            ),
            false => rows.label,
        };
        Ok(Self {
            schema,
            value: format!("CAST({label} AS {compared_type})"),
            compared_type,
            label_column,
            from: rows.from,
            row: rows.name,
            beside: rows.beside,
            row_value: rows.value,
            model,
        })
    }

    /// A FROM item of the relation's rows: `actual`, and what the model says.
    pub fn rows(&self, says: Says) -> Result<String, OutOfMemory> {
        self.rows_asked(&self.asked(says))
    }

    /// The same, with what is `unseen` in a row: the words of its texts, those of them that the model does not have, and categories
    /// that it has not seen.
    pub fn rows_and_unseen(&self, says: Says) -> Result<String, OutOfMemory> {
        let model = literal(&self.model.name);
        let row = &self.row_value;
        let unseen = format!("svm_internal.svm_row_unseen({model}, {row}) AS unseen");
        self.rows_asked(&format!("{}, {unseen}", self.asked(says)))
    }

    /// SQL for what the model says of a row.
    fn asked(&self, says: Says) -> String {
        let (function, column) = match says {
            Says::Decision => ("decision", "decision"),
            Says::Class => ("class", "predicted"),
            Says::Everything => ("answers", "answers"),
            Says::Quantiles => ("quantiles", "quantiles"),
        };
        let model = literal(&self.model.name);
        let row = &self.row_value;
        format!("svm_internal.svm_row_{function}({model}, {row}) AS {column}")
    }

    /// The same with what is `asked` of a row, in SQL; all of it at once. OFFSET keeps
    /// PostgreSQL from computing a column once for each place that it is used at; a plain 0 would be cast, and keep it
    /// from planning for parallel workers.
    pub fn rows_asked(&self, asked: &str) -> Result<String, OutOfMemory> {
        written(format_args!(
            "(SELECT {} AS actual, {asked} FROM {} AS {}{} OFFSET '0'::pg_catalog.int8)",
            self.actual()?,
            self.from,
            self.row,
            self.beside
        ))
    }

    /// What is said where most of the rows have labels that the model does not know, such as `example`.
    pub fn unknown_labels(
        &self,
        rows: Option<i64>,
        unknown: Option<i64>,
        example: Option<&str>,
    ) -> Option<Failure> {
        let (unknown, example) = (unknown?, example?);
        let rows = rows.unwrap_or(0).max(unknown);
        if unknown <= rows / 2 {
            return None;
        }
        let labels = self.model.labels.iter().map(String::as_str);
        let near = near::names(example, labels.clone());
        let known = match near.is_empty() {
            true => labels.take(SHOWN_LABELS).map(str::to_owned).collect(),
            false => near,
        };
        let known: Vec<_> = known
            .iter()
            .map(|label| quote_literal(shortened(label)))
            .collect();
        let message = format!(
            "{unknown} of {rows} rows have labels that model \"{}\" does not know, such as {}",
            self.model.name,
            quote_literal(shortened(example))
        );
        let hint = match self.model.finds_novelties {
            true => "The label is to be boolean, true for novel rows, or a text, 'novel' or 'usual'. A query makes one: 'SELECT *, … AS odd FROM …', label => 'odd'".to_owned(),
            false => format!(
                "Write labels as the model knows them: {}.",
                known.join(", ")
            ),
        };
        Some(Failure::new(Code::ERRCODE_WARNING, message).hint(hint))
    }

    /// Whether the model knows words.
    pub fn has_words(&self) -> bool {
        let parts = self.model.features.parts.iter();
        let mut known = parts.filter_map(FeaturePart::vocabulary);
        known.any(Vocabulary::is_learned)
    }

    /// Whether the model has category columns.
    pub fn has_categories(&self) -> bool {
        self.model.features.categories().next().is_some()
    }

    /// What of its answers is the least that says the class.
    pub fn says_class(&self) -> Says {
        match self.is_binary() {
            true => Says::Decision,
            false => Says::Class,
        }
    }

    fn is_binary(&self) -> bool {
        self.model.heads.len() == 1
    }

    /// The class predicted for a row of `rows`, called `row`.
    pub fn predicted(&self, says: Says) -> Result<String, OutOfMemory> {
        match (says, self.model.labels.as_slice()) {
            (Says::Decision, [negative, positive]) => written(format_args!(
                "CASE WHEN row.decision OPERATOR(pg_catalog.>=) 0::pg_catalog.float8 THEN {}
                 WHEN row.decision OPERATOR(pg_catalog.<) 0::pg_catalog.float8 THEN {} END",
                literal(positive),
                literal(negative)
            )),
            (Says::Everything, _) => written(format_args!(
                "({})[row.answers[1]::pg_catalog.int4]",
                self.label_array()?
            )),
            _ => Ok("row.predicted".to_owned()),
        }
    }

    /// The label as the model writes it; values are compared in the label's type.
    fn actual(&self) -> Result<String, OutOfMemory> {
        let (value, name) = (&self.value, self.compared_type);
        if self.model.regresses {
            return written(format_args!("CAST({value} AS pg_catalog.float8)"));
        }
        let labels = &self.model.labels;
        if labels.len() <= MOST_COMPARED {
            let cases = labels.iter().map(|label| {
                let label = literal(label);
                format!("WHEN {value} OPERATOR(pg_catalog.=) CAST({label} AS {name}) THEN {label} ")
            });
            let cases = joined(cases, "")?;
            return written(format_args!(
                "CASE {cases}ELSE CAST({value} AS pg_catalog.text) END"
            ));
        }
        let labels = self.label_array()?;
        written(format_args!(
            "coalesce(({labels})[pg_catalog.array_position(({labels})::{name}[], {value})],
                 CAST({value} AS pg_catalog.text))"
        ))
    }

    /// The labels as an array of text.
    pub fn label_array(&self) -> Result<String, OutOfMemory> {
        let labels = joined(self.model.labels.iter().map(|label| literal(label)), ", ")?;
        written(format_args!("ARRAY[{labels}]::pg_catalog.text[]"))
    }

    /// The decision for class number `class` against the rest, of a row of `rows`.
    pub fn decision_of(&self, class: usize) -> String {
        format!("row.answers[{}]", 2 + class)
    }

    /// Of two classes the decision of a row of `rows`.
    pub fn decision(&self, says: Says) -> String {
        match says {
            Says::Everything => self.decision_of(0),
            _ => "row.decision".to_owned(),
        }
    }

    /// Of two classes the probability of the positive one, of a row of `rows`; None where the model has no probabilities or more
    /// classes.
    pub fn probability(&self, says: Says) -> Option<String> {
        let [head] = self.model.heads.as_slice() else {
            return None;
        };
        let Sigmoid { a, b } = head.calibration.as_ref()?.sigmoid;
        if says == Says::Everything {
            // behind the class and the decision
            return Some("row.answers[3]".to_owned());
        }
        // svm_log_loss counts a probability as at least 2^-52; exp must not leave the range of its type
        Some(format!(
            "CASE WHEN row.decision IS NOT NULL THEN
                 1::pg_catalog.float8 OPERATOR(pg_catalog./) (1::pg_catalog.float8 OPERATOR(pg_catalog.+) pg_catalog.exp(
                     GREATEST('-700'::pg_catalog.float8, LEAST('700'::pg_catalog.float8,
                         {} OPERATOR(pg_catalog.*) row.decision OPERATOR(pg_catalog.+) {}))))
             END",
            number(a),
            number(b)
        ))
    }

    /// Of more classes the probability of the actual one, of a row of `rows`; NULL where the model does not know
    /// the class, None where it has no probabilities.
    pub fn probability_of_actual(&self) -> Result<Option<String>, OutOfMemory> {
        if !self.has_probabilities() {
            return Ok(None);
        }
        let (before, labels) = (1 + self.model.labels.len(), self.label_array()?);
        written(format_args!(
            "row.answers[{before} OPERATOR(pg_catalog.+) pg_catalog.array_position({labels}, row.actual)]"
        ))
        .map(Some)
    }

    /// Whether only the model knows the probabilities of its decisions.
    pub fn is_isotonic(&self) -> bool {
        let mut calibrations = self
            .model
            .heads
            .iter()
            .filter_map(|head| head.calibration.as_ref());
        calibrations.any(|it| it.isotonic.is_some())
    }

    /// Whether each class has a probability.
    pub fn has_probabilities(&self) -> bool {
        self.model
            .heads
            .iter()
            .all(|head| head.calibration.is_some())
    }
}

/// A text as SQL writes it, with its type.
pub fn literal(text: &str) -> String {
    format!("{}::pg_catalog.text", quote_literal(text))
}

/// A number as SQL writes it, with its type.
pub fn number(value: f64) -> String {
    format!("'{value:?}'::pg_catalog.float8")
}
