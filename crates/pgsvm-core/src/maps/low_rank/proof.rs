//! Certificates of machines of low rank, in 64 bits, of what is stored of them: landmarks z, factors a and intercept b.
//!
//! ```text
//! f(x) = sum of a_j k(z_j, x) + b          K of the landmarks = L L'
//! P    = 1/2 |L'a|² (and 1/2 b² where b is in the norm) + sum of s_i L(y_i f(x_i))
//! v    = sum of y_i u_i k(z, x_i)          of the dual variables u, within their bounds
//! D    = sum of (p u_i - 1/2 d_i u_i²) - 1/2 |L^-1 v|² (and 1/2 (sum of y_i u_i)²)
//! ```
//!
//! A training on phi(x) = L^-1 k(x) has phi in 32 bits, off by what L^-1 makes of the rounding of k: its own certificate is that
//! of those numbers. Here all rows are gone over once more. Where b is in no norm the u of the heavier side shrink by what
//! makes sum y u = 0. Of a truncated loss rows beyond it cost what it is there, and their u is 0.
//!
//! Of the linear kernel w = sum of a_j z_j is stored, and the certificate is that of all hyperplanes: v = sum of y_i u_i x_i, and |v|² in place of
//! |L^-1 v|². It is for rows as they come, and counts what rounding them to 32 bits may change ([`Rounded`]). Other kernels are of rows in 32
//! bits, also where a model is used; what kernel values in 64 bits lose counts ([`ValueRounding`]), and |L'a|² is the larger of that
//! and the sum of a_i a_j k(z_i, z_j), as L is rounded too.

use pgsvm_kernels::expansion::dot;
use pgsvm_kernels::triangle::{forward, unfold};
use pgsvm_kernels::{Kernel, LowRank, Rows, ValueRounding};

use crate::base::interrupts;
use crate::base::memory::{filled, gathered, OutOfMemory, Room as _};
use crate::maps::low_rank::{LowRankError, LowRankSource};
use crate::rows::facts::Rounding;
use crate::rows::row::Row;
use crate::rows::source::{Source, Spool};
use crate::simd::Level;
use crate::task::heads::HeadSpec;
use crate::task::loss::Loss;
use crate::task::problem::Problem;
use crate::task::report::{Certificate, HeadReport, Truncation};
use crate::task::rounded::{Off, Rounded, RoundedRow, Unrounded};

/// Rows that are gone over together, at most, and kernel values.
const ROWS: usize = 256;
const VALUES: usize = 1 << 16;

/// Which part the intercept has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterceptPart {
    None,
    /// It is in the norm, as any weight.
    InNorm,
    /// It is in no norm.
    Free,
}

/// A head as it is stored.
pub struct StoredHead<'a> {
    pub spec: HeadSpec,
    /// By landmark.
    pub factors: Vec<f64>,
    pub intercept: f64,
    /// By row, in their order.
    pub duals: Box<dyn Iterator<Item = f32> + 'a>,
}

/// What all rows say of some heads.
pub struct LowRankProof<'a> {
    loss: Loss,
    intercept: InterceptPart,
    /// The loss beyond which rows cost no more.
    most_loss: Option<f64>,
    heads: Vec<Head<'a>>,
    rows: Rows,
    groups: Vec<u32>,
    costs: Vec<f32>,
    /// Of hyperplanes: what rounding has made of rows, and by how much the scores of the rows at hand may be off, row after row.
    rounding: Option<Rounding>,
    offs: Vec<Off>,
    values: Vec<f64>,
}

/// w of a hyperplane, and by how much every <w, x> may be off beside what `Rounding::off` says.
struct Plane {
    w: Vec<f64>,
    shift: f64,
}

/// A head, and its sums so far.
struct Head<'a> {
    stored: StoredHead<'a>,
    plane: Option<Plane>,
    rounded: Rounded,
    /// Of other kernels: what 64 bits lose of f, and the sum of u sqrt(k(x, x)).
    lost: ValueRounding,
    reach: f64,
    losses: f64,
    /// Of the rows beyond the truncation.
    outliers: u64,
    beyond: f64,
    /// Of the negative side and the positive one: sum of p u, of d u², of u, and of u k(x), or u x.
    linear: [f64; 2],
    curved: [f64; 2],
    sums: [f64; 2],
    v: [Vec<f64>; 2],
}

impl<'a> LowRankProof<'a> {
    /// Of heads over the landmarks of this map, which is one of the rows that `source` keeps.
    pub fn new<S: Source, P: Spool>(
        map: &LowRank,
        source: &LowRankSource<S, P>,
        problem: &Problem,
        (intercept, stored): (InterceptPart, Vec<StoredHead<'a>>),
    ) -> Result<Self, OutOfMemory> {
        let facts = source.facts().filter(|_| *map.kernel() == Kernel::Linear);
        let mut heads = Vec::new();
        heads.room(stored.len())?;
        for stored in stored {
            let plane = match facts {
                None => None,
                Some(facts) => {
                    let rows = map.landmarks().rows();
                    let w = rows.combined(&stored.factors, facts.features)?;
                    let shift = facts.rounding.shift_at(square(&w).sqrt());
                    Some(Plane { w, shift })
                }
            };
            let mut lost = ValueRounding::new(*map.kernel(), 0.0);
            if plane.is_none() {
                let rows = map.landmarks().rows();
                for (at, factor) in stored.factors.iter().enumerate() {
                    lost.reach += factor.abs() * lost.take((rows, at), rows.wide_square(at));
                }
            }
            let length = plane.as_ref().map_or(map.rank(), |plane| plane.w.len());
            heads.push(Head {
                stored,
                plane,
                rounded: Rounded::default(),
                lost,
                reach: 0.0,
                losses: 0.0,
                outliers: 0,
                beyond: 0.0,
                linear: [0.0; 2],
                curved: [0.0; 2],
                sums: [0.0; 2],
                v: [filled(0.0, length)?, filled(0.0, length)?],
            });
        }
        Ok(Self {
            loss: problem.loss(),
            intercept,
            most_loss: problem.truncation().map(|s| 1.0 + s),
            heads,
            rows: Rows::new(map.landmarks().rows().width()),
            groups: Vec::new(),
            costs: Vec::new(),
            rounding: facts.map(|it| it.rounding),
            offs: Vec::new(),
            values: Vec::new(),
        })
    }

    /// Goes over the next rows of a source that keeps them, which `map` was made for; true behind the last one.
    pub fn step<S: Source, P: Spool>(
        &mut self,
        map: &LowRank,
        source: &mut LowRankSource<S, P>,
    ) -> Result<bool, LowRankError<S::Error, P::Error>> {
        self.rows.clear();
        self.groups.clear();
        self.costs.clear();
        self.offs.clear();
        let most = (VALUES / map.rank().max(1)).clamp(1, ROWS);
        let last = source.go_over(most, |row| self.take(&row))?;
        self.sum(map)?;
        Ok(last)
    }

    fn take(&mut self, row: &Row<'_>) -> Result<(), OutOfMemory> {
        self.rows.push(row.dense(), row.sparse())?;
        self.groups.room(1)?.push(row.group() as u32);
        self.costs.room(1)?.push(row.cost());
        if let Some(rounding) = &self.rounding {
            let planes = self.heads.iter().filter_map(|head| head.plane.as_ref());
            let offs = self.offs.room(self.heads.len())?;
            let length = rounding.length_off(row);
            offs.extend(planes.map(|plane| Off {
                margin: rounding.off(row, &plane.w) + plane.shift,
                length,
            }));
        }
        Ok(())
    }

    /// Adds the rows at hand.
    fn sum(&mut self, map: &LowRank) -> Result<(), OutOfMemory> {
        let count = self.rows.len();
        let rank = match self.rounding {
            Some(_) => 0,
            None => map.rank(),
        };
        if self.values.len() < count * rank {
            self.values = filled(0.0, count * rank)?;
        }
        let values = &mut self.values[..count * rank];
        if rank > 0 {
            let (kernel, rows) = (map.kernel(), (&self.rows, 0));
            let level = Level::best();
            map.landmarks().wide_values(kernel, level, rows, values);
        }
        let terms = (self.loss, self.most_loss);
        for at in 0..count {
            let (group, cost) = (self.groups[at] as usize, f64::from(self.costs[at]));
            let told = Told {
                values: &values[at * rank..][..rank],
                dense: self.rows.dense(at),
                sparse: self.rows.sparse(at),
            };
            let heads = self.heads.len();
            let length = match self.heads.first() {
                Some(head) if head.plane.is_none() => head.lost.length(self.rows.wide_square(at)),
                _ => 0.0,
            };
            for (place, head) in self.heads.iter_mut().enumerate() {
                let off = match self.offs.get(at * heads + place) {
                    Some(off) => *off,
                    None => Off {
                        margin: head.lost.off_at((&self.rows, at), length),
                        length,
                    },
                };
                head.add(terms, (group, cost, off), &told);
            }
            interrupts::worked((rank + told.dense.len() + told.sparse.len()) * heads);
        }
        Ok(())
    }

    /// The certificates, by head, once all rows have been gone over. Nothing is proved where kernel values of the landmarks have no L.
    pub fn finish(self, map: &LowRank) -> Result<Vec<ProvedHead>, OutOfMemory> {
        let Self {
            heads,
            loss,
            intercept,
            rounding,
            ..
        } = self;
        let anew;
        let lower = match (rounding, intercept) {
            (Some(_), _) => Some(&[][..]),
            (None, InterceptPart::InNorm) => Some(map.lower()),
            // pivots of all rows were found by a factor in 32 bits
            (None, InterceptPart::None | InterceptPart::Free) => {
                anew = map.lower_anew()?;
                anew.as_deref()
            }
        };
        let least = rounding.map_or(ValueRounding::NOT_COUNTED, |it| it.least);
        let norms = match rounding {
            Some(_) => filled(0.0, heads.len())?,
            None => norms(map, &heads)?,
        };
        let mut all = Vec::new();
        for (head, norm) in heads.iter().zip(norms) {
            all.room(1)?.push(match lower {
                Some(lower) => head.proved((lower, norm), (loss, intercept), least)?,
                None => ProvedHead {
                    certificate: Certificate::of(f64::INFINITY, 0.0),
                    outliers: head.outliers,
                    rounding: 0.0,
                },
            });
        }
        Ok(all)
    }
}

/// By head the sum of a_i a_j k(z_i, z_j).
fn norms(map: &LowRank, heads: &[Head<'_>]) -> Result<Vec<f64>, OutOfMemory> {
    let (rank, level) = (map.rank(), Level::best());
    let at_once = (VALUES / rank.max(1)).clamp(1, ROWS);
    let mut norms = filled(0.0, heads.len())?;
    let mut values = filled(0.0, at_once.min(rank) * rank)?;
    for first in (0..rank).step_by(at_once) {
        let count = at_once.min(rank - first);
        let values = &mut values[..count * rank];
        let landmarks = map.landmarks();
        landmarks.wide_values(map.kernel(), level, (landmarks.rows(), first), values);
        for (norm, head) in norms.iter_mut().zip(heads) {
            let factors = &head.stored.factors;
            let rows = values.chunks_exact(rank).zip(&factors[first..]);
            *norm += rows
                .map(|(row, factor)| factor * dot(row, factors))
                .sum::<f64>();
            interrupts::worked(count * rank);
        }
    }
    Ok(norms)
}

/// A row: its kernel values with the landmarks, but for a hyperplane; and its dense values and entries.
struct Told<'a> {
    values: &'a [f64],
    dense: &'a [f32],
    sparse: &'a [[u32; 2]],
}

impl<'a> Told<'a> {
    /// The numbers that a hyperplane is about, each with its feature.
    fn features(&self) -> impl Iterator<Item = (usize, f64)> + 'a {
        let dense = self.dense.iter().map(|value| f64::from(*value)).enumerate();
        let entry =
            |[feature, bits]: &[u32; 2]| (*feature as usize, f64::from(f32::from_bits(*bits)));
        dense.chain(self.sparse.iter().map(entry))
    }
}

/// What is true of a stored head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProvedHead {
    pub certificate: Certificate,
    /// Rows beyond the truncation.
    pub outliers: u64,
    /// By how much the gap is wider for what rounding rows may change.
    pub rounding: f64,
}

impl ProvedHead {
    /// Puts it in place of what a head was said to be, which has arrived with it or not.
    pub fn correct(&self, report: &mut HeadReport, arrived: bool) {
        report.correct(self.certificate, arrived);
        report.rounding = self.rounding;
        if let Some(truncated) = &mut report.truncated {
            *truncated = Truncation {
                objective: self.certificate.primal,
                outliers: self.outliers,
            };
        }
    }
}

impl Head<'_> {
    /// Adds a row of this group and cost, whose score may be off by so much.
    fn add(
        &mut self,
        (loss, most_loss): (Loss, Option<f64>),
        (group, cost, off): (usize, f64, Off),
        told: &Told<'_>,
    ) {
        let dual = self.stored.duals.next().unwrap_or(0.0);
        let spec = &self.stored.spec;
        let side = f64::from(spec.signs.of(group));
        let positive = match side > 0.0 {
            true => f64::from(spec.positive_weight),
            false => 1.0,
        };
        let weight = spec.c * cost * positive;
        if side == 0.0 || weight <= 0.0 {
            return;
        }
        let product = match &self.plane {
            None => dot(told.values, &self.stored.factors),
            Some(plane) => told.features().map(|(at, value)| plane.w[at] * value).sum(),
        };
        let margin = side * (product + self.stored.intercept);
        let own = loss.value(margin);
        let row = RoundedRow {
            margin,
            loss: own,
            off,
            most_loss: most_loss.unwrap_or(f64::INFINITY),
        };
        self.rounded.take(loss, weight, &row);
        if let Some(most) = most_loss.filter(|most| own > *most) {
            self.outliers += 1;
            self.beyond += weight * most;
            return;
        }
        self.losses += weight * own;
        let (linear, curvature, high) = loss.dual_terms(weight);
        let dual = f64::from(dual).clamp(0.0, high);
        if dual > 0.0 {
            let place = usize::from(side > 0.0);
            self.linear[place] += linear * dual;
            self.curved[place] += curvature * dual * dual;
            self.sums[place] += dual;
            self.reach += dual * off.length;
            let v = &mut self.v[place];
            match self.plane {
                None => {
                    for (v, value) in v.iter_mut().zip(told.values) {
                        *v += dual * value;
                    }
                }
                Some(_) => told
                    .features()
                    .for_each(|(at, value)| v[at] += dual * value),
            }
        }
    }

    /// `lower`: L, of no use for a hyperplane, and the sum of a_i a_j k(z_i, z_j). `least`: the share of the primal up to which rounding is
    /// not counted.
    fn proved(
        &self,
        (lower, norm): (&[f64], f64),
        (loss, intercept): (Loss, InterceptPart),
        least: f64,
    ) -> Result<ProvedHead, OutOfMemory> {
        let b = self.stored.intercept;
        let own = match intercept {
            InterceptPart::InNorm => b * b,
            InterceptPart::None | InterceptPart::Free => 0.0,
        };
        let norm = match &self.plane {
            Some(plane) => square(&plane.w),
            None => square(&unfold(lower, &self.stored.factors)?).max(norm),
        } + own;
        let losses = self.losses + self.beyond;
        let primal = 0.5 * norm + losses;
        let shares = match intercept {
            InterceptPart::Free => {
                let lighter = self.sums[0].min(self.sums[1]);
                self.sums
                    .map(|own| if own > 0.0 { lighter / own } else { 0.0 })
            }
            InterceptPart::None | InterceptPart::InNorm => [1.0; 2],
        };
        let [negative, positive] = &self.v;
        let both = negative.iter().zip(positive);
        let mut v = gathered(both.map(|(minus, plus)| shares[1] * plus - shares[0] * minus))?;
        let tilt = match intercept {
            InterceptPart::InNorm => self.sums[1] - self.sums[0],
            InterceptPart::None | InterceptPart::Free => 0.0,
        };
        if self.plane.is_none() {
            forward(lower, &mut v);
        }
        let norm = square(&v) + tilt * tilt;
        let side = |at: usize| shares[at] * (self.linear[at] - 0.5 * shares[at] * self.curved[at]);
        // dual variables of 0 are as feasible
        let dual = (side(0) + side(1) - 0.5 * norm).max(0.0) + self.beyond;
        let lost = match &self.plane {
            Some(_) => {
                let known = Unrounded {
                    loss,
                    losses,
                    share: 1.0,
                    together: 1,
                };
                self.rounded.widening((primal, dual), &known)
            }
            None => [
                self.rounded.more_losses(losses) + 0.5 * self.lost.off(self.lost.reach),
                self.lost.value_off() * self.reach * self.reach,
            ],
        };
        let (certificate, rounding) = Certificate::widened((primal, dual), lost, least);
        Ok(ProvedHead {
            certificate,
            outliers: self.outliers,
            rounding,
        })
    }
}

fn square(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}
