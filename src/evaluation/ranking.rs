//! How well scores rank positive rows above negative ones: the state behind `svm_auc` and
//! `svm_roc_points`. Pure.
//!
//! Scores are kept as whole numbers in the same order (`key`), with counts, so ties are exact. There
//! are at most 2^18 different ones; where there would be more, low bits are dropped from all, as few
//! as it takes, and scores that then are equal count as ties.

use crate::pg::aggregate::{put, take, State};

/// Most different scores that a state keeps: 6 MB.
const MOST_SCORES: usize = 1 << 18;
/// New scores that are gathered before they are sorted in.
const FRESH_SCORES: usize = 1 << 15;
/// Most points of a curve, both ends included.
const MOST_POINTS: usize = 1000;

/// One score and how many rows have it.
#[derive(Debug, Clone, Copy)]
struct Score {
    key: u64,
    positives: u64,
    negatives: u64,
}

/// The scores of all rows so far.
#[derive(Default)]
pub struct Ranking {
    /// Ascending and different up to `sorted`, behind that as they came.
    scores: Vec<Score>,
    sorted: usize,
    /// Low bits of each key that are zero.
    dropped_bits: u32,
}

/// A point of the curve: rows with at least this score are taken as positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub threshold: f64,
    pub false_positive_rate: f64,
    pub true_positive_rate: f64,
}

impl Ranking {
    /// Takes a row. NaN ranks above all numbers, as in PostgreSQL.
    #[inline]
    pub fn add(&mut self, score: f64, positive: bool) {
        self.push(Score {
            key: key_of(score) >> self.dropped_bits << self.dropped_bits,
            positives: u64::from(positive),
            negatives: u64::from(!positive),
        });
    }

    #[inline]
    fn push(&mut self, score: Score) {
        self.scores.push(score);
        if self.scores.len() - self.sorted >= FRESH_SCORES {
            self.settle();
        }
    }

    /// Brings all scores into order.
    fn settle(&mut self) {
        self.scores[self.sorted..].sort_unstable_by_key(|score| score.key);
        if self.sorted > 0 {
            // two sorted runs, which this sort merges
            self.scores.sort_by_key(|score| score.key);
        }
        self.unite();
        while self.scores.len() > MOST_SCORES {
            self.dropped_bits += 1;
            let mask = u64::MAX << self.dropped_bits;
            self.scores.iter_mut().for_each(|score| score.key &= mask);
            self.unite();
        }
        self.sorted = self.scores.len();
    }

    /// Adds up what has one key and stands side by side.
    fn unite(&mut self) {
        self.scores.dedup_by(|next, kept| {
            let same = next.key == kept.key;
            if same {
                kept.positives += next.positives;
                kept.negatives += next.negatives;
            }
            same
        });
    }

    fn totals(&self) -> (u64, u64) {
        self.scores
            .iter()
            .fold((0, 0), |(positives, negatives), score| {
                (positives + score.positives, negatives + score.negatives)
            })
    }

    /// The probability that a positive row scores higher than a negative one, ties counting half. None
    /// unless there are rows of both kinds.
    pub fn area(&mut self) -> Option<f64> {
        self.settle();
        let (positives, negatives) = self.totals();
        let (mut below, mut doubled) = (0u64, 0u128);
        for score in &self.scores {
            doubled += u128::from(score.positives) * u128::from(2 * below + score.negatives);
            below += score.negatives;
        }
        let pairs = positives as f64 * negatives as f64;
        (pairs > 0.0).then(|| doubled as f64 / (2.0 * pairs))
    }

    /// The curve from (0, 0) to (1, 1). Points on a line between their neighbours are left out; where
    /// more than 1000 would be left, so are points between two that are less than 1/249 apart, horizontal
    /// and vertical way added up, which changes the area by less than 1/998 in all. Empty unless there
    /// are rows of both kinds.
    pub fn curve(&mut self) -> Vec<Point> {
        self.settle();
        let (positives, negatives) = self.totals();
        if positives == 0 || negatives == 0 {
            return Vec::new();
        }
        let mut corners = vec![(u64::MAX, 0, 0)];
        let (mut taken, mut wrongly) = (0u64, 0u64);
        for score in self.scores.iter().rev() {
            taken += score.positives;
            wrongly += score.negatives;
            let next = (score.key, wrongly, taken);
            if let [.., before, last] = corners[..] {
                if on_one_line(before, last, next) {
                    corners.pop();
                }
            }
            corners.push(next);
        }
        let rate = |count: u64, of: u64| count as f64 / of as f64;
        let mut points: Vec<_> = corners
            .iter()
            .map(|(key, wrongly, taken)| Point {
                threshold: score_of(*key),
                false_positive_rate: rate(*wrongly, negatives),
                true_positive_rate: rate(*taken, positives),
            })
            .collect();
        points[0].threshold = f64::INFINITY;
        if points.len() > MOST_POINTS {
            thin_out(&mut points);
        }
        points
    }
}

/// Whether the corner in the middle lies on the line between the other two.
fn on_one_line(a: (u64, u64, u64), b: (u64, u64, u64), c: (u64, u64, u64)) -> bool {
    let product = |dx: u64, dy: u64| u128::from(dx) * u128::from(dy);
    product(b.1 - a.1, c.2 - b.2) == product(c.1 - b.1, b.2 - a.2)
}

/// Leaves out points between two that are less than a step apart.
fn thin_out(points: &mut Vec<Point>) {
    // the way is 2 long, and of the pieces kept two side by side come to a step at least
    let step = 4.0 / (MOST_POINTS - 2) as f64;
    let way = |point: &Point| point.false_positive_rate + point.true_positive_rate;
    let mut kept = vec![points[0]];
    for pair in points.windows(2) {
        if way(&pair[1]) - way(&kept[kept.len() - 1]) >= step && pair[0] != kept[kept.len() - 1] {
            kept.push(pair[0]);
        }
    }
    kept.extend(points.last());
    *points = kept;
}

/// Bits whose order as whole numbers is that of the scores.
fn key_of(score: f64) -> u64 {
    // negative zero equals zero, and one NaN is as good as another
    let bits = match score.is_nan() {
        true => f64::NAN.abs().to_bits(),
        false => (score + 0.0).to_bits(),
    };
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

/// The score with that key.
fn score_of(key: u64) -> f64 {
    f64::from_bits(match key >> 63 {
        0 => !key,
        _ => key & !(1 << 63),
    })
}

impl State for Ranking {
    fn merge(&mut self, other: &Self) {
        if other.dropped_bits > self.dropped_bits {
            self.dropped_bits = other.dropped_bits;
            let mask = u64::MAX << self.dropped_bits;
            self.scores.iter_mut().for_each(|score| score.key &= mask);
        }
        let mask = u64::MAX << self.dropped_bits;
        for score in &other.scores {
            self.push(Score {
                key: score.key & mask,
                ..*score
            });
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, u64::from(self.dropped_bits));
        for score in &self.scores {
            put(out, score.key);
            put(out, score.positives);
            put(out, score.negatives);
        }
    }

    fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut state = Self {
            dropped_bits: u32::try_from(take(&mut bytes)?)
                .ok()
                .filter(|bits| *bits < 64)?,
            ..Self::default()
        };
        state
            .scores
            .try_reserve_exact(bytes.len() / size_of::<Score>())
            .ok()?;
        while !bytes.is_empty() {
            state.scores.push(Score {
                key: take(&mut bytes)?,
                positives: take(&mut bytes)?,
                negatives: take(&mut bytes)?,
            });
        }
        Some(state)
    }
}
