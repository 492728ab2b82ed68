//! PSVM: interior points on an incomplete factor, against coordinate descent, and by what every certificate must be.

use crate::common::{clouds, rings, settings};
use pgsvm_core::engine::{
    train_by_interior_point, train_by_machines, train_low_rank, ExactTrainError, InteriorFailure,
    MemorySpool, OwnedExample, SliceSource, Threads,
};
use pgsvm_core::kernels::{Expansion, KernelError, KernelKind, KernelSpec, Room, Rows};
use pgsvm_core::plan::{Goal, Plan};
use pgsvm_core::{
    Certificate, HeadSpec, Intercept, InteriorError, InteriorOutcome, InteriorRank, InteriorTerms,
    Loss, LowRankJob, MachineThreads, Problem, Scale, StopReason,
};

use crate::common::shared_machines::SharedMachines;

const LARGE: usize = 32 << 20;

fn terms(rank: usize, machines: usize) -> InteriorTerms {
    InteriorTerms {
        machines,
        rank: InteriorRank::Given(rank),
        trace_tolerance: 1e-12,
        in_norm: false,
        keep_duals: true,
        keep_weights: false,
        memory_bytes: LARGE,
    }
}

fn problem(tolerance: f64) -> Problem {
    Problem::new(Loss::Hinge, 1.0, tolerance).unwrap()
}

fn solved<'a>(
    problem: Problem,
    goal: impl Into<Goal>,
    examples: &'a [OwnedExample],
    kind: KernelKind,
    terms: InteriorTerms,
) -> Result<InteriorOutcome, InteriorFailure<SliceSource<'a>, MemorySpool>> {
    let gamma = (kind != KernelKind::Linear).then_some(0.5);
    let asked = LowRankJob {
        rank: Some(1),
        ..LowRankJob::new(KernelSpec::new(kind, gamma, 2, 1.0).unwrap())
    };
    let spools = [MemorySpool::default(), MemorySpool::default()];
    let settings = settings(LARGE, Scale::Standard, Threads::One);
    let source = SliceSource::new(examples);
    train_by_interior_point(problem, goal, source, spools, settings, (asked, terms))
}

/// The certificate of coordinate descent on a machine of low rank that leaves nothing out of so small a table.
fn by_descent(problem: Problem, heads: Vec<HeadSpec>, examples: &[OwnedExample]) -> Certificate {
    let asked = LowRankJob {
        rank: Some(400),
        tolerance: 1e-12,
        ..LowRankJob::new(KernelSpec::new(KernelKind::Rbf, Some(0.5), 2, 1.0).unwrap())
    };
    let spools = [MemorySpool::default(), MemorySpool::default()];
    let settings = settings(LARGE, Scale::Standard, Threads::One);
    let source = SliceSource::new(examples);
    let other = train_low_rank(problem, heads, source, spools, settings, asked);
    let other = other.unwrap_or_else(|error| panic!("{error}"));
    other.trained.trainer.report().unwrap().heads[0].certificate
}

#[test]
fn certificates_hold_and_the_balance_is_kept() {
    let examples = rings(700, 2, 1);
    for kind in [KernelKind::Rbf, KernelKind::Polynomial, KernelKind::Linear] {
        for c in [0.01, 1.0, 1000.0] {
            for tolerance in [1e-2, 1e-3, 1e-6] {
                let heads = vec![HeadSpec::binary(c)];
                let found = solved(problem(tolerance), heads, &examples, kind, terms(60, 2));
                let found = found.unwrap();
                let report = &found.reports[0];
                let certificate = report.certificate;
                assert_eq!(report.stop, Some(StopReason::Tolerance));
                assert!(certificate.dual <= certificate.primal * (1.0 + 1e-12));
                assert!(certificate.gap <= tolerance);
                let duals = examples.iter().zip(&found.duals[0]);
                let (mut sum, mut all) = (0.0, 0.0);
                for (example, dual) in duals {
                    let side = if example.group == 1 { 1.0 } else { -1.0 };
                    assert!((0.0..=c as f32 * example.cost * 1.000001).contains(dual));
                    sum += side * f64::from(*dual);
                    all += f64::from(*dual);
                }
                assert!(sum.abs() <= 1e-6 * all, "{sum} {all}");
                assert!(found.rests.is_sorted_by(|a, b| a > b));
            }
        }
    }
}

/// Decisions as predictions are made, of rows scaled as they were not.
fn decided(found: &InteriorOutcome, head: usize, examples: &[OwnedExample]) -> Vec<f64> {
    let landmarks = found.map.landmarks().rows().copied().unwrap();
    let factors = found.map.fold(found.weights[head].iter().copied()).unwrap();
    let intercepts = vec![found.intercepts[head]];
    let machine = Expansion::new(*found.map.kernel(), landmarks, factors, intercepts);
    let machine = machine.unwrap().unwrap();
    let mut rows = Rows::new(2);
    for example in examples {
        let values: Vec<f32> = example.dense.iter().map(|x| *x as f32).collect();
        rows.push(&values, &[]).unwrap();
    }
    let mut decisions = Vec::new();
    machine
        .decide(&rows, &mut Room::default(), &mut decisions)
        .unwrap();
    decisions
}

/// P and D by hand.
fn by_hand(found: &InteriorOutcome, head: usize, c: f64, examples: &[OwnedExample]) -> (f64, f64) {
    let decisions = decided(found, head, examples);
    let norm: f64 = found.weights[head].iter().map(|w| w * w).sum();
    let all = examples.iter().zip(&decisions);
    let losses = all.map(|(example, decision)| {
        let side = if example.group == 1 { 1.0 } else { -1.0 };
        c * f64::from(example.cost) * (1.0 - side * decision).max(0.0)
    });
    let duals: f64 = found.duals[head].iter().map(|a| f64::from(*a)).sum();
    (0.5 * norm + losses.sum::<f64>(), duals - 0.5 * norm)
}

#[test]
fn what_predicts_has_the_objectives_that_are_told() {
    let examples = rings(500, 2, 2);
    for (kind, c) in [
        (KernelKind::Rbf, 1.0),
        (KernelKind::Rbf, 100.0),
        (KernelKind::Polynomial, 10.0),
    ] {
        let spools = [MemorySpool::default(), MemorySpool::default()];
        let settings = settings(LARGE, Scale::None, Threads::One);
        let asked = LowRankJob::new(KernelSpec::new(kind, Some(0.5), 2, 1.0).unwrap());
        let found = train_by_interior_point(
            problem(1e-6),
            vec![HeadSpec::binary(c)],
            SliceSource::new(&examples),
            spools,
            settings,
            (asked, terms(40, 3)),
        );
        let found = found.unwrap_or_else(|error| panic!("{error:?}"));
        let (primal, dual) = by_hand(&found, 0, c, &examples);
        let told = found.reports[0].certificate;
        assert!(
            (primal - told.primal).abs() <= 1e-4 * primal,
            "{primal} {told:?}"
        );
        assert!((dual - told.dual).abs() <= 1e-4 * primal, "{dual} {told:?}");
    }
}

/// The squared hinge's dual variables have no upper bound; an intercept in the norm asks for no balance of them.
#[test]
fn each_loss_and_intercept_is_what_coordinate_descent_finds() {
    let examples = rings(400, 2, 3);
    for (loss, intercept) in [
        (Loss::SquaredHinge, Intercept::None),
        (Loss::SquaredHinge, Intercept::Free),
        (Loss::SquaredHinge, Intercept::InNorm),
        (Loss::Hinge, Intercept::InNorm),
    ] {
        for (c, tolerance) in [(0.01, 1e-3), (2.0, 1e-5), (500.0, 1e-4)] {
            let problem = Problem::new(loss, 1.0, tolerance).unwrap();
            let problem = problem
                .with(|it| it.formulation.intercept = intercept)
                .expect("valid");
            let heads = || vec![HeadSpec::binary(c)];
            let terms = InteriorTerms {
                in_norm: intercept == Intercept::InNorm,
                ..terms(400, 2)
            };
            let found = solved(problem, heads(), &examples, KernelKind::Rbf, terms);
            let found = found.unwrap();
            let told = found.reports[0];
            assert_eq!(told.stop, Some(StopReason::Tolerance));
            assert!(told.certificate.gap <= tolerance);
            assert!(told.certificate.dual <= told.certificate.primal * (1.0 + 1e-12));
            assert!(found.bounds[0] >= 0.0 && found.bounds[0].is_finite());
            assert!(found.steps < 40, "{} steps", found.steps);
            let expected = by_descent(problem, heads(), &examples);
            let primal = told.certificate.primal;
            assert!(
                (primal - expected.primal).abs() <= (2.0 * tolerance + 1e-4) * expected.primal,
                "{loss:?} {c} {intercept:?}: {primal} {expected:?}"
            );
        }
    }
}

/// Rings of which every twelfth row has the wrong label.
fn mislabelled(rows: usize, seed: u64) -> Vec<OwnedExample> {
    let mut examples = rings(rows, 2, seed);
    for (at, example) in examples.iter_mut().enumerate() {
        example.group ^= u32::from(at % 12 == 0);
    }
    examples
}

#[test]
fn truncated_losses_are_solved_in_rounds() {
    let examples = mislabelled(600, 5);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for (c, s) in [(1.0, 1.0), (10.0, 1.0), (10.0, 0.25)] {
            let problem = Problem::new(loss, 1.0, 1e-4).unwrap();
            let problem = problem
                .with(|it| it.formulation.truncation = Some(s))
                .expect("valid");
            let heads = || vec![HeadSpec::binary(c)];
            let run = |machines| {
                let terms = terms(60, machines);
                let spools = [MemorySpool::default(), MemorySpool::default()];
                let settings = settings(LARGE, Scale::None, Threads::One);
                let asked =
                    LowRankJob::new(KernelSpec::new(KernelKind::Rbf, Some(2.0), 2, 1.0).unwrap());
                let source = SliceSource::new(&examples);
                let found = train_by_interior_point(
                    problem,
                    heads(),
                    source,
                    spools,
                    settings,
                    (asked, terms),
                );
                found.unwrap_or_else(|error| panic!("{error:?}"))
            };
            let found = run(2);
            let report = found.reports[0];
            let (told, truncated) = (report.certificate, report.truncated.unwrap());
            assert_eq!(report.stop, Some(StopReason::Tolerance));
            assert!(told.gap <= 1e-4 && told.dual <= told.primal);
            assert!(told.primal - truncated.objective <= 1e-4 * told.primal);
            // the truncated objective by hand
            let decisions = decided(&found, 0, &examples);
            let norm: f64 = found.weights[0].iter().map(|w| w * w).sum();
            let (mut sum, mut outliers) = (0.5 * norm, 0);
            for (example, decision) in examples.iter().zip(&decisions) {
                let side = if example.group == 1 { 1.0 } else { -1.0 };
                let lost = loss.value(side * decision);
                sum += c * f64::from(example.cost) * lost.min(1.0 + s);
                outliers += u64::from(lost > 1.0 + s);
            }
            let off = (sum - truncated.objective).abs();
            assert!(off <= 1e-4 * sum, "{sum} {truncated:?}");
            assert!(outliers.abs_diff(truncated.outliers) <= 2 && outliers >= 30);
            // outliers have no dual variables
            let far = examples.iter().zip(&decisions).zip(&found.duals[0]);
            for ((example, decision), dual) in far {
                let side = if example.group == 1 { 1.0 } else { -1.0 };
                assert!(loss.value(side * decision) < 1.05 * (1.0 + s) || *dual == 0.0);
            }
            // what the convex loss finds is no better
            let convex = Problem::new(loss, 1.0, 1e-4).unwrap();
            let convex = solved(convex, heads(), &examples, KernelKind::Rbf, terms(60, 2));
            assert!(truncated.objective < convex.unwrap().reports[0].certificate.primal);
            let alone = run(1).reports[0].truncated.unwrap();
            let apart = (alone.objective - truncated.objective).abs();
            assert!(apart <= 1e-3 * sum, "{alone:?} {truncated:?}");
        }
    }
}

/// One positive row among others: weights of next to nothing are best, with a loss of 2 at that row, which rounding may make an outlier.
#[test]
fn a_row_next_to_the_line_is_no_trap() {
    for (seed, c) in (0..8).flat_map(|seed| [(seed, 0.1), (seed, 1.0), (seed, 1e3)]) {
        let mut examples = clouds(8, 2, 0.0, 30 + seed);
        for (at, example) in examples.iter_mut().enumerate() {
            example.group = u32::from(at == 7);
        }
        for in_norm in [false, true] {
            let truncated = problem(1e-3).with(|it| it.formulation.truncation = Some(1.0));
            let terms = InteriorTerms {
                in_norm,
                ..terms(8, 1)
            };
            let heads = vec![HeadSpec::binary(c)];
            let kind = KernelKind::Linear;
            let found = solved(truncated.unwrap(), heads, &examples, kind, terms);
            let report = found.unwrap().reports[0];
            assert_eq!(report.stop, Some(StopReason::Tolerance), "{report:?}");
            // no worse than weights of 0
            let most = c * examples.len() as f64;
            assert!(report.truncated.unwrap().objective <= 1.001 * most);
        }
    }
}

#[test]
fn weights_of_many_sizes_leave_room_for_steps() {
    for (seed, loss) in (0..6).flat_map(|seed| [(seed, Loss::Hinge), (seed, Loss::SquaredHinge)]) {
        let mut examples = clouds(20, 3, 0.0, 90 + seed);
        for (at, example) in examples.iter_mut().enumerate() {
            example.group = u32::from(at == 2);
            // from .0001 to 10000, the positive row's near 1
            let power = (7 * at as u64 + 3 * seed) % 17;
            example.cost = if at == 2 {
                0.3
            } else {
                10f32.powf(power as f32 / 2.0 - 4.0)
            };
        }
        for c in [0.1, 10.0] {
            let problem = Problem::new(loss, 1.0, 1e-3).unwrap();
            let heads = vec![HeadSpec::binary(c)];
            let found = solved(problem, heads, &examples, KernelKind::Linear, terms(8, 2));
            let report = found.unwrap().reports[0];
            assert_eq!(report.stop, Some(StopReason::Tolerance), "{report:?}");
        }
    }
}

#[test]
fn without_an_intercept_it_is_what_coordinate_descent_finds() {
    let examples = rings(400, 2, 3);
    let problem = problem(1e-5)
        .with(|it| it.formulation.intercept = Intercept::None)
        .expect("valid");
    let heads = || vec![HeadSpec::binary(2.0)];
    let found = solved(problem, heads(), &examples, KernelKind::Rbf, terms(400, 2)).unwrap();
    let expected = by_descent(problem, heads(), &examples).primal;
    let primal = found.reports[0].certificate.primal;
    assert!(
        (primal - expected).abs() <= 1e-4 * expected,
        "{primal} {expected}"
    );
}

#[test]
fn the_number_of_machines_changes_no_more_than_rounding() {
    let examples = rings(501, 3, 4);
    let with = |machines| {
        let terms = terms(50, machines);
        solved(
            problem(1e-4),
            Plan::train(10.0),
            &examples,
            KernelKind::Rbf,
            terms,
        )
        .unwrap()
    };
    let alone = with(1);
    assert_eq!(alone.reports.len(), 3);
    for machines in [2, 3, 7, 16] {
        let others = with(machines);
        assert_eq!(others.map.pivots(), alone.map.pivots());
        assert_eq!(others.times.len(), machines);
        let pairs = others.reports.iter().zip(&alone.reports);
        for (own, one) in pairs {
            let (own, one) = (own.certificate, one.certificate);
            assert!((own.primal - one.primal).abs() <= 1e-6 * one.primal);
            assert!((own.dual - one.dual).abs() <= 1e-6 * one.primal);
        }
        for (own, one) in others.intercepts.iter().zip(&alone.intercepts) {
            assert!((own - one).abs() <= 1e-4);
        }
        let (own, one) = (others.fit.as_ref().unwrap(), alone.fit.as_ref().unwrap());
        assert_eq!((own.rows, one.rows), (501, 501));
        assert!((own.accuracy() - one.accuracy()).abs() < 0.01);
    }
}

/// Machines that see the same memory, as processes do, are the same bit for bit as threads with channels.
#[test]
fn machines_with_shared_memory_find_what_those_with_channels_do() {
    let examples = rings(501, 3, 4);
    for machines in [1, 2, 3, 5] {
        let terms = terms(50, machines);
        let expected = solved(
            problem(1e-4),
            Plan::train(10.0),
            &examples,
            KernelKind::Rbf,
            terms,
        );
        let expected = expected.unwrap();
        let asked = LowRankJob {
            rank: Some(1),
            ..LowRankJob::new(KernelSpec::new(KernelKind::Rbf, Some(0.5), 2, 1.0).unwrap())
        };
        let found = train_by_machines(
            problem(1e-4),
            Plan::train(10.0).into(),
            SliceSource::new(&examples),
            [MemorySpool::default(), MemorySpool::default()],
            settings(LARGE, Scale::Standard, Threads::One),
            (asked, terms),
            (None, SharedMachines::new(machines)),
        );
        let found = found.unwrap();
        assert_eq!(found.map.pivots(), expected.map.pivots());
        assert_eq!(found.weights, expected.weights);
        assert_eq!(found.intercepts, expected.intercepts);
        assert_eq!(found.reports, expected.reports);
        assert_eq!(found.duals, expected.duals);
        assert_eq!(found.log.len(), expected.log.len());
        assert!(found.times.iter().all(|it| it.bytes > 501 / 5 * 200));
    }
}

/// A factor that does not fit memory goes to spools, and is the same.
#[test]
fn a_factor_in_spools_is_the_same_bit_for_bit() {
    let examples = rings(3000, 3, 4);
    let asked = LowRankJob {
        rank: Some(1),
        ..LowRankJob::new(KernelSpec::new(KernelKind::Rbf, Some(0.5), 2, 1.0).unwrap())
    };
    for machines in [1, 3] {
        let run = |memory_bytes| {
            let terms = InteriorTerms {
                memory_bytes,
                ..terms(120, machines)
            };
            train_by_machines(
                problem(1e-4),
                Plan::train(10.0).into(),
                SliceSource::new(&examples),
                [MemorySpool::default(), MemorySpool::default()],
                settings(LARGE, Scale::Standard, Threads::One),
                (asked, terms),
                (None, SharedMachines::new(machines)),
            )
        };
        // rows, vectors and the matrices of each machine, and not the 1.4 MB of H
        let without = 1_100_000 + machines * 850_000;
        let (memory, spooled) = (run(LARGE).unwrap(), run(without).unwrap());
        assert_eq!(spooled.map.pivots(), memory.map.pivots());
        assert_eq!(spooled.weights, memory.weights);
        assert_eq!(spooled.intercepts, memory.intercepts);
        assert_eq!(spooled.reports, memory.reports);
        assert_eq!(spooled.duals, memory.duals);
        let held = |found: &InteriorOutcome| found.times.iter().map(|it| it.bytes).max();
        assert!(held(&spooled) < held(&memory));
        let none = run(300_000);
        assert!(matches!(
            none,
            Err(ExactTrainError::Exact(InteriorError::Room { .. }))
        ));
    }
}

#[test]
fn shared_machines_end_together_and_say_why() {
    let mut examples = rings(300, 2, 8);
    // a row of the last machine whose k(x, x) is no finite number, while its products with others are
    examples[299].dense = vec![2e3, 2e3];
    let asked = LowRankJob {
        rank: Some(1),
        // of a few rows, of which it is none
        sample_times: 20,
        least_sample: 0,
        ..LowRankJob::new(KernelSpec::new(KernelKind::Polynomial, Some(1.0), 9, 1.0).unwrap())
    };
    let failed = train_by_machines(
        problem(1e-3),
        vec![HeadSpec::binary(1.0)].into(),
        SliceSource::new(&examples),
        [MemorySpool::default(), MemorySpool::default()],
        settings(LARGE, Scale::None, Threads::One),
        (asked, terms(20, 3)),
        (None, SharedMachines::new(3)),
    );
    let Err(ExactTrainError::Exact(InteriorError::Kernel(error))) = failed else {
        panic!("{:?}", failed.map(|it| it.reports));
    };
    assert_eq!(error, KernelError::NotFinite { row: 299 });
}

#[test]
fn more_machines_than_rows_and_rows_of_one_class_are_no_trouble() {
    let few = rings(5, 2, 5);
    let found = solved(
        problem(1e-3),
        vec![HeadSpec::binary(1.0)],
        &few,
        KernelKind::Rbf,
        terms(5, 8),
    );
    let report = found.unwrap().reports[0];
    assert!(report.certificate.gap <= 1e-3);
    let mut same = rings(50, 2, 6);
    same.iter_mut().for_each(|example| example.group = 1);
    let heads = vec![HeadSpec::binary(1.0)];
    let found = solved(problem(1e-3), heads, &same, KernelKind::Rbf, terms(5, 2)).unwrap();
    assert_eq!(found.reports[0].certificate.primal, 0.0);
    assert_eq!(
        (found.reports[0].training_accuracy, found.intercepts[0]),
        (1.0, 1.0)
    );
}

#[test]
fn the_trace_ends_it_early_and_what_is_left_bounds_the_difference() {
    let examples = rings(400, 2, 7);
    let heads = || vec![HeadSpec::binary(1.0)];
    let terms = |rank, tolerance| InteriorTerms {
        trace_tolerance: tolerance,
        ..terms(rank, 2)
    };
    let run = |rank, tolerance| {
        solved(
            problem(1e-6),
            heads(),
            &examples,
            KernelKind::Rbf,
            terms(rank, tolerance),
        )
        .unwrap()
    };
    let (rough, whole) = (run(400, 1e-2), run(400, 1e-9));
    assert!(rough.map.left_out() <= 1e-2 && rough.map.rank() < 100);
    let last = rough.rests.last().unwrap() / rough.trace;
    assert!((last - rough.map.left_out()).abs() <= 1e-12);
    let apart = (rough.reports[0].certificate.dual - whole.reports[0].certificate.dual).abs();
    assert!(
        apart <= rough.bounds[0] && apart > 0.0,
        "{apart} {:?}",
        rough.bounds
    );
}

#[test]
fn what_cannot_be_done_is_said() {
    let examples = rings(300, 2, 8);
    let heads = || vec![HeadSpec::binary(1.0)];
    let fails = |kind, terms| match solved(problem(1e-3), heads(), &examples, kind, terms) {
        Err(ExactTrainError::Exact(error)) => error,
        other => panic!("{:?}", other.map(|it| it.reports)),
    };
    let rank = fails(KernelKind::Rbf, terms(301, 2));
    assert_eq!(
        rank,
        InteriorError::Kernel(KernelError::Rank {
            rank: 301,
            rows: 300
        })
    );
    let tight = InteriorTerms {
        memory_bytes: 100_000,
        ..terms(100, 2)
    };
    let InteriorError::Room { bytes } = fails(KernelKind::Rbf, tight) else {
        panic!("it found room");
    };
    // as much as it says does
    let enough = InteriorTerms {
        memory_bytes: bytes,
        ..tight
    };
    assert!(solved(problem(1e-3), heads(), &examples, KernelKind::Rbf, enough).is_ok());
}

#[test]
fn a_forced_end_leaves_what_is_feasible() {
    let examples = rings(300, 2, 9);
    for steps in [1, 3, 6] {
        let problem = problem(1e-6)
            .with(|it| it.stopping.max_passes = Some(steps))
            .unwrap();
        let heads = vec![HeadSpec::binary(1.0)];
        let found = solved(problem, heads, &examples, KernelKind::Rbf, terms(40, 2)).unwrap();
        let report = found.reports[0];
        assert_eq!(report.stop, Some(StopReason::MaxPasses));
        assert!(found.steps <= steps && report.certificate.gap <= 1.0);
        assert!(report.certificate.dual <= report.certificate.primal);
        let sides = examples.iter().map(|it| 2.0 * f64::from(it.group) - 1.0);
        let balance: f64 = sides
            .zip(&found.duals[0])
            .map(|(side, a)| side * f64::from(*a))
            .sum();
        assert!(balance.abs() <= 1e-4, "{balance}");
    }
}

/// The machine that was found, for rows as they were trained on.
fn machine(found: &InteriorOutcome) -> Expansion {
    let landmarks = found.map.landmarks().rows().copied().unwrap();
    let folded = found.weights.iter();
    let folded = folded.map(|own| found.map.fold(own.iter().copied()).unwrap());
    let (factors, intercepts) = (folded.flatten().collect(), found.intercepts.clone());
    let machine = Expansion::new(*found.map.kernel(), landmarks, factors, intercepts);
    machine.unwrap().unwrap()
}

/// With what a model of other rows has found, of which every hundredth is another; and with what one of the same rows has.
fn steps_near(
    problem: Problem,
    (kind, c): (KernelKind, f64),
    [examples, others]: [Vec<OwnedExample>; 2],
) -> [u32; 4] {
    let mut later = examples.clone();
    for (at, other) in others.into_iter().enumerate().step_by(100) {
        later[at] = other;
    }
    let heads = || vec![HeadSpec::binary(c)];
    let before = solved(problem, heads(), &examples, kind, terms(60, 2)).unwrap();
    let cold = solved(problem, heads(), &later, kind, terms(60, 2)).unwrap();
    let gamma = (kind != KernelKind::Linear).then_some(0.5);
    let asked = LowRankJob {
        rank: Some(1),
        ..LowRankJob::new(KernelSpec::new(kind, gamma, 2, 1.0).unwrap())
    };
    let near = |examples: &[OwnedExample]| {
        let found = train_by_machines(
            problem,
            heads().into(),
            SliceSource::new(examples),
            [MemorySpool::default(), MemorySpool::default()],
            settings(LARGE, Scale::Standard, Threads::One),
            (asked, terms(60, 2)),
            (Some(machine(&before)), MachineThreads::new(2)),
        );
        found.unwrap()
    };
    let (same, warm) = (near(&examples), near(&later));
    for (found, expected) in [(&same, &before), (&warm, &cold)] {
        let [found, expected] = [found, expected].map(|it| it.reports[0].certificate);
        let tolerance = problem.tolerance();
        assert!(found.gap <= tolerance && found.dual <= found.primal);
        assert!((found.primal - expected.primal).abs() <= 1.01 * tolerance * expected.primal);
    }
    [&before, &same, &cold, &warm].map(|found| found.steps)
}

#[test]
fn a_start_near_the_solution_saves_steps_and_changes_no_claim() {
    for tolerance in [1e-3, 1e-6] {
        for terms in [(KernelKind::Rbf, 1.0), (KernelKind::Rbf, 100.0)] {
            let sets = [rings(700, 2, 9), rings(700, 2, 10)];
            let [before, same, cold, warm] = steps_near(problem(tolerance), terms, sets);
            assert!(
                same < before && warm < cold,
                "{before} {same} {cold} {warm}"
            );
        }
        let (terms, sets) = (
            (KernelKind::Linear, 1.0),
            [clouds(700, 5, 2.0, 9), clouds(700, 5, 2.0, 10)],
        );
        let [before, same, cold, warm] = steps_near(problem(tolerance), terms, sets);
        assert!(
            same < before && warm < cold,
            "{before} {same} {cold} {warm}"
        );
    }
}
