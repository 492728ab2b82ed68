//! A version as one text: what moves a model to another database, and what a function holds whose
//! predictions read no table. Lines of JSON, so that it is written and read a piece at a time: the form's
//! number and the model's name, the version, each head, the weights in chunks, and how many lines there were.

use super::assemble::{self, Bad, Header, Loading};
use super::version::Model;
use crate::base::errors::{Code, Failure};
use crate::base::json;
use crate::features::FeatureSet;
use crate::pg::check_for_interrupts;
use core::fmt::{self, Display};
use pgsvm_core::memory::{gathered, list, OutOfMemory, Room};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
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
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "offsets"
    )]
    pub features: Option<Vec<i32>>,
    #[serde(deserialize_with = "list")]
    pub weights: Vec<f64>,
}

fn offsets<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<i32>>, D::Error> {
    #[derive(Deserialize)]
    struct Offsets(#[serde(deserialize_with = "list")] Vec<i32>);
    Ok(Option::<Offsets>::deserialize(from)?.map(|all| all.0))
}

/// What the tables say of a version beside weights: JSON objects by the names of columns, without what a model says itself.
pub struct Facts {
    /// Of svm_version.
    pub version: String,
    /// Of svm_head.
    pub heads: Vec<String>,
}

/// What a text says of a version beside its model: the same objects whole, as they stand in it.
pub struct Told<'a> {
    pub version: &'a str,
    pub heads: Vec<&'a str>,
}

/// One line; each has one of these.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    pgsvm: Option<u32>,
    name: Option<String>,
    #[serde(borrow)]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    head: Option<&'a RawValue>,
    chunk: Option<Chunk>,
    lines: Option<usize>,
}

/// What a model needs of its version: columns of svm_version.
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
}

/// Names of those that the text of a version says first, which its facts leave out.
pub const SAID_OF_VERSION: [&str; 7] = [
    "features",
    "nulls",
    "label_type",
    "label_values",
    "intercept",
    "feature_count",
    "label_column",
];

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
}

/// The same of a head.
pub const SAID_OF_HEAD: [&str; 4] = ["class", "intercept", "sigmoid_slope", "sigmoid_offset"];

/// Whether a text is meant to be one of these.
pub fn is_one(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Writes the model, with these facts where there are some.
pub fn write(model: &Model, facts: Option<&Facts>) -> Result<String, Failure> {
    let mut out = Lines::default();
    let features = match facts {
        Some(_) => model.features.to_json(),
        None => model.features.copied().and_then(|features| {
            FeatureSet {
                spread: Rc::default(),
                ..features
            }
            .to_json()
        }),
    };
    let features = features.map_err(|_| out_of_memory())?;
    let count = model.dense_count as u64
        + model
            .sparse
            .iter()
            .last()
            .map_or(0, |(id, _)| u64::from(id) + 1);
    // the form's number stands first
    out.put(format_args!(
        "{{\"pgsvm\":{FORM},\"name\":{}}}",
        serde_json::json!(model.name)
    ))?;
    // numbers as they are, whatever extra_float_digits has made of them
    out.part(format_args!(
        "{{\"version\":{{\"features\":{features},\"nulls\":{},\"label_type\":{},\"label_column\":{},\"label_values\":[",
        serde_json::json!(model.nulls.word()),
        serde_json::json!(model.label_type),
        serde_json::json!(model.label_column),
    ))?;
    for (place, label) in model.labels.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        out.part(format_args!("{comma}{}", serde_json::json!(label)))?;
    }
    out.put(format_args!(
        "],\"intercept\":{},\"feature_count\":{count}{}}}",
        serde_json::json!(model.intercept),
        Behind(facts.map(|facts| facts.version.as_str()))
    ))?;
    for (place, head) in model.heads.iter().enumerate() {
        out.put(format_args!(
            "{{\"head\":{{\"class\":{},\"intercept\":{},\"sigmoid_slope\":{},\"sigmoid_offset\":{}{}}}",
            serde_json::json!(model.labels[model.class_of_head(place)]),
            serde_json::json!(head.intercept),
            serde_json::json!(head.sigmoid.map(|it| it.slope)),
            serde_json::json!(head.sigmoid.map(|it| it.offset)),
            Behind(facts.and_then(|facts| facts.heads.get(place)).map(String::as_str))
        ))?;
    }
    for head in 0..model.heads.len() {
        chunks(model, head, |chunk| out.put_chunk(&chunk))?;
    }
    let lines = out.lines + 1;
    out.put(format_args!("{{\"lines\":{lines}}}"))?;
    Ok(out.text)
}

/// The rest of a JSON object, its fields behind others.
struct Behind<'a>(Option<&'a str>);

impl Display for Behind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.and_then(|object| object.trim().strip_prefix('{')) {
            None | Some("}") => f.write_str("}"),
            Some(fields) => write!(f, ",{fields}"),
        }
    }
}

#[derive(Default)]
struct Lines {
    text: String,
    lines: usize,
    /// A line was refused, as a text cannot be as long.
    is_full: bool,
}

impl Lines {
    /// Adds the rest of a line.
    fn put(&mut self, line: impl Display) -> Result<(), Failure> {
        self.part(format_args!("{line}\n"))?;
        self.lines += 1;
        Ok(())
    }

    /// Adds a part of a line.
    fn part(&mut self, part: fmt::Arguments<'_>) -> Result<(), Failure> {
        fmt::Write::write_fmt(self, part).map_err(|_| self.refused())
    }

    /// Adds a line of weights.
    fn put_chunk(&mut self, chunk: &Chunk) -> Result<(), Failure> {
        self.part(format_args!("{{\"chunk\":"))?;
        serde_json::to_writer(&mut *self, chunk).map_err(|_| self.refused())?;
        self.put("}")
    }

    fn refused(&self) -> Failure {
        match self.is_full {
            true => Failure::new(
                Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                "the model as text is longer than 1 GB, the most that a text can have",
            ),
            false => out_of_memory(),
        }
    }
}

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let part = core::str::from_utf8(bytes).map_err(|_| std::io::ErrorKind::InvalidData)?;
        fmt::Write::write_str(self, part).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
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
pub fn read(text: &str) -> Result<(Model, Told<'_>), Failure> {
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
    let columns: VersionColumns<'_> =
        serde_json::from_str(version.get()).map_err(|error| unreadable(number, &error))?;
    let (mut model, feature_count) = header(&columns)?
        .model(&name)
        .map_err(|what| nonsense(&name, what))?;
    let mut heads = Vec::new();
    let mut line = next(&mut lines)?;
    while let Some(head) = line.1.head.take() {
        let columns: HeadColumns<'_> =
            serde_json::from_str(head.get()).map_err(|error| unreadable(line.0, &error))?;
        add_head(&mut model, &columns).map_err(|what| nonsense(&name, what))?;
        heads.room(1)?.push(head.get());
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
            Told {
                version: version.get(),
                heads,
            },
        )),
        _ => Err(malformed(line.0, "is not the last, or lines are missing")),
    }
}

fn next<'a>(
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<(usize, Line<'a>), Failure> {
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
    if !json::has_small_texts(line) {
        return Err(malformed(
            number,
            "holds a text of more than 16 kB, or lists within lists",
        ));
    }
    let read = serde_json::from_str(line).map_err(|error| unreadable(number, &error))?;
    Ok((number, read))
}

fn unreadable(number: usize, error: &serde_json::Error) -> Failure {
    let words = error.to_string();
    match words.starts_with(OutOfMemory::WORDS) {
        true => out_of_memory(),
        false => malformed(number, &format!("is none of a model: {words}")),
    }
}

/// A text; an empty one where there is none.
fn text_of(value: Option<&RawValue>) -> String {
    let text = value.and_then(|value| serde_json::from_str(value.get()).ok());
    text.unwrap_or_default()
}

/// A number; None where there is none, NaN where it is something else.
fn number_of(value: Option<&RawValue>) -> Option<f64> {
    let value = value.filter(|value| value.get() != "null")?;
    Some(serde_json::from_str(value.get()).unwrap_or(f64::NAN))
}

fn header(version: &VersionColumns<'_>) -> Result<Header, Failure> {
    #[derive(Default, Deserialize)]
    struct Labels(#[serde(deserialize_with = "list")] Vec<String>);
    let features = match version.features {
        Some(features) => FeatureSet::from_json(features.get())?,
        None => None,
    };
    let labels = match version.label_values.map(RawValue::get) {
        Some(labels) => serde_json::from_str(labels).or_else(|error| {
            match error.to_string().starts_with(OutOfMemory::WORDS) {
                true => Err(out_of_memory()),
                false => Ok(Labels::default()),
            }
        })?,
        None => Labels::default(),
    };
    let count = version.feature_count.map(RawValue::get);
    Ok(Header {
        features,
        nulls: text_of(version.nulls),
        label_type: text_of(version.label_type),
        labels: labels.0,
        intercept: number_of(version.intercept).unwrap_or(f64::NAN),
        feature_count: count.and_then(|it| it.parse().ok()).unwrap_or(-1),
        label_column: text_of(version.label_column),
    })
}

fn add_head(model: &mut Model, head: &HeadColumns<'_>) -> Result<(), &'static str> {
    let class = text_of(head.class);
    let sigmoid = (
        number_of(head.sigmoid_slope),
        number_of(head.sigmoid_offset),
    );
    assemble::add_head(
        model,
        &class,
        number_of(head.intercept).unwrap_or(f64::NAN),
        sigmoid,
    )
}

fn take_chunk(loading: &mut Loading<'_>, chunk: &Chunk) -> Result<(), Bad> {
    let offsets = match &chunk.features {
        Some(all) => {
            let all = gathered(all.iter().copied().map(f64::from));
            Some(all.map_err(|_| Bad::Memory)?)
        }
        None => None,
    };
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
