//! Writes a version as text, a piece at a time.

use super::{out_of_memory, TextChunk, TextLandmark, VersionFacts, FORM, LANDMARK};
use crate::base::errors::{Code, Failure};
use crate::features::FeatureSet;
use crate::model::heads::ClassesBy;
use crate::model::version::Model;
use crate::pg::check_for_interrupts;
use core::fmt::{self, Display};
use pgsvm_core::kernels::Rows;
use pgsvm_core::memory::{gathered, OutOfMemory, Room};
use std::rc::Rc;

/// Most bytes that a text can have, less room for the last lines.
const MOST_BYTES: usize = (1 << 30) - (1 << 20);
/// Features in a chunk, as in svm_weight.
const CHUNK: u64 = 16_384;
/// Writes the model, with these facts where there are some.
pub fn write(model: &Model, facts: Option<&VersionFacts>) -> Result<String, Failure> {
    let mut out = WrittenLines::default();
    // the form's number stands first
    out.put(format_args!(
        "{{\"pgsvm\":{FORM},\"name\":{}}}",
        serde_json::json!(model.name)
    ))?;
    out.put_version(model, facts)?;
    for place in 0..model.heads.len() {
        let fact = facts.and_then(|facts| facts.heads.get(place));
        out.put_head(model, place, fact.map(String::as_str))?;
    }
    if let Some(machine) = &model.kernel {
        for landmark in 0..machine.landmarks().len() {
            out.put_landmark(machine.landmarks(), landmark)?;
        }
    }
    for head in 0..model.heads.len() {
        chunks(model, head, |chunk| out.put_chunk(&chunk))?;
    }
    let lines = out.lines + 1;
    out.put(format_args!("{{\"lines\":{lines}}}"))?;
    Ok(out.text)
}

/// Features that weights or landmarks know.
fn feature_count(model: &Model) -> u64 {
    let sparse = match &model.kernel {
        None => model.sparse.iter().last().map(|(id, _)| u64::from(id)),
        Some(machine) => {
            let entries = machine.landmarks().all_sparse().iter();
            let last = entries.map(|[feature, _]| u64::from(*feature)).max();
            let last = last.or((machine.landmarks().width() as u64).checked_sub(1));
            last.and_then(|last| last.checked_sub(model.dense_count as u64))
        }
    };
    model.dense_count as u64 + sparse.map_or(0, |id| id + 1)
}

/// The list of features as JSON; how they spread only for another database.
fn features(model: &Model, travels: bool) -> Result<String, Failure> {
    let json = match travels {
        true => model.features.to_json(),
        false => model.features.copied().and_then(|features| {
            FeatureSet {
                spread: Rc::default(),
                ..features
            }
            .to_json()
        }),
    };
    json.map_err(|_| out_of_memory())
}

/// The rest of a JSON object, its fields behind others.
struct RestOfObject<'a>(Option<&'a str>);

impl Display for RestOfObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.and_then(|object| object.trim().strip_prefix('{')) {
            None | Some("}") => f.write_str("}"),
            Some(fields) => write!(f, ",{fields}"),
        }
    }
}

#[derive(Default)]
struct WrittenLines {
    text: String,
    lines: usize,
    /// A line was refused, as a text cannot be as long.
    is_full: bool,
}

impl WrittenLines {
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

    /// Adds the line of what the model is; numbers as they are, whatever extra_float_digits has made of them.
    fn put_version(&mut self, model: &Model, facts: Option<&VersionFacts>) -> Result<(), Failure> {
        let features = features(model, facts.is_some())?;
        self.part(format_args!(
            "{{\"version\":{{\"features\":{features},\"nulls\":{},\"label_type\":{},\"label_column\":{},\"label_values\":[",
            serde_json::json!(model.nulls.word()),
            serde_json::json!(model.label_type),
            serde_json::json!(model.label_column),
        ))?;
        for (place, label) in model.labels.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            self.part(format_args!("{comma}{}", serde_json::json!(label)))?;
        }
        let count = feature_count(model);
        let task = match model.task() {
            Some(task) => format!(",\"task\":\"{task}\""),
            None => String::new(),
        };
        let quantiles = match model.quantiles.is_empty() {
            true => String::new(),
            false => format!(",\"quantiles\":{}", serde_json::json!(model.quantiles)),
        };
        let residuals = model.residuals.as_ref().map(|it| {
            format!(
                ",\"interval_rows\":{},\"interval_residuals\":{}",
                it.rows(),
                serde_json::json!(it.sizes())
            )
        });
        let residuals = residuals.unwrap_or_default();
        let classes_by = match (model.classes_by, model.heads.len()) {
            (ClassesBy::Decision, _) | (_, 1) => "",
            (ClassesBy::Probability, _) => ",\"classes_by\":\"probability\"",
        };
        self.put(format_args!(
            "],\"intercept\":{},\"feature_count\":{count}{classes_by}{task}{quantiles}{residuals}{}}}",
            serde_json::json!(model.intercept),
            RestOfObject(facts.map(|facts| facts.version.as_str()))
        ))
    }

    /// Adds the line of a head.
    fn put_head(&mut self, model: &Model, place: usize, fact: Option<&str>) -> Result<(), Failure> {
        check_for_interrupts();
        let head = &model.heads[place];
        let calibration = head.calibration.as_ref();
        let sigmoid = calibration.map(|it| it.sigmoid);
        let isotonic = calibration.and_then(|it| it.isotonic.as_ref());
        let points = isotonic.map(|it| {
            let (decisions, probabilities) = it.points();
            format!(
                ",\"isotonic_decisions\":{},\"isotonic_probabilities\":{}",
                serde_json::json!(decisions),
                serde_json::json!(probabilities)
            )
        });
        let points = points.unwrap_or_default();
        let (class, against) = model.classes_of_head(place);
        let against =
            against.map(|it| format!(",\"against\":{}", serde_json::json!(model.labels[it])));
        let against = against.unwrap_or_default();
        self.put(format_args!(
            "{{\"head\":{{\"class\":{}{against},\"intercept\":{},\"sigmoid_slope\":{},\"sigmoid_offset\":{}{points}{}}}",
            serde_json::json!(model.labels[class]),
            serde_json::json!(head.intercept),
            serde_json::json!(sigmoid.map(|it| it.a)),
            serde_json::json!(sigmoid.map(|it| it.b)),
            RestOfObject(fact)
        ))
    }

    /// Adds a line of weights.
    fn put_chunk(&mut self, chunk: &TextChunk) -> Result<(), Failure> {
        self.part(format_args!("{{\"chunk\":"))?;
        serde_json::to_writer(&mut *self, chunk).map_err(|_| self.refused())?;
        self.put("}")
    }

    /// Adds the line of a landmark.
    fn put_landmark(&mut self, rows: &Rows, landmark: usize) -> Result<(), Failure> {
        check_for_interrupts();
        let entries = rows.sparse(landmark).iter();
        let landmark = TextLandmark {
            dense: gathered(rows.dense(landmark).iter().copied())?,
            index: gathered(entries.clone().map(|[id, _]| *id))?,
            value: gathered(entries.map(|[_, bits]| f32::from_bits(*bits)))?,
        };
        self.part(format_args!("{LANDMARK}"))?;
        serde_json::to_writer(&mut *self, &landmark).map_err(|_| self.refused())?;
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

impl std::io::Write for WrittenLines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let part = core::str::from_utf8(bytes).map_err(|_| std::io::ErrorKind::InvalidData)?;
        fmt::Write::write_str(self, part).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl fmt::Write for WrittenLines {
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
    mut take: impl FnMut(TextChunk) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let dense = match &model.kernel {
        Some(machine) => machine.factors(head),
        None => model.dense_of(head),
    };
    let dense = (0..).zip(dense.iter().copied());
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

fn chunk(head: usize, weights: Vec<(u64, f64)>) -> Result<TextChunk, OutOfMemory> {
    let first = weights[0].0;
    let follow = weights
        .iter()
        .zip(first..)
        .all(|((id, _), next)| *id == next);
    let offsets = weights.iter().map(|(id, _)| (id - first) as i32);
    Ok(TextChunk {
        head: head as i32,
        first: first as i64,
        features: match follow {
            true => None,
            false => Some(gathered(offsets)?),
        },
        weights: gathered(weights.iter().map(|(_, weight)| *weight))?,
    })
}
