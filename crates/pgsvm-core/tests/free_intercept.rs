//! A free intercept is in no norm: coordinate descent keeps it by the method of multipliers, and what it claims is true.

mod common;

use common::*;
use pgsvm_core::engine::{OwnedExample, Threads, Trained};
use pgsvm_core::{
    Blocks, ForestShape, Indexed, Inner, Intercept, Loss, Picks, Problem, ProblemError, Scale,
    SolverChoice, StopReason, StopRule, Updates,
};

const PLENTY: usize = 64 << 20;
/// A part of the rows.
const LITTLE: usize = 160 << 10;

fn problem(loss: Loss, c: f64, solver: SolverChoice) -> Problem {
    Problem::new(loss, c, 1e-3)
        .and_then(|problem| {
            problem.with(|it| {
                it.formulation.intercept = Intercept::Free;
                it.solver = solver;
            })
        })
        .expect("valid")
}

/// Trained on rows as they are.
fn in_memory(problem: Problem, examples: &[OwnedExample]) -> Trained {
    train(
        problem,
        examples,
        settings(PLENTY, Scale::None, Threads::One),
    )
}

fn primal(trained: &Trained) -> f64 {
    trained.trainer.report().unwrap().heads[0]
        .certificate
        .primal
}

/// Few positive rows, and all rows far from 0.
fn lopsided(rows: usize, features: usize, offset: f64) -> Vec<OwnedExample> {
    let mut examples = clouds(rows, features, 2.0, 11);
    let mut kept = 0;
    examples.retain(|example| {
        kept += u32::from(example.group == 1);
        example.group == 0 || kept % 5 == 0
    });
    for example in &mut examples {
        example.dense.iter_mut().for_each(|x| *x += offset);
    }
    examples
}

#[test]
fn coordinate_descent_is_certified_whatever_the_loss_and_c() {
    for examples in [
        lopsided(3000, 8, 0.0),
        lopsided(2000, 5, 3.0),
        words(2000, 300, 2, 7),
    ] {
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            for c in [0.01, 1.0, 100.0] {
                let problem = problem(loss, c, SolverChoice::Stream);
                let trained = in_memory(problem, &examples);
                assert_certified(&trained, &problem, &examples);
            }
        }
    }
}

#[test]
fn every_place_for_rows_keeps_it() {
    let examples = lopsided(6000, 10, 0.5);
    let of = |loss, solver, cache| {
        // as published, block minimization is slow near the end
        let tolerance = match solver {
            SolverChoice::Block(_) => 2e-2,
            _ => 1e-3,
        };
        let problem = problem(loss, 1.0, solver);
        let problem = problem
            .with(|it| it.stopping.tolerance = tolerance)
            .expect("valid");
        let trained = train(
            problem,
            &examples,
            settings(cache, Scale::Standard, Threads::One),
        );
        assert_certified(&trained, &problem, &examples);
        primal(&trained)
    };
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        let whole = of(loss, SolverChoice::Stream, PLENTY);
        for solver in [
            SolverChoice::Stream,
            SolverChoice::StreamSvm(Picks::Usual),
            SolverChoice::Block(Blocks::USUAL),
            SolverChoice::SelectiveBlock(Blocks::USUAL),
            SolverChoice::Indexed(Indexed::Slack),
            SolverChoice::Indexed(Indexed::Forest(ForestShape::USUAL)),
        ] {
            let found = of(loss, solver, LITTLE);
            assert!((found - whole).abs() <= 2e-2 * whole, "{found} {whole}");
        }
    }
    for solver in [
        SolverChoice::Newton,
        SolverChoice::Block(Blocks::solved_by(Inner::Newton)),
    ] {
        for cache in [PLENTY, LITTLE] {
            of(Loss::SquaredHinge, solver, cache);
        }
    }
}

#[test]
fn rows_far_from_0_do_not_hold_it() {
    for (offset, c) in [(30.0, 0.01), (30.0, 100.0), (-8.0, 1.0)] {
        let examples = lopsided(20_000, 20, offset);
        let near = lopsided(20_000, 20, 0.0);
        let problem = problem(Loss::Hinge, c, SolverChoice::Stream);
        let found = [&near, &examples].map(|examples| {
            let trained = in_memory(problem, examples);
            assert_certified(&trained, &problem, examples);
            assert!(trained.trainer.report().unwrap().passes < 80);
            primal(&trained)
        });
        // where rows lie makes no difference to the problem
        assert!((found[0] - found[1]).abs() <= 2e-3 * found[0], "{found:?}");
    }
}

#[test]
fn truncated_losses_have_it_too() {
    let mut examples = lopsided(4000, 6, 2.0);
    for (at, example) in examples.iter_mut().enumerate() {
        example.group ^= u32::from(at % 25 == 0);
    }
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        let plain = problem(loss, 1.0, SolverChoice::Stream);
        let truncated = plain
            .with(|it| it.formulation.truncation = Some(1.0))
            .expect("valid");
        let trained = in_memory(truncated, &examples);
        let report = trained.trainer.report().unwrap();
        assert_eq!(
            report.heads[0].stop,
            Some(StopReason::Tolerance),
            "{report:?}"
        );
        let whole = in_memory(plain, &examples);
        assert!(report.heads[0].certificate.primal < primal(&whole));
        assert!(report.heads[0].truncated.is_some_and(|it| it.outliers > 0));
    }
}

#[test]
fn trainers_share_the_rows_of_it() {
    let examples = lopsided(20_000, 10, 0.5);
    for cache in [PLENTY, LITTLE] {
        let problem = problem(Loss::Hinge, 1.0, SolverChoice::Stream)
            .with_trainers(2)
            .expect("valid");
        let trained = train(
            problem,
            &examples,
            settings(cache, Scale::Standard, Threads::One),
        );
        assert_certified(&trained, &problem, &examples);
    }
}

#[test]
fn pegasos_and_projected_gradients_know_none() {
    let by_pegasos = SolverChoice::Block(Blocks::solved_by(Inner::Pegasos(Updates::Row)));
    let free = |solver| {
        let usual = Problem::new(Loss::Hinge, 1.0, 1e-3).expect("valid");
        usual.with(|it| {
            it.formulation.intercept = Intercept::Free;
            it.solver = solver;
        })
    };
    assert_eq!(free(by_pegasos), Err(ProblemError::NoFreeIntercept));
    let stopped = free(SolverChoice::Block(Blocks::USUAL)).expect("valid");
    let stopped = stopped.with(|it| it.stopping.rule = StopRule::ProjectedGradient);
    assert_eq!(stopped, Err(ProblemError::NoProjectedGradient));
}
