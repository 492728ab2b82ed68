//! Classes told apart two by two: a head for each pair, trained on the rows of the two alone, and what all of them say together.
//!
//! Each head votes for one of its classes, or half for either at a decision of 0. Of those with the most votes it is the one of the
//! largest confidence, the sum of its heads' decisions, each with the sign that speaks for the class: so nothing hangs on which side is
//! the positive one. Probabilities are coupled:
//! Wu, Lin, Weng, *Probability estimates for multi-class classification by pairwise coupling*, JMLR 5, 2004, second approach (16), by
//! the iteration of its Algorithm 2.

use crate::base::interrupts;
use crate::base::memory::{copied, filled, OutOfMemory, Room as _};
use crate::calibration::{copies, Calibration};
use crate::evaluation::{largest_by_rank, predicted_class};
use crate::heads::Signs;

/// A probability of a pair is no less than this, nor its counterpart: as LIBSVM has it.
const LEAST_PROBABILITY: f64 = 1e-7;
/// Rounds of the coupling, at most, or as many as there are classes; and how far its equations may be off, times the classes.
const MOST_ROUNDS: usize = 100;
const ENOUGH: f64 = 1e-6;

/// Multiplications in the time that a probability takes.
const OF_PROBABILITY: usize = 64;

/// The pairs of some classes, one a head.
#[derive(Debug, PartialEq, Eq)]
pub struct Pairs {
    classes: usize,
    /// By head its positive class and its negative one.
    sides: Vec<[usize; 2]>,
}

impl Pairs {
    /// All of so many classes: (0, 1), (0, 2), …, (1, 2), …; the first of each is the positive one.
    pub fn all(classes: usize) -> Result<Self, OutOfMemory> {
        let mut sides = Vec::new();
        sides.room(Self::count(classes))?;
        for first in 0..classes {
            sides.extend((first + 1..classes).map(|second| [first, second]));
        }
        Ok(Self { classes, sides })
    }

    /// These of so many classes, in any order; None where it is not each pair once.
    pub fn of(classes: usize, sides: Vec<[usize; 2]>) -> Result<Option<Self>, OutOfMemory> {
        if sides.len() != Self::count(classes) {
            return Ok(None);
        }
        let mut met = filled(false, classes * classes)?;
        for [one, other] in &sides {
            let (first, second) = (one.min(other), one.max(other));
            if first == second || *second >= classes || met[first * classes + second] {
                return Ok(None);
            }
            met[first * classes + second] = true;
        }
        Ok(Some(Self { classes, sides }))
    }

    /// Those of heads that are trained on the rows of two classes each; None where they are not.
    pub fn of_heads<'a>(
        heads: impl Iterator<Item = &'a Signs>,
    ) -> Result<Option<Self>, OutOfMemory> {
        let (mut classes, mut sides) = (0, Vec::new());
        for signs in heads {
            let Signs::Between {
                positive,
                negative,
                stride,
                groups,
                ..
            } = signs
            else {
                return Ok(None);
            };
            classes = groups / stride;
            sides.room(1)?.push([*positive, *negative]);
        }
        Self::of(classes, sides)
    }

    /// Pairs of so many classes.
    pub fn count(classes: usize) -> usize {
        classes * classes.saturating_sub(1) / 2
    }

    /// Classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Heads.
    pub fn len(&self) -> usize {
        self.sides.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }

    /// The head of these sides, of all pairs as [`Self::all`] has them.
    pub fn head(&self, [first, second]: [usize; 2]) -> usize {
        first * (2 * self.classes - first - 1) / 2 + second - first - 1
    }

    /// The positive class of a head, and the negative one.
    pub fn sides(&self, head: usize) -> [usize; 2] {
        self.sides[head]
    }

    /// The same once more.
    fn copied(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            classes: self.classes,
            sides: copied(&self.sides)?,
        })
    }

    /// Room for what follows from decisions.
    pub fn room(&self) -> Result<PairsRoom, OutOfMemory> {
        let classes = self.classes;
        Ok(PairsRoom {
            found: filled(0.0, classes)?,
            beside: filled(0.0, classes)?,
            pairs: filled(0.0, classes * classes)?,
            quadratic: filled(0.0, classes * classes)?,
        })
    }

    /// How much decisions, one a head, speak for each class: its votes, and less than 1/3 more or less for its confidence.
    pub fn scores<'a>(
        &self,
        decision: impl Fn(usize) -> f64,
        room: &'a mut PairsRoom,
    ) -> &'a [f64] {
        let (confidences, votes) = (&mut room.found, &mut room.beside);
        confidences.fill(0.0);
        votes.fill(0.0);
        for (head, [positive, negative]) in self.sides.iter().enumerate() {
            let decision = decision(head);
            let vote = match decision {
                0.0 => 0.5,
                decision => f64::from(u8::from(decision > 0.0)),
            };
            votes[*positive] += vote;
            votes[*negative] += 1.0 - vote;
            confidences[*positive] += decision;
            confidences[*negative] -= decision;
        }
        interrupts::worked(8 * self.sides.len());
        for (confidence, votes) in confidences.iter_mut().zip(votes) {
            // a sum of decisions may be beyond what numbers hold
            let sum = match confidence.is_nan() {
                true => 0.0,
                false => confidence.clamp(-f64::MAX, f64::MAX),
            };
            *confidence = *votes + sum / (sum.abs() + 1.0) / 3.0;
        }
        &room.found
    }

    /// The probability of each class, where `probability` says by head that of its positive class, if it is one of the two.
    pub fn couple<'a>(
        &self,
        probability: impl Fn(usize) -> f64,
        room: &'a mut PairsRoom,
    ) -> &'a [f64] {
        let classes = self.classes;
        for (head, [positive, negative]) in self.sides.iter().enumerate() {
            interrupts::worked(OF_PROBABILITY);
            let found = probability(head).clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY);
            room.pairs[positive * classes + negative] = found;
            room.pairs[negative * classes + positive] = 1.0 - found;
        }
        room.couple(classes);
        &room.found
    }
}

/// What votes are counted and probabilities coupled in.
#[derive(Debug)]
pub struct PairsRoom {
    /// By class what was asked for.
    found: Vec<f64>,
    /// By class its votes, or what its row of Q comes to.
    beside: Vec<f64>,
    /// By class i and j: r_ij, the probability of i where it is one of the two.
    pairs: Vec<f64>,
    /// Q of (18).
    quadratic: Vec<f64>,
}

impl PairsRoom {
    /// By class what was found last.
    pub fn found(&self) -> &[f64] {
        &self.found
    }

    /// Finds p of the smallest p'Qp.
    fn couple(&mut self, classes: usize) {
        self.set_quadratic(classes);
        self.found.fill(1.0 / classes as f64);
        for _ in 0..MOST_ROUNDS.max(classes) {
            let mut whole = 0.0;
            let rows = self.quadratic.chunks_exact(classes);
            for ((own, product), p) in rows.zip(&mut self.beside).zip(&self.found) {
                *product = own.iter().zip(&self.found).map(|(q, p)| q * p).sum();
                whole += p * *product;
            }
            let off = self.beside.iter().map(|product| (product - whole).abs());
            if off.fold(0.0, f64::max) < ENOUGH / classes as f64 {
                return;
            }
            self.round(classes, whole);
            interrupts::worked(4 * classes * classes);
        }
    }

    /// Q: the sum of r_jt² on the diagonal, -r_jt r_tj elsewhere.
    fn set_quadratic(&mut self, classes: usize) {
        for t in 0..classes {
            let mut squares = 0.0;
            for j in (0..classes).filter(|j| *j != t) {
                let (there, back) = (self.pairs[j * classes + t], self.pairs[t * classes + j]);
                squares += there * there;
                self.quadratic[t * classes + j] = -there * back;
            }
            self.quadratic[t * classes + t] = squares;
            interrupts::worked(8 * classes);
        }
    }

    /// A round over all classes: each is set where its equation holds, and all are made to sum to 1. `whole`: p'Qp.
    fn round(&mut self, classes: usize, mut whole: f64) {
        for (t, own) in self.quadratic.chunks_exact(classes).enumerate() {
            let step = (whole - self.beside[t]) / own[t];
            let sum = 1.0 + step;
            self.found[t] += step;
            whole = (whole + step * (step * own[t] + 2.0 * self.beside[t])) / (sum * sum);
            for ((product, p), q) in self.beside.iter_mut().zip(&mut self.found).zip(own) {
                *product = (*product + step * q) / sum;
                *p /= sum;
            }
        }
    }
}

/// What says the class of a row, of the decisions of a classifier's heads.
#[derive(Debug)]
pub struct Telling {
    pairs: Option<(Pairs, PairsRoom)>,
    /// Those by which classes are told apart, or none.
    calibrations: Vec<Calibration>,
    /// By class its place in the order of labels, by which of equals the first is told; none: that of the classes.
    ranks: Vec<u32>,
}

impl Telling {
    pub fn new(
        pairs: Option<&Pairs>,
        calibrations: &[Calibration],
        ranks: &[u32],
    ) -> Result<Self, OutOfMemory> {
        let pairs = pairs.map(|it| Ok::<_, OutOfMemory>((it.copied()?, it.room()?)));
        Ok(Self {
            pairs: pairs.transpose()?,
            calibrations: copies(calibrations)?,
            ranks: copied(ranks)?,
        })
    }

    /// Of these heads.
    pub fn of<'a>(
        heads: impl Iterator<Item = &'a Signs>,
        calibrations: &[Calibration],
        ranks: &[u32],
    ) -> Result<Self, OutOfMemory> {
        Self::new(Pairs::of_heads(heads)?.as_ref(), calibrations, ranks)
    }

    /// Classes, of so many heads.
    pub fn classes(&self, heads: usize) -> usize {
        let pairs = self.pairs.as_ref();
        pairs.map_or(heads.max(2), |(pairs, _)| pairs.classes)
    }

    /// The class that decisions say, by the probabilities that calibrations make of them where there are any: of equals the first.
    pub fn class(&mut self, decisions: &[f32]) -> usize {
        let decision = |head: usize| f64::from(decisions[head]);
        let (calibrations, ranks) = (&self.calibrations, &self.ranks);
        match &mut self.pairs {
            Some((pairs, room)) if calibrations.is_empty() => {
                largest_by_rank(pairs.scores(decision, room).iter(), ranks)
            }
            Some((pairs, room)) => {
                let probability = |head: usize| calibrations[head].probability(decision(head));
                largest_by_rank(pairs.couple(probability, room).iter(), ranks)
            }
            None if decisions.len() == 1 => predicted_class(decisions),
            None if calibrations.len() < 2 => largest_by_rank(decisions.iter(), ranks),
            None => {
                let scores = decisions.iter().zip(calibrations);
                let scores = scores.map(|(decision, it)| it.score(f64::from(*decision)));
                largest_by_rank(scores, ranks)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::{Random, Stream};
    use crate::evaluation::largest;
    use std::cell::Cell;

    /// Numbers between 0 and 1.
    fn drawn(seed: u64, count: usize) -> Vec<f64> {
        let mut random = Random::new(seed, Stream::Folds);
        let next = |_| f64::from(random.below(1 << 20) as u32) / f64::from(1u32 << 20);
        (0..count).map(next).collect()
    }

    #[test]
    fn heads_are_all_pairs_in_their_order_and_others_are_none() {
        for classes in 2..8 {
            let all = Pairs::all(classes).unwrap();
            assert_eq!(all.len(), Pairs::count(classes));
            for head in 0..all.len() {
                assert_eq!(all.head(all.sides(head)), head, "{classes}");
            }
        }
        let of = |sides: &[[usize; 2]]| Pairs::of(3, sides.to_vec()).unwrap();
        assert!(of(&[[0, 1], [2, 0], [2, 1]]).is_some());
        assert!(of(&[[0, 1], [0, 2], [1, 1]]).is_none());
        assert!(of(&[[0, 1], [0, 2], [1, 0]]).is_none());
        assert!(of(&[[0, 1], [0, 2], [1, 3]]).is_none());
        assert!(of(&[[0, 1], [0, 2]]).is_none());
    }

    #[test]
    fn probabilities_of_pairs_that_agree_are_found_again() {
        for seed in 0..20 {
            let classes = 3 + seed as usize % 6;
            let mut right: Vec<f64> = drawn(seed, classes).iter().map(|p| p + 0.01).collect();
            let sum: f64 = right.iter().sum();
            right.iter_mut().for_each(|p| *p /= sum);
            let pairs = Pairs::all(classes).unwrap();
            let mut room = pairs.room().unwrap();
            let of_pair = |head: usize| {
                let [positive, negative] = pairs.sides(head);
                right[positive] / (right[positive] + right[negative])
            };
            for (found, right) in pairs.couple(of_pair, &mut room).iter().zip(&right) {
                assert!((found - right).abs() < 1e-4, "{found} {right}");
            }
        }
    }

    #[test]
    fn coupled_probabilities_are_the_best_of_those_that_sum_to_1() {
        for seed in 0..20 {
            let classes = 3 + seed as usize % 6;
            let pairs = Pairs::all(classes).unwrap();
            let given = drawn(seed, pairs.len());
            let mut room = pairs.room().unwrap();
            let found = pairs.couple(|head| given[head], &mut room).to_vec();
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(found.iter().all(|p| *p > 0.0));
            // (14): the sum over pairs of (r_ji p_i - r_ij p_j)²
            let off = |p: &[f64]| -> f64 {
                let of_pair = |head: usize| {
                    let [i, j] = pairs.sides(head);
                    ((1.0 - given[head]) * p[i] - given[head] * p[j]).powi(2)
                };
                (0..pairs.len()).map(of_pair).sum()
            };
            for step in [1e-3, -1e-3] {
                for class in 1..classes {
                    let mut other = found.clone();
                    other[0] += step;
                    other[class] -= step;
                    assert!(off(&other) > off(&found), "{seed} {class}");
                }
            }
        }
    }

    #[test]
    fn many_pairs_ask_for_interrupts_in_between() {
        thread_local! {
            static ASKED: Cell<usize> = const { Cell::new(0) };
        }
        interrupts::check_by(|| ASKED.set(ASKED.get() + 1));
        let pairs = Pairs::all(600).unwrap();
        let given = drawn(1, pairs.len());
        let mut room = pairs.room().unwrap();
        pairs.couple(|head| given[head], &mut room);
        let asked = ASKED.get();
        assert!(asked > 0);
        (0..40).for_each(|_| {
            pairs.scores(|head| given[head] - 0.5, &mut room);
        });
        assert!(ASKED.get() > asked + 1);
    }

    #[test]
    fn votes_come_first_and_confidence_tells_equals_apart() {
        let pairs = Pairs::all(3).unwrap();
        let mut room = pairs.room().unwrap();
        let mut told = |decisions: [f64; 3]| {
            let scores = pairs.scores(|head| decisions[head], &mut room);
            (scores.to_vec(), largest(scores.iter()))
        };
        // 1 wins both of its pairs, however narrowly
        assert_eq!(told([-0.1, 9.0, 0.1]).1, 1);
        // each has a vote; 2 wins by most, and loses by least
        assert_eq!(told([0.5, -0.8, 0.1]).1, 2);
        let (scores, _) = told([f64::MAX, f64::MAX, f64::MAX]);
        assert_eq!(scores, [2.0 + 1.0 / 3.0, 1.0, -1.0 / 3.0]);
        let (scores, _) = told([0.0, 0.0, 0.0]);
        assert_eq!(scores, [1.0, 1.0, 1.0]);
    }

    #[test]
    fn classes_are_told_alike_whatever_their_order() {
        for seed in 0..50 {
            let classes = 3 + seed as usize % 5;
            let pairs = Pairs::all(classes).unwrap();
            let decisions: Vec<f64> = drawn(seed, pairs.len()).iter().map(|d| d - 0.5).collect();
            let mut room = pairs.room().unwrap();
            let told = largest(pairs.scores(|head| decisions[head], &mut room).iter());
            // class k becomes the last but k
            let turned = |head: usize| {
                let [one, other] = pairs.sides(head);
                let head = pairs.head([classes - 1 - other, classes - 1 - one]);
                -decisions[head]
            };
            let again = largest(pairs.scores(turned, &mut room).iter());
            assert_eq!(classes - 1 - again, told, "{seed}");
        }
    }
}
