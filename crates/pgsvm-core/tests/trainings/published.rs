//! The published forms, whole: blocks of the user's choice, StreamSVM's own stop, and its picks.

use crate::common::*;
use pgsvm_core::engine::{train_examples, EngineError, OwnedExample, Settings, Threads, Trained};
use pgsvm_core::{
    Blocks, Event, HeadSpec, Inner, LogEntry, Loss, Order, Picks, Policy, Problem, ProblemError,
    Proximal, ReadError, Scale, SolverChoice, SolverError, StopReason, StopRule, Timing, Updates,
};

const PLENTY: usize = 16 << 20;
const ROWS: usize = 3000;
const TENTH: usize = ROWS * 80 / 10;

fn rows() -> Vec<OwnedExample> {
    clouds(ROWS, 12, 2.0, 16)
}

fn problem(policy: Policy, tolerance: f64) -> Problem {
    Problem::new(Loss::Hinge, 0.05, tolerance)
        .expect("valid")
        .with(|it| it.solver = policy.into())
        .expect("valid")
        .with_timing(Timing::Lockstep)
}

fn run(problem: Problem, examples: &[OwnedExample], cache: usize) -> Trained {
    train(
        problem,
        examples,
        settings(cache, Scale::Standard, Threads::One),
    )
}

fn log_of(trained: &Trained) -> Vec<LogEntry> {
    trained.trainer.log().unwrap()
}

/// Blocks of the first full pass.
fn blocks_of(trained: &Trained) -> usize {
    let log = log_of(trained);
    let of_first = log.iter().take_while(|entry| entry.event != Event::Pass);
    of_first.filter(|it| it.event == Event::Block).count()
}

#[test]
fn as_many_blocks_as_were_asked_for_whatever_the_cache() {
    let examples = rows();
    for policy in [Policy::Block, Policy::SelectiveBlock] {
        for blocks in [2, 7, 40, 64, 65, 300] {
            let problem = problem(policy, 1e-3)
                .with(|it| {
                    it.solver = it.solver.solved_in(Blocks {
                        count: Some(blocks),
                        ..it.solver.blocks().unwrap()
                    })
                })
                .unwrap();
            let trained = run(problem, &examples, PLENTY);
            assert!(!trained.reader.resident);
            assert_eq!(blocks_of(&trained), blocks as usize, "{policy:?}");
            assert_certified(&trained, &problem, &examples);
        }
        let one = problem(policy, 1e-3)
            .with(|it| {
                it.solver = it.solver.solved_in(Blocks {
                    count: Some(1),
                    ..it.solver.blocks().unwrap()
                })
            })
            .unwrap();
        let usual = run(problem(policy, 1e-3), &examples, PLENTY);
        let trained = run(one, &examples, PLENTY);
        assert!(trained.reader.resident);
        let weights = |it: &Trained| it.trainer.weights(0).iter().collect::<Vec<_>>();
        assert_eq!(weights(&trained), weights(&usual));
    }
}

#[test]
fn pieces_of_the_table_can_be_counted_too() {
    let examples = rows();
    let blocks = Blocks {
        count: Some(5),
        split: Order::Sequential,
        ..Blocks::USUAL
    };
    let problem = problem(Policy::Block, 1e-3)
        .with(|it| it.solver = SolverChoice::Block(blocks))
        .unwrap();
    let settings = settings(PLENTY, Scale::Standard, Threads::One);
    for cache in [TENTH * 4, PLENTY / 64] {
        let trained = train(
            problem,
            &examples,
            Settings {
                cache_bytes: cache,
                ..settings
            },
        );
        assert_eq!(blocks_of(&trained), 5);
        assert_certified(&trained, &problem, &examples);
    }
}

#[test]
fn more_blocks_than_rows_leave_some_empty() {
    let examples = clouds(60, 4, 2.0, 5);
    let problem = problem(Policy::Block, 1e-3)
        .with(|it| {
            it.solver = it.solver.solved_in(Blocks {
                count: Some(1000),
                ..it.solver.blocks().unwrap()
            })
        })
        .unwrap();
    let trained = run(problem, &examples, PLENTY);
    let blocks = blocks_of(&trained);
    assert!(blocks > 30 && blocks <= 60, "{blocks}");
    assert_certified(&trained, &problem, &examples);
}

#[test]
fn a_block_without_room_says_how_many_would_do() {
    let examples = rows();
    let settings = settings(TENTH, Scale::Standard, Threads::One);
    let attempt = |blocks| {
        let problem = problem(Policy::Block, 1e-3)
            .with(|it| {
                it.solver = it.solver.solved_in(Blocks {
                    count: Some(blocks),
                    ..it.solver.blocks().unwrap()
                })
            })
            .unwrap();
        let heads = vec![HeadSpec::binary(problem.c())];
        train_examples(problem, heads, &examples, settings)
    };
    let Err(EngineError::Read(ReadError::Blocks { asked, needed })) = attempt(3) else {
        panic!("three blocks have no room in a tenth");
    };
    assert_eq!(asked, 3);
    assert!(needed > 8 && needed < 40, "{needed}");
    assert!(attempt(needed as u32 + 3).is_ok());
}

#[test]
fn projected_gradients_stop_what_they_are_said_to() {
    let examples = rows();
    for (policy, cache) in [
        (Policy::Paper, PLENTY),
        (Policy::Paper, TENTH),
        (Policy::Block, PLENTY),
        (Policy::Block, TENTH),
        (Policy::SelectiveBlock, TENTH),
    ] {
        let problem = problem(policy, 1e-3)
            .with(|it| it.stopping.rule = StopRule::ProjectedGradient)
            .unwrap();
        let trained = run(problem, &examples, cache);
        let head = trained.trainer.report().unwrap().heads[0];
        assert_eq!(head.stop, Some(StopReason::ProjectedGradient), "{policy:?}");
        assert_honest(&trained, &problem, &examples);
        let log = log_of(&trained);
        let passes: Vec<_> = log.iter().filter(|it| it.event == Event::Pass).collect();
        let ranges: Vec<f64> = passes
            .iter()
            .map(|it| it.projected_gradient.expect("of each pass"))
            .collect();
        let (last, before) = ranges.split_last().expect("passes");
        assert!(*last <= 1e-3 && before.iter().all(|range| *range > 1e-3));
        assert!(log
            .iter()
            .all(|it| it.event == Event::Pass || it.projected_gradient.is_none()));
        // the gap had to be known too, but ended nothing
        assert!(passes.iter().all(|it| it.gap.is_some()));
    }
}

#[test]
fn several_heads_stop_by_their_own_gradients() {
    let examples = clouds(900, 6, 1.5, 9);
    let mut examples: Vec<_> = examples;
    for (k, example) in examples.iter_mut().enumerate() {
        example.group = (k % 10) as u32;
        example.dense[(k % 10) % 6] += 2.0;
    }
    let heads: Vec<_> = (0..10)
        .map(|class| {
            let mut signs = vec![-1; 10];
            signs[class] = 1;
            HeadSpec::new(signs, 0.01)
        })
        .collect();
    for (policy, cache) in [(Policy::Paper, 16_384), (Policy::Block, 16_384)] {
        let problem = problem(policy, 1e-2)
            .with(|it| it.stopping.rule = StopRule::ProjectedGradient)
            .unwrap();
        let settings = settings(cache, Scale::Standard, Threads::One);
        let trained = train_examples(problem, heads.clone(), &examples, settings).unwrap();
        for head in trained.trainer.report().unwrap().heads {
            assert_eq!(head.stop, Some(StopReason::ProjectedGradient));
            assert!(head.certificate.gap < 0.05, "{head:?}");
        }
    }
}

#[test]
fn what_has_no_projected_gradient_is_refused() {
    let stop = StopRule::ProjectedGradient;
    let refused = [
        problem(Policy::Cached, 1e-3),
        problem(Policy::Block, 1e-3)
            .with(|it| it.proximal = Proximal::On)
            .expect("valid"),
        problem(Policy::Block, 1e-3)
            .with(|it| {
                it.solver = SolverChoice::Block(Blocks::solved_by(Inner::Pegasos(Updates::Row)))
            })
            .unwrap(),
    ];
    for problem in refused {
        assert_eq!(
            problem.with(|it| it.stopping.rule = stop),
            Err(ProblemError::NoProjectedGradient)
        );
        assert!(problem.with(|it| it.stopping.rule = StopRule::Gap).is_ok());
    }
}

#[test]
fn a_pass_picks_as_often_as_was_asked_for() {
    let examples = rows();
    for count in [1, 4, 50] {
        let problem = problem(Policy::Paper, 1e-6)
            .with(|it| it.solver = SolverChoice::StreamSvm(Picks::Each(count)))
            .and_then(|it| it.with(|it| it.stopping.max_passes = Some(5)))
            .unwrap();
        let report = run(problem, &examples, TENTH).trainer.report().unwrap();
        let asked = 5 * ROWS as u64 * u64::from(count);
        // picks come in small numbers at a time, and of a dead slot there is no visit
        let allowed = asked - asked / 10..=asked + 64;
        assert!(
            allowed.contains(&report.visits),
            "{count}: {}",
            report.visits
        );
    }
    for refused in [0, Picks::MOST + 1] {
        let refuses = problem(Policy::Paper, 1e-3)
            .with(|it| it.solver = SolverChoice::StreamSvm(Picks::Each(refused)));
        assert_eq!(
            refuses,
            Err(ProblemError::Solver(SolverError::Picks(refused)))
        );
    }
}

#[test]
fn free_picks_need_a_process_of_their_own() {
    let examples = rows();
    let weights = |picks| {
        let problem = problem(Policy::Paper, 1e-3)
            .with(|it| it.solver = SolverChoice::StreamSvm(picks))
            .unwrap();
        let trained = run(problem, &examples, TENTH);
        trained.trainer.weights(0).iter().collect::<Vec<_>>()
    };
    assert_eq!(weights(Picks::Free), weights(Picks::Usual));
    let timed = problem(Policy::Paper, 1e-3)
        .with_timing(Timing::Timed)
        .with(|it| it.solver = SolverChoice::StreamSvm(Picks::Free))
        .unwrap();
    let settings = settings(TENTH, Scale::Standard, Threads::Two);
    let trained = train(timed, &examples, settings);
    assert_certified(&trained, &timed, &examples);
}
