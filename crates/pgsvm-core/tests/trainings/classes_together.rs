//! Several classes that are told apart together by cutting planes: the objective of Crammer and Singer, as the method of
//! LIBLINEAR's -s 4 finds it, and a certificate that is true of the rows.

use crate::common::parts::Parts;
use crate::common::*;
use pgsvm_core::engine::OwnedExample;
use pgsvm_core::{
    Balance, Cuts, Holding, Loss, Plan, Problem, ReaderJob, Scale, ScanTrainer, SolverChoice,
    StopReason, StopRule, TrainerReport,
};
use std::time::Instant;

const PLENTY: usize = 64 << 20;

fn problem(c: f64, tolerance: f64, cuts: Cuts) -> Problem {
    let problem = Problem::new(Loss::Hinge, c, tolerance).expect("valid");
    let problem = problem
        .with(|it| it.solver = SolverChoice::Scan(cuts))
        .expect("valid");
    problem
        .with(|it| it.formulation.together = true)
        .expect("valid")
}

/// Overlapping clouds of so many classes, numbered by first appearance.
fn clouds_of(classes: u32, rows: usize, features: usize, seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let centres: Vec<f64> = (0..classes as usize * features)
        .map(|_| numbers.normal())
        .collect();
    (0..rows)
        .map(|row| {
            let class = match row < classes as usize {
                true => row as u32,
                false => numbers.below(classes as usize) as u32,
            };
            let centre = &centres[class as usize * features..][..features];
            let x = centre
                .iter()
                .map(|at| at + 1.5 * numbers.normal())
                .collect();
            OwnedExample {
                cost: [0.25, 1.0, 2.0][row % 3],
                ..OwnedExample::dense(class, x)
            }
        })
        .collect()
}

struct Trained {
    report: TrainerReport,
    w: Vec<Vec<f64>>,
    lines: usize,
}

/// By scans of parts, or where all rows are here by so many threads, with room for rows and outputs.
fn train_together(
    problem: &Problem,
    parts: &Parts<'_>,
    threads: Option<(usize, usize)>,
    balance: Balance,
) -> Trained {
    let job = ReaderJob {
        balance,
        ..ReaderJob::new(Scale::None, problem)
    };
    let sample = if threads.is_some() { PLENTY } else { 0 };
    let surveyed = parts.survey(&job, sample).finish(&[], 1).unwrap();
    let form = surveyed.form.copied().unwrap();
    let holding = Holding {
        bytes: 0,
        lets_go: true,
    };
    let plan = Plan::train(problem.c());
    let mut trainer = ScanTrainer::new(problem, &plan, surveyed, holding, Instant::now()).unwrap();
    if let Some((threads, bytes)) = threads {
        assert!(trainer.scan_resident(threads, bytes).unwrap());
    }
    assert!(parts.train(&mut trainer, 1000, &form, || ()));
    let report = trainer.report().unwrap();
    let numbers = |head: usize| {
        let weights = trainer.weights(head);
        weights.iter().chain([weights.intercept()]).collect()
    };
    Trained {
        w: (0..report.heads.len()).map(numbers).collect(),
        lines: trainer.log().unwrap().len(),
        report,
    }
}

/// A row with its constant behind the features, as it is stored.
fn stored(row: &OwnedExample) -> Vec<f64> {
    let x = row.dense.iter().map(|x| f64::from(*x as f32));
    x.chain([1.0]).collect()
}

fn product(w: &[f64], x: &[f64]) -> f64 {
    w.iter().zip(x).map(|(w, x)| w * x).sum()
}

/// The objective at weights, and the share of rows that get their own class.
fn objective(w: &[Vec<f64>], rows: &[OwnedExample], costs: &[f64]) -> (f64, f64) {
    let norm: f64 = w.iter().map(|w| product(w, w)).sum();
    let (mut sum, mut right) = (0.5 * norm, 0);
    for (row, cost) in rows.iter().zip(costs) {
        let x = stored(row);
        let scores: Vec<f64> = w.iter().map(|w| product(w, &x)).collect();
        let own = row.group as usize;
        let others = scores.iter().enumerate().filter(|(class, _)| *class != own);
        let most = others.map(|(_, score)| *score).fold(f64::MIN, f64::max);
        sum += cost * (1.0 + most - scores[own]).max(0.0);
        right += usize::from(scores[own] > most);
    }
    (sum, right as f64 / rows.len() as f64)
}

/// The dual variables of a row that are best while all others stand still, by sorting (Crammer and Singer; Keerthi, Sundararajan, Chang,
/// Hsieh, Lin, KDD 2008).
fn best_of_row(gradient: &[f64], a: &[f64], own: usize, (square, bound): (f64, f64)) -> Vec<f64> {
    let mut d: Vec<f64> = (0..a.len()).map(|k| gradient[k] - square * a[k]).collect();
    d[own] += square * bound;
    let unsorted = d.clone();
    d.sort_by(|a, b| b.total_cmp(a));
    let (mut beta, mut r) = (d[0] - square * bound, 1);
    while r < d.len() && beta < r as f64 * d[r] {
        beta += d[r];
        r += 1;
    }
    beta /= r as f64;
    let most = |k: usize| if k == own { bound } else { 0.0 };
    (0..a.len())
        .map(|k| f64::min(most(k), (beta - gradient[k] + square * a[k]) / square))
        .inspect(|a| assert!(a.is_finite(), "{unsorted:?}"))
        .collect()
}

/// The smallest objective, nearly, by dual coordinate descent.
fn reference(rows: &[OwnedExample], costs: &[f64], classes: usize) -> f64 {
    let x: Vec<Vec<f64>> = rows.iter().map(stored).collect();
    let mut w = vec![vec![0.0; x[0].len()]; classes];
    let mut a = vec![vec![0.0; classes]; rows.len()];
    let mut least = f64::INFINITY;
    for round in 0..3000 {
        for (i, row) in rows.iter().enumerate() {
            let own = row.group as usize;
            let loss = |k: usize| if k == own { 0.0 } else { 1.0 };
            let gradient: Vec<f64> = (0..classes)
                .map(|k| product(&w[k], &x[i]) + loss(k))
                .collect();
            let terms = (product(&x[i], &x[i]), costs[i]);
            let best = best_of_row(&gradient, &a[i], own, terms);
            for k in 0..classes {
                let by = best[k] - a[i][k];
                w[k].iter_mut().zip(&x[i]).for_each(|(w, x)| *w += by * x);
            }
            a[i] = best;
        }
        if round % 50 == 49 {
            let (primal, _) = objective(&w, rows, costs);
            least = least.min(primal);
            let own: f64 = a
                .iter()
                .zip(rows)
                .map(|(a, row)| a[row.group as usize])
                .sum();
            let norm: f64 = w.iter().map(|w| product(w, w)).sum();
            if least - (own - 0.5 * norm) < 2e-4 * least {
                return least;
            }
        }
    }
    panic!("the reference has not arrived");
}

fn costs(rows: &[OwnedExample], c: f64) -> Vec<f64> {
    rows.iter().map(|row| c * f64::from(row.cost)).collect()
}

/// What a training claims is so, and as good as the reference.
fn assert_true(trained: &Trained, rows: &[OwnedExample], costs: &[f64], least: f64, place: &str) {
    let summary = trained.report.summary();
    let (primal, right) = objective(&trained.w, rows, costs);
    let place = format!("{place}: {summary:?}, reference {least}, recomputed {primal}");
    assert!((primal / summary.primal - 1.0).abs() < 1e-9, "{place}");
    assert!(summary.gap >= 0.0, "{place}");
    let gap = (summary.primal - summary.dual) / summary.primal;
    assert!((gap - summary.gap).abs() < 1e-9, "{place}");
    // no dual is above the smallest objective, and no objective below it
    assert!(summary.dual <= least * (1.0 + 1e-9), "{place}");
    assert!(summary.primal >= least * (1.0 - 2.1e-4), "{place}");
    for head in &trained.report.heads {
        assert!((head.training_accuracy - right).abs() < 1e-12, "{place}");
    }
    let sum: f64 = trained.w.iter().flatten().sum();
    let size: f64 = trained.w.iter().flatten().map(|w| w.abs()).sum();
    assert!(
        sum.abs() < 1e-9 * size,
        "the classes' weights sum up to 0: {place}"
    );
}

#[test]
fn planes_find_the_objective_of_crammer_and_singer_however_rows_are_dealt_out() {
    for (classes, features, c) in [(3, 4, 0.01), (3, 4, 0.1), (5, 8, 0.05), (10, 6, 0.02)] {
        let rows = clouds_of(classes, 900, features, u64::from(classes));
        let least = reference(&rows, &costs(&rows, c), classes as usize);
        for cuts in [Cuts::Ocas(0.1), Cuts::Ocas(1.0), Cuts::Newest] {
            let problem = problem(c, 1e-3, cuts);
            let dealt = [
                (Parts::by_turns(&rows, 1), None),
                (Parts::by_turns(&rows, 4), None),
                (Parts::by_class(&rows, classes), None),
                (Parts::by_turns(&rows, 1), Some((1, PLENTY))),
                (Parts::by_turns(&rows, 1), Some((2, 0))),
                (Parts::by_turns(&rows, 2), Some((3, PLENTY))),
            ];
            for (parts, threads) in dealt {
                let trained = train_together(&problem, &parts, threads, Balance::None);
                let place = format!("{classes} classes, C {c}, {cuts:?}, {threads:?} threads");
                assert_true(&trained, &rows, &costs(&rows, c), least, &place);
                assert_eq!(trained.report.heads.len(), classes as usize);
                let summary = trained.report.summary();
                assert_eq!(summary.stop, Some(StopReason::Tolerance), "{place}");
                assert!(summary.gap <= 1e-3, "{place}");
                assert!(summary.primal <= least * (1.0 + 1.1e-3), "{place}");
                // a line a scan, and one of the survey
                assert_eq!(trained.lines as u32, trained.report.passes + 1, "{place}");
            }
        }
    }
}

#[test]
fn balanced_classes_cost_their_weights() {
    let mut rows = clouds_of(4, 1200, 5, 11);
    let mut number = 0;
    rows.retain(|row| {
        number += 1;
        row.group != 2 || number % 5 == 0
    });
    // a row of weight 3 is three rows
    let counts: Vec<f64> = (0..4)
        .map(|class| {
            let own = rows.iter().filter(|row| row.group == class);
            own.map(|row| f64::from(row.cost)).sum()
        })
        .collect();
    let all: f64 = counts.iter().sum();
    let weight = |row: &OwnedExample| all / (4.0 * counts[row.group as usize]);
    let c = 0.05;
    let costs: Vec<f64> = rows
        .iter()
        .map(|row| c * f64::from(row.cost) * f64::from(weight(row) as f32))
        .collect();
    let least = reference(&rows, &costs, 4);
    for balance in [Balance::Examples, Balance::PositivesBeyond(2)] {
        let problem = problem(c, 1e-3, Cuts::Ocas(0.1));
        let parts = Parts::by_turns(&rows, 3);
        let trained = train_together(&problem, &parts, None, balance);
        let primal = trained.report.summary().primal;
        let place = format!("{balance:?}: {primal}, {least}");
        assert!((primal / least - 1.0).abs() < 1.1e-3, "{place}");
        assert!(
            trained.report.summary().dual <= least * (1.0 + 1e-6),
            "{place}"
        );
    }
}

#[test]
fn it_ends_by_the_mean_loss_too_and_out_of_passes() {
    let rows = clouds_of(6, 1500, 5, 21);
    let c = 0.1;
    let problem = problem(c, 1e-3, Cuts::Ocas(0.1));
    let parts = Parts::by_turns(&rows, 2);
    let mean = problem
        .with(|it| it.stopping.rule = StopRule::MeanLoss)
        .unwrap();
    let trained = train_together(&mean, &parts, None, Balance::None);
    let summary = trained.report.summary();
    assert_eq!(summary.stop, Some(StopReason::Tolerance));
    let mean = (summary.primal - summary.dual) / (c * rows.len() as f64);
    assert!((0.0..=1e-3).contains(&mean), "{mean}");
    let short = problem.with(|it| it.stopping.max_passes = Some(4)).unwrap();
    let trained = train_together(&short, &parts, None, Balance::None);
    let summary = trained.report.summary();
    assert_eq!(summary.stop, Some(StopReason::MaxPasses));
    assert!(summary.gap > 1e-3);
    let (primal, _) = objective(&trained.w, &rows, &costs(&rows, c));
    assert!((primal / summary.primal - 1.0).abs() < 1e-9);
}

#[test]
fn two_classes_are_told_apart_as_ever() {
    let rows = clouds(1000, 5, 1.0, 31);
    let parts = Parts::by_turns(&rows, 2);
    let together = problem(0.1, 1e-3, Cuts::Ocas(0.1));
    let apart = together
        .with(|it| it.formulation.together = false)
        .expect("valid");
    let [one, other] = [together, apart].map(|it| train_together(&it, &parts, None, Balance::None));
    assert_eq!((&one.w, one.w.len()), (&other.w, 1));
}

#[test]
fn outputs_that_are_kept_change_weights_by_rounding_alone() {
    let several = clouds_of(5, 1000, 6, 41);
    let two = clouds(1500, 6, 1.0, 42);
    for (rows, c) in [(&several, 0.05), (&two, 0.01)] {
        for cuts in [Cuts::Ocas(0.1), Cuts::Ocas(1.0), Cuts::Newest] {
            // a few steps, before rounding decides which planes matter: with all planes taken together that is sooner
            let passes = if cuts == Cuts::Newest { 20 } else { 6 };
            let problem = problem(c, 1e-9, cuts)
                .with(|it| it.stopping.max_passes = Some(passes))
                .unwrap();
            let parts = Parts::by_turns(rows, 1);
            let [kept, anew] = [PLENTY, 0]
                .map(|bytes| train_together(&problem, &parts, Some((1, bytes)), Balance::None));
            let size: f64 = anew.w.iter().flatten().map(|w| w.abs()).sum();
            let off: f64 = kept
                .w
                .iter()
                .flatten()
                .zip(anew.w.iter().flatten())
                .map(|(a, b)| (a - b).abs())
                .sum();
            assert!(off <= 1e-6 * size, "{cuts:?}: {off} of {size}");
            let [one, other] = [&kept, &anew].map(|it| it.report.summary());
            assert!(
                (one.primal / other.primal - 1.0).abs() < 1e-9,
                "{cuts:?}: {one:?}, {other:?}"
            );
        }
    }
}
