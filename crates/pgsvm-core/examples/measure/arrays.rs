//! Rows as a folder of plain arrays holds them.

use std::fs;
use std::path::Path;

use pgsvm_core::{Example, RowError, Source};
use pgsvm_expand::{Degree, NoLetter};

use crate::Result;

/// Delivered in order.
pub struct Arrays {
    /// Class id of each row.
    class: Vec<u32>,
    /// In place of classes the number that each row is to have; it comes twice then, of the classes 0 and 1.
    target: Vec<f64>,
    features: usize,
    dense: Vec<f32>,
    offset: Vec<i64>,
    index: Vec<u32>,
    value: Vec<f32>,
    next: usize,
    row: Vec<f64>,
    strings: Option<Strings>,
}

/// Strings of one length over ACGT, a letter a byte, whose runs are the features.
struct Strings {
    letters: Vec<u8>,
    length: usize,
    degree: Degree,
}

impl Arrays {
    /// Rows of so many values, one after the other, of these classes.
    pub fn of(class: Vec<u32>, features: usize, dense: Vec<f32>) -> Self {
        Self {
            class,
            target: Vec::new(),
            features,
            dense,
            offset: Vec::new(),
            index: Vec::new(),
            value: Vec::new(),
            next: 0,
            row: Vec::new(),
            strings: None,
        }
    }

    /// Reads a folder; class ids come from the file `labels`, where -1 means 0.
    pub fn load(folder: &Path, features: usize, labels: &str) -> Result<Self> {
        let read =
            |name: &str| fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"));
        let is_dense = folder.join("dense.f32").exists();
        let sparse = |name: &str| if is_dense { Ok(Vec::new()) } else { read(name) };
        let dense = if is_dense {
            read("dense.f32")?
        } else {
            Vec::new()
        };
        Ok(Self {
            target: Vec::new(),
            class: read(labels)?
                .into_iter()
                .map(|byte| (byte as i8).max(0) as u32)
                .collect(),
            features,
            dense: numbers(&dense, f32::from_ne_bytes),
            offset: numbers(&sparse("offset.i64")?, i64::from_ne_bytes),
            index: numbers(&sparse("index.u32")?, u32::from_ne_bytes),
            value: numbers(&sparse("value.f32")?, f32::from_ne_bytes),
            next: 0,
            row: Vec::new(),
            strings: None,
        })
    }

    /// The same rows with numbers to predict, of the file `target.f64`.
    pub fn with_targets(self, folder: &Path) -> Result<Self> {
        let target = numbers(&fs::read(folder.join("target.f64"))?, f64::from_ne_bytes);
        Ok(Self { target, ..self })
    }

    /// Reads a folder with strings of this length, in `letter.u8`, and has runs of up to so many letters for features.
    pub fn strings(folder: &Path, (length, longest): (usize, u32), labels: &str) -> Result<Self> {
        let class = fs::read(folder.join(labels))?.into_iter();
        let class = class.map(|byte| (byte as i8).max(0) as u32).collect();
        let degree = Degree::new(Degree::USUAL, longest).ok_or("no such runs")?;
        Ok(Self {
            strings: Some(Strings {
                letters: fs::read(folder.join("letter.u8"))?,
                length,
                degree,
            }),
            ..Self::of(class, 0, Vec::new())
        })
    }

    /// Makes the features of a row's string.
    fn make(&mut self, row: usize) {
        let Some(strings) = &self.strings else {
            return;
        };
        let text = &strings.letters[row * strings.length..(row + 1) * strings.length];
        self.index.clear();
        self.value.clear();
        let push = |index: u64, value: f64| {
            self.index.push(index as u32);
            self.value.push(value as f32);
            Ok::<_, NoLetter>(())
        };
        strings.degree.each(text, push).expect("letters are ACGT");
    }
}

pub fn numbers<T, const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|chunk| number(*chunk))
        .collect()
}

impl Source for Arrays {
    type Error = RowError;

    fn fetch(
        &mut self,
        rows: usize,
        sink: &mut dyn FnMut(&Example<'_>) -> std::result::Result<(), RowError>,
    ) -> std::result::Result<bool, RowError> {
        let end = (self.next + rows).min(self.class.len());
        for row in self.next..end {
            self.row.clear();
            self.make(row);
            let made = 0..self.index.len();
            let entries = match (&self.strings, self.offset.is_empty()) {
                (Some(_), _) => made,
                (None, true) => {
                    let values = &self.dense[row * self.features..(row + 1) * self.features];
                    let values = values.iter().map(|value| f64::from(*value));
                    self.row.extend(values);
                    0..0
                }
                (None, false) => self.offset[row] as usize..self.offset[row + 1] as usize,
            };
            let example = Example {
                offset: None,
                group: self.class[row],
                cost: 1.0,
                rows: 1.0,
                dense: &self.row,
                sparse_index: &self.index[entries.clone()],
                sparse_value: &self.value[entries],
                rounded: false,
            };
            match self.target.get(row) {
                None => sink(&example)?,
                target => {
                    for group in 0..2 {
                        sink(&Example {
                            offset: target.copied(),
                            group,
                            ..example
                        })?;
                    }
                }
            }
        }
        self.next = end;
        Ok(end < self.class.len())
    }
}
