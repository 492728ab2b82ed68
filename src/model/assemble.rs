//! Puts a model together from its parts, wherever they come from: the tables, or a text. Anybody may have
//! written them, so nothing is taken for granted; what is wrong is said in words that follow "it".

use super::classes::is_number;
use super::heads::{ClassesBy, HeadPairs, ModelHead};
use super::kernel_machine::KernelMachine;
use super::version::Model;
use super::version::{NOVELTY, REGRESSION};
use super::weights::{SparseWeights, WeightsOutOfMemory};
use crate::catalog::whole::StoredRows;
use crate::features::{FeatureSet, KernelForm, Nulls, LONGEST_VALUE_BYTES};
use crate::pg::memory;
use crate::targets::labels::{MOST_CLASSES, NOVEL_AND_USUAL, SIDES};
use pgsvm_core::kernels::Rows;
use pgsvm_core::memory::{gathered, Room as _};
use pgsvm_core::{quantiles, Calibration, ConformalResiduals, Isotonic, Pairs, Sigmoid};

/// Sparse features have 32-bit numbers.
const MOST_SPARSE: u64 = 1 << 32;
pub const HEADS_OUT_OF_ORDER: &str = "has heads that are not numbered one a class";
const OF_ANOTHER_CLASS: &str = "has a head of another class than its labels say";

/// What a version says of its model, but for heads and weights.
pub struct Header {
    /// None where they cannot be read.
    pub features: Option<FeatureSet>,
    pub nulls: String,
    pub label_type: String,
    pub labels: Vec<String>,
    pub intercept: f64,
    pub feature_count: i64,
    pub label_column: String,
    /// None of versions that do not say.
    pub classes_by: Option<String>,
    /// Of a regression the word for it, and its quantiles.
    pub task: Option<String>,
    pub quantiles: Vec<f64>,
    pub residuals: StoredResiduals,
}

/// How far predictions of rows held out were off: of how many rows, and the sizes kept; both None where nobody knows.
pub type StoredResiduals = (Option<i64>, Option<Vec<f64>>);

/// The same, checked.
fn residuals((rows, sizes): StoredResiduals) -> Result<Option<ConformalResiduals>, &'static str> {
    match (rows, sizes) {
        (None, None) => Ok(None),
        (Some(rows), Some(sizes)) => {
            let found = u64::try_from(rows).ok();
            let found = found.and_then(|rows| ConformalResiduals::new(rows, sizes));
            found
                .map(Some)
                .ok_or("has residuals that are none of so many rows")
        }
        _ => Err("has a part of what its intervals are made of"),
    }
}

/// How many features are dense, and how many there are.
fn counts(features: &FeatureSet, nulls: Nulls, stored: i64) -> Result<(usize, u64), &'static str> {
    let count = u64::try_from(stored).map_err(|_| "has a negative number of features")?;
    let dense_count = features
        .dense_count()
        .filter(|dense| *dense as u64 <= count)
        .ok_or("has fewer features than its columns")?;
    if count - dense_count as u64 > MOST_SPARSE {
        return Err("has more features than there can be");
    }
    if nulls == Nulls::Mean && features.means.len() != dense_count {
        return Err("lacks the means that stand for NULL");
    }
    let unit_rows = features.unit_rows.as_ref();
    if unit_rows.is_some_and(|scaling| !scaling.is_sound() || scaling.dense != dense_count) {
        return Err("lacks the scaling of its rows");
    }
    let kernel = features.kernel.as_ref();
    if kernel.is_some_and(|kernel| !kernel.is_sound(dense_count)) {
        return Err("has a kernel that makes no sense");
    }
    Ok((dense_count, count))
}

impl Header {
    /// The model without heads and weights, and the number of its features.
    pub fn model(self, name: &str) -> Result<(Model, u64), &'static str> {
        self.check_labels()?;
        let finds_novelties = self.task.as_deref() == Some(NOVELTY);
        let regresses = match self.task.as_deref() {
            // nobody's classes of numbers are called so
            None if self.labels == SIDES && is_number(&self.label_type) => {
                return Err("has the labels of a regression and is none")
            }
            None => false,
            Some(REGRESSION) if self.labels.len() == 2 => true,
            Some(REGRESSION) => {
                return Err("is a regression and has other labels than the two of one")
            }
            Some(NOVELTY) if self.labels == NOVEL_AND_USUAL => false,
            Some(NOVELTY) => return Err("finds novelties and has other classes than these"),
            Some(_) => return Err("has an unknown task"),
        };
        if !(self.quantiles.is_empty() || regresses && quantiles::are_sound(&self.quantiles)) {
            return Err("has quantiles that are none");
        }
        let residuals = residuals(self.residuals)?;
        if residuals.is_some() && !regresses {
            return Err("has residuals and is no regression");
        }
        let features = self.features.ok_or("has no readable list of features")?;
        let nulls = Nulls::from_word(&self.nulls).ok_or("has an unknown rule for NULL")?;
        let (dense_count, count) = counts(&features, nulls, self.feature_count)?;
        let classes_by = self.classes_by.as_deref();
        let classes_by = classes_by.map_or(Some(ClassesBy::Decision), ClassesBy::from_word);
        let model = Model {
            name: name.to_owned(),
            features,
            nulls,
            numbers: numeric_labels(&self.label_type, &self.labels),
            label_column: self.label_column,
            label_type: self.label_type,
            labels: self.labels,
            heads: Vec::new(),
            pairs: None,
            classes_by: classes_by.ok_or("has an unknown rule for its classes")?,
            regresses,
            finds_novelties,
            quantiles: self.quantiles,
            residuals,
            intercept: self.intercept,
            stored_rows: StoredRows::uncounted(),
            dense_count,
            dense: Vec::new(),
            sparse: SparseWeights::default(),
            kernel: None,
        };
        Ok((model, count))
    }

    fn check_labels(&self) -> Result<(), &'static str> {
        let names = [&self.label_type, &self.label_column].into_iter();
        let is_long = |text: &String| text.len() > LONGEST_VALUE_BYTES;
        match self.labels.len() {
            ..2 => Err("lacks a label"),
            labels if labels > MOST_CLASSES => Err("has more classes than there can be"),
            _ if names.chain(&self.labels).any(is_long) => {
                Err("has a label or a name of one that is too long")
            }
            _ if !self.intercept.is_finite() => Err("has an intercept that is not finite"),
            _ => Ok(()),
        }
    }
}

/// How many heads a model has: of several classes one a class, or one a pair; of quantiles one each.
fn head_count(model: &Model, in_pairs: bool) -> usize {
    match model.labels.len() {
        2 => model.quantiles.len().max(1),
        classes if in_pairs => Pairs::count(classes),
        classes => classes,
    }
}

/// The heads of a model, as they come.
#[derive(Default)]
pub struct ModelHeads {
    /// Of pairs, the classes of each head's sides.
    sides: Vec<[usize; 2]>,
}

/// What is said of a head's probabilities.
pub struct Probabilities {
    /// Slope and offset of the sigmoid.
    pub sigmoid: (Option<f64>, Option<f64>),
    /// Decisions and probabilities of the points of an isotonic function.
    pub isotonic: (Option<Vec<f64>>, Option<Vec<f64>>),
}

impl Probabilities {
    /// None where there are none.
    fn calibration(self) -> Result<Option<Calibration>, &'static str> {
        let sigmoid = match self.sigmoid {
            (None, None) => None,
            (Some(a), Some(b)) if a.is_finite() && b.is_finite() => Some(Sigmoid { a, b }),
            _ => return Err("has a sigmoid that is not finite"),
        };
        let isotonic = match self.isotonic {
            (None, None) => None,
            (Some(decisions), Some(probabilities)) if sigmoid.is_some() => {
                let isotonic = Isotonic::new(decisions, probabilities);
                Some(isotonic.ok_or("has probabilities that do not rise with decisions")?)
            }
            _ => return Err("has a part of what makes its probabilities"),
        };
        Ok(sigmoid.map(|sigmoid| Calibration { sigmoid, isotonic }))
    }
}

impl ModelHeads {
    /// Adds the head of a class, against another one or the rest, behind those that are there.
    pub fn add(
        &mut self,
        model: &mut Model,
        (class, against): (&str, Option<&str>),
        intercept: f64,
        probabilities: Probabilities,
    ) -> Result<(), BadChunk> {
        let (place, in_pairs) = (model.heads.len(), against.is_some());
        let count = head_count(model, in_pairs);
        if place >= count || self.sides.len() != if in_pairs { place } else { 0 } {
            return Err(BadChunk::Chunk(HEADS_OUT_OF_ORDER));
        }
        match against {
            Some(against) => self.add_pair(model, class, against)?,
            None => {
                let of = if model.labels.len() == 2 { 1 } else { place };
                if model.labels.get(of).is_none_or(|label| label != class) {
                    return Err(BadChunk::Chunk(OF_ANOTHER_CLASS));
                }
            }
        }
        if !intercept.is_finite() {
            return Err(BadChunk::Chunk("has an intercept that is not finite"));
        }
        let calibration = probabilities.calibration().map_err(BadChunk::Chunk)?;
        let room = model.heads.room(1).map_err(|_| BadChunk::Memory)?;
        room.push(ModelHead {
            intercept,
            calibration,
        });
        Ok(())
    }

    fn add_pair(&mut self, model: &Model, class: &str, against: &str) -> Result<(), BadChunk> {
        // mostly the class of the head before, against the next one
        let (before, next) = self
            .sides
            .last()
            .map_or((0, 1), |[class, against]| (*class, against + 1));
        let labels = &model.labels;
        let place = |name: &str, guess: usize| {
            let mut places = (guess..labels.len()).chain(0..guess.min(labels.len()));
            places.find(|place| labels[*place] == name)
        };
        let sides = place(class, before).zip(place(against, next));
        let (positive, negative) = sides.ok_or(BadChunk::Chunk(OF_ANOTHER_CLASS))?;
        if model.labels.len() < 3 {
            return Err(BadChunk::Chunk(OF_ANOTHER_CLASS));
        }
        let sides = self.sides.room(1).map_err(|_| BadChunk::Memory)?;
        sides.push([positive, negative]);
        Ok(())
    }

    /// Looks whether all heads are there. A version of two classes may have none: its head is what the version
    /// itself says.
    pub fn complete(self, model: &mut Model) -> Result<(), BadChunk> {
        let in_pairs = !self.sides.is_empty();
        match (model.heads.len(), head_count(model, in_pairs)) {
            (0, 1) => model.heads.push(ModelHead {
                intercept: model.intercept,
                calibration: None,
            }),
            (found, count) if found < count => return Err(BadChunk::Chunk("lacks a head")),
            _ => model.intercept = model.heads[0].intercept,
        }
        if in_pairs && model.features.kernel.is_none() {
            return Err(BadChunk::Chunk(
                "has weights for pairs of classes, as kernel machines have",
            ));
        }
        if in_pairs {
            let pairs = Pairs::of(model.labels.len(), self.sides).map_err(|_| BadChunk::Memory)?;
            let pairs = pairs.ok_or(BadChunk::Chunk(
                "has not one head for each pair of its classes",
            ))?;
            model.pairs = Some(HeadPairs::new(pairs).map_err(|_| BadChunk::Memory)?);
        }
        let heads = model.heads.iter();
        let with = heads.clone().filter(|head| head.calibration.is_some());
        let (with, all) = (with.count(), heads.len());
        if model.classes_by == ClassesBy::Probability && with < all {
            return Err(BadChunk::Chunk(
                "has classes by probability, and no probabilities",
            ));
        }
        Ok(())
    }
}

/// The labels as numbers: 0 and 1 for a boolean; None for text and enums, and where two of them are one number in double
/// precision.
fn numeric_labels(label_type: &str, labels: &[String]) -> Option<Vec<f64>> {
    let number = |label: &str| match label_type {
        "boolean" => Some(f64::from(u8::from(label.starts_with('t')))),
        other if is_number(other) => label.parse().ok(),
        _ => None,
    };
    let numbers = labels.iter().map(|label| number(label));
    let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
    // labels ascend, and so do their numbers
    let differ = numbers.windows(2).all(|two| two[0] != two[1]);
    differ.then_some(numbers)
}

/// Adds a landmark of the kernel machine `form` behind those that are there: dense features, and numbers and value bits of
/// the others.
pub fn add_landmark(
    form: &KernelForm,
    rows: &mut Rows,
    dense: &[f32],
    entries: &[[u32; 2]],
) -> Result<(), BadChunk> {
    let mut values = entries.iter().map(|[_, bits]| f32::from_bits(*bits));
    let sound = rows.len() < form.landmarks
        && dense.len() == form.width
        && entries.iter().all(|[id, _]| *id as usize >= form.width)
        && entries.windows(2).all(|two| two[0][0] < two[1][0])
        && values.all(f32::is_finite)
        && dense.iter().all(|value| value.is_finite());
    if !sound {
        return Err(BadChunk::Chunk(
            "has a landmark that is no row of its features",
        ));
    }
    rows.push(dense, entries).map_err(|_| BadChunk::Memory)
}

/// Why a chunk of weights is refused.
pub enum BadChunk {
    Memory,
    Chunk(&'static str),
}

impl From<WeightsOutOfMemory> for BadChunk {
    fn from(_: WeightsOutOfMemory) -> Self {
        Self::Memory
    }
}

/// A model whose weights are being read, chunk after chunk, head after head.
pub struct LoadingModel<'a> {
    model: &'a mut Model,
    /// Features, or landmarks of a kernel machine, and those of them that are dense: landmarks all are.
    feature_count: u64,
    dense_count: usize,
    /// The head of the last chunk.
    head: usize,
    /// The lowest id that this head's next chunk may hold.
    next: u64,
    /// The sparse weights of each head.
    sparse: Vec<SparseWeights>,
}

impl<'a> LoadingModel<'a> {
    pub fn new(model: &'a mut Model, feature_count: u64) -> Result<Self, WeightsOutOfMemory> {
        let heads = model.heads.len();
        let (feature_count, dense_count) = match &model.features.kernel {
            Some(kernel) => (kernel.landmarks as u64, kernel.landmarks),
            None => (feature_count, model.dense_count),
        };
        // the list of features may claim more of them than there are weights: what is not filled costs nothing
        model.dense = heads
            .checked_mul(dense_count)
            .and_then(memory::zeros)
            .ok_or(WeightsOutOfMemory)?;
        Ok(Self {
            model,
            feature_count,
            dense_count,
            head: 0,
            next: 0,
            sparse: core::iter::repeat_with(SparseWeights::default)
                .take(heads)
                .collect(),
        })
    }

    /// Takes a chunk of weights: those of the features that lie `offsets` behind `first`, or that follow it.
    pub fn chunk(
        &mut self,
        head: i32,
        first: i64,
        offsets: Option<&[f64]>,
        weights: &[f64],
    ) -> Result<(), BadChunk> {
        self.turn_to(head)?;
        let first = u64::try_from(first)
            .map_err(|_| BadChunk::Chunk("has a chunk of weights without a place"))?;
        if offsets.is_some_and(|all| all.len() != weights.len()) {
            return Err(BadChunk::Chunk(
                "has a chunk with more or fewer features than weights",
            ));
        }
        for (at, weight) in weights.iter().enumerate() {
            let offset = offsets.map_or(at as f64, |all| all[at]);
            let id = first.saturating_add(offset as u64);
            if offset < 0.0 || id < self.next || id >= self.feature_count {
                return Err(BadChunk::Chunk("has weights out of order"));
            }
            if !weight.is_finite() {
                return Err(BadChunk::Chunk("has a weight that is not finite"));
            }
            self.next = id + 1;
            self.put(id, *weight)?;
        }
        Ok(())
    }

    /// Has the next weights be of that head.
    fn turn_to(&mut self, head: i32) -> Result<(), BadChunk> {
        let head = usize::try_from(head)
            .ok()
            .filter(|head| *head < self.sparse.len())
            .ok_or(BadChunk::Chunk("has weights of a head that it has not"))?;
        if head != self.head {
            (self.head, self.next) = (head, 0);
        }
        Ok(())
    }

    /// Puts a weight of the current head where it belongs.
    fn put(&mut self, id: u64, weight: f64) -> Result<(), BadChunk> {
        let dense_count = self.dense_count;
        match id.checked_sub(dense_count as u64) {
            None => self.model.dense[self.head * dense_count + id as usize] = weight,
            Some(id) => {
                let id = u32::try_from(id).map_err(|_| BadChunk::Chunk("has too many features"))?;
                if weight != 0.0 {
                    self.sparse[self.head].push(id, weight)?;
                }
            }
        }
        Ok(())
    }

    /// Lays the heads' sparse weights side by side. Of a kernel machine `landmarks` are its landmarks.
    pub fn finish(mut self, landmarks: Option<Rows>) -> Result<(), BadChunk> {
        if let Some(form) = &self.model.features.kernel {
            let factors = core::mem::take(&mut self.model.dense);
            let intercepts = self.model.heads.iter().map(|head| head.intercept);
            let intercepts = gathered(intercepts).map_err(|_| BadChunk::Memory)?;
            let landmarks = landmarks.filter(|rows| rows.len() == form.landmarks);
            let landmarks = landmarks.ok_or(BadChunk::Chunk("lacks landmarks"))?;
            let dense = self.model.dense_count;
            let machine = KernelMachine::new(form.clone(), dense, landmarks, factors, intercepts)?;
            self.model.kernel =
                Some(machine.ok_or(BadChunk::Chunk("has a kernel that makes no sense"))?);
            return Ok(());
        }
        self.model.sparse = match self.sparse.len() {
            1 => self.sparse.remove(0),
            _ => SparseWeights::joined(self.sparse, crate::pg::check_for_interrupts)?,
        };
        Ok(())
    }
}
