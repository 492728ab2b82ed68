//! Blocks solved by Newton's method on their primal: the optimum of the dual inner solver, with the same certificate.

use crate::common::*;
use pgsvm_core::engine::{EngineError, OwnedExample, Threads, Trained};
use pgsvm_core::{
    Blocks, Event, HeadSpec, Inner, Loss, Policy, Problem, Scale, SolverChoice, StopReason,
    StopRule, TrainError,
};

const PLENTY: usize = 16 << 20;
const BOTH: [Policy; 2] = [Policy::Block, Policy::SelectiveBlock];

fn problem(c: f64, tolerance: f64, policy: Policy, inner: Inner) -> Problem {
    Problem::new(Loss::SquaredHinge, c, tolerance)
        .expect("valid")
        .with(|it| it.solver = SolverChoice::from(policy).solved_in(Blocks::solved_by(inner)))
        .expect("valid")
}

fn train_in(problem: Problem, examples: &[OwnedExample], cache: usize) -> Trained {
    train(
        problem,
        examples,
        settings(cache, Scale::Standard, Threads::One),
    )
}

fn primal(trained: &Trained) -> f64 {
    trained.trainer.report().unwrap().heads[0]
        .certificate
        .primal
}

#[test]
fn objectives_are_those_of_the_dual_inner_solver() {
    let cases = [
        (clouds(2000, 40, 2.0, 31), 2000 * 192),
        (words(3000, 300, 2, 32), 3000 * 80),
        // with these features there is no matrix
        (words(3000, 4000, 0, 33), 3000 * 80),
    ];
    for (examples, bytes) in &cases {
        for policy in BOTH {
            for c in [0.01, 0.1] {
                let dual = problem(c, 1e-3, policy, Inner::USUAL);
                let expected = primal(&train_in(dual, examples, bytes / 3));
                for threads in [Threads::One, Threads::Two] {
                    let problem = problem(c, 1e-3, policy, Inner::Newton);
                    let settings = settings(bytes / 3, Scale::Standard, threads);
                    let trained = train(problem, examples, settings);
                    assert!(!trained.reader.resident);
                    assert_certified(&trained, &problem, examples);
                    let found = primal(&trained);
                    assert!(
                        (found - expected).abs() <= 1e-3 * expected.max(found),
                        "{policy:?} {c}: {found} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_dual_never_falls_and_every_block_is_told_of() {
    let examples = clouds(2000, 30, 1.5, 34);
    for policy in BOTH {
        let problem = problem(0.05, 1e-3, policy, Inner::Newton);
        let trained = train_in(problem, &examples, 2000 * 152 / 4);
        assert_certified(&trained, &problem, &examples);
        let log = trained.trainer.log().unwrap();
        let blocks = log.iter().filter(|entry| entry.event == Event::Block);
        assert!(blocks.count() > 10);
        let duals: Vec<f64> = log.iter().filter_map(|entry| entry.dual).collect();
        // what the log has is the dual at the best multiple of all dual variables, which may fall by what that gained
        let falls = |pair: &[f64]| pair[1] < pair[0] - 2e-6 * pair[0].abs();
        assert!(!duals.windows(2).any(falls), "{policy:?} {duals:?}");
    }
}

#[test]
fn many_heads_are_certified_each() {
    let examples = rings(3000, 4, 35);
    let specs: Vec<HeadSpec> = (0..4)
        .map(|class| {
            let signs = (0..4).map(|of| if of == class { 1 } else { -1 });
            HeadSpec::new(signs.collect::<Vec<i8>>(), 0.02)
        })
        .collect();
    for policy in BOTH {
        let problem = problem(0.02, 1e-3, policy, Inner::Newton);
        let settings = settings(3000 * 56 / 2, Scale::Standard, Threads::One);
        let trained =
            pgsvm_core::engine::train_examples(problem, specs.clone(), &examples, settings)
                .expect("trains");
        for (head, spec) in specs.iter().enumerate() {
            let report = trained.trainer.report().unwrap().heads[head];
            assert_eq!(report.stop, Some(StopReason::Tolerance));
            let found = recompute(&trained, head, spec, &problem, &examples);
            let claimed = report.certificate;
            assert!((found.primal - claimed.primal).abs() <= 1e-5 * claimed.primal);
            assert!((found.dual - claimed.dual).abs() <= 1e-5 * claimed.primal);
        }
    }
}

#[test]
fn rows_that_fit_are_one_block_unless_more_are_asked_for() {
    let examples = clouds(1500, 40, 1.0, 36);
    let whole = problem(0.05, 1e-3, Policy::Block, Inner::Newton);
    let trained = train_in(whole, &examples, PLENTY);
    assert_certified(&trained, &whole, &examples);
    assert!(trained.reader.resident && trained.trainer.report().unwrap().newton);
    let expected = primal(&trained);
    let split = whole
        .with(|it| {
            it.solver = it.solver.solved_in(Blocks {
                count: Some(3),
                ..it.solver.blocks().unwrap()
            })
        })
        .expect("valid");
    let trained = train_in(split, &examples, PLENTY);
    assert!(!trained.reader.resident);
    assert_certified(&trained, &split, &examples);
    assert!((primal(&trained) - expected).abs() <= 1e-3 * expected);
}

#[test]
fn the_hinge_and_a_stop_by_gradients_are_refused() {
    let examples = clouds(500, 5, 1.0, 37);
    let hinge = Problem::new(Loss::Hinge, 1.0, 1e-3)
        .expect("valid")
        .with(|it| it.solver = SolverChoice::Block(Blocks::solved_by(Inner::Newton)))
        .expect("valid");
    let specs = vec![HeadSpec::binary(1.0)];
    let settings = settings(PLENTY, Scale::Standard, Threads::One);
    let result = pgsvm_core::engine::train_examples(hinge, specs, &examples, settings);
    assert!(matches!(
        result.err(),
        Some(EngineError::Train(TrainError::NewtonLoss))
    ));
    let newton = problem(1.0, 1e-3, Policy::Block, Inner::Newton);
    assert!(newton
        .with(|it| it.stopping.rule = StopRule::ProjectedGradient)
        .is_err());
}
