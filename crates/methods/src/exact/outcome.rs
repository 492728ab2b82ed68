//! The result of the exact method: the support vectors of all heads, each stored once, with the factors of each head.

use std::collections::HashMap;

use crate::base::interrupts;
use crate::base::memory::{all_of, copied, filled, gathered, OutOfMemory, Room as _};
use crate::exact::head::Head;
use crate::kernels::{Expansion, Kernel, Rows};
use crate::objective::calibration::Calibration;
use crate::objective::fit::fit;
use crate::objective::heads::{HeadSpec, Signs};
use crate::objective::report::{Fit, HeadReport};

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
    /// Where nu was given, the C that it comes to, and the share of their bounds that the dual variables come to.
    pub nu: Option<[f64; 2]>,
    /// Passes over all rows, and seconds.
    pub passes: u32,
    pub seconds: f64,
}

impl ExactOutcome {
    /// A copy of the machines, as [`Expansion::new`] takes them: landmarks, factors one machine after the other, intercepts.
    pub fn machines(&self) -> Result<(Rows, Vec<f64>, Vec<f64>), OutOfMemory> {
        let mut factors = Vec::new();
        for own in &self.factors {
            factors.room(own.len())?.extend_from_slice(own);
        }
        Ok((self.landmarks.copied()?, factors, copied(&self.intercepts)?))
    }
}

/// The support vectors of heads that have ended.
pub(super) struct Support {
    landmarks: Rows,
    /// By the row's ordinal its landmark, and by landmark its row.
    known: HashMap<u32, u32>,
    rows: Vec<u32>,
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
            rows: Vec::new(),
            factors: Vec::new(),
            intercepts: Vec::new(),
            reports: Vec::new(),
            duals: Vec::new(),
        }
    }

    /// Takes a head that has ended.
    pub(super) fn add(&mut self, head: Head) -> Result<(), OutOfMemory> {
        let mut factors: Vec<(u32, f64)> = Vec::new();
        for (at, row) in head.candidates.rows.iter().enumerate() {
            if head.candidates.duals[at] > 0.0 {
                let landmark = self.landmark(&head, at, *row)?;
                let factor = head.candidates.factor(at);
                factors.room(1)?.push((landmark, factor));
            }
        }
        self.intercepts.room(1)?.push(head.candidates.intercept());
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
        self.rows.room(1)?.push(row);
        Ok(landmark)
    }

    /// Puts the landmarks in the order of their classes: so those of a pair stand side by side. `groups`: of all rows.
    pub(super) fn put_in_order(
        &mut self,
        groups: &[u32],
        signs: &Signs,
    ) -> Result<(), OutOfMemory> {
        let class = |landmark: &u32| {
            let row = self.rows[*landmark as usize] as usize;
            (signs.class(groups[row] as usize), *landmark)
        };
        let mut order = gathered(0..self.landmarks.len() as u32)?;
        order.sort_unstable_by_key(class);
        let mut places = filled(0, order.len())?;
        let mut landmarks = Rows::new(self.landmarks.width());
        for (place, landmark) in order.iter().enumerate() {
            places[*landmark as usize] = place as u32;
            landmarks.push_from(&self.landmarks, *landmark as usize)?;
        }
        self.landmarks = landmarks;
        for (landmark, _) in self.factors.iter_mut().flatten() {
            *landmark = places[*landmark as usize];
        }
        Ok(())
    }

    /// By head a factor for each landmark.
    fn all_factors(&self) -> Result<Vec<Vec<f64>>, OutOfMemory> {
        all_of(self.factors.iter().map(|listed| {
            let mut factors = filled(0.0, self.landmarks.len())?;
            for (landmark, factor) in listed {
                factors[*landmark as usize] = *factor;
            }
            interrupts::worked(factors.len());
            Ok(factors)
        }))
    }

    pub(super) fn intercepts(&self) -> &[f64] {
        &self.intercepts
    }

    /// What the heads are together; None without support vectors.
    pub(super) fn machine(&self, kernel: Kernel) -> Result<Option<Expansion>, OutOfMemory> {
        let mut factors = Vec::new();
        for own in self.all_factors()? {
            factors.room(own.len())?.extend(own);
        }
        let landmarks = self.landmarks.copied()?;
        Expansion::new(kernel, landmarks, factors, copied(&self.intercepts)?)
    }

    pub(super) fn finish<'a>(
        mut self,
        specs: impl ExactSizeIterator<Item = &'a HeadSpec>,
        decisions: &[Vec<f32>],
        targets: (&[u32], Option<(&[f64], f64)>),
        (calibrations, ranks): (&[Calibration], &[u32]),
        (kernel, passes, seconds): (Kernel, u32, f64),
    ) -> Result<ExactOutcome, OutOfMemory> {
        if self.landmarks.is_empty() {
            self.landmarks.push(&[], &[])?;
        }
        Ok(ExactOutcome {
            kernel,
            factors: self.all_factors()?,
            landmarks: self.landmarks,
            intercepts: self.intercepts,
            reports: self.reports,
            duals: self.duals,
            fit: fit(specs, decisions, targets, calibrations, ranks)?,
            nu: None,
            passes,
            seconds,
        })
    }
}
