//! The deployed version of the model that is trained again. A training of the same source and label takes over its settings. Runs in the
//! calling backend.

use crate::base::errors::Failure;
use crate::base::json;
use crate::catalog::rights;
use crate::features::{self, FeatureSet};
use crate::model::ClassesBy;
use crate::pg::json::JsonText;
use crate::pg::select::{self, Parameter, PreparedSelect};
use crate::pg::statement;
use crate::request::given::{self, GivenSettings, Names};
use crate::request::numbers::Numbers;
use crate::request::source::GivenSource;
use crate::request::{named_after, read_options, Arguments, ClassWeight};
use crate::storing::provenance;
use pgrx::pg_sys;
use pgsvm_core::memory::{gathered, received, text};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What was taken over.
pub struct TakenOver {
    /// The version, as name@version.
    pub from: String,
    /// Whether it predicts a number.
    pub regresses: bool,
    /// The settings, as SQL gives them.
    pub settings: Vec<String>,
}

/// What a training has from the version before it.
#[derive(Clone, Copy)]
pub enum Inherited<'a> {
    /// What its call does not give.
    Settings(Option<&'a TakenOver>),
    /// All: a refresh.
    Everything,
}

impl<'a> Inherited<'a> {
    pub fn settings(self) -> Option<&'a TakenOver> {
        match self {
            Self::Settings(taken) => taken,
            Self::Everything => None,
        }
    }

    /// Whether the call did not give this argument or option itself.
    pub fn has(self, name: &str) -> bool {
        match self {
            Self::Settings(taken) => taken.is_some_and(|taken| taken.has(name)),
            Self::Everything => true,
        }
    }
}

impl TakenOver {
    /// Whether this argument or option is among them.
    fn has(&self, name: &str) -> bool {
        let written = [format!("{name} => "), format!("option \"{name}\": ")];
        let is_it = |setting: &String| written.iter().any(|it| setting.starts_with(it));
        self.settings.iter().any(is_it)
    }

    /// As a sentence.
    pub fn sentence(&self) -> Option<String> {
        (!self.settings.is_empty()).then(|| {
            format!(
                "Kept from {}: {}. To keep nothing: options => '{{\"inherit\": false}}'.",
                self.from,
                self.settings.join(", ")
            )
        })
    }

    /// The failure of a training with it, of which the user did not give everything.
    pub fn explain(this: &Option<Self>, failure: Failure) -> Failure {
        match this {
            Some(taken) => match taken.sentence() {
                Some(sentence) => failure.in_detail(&sentence),
                None => failure,
            },
            None => failure,
        }
    }
}

/// What is said of it in short.
#[derive(Deserialize)]
struct Short {
    id: i64,
    version: i32,
    #[serde(deserialize_with = "text")]
    label: String,
    #[serde(default, deserialize_with = "received")]
    relation: Option<String>,
    /// Whether its query is the one asked for; None where it has none.
    same_query: Option<bool>,
    /// Whether it recorded what was given, as versions of 0.2.0 did not.
    recorded: bool,
    #[serde(deserialize_with = "text")]
    nulls: String,
    #[serde(default, deserialize_with = "received")]
    loss: Option<String>,
    c: Option<f64>,
    chosen: bool,
    #[serde(default, deserialize_with = "received")]
    weight: Option<String>,
    probability: bool,
    classes: Option<i32>,
    #[serde(default, deserialize_with = "received")]
    key: Option<String>,
    regresses: bool,
}

/// The deployed version.
struct Deployed {
    short: Short,
    /// What was given: lists of columns, and the others.
    features: Option<Names>,
    exclude: Option<Names>,
    others: Option<Map<String, Value>>,
    options: Option<Map<String, Value>>,
    class_weight: Option<String>,
}

/// Sets the settings that `arguments` do not give to those of the version that they would take the place of; None where there
/// is none. `schema` is the extension's, quoted.
pub fn take_over(schema: &str, arguments: &mut Arguments) -> Result<Option<TakenOver>, Failure> {
    let Some(source) = arguments.source.clone() else {
        return Ok(None);
    };
    let label = arguments.columns.label.clone().unwrap_or_default();
    if read_options(arguments.options.as_ref())?.get("inherit") == Some(&Value::Bool(false)) {
        return Ok(None);
    }
    let name = match arguments.model.clone() {
        Some(name) => name,
        None => source.default_model_name(named_after(&label))?,
    };
    rights::check_updated(schema)?;
    let Some(deployed) = deployed(schema, &name, &source)? else {
        return Ok(None);
    };
    if deployed.short.label != label || !deployed.short.is_of(&source) {
        return Ok(None);
    }
    let from = format!("{name}@{}", deployed.short.version);
    let regresses = deployed.short.regresses;
    let settings = given::take_over(arguments, deployed.given(schema, &source)?)?;
    Ok(Some(TakenOver {
        from,
        regresses,
        settings,
    }))
}

/// Reads the deployed version; None where there is none, where it was imported, and where it says what nobody stores.
fn deployed(schema: &str, name: &str, source: &GivenSource) -> Result<Option<Deployed>, Failure> {
    let query = match source {
        GivenSource::Query(text) => text.as_str(),
        GivenSource::Relation(_) => "",
    };
    let sql = select_deployed(schema);
    // also what this statement has stored before
    let columns = statement::with_fresh_snapshot(|| {
        row(&sql, &[Parameter::Text(name), Parameter::Text(query)])
    });
    let Some([short, features, exclude, others, options, class_weight]) = columns else {
        return Ok(None);
    };
    let Some(short) = short.filter(|json| json::is_small(json)) else {
        return Ok(None);
    };
    Ok(json::read(&short).ok().map(|short| Deployed {
        short,
        features: features.and_then(names),
        exclude: exclude.and_then(names),
        others: others.and_then(object),
        options: options.and_then(object),
        class_weight: class_weight.filter(|text| text.len() <= given::MOST_BYTES),
    }))
}

/// The query for the deployed version of the model $1, and whether it was trained on the query $2.
fn select_deployed(schema: &str) -> String {
    format!(
        "SELECT pg_catalog.jsonb_build_object('id', v.id, 'version', v.version, 'label', v.label_column,
             'relation', v.source_relation, 'same_query', q.query OPERATOR(pg_catalog.=) $2,
             'recorded', v.given IS NOT NULL, 'nulls', v.nulls, 'loss', v.loss, 'c', v.c,
             'chosen', v.validation IS NOT NULL, 'classes', pg_catalog.cardinality(v.label_values), 'weight', v.weight_column, 'key', v.key_column, 'regresses', coalesce(v.task OPERATOR(pg_catalog.=) 'regression', false),
             'probability', EXISTS (SELECT FROM {schema}.svm_head AS h
                 WHERE h.version_id OPERATOR(pg_catalog.=) v.id AND h.sigmoid_slope IS NOT NULL))::pg_catalog.text,
             v.given OPERATOR(pg_catalog.->>) 'features', v.given OPERATOR(pg_catalog.->>) 'exclude',
             CASE WHEN pg_catalog.jsonb_typeof(v.given) OPERATOR(pg_catalog.=) 'object'
                 THEN v.given OPERATOR(pg_catalog.-) '{{features,exclude}}'::pg_catalog.text[] END::pg_catalog.text,
             v.options::pg_catalog.text, v.class_weight OPERATOR(pg_catalog.#>>) '{{}}'::pg_catalog.text[]
         FROM {schema}.svm_model AS m
         JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id
             AND v.version OPERATOR(pg_catalog.=) m.current_version
         CROSS JOIN LATERAL (SELECT coalesce((SELECT s.query FROM {schema}.svm_source AS s
             WHERE s.version_id OPERATOR(pg_catalog.=) v.id), v.source_query)) AS q (query)
         WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.solver OPERATOR(pg_catalog.<>) 'imported'"
    )
}

/// The columns of the one row of a SELECT; None where there is none.
fn row<const COLUMNS: usize>(
    sql: &str,
    parameters: &[Parameter<'_>],
) -> Option<[Option<String>; COLUMNS]> {
    let types = parameters.iter().map(|parameter| match parameter {
        Parameter::Bytes(_) => pg_sys::BYTEAOID,
        Parameter::Text(_) => pg_sys::TEXTOID,
        Parameter::Int4(_) => pg_sys::INT4OID,
        Parameter::Int8(_) => pg_sys::INT8OID,
    });
    let types: Vec<_> = types.collect();
    let mut found = None;
    select::connected(|| {
        PreparedSelect::kept(sql, &types).for_each(parameters, |row| {
            found = Some(core::array::from_fn(|at| row.text(at as i32 + 1)));
            false
        });
    });
    found
}

/// A list of texts, as JSON.
fn names(json: String) -> Option<Names> {
    let is_short = json.len() <= given::MOST_BYTES;
    is_short.then(|| json::read_received(&json).ok()).flatten()
}

/// A JSON object of short values.
fn object(json: String) -> Option<Map<String, Value>> {
    match JsonText::read(&json) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

impl Short {
    /// Whether it was trained on this source, as far as it says.
    fn is_of(&self, source: &GivenSource) -> bool {
        match (&self.relation, self.same_query) {
            (Some(before), _) => provenance::is_relation(before, source),
            (None, Some(same)) => same && matches!(source, GivenSource::Query(_)),
            (None, None) => true,
        }
    }
}

impl Deployed {
    /// What was given to it.
    fn given(self, schema: &str, source: &GivenSource) -> Result<GivenSettings, Failure> {
        if self.short.recorded {
            return Ok(GivenSettings {
                features: self.features,
                exclude: self.exclude,
                others: self.others.unwrap_or_default(),
                regresses: self.short.regresses,
            });
        }
        Ok(GivenSettings {
            features: self.unusual_features(schema, source)?,
            exclude: None,
            regresses: false,
            others: self.unusual(),
        })
    }

    /// Of a version that recorded nothing: the loss, whose default has changed, and what is no default.
    fn unusual(self) -> Map<String, Value> {
        let class_weight = self.class_weight.as_deref().map(ClassWeight::argument);
        let class_weight = class_weight.map(|it| JsonText::read(it).unwrap_or_else(|_| it.into()));
        let version = self.short;
        let c = match (version.chosen, version.c) {
            (true, _) => Numbers::Auto.value(),
            (false, c) => c.filter(|c| *c != 1.0).map(Value::from),
        };
        // classes were those of the largest decision
        let mut options = self.options;
        if version.probability && version.classes > Some(2) {
            let by = Value::from(ClassesBy::Decision.word());
            options
                .get_or_insert_default()
                .insert("classes_by".to_owned(), by);
        }
        let nulls = Some(version.nulls).filter(|nulls| nulls != "error");
        let given = [
            ("loss", version.loss.map(Value::from)),
            ("nulls", nulls.map(Value::from)),
            ("weight", version.weight.map(Value::from)),
            ("class_weight", class_weight),
            (
                "probability",
                version.probability.then_some(Value::Bool(true)),
            ),
            ("key", version.key.map(Value::from)),
            ("c", c),
            ("options", options.map(Value::Object)),
        ];
        let given = given.into_iter();
        given
            .filter_map(|(name, value)| value.map(|value| (name.to_owned(), value)))
            .collect()
    }

    /// Its features, where they are not all columns that can be some.
    fn unusual_features(
        &self,
        schema: &str,
        source: &GivenSource,
    ) -> Result<Option<Names>, Failure> {
        let sql = format!(
            "SELECT features::pg_catalog.text FROM {schema}.svm_version WHERE id OPERATOR(pg_catalog.=) $1"
        );
        let columns = row(&sql, &[Parameter::Int8(self.short.id)]);
        let json = columns.and_then(|[json]| json).unwrap_or_default();
        let Some(known) = FeatureSet::from_json(&json)? else {
            return Ok(None);
        };
        let names = |set: &FeatureSet| gathered(set.parts.iter().map(|part| Some(part.name())));
        let fold = self
            .options
            .as_ref()
            .and_then(|options| options.get("fold_column"));
        let aside = [
            self.short.weight.as_deref(),
            self.short.key.as_deref(),
            fold.and_then(Value::as_str),
        ];
        let mut columns = source.columns()?;
        columns.retain(|column| !aside.contains(&Some(column.name.as_str())));
        let known = names(&known)?;
        let usual = match features::resolve(None, &columns, &self.short.label) {
            Ok((set, _)) => names(&set)?,
            Err(_) => Vec::new(),
        };
        Ok((usual != known).then_some(known))
    }
}
