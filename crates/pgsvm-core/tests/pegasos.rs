//! Pegasos in place of coordinate descent: slower, and certified all the same.

mod common;

use common::*;
use pgsvm_core::engine::{OwnedExample, Settings, Threads, Trained};
use pgsvm_core::{
    Event, Inner, Loss, Policy, Problem, ProblemError, Proximal, Scale, StopReason, Timing, Updates,
};

const PLENTY: usize = 16 << 20;
const TENTH: usize = 4000 * 80 / 10;

fn problem(c: f64, updates: Updates, tolerance: f64, passes: u32) -> Problem {
    Problem::new(Loss::Hinge, c, tolerance)
        .and_then(|problem| {
            problem
                .with_policy(Policy::Block)
                .with_inner(Inner::Pegasos(updates))
        })
        .and_then(|problem| problem.with_max_passes(passes))
        .expect("valid")
}

fn rows() -> Vec<OwnedExample> {
    clouds(4000, 12, 2.0, 16)
}

fn train_in(problem: Problem, examples: &[OwnedExample], cache: usize) -> Trained {
    train(
        problem,
        examples,
        settings(cache, Scale::Standard, Threads::One),
    )
}

#[test]
fn updates_by_rows_arrive_and_prove_it() {
    let examples = rows();
    let exact = train_in(
        Problem::new(Loss::Hinge, 0.01, 1e-4).expect("valid"),
        &examples,
        PLENTY,
    );
    let best = exact.trainer.report().unwrap().heads[0].certificate.primal;
    for cache in [PLENTY, TENTH] {
        let problem = problem(0.01, Updates::Row, 0.02, 300);
        let trained = train_in(problem, &examples, cache);
        assert_eq!(trained.reader.resident, cache == PLENTY);
        assert_certified(&trained, &problem, &examples);
        let primal = trained.trainer.report().unwrap().heads[0]
            .certificate
            .primal;
        assert!(primal <= 1.03 * best, "{primal} {best}");
    }
}

#[test]
fn updates_by_blocks_come_nearer_and_say_how_near() {
    let examples = rows();
    for cache in [PLENTY, TENTH] {
        let gaps = [3, 100].map(|passes| {
            let problem = problem(0.01, Updates::Block, 1e-6, passes);
            let trained = train_in(problem, &examples, cache);
            assert_honest(&trained, &problem, &examples);
            let head = trained.trainer.report().unwrap().heads[0];
            assert_eq!(head.stop, Some(StopReason::MaxPasses));
            head.certificate.gap
        });
        assert!(gaps[1] < gaps[0], "{gaps:?}");
    }
}

#[test]
fn costs_and_large_c_keep_the_certificate_honest() {
    let mut examples = rows();
    for (k, example) in examples.iter_mut().enumerate() {
        example.cost = [0.3, 1.0, 7.0][k % 3];
    }
    for updates in [Updates::Row, Updates::Block] {
        for c in [1e-4, 1.0, 1e4] {
            let problem = problem(c, updates, 1e-6, 7);
            let trained = train_in(problem, &examples, TENTH);
            assert_honest(&trained, &problem, &examples);
        }
    }
}

#[test]
fn a_pass_updates_once_for_each_row_or_block() {
    let examples = rows();
    let log = |updates| {
        let problem = problem(0.01, updates, 1e-6, 2);
        let trained = train_in(problem, &examples, TENTH);
        let blocks = trained.trainer.log().unwrap();
        let blocks = blocks.iter().filter(|entry| entry.event == Event::Block);
        (blocks.count(), trained.trainer.report().unwrap().visits)
    };
    let (blocks, visits) = log(Updates::Row);
    assert!(blocks > 10);
    assert_eq!(visits, 2 * 4000);
    assert_eq!(log(Updates::Block), (blocks, visits));
}

#[test]
fn a_seed_gives_the_same_weights_whoever_is_faster() {
    let examples = words(3000, 200, 2, 15);
    let run = |threads| {
        let problem = problem(0.1, Updates::Row, 1e-6, 3).with_timing(Timing::Lockstep);
        let settings = Settings::new(3000 * 90 / 10, Scale::Standard, threads);
        let trained = train(problem, &examples, settings);
        trained.trainer.weights(0).iter().collect::<Vec<_>>()
    };
    assert_eq!(run(Threads::One), run(Threads::Two));
}

#[test]
fn it_is_for_the_hinge_loss_and_has_no_shift() {
    let squared = Problem::new(Loss::SquaredHinge, 1.0, 1e-3).expect("valid");
    assert_eq!(
        squared.with_inner(Inner::Pegasos(Updates::Row)),
        Err(ProblemError::PegasosLoss)
    );
    let problem = problem(1.0, Updates::Row, 1e-3, 1).with_proximal(Proximal::On);
    assert_eq!(problem.proximal(), Proximal::Off);
}
