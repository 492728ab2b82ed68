//! How well scores rank positive rows above negative ones: the state behind `svm_auc` and
//! `svm_roc_points`; and which score is in the middle, the state behind `svm_median`. Pure.
//!
//! Scores are kept as whole numbers in the same order (`key`), with counts, so ties are exact. There
//! are at most 2^18 different ones; where there would be more, low bits are dropped from all, as few
//! as it takes, and scores that then are equal count as ties.

use crate::base::errors::Failure;
use crate::pg::aggregate::{put, take, State};
use pgsvm_core::memory::{gathered, OutOfMemory, Room};

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
pub struct ScoreRanking {
    /// Ascending and different up to `sorted`, behind that as they came.
    scores: Vec<Score>,
    sorted: usize,
    /// Low bits of each key that are zero.
    dropped_bits: u32,
}

/// A point of the curve: rows with at least this score are taken as positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    pub threshold: f64,
    pub false_positive_rate: f64,
    pub true_positive_rate: f64,
}

impl ScoreRanking {
    /// Takes a row. NaN ranks above all numbers, as in PostgreSQL.
    #[inline]
    pub fn add(&mut self, score: f64, positive: bool) -> Result<(), OutOfMemory> {
        self.push(Score {
            key: key_of(score) >> self.dropped_bits << self.dropped_bits,
            positives: u64::from(positive),
            negatives: u64::from(!positive),
        })
    }

    #[inline]
    fn push(&mut self, score: Score) -> Result<(), OutOfMemory> {
        self.scores.room(1)?.push(score);
        match self.scores.len() - self.sorted >= FRESH_SCORES {
            true => self.settle(),
            false => Ok(()),
        }
    }

    /// Brings all scores into order.
    fn settle(&mut self) -> Result<(), OutOfMemory> {
        let (sorted, fresh) = self.scores.split_at_mut(self.sorted);
        fresh.sort_unstable_by_key(|score| score.key);
        if !sorted.is_empty() && !fresh.is_empty() {
            self.scores = merged(sorted, fresh)?;
        }
        self.unite();
        while self.scores.len() > MOST_SCORES {
            self.dropped_bits += 1;
            let mask = u64::MAX << self.dropped_bits;
            self.scores.iter_mut().for_each(|score| score.key &= mask);
            self.unite();
        }
        self.sorted = self.scores.len();
        Ok(())
    }

    /// Adds up what has one key and stands side by side.
    fn unite(&mut self) {
        self.scores.dedup_by(|next, kept| {
            let same = next.key == kept.key;
            if same {
                kept.positives = kept.positives.saturating_add(next.positives);
                kept.negatives = kept.negatives.saturating_add(next.negatives);
            }
            same
        });
    }

    fn totals(&self) -> (u64, u64) {
        self.scores
            .iter()
            .fold((0, 0), |(positives, negatives), score| {
                (
                    u64::saturating_add(positives, score.positives),
                    u64::saturating_add(negatives, score.negatives),
                )
            })
    }

    /// The probability that a positive row scores higher than a negative one, ties counting half. None
    /// unless there are rows of both kinds.
    pub fn area(&mut self) -> Result<Option<f64>, OutOfMemory> {
        self.settle()?;
        let (positives, negatives) = self.totals();
        let (mut below, mut doubled) = (0u64, 0u128);
        for score in &self.scores {
            let pairs = 2 * u128::from(below) + u128::from(score.negatives);
            doubled = doubled.saturating_add(pairs.saturating_mul(score.positives.into()));
            below = below.saturating_add(score.negatives);
        }
        let pairs = positives as f64 * negatives as f64;
        Ok((pairs > 0.0).then(|| doubled as f64 / (2.0 * pairs)))
    }

    /// The median of all scores; of two in the middle their mean. None without rows.
    pub fn median(&mut self) -> Result<Option<f64>, OutOfMemory> {
        self.settle()?;
        let (positives, negatives) = self.totals();
        let Some(last) = positives.saturating_add(negatives).checked_sub(1) else {
            return Ok(None);
        };
        let at = |rank: u64| {
            let mut below = 0u64;
            let mut scores = self.scores.iter();
            let found = scores.find(|score| {
                below = below.saturating_add(score.positives.saturating_add(score.negatives));
                below > rank
            });
            found.map(|score| 0.5 * score_of(score.key))
        };
        Ok(at(last / 2).zip(at(last.div_ceil(2))).map(|(a, b)| a + b))
    }

    /// The curve from (0, 0) to (1, 1). Points on a line between their neighbours are left out; where
    /// more than 1000 would be left, so are points between two that are less than 1/249 apart, horizontal
    /// and vertical way added up, which changes the area by less than 1/998 in all. Empty unless there
    /// are rows of both kinds.
    pub fn curve(&mut self) -> Result<Vec<CurvePoint>, OutOfMemory> {
        self.settle()?;
        let (positives, negatives) = self.totals();
        if positives == 0 || negatives == 0 {
            return Ok(Vec::new());
        }
        let corners = self.corners()?;
        let rate = |count: u64, of: u64| count as f64 / of as f64;
        let mut points = gathered(corners.iter().map(|(key, wrongly, taken)| CurvePoint {
            threshold: score_of(*key),
            false_positive_rate: rate(*wrongly, negatives),
            true_positive_rate: rate(*taken, positives),
        }))?;
        points[0].threshold = f64::INFINITY;
        if points.len() > MOST_POINTS {
            thin_out(&mut points);
        }
        Ok(points)
    }

    /// The corners of the curve: a score, and how many rows of either kind, negative and positive, have it or a higher one.
    fn corners(&self) -> Result<Vec<(u64, u64, u64)>, OutOfMemory> {
        let mut corners = vec![(u64::MAX, 0, 0)];
        let (mut taken, mut wrongly) = (0u64, 0u64);
        for score in self.scores.iter().rev() {
            taken = taken.saturating_add(score.positives);
            wrongly = wrongly.saturating_add(score.negatives);
            let next = (score.key, wrongly, taken);
            if let [.., before, last] = corners[..] {
                if on_one_line(before, last, next) {
                    corners.pop();
                }
            }
            corners.room(1)?.push(next);
        }
        Ok(corners)
    }
}

/// Two runs in one, each in order of its keys.
fn merged(one: &[Score], other: &[Score]) -> Result<Vec<Score>, OutOfMemory> {
    let mut all = Vec::new();
    all.room(one.len() + other.len())?;
    let mut rest = other;
    for score in one {
        let before = rest.partition_point(|other| other.key < score.key);
        all.extend_from_slice(&rest[..before]);
        all.push(*score);
        rest = &rest[before..];
    }
    all.extend_from_slice(rest);
    Ok(all)
}

/// Whether the corner in the middle lies on the line between the other two.
fn on_one_line(a: (u64, u64, u64), b: (u64, u64, u64), c: (u64, u64, u64)) -> bool {
    let product = |dx: u64, dy: u64| u128::from(dx) * u128::from(dy);
    product(b.1 - a.1, c.2 - b.2) == product(c.1 - b.1, b.2 - a.2)
}

/// Leaves out points between two that are less than a step apart.
fn thin_out(points: &mut Vec<CurvePoint>) {
    // the way is 2 long, and of the pieces kept two side by side come to a step at least
    let step = 4.0 / (MOST_POINTS - 2) as f64;
    let way = |point: &CurvePoint| point.false_positive_rate + point.true_positive_rate;
    let (mut kept, end) = (1, points.len() - 1);
    for at in 0..end {
        let (point, last) = (points[at], points[kept - 1]);
        if way(&points[at + 1]) - way(&last) >= step && point != last {
            points[kept] = point;
            kept += 1;
        }
    }
    points[kept] = points[end];
    points.truncate(kept + 1);
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

impl State for ScoreRanking {
    fn merge(&mut self, other: &mut Self) -> Result<(), Failure> {
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
            })?;
        }
        Ok(())
    }

    fn write(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        out.room((3 * self.scores.len() + 1) * size_of::<u64>())?;
        put(out, u64::from(self.dropped_bits))?;
        for score in &self.scores {
            put(out, score.key)?;
            put(out, score.positives)?;
            put(out, score.negatives)?;
        }
        Ok(())
    }

    fn read(mut bytes: &[u8]) -> Result<Option<Self>, Failure> {
        let mut state = Self::default();
        let scores = bytes.len() / size_of::<Score>();
        state.scores.room(scores)?;
        Ok(state.fill(&mut bytes).map(|()| state))
    }
}

impl ScoreRanking {
    /// Takes the scores in the bytes; there is room for them.
    fn fill(&mut self, bytes: &mut &[u8]) -> Option<()> {
        let bits = u32::try_from(take(bytes)?).ok();
        self.dropped_bits = bits.filter(|bits| *bits < 64)?;
        while !bytes.is_empty() {
            self.scores.push(Score {
                key: take(bytes)?,
                positives: take(bytes)?,
                negatives: take(bytes)?,
            });
        }
        Some(())
    }
}
