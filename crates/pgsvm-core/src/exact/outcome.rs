//! What the exact method leaves behind: the support vectors of all heads, each once, and what each head makes of them.

use std::collections::HashMap;

use crate::base::memory::{filled, OutOfMemory, Room as _};
use crate::exact::head::Head;
use crate::kernels::{Kernel, Rows};
use crate::task::evaluation::{predicted_class, Ranking};
use crate::task::heads::HeadSpec;
use crate::task::report::{Fit, HeadReport};

/// Machines over shared support vectors.
#[derive(Debug)]
pub struct ExactOutcome {
    pub kernel: Kernel,
    /// The support vectors, as scaled rows.
    pub landmarks: Rows,
    /// By head a factor for each of them: y a, 0 where it is no support vector of that head.
    pub factors: Vec<Vec<f64>>,
    pub intercepts: Vec<f64>,
    pub reports: Vec<HeadReport>,
    /// By head the dual variable of each row.
    pub duals: Vec<Vec<f32>>,
    /// How well the heads fit all rows together; None where there are no rows.
    pub fit: Option<Fit>,
    /// Passes over all rows.
    pub passes: u32,
}

/// The support vectors of heads that have ended.
pub(super) struct Support {
    landmarks: Rows,
    /// By the row's ordinal its landmark.
    known: HashMap<u32, u32>,
    /// By head: landmarks and factors.
    factors: Vec<Vec<(u32, f64)>>,
    intercepts: Vec<f64>,
    reports: Vec<HeadReport>,
    duals: Vec<Vec<f32>>,
}

impl Support {
    pub(super) fn new(width: usize) -> Self {
        Self {
            landmarks: Rows::new(width),
            known: HashMap::new(),
            factors: Vec::new(),
            intercepts: Vec::new(),
            reports: Vec::new(),
            duals: Vec::new(),
        }
    }

    /// Takes a head that has ended.
    pub(super) fn add(&mut self, head: Head, intercept: bool) -> Result<(), OutOfMemory> {
        let mut factors: Vec<(u32, f64)> = Vec::new();
        for (at, row) in head.candidates.rows.iter().enumerate() {
            if head.candidates.duals[at] > 0.0 {
                let landmark = self.landmark(&head, at, *row)?;
                let factor = head.candidates.factor(at);
                factors.room(1)?.push((landmark, factor));
            }
        }
        let sum = factors.iter().map(|(_, factor)| factor).sum();
        self.intercepts
            .room(1)?
            .push(if intercept { sum } else { 0.0 });
        self.factors.room(1)?.push(factors);
        self.reports.room(1)?.push(head.report);
        self.duals.room(1)?.push(head.duals);
        Ok(())
    }

    /// The landmark that a candidate's row is, perhaps a new one.
    fn landmark(&mut self, head: &Head, at: usize, row: u32) -> Result<u32, OutOfMemory> {
        if let Some(known) = self.known.get(&row) {
            return Ok(*known);
        }
        let landmark = self.landmarks.len() as u32;
        head.candidates.copy_to(at, &mut self.landmarks)?;
        self.known.room(1)?.insert(row, landmark);
        Ok(landmark)
    }

    pub(super) fn finish<'a>(
        self,
        specs: impl ExactSizeIterator<Item = &'a HeadSpec>,
        decisions: &[Vec<f32>],
        groups: &[u32],
        (kernel, passes): (Kernel, u32),
    ) -> Result<ExactOutcome, OutOfMemory> {
        let mut all = Vec::new();
        for listed in &self.factors {
            let mut factors = filled(0.0, self.landmarks.len())?;
            for (landmark, factor) in listed {
                factors[*landmark as usize] = *factor;
            }
            all.room(1)?.push(factors);
        }
        let mut signs = Vec::new();
        signs.room(specs.len())?.extend(specs.map(|it| &it.signs));
        let class = |group: u32| match signs.as_slice() {
            [only] => usize::from(only.of(group as usize) > 0),
            many => many
                .iter()
                .position(|signs| signs.of(group as usize) > 0)
                .unwrap_or(0),
        };
        Ok(ExactOutcome {
            kernel,
            landmarks: self.landmarks,
            factors: all,
            intercepts: self.intercepts,
            reports: self.reports,
            duals: self.duals,
            fit: fit(decisions, groups, class)?,
            passes,
        })
    }
}

/// What the decisions, by head and row, make of rows whose group has this class.
fn fit(
    decisions: &[Vec<f32>],
    groups: &[u32],
    class: impl Fn(u32) -> usize,
) -> Result<Option<Fit>, OutOfMemory> {
    let classes = decisions.len().max(2);
    let mut fit = Fit {
        rows: groups.len() as u64,
        actual: filled(0, classes)?,
        predicted: filled(0, classes)?,
        right: filled(0, classes)?,
        auc: None,
        deviation: 0.0,
    };
    count(&mut fit, decisions, groups, &class)?;
    fit.deviation = decisions
        .iter()
        .map(|all| deviation(all))
        .fold(0.0, f64::max);
    if let [only] = decisions {
        let mut ranking = Ranking::new(only.len())?;
        let rows = only.iter().zip(groups);
        ranking.add(rows.map(|(decision, group)| (*decision, class(*group) == 1)));
        while !ranking.step() {
            crate::base::interrupts::check();
        }
        fit.auc = ranking.area();
    }
    Ok((!groups.is_empty()).then_some(fit))
}

/// Counts the rows by class and by what is said of them.
fn count(
    fit: &mut Fit,
    decisions: &[Vec<f32>],
    groups: &[u32],
    class: impl Fn(u32) -> usize,
) -> Result<(), OutOfMemory> {
    let mut own = filled(0.0f32, decisions.len())?;
    for (row, group) in groups.iter().enumerate() {
        for (decision, all) in own.iter_mut().zip(decisions) {
            *decision = all[row];
        }
        let (actual, predicted) = (class(*group), predicted_class(&own));
        fit.actual[actual] += 1;
        fit.predicted[predicted] += 1;
        fit.right[actual] += u64::from(actual == predicted);
    }
    Ok(())
}

fn deviation(decisions: &[f32]) -> f64 {
    let rows = decisions.len().max(1) as f64;
    let sum: f64 = decisions.iter().map(|value| f64::from(*value)).sum();
    let mean = sum / rows;
    let squares = decisions
        .iter()
        .map(|value| (f64::from(*value) - mean).powi(2));
    (squares.sum::<f64>() / rows).sqrt()
}
