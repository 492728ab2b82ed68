//! A version as one text: what moves a model to another database, and what a function holds whose
//! predictions read no table. Lines of JSON, so that it is written and read a piece at a time: the form's
//! number and the model's name, the version, each head, of a kernel machine each landmark, the weights in chunks, and how
//! many lines there were.

mod write;

pub use write::{chunks, write};

use super::assemble::{self, BadChunk, Header, LoadingModel, Probabilities};
use super::version::Model;
use crate::base::errors::{Code, Failure};
use crate::base::json::{self, JsonError};
use crate::features::{FeatureSet, KernelForm};
use crate::pg::check_for_interrupts;
use pgsvm_core::kernels::Rows;
use pgsvm_core::memory::{gathered, list, received, Room};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The form that is written; a later one would be another number.
const FORM: u32 = 1;
/// Most bytes of a line of weights: 16384 of the longest numbers and places.
const MOST_LINE_BYTES: usize = 1 << 20;
/// How a line with a landmark begins, which may be a long row.
const LANDMARK: &str = "{\"landmark\":";
/// Most bytes of any line.
const MOST_VERSION_BYTES: usize = 1 << 28;

/// Consecutive features' weights of one head.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextChunk {
    pub head: i32,
    pub first: i64,
    /// Offsets from `first`, where not every feature has its weight here.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "received"
    )]
    pub features: Option<Vec<i32>>,
    #[serde(deserialize_with = "list")]
    pub weights: Vec<f64>,
}

/// A landmark of a kernel machine: dense features, and numbers and values of the others.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextLandmark {
    #[serde(deserialize_with = "list")]
    dense: Vec<f32>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "list"
    )]
    index: Vec<u32>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "list"
    )]
    value: Vec<f32>,
}

/// What the tables say of a version beside weights: JSON objects by the names of columns, without what a model says itself.
pub struct VersionFacts {
    /// Of svm_version.
    pub version: String,
    /// Of svm_head.
    pub heads: Vec<String>,
}

/// What a text says of a version beside its model: the same objects whole, as they stand in it, and their lines.
pub struct VersionLines<'a> {
    pub version: (usize, &'a str),
    pub heads: Vec<(usize, &'a str)>,
    /// Features that weights or landmarks know.
    pub feature_count: u64,
}

/// One line; each has one of these.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextLine<'a> {
    pgsvm: Option<u32>,
    #[serde(default, deserialize_with = "received")]
    name: Option<String>,
    #[serde(borrow)]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    head: Option<&'a RawValue>,
    landmark: Option<TextLandmark>,
    chunk: Option<TextChunk>,
    lines: Option<usize>,
}

/// What a model needs of its version: columns of svm_version, in JSON.
#[derive(Deserialize)]
struct VersionColumns<'a> {
    #[serde(borrow)]
    features: Option<&'a RawValue>,
    #[serde(borrow)]
    nulls: Option<&'a RawValue>,
    #[serde(borrow)]
    label_type: Option<&'a RawValue>,
    #[serde(borrow)]
    label_values: Option<&'a RawValue>,
    #[serde(borrow)]
    intercept: Option<&'a RawValue>,
    #[serde(borrow)]
    feature_count: Option<&'a RawValue>,
    #[serde(borrow)]
    label_column: Option<&'a RawValue>,
    #[serde(borrow)]
    classes_by: Option<&'a RawValue>,
    #[serde(borrow, default)]
    task: Option<&'a RawValue>,
    #[serde(borrow, default)]
    quantiles: Option<&'a RawValue>,
    interval_rows: Option<&'a RawValue>,
    #[serde(borrow, default)]
    interval_residuals: Option<&'a RawValue>,
}

/// What a model needs of its heads: columns of svm_head.
#[derive(Deserialize)]
struct HeadColumns<'a> {
    #[serde(borrow)]
    class: Option<&'a RawValue>,
    #[serde(borrow)]
    intercept: Option<&'a RawValue>,
    #[serde(borrow)]
    sigmoid_slope: Option<&'a RawValue>,
    #[serde(borrow)]
    sigmoid_offset: Option<&'a RawValue>,
    #[serde(borrow)]
    isotonic_decisions: Option<&'a RawValue>,
    #[serde(borrow)]
    isotonic_probabilities: Option<&'a RawValue>,
    #[serde(borrow)]
    against: Option<&'a RawValue>,
}

/// Whether a text is meant to be one of these.
pub fn is_one(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Reads a model and what else the text says.
pub fn read(text: &str) -> Result<(Model, VersionLines<'_>), Failure> {
    let mut lines = (1..).zip(text.trim().lines());
    let (number, first) = next(&mut lines)?;
    if first.pgsvm != Some(FORM) {
        return Err(malformed(
            number,
            &format!("is of a form that this version does not read; it reads {FORM}"),
        ));
    }
    let name = first.name;
    let name = name.ok_or_else(|| malformed(number, "lacks the name"))?;
    let (number, second) = next(&mut lines)?;
    let version = second
        .version
        .ok_or_else(|| malformed(number, "lacks the version"))?;
    let (mut model, feature_count) = read_version(number, version, &name)?;
    let version = (number, version.get());
    let (mut heads, mut taken) = (Vec::new(), assemble::ModelHeads::default());
    let mut line = next(&mut lines)?;
    while let Some(head) = line.1.head.take() {
        check_for_interrupts();
        read_head(line.0, head, &mut model, &mut taken)?;
        heads.room(1)?.push((line.0, head.get()));
        line = next(&mut lines)?;
    }
    let completed = taken.complete(&mut model);
    completed.map_err(|bad| bad_chunk(&name, bad))?;
    let landmarks = read_landmarks(&mut line, &mut lines, &model)?;
    let (number, last) = read_weights(line, &mut lines, &mut model, feature_count, landmarks)?;
    match (last.lines, lines.next()) {
        (Some(count), None) if count == number => {
            let lines = VersionLines {
                version,
                heads,
                feature_count,
            };
            Ok((model, lines))
        }
        _ => Err(malformed(number, "is not the last, or lines are missing")),
    }
}

/// The model that the line of a version says, and the number of its features.
fn read_version(number: usize, version: &RawValue, name: &str) -> Result<(Model, u64), Failure> {
    let columns: VersionColumns<'_> =
        json::read(version.get()).map_err(|error| unreadable(number, error))?;
    let model = header(number, &columns)?.model(name);
    model.map_err(|what| nonsense(name, what))
}

fn read_head(
    number: usize,
    head: &RawValue,
    model: &mut Model,
    taken: &mut assemble::ModelHeads,
) -> Result<(), Failure> {
    let columns: HeadColumns<'_> =
        json::read(head.get()).map_err(|error| unreadable(number, error))?;
    let class = text_of(number, "class", columns.class)?.unwrap_or_default();
    let against = text_of(number, "against", columns.against)?;
    let classes = (class.as_str(), against.as_deref());
    let added = add_head(model, classes, &columns, taken);
    added.map_err(|bad| bad_chunk(&model.name, bad))
}

/// Takes the landmarks of `line` and those that follow, which a kernel machine has; `line` is the one behind them.
fn read_landmarks<'a>(
    line: &mut (usize, TextLine<'a>),
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
    model: &Model,
) -> Result<Option<Rows>, Failure> {
    let Some(form) = &model.features.kernel else {
        return Ok(None);
    };
    let mut rows = Rows::new(form.width);
    while let Some(landmark) = line.1.landmark.take() {
        check_for_interrupts();
        take_landmark(form, &mut rows, &landmark).map_err(|bad| bad_chunk(&model.name, bad))?;
        *line = next(lines)?;
    }
    Ok(Some(rows))
}

/// Takes the weights of `line` and those that follow; returns the line behind them.
fn read_weights<'a>(
    mut line: (usize, TextLine<'a>),
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
    model: &mut Model,
    feature_count: u64,
    landmarks: Option<Rows>,
) -> Result<(usize, TextLine<'a>), Failure> {
    let name = model.name.clone();
    let mut loading = LoadingModel::new(model, feature_count).map_err(|_| out_of_memory())?;
    while let Some(chunk) = line.1.chunk.take() {
        check_for_interrupts();
        take_chunk(&mut loading, &chunk).map_err(|bad| bad_chunk(&name, bad))?;
        line = next(lines)?;
    }
    loading
        .finish(landmarks)
        .map_err(|bad| bad_chunk(&name, bad))?;
    Ok(line)
}

fn next<'a>(
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<(usize, TextLine<'a>), Failure> {
    let Some((number, line)) = lines.next() else {
        return Err(Failure::new(
            Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
            "the model ends too early",
        )
        .hint("Pass the whole text that svm_export(model, format => 'pgsvm') returned."));
    };
    let most = match number {
        2 => MOST_VERSION_BYTES,
        _ if line.starts_with(LANDMARK) => MOST_VERSION_BYTES,
        _ => MOST_LINE_BYTES,
    };
    if line.len() > most {
        return Err(malformed(number, "is too long"));
    }
    if !json::has_small_texts(line) {
        return Err(malformed(
            number,
            "holds a text of more than 16 kB, or lists within lists",
        ));
    }
    if json::has_zero(line) {
        return Err(malformed(
            number,
            "holds the character 0, which no text has",
        ));
    }
    let read = json::read(line).map_err(|error| unreadable(number, error))?;
    Ok((number, read))
}

pub fn unreadable(number: usize, error: JsonError) -> Failure {
    match error {
        JsonError::OutOfMemory(_) => out_of_memory(),
        JsonError::Refused(words) => malformed(number, &format!("is none of a model: {words}")),
    }
}

/// The text of a column; None where there is none.
fn text_of(line: usize, column: &str, value: Option<&RawValue>) -> Result<Option<String>, Failure> {
    let text = value.map(|value| json::read_received(value.get()));
    text.transpose().map_err(|error| match error {
        JsonError::OutOfMemory(_) => out_of_memory(),
        JsonError::Refused(_) => malformed(line, &format!("has no text for {column}")),
    })
}

/// A number; None where there is none, NaN where it is something else.
fn number_of(value: Option<&RawValue>) -> Option<f64> {
    Some(json::read(value?.get()).unwrap_or(f64::NAN))
}

/// A list of numbers; None where there is none, an empty one where it is something else.
fn numbers_of(value: Option<&RawValue>) -> Result<Option<Vec<f64>>, BadChunk> {
    match value {
        None => Ok(None),
        Some(value) => match json::read_list(value.get()) {
            Ok(numbers) => Ok(Some(numbers)),
            Err(JsonError::OutOfMemory(_)) => Err(BadChunk::Memory),
            Err(JsonError::Refused(_)) => Ok(Some(Vec::new())),
        },
    }
}

fn header(line: usize, version: &VersionColumns<'_>) -> Result<Header, Failure> {
    let features = match version.features {
        Some(features) => FeatureSet::from_json(features.get())?,
        None => None,
    };
    let labels = match version.label_values.map(RawValue::get) {
        Some(labels) => match json::read_received(labels) {
            Ok(labels) => labels,
            Err(JsonError::OutOfMemory(_)) => return Err(out_of_memory()),
            Err(JsonError::Refused(_)) => Vec::new(),
        },
        None => Vec::new(),
    };
    let count = version.feature_count.map(RawValue::get);
    let text = |column, value| text_of(line, column, value);
    Ok(Header {
        features,
        nulls: text("nulls", version.nulls)?.unwrap_or_default(),
        label_type: text("label_type", version.label_type)?.unwrap_or_default(),
        labels,
        intercept: number_of(version.intercept).unwrap_or(f64::NAN),
        feature_count: count.and_then(|it| it.parse().ok()).unwrap_or(-1),
        label_column: text("label_column", version.label_column)?.unwrap_or_default(),
        classes_by: text("classes_by", version.classes_by)?,
        task: text("task", version.task)?,
        quantiles: match numbers_of(version.quantiles) {
            Ok(quantiles) => quantiles.unwrap_or_default(),
            Err(_) => return Err(out_of_memory()),
        },
        residuals: (
            version
                .interval_rows
                .map(|it| it.get().parse().unwrap_or(-1)),
            numbers_of(version.interval_residuals).map_err(|_| out_of_memory())?,
        ),
    })
}

fn add_head(
    model: &mut Model,
    classes: (&str, Option<&str>),
    head: &HeadColumns<'_>,
    taken: &mut assemble::ModelHeads,
) -> Result<(), BadChunk> {
    let intercept = number_of(head.intercept).unwrap_or(f64::NAN);
    let probabilities = Probabilities {
        sigmoid: (
            number_of(head.sigmoid_slope),
            number_of(head.sigmoid_offset),
        ),
        isotonic: (
            numbers_of(head.isotonic_decisions)?,
            numbers_of(head.isotonic_probabilities)?,
        ),
    };
    taken.add(model, classes, intercept, probabilities)
}

fn take_landmark(
    form: &KernelForm,
    rows: &mut Rows,
    landmark: &TextLandmark,
) -> Result<(), BadChunk> {
    if landmark.index.len() != landmark.value.len() {
        return Err(BadChunk::Chunk(
            "has a landmark with more or fewer features than values",
        ));
    }
    let entries = landmark.index.iter().zip(&landmark.value);
    let entries = gathered(entries.map(|(id, value)| [*id, value.to_bits()]));
    let entries = entries.map_err(|_| BadChunk::Memory)?;
    assemble::add_landmark(form, rows, &landmark.dense, &entries)
}

fn take_chunk(loading: &mut LoadingModel<'_>, chunk: &TextChunk) -> Result<(), BadChunk> {
    let offsets = match &chunk.features {
        Some(all) => {
            let all = gathered(all.iter().copied().map(f64::from));
            Some(all.map_err(|_| BadChunk::Memory)?)
        }
        None => None,
    };
    loading.chunk(chunk.head, chunk.first, offsets.as_deref(), &chunk.weights)
}

fn bad_chunk(name: &str, bad: BadChunk) -> Failure {
    match bad {
        BadChunk::Memory => out_of_memory(),
        BadChunk::Chunk(what) => nonsense(name, what),
    }
}

fn nonsense(name: &str, what: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
        format!("model \"{name}\" as text is damaged: it {what}"),
    )
}

pub fn malformed(line: usize, what: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
        format!("line {line} of the model {what}"),
    )
    .hint("Pass the whole text that svm_export(model, format => 'pgsvm') returned.")
}

fn out_of_memory() -> Failure {
    Failure::new(
        Code::ERRCODE_OUT_OF_MEMORY,
        "out of memory for a model as text",
    )
}
