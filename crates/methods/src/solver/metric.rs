//! When a solver learns whether its shift needs a metric.
//!
//! | heads begin | column scales are learned in |
//! |---|---|
//! | at 0 | the first full pass, from a sample; if columns differ there, in the second pass from all rows |
//! | from dual variables | the verifying pass at the beginning; if columns differ, one more pass, in which each head learns its first metric |

use super::{Heads, Solver};
use crate::base::memory::OutOfMemory;
use crate::rows::facts::Facts;
use crate::simd::Real;
use crate::solver::certificate::state::HeadState;
use crate::solver::proximal::moments::{Moments, ShiftMetric};

/// What is known of the columns' scales.
pub(in crate::solver) struct ColumnScales {
    /// While they are learned.
    pub(in crate::solver) moments: Option<Moments>,
    /// Whether another verifying pass is to come before the first pass that trains.
    pub(in crate::solver) looks_again: bool,
    /// Mean squares of the columns, once learned.
    pub(in crate::solver) mean_squares: Option<Vec<f32>>,
}

impl ColumnScales {
    pub(in crate::solver) fn new(facts: &Facts) -> Result<Self, OutOfMemory> {
        Ok(Self {
            moments: Moments::new(facts)?,
            looks_again: false,
            mean_squares: None,
        })
    }
}

impl<T: Real> Solver<T> {
    /// Whether a verifying pass also learns whether the shift is to be measured in a metric: where heads by themselves begin
    /// from dual variables, until that is decided.
    #[inline(always)]
    pub fn sets_out(&self) -> bool {
        self.full_passes == 0
            && self.scales.moments.is_some()
            && matches!(self.heads, Heads::Single(_))
    }

    /// Behind a verifying pass of what came from elsewhere: whether columns seem to differ in scale, so that another one has
    /// to look at all rows.
    pub(super) fn needs_look(&mut self) -> Result<bool, OutOfMemory> {
        let Some(moments) = self.scales.moments.take() else {
            return Ok(false);
        };
        let follows = |state: &HeadState| state.may_shift() && state.sums.alpha > 0.0;
        if !self.running().any(follows) {
            // nothing to follow: columns are looked at in the first full pass
            self.scales.moments = Some(moments.another()?);
            return Ok(false);
        }
        if moments.metric(self.intercept)?.is_none() {
            self.scales.mean_squares = Some(moments.mean_squares()?);
            return Ok(false);
        }
        self.scales.moments = Some(moments.of_all_rows()?);
        if let Heads::Single(heads) = &mut self.heads {
            heads.learn_metric()?;
        }
        Ok(true)
    }

    /// At the end of that other pass: has the heads begin in a metric if columns do differ. They take over their v behind
    /// this, so that it is exact in the metric.
    pub(super) fn begin_in_metric(&mut self) -> Result<(), OutOfMemory> {
        let Some(moments) = self.scales.moments.take() else {
            return Ok(());
        };
        let differ = moments.metric(self.intercept)?.is_some();
        let squares = moments.mean_squares()?;
        if let Heads::Single(heads) = &mut self.heads {
            heads.begin_in_metric(differ, &squares)?;
        }
        self.scales.mean_squares = Some(squares);
        Ok(())
    }

    /// The metric that columns have just been found to call for, if any.
    pub(super) fn learned_metric(&mut self) -> Result<Option<ShiftMetric>, OutOfMemory> {
        let Some(moments) = self.scales.moments.take() else {
            return Ok(None);
        };
        if !self.running().any(HeadState::may_shift) {
            return Ok(None);
        }
        self.scales.moments = moments.second_look(self.intercept)?;
        if self.scales.moments.is_some() {
            return Ok(None);
        }
        self.scales.mean_squares = Some(moments.mean_squares()?);
        moments.metric(self.intercept)
    }
}
