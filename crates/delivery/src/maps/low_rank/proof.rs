//! Certificates of machines of low rank, in 64 bits, of what is stored of them: landmarks z, factors a and intercept b.
//!
//! ```text
//! f(x) = sum of a_j k(z_j, x) + b          K of the landmarks = L L'
//! P    = 1/2 a'K a (and 1/2 b² where b is in the norm) + sum of s_i L(y_i f(x_i))
//! v    = sum of y_i u_i k(z, x_i)          of the dual variables u, within their bounds
//! D    = sum of (p u_i - 1/2 d_i u_i²) - 1/2 v'K^-1 v (and 1/2 (sum of y_i u_i)²)
//! ```
//!
//! A training on phi(x) = L^-1 k(x) has phi in 32 bits, off by what L^-1 makes of the rounding of k: its own certificate is that
//! of those numbers. Here all rows are read once more. Where b is in no norm the u of the heavier side shrink by what
//! makes sum y u = 0. Of a truncated loss the rows that lose and whose u is
//! 0 are the outliers of the round, which cost what it is there; others count as they are, wherever they lie.
//!
//! Of the linear kernel w = sum of a_j z_j is stored, and the certificate is that of all hyperplanes: v = sum of y_i u_i x_i, and |v|² in place of
//! v'K^-1 v. It is for rows as they come, and counts what rounding them to 32 bits may change ([`Rounded`]). Other kernels are of rows in 32
//! bits, also where a model is used; what kernel values in 64 bits lose counts ([`ValueRounding`]), and what that makes of both norms
//! ([`InSpan`]).

use pgsvm_kernels::{Kernel, LowRank, Rows, ValueRounding};

use crate::base::interrupts;
use crate::base::memory::{filled, gathered, OutOfMemory, Room as _};
use crate::maps::low_rank::head::{square, KernelRow, MapHead, MapPlane, MapSums, SUMMED};
use crate::maps::low_rank::norms::{InSpan, Lost};
use crate::maps::low_rank::{LowRankError, LowRankSource};
use crate::objective::heads::HeadSpec;
use crate::objective::loss::Loss;
use crate::objective::minimized::Intercept;
use crate::objective::problem::Problem;
use crate::objective::report::{Certificate, HeadReport, Truncation};
use crate::objective::rounded::{Off, Rounded};
use crate::rows::facts::Rounding;
use crate::rows::row::Row;
use crate::rows::source::{Source, Spool};
use crate::simd::Level;

/// Rows that are read together, at most, and kernel values.
const ROWS: usize = 256;
const VALUES: usize = 1 << 16;

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
    intercept: Intercept,
    /// The loss beyond which rows cost no more.
    most_loss: Option<f64>,
    heads: Vec<MapHead<'a>>,
    rows: Rows,
    groups: Vec<u32>,
    costs: Vec<f32>,
    offsets: Vec<Option<f64>>,
    /// Of hyperplanes: what rounding has made of rows, and by how much the scores of the rows at hand may be off, row after row.
    rounding: Option<Rounding>,
    offs: Vec<Off>,
    values: Vec<f64>,
    /// Of other kernels: what 64 bits lose of values, and by landmark the root of k(z, z), as that has it.
    lost: ValueRounding,
    lengths: Vec<f64>,
}

impl<'a> LowRankProof<'a> {
    /// Of heads over the landmarks of this map, which is one of the rows that `source` keeps.
    pub fn new<S: Source, P: Spool>(
        map: &LowRank,
        source: &LowRankSource<S, P>,
        problem: &Problem,
        (intercept, stored): (Intercept, Vec<StoredHead<'a>>),
    ) -> Result<Self, OutOfMemory> {
        let facts = source.facts().filter(|_| *map.kernel() == Kernel::Linear);
        let mut lost = ValueRounding::new(*map.kernel(), 0.0);
        let rows = map.landmarks().rows();
        let lengths =
            gathered((0..rows.len()).map(|at| lost.take((rows, at), rows.wide_square(at))))?;
        let mut heads = Vec::new();
        heads.room(stored.len())?;
        for stored in stored {
            let plane = match facts {
                None => None,
                Some(facts) => {
                    let w = rows.combined(&stored.factors, facts.features)?;
                    let length = square(&w).sqrt();
                    Some(MapPlane { w, length })
                }
            };
            let sizes = stored.factors.iter().zip(&lengths);
            let mut lost = lost;
            lost.reach = sizes.map(|(factor, length)| factor.abs() * length).sum();
            let length = plane.as_ref().map_or(map.rank(), |plane| plane.w.len());
            heads.push(MapHead {
                stored,
                plane,
                rounded: Rounded::default(),
                lost,
                outliers: 0,
                offsets: false,
                sums: MapSums::new(length)?,
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
            offsets: Vec::new(),
            rounding: facts.map(|it| it.rounding),
            offs: Vec::new(),
            values: Vec::new(),
            lost,
            lengths,
        })
    }

    /// Reads the next rows of a source that keeps them, which `map` was made for; true behind the last one.
    pub fn step<S: Source, P: Spool>(
        &mut self,
        map: &LowRank,
        source: &mut LowRankSource<S, P>,
    ) -> Result<bool, LowRankError<S::Error, P::Error>> {
        self.rows.clear();
        self.groups.clear();
        self.costs.clear();
        self.offsets.clear();
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
        let offset = row.has_offset().then(|| row.offset());
        self.offsets.room(1)?.push(offset);
        if let Some(rounding) = &self.rounding {
            let planes = self.heads.iter().filter_map(|head| head.plane.as_ref());
            let offs = self.offs.room(self.heads.len())?;
            let (length, shift) = (rounding.length_off(row), rounding.shift_off(row));
            offs.extend(planes.map(|plane| Off {
                margin: rounding.off(row, &plane.w) + shift * plane.length,
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
            let row = KernelRow {
                values: &values[at * rank..][..rank],
                dense: self.rows.dense(at),
                sparse: self.rows.sparse(at),
                offset: self.offsets[at],
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
                head.add(terms, (group, cost, off), &row);
            }
            interrupts::worked((rank + row.dense.len() + row.sparse.len()) * heads);
        }
        Ok(())
    }

    /// The certificates, by head, once all rows have been read. Nothing is proved of duals where kernel values of the landmarks have no L.
    pub fn finish(self, map: &LowRank) -> Result<Vec<ProvedHead>, OutOfMemory> {
        let terms = (self.loss, self.intercept);
        let mut found = Vec::new();
        if let Some(rounding) = self.rounding {
            for head in &self.heads {
                found
                    .room(1)?
                    .push(head.proved_plane(terms, rounding.least)?);
            }
            return Ok(found);
        }
        let (value, dot) = (self.lost.value_off(), self.lost.dot_off());
        let squares = self.lengths.iter().map(|length| length * length);
        let off = value * squares.sum::<f64>();
        let span = match self.intercept {
            Intercept::InNorm => Some(map.span(off)?),
            // pivots of all rows were found by a factor in 32 bits
            Intercept::None | Intercept::Free => map.span_anew(off)?,
        };
        let (lower, least_eigenvalue) = match &span {
            Some(span) => (&span.lower[..], span.least_eigenvalue),
            None => (map.lower(), 0.0),
        };
        let mut all = Vec::new();
        for head in &self.heads {
            let v = head.v(self.intercept)?;
            all.room(1)?
                .push(InSpan::new(&head.stored.factors, v, lower)?);
        }
        InSpan::measure(map, &mut all)?;
        for (head, own) in self.heads.iter().zip(&all) {
            let lost = Lost {
                v: value + SUMMED,
                k: value + dot,
                dot,
                lengths: &self.lengths,
                reach: head.sums.reach.value(),
                least_eigenvalue,
            };
            found.room(1)?.push(head.proved(terms, own, &lost));
        }
        Ok(found)
    }
}

/// What is true of a stored head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProvedHead {
    pub certificate: Certificate,
    /// Rows beyond the truncation, and what rows cost more on their side in the primal than in the truncated objective.
    pub outliers: u64,
    pub excess: f64,
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
                objective: self.certificate.primal - self.excess,
                outliers: self.outliers,
            };
        }
    }
}
