//! `svm_export`: a model as LIBLINEAR's own `predict` reads it.
//!
//! Line j of the weights is that of the file's index j. A model of one sparse part or one text column in
//! LIBSVM notation has the same indices as the file; of all others feature j - 1, as `svm_weight` counts
//! them, is index j.

use super::liblinear::{self, LiblinearHeader};
use super::{libsvm_export, whole};
use crate::base::errors::{said, shortened, Code, Failure, OrRaise};
use crate::base::json;
use crate::base::text::listed;
use crate::combinations::models;
use crate::model::{self, Model};
use crate::pg::check_for_interrupts;
use crate::pg::json::JsonText;
use crate::pg::memory_ends::prepared;
use crate::request::required;
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use pgsvm_core::memory::{list, received, text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most bytes that a text can have, less room for the last line.
const MOST_BYTES: usize = (1 << 30) - (1 << 20);
/// Room that is made before a number: for it, and for what stands between it and the next one.
const ROOM: usize = 64;
/// Features between two looks for interrupts.
const FEATURES_BETWEEN_INTERRUPTS: u64 = 1024;

/// What `options` of an imported model keep of its file, so that it is exported as it came.
#[derive(Serialize, Deserialize)]
pub struct Origin {
    #[serde(deserialize_with = "text")]
    pub solver_type: String,
    pub bias: f64,
    /// In the order of the file.
    #[serde(deserialize_with = "list")]
    pub labels: Vec<i32>,
    /// What stands for each label in the model.
    #[serde(deserialize_with = "received")]
    pub classes: Vec<String>,
}

/// `svm_export(model, format) -> text`.
#[pg_extern(sql = false)]
fn svm_export(
    model: Option<&str>,
    format: Option<&str>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> String {
    let _prepared = prepared();
    let export = || {
        let name = required(model, "model")?;
        let format = Format::of(required(format, "format")?)?;
        let model = model::of_call(fcinfo, name)?;
        if !model.quantiles.is_empty() && !matches!(format, Format::Whole) {
            return Err(models::quantiles_in_files(&model.name));
        }
        let schema = model::schema_of_call(fcinfo);
        // said of a file that there is, and not in front of an error
        let mut notices = Vec::new();
        let text = match format {
            Format::Whole => model::text::write(&model, Some(&whole::facts(&schema, &model)?))?,
            Format::Liblinear => {
                notices.extend(what_is_lost(&model));
                write(&model, &StoredVersion::read(&schema, &model)?, &mut notices)?
            }
            Format::Libsvm => {
                libsvm_export::write(&model, &StoredVersion::read(&schema, &model)?, &mut notices)?
            }
        };
        notices.into_iter().for_each(Failure::notice);
        Ok::<_, Failure>(text)
    };
    export().or_raise()
}

/// Tells who exports what LIBLINEAR's format has no place for.
fn what_is_lost(model: &Model) -> Option<Failure> {
    let features = &model.features;
    let has_words = features
        .parts
        .iter()
        .any(|part| part.vocabulary().is_some());
    let lost = match features.categories().next() {
        Some(_) => "names of columns and categories",
        None if has_words => "words",
        None if features.parts.len() > 1 => "names of columns",
        None => return None,
    };
    let message = format!(
        "LIBLINEAR's format numbers features: the {lost} of model \"{}\" are not in it",
        model.name
    );
    let said = Failure::new(Code::ERRCODE_SUCCESSFUL_COMPLETION, message);
    Some(said.hint("format => 'pgsvm' writes all of the model."))
}

#[derive(Clone, Copy)]
enum Format {
    /// LIBLINEAR's.
    Liblinear,
    /// LIBSVM's.
    Libsvm,
    /// Everything that the model is, for another database.
    Whole,
}

impl Format {
    fn of(word: &str) -> Result<Self, Failure> {
        match word {
            "libsvm" | "liblinear" => Ok(Self::Liblinear),
            "libsvm_model" => Ok(Self::Libsvm),
            "pgsvm" => Ok(Self::Whole),
            _ => Err(Failure::new(
                Code::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("unknown format '{}'", shortened(word)),
            )
            .hint("format => 'pgsvm' writes all of the model for another database, 'libsvm' LIBLINEAR's model format, 'libsvm_model' LIBSVM's")),
        }
    }
}

/// What only the tables say of a version.
pub struct StoredVersion {
    loss: String,
    intercept_used: bool,
    pub features: u64,
    origin: Option<Origin>,
}

impl StoredVersion {
    fn read(schema: &str, model: &Model) -> Result<Self, Failure> {
        let (name, version) = model.name_and_version();
        let found = Spi::connect(|client| {
            let query = format!(
                "SELECT v.loss, v.intercept_used, v.feature_count, v.options::pg_catalog.text
                 FROM {schema}.svm_model AS m
                 JOIN {schema}.svm_version AS v ON v.model_id OPERATOR(pg_catalog.=) m.id
                 WHERE m.name OPERATOR(pg_catalog.=) $1 AND v.version OPERATOR(pg_catalog.=) $2"
            );
            let rows = client.select(&query, Some(1), &[name.into(), version.into()])?;
            let row = rows.first();
            let features = row.get::<i64>(3)?;
            let options = row.get::<&str>(4)?.map(JsonText::read);
            Ok::<_, pgrx::spi::SpiError>(Self {
                // of somebody's own making it may be long
                loss: row.get::<&str>(1)?.map(shortened).unwrap_or_default(),
                intercept_used: row.get::<bool>(2)?.unwrap_or(true),
                features: features.map_or(0, |count| u64::try_from(count).unwrap_or(0)),
                origin: options.and_then(Result::ok).and_then(|it| Origin::of(&it)),
            })
        });
        found.map_err(|error| {
            Failure::new(
                Code::ERRCODE_INTERNAL_ERROR,
                format!("could not read model \"{}\": {error}", model.name),
            )
        })
    }
}

/// The whole file; `notices` collects what is to be said of it.
fn write(
    model: &Model,
    stored: &StoredVersion,
    notices: &mut Vec<Failure>,
) -> Result<String, Failure> {
    check_weights(model)?;
    check_sums(model)?;
    let first = first_feature(model)?;
    let (labels, classes) = match model.task() {
        // weights speak for the larger side
        Some(_) => (Vec::new(), vec![1]),
        None => labels(model, stored, notices),
    };
    let header = header(model, stored, labels, first);
    // a line is a digit, a blank and its end at least
    if header.features > MOST_BYTES as u64 / 3 {
        return Err(too_long());
    }
    let mut text = header.write();
    let columns = classes.iter().take(header.columns());
    let columns: Vec<_> = columns.map(|class| model.head_of_class(*class)).collect();
    for id in first..stored.features {
        if id % FEATURES_BETWEEN_INTERRUPTS == 0 {
            check_for_interrupts();
        }
        put_line(&mut text, &columns, |head| weight(model, head, id))?;
    }
    if header.bias >= 0.0 {
        let part = |head: usize| model.heads[head].intercept / header.bias;
        put_line(&mut text, &columns, part)?;
    }
    Ok(text)
}

/// Refuses a kernel machine.
fn check_weights(model: &Model) -> Result<(), Failure> {
    if model.features.kernel.is_none() {
        return Ok(());
    }
    let name = quote_literal(model.base_name());
    let libsvm = match libsvm_export::can_be_said(model) {
        true => format!("svm_export({name}, format => 'libsvm_model') writes it for LIBSVM; "),
        false => String::new(),
    };
    Err(models::kernel_liblinear(&model.name, libsvm, name))
}

/// Refuses a model whose decisions are no plain sums.
fn check_sums(model: &Model) -> Result<(), Failure> {
    if model.features.unit_rows.is_none() {
        return Ok(());
    }
    Err(models::unit_rows_liblinear(&model.name))
}

/// What stands above the weights, the first of which is that of the feature `first`.
fn header(model: &Model, stored: &StoredVersion, labels: Vec<i32>, first: u64) -> LiblinearHeader {
    let origin = stored.origin.as_ref();
    let intercept = model.heads.first().map_or(0.0, |head| head.intercept);
    if model.finds_novelties {
        return LiblinearHeader {
            solver: liblinear::ONE_CLASS.0.to_owned(),
            labels,
            features: stored.features.saturating_sub(first),
            bias: -1.0,
            rho: Some(-intercept),
        };
    }
    let used = stored.intercept_used || model.heads.iter().any(|head| head.intercept != 0.0);
    let solver = origin.map_or(liblinear::solver_of(&stored.loss), |it| &it.solver_type);
    let mut header = LiblinearHeader {
        solver: solver.to_owned(),
        labels,
        features: stored.features.saturating_sub(first),
        bias: match origin {
            Some(origin) if origin.bias != 0.0 => origin.bias,
            _ if used => 1.0,
            _ => -1.0,
        },
        rho: None,
    };
    if header.columns() != model.heads.len() {
        // one head is the difference of the two that the file had
        header.solver = liblinear::solver_of("").to_owned();
    }
    header
}

/// A line: a number of each head, with the sign that its class has in it.
fn put_line(
    text: &mut String,
    heads: &[(usize, f64)],
    number: impl Fn(usize) -> f64,
) -> Result<(), Failure> {
    for (head, sign) in heads {
        put(text, sign * number(*head))?;
    }
    text.push('\n');
    Ok(())
}

/// Whether the numbers of the features are the indices of a file.
pub fn own_indices(model: &Model) -> bool {
    let [part] = model.features.parts.as_slice() else {
        return false;
    };
    part.is_list() && part.vocabulary().is_none() && part.hash_bits().is_none()
}

/// The feature that is the file's index 1.
fn first_feature(model: &Model) -> Result<u64, Failure> {
    let zeroth = (0..model.heads.len()).any(|head| weight(model, head, 0) != 0.0);
    match (own_indices(model), zeroth) {
        (false, _) => Ok(0),
        (true, false) => Ok(1),
        (true, true) => Err(Failure::new(
            Code::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!(
                "model \"{}\" has a feature of index 0, which LIBSVM files do not know",
                model.name
            ),
        )
        .hint("Count the indices of the features from 1 and train the model again.")),
    }
}

/// The labels in the order of the file, and the model's class for each. LIBLINEAR's labels are
/// integers: others are numbered from 1, which `notices` collects.
pub fn labels(
    model: &Model,
    stored: &StoredVersion,
    notices: &mut Vec<Failure>,
) -> (Vec<i32>, Vec<usize>) {
    let origin = stored.origin.as_ref();
    if let Some(known) = origin.and_then(|origin| origin.labels_of(model)) {
        return known;
    }
    // of two classes the weights speak for the first label
    let order: Vec<usize> = match model.labels.len() {
        2 => vec![1, 0],
        many => (0..many).collect(),
    };
    let whole = |number: &f64| number.fract() == 0.0 && f64::from(*number as i32) == *number;
    let whole_numbers = model.numbers.as_ref();
    match whole_numbers.filter(|numbers| numbers.iter().all(whole)) {
        Some(numbers) => (
            order.iter().map(|class| numbers[*class] as i32).collect(),
            order,
        ),
        None => {
            let numbered = (1..).zip(&model.labels);
            let named: Vec<_> = numbered
                .map(|(number, label)| format!("{number} is \"{}\"", shortened(label)))
                .collect();
            notices.push(said(format!("labels of the file: {}", listed(&named))));
            (order.iter().map(|class| *class as i32 + 1).collect(), order)
        }
    }
}

impl Origin {
    /// What the options of a model keep; None of one that was trained.
    fn of(options: &Value) -> Option<Self> {
        let kept = options.get("liblinear").or(options.get("libsvm"));
        let kept = kept.cloned()?;
        json::of_value(kept).ok()
    }

    /// The labels in the order of the file, and the model's class for each; None where they do not fit the model.
    fn labels_of(&self, model: &Model) -> Option<(Vec<i32>, Vec<usize>)> {
        let class = |name: &String| model.labels.iter().position(|label| label == name);
        let classes: Vec<usize> = self.classes.iter().map(class).collect::<Option<_>>()?;
        let mut different = classes.clone();
        different.sort_unstable();
        different.dedup();
        let counts = [different.len(), classes.len(), self.labels.len()];
        let fit = counts.iter().all(|count| *count == model.labels.len());
        fit.then(|| (self.labels.clone(), classes))
    }
}

/// A head's weight of the feature.
pub fn weight(model: &Model, head: usize, id: u64) -> f64 {
    match id.checked_sub(model.dense_count as u64) {
        None => model.dense_of(head)[id as usize],
        Some(sparse) => u32::try_from(sparse)
            .ok()
            .and_then(|sparse| model.sparse.of_heads(sparse))
            .map_or(0.0, |weights| weights[head]),
    }
}

fn too_long() -> Failure {
    Failure::new(
        Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        "the exported model is longer than 1 GB, the most that a text can have",
    )
    .hint("The weights as rows: SELECT first_feature, features, weights FROM svm_weight WHERE version_id = ….")
}

pub fn put(text: &mut String, value: f64) -> Result<(), Failure> {
    if text.len() > MOST_BYTES {
        return Err(too_long());
    }
    text.try_reserve(ROOM).map_err(|_| {
        Failure::new(
            Code::ERRCODE_OUT_OF_MEMORY,
            "out of memory for the exported model",
        )
    })?;
    liblinear::write_number(text, value);
    text.push(' ');
    Ok(())
}
