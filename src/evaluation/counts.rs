//! How many rows of each class were predicted as which: the state behind `svm_metrics`. Pure.

use crate::base::errors::{Code, Failure};
use crate::pg::aggregate::{put, take, State};
use pgsvm_core::memory::{gathered, OutOfMemory, Room};
use std::collections::HashMap;
use std::rc::Rc;

/// Most pairs of an actual and a predicted class that one process gathers.
const MOST_PAIRS: usize = 1 << 18;
/// Longest name of a class, as long as a category may be.
const LONGEST_CLASS_BYTES: usize = 1000;
/// Bytes that names of classes may take in one process.
const MOST_BYTES: usize = 32 << 20;
/// Bytes that a class takes beside its name, about.
const CLASS_BYTES: usize = 96;

/// Rows by actual and predicted class.
#[derive(Default)]
pub struct ConfusionCounts {
    names: Vec<Rc<[u8]>>,
    places: HashMap<Rc<[u8]>, u32>,
    /// By the places of actual and predicted class.
    rows: HashMap<(u32, u32), u64>,
    /// Bytes that the names take.
    bytes: usize,
    /// The class that precision and recall are of, where the call names one.
    pub positive: Option<Rc<[u8]>>,
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

/// One class's part in the counts.
#[derive(Default, Clone, Copy)]
struct Class {
    actual: u64,
    predicted: u64,
    right: u64,
}

/// A class's name.
///
/// # Errors
/// One that is too long.
pub fn name(bytes: &[u8]) -> Result<Rc<[u8]>, Failure> {
    match bytes.len() <= LONGEST_CLASS_BYTES {
        true => Ok(bytes.into()),
        false => Err(Failure::new(
            Code::ERRCODE_STRING_DATA_RIGHT_TRUNCATION,
            format!("svm_metrics has met a class of {} bytes", bytes.len()),
        )
        .detail(format!("A class has up to {LONGEST_CLASS_BYTES} bytes."))
        .hint("Compare what is shorter: svm_metrics(left(actual, 100), left(predicted, 100))")),
    }
}

impl ConfusionCounts {
    /// Adds rows of one pair.
    ///
    /// # Errors
    /// More classes than one process gathers.
    pub fn add(&mut self, actual: u32, predicted: u32, rows: u64) -> Result<(), Failure> {
        if let Some(count) = self.rows.get_mut(&(actual, predicted)) {
            *count = count.saturating_add(rows);
            return Ok(());
        }
        if self.rows.len() == MOST_PAIRS {
            return Err(too_many());
        }
        self.rows.room(1)?.insert((actual, predicted), rows);
        Ok(())
    }

    /// The place of a class.
    ///
    /// # Errors
    /// A name that is too long, and names that are too long together.
    pub fn place(&mut self, class: &[u8]) -> Result<u32, Failure> {
        if let Some(place) = self.places.get(class) {
            return Ok(*place);
        }
        let name = name(class)?;
        self.bytes += name.len() + CLASS_BYTES;
        if self.bytes > MOST_BYTES {
            return Err(too_many());
        }
        let place = self.names.len() as u32;
        self.places.room(1)?.insert(Rc::clone(&name), place);
        self.names.room(1)?.push(name);
        Ok(place)
    }

    /// The classes in the order of their names.
    fn classes(&self) -> Result<Vec<(&[u8], Class)>, OutOfMemory> {
        let names = self.names.iter().map(|name| (&**name, Class::default()));
        let mut classes = gathered(names)?;
        let add = |to: &mut u64, count: u64| *to = to.saturating_add(count);
        for ((actual, predicted), count) in &self.rows {
            add(&mut classes[*actual as usize].1.actual, *count);
            add(&mut classes[*predicted as usize].1.predicted, *count);
            if actual == predicted {
                add(&mut classes[*actual as usize].1.right, *count);
            }
        }
        classes.sort_unstable_by_key(|(name, _)| *name);
        Ok(classes)
    }

    /// The class that precision, recall and F1 are of: the one that the call names, or of two the one
    /// that `larger` chooses. None: of all classes, averaged.
    pub fn positive_class(&self, larger: impl FnOnce(&[u8], &[u8]) -> bool) -> Option<Rc<[u8]>> {
        if let Some(named) = &self.positive {
            return Some(Rc::clone(named));
        }
        let [first, second] = self.names.as_slice() else {
            return None;
        };
        // equal ones are told apart by their bytes
        let (first, second) = match first < second {
            true => (first, second),
            false => (second, first),
        };
        Some(Rc::clone(match larger(first, second) {
            true => first,
            false => second,
        }))
    }

    /// The metrics; None without rows. A ratio whose denominator is 0 counts as 0. Balanced accuracy is
    /// the mean recall of the classes that rows have.
    pub fn metrics(&self, positive: Option<&[u8]>) -> Result<Option<Metrics>, OutOfMemory> {
        let classes = self.classes()?;
        let all = || classes.iter().map(|(_, class)| class);
        let sum = |part: fn(&Class) -> u64| all().map(part).fold(0, u64::saturating_add);
        let rows = sum(|class| class.actual);
        if rows == 0 {
            return Ok(None);
        }
        let present = all().filter(|class| class.actual > 0);
        let of = |part: fn(&Class) -> f64| match positive {
            None => mean(all().map(part)),
            Some(positive) => {
                let found = classes.binary_search_by_key(&positive, |(name, _)| *name);
                part(&found.map_or(Class::default(), |at| classes[at].1))
            }
        };
        Ok(Some(Metrics {
            rows,
            accuracy: ratio(sum(|class| class.right), rows),
            balanced_accuracy: mean(present.map(Class::recall)),
            precision: of(Class::precision),
            recall: of(Class::recall),
            f1: of(Class::f1),
        }))
    }
}

fn too_many() -> Failure {
    Failure::new(
        Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        format!(
            "svm_metrics has met more than {MOST_PAIRS} pairs of classes, or more than {} MB of their names",
            MOST_BYTES >> 20
        ),
    )
    .hint("It compares classes; for predicted numbers take avg(abs(actual - predicted)).")
}

impl Class {
    fn precision(&self) -> f64 {
        ratio(self.right, self.predicted)
    }

    fn recall(&self) -> f64 {
        ratio(self.right, self.actual)
    }

    fn f1(&self) -> f64 {
        ratio(
            self.right.saturating_mul(2),
            self.actual.saturating_add(self.predicted),
        )
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

impl State for ConfusionCounts {
    fn merge(&mut self, other: &mut Self) -> Result<(), Failure> {
        let names = other.names.iter();
        let mut places = Vec::new();
        places.room(names.len())?;
        for name in names {
            places.push(self.place(name)?);
        }
        for ((actual, predicted), count) in &other.rows {
            let place = |class: &u32| places[*class as usize];
            self.add(place(actual), place(predicted), *count)?;
        }
        if self.positive.is_none() {
            self.positive.clone_from(&other.positive);
        }
        Ok(())
    }

    fn write(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        put(out, u64::from(self.positive.is_some()))?;
        put_bytes(out, self.positive.as_deref().unwrap_or_default())?;
        put(out, self.names.len() as u64)?;
        for name in &self.names {
            put_bytes(out, name)?;
        }
        for ((actual, predicted), count) in &self.rows {
            put(out, u64::from(*actual) << 32 | u64::from(*predicted))?;
            put(out, *count)?;
        }
        Ok(())
    }

    fn read(bytes: &[u8]) -> Result<Option<Self>, Failure> {
        let mut state = Self::default();
        Ok(state.fill(bytes)?.map(|()| state))
    }
}

impl ConfusionCounts {
    /// Takes what `write` wrote; None where the bytes are none of that.
    fn fill(&mut self, mut bytes: &[u8]) -> Result<Option<()>, Failure> {
        let bytes = &mut bytes;
        let (Some(named), Some(positive), Some(names)) =
            (take(bytes), take_bytes(bytes), take(bytes))
        else {
            return Ok(None);
        };
        if named != 0 {
            self.positive = Some(name(positive)?);
        }
        for _ in 0..names {
            let Some(class) = take_bytes(bytes) else {
                return Ok(None);
            };
            self.place(class)?;
        }
        while !bytes.is_empty() {
            let (Some(pair), Some(count)) = (take(bytes), take(bytes)) else {
                return Ok(None);
            };
            let (actual, predicted) = ((pair >> 32) as u32, pair as u32);
            if actual.max(predicted) as usize >= self.names.len() {
                return Ok(None);
            }
            self.add(actual, predicted, count)?;
        }
        Ok(Some(()))
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), OutOfMemory> {
    put(out, bytes.len() as u64)?;
    out.room(bytes.len())?.extend_from_slice(bytes);
    Ok(())
}

fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}
