//! Safe screening of the rows of a training that continues a version: which rows cannot matter, and so are neither decoded nor
//! trained on. A row may be screened that is the same version as when the model was trained ([`crate::pg::origin`]), whose dual
//! variable is 0 and whose margin slack ([`pgsvm_core::leeway`]) is more than the weights may be expected to move: its loss was
//! 0 and stays 0. `training::recheck` proves that behind the training. Does not know how rows are read.

use crate::base::errors::Failure;
use crate::keys::out_of_memory;
use crate::targets::labels::LabelValue;
use pgsvm_core::leeway::{leeway_of, Metric};
use pgsvm_core::Scaling;

/// How far weights are expected to move at most from training to training, in the unit of margin slacks: so much times the square
/// root of features over support vectors, as noise has it, but no more than this; and at a tolerance above 1e-3 by its square
/// root more.
const FARTHEST: f64 = 0.5;
const FARTHEST_AT_ALL: f64 = 0.15;
/// The share of that which they are expected to move at least; between the two one octave is as likely as another.
const NEAREST_SHARE: f64 = 0.02;
/// What it costs to have expected too little, of what all rows cost.
const PENALTY: f64 = 0.3;
/// The least that screening is expected to save, of what all rows cost, where it is tried.
const LEAST_SAVING: f64 = 0.3;

/// What a version knows of its rows' margin slacks, or what is to be stored of them.
pub struct RowSlacks {
    /// By label.
    pub metrics: Vec<(String, Metric)>,
    /// By row what its version is known by, or `origin::NONE`.
    pub versions: Vec<u64>,
    /// By row.
    pub codes: Vec<u8>,
    /// Of the rows that are measured.
    pub scaling: Scaling,
}

/// Which rows are screened.
pub struct Screening {
    known: RowSlacks,
    /// The least code of a row that is.
    least: u8,
    /// A bit for each class of which a row was looked at: one of each has to be.
    looked_at: u64,
    /// Those that were, in the order of the source.
    pub rows: Vec<ScreenedRow>,
    /// The weights that the slacks are about, the intercept's last; None where they do not fit the features.
    pub before: Option<Vec<f64>>,
    /// The gap that is wanted in the end.
    pub tolerance: f64,
}

/// A row that was screened.
#[derive(Debug, Clone, Copy)]
pub struct ScreenedRow {
    /// Its number in the source, from 1.
    pub number: u32,
    /// Its place among the rows that are trained on, from 0.
    pub place: u32,
    /// The row of the model that it is.
    known: u32,
    pub class: u32,
}

impl Screening {
    /// Of a model that stands on so many rows, for a gap of `tolerance`; None where it is not worth it.
    pub fn plan(known: RowSlacks, support_vectors: usize, tolerance: f64) -> Option<Self> {
        let features = known.metrics.first()?.1.centre.len();
        let noise = FARTHEST * (features as f64 / support_vectors.max(1) as f64).sqrt();
        let farthest = noise.min(FARTHEST_AT_ALL) * (tolerance / 1e-3).sqrt().max(1.0);
        let (least, saving) = best_code(&known.codes, farthest);
        (saving >= LEAST_SAVING).then_some(Self {
            known,
            least,
            looked_at: 0,
            rows: Vec::new(),
            before: None,
            tolerance,
        })
    }

    /// Whether a row of the model has so much slack that it may be screened.
    #[inline]
    pub fn has_slack(&self, known: u32) -> bool {
        self.known.codes[known as usize] >= self.least
    }

    /// Notes that a row of a class is looked at.
    pub fn looked_at(&mut self, class: u32) {
        self.looked_at |= 1 << class.min(63);
    }

    /// Screens row `number` of the source, which would be number `place` of those trained on, if it is that version of
    /// the model's row.
    pub fn screen(
        &mut self,
        known: u32,
        version: u64,
        class: u32,
        number: u64,
        place: u64,
    ) -> Result<bool, Failure> {
        let (Ok(number), Ok(place)) = (u32::try_from(number), u32::try_from(place)) else {
            return Ok(false);
        };
        let same = self.known.versions[known as usize] == version;
        if !same || self.looked_at & 1 << class.min(63) == 0 {
            return Ok(false);
        }
        self.rows.try_reserve(1).map_err(|_| out_of_memory())?;
        self.rows.push(ScreenedRow {
            number,
            place,
            known,
            class,
        });
        Ok(true)
    }

    /// The scaling in which the slacks of the rows are measured.
    pub fn scaling(&self) -> &Scaling {
        &self.known.scaling
    }

    /// The features that the metrics know.
    pub fn features(&self) -> usize {
        let features = |(_, metric): &(String, Metric)| metric.centre.len();
        self.known.metrics.iter().map(features).max().unwrap_or(0)
    }

    /// The metrics of these classes; none unless they are those that there were.
    pub fn metrics(&self, classes: &[LabelValue]) -> Vec<Metric> {
        let of = |class: &LabelValue| {
            let mut all = self.known.metrics.iter();
            all.find(|(label, _)| *label == class.text)
                .map(|(_, metric)| metric.clone())
        };
        match classes.len() == self.known.metrics.len() {
            true => classes
                .iter()
                .map(of)
                .collect::<Option<_>>()
                .unwrap_or_default(),
            false => Vec::new(),
        }
    }

    /// The code of a screened row's slack.
    pub fn code(&self, row: &ScreenedRow) -> u8 {
        self.known.codes[row.known as usize]
    }

    /// What the version of a screened row is known by.
    pub fn version(&self, row: &ScreenedRow) -> u64 {
        self.known.versions[row.known as usize]
    }
}

/// The code from which on rows are best screened where weights move so far at most, and what that is expected to save as a
/// share of all rows.
fn best_code(codes: &[u8], farthest: f64) -> (u8, f64) {
    let mut rows = [0u64; 256];
    for code in codes {
        rows[usize::from(*code)] += 1;
    }
    let (mut screened, mut best) = (0, (u8::MAX, 0.0));
    for code in (1..=u8::MAX).rev() {
        screened += rows[usize::from(code)];
        let octaves = (farthest / leeway_of(code)).log2() / NEAREST_SHARE.recip().log2();
        let enough = 1.0 - octaves.clamp(0.0, 1.0);
        let share = screened as f64 / codes.len().max(1) as f64;
        let saving = enough * share - (1.0 - enough) * PENALTY;
        if saving > best.1 {
            best = (code, saving);
        }
    }
    best
}

/// What is known of all rows, in their order: of those trained on, and where they belong of those screened, by number
/// among these.
pub fn merge<'a, T>(
    mut trained: impl Iterator<Item = T> + 'a,
    screened: &'a [ScreenedRow],
    of_screened: impl Fn(usize) -> T + 'a,
) -> impl Iterator<Item = T> + 'a {
    let (mut place, mut next) = (0u32, 0);
    core::iter::from_fn(move || {
        let is_screened = screened.get(next).is_some_and(|row| row.place == place);
        place += 1;
        match is_screened {
            true => {
                next += 1;
                Some(of_screened(next - 1))
            }
            false => trained.next(),
        }
    })
}
