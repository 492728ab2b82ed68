//! The binary problems over shared rows, and where they begin.

use serde::{Deserialize, Serialize};

use crate::base::memory::{list, OutOfMemory};

/// One binary problem over the shared rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeadSpec {
    /// By group id: -1, +1, or 0 for rows that take no part.
    pub signs: Signs,
    /// C of this head.
    pub c: f64,
    /// What the costs of its positive rows are multiplied by.
    pub positive_weight: f32,
    /// Gap at which it stops; None: the problem's tolerance.
    pub tolerance: Option<f64>,
    /// Where losses are truncated, its s; None: the problem's.
    pub truncation: Option<f64>,
    /// Full passes after which it stops with the gap reached; None: as many as the problem says.
    pub max_passes: Option<u32>,
    /// The quantile of targets that it predicts, which C and `positive_weight` know; None: none in particular.
    pub quantile: Option<f64>,
}

impl HeadSpec {
    /// Whether its numbers are some that a head may have; those of bytes that came from elsewhere may not be.
    pub fn is_sound(&self) -> bool {
        let positive = |number: f64| number > 0.0 && number.is_finite();
        positive(self.c)
            && positive(f64::from(self.positive_weight))
            && self.tolerance.is_none_or(|it| it > 0.0 && it < 1.0)
            && self.truncation.is_none_or(positive)
            && self.max_passes != Some(0)
            && self.quantile.is_none_or(|tau| tau > 0.0 && tau < 1.0)
            && self.signs.are_sound()
    }

    /// A head that stops as the problem says.
    pub fn new(signs: impl Into<Signs>, c: f64) -> Self {
        Self {
            signs: signs.into(),
            c,
            positive_weight: 1.0,
            tolerance: None,
            truncation: None,
            max_passes: None,
            quantile: None,
        }
    }

    /// The same for a quantile of targets, of rows on two sides: with the hinge and no epsilon it minimizes [`crate::quantiles::pinball`].
    /// What is too low loses on the positive side, which has tau of C, and what is too high on the negative one.
    pub fn of_quantile(self, tau: f64) -> Self {
        Self {
            c: self.c * (1.0 - tau),
            positive_weight: (tau / (1.0 - tau)) as f32,
            quantile: Some(tau),
            ..self
        }
    }

    /// Class 0 against class 1: signs -1 and +1.
    pub fn binary(c: f64) -> Self {
        Self::new(vec![-1, 1], c)
    }
}

/// On which side of a head the rows of each group are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Signs {
    /// By group.
    Listed(#[serde(deserialize_with = "list")] Vec<i8>),
    /// Of groups that are a class times `stride` plus a fold: one class against the rest, without the rows of some folds. Heads
    /// of this kind may be many, and so may be groups.
    Against {
        positive: usize,
        stride: usize,
        held_out: HeldOut,
        groups: usize,
    },
    /// The same of one class against another one, without the rows of all others.
    Between {
        positive: usize,
        negative: usize,
        stride: usize,
        held_out: HeldOut,
        groups: usize,
    },
}

/// The folds without whose rows a head is trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeldOut {
    /// None.
    Nothing,
    /// This one.
    Fold(u32),
    /// This one and those behind it.
    From(u32),
}

impl HeldOut {
    #[inline]
    fn has(self, fold: u32) -> bool {
        match self {
            Self::Nothing => false,
            Self::Fold(only) => fold == only,
            Self::From(first) => fold >= first,
        }
    }
}

impl From<Vec<i8>> for Signs {
    fn from(listed: Vec<i8>) -> Self {
        Self::Listed(listed)
    }
}

impl Signs {
    /// -1, +1, or 0 for rows that take no part.
    #[inline]
    pub fn of(&self, group: usize) -> i8 {
        match self {
            Self::Listed(all) => all[group],
            Self::Against {
                positive,
                stride,
                held_out,
                ..
            } => match (
                held_out.has((group % stride) as u32),
                group / stride == *positive,
            ) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => -1,
            },
            Self::Between {
                positive,
                negative,
                stride,
                held_out,
                ..
            } => match group / stride {
                _ if held_out.has((group % stride) as u32) => 0,
                class if class == *positive => 1,
                class if class == *negative => -1,
                _ => 0,
            },
        }
    }

    /// Whether the decision of a head, one of so many, is weighed against those for other classes.
    pub fn among_classes(&self, heads: usize) -> bool {
        match self {
            Self::Listed(_) => heads > 1,
            Self::Against { stride, groups, .. } => groups / stride > 2,
            Self::Between { .. } => false,
        }
    }

    /// The share of the rows that take part, about, where no fold is held out.
    pub fn share(&self) -> f64 {
        match self {
            Self::Between { stride, groups, .. } => 2.0 / (groups / stride).max(2) as f64,
            Self::Listed(_) | Self::Against { .. } => 1.0,
        }
    }

    /// The class of a group of a classifier's, of which these are the signs.
    pub fn class(&self, group: usize) -> usize {
        match self {
            Self::Listed(all) => usize::from(all[group] > 0),
            Self::Against { stride, .. } | Self::Between { stride, .. } => group / stride,
        }
    }

    /// Whether it tells one class from another one, and not from the rest.
    pub fn is_of_pair(&self) -> bool {
        matches!(self, Self::Between { .. })
    }

    /// Whether groups are classes of folds.
    fn are_sound(&self) -> bool {
        match self {
            Self::Listed(all) => all.iter().all(|sign| (-1..=1).contains(sign)),
            Self::Against { stride, groups, .. } | Self::Between { stride, groups, .. } => {
                (1..=*groups).contains(stride)
            }
        }
    }

    /// Groups that it knows.
    pub fn groups(&self) -> usize {
        match self {
            Self::Listed(all) => all.len(),
            Self::Against { groups, .. } | Self::Between { groups, .. } => *groups,
        }
    }

    /// Those of the first groups, one after another.
    pub fn list(&self, groups: usize) -> Result<Vec<i8>, OutOfMemory> {
        let mut all = Vec::new();
        let bytes = groups as u64;
        all.try_reserve_exact(groups)
            .map_err(|_| OutOfMemory { bytes })?;
        all.extend((0..groups).map(|group| self.of(group)));
        Ok(all)
    }
}

/// Where a head begins, other than at 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// One for each row, by ordinal, not below 0; one beyond its bound is moved there.
    pub duals: Vec<f32>,
    /// For scaled rows, one for each feature and last the intercept's: the first centre of the proximal shift. None: v.
    ///
    /// Where rows come and go, v = sum a y x moves far, since in it large terms of many rows cancel each other; weights
    /// found before stay good.
    pub weights: Option<Vec<f64>>,
    /// Of Pegasos: the updates that they come from, whose number says how long the next one is. 0: it begins from nothing.
    pub updates: u64,
}
