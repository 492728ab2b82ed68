//! PSVM by scans: what machines that keep their rows find, and what the certificate says is true of the rows.

use crate::common::parts::{example, Parts};
use crate::common::{clouds, rings, settings};
use pgsvm_core::engine::{
    train_by_interior_point, MemorySpool, OwnedExample, SliceSource, Threads,
};
use pgsvm_core::kernels::{KernelKind, KernelSpec};
use pgsvm_core::{
    HeadSpec, Intercept, InteriorChoice, InteriorRank, InteriorTerms, Loss, LowRankJob, Machines,
    Plan, Problem, ReaderJob, Scale, ScanTrainer, SolverChoice, StopReason, Survey, TrainerReport,
};
use std::time::Instant;

/// What is changed about a problem.
type Change = fn(Problem) -> Problem;

struct Found {
    report: TrainerReport,
    w: Vec<f64>,
}

fn by_scans(problem: &Problem, examples: &[OwnedExample], parts: usize) -> Found {
    by_scans_near(problem, examples, parts, None)
}

/// The same near these weights.
fn by_scans_near(
    problem: &Problem,
    examples: &[OwnedExample],
    parts: usize,
    near: Option<&[f64]>,
) -> Found {
    let job = ReaderJob::new(Scale::Standard, problem);
    let mut survey = Survey::new(&job, 0);
    for row in examples {
        survey.take(&example(row)).unwrap();
    }
    let surveyed = survey.finish(&[], 1).unwrap();
    let form = surveyed.form.copied().unwrap();
    let dealt = Parts::by_turns(examples, parts);
    let plan = Plan::train(problem.c());
    let mut trainer =
        ScanTrainer::interior_point(problem, &plan, surveyed, Instant::now()).unwrap();
    if let Some(weights) = near {
        trainer.begin_at(vec![weights.to_vec()]).unwrap();
    }
    assert!(dealt.train(&mut trainer, 1000, &form, || ()));
    let w = trainer.weights(0);
    Found {
        w: w.iter().chain([w.intercept()]).collect(),
        report: trainer.report().unwrap(),
    }
}

/// The same problem with an intercept in the norm.
fn with_intercept_in_norm(problem: Problem) -> Problem {
    let choice = InteriorChoice {
        machines: Machines::Scans,
        rank: InteriorRank::Power(InteriorTerms::POWER),
        trace_tolerance: LowRankJob::DEFAULT_TOLERANCE,
        in_norm: true,
    };
    let changed = problem.with(|it| it.solver = SolverChoice::InteriorPoint(choice));
    changed.expect("valid")
}

fn in_norm(problem: &Problem) -> bool {
    matches!(problem.solver(), SolverChoice::InteriorPoint(choice) if choice.in_norm)
}

fn by_machines(problem: Problem, examples: &[OwnedExample], rank: usize) -> f64 {
    let asked = LowRankJob {
        rank: Some(1),
        ..LowRankJob::new(KernelSpec::new(KernelKind::Linear, None, 2, 1.0).unwrap())
    };
    let terms = InteriorTerms {
        machines: 2,
        rank: InteriorRank::Given(rank),
        trace_tolerance: 1e-12,
        in_norm: in_norm(&problem),
        keep_duals: false,
        keep_weights: false,
        memory_bytes: 32 << 20,
    };
    let found = train_by_interior_point(
        problem,
        vec![HeadSpec::binary(problem.c())],
        SliceSource::new(examples),
        [MemorySpool::default(), MemorySpool::default()],
        settings(32 << 20, Scale::Standard, Threads::One),
        (asked, terms),
    );
    let found = found.unwrap_or_else(|error| panic!("{error:?}"));
    found.reports[0].certificate.primal
}

/// Rows as they are scaled.
fn scaled(examples: &[OwnedExample]) -> Vec<Vec<f64>> {
    // a row of weight 3 is three rows
    let n: f64 = examples.iter().map(|it| f64::from(it.cost)).sum();
    let features = examples[0].dense.len();
    let mean_of = |value: &dyn Fn(&OwnedExample) -> f64| {
        let weighed = examples.iter().map(|it| f64::from(it.cost) * value(it));
        weighed.sum::<f64>() / n
    };
    let means: Vec<f64> = (0..features)
        .map(|at| mean_of(&|it| it.dense[at]))
        .collect();
    let deviation = |at: usize| mean_of(&|it| (it.dense[at] - means[at]).powi(2)).sqrt();
    let deviations: Vec<f64> = (0..features).map(deviation).collect();
    let row = |it: &OwnedExample| {
        let values = it.dense.iter().enumerate();
        values
            .map(|(at, x)| (x - means[at]) / deviations[at])
            .collect()
    };
    examples.iter().map(row).collect()
}

#[test]
fn it_arrives_where_machines_do_and_its_certificate_is_true() {
    let mut unequal = clouds(900, 7, 0.8, 3);
    unequal.retain(|row| row.group == 0 || row.cost > 0.0 && row.dense[0] > 0.4);
    for (at, row) in unequal.iter_mut().enumerate() {
        row.cost = [0.2, 1.0, 4.0][at % 3];
    }
    let sets = [clouds(1500, 6, 1.0, 1), rings(600, 2, 2), unequal];
    for (set, examples) in sets.iter().enumerate() {
        let rows = scaled(examples);
        for c in [0.01, 1.0, 100.0] {
            for tolerance in [1e-2, 1e-5] {
                let problem = Problem::new(Loss::Hinge, c, tolerance).unwrap();
                let found = by_scans(&problem, examples, 3);
                let head = found.report.heads[0];
                let place = format!("set {set}, C {c}, {tolerance}: {head:?}");
                assert_eq!(head.stop, Some(StopReason::Tolerance), "{place}");
                let (w, b) = found.w.split_at(found.w.len() - 1);
                let norm: f64 = w.iter().map(|w| w * w).sum();
                let lost = |(row, it): (&Vec<f64>, &OwnedExample)| {
                    let score: f64 = row.iter().zip(w).map(|(x, w)| x * w).sum();
                    let y = 2.0 * f64::from(it.group) - 1.0;
                    f64::from(it.cost) * (1.0 - y * (score + b[0])).max(0.0)
                };
                let losses: f64 = rows.iter().zip(examples).map(lost).sum();
                let primal = 0.5 * norm + c * losses;
                let told = head.certificate;
                assert!(
                    (primal - told.primal).abs() < 1e-5 * primal,
                    "{place}: {primal}"
                );
                assert!(told.gap >= 0.0 && told.gap <= tolerance);
                let expected = by_machines(problem, examples, rows[0].len());
                assert!(told.dual <= expected * (1.0 + 1e-6), "{place}: {expected}");
                assert!(
                    (told.primal - expected).abs() <= 2.0 * tolerance * expected,
                    "{place}"
                );
                assert!(found.report.passes < 70, "{place}: {}", found.report.passes);
                eprintln!("{set} {c} {tolerance} {} scans", found.report.passes);
            }
        }
    }
}

#[test]
fn each_loss_and_intercept_arrives_where_machines_do() {
    let plain = |problem| problem;
    let forms: [(Loss, Change); 3] = [
        (Loss::SquaredHinge, plain),
        (Loss::SquaredHinge, with_intercept_in_norm),
        (Loss::Hinge, with_intercept_in_norm),
    ];
    let mut sets = [clouds(1500, 6, 1.0, 1), rings(600, 2, 2)];
    for set in &mut sets {
        // sides that are not even, so that there is an intercept
        set.retain(|row| row.group == 0 || row.dense[0] > 0.2);
    }
    for ((set, examples), (loss, form)) in sets
        .iter()
        .enumerate()
        .flat_map(|set| forms.map(|it| (set, it)))
    {
        let rank = examples[0].dense.len();
        for c in [0.01, 1.0, 100.0] {
            for tolerance in [1e-2, 1e-5] {
                let problem = form(Problem::new(loss, c, tolerance).unwrap());
                let found = by_scans(&problem, examples, 3);
                let head = found.report.heads[0];
                let place = format!("set {set}, C {c}, {tolerance}: {head:?}");
                assert_eq!(head.stop, Some(StopReason::Tolerance), "{place}");
                let told = head.certificate;
                assert!(told.gap >= 0.0 && told.gap <= tolerance);
                let expected = by_machines(problem, examples, rank);
                assert!(told.dual <= expected * (1.0 + 1e-6), "{place}: {expected}");
                assert!(
                    (told.primal - expected).abs() <= 2.0 * tolerance * expected,
                    "{place}: {expected}"
                );
                assert!(
                    found.report.passes < 100,
                    "{place}: {}",
                    found.report.passes
                );
                let near = by_scans_near(&problem, examples, 2, Some(&found.w));
                assert!(near.report.heads[0].certificate.gap <= tolerance);
            }
        }
    }
}

#[test]
fn how_rows_are_dealt_out_does_not_matter() {
    let examples = clouds(800, 5, 1.0, 7);
    let problem = Problem::new(Loss::Hinge, 1.0, 1e-4).unwrap();
    let one = by_scans(&problem, &examples, 1);
    let many = by_scans(&problem, &examples, 5);
    assert_eq!(one.report.passes, many.report.passes);
    for (own, other) in one.w.iter().zip(&many.w) {
        assert!((own - other).abs() < 1e-8, "{own} {other}");
    }
}

#[test]
fn without_an_intercept_it_is_the_problem_of_coordinate_descent() {
    let examples = clouds(1000, 5, 0.7, 8);
    let problem = Problem::new(Loss::Hinge, 1.0, 1e-4).unwrap();
    let problem = problem
        .with(|it| it.formulation.intercept = Intercept::None)
        .expect("valid");
    let found = by_scans(&problem, &examples, 2);
    assert_eq!(found.w.last(), Some(&0.0));
    let kept = crate::common::train(
        problem,
        &examples,
        settings(8 << 20, Scale::Standard, Threads::One),
    );
    let expected = kept.trainer.report().unwrap().heads[0].certificate.primal;
    let primal = found.report.heads[0].certificate.primal;
    assert!(
        (primal - expected).abs() < 2e-4 * expected,
        "{primal} {expected}"
    );
}

#[test]
fn a_start_near_the_solution_saves_scans_and_changes_no_claim() {
    let examples = clouds(1500, 6, 1.0, 11);
    let mut later = clouds(1500, 6, 1.0, 11);
    for (at, other) in clouds(1500, 6, 1.0, 12).into_iter().enumerate().step_by(50) {
        later[at] = other;
    }
    for c in [0.01, 1.0, 100.0] {
        let problem = Problem::new(Loss::Hinge, c, 1e-3).unwrap();
        let before = by_scans(&problem, &examples, 2);
        let cold = by_scans(&problem, &later, 2);
        let warm = by_scans_near(&problem, &later, 2, Some(&before.w));
        let [told, expected] = [&warm, &cold].map(|found| found.report.heads[0].certificate);
        assert!(told.gap >= 0.0 && told.gap <= 1e-3);
        assert!((told.primal - expected.primal).abs() <= 2e-3 * expected.primal);
        let (cold, warm) = (cold.report.passes, warm.report.passes);
        // with a large C dual variables hang on digits of margins that the weights have not
        let most = if c > 1.0 { cold + cold / 4 } else { cold - 1 };
        assert!(warm <= most, "C {c}: {warm} scans against {cold}");
        // far from it, where nothing is better
        let far: Vec<f64> = before.w.iter().map(|w| -30.0 * w).collect();
        let from_far = by_scans_near(&problem, &later, 2, Some(&far));
        assert!(from_far.report.heads[0].certificate.gap <= 1e-3);
        assert!(from_far.report.passes <= cold + 1);
    }
}
