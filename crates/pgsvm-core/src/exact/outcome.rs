//! What the exact method leaves behind: the support vectors of all heads, each once, and what each head makes of them.

use std::collections::HashMap;

use crate::base::memory::{filled, gathered, OutOfMemory, Room as _};
use crate::exact::head::Head;
use crate::kernels::{Kernel, Rows};
use crate::task::calibration::Calibration;
use crate::task::fit::fit;
use crate::task::heads::HeadSpec;
use crate::task::report::{Fit, HeadReport};

/// Machines over shared support vectors.
#[derive(Debug)]
pub struct ExactOutcome {
    pub kernel: Kernel,
    /// The support vectors, as scaled rows; a row of zeros, of which no head makes anything, where there are none.
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
        let duals = head.duals.iter().map(|dual| *dual as f32);
        self.duals.room(1)?.push(gathered(duals)?);
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
        mut self,
        specs: impl ExactSizeIterator<Item = &'a HeadSpec>,
        decisions: &[Vec<f32>],
        groups: &[u32],
        calibrations: &[Calibration],
        (kernel, passes): (Kernel, u32),
    ) -> Result<ExactOutcome, OutOfMemory> {
        if self.landmarks.is_empty() {
            self.landmarks.push(&[], &[])?;
        }
        let mut all = Vec::new();
        for listed in &self.factors {
            let mut factors = filled(0.0, self.landmarks.len())?;
            for (landmark, factor) in listed {
                factors[*landmark as usize] = *factor;
            }
            all.room(1)?.push(factors);
        }
        Ok(ExactOutcome {
            kernel,
            landmarks: self.landmarks,
            factors: all,
            intercepts: self.intercepts,
            reports: self.reports,
            duals: self.duals,
            fit: fit(specs, decisions, groups, calibrations)?,
            passes,
        })
    }
}
