//! Inputs at the edges: a training ends, its weights are finite, and its certificate says the truth, whatever the gap.

use crate::common::*;
use pgsvm_core::engine::{train_examples, OwnedExample, Threads, Trained};
use pgsvm_core::{
    Folds, HeadSpec, Intercept, Loss, Plan, Policy, Problem, Purpose, Scale, StopReason,
};

const PLENTY: usize = 1 << 20;
const COSTS: [f64; 5] = [1e-6, 1e-3, 1.0, 1e3, 1e6];
const LOSSES: [Loss; 2] = [Loss::Hinge, Loss::SquaredHinge];
const SCALES: [Scale; 4] = [Scale::None, Scale::Standard, Scale::MaxAbs, Scale::MinMax];

fn limited(loss: Loss, c: f64) -> Problem {
    Problem::new(loss, c, 1e-3)
        .expect("valid")
        .with(|it| it.stopping.max_passes = Some(100))
        .expect("valid")
}

fn assert_finite(trained: &Trained) {
    let report = trained.trainer.report().unwrap();
    for (number, head) in report.heads.iter().enumerate() {
        let weights = trained.trainer.weights(number);
        assert!(weights.iter().all(f64::is_finite), "a weight is not finite");
        assert!(weights.intercept().is_finite());
        let certificate = head.certificate;
        for value in [certificate.primal, certificate.dual, certificate.gap] {
            assert!(value.is_finite(), "{certificate:?}");
        }
        assert!((0.0..=1.0).contains(&head.training_accuracy));
    }
}

/// Trains with every loss and C, as the rows are and scaled, in memory and, if they do not fit, streaming.
fn every_training_is_honest(examples: &[OwnedExample], scales: &[Scale], caches: &[usize]) {
    for loss in LOSSES {
        for c in COSTS {
            for &scale in scales {
                for &cache in caches {
                    let problem = limited(loss, c);
                    let trained = train(problem, examples, settings(cache, scale, Threads::One));
                    let head = trained.trainer.report().unwrap().heads[0];
                    println!("{loss:?} {c} {scale:?} {cache}: {head:?}");
                    assert_finite(&trained);
                    assert_honest(&trained, &problem, examples);
                    match head.stop {
                        Some(StopReason::Tolerance) => assert!(head.certificate.gap <= 1e-3),
                        Some(StopReason::MaxPasses) => assert!(head.certificate.gap > 1e-3),
                        other => panic!("stopped by {other:?}"),
                    }
                }
            }
        }
    }
}

#[test]
fn costs_from_a_millionth_to_a_million() {
    every_training_is_honest(&clouds(300, 5, 1.0, 31), &SCALES, &[PLENTY]);
    every_training_is_honest(&clouds(600, 10, 1.0, 32), &[Scale::Standard], &[16 * 1024]);
}

#[test]
fn duplicate_rows() {
    let mut examples = vec![clouds(1, 4, 1.0, 33).remove(0); 50];
    examples.extend(examples.clone().into_iter().map(|row| OwnedExample {
        group: 1,
        dense: row.dense.iter().map(|x| x + 1.0).collect(),
        ..row
    }));
    every_training_is_honest(&examples, &SCALES, &[PLENTY]);
}

#[test]
fn the_same_row_with_both_labels() {
    let row = |group| OwnedExample::dense(group, vec![1.0, -2.0]);
    let examples: Vec<_> = (0..60).map(|i| row(i % 2)).collect();
    every_training_is_honest(&examples, &SCALES, &[PLENTY]);
}

#[test]
fn constant_features_and_rows_of_zeros() {
    let mut examples = clouds(200, 3, 1.0, 34);
    for example in &mut examples {
        example.dense.push(1e6);
        example.dense.push(0.0);
    }
    every_training_is_honest(&examples, &[Scale::Standard, Scale::MaxAbs], &[PLENTY]);
    let zeros: Vec<_> = (0..40)
        .map(|i| OwnedExample::dense(u32::from(i % 4 == 1), vec![0.0; 3]))
        .collect();
    every_training_is_honest(&zeros, &SCALES, &[PLENTY]);
    let empty: Vec<_> = (0..40)
        .map(|i| OwnedExample::sparse(u32::from(i % 4 == 1), &[]))
        .collect();
    every_training_is_honest(&empty, &SCALES, &[PLENTY]);
}

#[test]
fn rows_of_zeros_without_an_intercept() {
    let zeros: Vec<_> = (0..40)
        .map(|i| OwnedExample::dense(i % 2, vec![0.0; 3]))
        .collect();
    for loss in LOSSES {
        let problem = limited(loss, 1.0)
            .with(|it| it.formulation.intercept = Intercept::None)
            .expect("valid");
        let trained = train(problem, &zeros, settings(PLENTY, Scale::None, Threads::One));
        assert_finite(&trained);
        assert_honest(&trained, &problem, &zeros);
    }
}

#[test]
fn features_of_very_small_and_very_large_scale() {
    for factor in [1e-30, 1e-15, 1e15, 1e30] {
        let mut examples = clouds(200, 4, 2.0, 35);
        for example in &mut examples {
            example.dense.iter_mut().for_each(|x| *x *= factor);
        }
        every_training_is_honest(&examples, &[Scale::Standard, Scale::MaxAbs], &[PLENTY]);
    }
    // both in one table
    let mut examples = clouds(200, 4, 2.0, 36);
    for example in &mut examples {
        example.dense[0] *= 1e-30;
        example.dense[1] *= 1e30;
    }
    every_training_is_honest(&examples, &[Scale::MaxAbs], &[PLENTY]);
}

#[test]
fn features_too_large_for_their_squares_are_finite_or_an_error_unscaled() {
    for factor in [1e-38, 1e-30, 1e-15, 1e15, 1e18, 1e19, 1e30, 1e38] {
        let mut examples = clouds(100, 4, 2.0, 37);
        for example in &mut examples {
            example.dense.iter_mut().for_each(|x| *x *= factor);
        }
        for loss in LOSSES {
            for c in COSTS {
                let settings = settings(PLENTY, Scale::None, Threads::One);
                let heads = vec![HeadSpec::binary(c)];
                match train_examples(limited(loss, c), heads, &examples, settings) {
                    Ok(trained) => assert_finite(&trained),
                    Err(error) => println!("{factor} {loss:?} {c}: {error}"),
                }
            }
        }
    }
}

#[test]
fn few_rows_and_many_features() {
    for rows in [2, 3, 10] {
        let mut examples = clouds(rows, 500, 1.0, 38);
        for (number, example) in examples.iter_mut().enumerate() {
            example.group = (number % 2) as u32;
        }
        every_training_is_honest(&examples, &[Scale::None, Scale::Standard], &[PLENTY]);
    }
}

#[test]
fn one_row_and_one_feature() {
    let one = [OwnedExample::dense(0, vec![2.0])];
    every_training_is_honest(&one, &SCALES, &[PLENTY]);
    every_training_is_honest(&clouds(100, 1, 1.0, 39), &SCALES, &[PLENTY]);
}

#[test]
fn separable_rows() {
    let mut examples = clouds(300, 4, 40.0, 40);
    for x in examples.iter_mut().flat_map(|example| &mut example.dense) {
        // exact in 32 bits, differences too: a rounded slack times a large C would show in the recomputed primal
        *x = (*x * 8.0).round() / 8.0;
    }
    every_training_is_honest(&examples, &SCALES, &[PLENTY]);
}

#[test]
fn ten_million_sparse_features() {
    let mut numbers = Numbers::new(41);
    let rows = 300;
    let examples: Vec<_> = (0..rows)
        .map(|i| {
            let mut ids: Vec<u32> = (0..8).map(|_| numbers.below(10_000_000) as u32).collect();
            ids.push(9_999_999);
            ids.sort_unstable();
            ids.dedup();
            let entries: Vec<_> = ids.iter().map(|id| (*id, 1.0)).collect();
            OwnedExample::sparse(u32::from(i % 3 == 1), &entries)
        })
        .collect();
    for loss in LOSSES {
        let problem = limited(loss, 1.0);
        let trained = train(
            problem,
            &examples,
            settings(PLENTY, Scale::Standard, Threads::One),
        );
        assert_finite(&trained);
        assert_certified(&trained, &problem, &examples);
    }
}

#[test]
fn blocks_at_the_edges() {
    let mut examples = clouds(700, 10, 1.0, 42);
    for example in &mut examples[..200] {
        example.dense.fill(0.0);
    }
    for policy in [Policy::Block, Policy::SelectiveBlock, Policy::Paper] {
        for c in COSTS {
            let problem = limited(Loss::Hinge, c)
                .with(|it| it.solver = policy.into())
                .expect("valid");
            let trained = train(
                problem,
                &examples,
                settings(16 * 1024, Scale::Standard, Threads::One),
            );
            assert_finite(&trained);
            assert_honest(&trained, &problem, &examples);
        }
    }
}

/// A plan over rows whose class and fold are given.
fn planned(plan: Plan, rows: &[(u32, u32)], loss: Loss) {
    let examples = drawn(rows, plan.stride());
    let settings = settings(PLENTY, Scale::Standard, Threads::One);
    let problem = limited(loss, plan.costs[0]);
    match train_examples(problem, plan.clone(), &examples, settings) {
        Ok(trained) => {
            assert_finite(&trained);
            let report = trained.trainer.report().unwrap();
            assert!(report
                .calibrations
                .heads
                .iter()
                .map(|it| it.sigmoid)
                .all(|s| s.a.is_finite() && s.b.is_finite()));
            for fold in &report.validation {
                assert!(fold.accuracy.is_finite() && fold.objective.is_finite());
                assert!(fold.auc.is_none_or(f64::is_finite));
            }
        }
        Err(error) => println!("{plan:?}: {error}"),
    }
}

/// Rows of these classes and folds.
fn drawn(rows: &[(u32, u32)], stride: u32) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(43);
    let row = |(class, fold): &(u32, u32)| {
        let x = vec![numbers.normal() + f64::from(*class), numbers.normal()];
        OwnedExample::dense(class * stride + fold, x)
    };
    rows.iter().map(row).collect()
}

#[test]
fn a_row_a_class_and_a_row_a_fold() {
    let a_row_a_class: Vec<_> = (0..20).map(|class| (class, class % 5)).collect();
    let a_row_a_fold: Vec<_> = (0..10).map(|fold| (fold % 2, fold)).collect();
    let one_fold_is_one_class: Vec<_> = (0..30).map(|i| (u32::from(i % 3 == 1), i % 3)).collect();
    let lonely: Vec<_> = (0..30).map(|i| (u32::from(i == 7), i % 5)).collect();
    for rows in [a_row_a_class, a_row_a_fold, one_fold_is_one_class, lonely] {
        for loss in LOSSES {
            for folds in [Folds::Count(10), Folds::Column] {
                for costs in [vec![1e-6], vec![1e6], vec![1e-6, 1.0, 1e6]] {
                    for probability in [false, true] {
                        for purpose in [Purpose::Train, Purpose::Validate] {
                            let costs = costs.clone();
                            let plan = Plan {
                                costs,
                                folds: Some(folds),
                                purpose,
                                probability,
                                ..Plan::train(1.0)
                            };
                            planned(plan, &rows, loss);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_primal_is_that_of_the_weights_to_six_digits_at_any_c() {
    // weights of so many features are held in 32 bits, and so are those of heads side by side; the rows are separable
    for (features, classes) in [(60_000, 2), (60_000, 3), (2_000, 3)] {
        let mut examples = words(500, features, 0, 7);
        match classes {
            2 => examples = by_first_appearance(examples),
            _ => {
                let numbered = (0..).zip(&mut examples);
                numbered.for_each(|(number, example)| example.group = number % 3);
            }
        }
        for c in [1.0, 1e4, 1e6] {
            let problem = limited(Loss::Hinge, c);
            let settings = settings(16 << 20, Scale::None, Threads::One);
            let heads = one_against_rest(classes, c);
            let trained =
                train_examples(problem, heads.clone(), &examples, settings).expect("it trains");
            let report = trained.trainer.report().unwrap();
            for (number, spec) in heads.iter().enumerate() {
                let found = recompute(&trained, number, spec, &problem, &examples).primal;
                let told = report.heads[number].certificate.primal;
                let what = format!("{features} features, C = {c}: {told} for {found}");
                assert!((told - found).abs() <= 1e-6 * found, "{what}");
            }
        }
    }
}

/// The heads of so many classes.
fn one_against_rest(classes: usize, c: f64) -> Vec<HeadSpec> {
    let head = |class: usize| {
        let sign = |other| if other == class { 1 } else { -1 };
        HeadSpec::new((0..classes).map(sign).collect::<Vec<i8>>(), c)
    };
    match classes {
        2 => vec![HeadSpec::binary(c)],
        _ => (0..classes).map(head).collect(),
    }
}
