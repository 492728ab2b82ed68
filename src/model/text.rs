//! A version as one text: what moves a model to another database, and what a function holds whose
//! predictions read no table. Lines of JSON, so that it is written and read a piece at a time: the form's
//! number and the model's name, the version, each head, the weights in chunks, and how many lines there were.

use super::assemble::{self, Bad, Header, Loading};
use super::Model;
use crate::base::errors::{Code, Failure, OrRaise};
use crate::features::FeatureSet;
use crate::pg::check_for_interrupts;
use core::fmt::{self, Display};
use pgsvm_core::memory::{gathered, OutOfMemory, Room};
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use std::rc::Rc;

/// The form that is written; a later one would be another number.
const FORM: u32 = 1;
/// Most bytes that a text can have, less room for the last lines.
const MOST_BYTES: usize = (1 << 30) - (1 << 20);
/// Features in a chunk, as in svm_weight.
const CHUNK: u64 = 16_384;
/// Most bytes of a line of weights: 16384 of the longest numbers and places.
const MOST_LINE_BYTES: usize = 1 << 20;
/// Most bytes of any line.
const MOST_VERSION_BYTES: usize = 1 << 28;

/// Consecutive features' weights of one head.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chunk {
    pub head: i32,
    pub first: i64,
    /// Offsets from `first`, where not every feature has its weight here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<i32>>,
    pub weights: Vec<f64>,
}

/// What a text says of a version beside its model.
pub struct Facts {
    /// The model's name where it was written.
    pub name: String,
    /// By the names of columns of svm_version.
    pub version: Map<String, Value>,
    /// By the names of columns of svm_head.
    pub heads: Vec<Map<String, Value>>,
}

/// One line; each has one of these.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    pgsvm: Option<u32>,
    name: Option<String>,
    version: Option<Map<String, Value>>,
    head: Option<Map<String, Value>>,
    chunk: Option<Chunk>,
    lines: Option<usize>,
}

/// Whether a text is meant to be one of these.
pub fn is_one(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// The facts without which there is no model.
pub fn facts_of(model: &Model) -> Result<Facts, Failure> {
    let features = FeatureSet {
        spread: Rc::default(),
        ..model.features.copied()?
    };
    let features = features.to_json().map_err(|_| out_of_memory())?;
    let features: Value = serde_json::from_str(&features).unwrap_or_default();
    let count = model.dense_count as u64
        + model
            .sparse
            .iter()
            .last()
            .map_or(0, |(id, _)| u64::from(id) + 1);
    let version = json!({
        "features": features,
        "nulls": model.nulls.word(),
        "label_column": model.label_column,
        "label_type": model.label_type,
        "label_values": model.labels,
        "feature_count": count,
    });
    Ok(Facts {
        name: model.name.clone(),
        version: object(version),
        heads: vec![Map::new(); model.heads.len()],
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Writes the model, with these facts.
pub fn write(model: &Model, mut facts: Facts) -> Result<String, Failure> {
    let mut out = Lines::default();
    // the form's number stands first
    out.put(format_args!(
        "{{\"pgsvm\":{FORM},\"name\":{}}}",
        json!(facts.name)
    ))?;
    // numbers as they are, whatever extra_float_digits has made of them
    facts
        .version
        .insert("intercept".to_owned(), json!(model.intercept));
    out.put(json!({"version": facts.version}))?;
    for (place, (head, mut facts)) in model.heads.iter().zip(facts.heads).enumerate() {
        facts.insert(
            "class".to_owned(),
            json!(model.labels[model.class_of_head(place)]),
        );
        facts.insert("intercept".to_owned(), json!(head.intercept));
        facts.insert(
            "sigmoid_slope".to_owned(),
            json!(head.sigmoid.map(|it| it.slope)),
        );
        facts.insert(
            "sigmoid_offset".to_owned(),
            json!(head.sigmoid.map(|it| it.offset)),
        );
        out.put(json!({"head": facts}))?;
    }
    for head in 0..model.heads.len() {
        chunks(model, head, |chunk| out.put(json!({"chunk": chunk})))?;
    }
    let lines = out.lines + 1;
    out.put(json!({"lines": lines}))?;
    Ok(out.text)
}

#[derive(Default)]
struct Lines {
    text: String,
    lines: usize,
    /// A line was refused, as a text cannot be as long.
    is_full: bool,
}

impl Lines {
    fn put(&mut self, line: impl Display) -> Result<(), Failure> {
        use fmt::Write;
        if writeln!(self, "{line}").is_err() {
            return Err(match self.is_full {
                true => Failure::new(
                    Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                    "the model as text is longer than 1 GB, the most that a text can have",
                ),
                false => out_of_memory(),
            });
        }
        self.lines += 1;
        Ok(())
    }
}

impl fmt::Write for Lines {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.is_full = self.text.len() + part.len() > MOST_BYTES;
        if self.is_full || self.text.try_reserve(part.len()).is_err() {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

/// Calls `take` with a head's weights that are not zero, chunk after chunk.
pub fn chunks(
    model: &Model,
    head: usize,
    mut take: impl FnMut(Chunk) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let dense = (0..).zip(model.dense_of(head).iter().copied());
    let sparse = model
        .sparse
        .iter()
        .map(|(id, weights)| (model.dense_count as u64 + u64::from(id), weights[head]));
    let mut waiting: Vec<(u64, f64)> = Vec::new();
    let mut give = |waiting: &mut Vec<(u64, f64)>| {
        check_for_interrupts();
        match waiting.is_empty() {
            true => Ok(()),
            false => take(chunk(head, core::mem::take(waiting))?),
        }
    };
    for (id, weight) in dense.chain(sparse).filter(|(_, weight)| *weight != 0.0) {
        if waiting
            .first()
            .is_some_and(|(first, _)| id / CHUNK != first / CHUNK)
        {
            give(&mut waiting)?;
        }
        waiting.room(1)?.push((id, weight));
    }
    give(&mut waiting)
}

fn chunk(head: usize, weights: Vec<(u64, f64)>) -> Result<Chunk, OutOfMemory> {
    let first = weights[0].0;
    let follow = weights
        .iter()
        .zip(first..)
        .all(|((id, _), next)| *id == next);
    let offsets = weights.iter().map(|(id, _)| (id - first) as i32);
    Ok(Chunk {
        head: head as i32,
        first: first as i64,
        features: match follow {
            true => None,
            false => Some(gathered(offsets)?),
        },
        weights: gathered(weights.iter().map(|(_, weight)| *weight))?,
    })
}

/// Reads a model and what else the text says.
pub fn read(text: &str) -> Result<(Model, Facts), Failure> {
    let mut lines = (1..).zip(text.trim().lines());
    let (number, first) = next(&mut lines)?;
    if first.pgsvm != Some(FORM) {
        return Err(malformed(
            number,
            &format!("is of a form that this version does not read; it reads {FORM}"),
        ));
    }
    let name = first.name.unwrap_or_default();
    let (number, second) = next(&mut lines)?;
    let version = second
        .version
        .ok_or_else(|| malformed(number, "lacks the version"))?;
    let (mut model, feature_count) = header(&version)
        .and_then(|header| header.model(&name))
        .map_err(|what| nonsense(&name, what))?;
    let mut heads = Vec::new();
    let mut line = next(&mut lines)?;
    while let Some(head) = line.1.head.take() {
        add_head(&mut model, &head).map_err(|what| nonsense(&name, what))?;
        heads.push(head);
        line = next(&mut lines)?;
    }
    assemble::complete_heads(&mut model).map_err(|what| nonsense(&name, what))?;
    let mut loading = Loading::new(&mut model, feature_count).map_err(|_| out_of_memory())?;
    while let Some(chunk) = line.1.chunk.take() {
        check_for_interrupts();
        take_chunk(&mut loading, &chunk).map_err(|bad| bad_chunk(&name, bad))?;
        line = next(&mut lines)?;
    }
    loading.finish().map_err(|bad| bad_chunk(&name, bad))?;
    match (line.1.lines, lines.next()) {
        (Some(count), None) if count == line.0 => Ok((
            model,
            Facts {
                name,
                version,
                heads,
            },
        )),
        _ => Err(malformed(line.0, "is not the last, or lines are missing")),
    }
}

fn next<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>) -> Result<(usize, Line), Failure> {
    let Some((number, line)) = lines.next() else {
        return Err(Failure::new(
            Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
            "the model ends too early",
        )
        .hint("Pass the whole text that svm_export(model, format => 'pgsvm') returned."));
    };
    let most = match number {
        2 => MOST_VERSION_BYTES,
        _ => MOST_LINE_BYTES,
    };
    if line.len() > most {
        return Err(malformed(number, "is too long"));
    }
    let read: Line = serde_json::from_str(line)
        .map_err(|error| malformed(number, &format!("is none of a model: {error}")))?;
    Ok((number, read))
}

fn header(version: &Map<String, Value>) -> Result<Header, &'static str> {
    let text = |name: &str| {
        version
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let labels = version.get("label_values").cloned().unwrap_or_default();
    Ok(Header {
        features: version
            .get("features")
            .and_then(|features| FeatureSet::from_json(&features.to_string()).or_raise()),
        nulls: text("nulls"),
        label_type: text("label_type"),
        labels: serde_json::from_value(labels).map_err(|_| "lacks a label")?,
        intercept: version
            .get("intercept")
            .and_then(Value::as_f64)
            .unwrap_or(f64::NAN),
        feature_count: version
            .get("feature_count")
            .and_then(Value::as_i64)
            .unwrap_or(-1),
        label_column: text("label_column"),
    })
}

fn add_head(model: &mut Model, head: &Map<String, Value>) -> Result<(), &'static str> {
    let number = |name: &str| match head.get(name) {
        None | Some(Value::Null) => None,
        Some(value) => Some(value.as_f64().unwrap_or(f64::NAN)),
    };
    let class = head
        .get("class")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let sigmoid = (number("sigmoid_slope"), number("sigmoid_offset"));
    assemble::add_head(
        model,
        class,
        number("intercept").unwrap_or(f64::NAN),
        sigmoid,
    )
}

fn take_chunk(loading: &mut Loading<'_>, chunk: &Chunk) -> Result<(), Bad> {
    let offsets: Option<Vec<f64>> = chunk
        .features
        .as_ref()
        .map(|all| all.iter().copied().map(f64::from).collect());
    loading.chunk(chunk.head, chunk.first, offsets.as_deref(), &chunk.weights)
}

fn bad_chunk(name: &str, bad: Bad) -> Failure {
    match bad {
        Bad::Memory => out_of_memory(),
        Bad::Chunk(what) => nonsense(name, what),
    }
}

fn nonsense(name: &str, what: &str) -> Failure {
    Failure::new(
        Code::ERRCODE_INVALID_TEXT_REPRESENTATION,
        format!("model \"{name}\" as text is damaged: it {what}"),
    )
}

fn malformed(line: usize, what: &str) -> Failure {
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
