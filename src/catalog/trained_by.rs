//! The call that trained a version, for hints that repeat it: which function, on what, with which label. It is looked up only when a hint
//! is made, with the rights of the user who sees the hint, since the text of a query is for its owner only. A function that runs with its
//! owner's rights gives no such hint. Runs in any backend or parallel worker.

use crate::base::json;
use crate::pg::select::{self, Parameter, PreparedSelect, ResultRow};
use crate::pg::statement;
use pgrx::pg_sys;
use pgrx::spi::quote_literal;
use serde_json::{Map, Value};

/// Longest query that a hint shows.
const MOST_CHARACTERS: usize = 500;
const OPTIONS: &str = "options";
/// Bytes of a model's name.
const LONGEST_NAME: usize = 63;

/// A training whose result would be another model than this one, and so gets a name of its own.
pub struct OtherTraining {
    /// What its name ends in.
    pub suffix: &'static str,
    /// The setting that makes the difference, and whether it is one of the options.
    pub with: (&'static str, &'static str),
    pub is_option: bool,
    /// Settings and options of this one that it has not.
    pub without: &'static [&'static str],
}

impl OtherTraining {
    /// The settings that it has, out of those `given` to this one.
    fn settings(&self, mut given: Map<String, Value>) -> Map<String, Value> {
        let is_wanted = |name: &String, _: &mut Value| !self.without.contains(&name.as_str());
        given.retain(is_wanted);
        keep_lasting(&mut given);
        if let Some(Value::Object(options)) = given.get_mut(OPTIONS) {
            options.retain(is_wanted);
        }
        let (name, value) = (self.with.0.to_owned(), self.with.1.into());
        let options = given.entry(OPTIONS).or_insert_with(|| Map::new().into());
        match options {
            Value::Object(options) if self.is_option => options.insert(name, value),
            _ => given.insert(name, value),
        };
        given
    }
}

/// Takes out what holds for a refresh and not for the next training: a linear machine has a rank by its solver alone, which is each training's
/// own.
pub fn keep_lasting(given: &mut Map<String, Value>) {
    if given.get("kernel").is_none_or(|kernel| kernel == "linear") {
        given.remove("rank");
    }
}

/// Settings as a call in SQL has them; a version keeps what is predicted among its options, where a call has an argument for it.
pub fn as_arguments(mut settings: Map<String, Value>) -> Vec<String> {
    for name in ["task", "epsilon"] {
        let options = settings.get_mut(OPTIONS).and_then(Value::as_object_mut);
        if let Some(value) = options.and_then(|it| it.remove(name)) {
            settings.insert(name.to_owned(), value);
        }
    }
    settings.retain(|_, value| value.as_object().is_none_or(|it| !it.is_empty()));
    let typed = |(name, value): (&String, &Value)| format!("{name} => {}", json::typed(value));
    settings.iter().map(typed).collect()
}

/// SQL for it, with the other settings that were given to this one.
pub fn training_beside(model: &str, beside: &OtherTraining) -> String {
    let (name, version) = name_and_version(model);
    let TrainingCall {
        begun, key, given, ..
    } = call_of(name, version).unwrap_or_else(unknown_call);
    let mut end = name.len().min(LONGEST_NAME - beside.suffix.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let name = format!("{}{}", &name[..end], beside.suffix);
    let mut arguments = vec![format!("model => {}", quote_literal(name))];
    arguments.extend(key.map(|key| format!("key => {}", quote_literal(key))));
    arguments.extend(as_arguments(beside.settings(given)));
    format!("SELECT {begun}, {})", arguments.join(", "))
}

fn name_and_version(model: &str) -> (&str, Option<i32>) {
    match model.rsplit_once('@') {
        Some((name, version)) => (name, version.parse().ok()),
        None => (model, None),
    }
}

/// What a version was trained on: the name of a relation, or a query.
pub fn source(model: &str) -> Option<String> {
    let (name, version) = name_and_version(model);
    call_of(name, version)?.source
}

/// The call where nobody knows it.
fn unknown_call() -> TrainingCall {
    TrainingCall::of("svm_train")
}

/// SQL that trains a model again, with its key where it has one, and `with` these arguments, the rest as it was. `model`: its name, with
/// its version or of the deployed one.
pub fn training(model: &str, with: &str) -> String {
    let (name, version) = name_and_version(model);
    let TrainingCall { begun, key, .. } = call_of(name, version).unwrap_or_else(unknown_call);
    let mut arguments = vec![format!("model => {}", quote_literal(name))];
    let keyed = key.filter(|_| !with.contains("key => "));
    arguments.extend(keyed.map(|key| format!("key => {}", quote_literal(key))));
    arguments.extend((!with.is_empty()).then(|| with.to_owned()));
    format!("SELECT {begun}, {})", arguments.join(", "))
}

/// How a version was trained.
struct TrainingCall {
    /// The call up to its label.
    begun: String,
    source: Option<String>,
    key: Option<String>,
    /// The other settings that were given, where these are short.
    given: Map<String, Value>,
}

impl TrainingCall {
    /// A call of which only the function is known.
    fn of(function: &str) -> Self {
        Self {
            begun: format!("{function}(…"),
            source: None,
            key: None,
            given: Map::new(),
        }
    }
}

/// None of what nobody knows the training of.
fn call_of(name: &str, version: Option<i32>) -> Option<TrainingCall> {
    let extension = statement::extension_schema();
    // SAFETY: a catalog look-up.
    let sources = unsafe { pg_sys::get_relname_relid(c"svm_source".as_ptr(), extension) };
    // until the update, tables of earlier releases do not say
    if sources == pg_sys::InvalidOid {
        return None;
    }
    let schema = statement::quoted_schema(extension)?;
    let query = format!(
        "SELECT v.label_column, v.source_relation, v.key_column, pg_catalog.left(s.query, {}),
             v.stored_rows OPERATOR(pg_catalog.->) 'svm_source' IS NOT NULL,
             pg_catalog.starts_with(v.source_relation, 'pg_temp.') OR EXISTS (
                 SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
                 WHERE pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.relname))
                     OPERATOR(pg_catalog.=) v.source_relation),
             CASE WHEN pg_catalog.length(v.given::pg_catalog.text) OPERATOR(pg_catalog.<=) {MOST_CHARACTERS}
                 THEN (v.given OPERATOR(pg_catalog.-) 'key'::pg_catalog.text)::pg_catalog.text END
         FROM {schema}.svm_model AS m JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id
         LEFT JOIN {schema}.svm_source AS s ON s.version_id OPERATOR(pg_catalog.=) v.id
         WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.version OPERATOR(pg_catalog.=) COALESCE($2, m.current_version)",
        MOST_CHARACTERS + 1
    );
    let mut found = None;
    select::connected(|| {
        let parameters = [Parameter::Text(name), Parameter::Int4(version)];
        PreparedSelect::kept(&query, &[pg_sys::TEXTOID, pg_sys::INT4OID])
            .for_each_at_once(&parameters, |row| found = call(row));
    });
    found
}

fn call(row: &ResultRow) -> Option<TrainingCall> {
    // without a label there is none in the call
    let label = match row.text(1)?.as_str() {
        "" => String::new(),
        label => format!(", {}", quote_literal(label)),
    };
    let (relation, query) = (row.text(2), row.text(4));
    let exists = row.datum(6).is_some_and(|it| it.value() != 0);
    let is_query = relation.is_none() && row.datum(5).is_some_and(|it| it.value() != 0);
    // whoever calls such a function need not be allowed to see what its owner trained on
    if !statement::is_callers_own() {
        let function = if is_query {
            "svm_train_query"
        } else {
            "svm_train"
        };
        return Some(TrainingCall::of(function));
    }
    let begun = match (&relation, &query) {
        // of what has another name now, or is in another database, the hint leaves the name open
        (Some(_), _) if !exists => format!("svm_train('…'{label}"),
        (Some(relation), _) => format!("svm_train({}{label}", quote_literal(relation)),
        (None, Some(query)) if query.chars().count() <= MOST_CHARACTERS => {
            format!("svm_train_query({}{label}", quote_literal(query))
        }
        (None, None) if !is_query => return None,
        (None, _) => format!("svm_train_query('SELECT …'{label}"),
    };
    let given = match row.text(7).map(|json| json::read_value(&json)) {
        Some(Ok(Value::Object(given))) => given,
        _ => Map::new(),
    };
    Some(TrainingCall {
        begun,
        source: relation.or(query),
        key: row.text(3),
        given,
    })
}
