//! The heads of a model: the binary problems whose decisions make its answer. Two classes need one
//! head, whose positive side is the second class; more need one a class, against the rest, or one for each pair of classes. Pure.

use super::version::Model;
use core::cell::{Ref, RefCell};
use core::cmp::Ordering;
use pgsvm_core::evaluation::largest;
use pgsvm_core::memory::Room;
use pgsvm_core::{Calibration, OutOfMemory, Pairs, PairsRoom, Score};

/// One binary problem, besides its weights.
#[derive(Debug, PartialEq)]
pub struct ModelHead {
    /// For raw rows.
    pub intercept: f64,
    /// What makes a probability of a decision; None where the model was trained without probabilities.
    pub calibration: Option<Calibration>,
}

/// The pairs of classes that heads tell apart.
pub struct HeadPairs {
    pairs: Pairs,
    room: RefCell<PairsRoom>,
}

impl HeadPairs {
    pub fn new(pairs: Pairs) -> Result<Self, OutOfMemory> {
        let room = RefCell::new(pairs.room()?);
        Ok(Self { pairs, room })
    }

    /// The positive class of a head, and the negative one.
    pub fn sides(&self, head: usize) -> [usize; 2] {
        self.pairs.sides(head)
    }

    /// The head that tells these two apart, and the sign of its decision for the first.
    pub fn head_of(&self, [first, second]: [usize; 2]) -> Option<(usize, f64)> {
        let mut heads = 0..self.pairs.len();
        heads.find_map(|head| match self.sides(head) {
            sides if sides == [first, second] => Some((head, 1.0)),
            sides if sides == [second, first] => Some((head, -1.0)),
            _ => None,
        })
    }

    /// By class how much the heads' decisions speak for it.
    fn scores(&self, decisions: &[f64]) -> Ref<'_, [f64]> {
        self.pairs
            .scores(|head| decisions[head], &mut self.room.borrow_mut());
        Ref::map(self.room.borrow(), PairsRoom::found)
    }

    /// By class its probability; None without calibrations.
    fn probabilities(&self, heads: &[ModelHead], decisions: &[f64]) -> Option<Ref<'_, [f64]>> {
        heads.first()?.calibration.as_ref()?;
        let positive = |head: usize| {
            let calibration = heads[head].calibration.as_ref();
            calibration.map_or(0.5, |it| it.probability(decisions[head]))
        };
        self.pairs.couple(positive, &mut self.room.borrow_mut());
        Some(Ref::map(self.room.borrow(), PairsRoom::found))
    }

    /// How clearly the decisions speak for a class against the other one that does best against it.
    fn margin(&self, class: usize, decisions: &[f64]) -> f64 {
        let own = decisions.iter().enumerate().filter_map(|(head, decision)| {
            let [positive, negative] = self.pairs.sides(head);
            match (positive == class, negative == class) {
                (true, _) => Some(*decision),
                (_, true) => Some(-decision),
                _ => None,
            }
        });
        own.fold(f64::INFINITY, f64::min)
    }
}

/// What says which of more than two classes it is; of two it is the side of the boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClassesBy {
    /// The largest decision, or where heads tell two classes apart the most votes.
    #[default]
    Decision,
    /// The largest probability.
    Probability,
}

/// As options and svm_version have them.
pub const CLASSES_BY: [(&str, ClassesBy); 2] = [
    ("decision", ClassesBy::Decision),
    ("probability", ClassesBy::Probability),
];

impl ClassesBy {
    pub fn from_word(word: &str) -> Option<Self> {
        let mut words = CLASSES_BY.iter();
        words.find(|(it, _)| *it == word).map(|(_, by)| *by)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Decision => CLASSES_BY[0].0,
            Self::Probability => CLASSES_BY[1].0,
        }
    }
}

/// The class on the decision's side where there are two: 0 negative, 1 positive. The boundary itself
/// counts as positive.
#[inline]
pub fn side(decision: f64) -> usize {
    usize::from(decision >= 0.0)
}

impl Model {
    /// The class that these decisions, one a head, speak for: of equals the first.
    pub fn class(&self, decisions: &[f64]) -> usize {
        match (decisions, &self.pairs) {
            ([decision], _) => side(*decision),
            (_, Some(pairs)) => largest(self.wins_of(pairs, decisions).iter()),
            _ => largest((0..decisions.len()).map(|class| self.score(class, decisions))),
        }
    }

    /// By class what says which one it is.
    fn wins_of<'a>(&self, pairs: &'a HeadPairs, decisions: &[f64]) -> Ref<'a, [f64]> {
        let probable = self.classes_by == ClassesBy::Probability;
        let found = probable.then(|| pairs.probabilities(&self.heads, decisions));
        match found.flatten() {
            Some(probabilities) => probabilities,
            None => pairs.scores(decisions),
        }
    }

    /// How much these decisions, of more than two classes against the rest, speak for a class.
    fn score(&self, class: usize, decisions: &[f64]) -> Score {
        let decision = decisions[class];
        match (self.classes_by, &self.heads[class].calibration) {
            (ClassesBy::Probability, Some(calibration)) => calibration.score(decision),
            _ => (decision, 0.0),
        }
    }

    /// How far these decisions, one a head, speak for a class. Of pairs: its votes, and a part of 1/3 for their sum.
    pub fn decision_for(&self, class: usize, decisions: &[f64]) -> f64 {
        if let Some(pairs) = &self.pairs {
            return pairs.scores(decisions)[class];
        }
        match (decisions, class) {
            // the boundary is 0, not -0
            ([decision], 0) => 0.0 - decision,
            ([decision], _) => *decision,
            _ => decisions[class],
        }
    }

    /// The decision for the class, of more than two less the best one of another: negative where another one's decision is
    /// larger. Of pairs the least decision for it against another one.
    pub fn margin(&self, class: usize, decisions: &[f64]) -> f64 {
        if let Some(pairs) = &self.pairs {
            return pairs.margin(class, decisions);
        }
        let own = self.decision_for(class, decisions);
        let others = decisions.iter().enumerate();
        match decisions.len() {
            1 => own,
            _ => others
                .filter(|(other, _)| *other != class)
                .fold(f64::INFINITY, |margin, (_, other)| margin.min(own - other)),
        }
    }

    /// The classes, first the one that these decisions speak for.
    pub fn ranking(&self, decisions: &[f64]) -> Vec<usize> {
        if let [decision] = decisions {
            let class = side(*decision);
            return vec![class, 1 - class];
        }
        let wins = self.pairs.as_ref().map(|it| self.wins_of(it, decisions));
        let score = |class: usize| match &wins {
            Some(wins) => (class, (wins[class], 0.0)),
            None => (class, self.score(class, decisions)),
        };
        let mut classes: Vec<_> = (0..self.labels.len()).map(score).collect();
        classes.sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
        classes.into_iter().map(|(class, _)| class).collect()
    }

    /// Appends the decision for each class, or of two classes the one decision.
    pub fn put_decisions(&self, decisions: &[f64], out: &mut Vec<f64>) {
        match &self.pairs {
            Some(pairs) => out.extend_from_slice(&pairs.scores(decisions)),
            None => out.extend_from_slice(decisions),
        }
    }

    /// Appends the probability of each class, or of two classes that of the second, as `probability` has them; nothing where the
    /// model was trained without.
    pub fn put_probabilities(&self, decisions: &[f64], out: &mut Vec<f64>) {
        if let Some(pairs) = &self.pairs {
            let found = pairs.probabilities(&self.heads, decisions);
            return out.extend(found.iter().flat_map(|it| it.iter()));
        }
        let (heads, start) = (self.heads.iter().zip(decisions), out.len());
        out.extend(heads.map_while(|(head, decision)| {
            let calibration = head.calibration.as_ref()?;
            Some(calibration.probability(*decision))
        }));
        let own = &mut out[start..];
        if let [_] = own {
            return;
        }
        let sum: f64 = own.iter().sum();
        let equal = 1.0 / own.len() as f64;
        for probability in own {
            *probability = match sum > 0.0 {
                true => *probability / sum,
                false => equal,
            };
        }
    }

    /// By class its decision and its probability, as `decision_for` and `probability` have them; no probabilities where the model was
    /// trained without.
    pub fn about_classes(&self, decisions: &[f64]) -> Result<[Vec<f64>; 2], OutOfMemory> {
        let (mut all, mut probabilities) = (Vec::new(), Vec::new());
        all.room(self.labels.len())?;
        probabilities.room(self.labels.len())?;
        match decisions {
            [_] => {
                all.extend((0..2).map(|class| self.decision_for(class, decisions)));
                probabilities.extend((0..2).filter_map(|class| self.probability(class, decisions)));
            }
            _ => {
                self.put_decisions(decisions, &mut all);
                self.put_probabilities(decisions, &mut probabilities);
            }
        }
        Ok([all, probabilities])
    }

    /// The probability of a class; None where the model was trained without.
    ///
    /// Of more than two classes the heads' answers are made to sum to 1 (Zadrozny and Elkan 2002); those of pairs are coupled, see
    /// [`Pairs::couple`].
    pub fn probability(&self, class: usize, decisions: &[f64]) -> Option<f64> {
        if let Some(pairs) = &self.pairs {
            return pairs
                .probabilities(&self.heads, decisions)
                .map(|all| all[class]);
        }
        if let ([head], [decision]) = (self.heads.as_slice(), decisions) {
            let (positive, negative) = head.calibration.as_ref()?.probabilities(*decision);
            return Some([negative, positive][class]);
        }
        let mut sum = 0.0;
        let mut own = 0.0;
        for (place, (head, decision)) in self.heads.iter().zip(decisions).enumerate() {
            let probability = head.calibration.as_ref()?.probability(*decision);
            sum += probability;
            if place == class {
                own = probability;
            }
        }
        Some(match sum > 0.0 {
            true => own / sum,
            false => 1.0 / self.heads.len() as f64,
        })
    }
}
