//! How many rows of each class were predicted as which: the state behind `svm_metrics`. Pure.

use crate::pg::aggregate::{put, take, State};
use std::collections::BTreeMap;

/// Most pairs of an actual and a predicted class that one process gathers: some 50 MB.
pub const MOST_PAIRS: usize = 1 << 18;

/// Rows by actual class, then by predicted class.
#[derive(Default)]
pub struct Counts {
    rows: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, u64>>,
    pairs: usize,
    /// The class that precision and recall are of, where the call names one.
    pub positive: Option<Vec<u8>>,
}

/// What `svm_metrics` returns.
#[derive(Debug, Default, PartialEq)]
pub struct Metrics {
    pub rows: u64,
    pub accuracy: f64,
    pub balanced_accuracy: f64,
    pub precision: f64,
    pub recall: f64,
    pub f1: f64,
}

/// There are more than `MOST_PAIRS` pairs of classes.
#[derive(Debug)]
pub struct TooManyClasses;

/// One class's part in the counts.
#[derive(Default, Clone, Copy)]
struct Class {
    actual: u64,
    predicted: u64,
    right: u64,
}

impl Counts {
    /// Adds rows of one pair.
    pub fn add(
        &mut self,
        actual: &[u8],
        predicted: &[u8],
        rows: u64,
    ) -> Result<(), TooManyClasses> {
        self.count(actual, predicted, rows);
        match self.pairs > MOST_PAIRS {
            true => Err(TooManyClasses),
            false => Ok(()),
        }
    }

    fn count(&mut self, actual: &[u8], predicted: &[u8], rows: u64) {
        let known = self
            .rows
            .get_mut(actual)
            .and_then(|row| row.get_mut(predicted));
        match known {
            Some(count) => *count += rows,
            None => {
                self.pairs += 1;
                let row = self.rows.entry(actual.to_vec()).or_default();
                row.insert(predicted.to_vec(), rows);
            }
        }
    }

    fn classes(&self) -> BTreeMap<&[u8], Class> {
        let mut classes = BTreeMap::<&[u8], Class>::new();
        for (actual, row) in &self.rows {
            for (predicted, count) in row {
                classes.entry(actual).or_default().actual += count;
                classes.entry(predicted).or_default().predicted += count;
                if actual == predicted {
                    classes.entry(actual).or_default().right += count;
                }
            }
        }
        classes
    }

    /// The class that precision, recall and F1 are of: the one that the call names, or of two the one
    /// that `larger` chooses. None: of all classes, averaged.
    pub fn positive_class(&self, larger: impl FnOnce(&[u8], &[u8]) -> bool) -> Option<Vec<u8>> {
        if let Some(named) = &self.positive {
            return Some(named.clone());
        }
        let classes: Vec<_> = self.classes().into_keys().collect();
        match classes[..] {
            [first, second] if larger(first, second) => Some(first.to_vec()),
            [_, second] => Some(second.to_vec()),
            _ => None,
        }
    }

    /// The metrics; None without rows. A ratio whose denominator is 0 counts as 0. Balanced accuracy is
    /// the mean recall of the classes that rows have.
    pub fn metrics(&self, positive: Option<&[u8]>) -> Option<Metrics> {
        let classes = self.classes();
        let sum = |part: fn(&Class) -> u64| classes.values().map(part).sum::<u64>();
        let rows = sum(|class| class.actual);
        if rows == 0 {
            return None;
        }
        let present = classes.values().filter(|class| class.actual > 0);
        let looked_at: Vec<Class> = match positive {
            Some(positive) => vec![classes.get(positive).copied().unwrap_or_default()],
            None => classes.values().copied().collect(),
        };
        Some(Metrics {
            rows,
            accuracy: ratio(sum(|class| class.right), rows),
            balanced_accuracy: mean(present.map(Class::recall)),
            precision: mean(looked_at.iter().map(Class::precision)),
            recall: mean(looked_at.iter().map(Class::recall)),
            f1: mean(looked_at.iter().map(Class::f1)),
        })
    }
}

impl Class {
    fn precision(&self) -> f64 {
        ratio(self.right, self.predicted)
    }

    fn recall(&self) -> f64 {
        ratio(self.right, self.actual)
    }

    fn f1(&self) -> f64 {
        ratio(2 * self.right, self.actual + self.predicted)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        _ => part as f64 / whole as f64,
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, count), value| (sum + value, count + 1));
    sum / count.max(1) as f64
}

impl State for Counts {
    fn merge(&mut self, other: &Self) {
        for (actual, row) in &other.rows {
            for (predicted, count) in row {
                self.count(actual, predicted, *count);
            }
        }
        if self.positive.is_none() {
            self.positive.clone_from(&other.positive);
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, u64::from(self.positive.is_some()));
        put_bytes(out, self.positive.as_deref().unwrap_or_default());
        for (actual, row) in &self.rows {
            for (predicted, count) in row {
                put_bytes(out, actual);
                put_bytes(out, predicted);
                put(out, *count);
            }
        }
    }

    fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut state = Self::default();
        let named = take(&mut bytes)? != 0;
        let positive = take_bytes(&mut bytes)?;
        state.positive = named.then(|| positive.to_vec());
        while !bytes.is_empty() {
            let (actual, predicted) = (take_bytes(&mut bytes)?, take_bytes(&mut bytes)?);
            state.count(actual, predicted, take(&mut bytes)?);
        }
        Some(state)
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}
