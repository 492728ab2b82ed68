//! Planes, with the one of zeros behind them, and their weights on the simplex.

use crate::base::interrupts;
use crate::base::memory::{OutOfMemory, Room};
use crate::base::zeros::zeros;
use crate::linalg::lower::Lower;
use crate::simd::tile::PANEL;
use crate::solver::bundle::planes::Planes;
use crate::solver::fixed_weights::product;

/// What is known of a plane.
#[derive(Clone, Copy, Default)]
struct Weighed {
    /// The multiplier, and b'.
    b: f64,
    next: f64,
    /// B - <F, w>, and <dw, F>.
    risk: f64,
    along: f64,
}

/// All planes.
pub(super) struct Simplex {
    all: Vec<Weighed>,
    /// What planes' values are divided by: a part of what w may be off, or the largest B.
    size: f64,
    /// Room for the values that are projected, and for a plane and the mean of those with weight.
    values: Vec<f64>,
    apart: Vec<f64>,
    middle: Vec<f64>,
}

impl Simplex {
    pub(super) fn new(length: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            all: Vec::new(),
            size: 0.0,
            values: Vec::new(),
            apart: zeros(length)?,
            middle: zeros(length)?,
        })
    }

    /// Begins at weights w, with the weights that planes have.
    pub(super) fn begin(
        &mut self,
        planes: &Planes,
        w: &[f64],
        off: f64,
    ) -> Result<(), OutOfMemory> {
        let count = planes.all.len() + 1;
        self.all.clear();
        self.all.room(count)?.resize(count, Weighed::default());
        self.values.clear();
        self.values.room(count)?.resize(count, 0.0);
        let mut rest = 1.0;
        self.size = 0.0;
        for (own, plane) in self.all.iter_mut().zip(&planes.all) {
            own.b = plane.weight;
            own.risk = plane.b - product(&plane.f, w);
            rest -= plane.weight;
            self.size = self.size.max(plane.b.abs());
        }
        self.all[count - 1].b = f64::max(rest, 0.0);
        self.size = self.size.min(off);
        Ok(())
    }

    /// k of planes.
    fn by(&self, steep: f64) -> f64 {
        if self.size > 0.0 {
            steep / self.size
        } else {
            0.0
        }
    }

    /// What is to be taken from all values so that those above it sum up to 1 (Duchi and others, ICML 2008).
    fn threshold(&mut self, steep: f64, length: f64) -> f64 {
        let by = self.by(steep);
        for (value, own) in self.values.iter_mut().zip(&self.all) {
            *value = own.value(by, length);
        }
        self.values.sort_unstable_by(|a, b| b.total_cmp(a));
        let (mut sum, mut threshold) = (0.0, 0.0);
        for (place, value) in self.values.iter().enumerate() {
            sum += value;
            let next = (sum - 1.0) / (place + 1) as f64;
            if *value <= next {
                break;
            }
            threshold = next;
        }
        threshold
    }

    /// b'
    pub(super) fn project(&mut self, steep: f64) {
        let (by, threshold) = (self.by(steep), self.threshold(steep, 0.0));
        for own in &mut self.all {
            own.next = (own.value(by, 0.0) - threshold).max(0.0);
        }
        let sum: f64 = self.all.iter().map(|own| own.next).sum();
        self.all.iter_mut().for_each(|own| own.next /= sum);
    }

    pub(super) fn take_multipliers(&mut self, planes: &mut Planes) {
        for own in &mut self.all {
            own.b = own.next;
        }
        for (own, plane) in self.all.iter().zip(&mut planes.all) {
            plane.weight = own.b;
        }
    }

    /// sum += sum b' F
    pub(super) fn add_to(&self, planes: &Planes, sum: &mut [f64]) {
        for (own, plane) in self.all.iter().zip(&planes.all) {
            if own.next > 0.0 {
                for (sum, f) in sum.iter_mut().zip(&plane.f) {
                    *sum += own.next * f;
                }
            }
        }
    }

    /// sum b' B
    pub(super) fn value(&self, planes: &Planes) -> f64 {
        let all = self.all.iter().zip(&planes.all);
        all.map(|(own, plane)| own.next * plane.b).sum()
    }

    /// What the planes say that the others lose at least.
    pub(super) fn risk(&self) -> f64 {
        self.all.iter().map(|own| own.risk).fold(0.0, f64::max)
    }

    /// sums += k sum (F - F') (F - F')' over the planes with weight, F' their mean. Gives back how many those are.
    pub(super) fn add_to_matrix(&mut self, planes: &Planes, steep: f64, sums: &mut Lower) -> u64 {
        let by = self.by(steep);
        let weighed = |own: &&Weighed| own.next > 0.0;
        let count = self.all.iter().filter(weighed).count() as f64;
        self.middle.fill(0.0);
        for (own, plane) in self.all.iter().zip(&planes.all) {
            if own.next > 0.0 {
                for (middle, f) in self.middle.iter_mut().zip(&plane.f) {
                    *middle += f / count;
                }
            }
        }
        for (place, _) in self.all.iter().enumerate().filter(|(_, it)| weighed(it)) {
            match planes.all.get(place) {
                Some(plane) => self.apart.copy_from_slice(&plane.f),
                None => self.apart.fill(0.0),
            }
            for (apart, middle) in self.apart.iter_mut().zip(&self.middle) {
                *apart -= middle;
            }
            for (number, own) in self.apart.iter().enumerate() {
                let row = sums.row_mut(number);
                for (column, other) in self.apart[..=number].iter().enumerate() {
                    row[column * PANEL] += by * own * other;
                }
                interrupts::worked(number);
            }
        }
        count as u64
    }

    /// Takes how planes move along a step.
    pub(super) fn along(&mut self, planes: &Planes, step: &[f64]) {
        for (own, plane) in self.all.iter_mut().zip(&planes.all) {
            own.along = product(&plane.f, step);
        }
    }

    /// What they take from the slope, so far along the step.
    pub(super) fn slope(&mut self, steep: f64, length: f64) -> f64 {
        let (by, threshold) = (self.by(steep), self.threshold(steep, length));
        let weights = self.all.iter().map(|own| {
            let weight = (own.value(by, length) - threshold).max(0.0);
            weight * own.along
        });
        weights.sum()
    }

    pub(super) fn go(&mut self, length: f64) {
        for own in &mut self.all {
            own.risk -= length * own.along;
        }
    }
}

impl Weighed {
    /// What is projected, so far along the step.
    fn value(&self, by: f64, length: f64) -> f64 {
        self.b + by * (self.risk - length * self.along)
    }
}
