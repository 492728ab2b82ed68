//! A training's claims hold: feasible dual variables, a gap that is true and small enough, in every form of training.

use crate::common::*;
use pgsvm_core::engine::{train_examples, OwnedExample, Threads, Trained};
use pgsvm_core::{
    HeadSpec, Intercept, Loss, Picks, Problem, Proximal, Scale, Scaling, SolverChoice, StopReason,
    Timing,
};

const PLENTY: usize = 16 << 20;

fn problem(loss: Loss, c: f64) -> Problem {
    Problem::new(loss, c, 1e-3).expect("valid")
}

#[test]
fn stops_when_gap_is_below_tolerance_on_dense_rows() {
    let examples = clouds(3000, 12, 2.0, 1);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for c in [0.01, 1.0, 100.0] {
            for scale in [Scale::None, Scale::Standard, Scale::MaxAbs] {
                for intercept in [false, true] {
                    let problem = problem(loss, c)
                        .with(|it| {
                            it.formulation.intercept = match intercept {
                                true => Intercept::InNorm,
                                false => Intercept::None,
                            }
                        })
                        .expect("valid");
                    let trained = train(problem, &examples, settings(PLENTY, scale, Threads::One));
                    assert!(trained.reader.resident);
                    assert_certified(&trained, &problem, &examples);
                }
            }
        }
    }
}

#[test]
fn stops_when_gap_is_below_tolerance_on_mixed_rows() {
    let examples = words(3000, 400, 3, 2);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for c in [0.01, 1.0, 10.0] {
            for scale in [Scale::None, Scale::Standard, Scale::MaxAbs] {
                let problem = problem(loss, c);
                let trained = train(problem, &examples, settings(PLENTY, scale, Threads::One));
                assert_certified(&trained, &problem, &examples);
            }
        }
    }
}

#[test]
fn a_cache_of_a_tenth_gives_the_same_objective() {
    let dense = clouds(8000, 20, 2.0, 3);
    let sparse = words(8000, 300, 2, 4);
    for (examples, bytes) in [(&dense, 8000 * 112), (&sparse, 8000 * 80)] {
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            for c in [0.1, 10.0] {
                let problem = problem(loss, c);
                let trained = |cache, threads| {
                    train(problem, examples, settings(cache, Scale::Standard, threads))
                };
                let whole = trained(PLENTY, Threads::One);
                let tenth = trained(bytes / 10, Threads::Two);
                assert!(!tenth.reader.resident);
                assert_certified(&tenth, &problem, examples);
                let primal =
                    |it: &Trained| it.trainer.report().unwrap().heads[0].certificate.primal;
                let [a, b] = [&whole, &tenth].map(primal);
                assert!((a - b).abs() <= 1e-3 * a.max(b), "{a} {b}");
            }
        }
    }
}

#[test]
fn a_tiny_cache_still_certifies() {
    let examples = clouds(5000, 10, 1.0, 5);
    let problem = problem(Loss::Hinge, 1.0);
    let trained = train(
        problem,
        &examples,
        settings(16 * 1024, Scale::Standard, Threads::One),
    );
    assert_certified(&trained, &problem, &examples);
}

#[test]
fn a_cache_too_small_for_the_rows_that_matter_still_certifies() {
    let examples = words(4000, 200, 2, 15);
    for (loss, c) in [
        (Loss::Hinge, 0.1),
        (Loss::Hinge, 1.0),
        (Loss::Hinge, 10.0),
        (Loss::SquaredHinge, 1.0),
    ] {
        for schedule in [Timing::Timed, Timing::Lockstep] {
            for cache in [4000 * 90 / 5, 4000 * 90 / 10] {
                let problem = problem(loss, c)
                    .with_timing(schedule)
                    .with(|it| it.stopping.max_passes = Some(150))
                    .expect("valid");
                let trained = train(
                    problem,
                    &examples,
                    settings(cache, Scale::Standard, Threads::One),
                );
                assert_certified(&trained, &problem, &examples);
            }
        }
    }
}

#[test]
fn a_table_sorted_by_label_trains_to_the_same_objective() {
    let mut examples = clouds(6000, 15, 1.5, 6);
    examples.sort_by_key(|example| example.group);
    let problem = problem(Loss::Hinge, 1.0);
    for cache in [PLENTY, 6000 * 80 / 10] {
        let trained = train(
            problem,
            &examples,
            settings(cache, Scale::Standard, Threads::One),
        );
        assert_certified(&trained, &problem, &examples);
        assert!(
            trained.trainer.report().unwrap().passes <= 30,
            "{}",
            trained.trainer.report().unwrap().passes
        );
    }
}

#[test]
fn row_costs_weigh_the_losses() {
    let mut examples = clouds(2000, 8, 1.0, 7);
    for (k, example) in examples.iter_mut().enumerate() {
        example.cost = [0.25, 1.0, 3.0][k % 3];
    }
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        let problem = problem(loss, 2.0);
        let trained = train(
            problem,
            &examples,
            settings(PLENTY, Scale::Standard, Threads::One),
        );
        assert_certified(&trained, &problem, &examples);
    }
}

#[test]
fn the_proximal_shift_changes_the_path_but_not_the_optimum() {
    let examples = clouds(3000, 10, 1.5, 8);
    let mut primals = Vec::new();
    for proximal in [Proximal::Auto, Proximal::On, Proximal::Off] {
        let problem = problem(Loss::Hinge, 0.1)
            .with(|it| it.proximal = proximal)
            .expect("valid");
        let trained = train(
            problem,
            &examples,
            settings(PLENTY, Scale::Standard, Threads::One),
        );
        assert_certified(&trained, &problem, &examples);
        primals.push(
            trained.trainer.report().unwrap().heads[0]
                .certificate
                .primal,
        );
    }
    for primal in &primals {
        assert!((primal - primals[0]).abs() <= 1e-3 * primals[0]);
    }
}

#[test]
fn the_published_form_certifies_too() {
    let examples = clouds(6000, 12, 2.5, 16);
    let problem = problem(Loss::Hinge, 0.01)
        .with(|it| it.solver = SolverChoice::StreamSvm(Picks::Usual))
        .expect("valid");
    for threads in [Threads::One, Threads::Two] {
        let trained = train(
            problem,
            &examples,
            settings(6000 * 80 / 4, Scale::Standard, threads),
        );
        assert!(!trained.reader.resident);
        assert_certified(&trained, &problem, &examples);
        assert!(trained.trainer.report().unwrap().evictions > 0);
    }
}

#[test]
fn passes_used_up_give_an_honest_gap() {
    let examples = clouds(3000, 30, 0.5, 9);
    for cache in [PLENTY, 3000 * 140 / 10] {
        let problem = Problem::new(Loss::Hinge, 100.0, 1e-9)
            .expect("valid")
            .with(|it| it.stopping.max_passes = Some(2))
            .expect("valid");
        let trained = train(
            problem,
            &examples,
            settings(cache, Scale::Standard, Threads::One),
        );
        let head = trained.trainer.report().unwrap().heads[0];
        assert_eq!(head.stop, Some(StopReason::MaxPasses));
        assert!(head.certificate.gap > 1e-9);
        assert_honest(&trained, &problem, &examples);
    }
}

#[test]
fn extreme_columns_and_rows_never_give_nan() {
    for (name, examples) in &extreme() {
        for scale in [Scale::None, Scale::Standard, Scale::MaxAbs] {
            for loss in [Loss::Hinge, Loss::SquaredHinge] {
                for c in [1e-6, 1.0, 1e6] {
                    for intercept in [false, true] {
                        let problem = problem(loss, c)
                            .with(|it| {
                                it.formulation.intercept = match intercept {
                                    true => Intercept::InNorm,
                                    false => Intercept::None,
                                }
                            })
                            .expect("valid")
                            .with(|it| it.stopping.max_passes = Some(30))
                            .expect("valid");
                        let settings = settings(PLENTY, scale, Threads::One);
                        let what = format!("{name} {scale:?} {loss:?} {c} {intercept}");
                        assert_finite(&train(problem, examples, settings), &what);
                    }
                }
            }
        }
    }
}

fn assert_finite(trained: &Trained, what: &str) {
    let trainer = &trained.trainer;
    let certificate = trainer.report().unwrap().heads[0].certificate;
    let what = format!("{what}: {certificate:?}");
    let is_finite = certificate.primal.is_finite() && certificate.dual.is_finite();
    assert!(is_finite, "{what}");
    assert!((0.0..=1.0).contains(&certificate.gap), "{what}");
    assert!(trainer.weights(0).iter().all(f64::is_finite), "{what}");
    assert!(trainer.duals(0).iter().all(f32::is_finite), "{what}");
}

/// Rows with columns of extreme sizes, and few or empty rows.
fn extreme() -> Vec<(&'static str, Vec<OwnedExample>)> {
    let mut numbers = Numbers::new(10);
    let mut column = |value: &dyn Fn(f64) -> f64| -> Vec<OwnedExample> {
        let mut rows = clouds(300, 3, 1.0, 11);
        for row in &mut rows {
            row.dense.push(value(numbers.normal()));
        }
        rows
    };
    let dense = OwnedExample::dense;
    let made = |count: u32, row: &dyn Fn(u32) -> OwnedExample| (0..count).map(row).collect();
    vec![
        ("tiny column", column(&|x| x * 1e-30)),
        ("huge column", column(&|x| x * 1e30)),
        ("constant column", column(&|_| 7.25)),
        ("large mean", column(&|x| 1e9 + x)),
        ("zero rows", made(2, &|k| dense(k, vec![0.0; 2]))),
        ("one row", vec![dense(0, vec![1.0, 2.0])]),
        (
            "one feature",
            made(50, &|k| dense(k % 2, vec![f64::from(k)])),
        ),
        (
            "empty sparse rows",
            made(20, &|k| OwnedExample::sparse(k % 2, &[])),
        ),
        (
            "separable",
            made(80, &|k| dense(k % 2, vec![f64::from(k % 2) * 10.0, 1.0])),
        ),
    ]
}

#[test]
fn weights_folded_for_raw_rows_give_the_same_decisions() {
    let examples = words(1500, 60, 4, 12);
    for scale in [Scale::None, Scale::Standard, Scale::MaxAbs] {
        let settings = settings(PLENTY, scale, Threads::One);
        let trained = train(problem(Loss::Hinge, 1.0), &examples, settings);
        let weights = trained.trainer.weights(0);
        let scaling = &trained.reader.scaling;
        let (raw, intercept) = scaling.fold(weights.iter(), weights.intercept());
        let raw: Vec<f64> = raw.collect();
        assert_eq!(raw.len() as u64, trained.reader.features);
        for example in &examples {
            let dense = example.dense.iter().enumerate();
            let sparse = example.sparse_index.iter().zip(&example.sparse_value);
            let sparse = sparse.map(|(j, x)| (4 + *j as usize, f64::from(*x)));
            let folded = dense.map(|(j, x)| (j, *x)).chain(sparse);
            let folded = intercept + folded.map(|(j, x)| raw[j] * x).sum::<f64>();
            let direct = weights.intercept() + direct(example, scaling, |j| weights.get(j));
            assert!((folded - direct).abs() <= 1e-9 * (1.0 + direct.abs()));
        }
    }
}

/// <w, x> of the scaled row.
fn direct(example: &OwnedExample, scaling: &Scaling, weight: impl Fn(usize) -> f64) -> f64 {
    let dense = example.dense.iter().enumerate().map(|(j, x)| {
        let centre = scaling.centre.get(j).copied().unwrap_or(0.0);
        let factor = scaling.factor.get(j).copied().unwrap_or(1.0);
        weight(j) * (x - centre) * factor
    });
    let entries = example.sparse_index.iter().zip(&example.sparse_value);
    let sparse = entries.map(|(j, x)| {
        let factor = scaling.sparse_factor.get(*j as usize).copied();
        weight(example.dense.len() + *j as usize) * f64::from(*x) * f64::from(factor.unwrap_or(1.0))
    });
    dense.sum::<f64>() + sparse.sum::<f64>()
}

#[test]
fn heads_trained_together_reach_the_objectives_of_separate_ones() {
    let examples = on_a_circle(3000);
    let heads: Vec<HeadSpec> = (0..3)
        .map(|one| {
            let sign = |class: i32| if class == one { 1 } else { -1 };
            HeadSpec::new((0..3).map(sign).collect::<Vec<_>>(), 1.0)
        })
        .chain([HeadSpec::new(vec![1, -1, 0], 0.5)])
        .collect();
    let problem = problem(Loss::Hinge, 1.0);
    for cache in [PLENTY, 16 * 1024] {
        let settings = settings(cache, Scale::Standard, Threads::One);
        let trained = |heads| train_examples(problem, heads, &examples, settings).expect("works");
        let together = trained(heads.clone());
        let report = together.trainer.report().unwrap();
        for (k, head) in heads.iter().enumerate() {
            let alone = trained(vec![head.clone()]);
            let (a, b) = (
                report.heads[k].certificate,
                alone.trainer.report().unwrap().heads[0].certificate,
            );
            assert!(a.gap <= 1e-3 && b.gap <= 1e-3);
            assert!((a.primal - b.primal).abs() <= 1e-3 * a.primal);
            let found = recompute(&together, k, head, &problem, &examples);
            assert!((found.primal - a.primal).abs() <= 1e-5 * a.primal);
            assert!((found.dual - a.dual).abs() <= 1e-5 * a.primal);
        }
    }
}

#[test]
fn more_weights_than_near_caches_hold_certify_too() {
    let examples = words(400, 450_000, 2, 5);
    let heads = [vec![1, -1], vec![-1, 1]].map(|signs| HeadSpec::new(signs, 1.0));
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        let problem = problem(loss, 1.0);
        for cache in [PLENTY, 16 * 1024] {
            let settings = settings(cache, Scale::None, Threads::One);
            let alone = train(problem, &examples, settings);
            assert_eq!(alone.reader.resident, cache == PLENTY);
            assert_certified(&alone, &problem, &examples);
            let together =
                pgsvm_core::engine::train_examples(problem, heads.to_vec(), &examples, settings)
                    .expect("works");
            let report = together.trainer.report().unwrap();
            for (k, head) in heads.iter().enumerate() {
                let claimed = report.heads[k].certificate;
                let found = recompute(&together, k, head, &problem, &examples);
                assert!(claimed.gap <= 1e-3);
                assert!((found.primal - claimed.primal).abs() <= 1e-5 * claimed.primal);
                assert!((found.dual - claimed.dual).abs() <= 1e-5 * claimed.primal);
            }
        }
    }
}

#[test]
fn kkt_conditions_hold_at_a_small_tolerance() {
    let examples = clouds(800, 6, 1.5, 14);
    let problem = Problem::new(Loss::Hinge, 1.0, 1e-8).expect("valid");
    let trained = train(
        problem,
        &examples,
        settings(PLENTY, Scale::None, Threads::One),
    );
    assert_certified(&trained, &problem, &examples);
    let weights = trained.trainer.weights(0);
    for (example, alpha) in examples.iter().zip(trained.trainer.duals(0).iter()) {
        let y = 2.0 * f64::from(example.group) - 1.0;
        let decision: f64 = example
            .dense
            .iter()
            .zip(weights.iter())
            .map(|(x, w)| f64::from(*x as f32) * w)
            .sum();
        let margin = y * (decision + weights.intercept());
        match alpha {
            0.0 => assert!(margin >= 1.0 - 0.01, "{margin}"),
            1.0 => assert!(margin <= 1.0 + 0.01, "{margin}"),
            _ => assert!((margin - 1.0).abs() <= 0.01, "{margin} {alpha}"),
        }
    }
}

#[test]
fn a_seed_gives_the_same_weights_bit_for_bit() {
    let examples = words(4000, 200, 2, 15);
    for cache in [PLENTY, 4000 * 90 / 10] {
        let run = |threads, seed| {
            let problem = problem(Loss::Hinge, 1.0)
                .with_timing(Timing::Lockstep)
                .with(|it| it.seed = seed)
                .expect("valid");
            let trained = train(
                problem,
                &examples,
                settings(cache, Scale::Standard, threads),
            );
            let weights = trained.trainer.weights(0);
            weights
                .iter()
                .chain([weights.intercept()])
                .map(f64::to_bits)
                .collect::<Vec<_>>()
        };
        let first = run(Threads::One, 1);
        assert_eq!(first, run(Threads::One, 1));
        assert_eq!(first, run(Threads::Two, 1));
        assert_ne!(first, run(Threads::One, 2));
    }
}
