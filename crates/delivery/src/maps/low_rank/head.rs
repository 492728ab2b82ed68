//! A head of a machine of low rank as it is stored, and what the rows read so far say of it: see [`super::proof`].

use pgsvm_kernels::expansion::dot;
use pgsvm_kernels::ValueRounding;

use crate::base::memory::{filled, gathered, OutOfMemory};
use crate::maps::low_rank::norms::{InSpan, Lost};
use crate::maps::low_rank::proof::{ProvedHead, StoredHead};
use crate::objective::loss::Loss;
use crate::objective::minimized::{balanced, Intercept};
use crate::objective::report::Certificate;
use crate::objective::rounded::{Off, Rounded, RoundedRow, Unrounded};

/// w of a hyperplane, and its length.
pub(super) struct MapPlane {
    pub(super) w: Vec<f64>,
    pub(super) length: f64,
}

/// A head, and its sums so far.
pub(super) struct MapHead<'a> {
    pub(super) stored: StoredHead<'a>,
    pub(super) plane: Option<MapPlane>,
    pub(super) rounded: Rounded,
    /// Of other kernels what 64 bits lose of f.
    pub(super) lost: ValueRounding,
    /// Of the rows beyond the truncation.
    pub(super) outliers: u64,
    /// Whether rows have offsets.
    pub(super) offsets: bool,
    pub(super) sums: MapSums,
}

/// Sums over the rows.
pub(super) struct MapSums {
    losses: Total,
    /// Of outliers, what each costs at most.
    beyond: Total,
    /// What rows cost more on their side of the truncation than on the other.
    excess: Total,
    /// Of u l(x), see [`ValueRounding`].
    pub(super) reach: Total,
    /// Of |p - y o| u.
    terms: Total,
    /// Of the negative side and the positive one: sum of (p - y o) u with offsets o, of d u², of u, and of u k(x), or u x.
    linear: [Total; 2],
    curved: [Total; 2],
    sums: [Total; 2],
    v: [Totals; 2],
}

impl MapSums {
    pub(super) fn new(length: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            losses: Total::default(),
            beyond: Total::default(),
            excess: Total::default(),
            reach: Total::default(),
            terms: Total::default(),
            linear: Default::default(),
            curved: Default::default(),
            sums: Default::default(),
            v: [Totals::new(length)?, Totals::new(length)?],
        })
    }
}

/// What a total loses, times the sizes of its terms, each of which is a product.
pub(super) const SUMMED: f64 = 2.0 * f64::EPSILON;

/// A sum that keeps what its additions lose (Neumaier, ZAMM 54, 1974; Knuth, TAOCP 2, 4.2.2, theorem B).
#[derive(Default, Clone, Copy)]
pub(super) struct Total {
    sum: f64,
    lost: f64,
}

impl Total {
    #[inline(always)]
    fn add(&mut self, more: f64) {
        let sum = self.sum + more;
        let added = sum - self.sum;
        self.lost += (self.sum - (sum - added)) + (more - added);
        self.sum = sum;
    }

    pub(super) fn value(&self) -> f64 {
        self.sum + self.lost
    }
}

/// Such sums, one behind the other.
struct Totals {
    sums: Vec<f64>,
    lost: Vec<f64>,
}

impl Totals {
    fn new(count: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            sums: filled(0.0, count)?,
            lost: filled(0.0, count)?,
        })
    }

    #[inline(always)]
    fn add(&mut self, at: usize, more: f64) {
        let mut total = Total {
            sum: self.sums[at],
            lost: self.lost[at],
        };
        total.add(more);
        (self.sums[at], self.lost[at]) = (total.sum, total.lost);
    }

    /// Adds so many times as many values.
    fn add_all(&mut self, times: f64, values: &[f64]) {
        let own = self.sums.iter_mut().zip(&mut self.lost);
        for ((sum, lost), value) in own.zip(values) {
            let mut total = Total {
                sum: *sum,
                lost: *lost,
            };
            total.add(times * value);
            (*sum, *lost) = (total.sum, total.lost);
        }
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.sums
            .iter()
            .zip(&self.lost)
            .map(|(sum, lost)| sum + lost)
    }
}

/// A row: its kernel values with the landmarks, but for a hyperplane; and its dense values and entries.
pub(super) struct KernelRow<'a> {
    pub(super) values: &'a [f64],
    pub(super) dense: &'a [f32],
    pub(super) sparse: &'a [[u32; 2]],
    /// What its scores have beside.
    pub(super) offset: Option<f64>,
}

impl<'a> KernelRow<'a> {
    /// The numbers that a hyperplane is about, each with its feature.
    fn features(&self) -> impl Iterator<Item = (usize, f64)> + 'a {
        let dense = self.dense.iter().map(|value| f64::from(*value)).enumerate();
        let entry =
            |[feature, bits]: &[u32; 2]| (*feature as usize, f64::from(f32::from_bits(*bits)));
        dense.chain(self.sparse.iter().map(entry))
    }
}

impl MapHead<'_> {
    /// Adds a row of this group and cost, whose score may be off by so much.
    pub(super) fn add(
        &mut self,
        (loss, most_loss): (Loss, Option<f64>),
        (group, cost, off): (usize, f64, Off),
        row: &KernelRow<'_>,
    ) {
        let dual = self.stored.duals.next().unwrap_or(0.0);
        let spec = &self.stored.spec;
        let side = f64::from(spec.signs.of(group));
        let positive = match side > 0.0 {
            true => f64::from(spec.positive_weight),
            false => 1.0,
        };
        let weight = spec.c * cost * positive;
        // where s was chosen it is the head's own
        let most_loss = spec.truncation.map(|s| 1.0 + s).or(most_loss);
        if side == 0.0 || weight <= 0.0 {
            return;
        }
        let product = match &self.plane {
            None => dot(row.values, &self.stored.factors),
            Some(plane) => row.features().map(|(at, value)| plane.w[at] * value).sum(),
        };
        let offset = row.offset.unwrap_or(0.0);
        self.offsets |= row.offset.is_some();
        let margin = side * (product + self.stored.intercept + offset);
        let own = loss.value(margin);
        let (linear, curvature, high) = loss.dual_terms(weight);
        let linear = linear - side * offset;
        let dual = f64::from(dual).clamp(0.0, high);
        // any sides are those of a round: a row without a dual variable is taken for an outlier of it from half of what outliers cost on, since
        // one that is none has a dual variable wherever it loses
        let most = most_loss.filter(|most| dual == 0.0 && 2.0 * own > *most);
        let rounded = RoundedRow {
            margin,
            loss: own,
            off,
            most_loss: most.unwrap_or(f64::INFINITY),
        };
        self.rounded.take(loss, weight, &rounded);
        let sums = &mut self.sums;
        if let Some(s) = most_loss {
            self.outliers += u64::from(own > s);
            let on_its_side = most.unwrap_or(own);
            sums.excess.add(weight * (on_its_side - own.min(s)));
        }
        if let Some(most) = most {
            sums.beyond.add(weight * most);
            return;
        }
        sums.losses.add(weight * own);
        if dual > 0.0 {
            let place = usize::from(side > 0.0);
            sums.linear[place].add(linear * dual);
            sums.terms.add(linear.abs() * dual);
            sums.curved[place].add(curvature * dual * dual);
            sums.sums[place].add(dual);
            sums.reach.add(dual * off.length);
            let v = &mut sums.v[place];
            match self.plane {
                None => v.add_all(dual, row.values),
                Some(_) => row
                    .features()
                    .for_each(|(at, value)| v.add(at, dual * value)),
            }
        }
    }

    /// By which share dual variables of both sides shrink.
    fn shares(&self, intercept: Intercept) -> [f64; 2] {
        let sums = self.sums.sums.map(|total| total.value());
        match intercept {
            Intercept::Free => balanced(sums[0], sums[1]),
            Intercept::None | Intercept::InNorm => [1.0; 2],
        }
    }

    /// v, but for the intercept's part.
    pub(super) fn v(&self, intercept: Intercept) -> Result<Vec<f64>, OutOfMemory> {
        let shares = self.shares(intercept);
        let [negative, positive] = &self.sums.v;
        let both = negative.values().zip(positive.values());
        gathered(both.map(|(minus, plus)| shares[1] * plus - shares[0] * minus))
    }

    fn losses(&self) -> f64 {
        self.sums.losses.value() + self.sums.beyond.value()
    }

    /// P and D where |w|² and |v|² are these, but for the intercept's part.
    fn objectives(&self, intercept: Intercept, [norm, dual_norm]: [f64; 2]) -> (f64, f64) {
        let (sums, b, shares) = (&self.sums, self.stored.intercept, self.shares(intercept));
        let (own, tilt) = match intercept {
            Intercept::InNorm => (b * b, sums.sums[1].value() - sums.sums[0].value()),
            Intercept::None | Intercept::Free => (0.0, 0.0),
        };
        let primal = 0.5 * (norm + own) + self.losses();
        let side = |at: usize| {
            shares[at] * (sums.linear[at].value() - 0.5 * shares[at] * sums.curved[at].value())
        };
        // dual variables of 0 are as feasible
        let dual = side(0) + side(1) - 0.5 * (dual_norm + tilt * tilt);
        (primal, dual.max(0.0) + sums.beyond.value())
    }

    /// What is true of it where it is a hyperplane. `least`: the share of the primal up to which rounding is not counted.
    pub(super) fn proved_plane(
        &self,
        (loss, intercept): (Loss, Intercept),
        least: f64,
    ) -> Result<ProvedHead, OutOfMemory> {
        let w = self.plane.as_ref().map_or(0.0, |plane| square(&plane.w));
        let pair = self.objectives(intercept, [w, square(&self.v(intercept)?)]);
        let known = Unrounded {
            loss,
            losses: self.losses(),
            share: 1.0,
            together: 1,
            offsets: self.offsets,
        };
        Ok(self.widened(pair, self.rounded.widening(pair, &known), least))
    }

    /// What is true of it otherwise.
    pub(super) fn proved(
        &self,
        (_, intercept): (Loss, Intercept),
        own: &InSpan,
        lost: &Lost<'_>,
    ) -> ProvedHead {
        let [projected, more] = own.projected(lost);
        let pair = self.objectives(intercept, [own.norm(), projected]);
        let losses = self.rounded.more_losses(self.losses());
        let norm = (lost.k + lost.dot) * self.lost.reach * self.lost.reach;
        // of sums that cancel out
        let sums = &self.sums;
        let [curved, duals] = [sums.curved, sums.sums]
            .map(|[negative, positive]| negative.value() + positive.value());
        let terms = sums.terms.value() + 0.5 * curved + duals * duals;
        let below = 0.5 * more + SUMMED * terms;
        let above = losses + 0.5 * norm;
        self.widened(pair, [above, below], ValueRounding::NOT_COUNTED)
    }

    fn widened(&self, pair: (f64, f64), lost: [f64; 2], least: f64) -> ProvedHead {
        let (certificate, rounding) = Certificate::widened(pair, lost, least);
        ProvedHead {
            certificate,
            outliers: self.outliers,
            excess: self.sums.excess.value(),
            rounding,
        }
    }
}

pub(super) fn square(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}
