//! A loss that is planted, half the squared hinge, trains by every method that the table of `objective/loss.rs` says: each finds with
//! twice the C what it finds with the squared hinge, since both then minimize the same.

use std::time::Instant;

use pgsvm_core::engine::{
    train_by_interior_point, train_exactly, train_examples, train_low_rank, MemorySpool,
    OwnedExample, Settings, SliceSource, Threads, Trained,
};
use pgsvm_core::kernels::{KernelKind, KernelSpec};
use pgsvm_core::plan::{Goal, Plan};
use pgsvm_core::{
    Balance, Blocks, Cuts, ForestShape, HeadReport, HeadSpec, Holding, Indexed, Inner, Intercept,
    InteriorRank, InteriorTerms, Loss, LowRankJob, Picks, Problem, ReaderJob, Scale, ScanTrainer,
    SolverChoice, Step, Updates,
};

use crate::common::Numbers;

use crate::common::parts::Parts;

const C: f64 = 0.3;
const TOLERANCE: f64 = 1e-3;
const PLENTY: usize = 16 << 20;
const LITTLE: usize = 16 << 10;

/// The planted loss, and what it is twice of.
const LOSSES: [(Loss, f64); 2] = [(Loss::HalfSquaredHinge, 2.0 * C), (Loss::SquaredHinge, C)];

/// Overlapping clouds around the corners of a simplex.
fn clouds(rows: usize, classes: u32) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(u64::from(classes));
    let row = |row: usize| {
        let class = row as u32 % classes;
        let centre = |j: u32| 1.5 * f64::from(u8::from(j == class));
        let features = (0..classes.max(6)).map(|j| numbers.normal() + centre(j));
        OwnedExample::dense(class, features.collect())
    };
    (0..rows).map(row).collect()
}

fn problem(loss: Loss, c: f64) -> Problem {
    Problem::new(loss, c, TOLERANCE).expect("valid")
}

/// A form of training.
type Form = fn(Problem) -> Problem;

fn solved_by(problem: Problem, solver: SolverChoice) -> Problem {
    problem.with(|it| it.solver = solver).expect("valid")
}

/// Where each head stands by both losses is the same, by what their certificates prove.
fn same(name: &str, train: impl Fn(Loss, f64) -> Vec<HeadReport>) {
    let [planted, expected] = LOSSES.map(|(loss, c)| train(loss, c));
    assert_eq!(planted.len(), expected.len());
    for (planted, expected) in planted.iter().zip(&expected) {
        let (planted, expected) = (planted.certificate, expected.certificate);
        for certificate in [planted, expected] {
            assert!(
                certificate.dual <= certificate.primal * (1.0 + 1e-9),
                "{name}"
            );
            assert!(certificate.gap <= TOLERANCE, "{name}: {certificate:?}");
        }
        assert!(
            planted.dual <= expected.primal * (1.0 + 1e-9),
            "{name}: {planted:?} {expected:?}"
        );
        assert!(
            expected.dual <= planted.primal * (1.0 + 1e-9),
            "{name}: {planted:?} {expected:?}"
        );
    }
}

fn reports(trained: &Trained) -> Vec<HeadReport> {
    trained.trainer.report().expect("memory").heads
}

fn binary(c: f64) -> Goal {
    Goal::Heads(vec![HeadSpec::binary(c)])
}

fn settings(cache: usize) -> Settings {
    Settings::new(cache, Scale::Standard, Threads::One)
}

#[test]
fn by_coordinate_descent_and_newtons_method_over_rows_that_stay_and_stream() {
    let rows = clouds(3000, 2);
    let forms: [(&str, Form); 11] = [
        ("stream", |problem| solved_by(problem, SolverChoice::Stream)),
        ("paper", |problem| {
            solved_by(problem, SolverChoice::StreamSvm(Picks::Usual))
        }),
        ("block", |problem| {
            solved_by(problem, SolverChoice::Block(Blocks::USUAL))
        }),
        ("selective", |problem| {
            solved_by(problem, SolverChoice::SelectiveBlock(Blocks::USUAL))
        }),
        ("pegasos", |problem| {
            let blocks = Blocks::solved_by(Inner::Pegasos(Updates::Row));
            solved_by(problem, SolverChoice::Block(blocks))
        }),
        ("block newton", |problem| {
            let blocks = Blocks::solved_by(Inner::Newton);
            solved_by(problem, SolverChoice::Block(blocks))
        }),
        ("newton", |problem| solved_by(problem, SolverChoice::Newton)),
        ("free intercept", |problem| {
            let free = problem.with(|it| it.formulation.intercept = Intercept::Free);
            solved_by(free.expect("valid"), SolverChoice::Newton)
        }),
        ("trainers", |problem| problem.with_trainers(2).expect("two")),
        ("indexed", |problem| {
            solved_by(problem, SolverChoice::Indexed(Indexed::Slack))
        }),
        ("forest", |problem| {
            let forest = Indexed::Forest(ForestShape::USUAL);
            solved_by(problem, SolverChoice::Indexed(forest))
        }),
    ];
    for (name, form) in forms {
        for cache in [PLENTY, LITTLE] {
            same(name, |loss, c| {
                let problem = form(problem(loss, c)).with(|it| it.stopping.max_passes = Some(3000));
                let problem = problem.expect("some");
                let trained = train_examples(problem, binary(c), &rows, settings(cache));
                reports(&trained.expect("training works"))
            });
        }
    }
}

#[test]
fn by_many_heads_at_a_time() {
    let rows = clouds(2000, 9);
    for solver in [SolverChoice::Stream, SolverChoice::Newton] {
        same("many heads", |loss, c| {
            let signs = |class| {
                (0..9)
                    .map(|other| if other == class { 1 } else { -1 })
                    .collect::<Vec<i8>>()
            };
            let goal = Goal::Heads((0..9).map(|class| HeadSpec::new(signs(class), c)).collect());
            let problem = solved_by(problem(loss, c), solver);
            let trained = train_examples(problem, goal, &rows, settings(PLENTY));
            reports(&trained.expect("training works"))
        });
    }
}

#[test]
fn by_kernel_machines() {
    let rows = clouds(400, 2);
    let asked = LowRankJob {
        rank: Some(100),
        ..LowRankJob::new(KernelSpec::new(KernelKind::Rbf, Some(0.5), 2, 1.0).expect("valid"))
    };
    let source = || SliceSource::new(&rows);
    let spools = || [MemorySpool::default(), MemorySpool::default()];
    same("low rank", |loss, c| {
        let found = train_low_rank(
            problem(loss, c),
            binary(c),
            source(),
            spools(),
            settings(PLENTY),
            asked,
        );
        reports(&found.unwrap_or_else(|error| panic!("{error}")).trained)
    });
    same("exact", |loss, c| {
        let found = train_exactly(
            problem(loss, c),
            binary(c),
            source(),
            spools(),
            settings(PLENTY),
            (asked, 1 << 20),
        );
        found.unwrap_or_else(|error| panic!("{error:?}")).reports
    });
    same("interior points", |loss, c| {
        let terms = InteriorTerms {
            machines: 2,
            rank: InteriorRank::Given(100),
            trace_tolerance: 1e-9,
            in_norm: false,
            keep_duals: false,
            keep_weights: false,
            memory_bytes: PLENTY,
        };
        let found = train_by_interior_point(
            problem(loss, c),
            binary(c),
            source(),
            spools(),
            settings(PLENTY),
            (asked, terms),
        );
        found.unwrap_or_else(|error| panic!("{error:?}")).reports
    });
}

#[test]
fn by_scans() {
    let rows = clouds(3000, 2);
    let dealt = Parts::by_turns(&rows, 3);
    for by_interior_points in [false, true] {
        same("scans", |loss, c| {
            scanned(&dealt, (loss, c), by_interior_points)
        });
    }
}

fn scanned(dealt: &Parts<'_>, (loss, c): (Loss, f64), by_interior_points: bool) -> Vec<HeadReport> {
    let problem = solved_by(problem(loss, c), SolverChoice::Scan(Cuts::BesideHeld));
    let job = ReaderJob {
        balance: Balance::None,
        ..ReaderJob::new(Scale::Standard, &problem)
    };
    let surveyed = dealt.survey(&job, 1 << 14).finish(&[], 1).expect("memory");
    let form = surveyed.form.copied().expect("memory");
    let holding = Holding {
        bytes: 1 << 20,
        lets_go: false,
    };
    let (plan, now) = (Plan::train(c), Instant::now());
    let trainer = match by_interior_points {
        true => ScanTrainer::interior_point(&problem, &plan, surveyed, now),
        false => ScanTrainer::new(&problem, &plan, surveyed, holding, now),
    };
    let mut trainer = trainer.expect("memory");
    loop {
        match trainer.step(1000).expect("memory") {
            Step::Progress => {}
            Step::Blocked => {
                let pass = trainer.pass().expect("memory");
                let sums = dealt.scan(&pass, &form);
                trainer.take(pass, sums).expect("memory");
            }
            Step::Done => break,
        }
    }
    trainer.report().expect("memory").heads
}
