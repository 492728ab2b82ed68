//! A free intercept is in no norm: coordinate descent keeps it by the method of multipliers, and what it claims is true.

use crate::common::parts::{with_room, Parts};
use crate::common::*;
use pgsvm_core::engine::{train_examples_from, OwnedExample, Threads, Trained};
use pgsvm_core::{
    Blocks, Cuts, ForestShape, HeadSpec, Indexed, Inner, Intercept, Loss, Order, Picks, Problem,
    ProblemError, Scale, SolverChoice, Start, StopReason, StopRule, Updates,
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

/// The only positive row, among all others, is an outlier: what is left has no dual variables but 0 that balance.
#[test]
fn rows_of_one_side_alone_are_soon_proved() {
    for (rows, solver) in [20, 200]
        .into_iter()
        .flat_map(|rows| [(rows, SolverChoice::Stream), (rows, SolverChoice::Auto)])
    {
        for seed in 0..4 {
            let mut examples = clouds(rows, 2, 0.0, 50 + seed);
            for (at, example) in examples.iter_mut().enumerate() {
                example.group = u32::from(at == 7);
            }
            for (loss, c) in [(Loss::Hinge, 1.0), (Loss::SquaredHinge, 0.1)] {
                let problem = problem(loss, c, solver);
                let problem = problem
                    .with(|it| it.formulation.truncation = Some(1.0))
                    .expect("valid");
                let trained = in_memory(problem, &examples);
                let report = trained.trainer.report().unwrap();
                let head = report.heads[0];
                assert_eq!(head.stop, Some(StopReason::Tolerance), "{head:?}");
                assert!(report.passes < 60, "{} {loss:?}", report.passes);
            }
        }
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

/// P with the intercept in no norm, of rows as they are.
fn recomputed(examples: &[OwnedExample], c: f64, w: &[f64]) -> f64 {
    let (intercept, own) = w.split_last().expect("weights");
    let lost = |row: &OwnedExample| {
        let dense = row
            .dense
            .iter()
            .zip(own)
            .map(|(x, w)| f64::from(*x as f32) * w);
        let sparse = row.sparse_index.iter().zip(&row.sparse_value);
        let sparse =
            sparse.map(|(index, x)| f64::from(*x) * own[row.dense.len() + *index as usize]);
        let score = dense.sum::<f64>() + sparse.sum::<f64>() + intercept;
        let y = 2.0 * f64::from(row.group) - 1.0;
        f64::from(row.cost) * (1.0 - y * score).max(0.0)
    };
    let norm: f64 = own.iter().map(|w| w * w).sum();
    0.5 * norm + c * examples.iter().map(lost).sum::<f64>()
}

#[test]
fn planes_and_held_rows_keep_it() {
    for (set, examples) in [
        lopsided(3000, 8, 0.0),
        lopsided(2000, 5, 3.0),
        words(2000, 300, 2, 7),
        // more columns than a matrix is made of
        words(1500, 1500, 0, 9),
    ]
    .into_iter()
    .enumerate()
    {
        for c in [1e-4, 0.01, 1.0] {
            let fine = |solver| {
                let problem = problem(Loss::Hinge, c, solver);
                problem
                    .with(|it| it.stopping.tolerance = 1e-5)
                    .expect("valid")
            };
            let least = primal(&in_memory(fine(SolverChoice::Stream), &examples));
            for cuts in [Cuts::BesideHeld, Cuts::Ocas(0.1), Cuts::Newest] {
                let problem = problem(Loss::Hinge, c, SolverChoice::Scan(cuts));
                let parts = Parts::by_turns(&examples, 3);
                let found = with_room(&problem, &parts, Scale::None, (60_000, 1 << 20));
                let head = found.report.heads[0];
                let place = format!(
                    "set {set}, C {c}, {cuts:?}, least {least}: {head:?}, {} passes",
                    found.report.passes
                );
                let own = recomputed(&examples, c, &found.weights[0]);
                assert!(
                    (own - head.certificate.primal).abs() <= 1e-9 * own,
                    "{place}: {own}"
                );
                assert!(head.certificate.dual <= least * (1.0 + 1e-9), "{place}");
                // many columns take more planes than are worth their products
                let is_slow = cuts != Cuts::BesideHeld && c == 1.0 && set >= 2;
                assert!(
                    is_slow || head.stop == Some(StopReason::Tolerance),
                    "{place}"
                );
            }
        }
    }
}
/// Rows of these dense values, of which these are positive.
fn points(rows: &[(&[f64], bool)]) -> Vec<OwnedExample> {
    let row =
        |(x, positive): &(&[f64], bool)| OwnedExample::dense(u32::from(*positive), x.to_vec());
    rows.iter().map(row).collect()
}

/// Two classes that overlap, one of them a third of the rows.
fn overlapping(rows: usize) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(17);
    let row = |at: usize| {
        let x = [numbers.normal(), numbers.normal()];
        let score = x[0] + 0.5 * x[1] + (at as f64).sin();
        OwnedExample::dense(u32::from(score > 0.6), x.to_vec())
    };
    by_first_appearance((0..rows).map(row).collect())
}

/// Blocks of coordinate descent.
fn by_blocks(count: u32, split: Order, rounds: u32) -> SolverChoice {
    SolverChoice::Block(Blocks {
        count: Some(count),
        split,
        inner: Inner::CoordinateDescent(rounds),
        ..Blocks::USUAL
    })
}

fn trained_in_blocks(loss: Loss, c: f64, solver: SolverChoice) -> (u32, Trained) {
    let examples = overlapping(200);
    let problem = problem(loss, c, solver);
    let trained = train(
        problem,
        &examples,
        settings(PLENTY, Scale::Standard, Threads::One),
    );
    assert_certified(&trained, &problem, &examples);
    (trained.trainer.report().unwrap().passes, trained)
}

#[test]
fn no_block_by_itself_moves_what_it_is_pulled_to() {
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        let solver = by_blocks(8, Order::Sequential, 1);
        let (_, trained) = trained_in_blocks(loss, 0.1, solver);
        let primal = primal(&trained);
        let log = trained.trainer.log().unwrap();
        let duals = log.iter().filter_map(|entry| entry.dual);
        // what the log takes the dual to be is no nonsense on the way either
        duals.for_each(|dual| assert!(dual <= 2.0 * primal, "{dual} {primal}"));
    }
    for (loss, c, most) in [
        (Loss::Hinge, 1.0, 150),
        (Loss::SquaredHinge, 0.1, 50),
        (Loss::SquaredHinge, 1.0, 300),
    ] {
        let (passes, _) = trained_in_blocks(loss, c, by_blocks(8, Order::Random, 10));
        assert!(passes <= most, "{loss:?}, C {c}: {passes}");
    }
}

#[test]
fn dual_variables_that_are_tiny_together_move_it_far() {
    let spread = overlapping(1000);
    let three = points(&[(&[1.0], false), (&[1.0], false), (&[1.0], true)]);
    let thirty: Vec<_> = (0..30)
        .map(|at| OwnedExample::dense(u32::from(at > 0), vec![f64::from(at) / 10.0]))
        .collect();
    for (examples, loss, c, truncation) in [
        (&spread, Loss::Hinge, 1e-4, None),
        (&spread, Loss::SquaredHinge, 1e-4, None),
        (&spread, Loss::Hinge, 1e-6, Some(1.0)),
        (&three, Loss::Hinge, 1e-3, None),
        (&three, Loss::Hinge, 1e-3, Some(1.0)),
        (&three, Loss::SquaredHinge, 1e-3, Some(1.0)),
        (&thirty, Loss::Hinge, 1e-3, None),
        (&thirty, Loss::Hinge, 1e-3, Some(1.0)),
    ] {
        let problem = problem(loss, c, SolverChoice::Stream)
            .with(|it| it.formulation.truncation = truncation)
            .expect("valid");
        let trained = in_memory(problem, examples);
        let report = trained.trainer.report().unwrap();
        let place = format!("{loss:?}, C {c}, {} rows: {report:?}", examples.len());
        assert_eq!(report.heads[0].stop, Some(StopReason::Tolerance), "{place}");
        assert!(report.passes <= 100, "{place}");
        if truncation.is_none() {
            assert_honest(&trained, &problem, examples);
        }
    }
}

#[test]
fn dual_variables_are_balanced_whichever_are_stored() {
    let three = points(&[(&[1.0], false), (&[1.0], false), (&[1.0], true)]);
    for examples in [three, lopsided(500, 3, 1.0)] {
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            for c in [0.1, 1.0, 10.0] {
                for tolerance in [1e-2, 1e-4, 1e-6] {
                    let problem = problem(loss, c, SolverChoice::Stream)
                        .with(|it| it.stopping.tolerance = tolerance)
                        .expect("valid");
                    // their signed sum is checked on the way
                    assert_honest(&in_memory(problem, &examples), &problem, &examples);
                }
            }
        }
    }
}

#[test]
fn an_intercept_without_weights_is_counted() {
    let examples: Vec<_> = (0..30)
        .map(|at| OwnedExample::dense(u32::from(at > 19), vec![0.0]))
        .collect();
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for solver in [SolverChoice::Stream, by_blocks(3, Order::Random, 2)] {
            for passes in [1, 2, 3, 100] {
                let problem = problem(loss, 0.1, solver)
                    .with(|it| {
                        it.stopping.tolerance = 1e-6;
                        it.stopping.max_passes = Some(passes);
                    })
                    .expect("valid");
                assert_honest(&in_memory(problem, &examples), &problem, &examples);
            }
        }
    }
}

#[test]
fn a_block_that_begins_with_an_intercept_alone_counts_it() {
    let examples = overlapping(200);
    let start = || Start {
        updates: 0,
        duals: vec![0.0; examples.len()],
        weights: Some(vec![0.0, 0.0, -12.9]),
    };
    for passes in [1, 2, 100] {
        let problem = problem(Loss::Hinge, 0.1, by_blocks(8, Order::Random, 10))
            .with(|it| it.stopping.max_passes = Some(passes))
            .expect("valid");
        let trained = train_examples_from(
            problem,
            vec![HeadSpec::binary(0.1)],
            &examples,
            vec![start()],
            settings(PLENTY, Scale::Standard, Threads::One),
        )
        .expect("works");
        assert_honest(&trained, &problem, &examples);
    }
}
