//! How a version was trained, read from its row of `svm_version`, and made the request of a training that continues it.

use crate::base::errors::{Code, Failure};
use crate::base::json::{self, JsonError};
use crate::catalog::spi_failure;
use crate::combinations::models;
use crate::features::{FeatureSet, Nulls};
use crate::keys::chunks::KeyKind;
use crate::model::{ClassesBy, Model};
use crate::pg::json::JsonText;
use crate::pg::kept_statement::read_one;
use crate::pg::select::{self, Parameter, PreparedSelect};
use crate::request::given;
use crate::request::numbers::Numbers;
use crate::request::reads::ReadRelation;
use crate::request::source::GivenSource;
use crate::request::{
    is_left_out_by_a_refresh, read_options, Arguments, ChoiceArguments, ClassWeight,
    ColumnArguments, KernelArguments, Request, SolvingArguments, CRAMMER_SINGER,
};
use pgrx::pg_sys;
use pgrx::spi::quote_literal;
use pgsvm_core::memory::{gathered, owned, received, text};
use serde::Deserialize;
use serde_json::Value;
use std::ffi::CString;
use std::rc::Rc;

/// The option that has a follow-up keep the scaling of the model.
const KEEP_SCALING: &str = "keep_scaling";

/// Columns of `svm_version` that say nothing of it, and may be long.
const UNREAD: &str = "{features,label_values,validation,followed,stored_rows,interval_residuals}";
/// Columns that are read each for itself: the others are short.
const APART: &str = "{options,class_weight,source_query,source_reads,given}";
/// Most bytes of any of these: arguments of a training are limited, what somebody stores by hand is not.
const MOST_BYTES: usize = 1 << 20;

/// The columns of `svm_version` that say it.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredVersion {
    pub id: i64,
    pub label: StoredLabel,
    #[serde(deserialize_with = "text")]
    nulls: String,
    pub minimized: Minimized,
    /// The settings that somebody gave, as they were recorded.
    #[serde(skip)]
    given: Option<JsonText>,
    #[serde(deserialize_with = "text")]
    scale: String,
    solving: SolvingArguments,
    #[serde(skip)]
    options: Value,
    #[serde(skip)]
    class_weight: Option<String>,
    #[serde(default, deserialize_with = "received")]
    weight_column: Option<String>,
    pub source: StoredSource,
    key: StoredKey,
    probabilities: bool,
    /// Of a regression with intervals, how many rows they are made of.
    #[serde(default)]
    interval_rows: Option<i64>,
    /// What says which of more than two classes it is; None of versions of 0.2.0.
    #[serde(default, deserialize_with = "received")]
    classes_by: Option<String>,
}

/// What it was trained on.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredSource {
    #[serde(default, deserialize_with = "received", rename = "source_relation")]
    relation: Option<String>,
    #[serde(skip)]
    query: Option<Rc<String>>,
    /// Rows of `svm_source`.
    #[serde(rename = "source_rows")]
    rows: usize,
    /// Where names in it were looked up, and what they were; None of versions of 0.2.0.
    #[serde(default, deserialize_with = "received")]
    pub search_path: Option<String>,
    #[serde(skip)]
    pub reads: Option<Vec<ReadRelation>>,
}

/// What it minimizes.
#[derive(Debug, Clone, Deserialize)]
pub struct Minimized {
    #[serde(deserialize_with = "text")]
    loss: String,
    pub c: f64,
    /// s of a truncated loss.
    truncation: Option<f64>,
    /// Of a regression, the width within which an error costs nothing.
    epsilon: Option<f64>,
    intercept_used: bool,
}

/// The column that it predicts.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredLabel {
    #[serde(deserialize_with = "text", rename = "label_column")]
    column: String,
    #[serde(deserialize_with = "text", rename = "label_type")]
    pub kind: String,
}

/// The column by which it knows its rows.
#[derive(Debug, Clone, Deserialize)]
struct StoredKey {
    #[serde(default, deserialize_with = "received", rename = "key_column")]
    column: Option<String>,
    #[serde(default, deserialize_with = "received", rename = "key_type")]
    kind: Option<String>,
}

/// The columns that are read together, by the field that has them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("label", &["label_column", "label_type"]),
    (
        "minimized",
        &["loss", "c", "truncation", "epsilon", "intercept_used"],
    ),
    ("solving", &["tolerance", "max_passes", "solver", "seed"]),
    ("source", &["source_relation", "source_rows", "search_path"]),
    ("key", &["key_column", "key_type"]),
];

/// Puts columns of a row that are read together into an object each.
fn group(row: &mut Value) {
    let Some(row) = row.as_object_mut() else {
        return;
    };
    for (field, columns) in GROUPS {
        let of_group = columns.iter().filter_map(|name| row.remove_entry(*name));
        let group = of_group.collect();
        row.insert(field.to_owned(), Value::Object(group));
    }
}

const TOO_LONG: &str = "its row is too long";

/// A column that holds JSON; an error says what is wrong with it.
fn read(json: &str) -> Result<Value, String> {
    match json::is_small(json) {
        true => json::read_value(json).map_err(words_of),
        false => Err(TOO_LONG.to_owned()),
    }
}

/// What is wrong with JSON, in words.
fn words_of(error: JsonError) -> String {
    match error {
        JsonError::OutOfMemory(error) => error.to_string(),
        JsonError::Refused(words) => words,
    }
}

impl StoredVersion {
    /// Reads version `name@version`, which `schema`, the extension's and quoted, holds.
    pub fn load(schema: &str, name: &str, version: i32) -> Result<Self, Failure> {
        let damaged = |reason: &str| {
            Failure::new(
                Code::ERRCODE_DATA_CORRUPTED,
                format!("model \"{name}@{version}\" is damaged: {reason}"),
            )
        };
        let columns = columns(schema, name, version)?;
        Self::of_columns(columns.ok_or_else(|| damaged("its version is gone"))?)
            .map_err(|reason| damaged(&reason))?
            .ok_or_else(|| models::imported(format_args!("{name}@{version}"), quote_literal(name)))
    }

    /// Whether its classes are told apart together.
    pub fn tells_classes_together(&self) -> bool {
        self.minimized.loss == CRAMMER_SINGER
    }

    /// None of a model that was imported; an error says what is wrong with the columns.
    fn of_columns(columns: [Option<String>; 6]) -> Result<Option<Self>, String> {
        let [json, options, class_weight, source_query, source_reads, given] = columns;
        let long = |text: &&Option<String>| text.as_ref().is_some_and(|it| it.len() > MOST_BYTES);
        let texts = [&json, &options, &class_weight, &source_query, &source_reads];
        if texts.iter().any(long) {
            return Err(TOO_LONG.to_owned());
        }
        let mut row = read(json.as_deref().unwrap_or_default())?;
        if row["solver"] == "imported" {
            return Ok(None);
        }
        group(&mut row);
        let short: Self = json::of_value(row).map_err(words_of)?;
        Ok(Some(Self {
            options: read(options.as_deref().unwrap_or("null"))?,
            class_weight,
            given: given
                .filter(|given| given.len() <= given::MOST_BYTES)
                .map(JsonText::of_column),
            source: StoredSource {
                query: source_query.map(Rc::new),
                reads: match source_reads {
                    Some(json) if !json::has_small_texts(&json) => return Err(TOO_LONG.to_owned()),
                    Some(json) => Some(json::read_list(&json).map_err(words_of)?),
                    None => None,
                },
                ..short.source
            },
            ..short
        }))
    }

    /// The key column and its kind; None of a version trained without.
    pub fn key(&self) -> Option<(&str, KeyKind)> {
        let kind = KeyKind::from_word(self.key.kind.as_deref()?)?;
        self.key_column().map(|column| (column, kind))
    }

    /// The column by which it knows its rows; None of a version trained without.
    pub fn key_column(&self) -> Option<&str> {
        self.key.column.as_deref()
    }

    /// Refuses a version with another number of queries than it was stored with; `known` is its model as loaded.
    pub fn check_source(&self, known: &Model) -> Result<(), Failure> {
        match known.stored_rows.are_counted() {
            true => (known.stored_rows).check(&known.name, "svm_source", self.source.rows),
            false => Ok(()),
        }
    }

    /// The source it was trained on.
    fn source_now(&self, model: &str) -> Result<GivenSource, Failure> {
        if let Some(query) = &self.source.query {
            return Ok(GivenSource::Query(query.clone()));
        }
        let name = self.source.relation.as_deref().unwrap_or_default();
        let oid = read_one::<pg_sys::Oid>(
            "SELECT pg_catalog.to_regclass($1)::pg_catalog.oid",
            &[name.into()],
        );
        oid.map_err(spi_failure)?.map(GivenSource::Relation).ok_or_else(|| {
            Failure::new(
                Code::ERRCODE_UNDEFINED_TABLE,
                format!("relation {name}, which model \"{model}\" was trained on, does not exist"),
            )
            .hint({
                let (label, model) = (quote_literal(&self.label.column), quote_literal(model));
                let key = self.key_column().map(quote_literal);
                let key = key.map_or_else(String::new, |key| format!(", key => {key}"));
                format!("Train the model anew where its rows are now: SELECT svm_train('…', {label}, model => {model}{key})")
            })
        })
    }

    /// The same training again on these features, as a new version of `model`; what `options` say is added.
    pub fn request(
        &self,
        model: &str,
        features: &FeatureSet,
        options: Option<JsonText>,
    ) -> Result<Request, Failure> {
        self.request_of(self.source_now(model)?, model, features, options)
    }

    /// The same on the rows of this source.
    pub fn request_of(
        &self,
        source: GivenSource,
        model: &str,
        features: &FeatureSet,
        options: Option<JsonText>,
    ) -> Result<Request, Failure> {
        let entries = features.parts.iter().map(|part| Some(part.name()));
        let mut arguments = Arguments {
            source: Some(source),
            columns: ColumnArguments {
                label: Some(self.label.column.clone()).filter(|it| !it.is_empty()),
                features: Some(gathered(entries)?),
                exclude: None,
                weight: self.weight_column.clone(),
                key: self.key.column.clone(),
            },
            model: Some(model.to_owned()),
            choice: ChoiceArguments {
                c: match self.label.column.is_empty() {
                    // nu says it
                    true => Numbers::Default,
                    false => Numbers::of(self.minimized.c),
                },
                ..ChoiceArguments::default()
            },
            loss: match self.tells_classes_together() {
                // which is said by an option
                true => None,
                false => Some(self.minimized.loss.clone()),
            },
            intercept: Some(self.minimized.intercept_used),
            scale: Some(self.scale.clone()),
            nulls: self.given_nulls(),
            solving: self.solving.clone(),
            class_weight: self
                .class_weight
                .as_deref()
                .map(ClassWeight::argument)
                .map(owned)
                .transpose()?,
            probability: Some(self.probabilities),
            options: Some(JsonText::of(&self.options_with(options.as_ref())?)?),
            ..Arguments::default()
        };
        if let Some(form) = &features.kernel {
            let (kernel, gamma, degree, coef0) = form.arguments();
            arguments.kernel = KernelArguments {
                kind: Some(kernel.to_owned()),
                gamma: gamma.map(Numbers::of).unwrap_or_default(),
                degree: degree.map(|degree| degree as i32),
                coef0,
                rank: self.given_rank(),
            };
        } else if self.label.column.is_empty() {
            // without a label another kernel is the usual one
            arguments.kernel.kind = Some("linear".to_owned());
        } else if self.solving.solver.as_deref() == Some("interior_point") {
            arguments.kernel.rank = self.given_rank();
        }
        let mut request = arguments.check()?;
        // the next training takes over what somebody gave, and not what follows from it
        request.call.given = self.given.clone();
        let by_probability = Some(ClassesBy::Probability.word());
        request.plan.by_probability = self.classes_by.as_deref() == by_probability;
        Ok(request)
    }

    /// What a NULL counts as; None where the rows are to say so, as they did.
    fn given_nulls(&self) -> Option<String> {
        let given: Option<Value> = self.given.as_ref().and_then(|given| given.parse().ok());
        let said = given.is_none_or(|given| given.get("nulls").is_some_and(|it| it != "auto"));
        (said || self.nulls != Nulls::Error.word()).then(|| self.nulls.clone())
    }

    /// How many landmarks of a kernel machine somebody asked for.
    fn given_rank(&self) -> Option<i32> {
        let given = self.given.as_ref()?.parse().ok()?;
        given.get("rank")?.as_i64()?.try_into().ok()
    }

    /// The options of the version, without what belongs to one training only.
    fn options_with(&self, given: Option<&JsonText>) -> Result<Value, Failure> {
        let mut options = self.options.as_object().cloned().unwrap_or_default();
        options.retain(|key, _| !is_left_out_by_a_refresh(key));
        if let (Some(s), Some(given)) = (self.minimized.truncation, options.get_mut("truncation")) {
            // which was chosen, maybe
            *given = s.into();
        }
        if let (Some(epsilon), Some(given)) = (self.minimized.epsilon, options.get_mut("epsilon")) {
            // likewise
            *given = epsilon.into();
        }
        if self.interval_rows.is_some() {
            options.insert("intervals".to_owned(), true.into());
            let before = self.options.as_object();
            for key in ["folds", "fold_column", "fold_order"] {
                if let Some(value) = before.and_then(|it| it.get(key)) {
                    options.insert(key.to_owned(), value.clone());
                }
            }
        } else if !self.probabilities {
            options.remove("folds");
            options.remove("fold_column");
        }
        if !self.probabilities {
            options.remove("classes_by");
            options.remove("calibration");
        }
        let given = read_options(given)?;
        let given = given.as_object().ok_or_else(|| {
            Failure::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                "options must be a JSON object",
            )
            .hint("options => '{}'")
        })?;
        for (key, value) in given.iter().filter(|(key, _)| *key != KEEP_SCALING) {
            if !["deploy", "relation", "metric"].contains(&key.as_str()) {
                return Err(Failure::new(
                    Code::ERRCODE_INVALID_PARAMETER_VALUE,
                    format!("unknown option \"{key}\""),
                )
                .hint("options know \"deploy\", with \"relation\" and \"metric\", and \"keep_scaling\"; all else is as the model was trained"));
            }
            options.insert(key.clone(), value.clone());
        }
        Ok(Value::Object(options))
    }
}

/// The short columns of a version as JSON, and those apart; None where there is no such version.
fn columns(schema: &str, name: &str, version: i32) -> Result<Option<[Option<String>; 6]>, Failure> {
    let of = |column: &str| format!("stored OPERATOR(pg_catalog.->>) '{column}'");
    let sql = format!(
        "SELECT (stored OPERATOR(pg_catalog.-) '{APART}'::pg_catalog.text[])::pg_catalog.text, {}, {}, {}, {}, {}
         FROM (
             SELECT (pg_catalog.to_jsonb(v) OPERATOR(pg_catalog.-) '{UNREAD}'::pg_catalog.text[])
                 OPERATOR(pg_catalog.||) pg_catalog.jsonb_build_object(
                 'source_query', coalesce((SELECT s.query FROM {schema}.svm_source AS s
                     WHERE s.version_id OPERATOR(pg_catalog.=) v.id), v.source_query),
                 'source_rows', (SELECT pg_catalog.count(*) FROM {schema}.svm_source AS s
                     WHERE s.version_id OPERATOR(pg_catalog.=) v.id),
                 'probabilities',
                 EXISTS (SELECT FROM {schema}.svm_head AS h WHERE h.version_id OPERATOR(pg_catalog.=) v.id
                         AND h.sigmoid_slope IS NOT NULL)) AS stored
             FROM {schema}.svm_model AS m JOIN {schema}.svm_version AS v
                 ON v.model_id OPERATOR(pg_catalog.=) m.id
             WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.version OPERATOR(pg_catalog.=) $2
             OFFSET 0
         ) AS version",
        of("options"),
        of("class_weight"),
        of("source_query"),
        of("source_reads"),
        of("given")
    );
    let sql = CString::new(sql).unwrap_or_default();
    let mut found = None;
    select::connected(|| {
        let types = [pg_sys::TEXTOID, pg_sys::INT4OID];
        let given = [Parameter::Text(name), Parameter::Int4(Some(version))];
        PreparedSelect::once(&sql, &types).for_each(&given, |row| {
            found = Some([1, 2, 3, 4, 5, 6].map(|number| row.text(number)));
            false
        });
    });
    Ok(found)
}

/// Whether a follow-up is to keep the scaling of the model.
pub fn keeps_scaling(options: Option<&JsonText>) -> Result<bool, Failure> {
    match read_options(options)?.get(KEEP_SCALING) {
        None => Ok(false),
        Some(Value::Bool(keep)) => Ok(*keep),
        Some(other) => Err(Failure::new(
            Code::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("{KEEP_SCALING} must be true or false, not {other}"),
        )
        .hint(format!("options => '{{\"{KEEP_SCALING}\": true}}'"))),
    }
}
