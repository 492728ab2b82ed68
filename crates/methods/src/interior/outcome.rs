//! The result of interior points.

use crate::base::memory::{copied, filled, gathered, OutOfMemory, Room as _};
use crate::base::thinned::Thinned;
use crate::interior::exchange::MachineTimes;
use crate::interior::head::StepState;
use crate::interior::machine::{Left, News};
use crate::kernels::LowRank;
use crate::objective::fit::fit;
use crate::objective::heads::HeadSpec;
use crate::objective::report::{Fit, HeadReport};

/// What happened when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InteriorStep {
    /// Since the rows began to be dealt out.
    pub seconds: f64,
    /// The head, and the steps that it has taken; None where the factor had just been made.
    pub head: Option<(usize, u32)>,
    /// Where it stands; of the factor nothing is known.
    pub state: Option<StepState>,
}

impl InteriorStep {
    pub(super) fn note(all: &mut Vec<Self>, news: News, seconds: f64) -> Result<(), OutOfMemory> {
        let step = match news {
            News::Column(_) => return Ok(()),
            News::Factored => Self {
                seconds,
                head: None,
                state: None,
            },
            News::Stepped(head, steps, state) => Self {
                seconds,
                head: Some((head, steps)),
                state: Some(state),
            },
        };
        all.room(1)?.push(step);
        Ok(())
    }
}

/// A machine of low rank, with the pivots of all rows as landmarks.
#[derive(Debug)]
pub struct InteriorOutcome {
    pub map: LowRank,
    /// By head, of phi(x).
    pub weights: Vec<Vec<f64>>,
    pub intercepts: Vec<f64>,
    pub reports: Vec<HeadReport>,
    /// By head, by how much the dual objective with the kernel itself differs from this one at most: C² l e / 2.
    pub bounds: Vec<f64>,
    /// By head the dual variable of each row, where that was wanted.
    pub duals: Vec<Vec<f32>>,
    /// How well the heads fit the rows together, of many rows about thirty thousand of them.
    pub fit: Option<Fit>,
    /// Steps over all heads, and what happened when.
    pub steps: u32,
    pub log: Vec<InteriorStep>,
    /// Since the rows began to be dealt out.
    pub seconds: f64,
    /// By step of the last head its weights, where they were wanted: of phi(x), nu behind them.
    pub kept: Vec<(u32, Vec<f32>)>,
    /// Sum of k(x, x) over all rows, and what is left of it before each column and after the last.
    pub trace: f64,
    pub rests: Vec<f64>,
    /// By machine.
    pub times: Vec<MachineTimes>,
}

impl InteriorOutcome {
    pub(super) fn of(
        mut left: Vec<Left>,
        (log, seconds): (Vec<InteriorStep>, f64),
        (specs, epsilon): (&[HeadSpec], Option<f64>),
    ) -> Result<Option<Self>, OutOfMemory> {
        let times = gathered(left.iter().map(|it| it.times))?;
        let (groups, decisions) = sample(&left, specs.len())?;
        let offsets = gathered(left.iter().flat_map(|it| it.offsets.iter().copied()))?;
        let duals = by_row(&left, specs.len())?;
        let Some(master) = left.first_mut() else {
            return Ok(None);
        };
        let Some(factor) = master.factor.take() else {
            return Ok(None);
        };
        let map = LowRank::new(factor).map_err(|_| OutOfMemory { bytes: 0 })?;
        let targets = epsilon.map(|epsilon| (&offsets[..], epsilon));
        let mut found = Self {
            map,
            weights: Vec::new(),
            intercepts: Vec::new(),
            reports: Vec::new(),
            bounds: Vec::new(),
            duals,
            fit: fit(specs.iter(), &decisions, (&groups, targets), &[], &[])?,
            steps: master.steps,
            log,
            seconds,
            kept: Vec::new(),
            trace: master.trace,
            rests: std::mem::take(&mut master.rests),
            times,
        };
        for kept in master.kept.iter().flat_map(Thinned::iter) {
            let weights = copied(&kept.weights)?;
            found.kept.room(1)?.push((kept.step, weights));
        }
        for head in master.heads.drain(..) {
            found.weights.room(1)?.push(head.weights);
            found.intercepts.room(1)?.push(head.intercept);
            found.reports.room(1)?.push(head.report);
            found.bounds.room(1)?.push(head.bound);
        }
        Ok(Some(found))
    }
}

/// Groups, and by head decisions, of the rows that machines have kept.
fn sample(left: &[Left], heads: usize) -> Result<(Vec<u32>, Vec<Vec<f32>>), OutOfMemory> {
    let (mut groups, mut decisions) = (Vec::new(), Vec::new());
    for machine in left {
        let own = &machine.groups;
        groups.room(own.len())?.extend_from_slice(own);
    }
    for head in 0..heads {
        let mut all = Vec::new();
        for machine in left {
            let own = &machine.decisions[head];
            all.room(own.len())?.extend_from_slice(own);
        }
        decisions.room(1)?.push(all);
    }
    Ok((groups, decisions))
}

/// Dual variables in the order of the rows, which were dealt out by turns.
fn by_row(left: &[Left], heads: usize) -> Result<Vec<Vec<f32>>, OutOfMemory> {
    let mut all = Vec::new();
    if left.iter().any(|machine| machine.duals.is_empty()) {
        return Ok(all);
    }
    for head in 0..heads {
        let rows = left.iter().map(|machine| machine.duals[head].len()).sum();
        let mut duals = filled(0.0f32, rows)?;
        for (first, machine) in left.iter().enumerate() {
            let places = duals.iter_mut().skip(first).step_by(left.len());
            for (place, dual) in places.zip(&machine.duals[head]) {
                *place = *dual;
            }
        }
        all.room(1)?.push(duals);
    }
    Ok(all)
}
