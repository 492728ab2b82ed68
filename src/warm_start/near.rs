//! The machines of a model for rows of another training: a kernel machine begins near what they decide.
//!
//! Landmarks are rows as the model's training scaled them. Here they are scaled as the rows of this one are, so that the factors, with this
//! kernel's values, are weights of its features, whichever landmarks it chooses. Pure.

use crate::base::errors::Failure;
use crate::model::{KernelMachine, Model};
use crate::targets::labels::LabelValue;
use crate::warm_start::memory::VersionMemory;
use pgsvm_core::kernels::{Expansion, Kernel, Rows};
use pgsvm_core::memory::{filled, gathered, OutOfMemory, Room};
use pgsvm_core::{quantiles, Pairs, Scaling, TargetScale};

/// How the rows of a training are compared.
pub struct ComparedRows<'a> {
    pub kernel: Kernel,
    /// How they are scaled; features that are left as they are where rows are divided by their length.
    pub scaling: &'a Scaling,
    /// Dense features, all features, and those that lie one after the other.
    pub dense: usize,
    pub features: usize,
    pub width: usize,
}

/// What a kernel machine begins near.
pub struct NearMachine {
    /// The model's machines, by head of the training.
    pub machines: Expansion,
    /// By head the dual variables of its rows; none once they are taken.
    pub duals: Vec<Vec<f32>>,
}

/// A head of a model, and the sign of its decision; None where the model has no such head.
pub type KnownHead = Option<(usize, f64)>;

/// The heads of a training.
#[derive(Clone, Copy)]
pub struct WantedHeads<'a> {
    /// What they tell apart: classes in order of first appearance, each against the rest or in pairs.
    pub classes: &'a [LabelValue],
    pub in_pairs: bool,
    /// Of a regression what it makes of its label, and the quantiles that its heads predict.
    pub targets: Option<TargetScale>,
    pub quantiles: &'a [f64],
    /// What the primal is at most where all weights are 0.
    pub most: f64,
}

impl WantedHeads<'_> {
    /// Whether weights may be a better beginning than those of 0: not those of a label that was much larger.
    pub fn may_begin(&self, weights: &[f64]) -> bool {
        0.5 * weights.iter().map(|it| it * it).sum::<f64>() <= self.most
    }
}

/// By head of a training, the model's head that decides what it will.
pub fn known_heads(
    model: &Model,
    WantedHeads {
        classes,
        in_pairs,
        targets,
        quantiles,
        ..
    }: WantedHeads<'_>,
) -> Result<Vec<KnownHead>, OutOfMemory> {
    if targets.is_some() != model.regresses {
        return filled(None, quantiles.len().max(1));
    }
    if targets.is_some() {
        let nearest = |quantile: &f64| Some((quantiles::nearest(&model.quantiles, *quantile), 1.0));
        return match quantiles.is_empty() {
            true => gathered([nearest(&quantiles::MEDIAN)]),
            false => gathered(quantiles.iter().map(nearest)),
        };
    }
    let mut known = Vec::new();
    let place = |class: &LabelValue| model.labels.iter().position(|it| *it == class.text);
    match (classes, &model.pairs) {
        (classes, Some(pairs)) if in_pairs => {
            let wanted = Pairs::all(classes.len())?;
            known.room(wanted.len())?;
            known.extend((0..wanted.len()).map(|head| {
                let [positive, negative] = wanted.sides(head).map(|it| place(&classes[it]));
                pairs.head_of([positive?, negative?])
            }));
        }
        (classes, Some(_)) => known = filled(None, classes.len())?,
        (classes, None) if in_pairs => known = filled(None, Pairs::count(classes.len()))?,
        ([_, positive], None) => {
            known
                .room(1)?
                .push(place(positive).map(|it| model.head_of_class(it)));
        }
        (classes, None) => {
            known.room(classes.len())?;
            let heads = classes
                .iter()
                .map(|it| Some(model.head_of_class(place(it)?)));
            known.extend(heads);
        }
    }
    Ok(known)
}

impl VersionMemory {
    /// The machines of these heads for such rows; None where none is known, or rows have other features.
    pub fn machines(
        &self,
        heads: &[KnownHead],
        targets: Option<TargetScale>,
        (compared, dropped): (&ComparedRows<'_>, &[u64]),
    ) -> Result<Option<Expansion>, Failure> {
        let model = self.model();
        if heads.iter().all(Option::is_none) {
            return Ok(None);
        }
        match (&model.kernel, compared.kernel) {
            (Some(machine), _) if compared.dense == model.dense_count => {
                Ok(of_landmarks(model, machine, (heads, targets), compared)?)
            }
            (None, Kernel::Linear) => self.hyperplanes(heads, targets, (compared, dropped)),
            _ => Ok(None),
        }
    }

    /// The same of a linear model: each head has one landmark, which is its weights.
    fn hyperplanes(
        &self,
        heads: &[KnownHead],
        targets: Option<TargetScale>,
        (compared, dropped): (&ComparedRows<'_>, &[u64]),
    ) -> Result<Option<Expansion>, Failure> {
        let mut rows = Rows::new(compared.width);
        let mut factors = filled(0.0, heads.len() * heads.len())?;
        let mut intercepts = Vec::new();
        intercepts.room(heads.len())?;
        let features = (compared.dense, compared.features);
        for (head, known) in heads.iter().enumerate() {
            let by = (compared.scaling, targets);
            let weights = self.weights_of(*known, by, features, dropped)?;
            let weights = weights.unwrap_or_default();
            let (intercept, weights) = weights.split_last().unwrap_or((&0.0, &[]));
            let (mut dense, mut entries) = (Vec::new(), Vec::new());
            for (feature, weight) in weights.iter().enumerate() {
                let weight = *weight as f32;
                match feature < compared.width {
                    true => dense.room(1)?.push(weight),
                    false if weight == 0.0 => {}
                    false => entries.room(1)?.push([feature as u32, weight.to_bits()]),
                }
            }
            rows.push(&dense, &entries)?;
            factors[head * heads.len() + head] = 1.0;
            intercepts.push(*intercept);
        }
        Ok(Expansion::new(Kernel::Linear, rows, factors, intercepts)?)
    }
}

/// The same of a kernel machine.
fn of_landmarks(
    model: &Model,
    machine: &KernelMachine,
    (heads, targets): (&[KnownHead], Option<TargetScale>),
    compared: &ComparedRows<'_>,
) -> Result<Option<Expansion>, OutOfMemory> {
    let landmarks = machine.landmarks();
    let mut rows = Rows::new(compared.width);
    rows.room_for(landmarks.len())?;
    let (mut dense, mut entries) = (Vec::new(), Vec::new());
    for row in 0..landmarks.len() {
        scaled_anew(
            machine,
            (landmarks, row),
            compared,
            (&mut dense, &mut entries),
        )?;
        rows.push(&dense, &entries)?;
    }
    let (mut factors, mut intercepts) = (Vec::new(), Vec::new());
    intercepts.room(heads.len())?;
    for head in heads {
        let room = factors.room(landmarks.len())?;
        match head {
            Some((head, sign)) => {
                let times = sign / targets.map_or(1.0, |it| it.unit());
                room.extend(machine.factors(*head).iter().map(|factor| times * factor));
                let centre = targets.map_or(0.0, |it| it.centre);
                intercepts.push(times * (model.heads[*head].intercept - centre));
            }
            None => {
                room.extend((0..landmarks.len()).map(|_| 0.0));
                intercepts.push(0.0);
            }
        }
    }
    Expansion::new(compared.kernel, rows, factors, intercepts)
}

/// A landmark, scaled as rows of this training are, in place of what is there.
fn scaled_anew(
    machine: &KernelMachine,
    (landmarks, row): (&Rows, usize),
    compared: &ComparedRows<'_>,
    (dense, entries): (&mut Vec<f32>, &mut Vec<[u32; 2]>),
) -> Result<(), OutOfMemory> {
    dense.clear();
    entries.clear();
    let before = machine.form().scaling.as_ref();
    let before = before.filter(|it| !it.agrees_with(compared.scaling));
    let anew = |feature: usize, value: f32| match before {
        None => value,
        Some(before) => {
            let factor = before.factor_of(feature);
            // what had one value was scaled to 0
            let kept = if factor == 0.0 {
                0.0
            } else {
                f64::from(value) / factor
            };
            compared
                .scaling
                .scaled(feature, kept + before.centre_of(feature)) as f32
        }
    };
    let values = landmarks.dense(row);
    let (own, sparse) = values.split_at(compared.dense.min(values.len()));
    dense.room(own.len())?;
    dense.extend(
        own.iter()
            .enumerate()
            .map(|(feature, value)| anew(feature, *value)),
    );
    let wide = sparse
        .iter()
        .enumerate()
        .filter(|(_, value)| **value != 0.0);
    let wide = wide.map(|(at, value)| (own.len() + at, *value));
    let listed = landmarks.sparse(row).iter();
    let listed = listed.map(|[feature, bits]| (*feature as usize, f32::from_bits(*bits)));
    entries.room(sparse.len() + landmarks.sparse(row).len())?;
    entries.extend(
        wide.chain(listed)
            .map(|(feature, value)| [feature as u32, anew(feature, value).to_bits()]),
    );
    Ok(())
}
