//! Plans: every held-out head's claims hold, what is said of them follows from them, and the second stage is a
//! training like any other.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::common::*;
use pgsvm_core::engine::{
    train as train_from, train_examples, EngineError, MemorySpool, OwnedExample, SliceSource,
    Threads, Trained,
};
use pgsvm_core::evaluation::{auc, predicted_class};
use pgsvm_core::plan::{drawn_fold, HELD_OUT_PASSES, MOST_FOLDS};
use pgsvm_core::{
    Folds, HeadSpec, Loss, Plan, PlanError, Policy, Problem, Proximal, Purpose, Scale, Scoring,
    Sigmoid, Spool, StopReason, Timing, TrainError, TrainerReport,
};

const PLENTY: usize = 16 << 20;

fn problem(loss: Loss) -> Problem {
    Problem::new(loss, 1.0, 1e-3)
        .expect("valid")
        .with_timing(Timing::Lockstep)
}

fn plan(costs: &[f64], folds: u32, purpose: Purpose) -> Plan {
    Plan {
        costs: costs.to_vec(),
        folds: Some(Folds::Count(folds)),
        purpose,
        ..Plan::train(1.0)
    }
}

/// Overlapping clouds of several classes, their groups those of so many drawn folds.
fn grouped(rows: usize, features: usize, classes: usize, folds: u32) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new((rows + features * classes) as u64);
    let centres: Vec<Vec<f64>> = (0..classes)
        .map(|_| (0..features).map(|_| 1.2 * numbers.normal()).collect())
        .collect();
    let mut counts = vec![0; classes];
    let row = |k: usize| {
        let class = if k < classes {
            k
        } else {
            numbers.below(classes)
        };
        let values = centres[class].iter().map(|x| x + 2.0 * numbers.normal());
        let fold = drawn_fold(1, class as u32, counts[class], folds);
        counts[class] += 1;
        OwnedExample::dense(class as u32 * folds + fold, values.collect())
    };
    (0..rows).map(row).collect()
}

fn carry_out(problem: Problem, plan: &Plan, examples: &[OwnedExample], cache: usize) -> Trained {
    let settings = settings(cache, Scale::None, Threads::One);
    train_examples(problem, plan.clone(), examples, settings).expect("training works")
}

/// A cache that holds about a sixth of these rows, or the smallest that there is.
fn little(examples: &[OwnedExample]) -> usize {
    (examples.len() * 4 * (examples[0].dense.len() + 8) / 6).max(16 << 10)
}

/// <w, x> + b of a head of the stage.
fn decide(trained: &Trained, head: usize, example: &OwnedExample) -> f64 {
    let weights = trained.trainer.weights(head);
    let products = example.dense.iter().zip(weights.iter());
    products.map(|(x, w)| f64::from(*x as f32) * w).sum::<f64>() + weights.intercept()
}

/// Checks the certificates of all heads of the stage by recomputation.
fn assert_heads(trained: &Trained, problem: &Problem, examples: &[OwnedExample]) {
    let heads = trained.trainer.heads().unwrap();
    assert!(!heads.is_empty());
    for (head, (spec, claimed)) in heads.iter().enumerate() {
        let certificate = claimed.certificate;
        let what = format!("head {head}: {claimed:?}");
        let tolerance = spec.tolerance.unwrap_or(problem.tolerance());
        assert_eq!(claimed.stop, Some(StopReason::Tolerance), "{what}");
        assert!(certificate.gap <= tolerance, "{what}");
        // which finds the dual variables of rows that take no part to be 0
        let found = recompute(trained, head, spec, problem, examples);
        let slack = 1e-5 * certificate.primal.abs();
        assert!((certificate.primal - found.primal).abs() <= slack, "{what}");
        assert!((certificate.dual - found.dual).abs() <= slack, "{what}");
    }
}

/// Checks what is said of each C and fold against the weights of the held-out heads, from head `first` on.
fn assert_validation(
    trained: &Trained,
    plan: &Plan,
    classes: usize,
    first: usize,
    examples: &[OwnedExample],
) {
    let report = trained.trainer.report().unwrap();
    let stride = plan.stride();
    let mut folds: Vec<u32> = examples.iter().map(|row| row.group % stride).collect();
    folds.sort_unstable();
    folds.dedup();
    let heads = if classes > 2 { classes } else { 1 };
    assert_eq!(report.validation.len(), plan.costs.len() * folds.len());
    let all = trained.trainer.heads().unwrap();
    assert_eq!(all.len(), first + report.validation.len() * heads);
    for (at, said) in report.validation.iter().enumerate() {
        assert_eq!(said.c, plan.costs[at / folds.len()]);
        assert_eq!(said.fold, folds[at % folds.len()]);
        let own = first + at * heads..first + (at + 1) * heads;
        let in_fold = |row: &&OwnedExample| row.group % stride == said.fold;
        let rows: Vec<_> = examples.iter().filter(in_fold).collect();
        assert_eq!(said.rows, rows.len() as u64);
        let decided = Decided::of(trained, own.clone(), &rows, stride);
        decided.assert_accuracy(said.accuracy);
        decided.assert_auc(said.auc);
        let objective: f64 = own.map(|head| all[head].1.certificate.primal).sum();
        assert_eq!(said.objective, objective);
    }
}

/// What heads decide of rows that they were not trained on.
struct Decided {
    rows: f64,
    right: f64,
    /// Rows whose decision is too close to tell.
    close: f64,
    /// By head, decisions and whether the row is of its positive class.
    scores: Vec<Vec<(f64, bool)>>,
}

impl Decided {
    fn of(trained: &Trained, own: Range<usize>, rows: &[&OwnedExample], stride: u32) -> Self {
        let heads = own.len();
        let (mut right, mut close) = (0.0, 0.0);
        let mut scores = vec![Vec::new(); heads];
        for row in rows {
            let decisions: Vec<f64> = own.clone().map(|head| decide(trained, head, row)).collect();
            let class = (row.group / stride) as usize;
            let margin = if heads == 1 {
                decisions[0] * if class == 1 { 1.0 } else { -1.0 }
            } else {
                let others = decisions.iter().enumerate().filter(|(k, _)| *k != class);
                decisions[class] - others.map(|(_, d)| *d).fold(f64::NEG_INFINITY, f64::max)
            };
            right += f64::from(u8::from(margin > 0.0));
            close += f64::from(u8::from(margin.abs() < 1e-5));
            for (head, scores) in scores.iter_mut().enumerate() {
                let positive = if heads == 1 { 1 } else { head };
                scores.push((decisions[head], class == positive));
            }
        }
        Self {
            rows: rows.len() as f64,
            right,
            close,
            scores,
        }
    }

    fn assert_accuracy(&self, said: f64) {
        let away = (said - self.right / self.rows).abs();
        assert!(away <= self.close / self.rows + 1e-12, "{said}");
    }

    fn assert_auc(&self, said: Option<f64>) {
        let aucs: Vec<_> = self.scores.iter().filter_map(|it| area(it)).collect();
        match said {
            Some(auc) => {
                let n = aucs.len() as f64;
                let mean = aucs.iter().map(|(area, _)| area).sum::<f64>() / n;
                let close = aucs.iter().map(|(_, close)| close).sum::<f64>() / n;
                assert!((auc - mean).abs() <= close + 1e-9, "{auc} {mean}");
            }
            None => assert!(aucs.is_empty()),
        }
    }
}

/// The area under the curve, and the share of pairs that are too close for the order of their decisions in 32 bits to be
/// known.
fn area(scores: &[(f64, bool)]) -> Option<(f64, f64)> {
    let (mut won, mut close, mut pairs) = (0.0, 0.0, 0.0);
    for (a, _) in scores.iter().filter(|row| row.1) {
        for (b, _) in scores.iter().filter(|row| !row.1) {
            pairs += 1.0;
            close += f64::from(u8::from(a != b && (a - b).abs() < 1e-5));
            let (a, b) = (*a as f32, *b as f32);
            won += match (a > b, a == b) {
                (true, _) => 1.0,
                (_, true) => 0.5,
                _ => 0.0,
            };
        }
    }
    (pairs > 0.0).then(|| (won / pairs, close / pairs))
}

#[test]
fn held_out_heads_are_certified_and_judged_by_the_rows_they_have_not_seen() {
    for classes in [2, 3, 9] {
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            let examples = grouped(700, 5, classes, 4);
            let plan = plan(&[0.003, 0.3], 4, Purpose::Validate);
            for cache in [PLENTY, little(&examples)] {
                let trained = carry_out(problem(loss), &plan, &examples, cache);
                assert_eq!(trained.reader.resident, cache == PLENTY);
                assert!(trained.trainer.report().unwrap().heads.is_empty());
                assert_heads(&trained, &problem(loss), &examples);
                assert_validation(&trained, &plan, classes, 0, &examples);
            }
        }
    }
}

#[test]
fn validating_is_the_same_as_training_on_the_rest_of_the_rows() {
    let examples = grouped(600, 4, 2, 3);
    let problem = problem(Loss::Hinge);
    let plan = plan(&[0.01, 1.0], 3, Purpose::Validate);
    let trained = carry_out(problem, &plan, &examples, PLENTY);
    let report = trained.trainer.report().unwrap();
    for (at, said) in report.validation.iter().enumerate() {
        let (held_out, rest): (Vec<_>, Vec<_>) =
            examples.iter().partition(|row| row.group % 3 == said.fold);
        let rest: Vec<OwnedExample> = rest
            .into_iter()
            .map(|row| OwnedExample::dense(row.group / 3, row.dense.clone()))
            .collect();
        let alone = carry_out(problem, &Plan::train(said.c), &rest, PLENTY);
        let away = away_from_best(&trained, at) + away_from_best(&alone, 0);
        let (mut right, mut near) = (0, 0);
        for row in &held_out {
            let (d, e) = (decide(&trained, at, row), decide(&alone, 0, row));
            let length = (1.0 + row.dense.iter().map(|x| x * x).sum::<f64>()).sqrt();
            assert!((d - e).abs() <= away * length + 1e-4, "{d} {e}");
            right += i32::from((e >= 0.0) == (row.group / 3 == 1));
            near += i32::from((d >= 0.0) != (e >= 0.0));
        }
        let [by_hand, near] = [right, near].map(|it| f64::from(it) / held_out.len() as f64);
        assert!((said.accuracy - by_hand).abs() <= near + 1e-12);
        assert!(near < 0.06, "{near}");
    }
}

/// How far a head's weights may be from the best, as P is strongly convex: |w - w*|^2 / 2 <= P(w) - P(w*) <= gap.
fn away_from_best(trained: &Trained, head: usize) -> f64 {
    let certificate = trained.trainer.heads().unwrap()[head].1.certificate;
    (2.0 * (certificate.primal - certificate.dual)).sqrt()
}

#[test]
fn the_c_with_the_most_rows_right_is_trained_on_all_rows() {
    for classes in [2, 4] {
        let examples = grouped(800, 5, classes, 5);
        for policy in [
            Policy::Cached,
            Policy::Paper,
            Policy::Block,
            Policy::SelectiveBlock,
        ] {
            for cache in [PLENTY, little(&examples)] {
                let problem = problem(Loss::Hinge)
                    .with(|it| it.solver = policy.into())
                    .expect("valid")
                    .with_trainers(2)
                    .expect("valid");
                let plan = plan(&[0.3, 1e-6, 0.05], 5, Purpose::Train);
                let trained = carry_out(problem, &plan, &examples, cache);
                let chosen = assert_most_right(&trained, &plan);
                let report = trained.trainer.report().unwrap();
                assert_eq!(report.heads.len(), if classes > 2 { classes } else { 1 });
                assert_heads(&trained, &problem, &examples);
                let alone = Plan {
                    costs: vec![chosen],
                    ..plan
                };
                let alone = carry_out(problem, &alone, &examples, cache);
                assert_same_optimum(&report, &alone.trainer.report().unwrap());
            }
        }
    }
}

/// Returns the C chosen: the smallest of those with the most rows right.
fn assert_most_right(trained: &Trained, plan: &Plan) -> f64 {
    let report = trained.trainer.report().unwrap();
    let right = |c: f64| {
        let own = report.validation.iter().filter(|said| said.c == c);
        own.map(|said| (said.accuracy * said.rows as f64).round())
            .sum::<f64>()
    };
    let chosen = report.c.expect("chosen");
    for &c in &plan.costs {
        let worse = right(c) < right(chosen);
        assert!(worse || (right(c) == right(chosen) && c >= chosen));
    }
    chosen
}

/// The heads of a training that chose its C are those of one that was given it.
fn assert_same_optimum(chose: &TrainerReport, given: &TrainerReport) {
    assert!(given.validation.is_empty());
    assert_eq!(given.c, chose.c);
    for (a, b) in chose.heads.iter().zip(&given.heads) {
        let (a, b) = (a.certificate, b.certificate);
        assert!(a.dual <= b.primal * (1.0 + 1e-5), "{a:?} {b:?}");
        assert!(b.dual <= a.primal * (1.0 + 1e-5), "{a:?} {b:?}");
    }
}

#[test]
fn of_equally_good_values_of_c_the_smaller_is_chosen() {
    // each class on its side: every C is right everywhere
    let mut examples = grouped(60, 2, 2, 2);
    for row in &mut examples {
        let side = if row.group / 2 == 1 { 10.0 } else { -10.0 };
        row.dense = vec![side, 0.0];
    }
    for costs in [[4.0, 2.0, 8.0], [2.0, 4.0, 8.0]] {
        let trained = carry_out(
            problem(Loss::Hinge),
            &plan(&costs, 2, Purpose::Train),
            &examples,
            PLENTY,
        );
        assert_eq!(trained.trainer.report().unwrap().c, Some(2.0));
        let perfect = |said: &pgsvm_core::Validation| said.accuracy == 1.0 && said.auc == Some(1.0);
        assert!(trained
            .trainer
            .report()
            .unwrap()
            .validation
            .iter()
            .all(perfect));
    }
}

/// Platt's sigmoid by Newton's method on the likelihood, started elsewhere and damped by a constant.
fn platt(rows: &[(f64, bool)]) -> (f64, f64) {
    let positives = rows.iter().filter(|row| row.1).count() as f64;
    let negatives = rows.len() as f64 - positives;
    let (mut a, mut b) = (-0.5, 0.0);
    for _ in 0..2000 {
        let (mut ga, mut gb, mut aa, mut ab, mut bb) = (0.0, 0.0, 1e-9, 0.0, 1e-9);
        for &(d, positive) in rows {
            let target = match positive {
                true => (positives + 1.0) / (positives + 2.0),
                false => 1.0 / (negatives + 2.0),
            };
            let p = 1.0 / (1.0 + (a * d + b).exp());
            ga += d * (target - p);
            gb += target - p;
            aa += d * d * p * (1.0 - p);
            ab += d * p * (1.0 - p);
            bb += p * (1.0 - p);
        }
        let determinant = aa * bb - ab * ab;
        a -= 0.2 * (bb * ga - ab * gb) / determinant;
        b -= 0.2 * (aa * gb - ab * ga) / determinant;
    }
    (a, b)
}

#[test]
fn sigmoids_are_those_of_held_out_decisions() {
    for classes in [2, 3] {
        let examples = grouped(500, 4, classes, 5);
        let plan = Plan {
            probability: true,
            ..plan(&[0.1], 5, Purpose::Train)
        };
        for cache in [PLENTY, little(&examples)] {
            let trained = carry_out(problem(Loss::Hinge), &plan, &examples, cache);
            let sigmoids = sigmoids(&trained.trainer.report().unwrap());
            let heads = sigmoids.len();
            assert_eq!(trained.trainer.report().unwrap().heads.len(), heads);
            assert_heads(&trained, &problem(Loss::Hinge), &examples);
            assert_validation(&trained, &plan, classes, heads, &examples);
            assert_sigmoids(&trained, &sigmoids, &examples);
            // chosen among several the same C has about the same sigmoids
            let choice = Plan {
                costs: vec![0.1, 1e-7],
                ..plan.clone()
            };
            let chosen = carry_out(problem(Loss::Hinge), &choice, &examples, cache);
            let chosen = chosen.trainer.report().unwrap();
            let others = self::sigmoids(&chosen);
            assert_eq!((chosen.c, others.len()), (Some(0.1), heads));
            let close = |(one, two): (&Sigmoid, &Sigmoid)| {
                (one.a - two.a).abs() < 0.1 * one.a.abs() && (one.b - two.b).abs() < 0.1
            };
            assert!(sigmoids.iter().zip(&others).all(close));
        }
    }
}

#[test]
fn rows_trained_on_get_the_class_that_is_told_by_decisions_or_probabilities() {
    // many rows of the last class are taken for the first, whose offset becomes large
    let mut examples = grouped(600, 4, 3, 5);
    let moved = examples.iter_mut().enumerate();
    let moved = moved.filter(|(row, it)| row % 3 != 0 && it.group / 5 == 2);
    moved.for_each(|(_, row)| row.group -= 10);
    for cache in [PLENTY, little(&examples)] {
        let told = [false, true].map(|by_probability| {
            let plan = Plan {
                probability: true,
                by_probability,
                ..plan(&[0.1], 5, Purpose::Train)
            };
            let trained = carry_out(problem(Loss::Hinge), &plan, &examples, cache);
            let report = trained.trainer.report().unwrap();
            let odds = |row: &OwnedExample, head: usize| {
                let sigmoid = report.calibrations.heads[head].sigmoid;
                let decision = decide(&trained, head, row);
                match by_probability {
                    true => sigmoid.probability(decision),
                    false => decision,
                }
            };
            let class =
                |row: &OwnedExample| (0..3).max_by(|a, b| odds(row, *a).total_cmp(&odds(row, *b)));
            let mut expected = [0i64; 3];
            examples
                .iter()
                .for_each(|row| expected[class(row).unwrap()] += 1);
            let fit = report.fit.unwrap();
            assert_eq!(fit.rows, 600);
            // decisions are made in 32 bits
            let close = |(found, expected): (&u64, &i64)| (*found as i64 - expected).abs() <= 1;
            assert!(
                fit.predicted.iter().zip(&expected).all(close),
                "{fit:?} {expected:?}"
            );
            expected
        });
        let changed = told[0].iter().zip(&told[1]);
        assert!(changed.map(|(one, other)| (one - other).abs()).sum::<i64>() > 20);
    }
}

/// Of the final heads.
fn sigmoids(report: &TrainerReport) -> Vec<Sigmoid> {
    report
        .calibrations
        .heads
        .iter()
        .map(|it| it.sigmoid)
        .collect()
}

/// They are Platt's of the decisions of five folds' held-out heads, which stand behind the final ones.
fn assert_sigmoids(trained: &Trained, sigmoids: &[Sigmoid], examples: &[OwnedExample]) {
    let heads = sigmoids.len();
    for (head, found) in sigmoids.iter().enumerate() {
        let positive = if heads == 1 { 1 } else { head as u32 };
        let held_out = |row: &OwnedExample| {
            let held_out = heads + (row.group % 5) as usize * heads + head;
            (decide(trained, held_out, row), row.group / 5 == positive)
        };
        let rows: Vec<(f64, bool)> = examples.iter().map(held_out).collect();
        let (a, b) = platt(&rows);
        assert!((found.a - a).abs() < 1e-3, "{found:?} {a} {b}");
        assert!((found.b - b).abs() < 1e-3, "{found:?} {a} {b}");
    }
}

#[test]
fn folds_told_by_a_column_are_those_that_occur_even_where_classes_lack() {
    // folds 3 and 40 hold both classes, fold 63 one row, of one class
    let mut examples = grouped(200, 3, 2, 2);
    for row in &mut examples {
        let fold = [3, 40][(row.group % 2) as usize];
        row.group = row.group / 2 * MOST_FOLDS + fold;
    }
    examples[5].group = MOST_FOLDS + 63;
    let plan = Plan {
        folds: Some(Folds::Column),
        ..plan(&[0.1], 2, Purpose::Validate)
    };
    let trained = carry_out(problem(Loss::Hinge), &plan, &examples, PLENTY);
    assert_heads(&trained, &problem(Loss::Hinge), &examples);
    assert_validation(&trained, &plan, 2, 0, &examples);
    let said = trained.trainer.report().unwrap().validation;
    assert_eq!(
        said.iter().map(|said| said.fold).collect::<Vec<_>>(),
        [3, 40, 63]
    );
    assert!(said[0].auc.is_some() && said[2].auc.is_none() && said[2].rows == 1);
    assert_eq!(trained.reader.group_counts[MOST_FOLDS as usize + 63], 1);
}

#[test]
fn heads_of_a_fold_that_holds_all_of_a_class_train_on_the_other_class_alone() {
    let mut apart = grouped(100, 3, 2, 2);
    for row in &mut apart {
        row.group = row.group / 2 * 2 + row.group / 2;
    }
    let plan = self::plan(&[0.1, 1.0], 2, Purpose::Train);
    let trained = carry_out(problem(Loss::Hinge), &plan, &apart, PLENTY);
    let said = trained.trainer.report().unwrap().validation;
    assert!(said
        .iter()
        .all(|said| said.auc.is_none() && said.accuracy == 0.0));
    assert_heads(&trained, &problem(Loss::Hinge), &apart);
}

#[test]
fn plans_that_cannot_be_carried_out_are_refused() {
    let examples = grouped(40, 2, 2, 2);
    let good = plan(&[1.0, 2.0], 2, Purpose::Train);
    let with = |costs: &[f64], folds| Plan {
        costs: costs.to_vec(),
        folds,
        ..good.clone()
    };
    let all_in_one: Vec<OwnedExample> = (0..40)
        .map(|k| OwnedExample::dense(2 * (k % 2), vec![f64::from(k)]))
        .collect();
    let two = Some(Folds::Count(2));
    for (plan, examples, expected) in [
        (with(&[], two), &examples, PlanError::NoCost),
        (with(&[1.0, -2.0], two), &examples, PlanError::Cost(-2.0)),
        (with(&[1.0, 2.0], None), &examples, PlanError::NoFolds),
        (
            with(&[1.0, 2.0], Some(Folds::Count(1))),
            &examples,
            PlanError::FoldCount(1),
        ),
        (
            with(&[1.0, 2.0], Some(Folds::Count(65))),
            &examples,
            PlanError::FoldCount(65),
        ),
        (good.clone(), &all_in_one, PlanError::FoldsFound(1)),
        (good.clone(), &Vec::new(), PlanError::FoldsFound(0)),
    ] {
        let settings = settings(PLENTY, Scale::None, Threads::One);
        let error = train_examples(problem(Loss::Hinge), plan, examples, settings).err();
        assert_eq!(error, Some(EngineError::Train(TrainError::Plan(expected))));
    }
}

#[test]
fn a_hopeless_c_holds_the_others_up_for_so_many_passes_at_most() {
    let examples = grouped(400, 30, 2, 2);
    let problem = problem(Loss::Hinge)
        .with(|it| it.proximal = Proximal::Off)
        .expect("valid");
    let plan = plan(&[1e6, 0.01], 2, Purpose::Train);
    let trained = carry_out(problem, &plan, &examples, little(&examples));
    let report = trained.trainer.report().unwrap();
    assert_eq!(report.c, Some(0.01));
    // a verifying pass may follow each of the last full ones
    assert!(report.passes < 2 * HELD_OUT_PASSES + 30, "{report:?}");
}

#[test]
fn folds_are_drawn_evenly_from_each_class() {
    for folds in [2, 5, MOST_FOLDS] {
        for class in [0, 1, 77] {
            let mut counts = vec![0; folds as usize];
            let rows = 10 * u64::from(folds) + 1;
            for nth in 0..rows {
                counts[drawn_fold(9, class, nth, folds) as usize] += 1;
            }
            assert!(counts.iter().all(|count| (10..=11).contains(count)));
        }
        let order = |seed| (0..50).map(move |nth| drawn_fold(seed, 0, nth, folds));
        assert!(order(1).eq(order(1)) && !order(1).eq(order(2)));
    }
}

/// A spool that counts the bytes read from it.
struct Counting(MemorySpool, Arc<AtomicU64>);

impl Spool for Counting {
    type Error = std::convert::Infallible;

    fn append(&mut self, bytes: &[u8]) -> Result<u64, Self::Error> {
        self.0.append(bytes)
    }

    fn read(&mut self, position: u64, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.1.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.0.read(position, bytes)
    }
}

/// How often the rows were read from the spool.
fn reads(plan: Plan, examples: &[OwnedExample]) -> f64 {
    let read = Arc::new(AtomicU64::new(0));
    let trained = train_from(
        problem(Loss::Hinge),
        plan,
        SliceSource::new(examples),
        Counting(MemorySpool::default(), read.clone()),
        settings(little(examples), Scale::Standard, Threads::One),
    )
    .expect("training works");
    assert!(!trained.reader.resident);
    for (_, head) in trained.trainer.heads().unwrap() {
        assert_eq!(head.stop, Some(StopReason::Tolerance));
    }
    read.load(Ordering::Relaxed) as f64 / trained.reader.spool_bytes as f64
}

#[test]
fn many_classes_and_folds_are_read_about_as_often_as_two_classes() {
    let two = reads(Plan::train(0.01), &grouped(6000, 8, 2, 1));
    let ten = reads(Plan::train(0.01), &grouped(6000, 8, 10, 1));
    let folds = reads(
        plan(&[0.01], 5, Purpose::Validate),
        &grouped(6000, 8, 10, 5),
    );
    let choice = reads(
        plan(&[0.01, 0.1], 5, Purpose::Train),
        &grouped(6000, 8, 10, 5),
    );
    // by themselves: 10, 60 and 110 times the reads of two classes; heads that gain nothing are told apart in one more
    assert!(ten <= 2.0 * two + 2.0, "{ten} {two}");
    assert!(folds <= 2.0 * two + 2.0, "{folds} {two}");
    assert!(choice <= 5.0 * two + 5.0, "{choice} {two}");
}

#[test]
fn given_heads_are_all_final() {
    let examples = clouds(200, 3, 1.0, 2);
    let heads = vec![HeadSpec::binary(1.0), HeadSpec::binary(0.1)];
    let settings = settings(PLENTY, Scale::None, Threads::One);
    let trained = train_examples(problem(Loss::Hinge), heads.clone(), &examples, settings);
    let trained = trained.expect("works").trainer;
    let report = trained.report().unwrap();
    assert_eq!((report.heads.len(), report.c), (2, None));
    assert!(report.validation.is_empty() && report.calibrations.heads.is_empty());
    assert!(trained
        .heads()
        .unwrap()
        .iter()
        .map(|head| &head.0)
        .eq(&heads));
}

#[test]
fn what_is_said_of_the_fit_is_what_the_weights_decide() {
    for (classes, policy) in [
        (2, Policy::Cached),
        (2, Policy::Block),
        (2, Policy::SelectiveBlock),
        (5, Policy::Cached),
        (5, Policy::Block),
    ] {
        let examples = grouped(3000, 6, classes, 1);
        let problem = problem(Loss::SquaredHinge)
            .with(|it| it.solver = policy.into())
            .expect("valid");
        for cache in [PLENTY, little(&examples)] {
            let trained = carry_out(problem, &Plan::train(1.0), &examples, cache);
            assert_fit(&trained, &examples, classes);
        }
    }
}

fn assert_fit(trained: &Trained, examples: &[OwnedExample], classes: usize) {
    let report = trained.trainer.report().expect("memory");
    let fit = report.fit.expect("it was looked at");
    let heads = if classes > 2 { classes } else { 1 };
    let [mut actual, mut predicted, mut right] = [(); 3].map(|()| vec![0; classes]);
    let mut pairs = Vec::new();
    for example in examples {
        let decide = |head| decide(trained, head, example) as f32;
        let decisions: Vec<_> = (0..heads).map(decide).collect();
        let class = predicted_class(&decisions);
        actual[example.group as usize] += 1;
        predicted[class] += 1;
        right[class] += u64::from(class == example.group as usize);
        pairs.push((decisions[0], example.group == 1));
    }
    assert_eq!((fit.rows, fit.actual), (examples.len() as u64, actual));
    let near = |found: &[u64], expected: &[u64]| {
        let all = found.iter().zip(expected).all(|(a, b)| a.abs_diff(*b) <= 2);
        assert!(all, "{found:?} {expected:?}");
    };
    near(&fit.predicted, &predicted);
    near(&fit.right, &right);
    let expected = (classes == 2).then(|| auc(pairs.into_iter()).expect("memory"));
    match expected.map(|auc| auc.expect("both classes")) {
        Some(auc) => assert!((fit.auc.expect("two classes") - auc).abs() < 1e-5),
        None => assert_eq!(fit.auc, None),
    }
    assert!(fit.deviation > 0.1);
}

#[test]
fn given_heads_and_validations_have_no_fit() {
    let examples = grouped(600, 3, 2, 3);
    let validated = carry_out(
        problem(Loss::Hinge),
        &plan(&[1.0], 3, Purpose::Validate),
        &examples,
        PLENTY,
    );
    assert_eq!(validated.trainer.report().expect("memory").fit, None);
}

/// What a C scores on all its held-out rows, by C.
fn overall(trained: &Trained) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    for fold in trained.trainer.report().unwrap().validation {
        if found.last().is_none_or(|(c, _)| *c != fold.c) {
            found.push((fold.c, fold.overall.expect("has rows")));
        }
    }
    found
}

#[test]
fn c_is_the_best_by_the_measure_asked_for() {
    let scorings = [
        Scoring::Accuracy,
        Scoring::BalancedAccuracy,
        Scoring::F1,
        Scoring::Auc,
        Scoring::LogLoss,
    ];
    for classes in [2, 3] {
        let examples = grouped(600, 4, classes, 5);
        for scoring in scorings {
            for purpose in [Purpose::Train, Purpose::Validate] {
                let plan = Plan {
                    scoring,
                    probability: purpose == Purpose::Train,
                    ..plan(&[1e-5, 1e-3, 0.1], 5, purpose)
                };
                let trained = carry_out(problem(Loss::SquaredHinge), &plan, &examples, PLENTY);
                assert_best(&trained, &plan, classes);
            }
        }
    }
}

fn assert_best(trained: &Trained, plan: &Plan, classes: usize) {
    let scoring = plan.scoring;
    let found = overall(trained);
    let costs: Vec<_> = found.iter().map(|(c, _)| *c).collect();
    assert_eq!(costs, plan.costs);
    let best = found.iter().fold(found[0], |best, one| {
        match scoring.is_better(Some(one.1), Some(best.1)) {
            true => *one,
            false => best,
        }
    });
    let report = trained.trainer.report().unwrap();
    assert_eq!(report.c, Some(best.0), "{classes} {scoring:?} {found:?}");
    let heads = match plan.purpose {
        Purpose::Train => [1, 3][classes - 2],
        Purpose::Validate => 0,
    };
    assert_eq!(
        (report.heads.len(), report.calibrations.heads.len()),
        (heads, heads)
    );
    for fold in &report.validation {
        let same = match scoring {
            Scoring::Accuracy => Some(fold.accuracy),
            Scoring::Auc => fold.auc,
            _ => continue,
        };
        assert_eq!(fold.score, same);
    }
    if scoring == Scoring::LogLoss {
        let chance = (classes as f64).ln();
        assert!(found.iter().all(|(_, loss)| *loss > 0.0 && *loss < chance));
    }
}

#[test]
fn c_goes_on_beyond_those_given_while_scores_rise() {
    let examples = grouped(600, 4, 3, 5);
    let within = plan(&[1e-6, 1e-4], 5, Purpose::Train);
    let mut between = Vec::new();
    for cache in [PLENTY, little(&examples)] {
        for purpose in [Purpose::Train, Purpose::Validate] {
            let beyond = Plan {
                beyond: 3,
                purpose,
                scoring: Scoring::LogLoss,
                ..within.clone()
            };
            between = goes_on(&beyond, &examples, cache);
        }
    }
    // none beyond where none is wanted, where the best has others on both sides, and where no score is better
    let inner = Plan {
        scoring: Scoring::LogLoss,
        ..plan(&between, 5, Purpose::Validate)
    };
    let perfect = plan(&[1.0, 10.0], 5, Purpose::Validate);
    let apart = on_two_points(100, 5);
    for (plan, examples) in [(within, &examples), (inner, &examples), (perfect, &apart)] {
        let plan = Plan {
            beyond: if plan.costs[0] == 1e-6 { 0 } else { 3 },
            ..plan
        };
        let trained = carry_out(problem(Loss::SquaredHinge), &plan, examples, PLENTY);
        assert_eq!(overall(&trained).len(), plan.costs.len());
    }
}

/// Rows that lie on a point each class, in so many folds.
fn on_two_points(count: u32, folds: u32) -> Vec<OwnedExample> {
    let row = |k: u32| {
        let group = folds * (k % 2) + k / 2 % folds;
        OwnedExample::dense(group, vec![f64::from(k % 2) - 0.5])
    };
    (0..count).map(row).collect()
}

/// Each C is tried because the one before was the best so far; returns the best and its neighbours.
fn goes_on(beyond: &Plan, examples: &[OwnedExample], cache: usize) -> Vec<f64> {
    let trained = carry_out(problem(Loss::SquaredHinge), beyond, examples, cache);
    let found = overall(&trained);
    let tried: Vec<f64> = found.iter().map(|(c, _)| c.log10().round()).collect();
    let rose = found
        .windows(2)
        .take_while(|two| two[1].1 < two[0].1)
        .count();
    let all = [-6.0, -4.0, -2.0, 0.0, 2.0];
    assert_eq!(tried, all[..(rose + 2).min(5)], "{found:?}");
    assert!(found.len() > rose + 1, "{found:?}");
    let report = trained.trainer.report().unwrap();
    assert_eq!(report.c, Some(found[rose].0), "{found:?}");
    let finals = if beyond.purpose == Purpose::Train {
        3
    } else {
        0
    };
    assert_eq!(report.heads.len(), finals);
    assert!(report.heads.iter().all(|head| head.certificate.gap <= 1e-3));
    found[rose - 1..].iter().map(|(c, _)| *c).collect()
}

#[test]
fn folds_that_go_forward_are_judged_by_heads_of_those_before() {
    let examples = grouped(600, 4, 3, 5);
    for cache in [PLENTY, little(&examples)] {
        let forward = Plan {
            folds: Some(Folds::Forward(5)),
            probability: true,
            ..plan(&[1e-3, 0.1], 5, Purpose::Train)
        };
        let trained = carry_out(problem(Loss::SquaredHinge), &forward, &examples, cache);
        let report = trained.trainer.report().unwrap();
        let folds: Vec<u32> = report.validation.iter().map(|found| found.fold).collect();
        assert_eq!(folds, [1, 2, 3, 4, 1, 2, 3, 4]);
        assert_eq!(
            (report.heads.len(), report.calibrations.heads.len()),
            (3, 3)
        );
        for found in &report.validation {
            let before = examples.iter().filter(|row| row.group % 5 < found.fold);
            let before: Vec<_> = before
                .map(|row| OwnedExample {
                    group: row.group / 5,
                    ..row.clone()
                })
                .collect();
            let alone = Plan::train(found.c);
            let alone = carry_out(problem(Loss::SquaredHinge), &alone, &before, PLENTY);
            let heads = alone.trainer.report().unwrap().heads;
            let primal: f64 = heads.iter().map(|head| head.certificate.primal).sum();
            let apart = (found.objective - primal) / primal;
            assert!((-1e-3..=1.1e-2).contains(&apart), "{found:?} {primal}");
            let rows = examples
                .iter()
                .filter(|row| row.group % 5 == found.fold)
                .count();
            assert_eq!(found.rows, rows as u64);
        }
    }
}
