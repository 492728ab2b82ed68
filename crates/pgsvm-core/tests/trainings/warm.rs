//! A training may begin from dual variables: its claims hold as ever, and it arrives sooner.

use crate::common::*;
use pgsvm_core::engine::{
    train_examples, train_examples_from, EngineError, OwnedExample, Settings, Threads, Trained,
};
use pgsvm_core::{HeadSpec, Loss, Policy, Problem, Scale, Start, StopReason, TrainError};

const PLENTY: usize = 16 << 20;

fn problem(loss: Loss, c: f64) -> Problem {
    Problem::new(loss, c, 1e-3).expect("valid")
}

fn one_against_rest(classes: usize, c: f64) -> Vec<HeadSpec> {
    let head = |own| {
        let sign = |class| if class == own { 1 } else { -1 };
        HeadSpec::new((0..classes).map(sign).collect::<Vec<_>>(), c)
    };
    (0..classes).map(head).collect()
}

/// Rows of four classes.
fn quarters(rows: usize, seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let row = |at: usize| {
        let class = if at < 4 { at } else { numbers.below(4) };
        let mut features: Vec<f64> = (0..10).map(|_| numbers.normal()).collect();
        features[class] += 1.5;
        OwnedExample::dense(class as u32, features)
    };
    (0..rows).map(row).collect()
}

/// Where a training has ended.
fn end_of(trained: &Trained, heads: usize) -> Vec<Start> {
    let of_head = |head| {
        let weights = trained.trainer.weights(head);
        let intercept = weights.intercept();
        Start {
            updates: 0,
            duals: trained.trainer.duals(head).iter().collect(),
            weights: Some(weights.iter().chain([intercept]).collect()),
        }
    };
    (0..heads).map(of_head).collect()
}

fn without_weights(duals: Vec<f32>) -> Start {
    Start {
        updates: 0,
        duals,
        weights: None,
    }
}

/// Every hundredth row replaced by another's, whose dual variables begin at 0.
fn change(examples: &mut [OwnedExample], others: &[OwnedExample], start: &mut [Start]) {
    for at in (50..examples.len()).step_by(100) {
        examples[at] = others[at].clone();
        start.iter_mut().for_each(|start| start.duals[at] = 0.0);
    }
}

fn assert_all_certified(
    trained: &Trained,
    specs: &[HeadSpec],
    problem: &Problem,
    examples: &[OwnedExample],
) {
    let report = trained.trainer.report().unwrap();
    for (head, (spec, found)) in specs.iter().zip(&report.heads).enumerate() {
        assert_eq!(found.stop, Some(StopReason::Tolerance), "{report:?}");
        let anew = recompute(trained, head, spec, problem, examples);
        let gap = (anew.primal - anew.dual) / anew.primal;
        assert!(gap <= 1.01 * problem.tolerance() && gap >= 0.0, "gap {gap}");
        let claimed = found.certificate;
        assert!((claimed.primal - anew.primal).abs() <= 1e-4 * anew.primal);
        assert!((claimed.dual - anew.dual).abs() <= 1e-4 * anew.primal);
    }
}

/// Trains, changes rows, trains again from what was found and from nothing; gives back the visits of both.
fn visits(
    examples: &mut [OwnedExample],
    others: &[OwnedExample],
    specs: &[HeadSpec],
    problem: Problem,
    settings: Settings,
) -> (u64, u64) {
    let first = train_examples(problem, specs.to_vec(), examples, settings).expect("trains");
    let mut start = end_of(&first, specs.len());
    change(examples, others, &mut start);
    let from_nothing = train_examples(problem, specs.to_vec(), examples, settings).expect("trains");
    let warm = train_examples_from(problem, specs.to_vec(), examples, start, settings)
        .expect("trains from dual variables");
    assert_all_certified(&from_nothing, specs, &problem, examples);
    assert_all_certified(&warm, specs, &problem, examples);
    assert_same_primals(&from_nothing, &warm, problem.tolerance());
    (
        warm.trainer.report().unwrap().visits,
        from_nothing.trainer.report().unwrap().visits,
    )
}

fn assert_same_primals(one: &Trained, other: &Trained, tolerance: f64) {
    let [one, other] = [one, other].map(|it| it.trainer.report().unwrap().heads);
    for (one, other) in one.iter().zip(&other) {
        let (a, b) = (one.certificate.primal, other.certificate.primal);
        assert!((a - b).abs() <= 1.01 * tolerance * a.max(b), "{a} {b}");
    }
}

#[test]
fn changed_rows_are_learned_from_what_was_known_in_the_cache_and_out_of_it() {
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for c in [0.01, 1.0, 30.0] {
            for bytes in [PLENTY, 6000 * 100 / 4] {
                let (mut examples, others) = (clouds(6000, 20, 2.0, 1), clouds(6000, 20, 2.0, 2));
                let settings = settings(bytes, Scale::Standard, Threads::One);
                let specs = [HeadSpec::binary(c)];
                let (warm, cold) =
                    visits(&mut examples, &others, &specs, problem(loss, c), settings);
                assert!(
                    10 * warm <= 11 * cold,
                    "{loss:?} c {c}: {warm} visits against {cold}"
                );
            }
        }
    }
}

#[test]
fn blocks_and_two_threads_begin_from_dual_variables_too() {
    for policy in [Policy::Block, Policy::SelectiveBlock, Policy::Cached] {
        let (mut examples, others) = (clouds(6000, 20, 2.0, 3), clouds(6000, 20, 2.0, 4));
        let problem = problem(Loss::Hinge, 1.0)
            .with(|it| it.solver = policy.into())
            .expect("valid");
        let settings = settings(6000 * 100 / 4, Scale::Standard, Threads::Two);
        visits(
            &mut examples,
            &others,
            &[HeadSpec::binary(1.0)],
            problem,
            settings,
        );
    }
}

#[test]
fn several_heads_begin_from_dual_variables_of_their_own() {
    for (c, bytes) in [(1.0, PLENTY), (1.0, 6000 * 80 / 4), (1e6, PLENTY)] {
        let (mut examples, others) = (quarters(6000, 5), quarters(6000, 6));
        let specs = one_against_rest(4, c);
        let problem = problem(Loss::Hinge, c)
            .with(|it| it.stopping.max_passes = Some(3000))
            .expect("valid");
        let settings = settings(bytes, Scale::Standard, Threads::One);
        if c > 1e3 {
            // too hard to finish: what is claimed must be true all the same
            let problem = problem
                .with(|it| it.stopping.max_passes = Some(4))
                .expect("valid");
            let start = vec![without_weights(vec![0.5; 6000]); 4];
            let warm = train_examples_from(problem, specs.clone(), &examples, start, settings)
                .expect("trains");
            for (head, spec) in specs.iter().enumerate() {
                let claimed = warm.trainer.report().unwrap().heads[head].certificate;
                let anew = recompute(&warm, head, spec, &problem, &examples);
                assert!((claimed.primal - anew.primal).abs() <= 1e-4 * anew.primal);
                assert!((claimed.dual - anew.dual).abs() <= 1e-4 * anew.primal);
            }
            continue;
        }
        let (warm, cold) = visits(&mut examples, &others, &specs, problem, settings);
        assert!(warm <= cold, "{warm} visits against {cold}");
    }
}

#[test]
fn rows_that_were_far_from_the_margin_are_visited_once() {
    let settings = settings(PLENTY, Scale::Standard, Threads::One);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for c in [0.1, 10.0] {
            for heads in [1, 4] {
                let (mut examples, others, specs) = match heads {
                    1 => {
                        let of = |seed| clouds(6000, 20, 3.0, seed);
                        (of(10), of(11), vec![HeadSpec::binary(c)])
                    }
                    _ => (
                        quarters(6000, 12),
                        quarters(6000, 13),
                        one_against_rest(4, c),
                    ),
                };
                let problem = problem(loss, c);
                let (warm, cold) = visits(&mut examples, &others, &specs, problem, settings);
                // with squared hinge no row is at an upper bound, and more of them lie free
                let few = match loss {
                    Loss::Hinge => warm <= heads * 3 * 6000 && 2 * warm <= cold,
                    _ => 3 * warm <= 2 * cold,
                };
                assert!(
                    few,
                    "{heads} heads, {loss:?}, c {c}: {warm} visits against {cold}"
                );
            }
        }
    }
}

#[test]
fn dual_variables_beyond_their_bounds_are_moved_to_them() {
    let examples = clouds(2000, 8, 2.0, 7);
    let problem = problem(Loss::Hinge, 0.1);
    for bytes in [PLENTY, 2000 * 60 / 3] {
        let settings = settings(bytes, Scale::Standard, Threads::One);
        let start = vec![without_weights(vec![f32::INFINITY; 2000])];
        let warm = train_examples_from(
            problem,
            vec![HeadSpec::binary(0.1)],
            &examples,
            start,
            settings,
        );
        assert_certified(&warm.expect("trains"), &problem, &examples);
    }
}

#[test]
fn an_optimum_is_recognized_after_two_passes_and_a_proof() {
    let examples = clouds(4000, 12, 2.0, 8);
    let problem = problem(Loss::Hinge, 1.0);
    let settings = settings(PLENTY, Scale::Standard, Threads::One);
    let first = train(problem, &examples, settings);
    let specs = vec![HeadSpec::binary(1.0)];
    let again = train_examples_from(problem, specs, &examples, end_of(&first, 1), settings);
    let again = again.expect("trains");
    assert_certified(&again, &problem, &examples);
    assert!(
        again.trainer.report().unwrap().passes <= 4,
        "{:?}",
        again.trainer.report().unwrap()
    );
}

#[test]
fn dual_variables_that_are_not_one_a_row_are_refused() {
    let examples = clouds(100, 3, 2.0, 9);
    let settings = settings(PLENTY, Scale::None, Threads::One);
    let of = |rows| without_weights(vec![0.0; rows]);
    for start in [vec![of(99)], vec![of(100); 2]] {
        let refused = train_examples_from(
            problem(Loss::Hinge, 1.0),
            vec![HeadSpec::binary(1.0)],
            &examples,
            start,
            settings,
        );
        assert!(matches!(
            refused.err(),
            Some(EngineError::Train(TrainError::Start { .. }))
        ));
    }
}

/// Columns as they come: of very different scale, and with means far from 0.
fn unscaled(rows: usize, seed: u64) -> Vec<OwnedExample> {
    let mut examples = clouds(rows, 12, 2.0, seed);
    for example in &mut examples {
        for (j, x) in example.dense.iter_mut().enumerate() {
            *x = (*x + 3.0 * (j % 2) as f64) * 10f64.powi(j as i32 % 5);
        }
    }
    examples
}

#[test]
fn columns_of_different_scale_are_followed_too() {
    for c in [1.0, 100.0] {
        for (bytes, trainers) in [(PLENTY, 1), (PLENTY, 2), (20_000 * 80 / 4, 1)] {
            let (mut examples, others) = (unscaled(20_000, 1), unscaled(20_000, 2));
            let settings = settings(bytes, Scale::None, Threads::One);
            let specs = [HeadSpec::binary(c)];
            let problem = problem(Loss::Hinge, c).with_trainers(trainers);
            let problem = problem.expect("a number of trainers");
            let (warm, cold) = visits(&mut examples, &others, &specs, problem, settings);
            let few = match bytes {
                PLENTY => 2 * warm <= cold,
                // roles that take turns do not wait for each other, so that no spare visits make the cold one dearer; how many there are of
                // either hangs on how busy the machine is, by some per cent
                _ => 20 * warm <= 21 * cold,
            };
            assert!(
                few,
                "c {c}, {bytes} bytes, {trainers} trainers: {warm} visits against {cold}"
            );
        }
    }
}
