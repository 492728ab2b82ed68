//! Truncated losses: the convex problem over the rows that are no outliers is solved and certified, the outliers are the rows
//! beyond the truncation, the objective is what it says, and labels that are wrong do little harm.

use crate::common::*;
use pgsvm_core::engine::{train_examples, OwnedExample, Settings, Threads, Trained};
use pgsvm_core::plan::{Folds, Goal, Plan, Purpose};
use pgsvm_core::{
    Blocks, CalibrationChoice, ForestShape, HeadSpec, Indexed, Inner, Intercept, Loss, Picks,
    Policy, Problem, ProblemError, Scale, Scoring, SolverChoice, StopReason, StopRule, Timing,
    Updates,
};

const PLENTY: usize = 16 << 20;
const TOLERANCE: f64 = 1e-3;
const FINE: f64 = 1e-4;
/// No band in which rows stay on their side is wider: of any s, and as a part of it.
const BAND: f64 = 0.26;
const BAND_OF_S: f64 = 0.25;

fn problem(loss: Loss, c: f64, s: f64) -> Problem {
    let problem = Problem::new(loss, c, TOLERANCE).expect("valid");
    problem
        .with(|it| it.formulation.truncation = Some(s))
        .expect("valid")
}

/// These rows with one in so many of the second class.
fn thinned(mut examples: Vec<OwnedExample>, of: u32) -> Vec<OwnedExample> {
    let mut seen = 0;
    examples.retain(|row| {
        seen += u32::from(row.group == 1);
        row.group == 0 || seen % of == 1
    });
    by_first_appearance(examples)
}

fn weighted(mut examples: Vec<OwnedExample>, seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    for example in &mut examples {
        example.cost = [0.5, 1.0, 3.0][numbers.below(3)];
    }
    examples
}

fn value(loss: Loss, margin: f64) -> f64 {
    let slack = (1.0 - margin).max(0.0);
    match loss {
        Loss::Hinge => slack,
        _ => slack * slack,
    }
}

/// Checks a head against what weights and dual variables say, over unscaled dense rows.
fn assert_truncated(
    trained: &Trained,
    (head, spec): (usize, &HeadSpec),
    problem: &Problem,
    examples: &[OwnedExample],
) {
    let report = trained.trainer.report().unwrap().heads[head];
    let truncated = report.truncated.expect("a truncated loss");
    let most = 1.0 + problem.truncation().unwrap();
    let band = BAND.max(BAND_OF_S * (most - 1.0));
    let (weights, duals) = (trained.trainer.weights(head), trained.trainer.duals(head));
    let mut v = vec![0.0; weights.len() + 1];
    let (mut all, mut dual, mut outside, mut between) = (0.0, 0.0, 0.0, (0, 0));
    for (example, alpha) in examples.iter().zip(duals.iter()) {
        let y = f64::from(spec.signs.of(example.group as usize));
        let alpha = f64::from(alpha);
        if y == 0.0 {
            assert_eq!(alpha, 0.0);
            continue;
        }
        let row: Vec<f64> = example.dense.iter().map(|x| f64::from(*x as f32)).collect();
        let products = row.iter().enumerate().map(|(j, x)| weights.get(j) * x);
        let loss = value(
            problem.loss(),
            y * (products.sum::<f64>() + weights.intercept()),
        );
        let weight = spec.c * f64::from(example.cost);
        all += weight * loss.min(most);
        between.0 += u64::from(loss > most + band);
        between.1 += u64::from(loss > most - band);
        if loss > most + band {
            assert_eq!(alpha, 0.0, "an outlier holds weights");
        }
        // of the rows between the dual variable says which are outliers: on the wrong side all others have one
        if loss > most - band && alpha == 0.0 {
            outside += weight * most;
        }
        dual += match problem.loss() {
            Loss::Hinge => alpha,
            _ => alpha - alpha * alpha / (4.0 * weight),
        };
        for (v, x) in v.iter_mut().zip(row.iter().chain([&1.0])) {
            *v += alpha * y * x;
        }
    }
    let norm = weights.iter().map(|w| w * w).sum::<f64>() + weights.intercept().powi(2);
    let objective = 0.5 * norm + all;
    let close =
        |a: f64, b: f64, by: f64| assert!((a - b).abs() <= by * a.abs().max(b.abs()), "{a} {b}");
    close(truncated.objective, objective, 1e-5);
    assert!(
        (between.0..=between.1).contains(&truncated.outliers),
        "{truncated:?} {between:?}"
    );
    let dual = outside + dual - 0.5 * v.iter().map(|v| v * v).sum::<f64>();
    // a row that has just come back has no dual variable yet, and is none of the outliers
    close(report.certificate.dual, dual, 1e-3);
    assert!(report.certificate.gap >= 0.0 && report.certificate.gap <= problem.tolerance());
    assert_eq!(report.stop, Some(StopReason::Tolerance));
    // rows of the band that are on the wrong side cost more there, within the tolerance
    let more = report.certificate.primal - truncated.objective;
    assert!(more >= 0.0 && more <= problem.tolerance() * report.certificate.primal);
}

fn accuracy(trained: &Trained, examples: &[OwnedExample]) -> f64 {
    let weights = trained.trainer.weights(0);
    let right = examples.iter().filter(|example| {
        let products = example
            .dense
            .iter()
            .enumerate()
            .map(|(j, x)| weights.get(j) * x);
        (products.sum::<f64>() + weights.intercept() > 0.0) == (example.group == 1)
    });
    right.count() as f64 / examples.len() as f64
}

fn check(problem: &Problem, examples: &[OwnedExample], settings: Settings) -> Trained {
    let trained = train(*problem, examples, settings);
    let spec = HeadSpec::binary(problem.c());
    assert_truncated(&trained, (0, &spec), problem, examples);
    trained
}

#[test]
fn what_a_truncated_training_says_is_so() {
    let rows = weighted(flipped(clouds(3000, 12, 4.0, 31), 0.2, 32), 33);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for (c, s) in [(0.01, 1.0), (1.0, 0.5), (1.0, 1.0), (1.0, 3.0), (30.0, 1.0)] {
            let settings = settings(PLENTY, Scale::None, Threads::One);
            check(&problem(loss, c, s), &rows, settings);
        }
    }
}

/// What Newton's method is to minimize.
fn run(c: f64, s: f64) -> Problem {
    let problem = Problem::new(Loss::SquaredHinge, c, TOLERANCE).expect("valid");
    let problem = problem
        .with(|it| it.solver = SolverChoice::Newton)
        .expect("valid")
        .with(|it| it.formulation.truncation = Some(s));
    problem.expect("valid")
}

fn objective(trained: &Trained) -> f64 {
    let head = trained.trainer.report().unwrap().heads[0];
    head.truncated.expect("a truncated loss").objective
}

#[test]
fn newtons_method_finds_outliers_anew_in_each_pass() {
    let rows = weighted(flipped(clouds(3000, 12, 4.0, 61), 0.2, 62), 63);
    for (c, s) in [(0.01, 1.25), (1.0, 0.5), (1.0, 3.0), (30.0, 1.25)] {
        // rows in the cache, by one thread and two, and rows that stream
        for (cache, trainers) in [(PLENTY, 1), (PLENTY, 2), (3000 * 96 / 10, 1)] {
            let problem = run(c, s).with_trainers(trainers).expect("valid");
            let settings = || settings(cache, Scale::None, Threads::One);
            let trained = check(&problem, &rows, settings());
            let report = trained.trainer.report().unwrap();
            assert!(report.newton && report.passes <= 60, "{c} {s}: {report:?}");
            let head = report.heads[0];
            // no row is on the wrong side
            assert_eq!(head.certificate.primal, objective(&trained));
            let problem = problem
                .with(|it| it.solver = SolverChoice::Stream)
                .expect("valid");
            let visited = check(&problem, &rows, settings());
            let (a, b) = (objective(&trained), objective(&visited));
            assert!(a <= 1.03 * b, "{c} {s}: {a} {b}");
        }
    }
}

#[test]
fn a_rare_class_is_not_given_up() {
    // one row in a hundred, apart from the others, all of which are outliers of a first step from 0
    let rows = thinned(clouds(12_000, 6, 4.0, 66), 100);
    let problem = run(1.0, 1.25);
    for (cache, leader) in [
        (PLENTY, SolverChoice::Newton),
        (PLENTY, SolverChoice::Stream),
        (24 * 1024, SolverChoice::Newton),
        (24 * 1024, SolverChoice::Stream),
    ] {
        let trained = check(
            &problem.with(|it| it.solver = leader).expect("valid"),
            &rows,
            settings(cache, Scale::None, Threads::One),
        );
        let right = trained.trainer.report().unwrap().heads[0].training_accuracy;
        assert!(right > 0.994, "{cache} {leader:?}: {right}");
    }
}

#[test]
fn newtons_method_solves_many_columns_by_products() {
    let rows = flipped(words(3000, 3000, 0, 64), 0.1, 65);
    let settings = || settings(PLENTY, Scale::None, Threads::One);
    let run = train(run(0.1, 1.25), &rows, settings());
    let visited = train(problem(Loss::SquaredHinge, 0.1, 1.25), &rows, settings());
    let head = run.trainer.report().unwrap().heads[0];
    assert!(run.trainer.report().unwrap().newton && head.certificate.gap <= TOLERANCE);
    assert!(objective(&run) <= 1.03 * objective(&visited));
}

#[test]
fn more_rows_than_are_drawn_and_several_trainers() {
    let rows = flipped(clouds(24_000, 8, 4.0, 34), 0.2, 35);
    for trainers in [1, 2] {
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            let problem = problem(loss, 1.0, 1.0)
                .with_trainers(trainers)
                .expect("valid");
            check(&problem, &rows, settings(PLENTY, Scale::None, Threads::One));
        }
    }
}

#[test]
fn a_wedge_that_no_line_cuts_out_comes_to_an_end() {
    for (rows, [cut, from, to]) in [
        (3000, [0.0, 0.0, 9.0]),
        (2000, [0.5, -1.0, 2.0]),
        (4000, [-1.0, 0.5, 1.5]),
    ] {
        let row = |i: usize| {
            let i = i as f64;
            let (x, y) = (3.0 * (i * 12.9898).sin(), 3.0 * (i * 78.233).cos());
            let inside = x + 2.0 * y <= cut && x - y > from && x - y < to;
            OwnedExample::dense(u32::from(inside), vec![x / 2.1, y / 2.1])
        };
        let examples = by_first_appearance((1..=rows).map(row).collect());
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            for (c, s) in [(1.0, 1.0), (1.0, 0.5), (30.0, 1.0), (0.1, 2.0)] {
                let settings = settings(PLENTY, Scale::None, Threads::One);
                check(&problem(loss, c, s), &examples, settings);
            }
        }
    }
}

#[test]
fn rows_that_stream_come_to_the_same() {
    let rows = flipped(clouds(8000, 20, 4.0, 36), 0.2, 37);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        let problem = problem(loss, 0.1, 1.0).with_timing(Timing::Lockstep);
        let trained = |cache| check(&problem, &rows, settings(cache, Scale::None, Threads::One));
        let [whole, tenth] = [trained(PLENTY), trained(8000 * 112 / 10)];
        assert!(whole.reader.resident && !tenth.reader.resident);
        let [a, b] = [&whole, &tenth].map(objective);
        assert!((a - b).abs() <= 3e-3 * a.max(b), "{a} {b}");
    }
}

/// Where one class is rarer and a fifth of the labels wrong, the hinge may say no more than the larger class, and a sorting by its weights
/// too little.
#[test]
fn rows_that_stream_find_wrong_labels_where_the_hinge_is_constant() {
    let clean = thinned(clouds(16_000, 60, 3.0, 71), 6);
    let wrong = flipped(clean.clone(), 0.2, 72);
    let tenth = clean.len() * 4 * 64 / 10;
    let hinge = Problem::new(Loss::Hinge, 1.0, TOLERANCE).expect("valid");
    let right = |problem: &Problem, rows: &[OwnedExample], cache| {
        let trained = train(*problem, rows, settings(cache, Scale::None, Threads::One));
        accuracy(&trained, &clean)
    };
    let (best, plain) = (right(&hinge, &clean, PLENTY), right(&hinge, &wrong, PLENTY));
    for cache in [PLENTY, tenth] {
        let found = right(&problem(Loss::Hinge, 1.0, 1.0), &wrong, cache);
        assert!(found >= best - 0.02, "{cache}: {found} {best} {plain}");
    }
}

#[test]
fn wrong_labels_do_little_harm() {
    let clean = clouds(12_000, 10, 4.0, 38);
    let wrong = flipped(clean.clone(), 0.3, 39);
    let settings = || settings(PLENTY, Scale::None, Threads::One);
    let hinge = Problem::new(Loss::Hinge, 1.0, TOLERANCE).expect("valid");
    let of_clean = accuracy(&train(hinge, &clean, settings()), &clean);
    let ramp = check(&problem(Loss::Hinge, 1.0, 1.0), &wrong, settings());
    let found = accuracy(&ramp, &clean);
    assert!(found >= of_clean - 0.01, "{found} {of_clean}");
    let plain = train(hinge, &wrong, settings())
        .trainer
        .report()
        .unwrap()
        .heads[0];
    let head = ramp.trainer.report().unwrap().heads[0];
    assert!(
        3 * head.support_vectors < plain.support_vectors,
        "{head:?} {plain:?}"
    );
    let outliers = head.truncated.expect("a truncated loss").outliers as f64 / 12_000.0;
    assert!((outliers - 0.3).abs() < 0.05, "{outliers}");
}

/// C chosen by three folds, and a probability.
fn three_folds() -> Plan {
    Plan {
        costs: vec![0.01, 1.0],
        folds: Some(Folds::Count(3)),
        purpose: Purpose::Train,
        probability: true,
        calibration: CalibrationChoice::Auto,
        scoring: Scoring::Accuracy,
        ..Plan::train(1.0)
    }
}

/// Puts each row of a class into one of three groups, a fold each.
fn deal_into_folds(rows: &mut [OwnedExample]) {
    for (k, row) in rows.iter_mut().enumerate() {
        row.group = row.group * 3 + (k % 3) as u32;
    }
}

#[test]
fn s_is_chosen_among_several() {
    let clean = clouds(4000, 6, 4.0, 42);
    let mut rows = flipped(clean, 0.2, 43);
    deal_into_folds(&mut rows);
    let truncations = vec![0.5, 1.0, 4.0];
    for costs in [vec![1.0], vec![0.01, 1.0]] {
        let plan = Plan {
            costs: costs.clone(),
            truncations: truncations.clone(),
            probability: false,
            ..three_folds()
        };
        let settings = settings(PLENTY, Scale::None, Threads::One);
        let asked = problem(Loss::Hinge, 1.0, 1.0);
        let trained = train_examples(asked, Goal::Plan(plan), &rows, settings).expect("works");
        let report = trained.trainer.report().unwrap();
        assert_eq!(report.validation.len(), 9 * costs.len());
        let (c, s) = (
            report.c.expect("chosen"),
            report.truncation.expect("chosen"),
        );
        assert!(costs.contains(&c) && truncations.contains(&s));
        let of = |it: &pgsvm_core::Validation| (it.c, it.truncation);
        let best = report
            .validation
            .iter()
            .map(|it| it.overall)
            .fold(None, f64_max);
        let chosen = report.validation.iter().find(|it| of(it) == (c, Some(s)));
        assert_eq!(chosen.expect("tried").overall, best);
        // the final head has the s chosen
        let signs: Vec<i8> = (0..6).map(|group| if group < 3 { -1 } else { 1 }).collect();
        let spec = HeadSpec::new(signs, c);
        assert_truncated(&trained, (0, &spec), &problem(Loss::Hinge, c, s), &rows);
    }
}

fn f64_max(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

#[test]
fn each_class_has_outliers_of_its_own() {
    let rows = on_a_circle(4000);
    let problem = problem(Loss::Hinge, 1.0, 1.0);
    let specs = |c: f64| -> Vec<HeadSpec> {
        let signs = [vec![1, -1, -1], vec![-1, 1, -1], vec![-1, -1, 1]];
        signs.map(|signs| HeadSpec::new(signs, c)).into()
    };
    let settings = settings(PLENTY, Scale::None, Threads::One);
    let trained = train_examples(problem, specs(1.0), &rows, settings).expect("works");
    for (head, spec) in specs(1.0).iter().enumerate() {
        assert_truncated(&trained, (head, spec), &problem, &rows);
    }
}

#[test]
fn folds_and_probabilities_work() {
    let mut rows = flipped(clouds(4000, 6, 4.0, 40), 0.1, 41);
    deal_into_folds(&mut rows);
    let settings = settings(PLENTY, Scale::None, Threads::One);
    let problem = problem(Loss::Hinge, 1.0, 1.0);
    let trained =
        train_examples(problem, Goal::Plan(three_folds()), &rows, settings).expect("works");
    let report = trained.trainer.report().unwrap();
    assert_eq!(
        (report.calibrations.heads.len(), report.validation.len()),
        (1, 6)
    );
    let signs: Vec<i8> = (0..6).map(|group| if group < 3 { -1 } else { 1 }).collect();
    let spec = HeadSpec::new(signs, report.c.expect("chosen"));
    assert_truncated(&trained, (0, &spec), &problem, &rows);
}

#[test]
fn what_solves_one_convex_problem_is_refused() {
    let plain = Problem::new(Loss::SquaredHinge, 1.0, TOLERANCE).expect("valid");
    for s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            plain.with(|it| it.formulation.truncation = Some(s)),
            Err(ProblemError::Truncation(_))
        ));
    }
    let hinge = Problem::new(Loss::Hinge, 1.0, TOLERANCE).expect("valid");
    let pegasos = hinge
        .with(|it| it.solver = SolverChoice::Block(Blocks::USUAL))
        .expect("valid");
    let pegasos = pegasos
        .with(|it| it.solver = SolverChoice::Block(Blocks::solved_by(Inner::Pegasos(Updates::Row))))
        .expect("valid");
    let others = [
        hinge
            .with(|it| it.solver = SolverChoice::Newton)
            .expect("valid"),
        hinge
            .with(|it| it.solver = SolverChoice::Average)
            .expect("valid"),
        plain
            .with(|it| it.solver = SolverChoice::StreamSvm(Picks::Usual))
            .expect("valid"),
        hinge
            .with(|it| it.solver = SolverChoice::StreamSvm(Picks::Usual))
            .expect("valid"),
        pegasos,
    ];
    for other in others {
        assert_eq!(
            other.with(|it| it.formulation.truncation = Some(1.0)),
            Err(ProblemError::CannotTruncate)
        );
        assert!(other.with(|it| it.formulation.truncation = None).is_ok());
    }
    // the projected gradients of a round say nothing of the next one
    let blocks = plain
        .with(|it| it.solver = SolverChoice::Block(Blocks::USUAL))
        .expect("valid");
    let blocks = blocks
        .with(|it| it.formulation.truncation = Some(1.0))
        .expect("valid");
    assert_eq!(
        blocks.with(|it| it.stopping.rule = StopRule::ProjectedGradient),
        Err(ProblemError::NoProjectedGradient)
    );
}

#[test]
fn blocks_come_to_the_same() {
    let rows = weighted(flipped(clouds(4000, 16, 4.0, 46), 0.2, 47), 48);
    let settings = || settings(4000 * 96 / 4, Scale::None, Threads::One);
    // Newton's method has no shift: with a larger C the split into blocks is slow
    for (loss, inner, c) in [
        (Loss::Hinge, Inner::USUAL, 1.0),
        (Loss::SquaredHinge, Inner::USUAL, 1.0),
        (Loss::SquaredHinge, Inner::Newton, 0.01),
    ] {
        let plain = Problem::new(loss, c, TOLERANCE).expect("valid");
        let streamed = plain
            .with(|it| it.formulation.truncation = Some(1.0))
            .expect("valid");
        let streamed = check(&streamed, &rows, settings());
        for policy in [Policy::Block, Policy::SelectiveBlock] {
            let by_blocks = plain.with(|it| {
                it.solver = SolverChoice::from(policy).solved_in(Blocks::solved_by(inner))
            });
            let by_blocks =
                by_blocks.and_then(|it| it.with(|it| it.formulation.truncation = Some(1.0)));
            let trained = check(&by_blocks.expect("valid"), &rows, settings());
            let (a, b) = (objective(&trained), objective(&streamed));
            assert!(a <= 1.03 * b, "{loss:?} {inner:?} {policy:?}: {a} {b}");
        }
    }
}

/// Shares of all rows that came in each pass behind the first.
fn shares(trained: &Trained) -> (f64, f64) {
    let log = trained.trainer.log().unwrap();
    let report = trained.trainer.report().unwrap();
    let (first, last) = (log.first().unwrap(), log.last().unwrap());
    let rows = (last.rows_read - first.rows_read) as f64 / report.rows as f64;
    (rows, f64::from(report.passes))
}

#[test]
fn an_index_leaves_rows_out_and_what_is_said_is_so() {
    let rows = weighted(flipped(clouds(12_000, 6, 4.0, 51), 0.2, 52), 53);
    let mut saved = (0.0, 0.0);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for s in [0.5, 0.75, 1.0] {
            let problem = problem(loss, 1.0, s).with_timing(Timing::Lockstep);
            let trained = |problem| {
                check(
                    &problem,
                    &rows,
                    settings(48 * 1024, Scale::None, Threads::One),
                )
            };
            let (plain, indexed) = (
                trained(problem),
                trained(
                    problem
                        .with(|it| it.solver = SolverChoice::Indexed(Indexed::Slack))
                        .expect("valid"),
                ),
            );
            let ((_, passes), (read, announced)) = (shares(&plain), shares(&indexed));
            assert!(read <= announced, "{loss:?} {s}: {read} {announced}");
            saved = (saved.0 + read, saved.1 + announced);
            println!("{loss:?} {s}: {read:.2} of {announced}, streaming {passes}");
            let [a, b] = [&plain, &indexed].map(objective);
            assert!((a - b).abs() <= 2e-2 * a.max(b), "{a} {b}");
        }
    }
    assert!(saved.0 < 0.9 * saved.1, "{saved:?}");
}

#[test]
fn an_index_serves_several_classes_and_two_roles() {
    serves_several_classes(None);
}

#[test]
fn a_metric_forest_serves_several_classes_and_two_roles() {
    serves_several_classes(Some(SMALL_TREES));
}

fn serves_several_classes(forest: Option<ForestShape>) {
    let rows = on_a_circle(12_000);
    let problem = problem(Loss::Hinge, 1.0, 1.0);
    let problem = problem
        .with(|it| {
            it.solver = SolverChoice::Indexed(forest.map_or(Indexed::Slack, Indexed::Forest))
        })
        .expect("valid");
    let specs = || -> Vec<HeadSpec> {
        let signs = [vec![1, -1, -1], vec![-1, 1, -1], vec![-1, -1, 1]];
        signs.map(|signs| HeadSpec::new(signs, 1.0)).into()
    };
    for threads in [Threads::One, Threads::Two] {
        let settings = settings(32 * 1024, Scale::None, threads);
        let trained = train_examples(problem, specs(), &rows, settings).expect("works");
        assert!(!trained.reader.resident);
        for (head, spec) in specs().iter().enumerate() {
            assert_truncated(&trained, (head, spec), &problem, &rows);
        }
    }
}

#[test]
fn an_index_of_a_convex_loss_leaves_rows_out_and_what_is_said_is_so() {
    let mut saved = (0.0, 0.0);
    for (features, wrong) in [(40, 0.0), (40, 0.02), (6, 0.1)] {
        let rows = flipped(clouds(12_000, features, 4.0, 54), wrong, 55);
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            let plain = Problem::new(loss, 10.0, FINE).expect("valid");
            let plain = plain.with_timing(Timing::Lockstep);
            let trained = |problem: Problem| {
                let settings = settings(8 * 1024 * features, Scale::None, Threads::One);
                let trained = train(problem, &rows, settings);
                assert!(!trained.reader.resident);
                assert_certified(&trained, &problem, &rows);
                trained
            };
            let indexed = plain
                .with(|it| it.solver = SolverChoice::Indexed(Indexed::Slack))
                .expect("valid");
            let (stream, indexed) = (trained(plain), trained(indexed));
            let ((_, passes), (read, announced)) = (shares(&stream), shares(&indexed));
            assert!(read <= announced, "{loss:?}: {read} {announced}");
            assert!(read < 1.5 * passes, "{loss:?}: {read} {passes}");
            saved = (saved.0 + read, saved.1 + announced);
            println!("{loss:?} {features} {wrong}: {read:.2} of {announced}, streaming {passes}");
            let primal = |it: &Trained| it.trainer.report().unwrap().heads[0].certificate.primal;
            let [a, b] = [&stream, &indexed].map(primal);
            assert!((a - b).abs() <= FINE * a.max(b), "{a} {b}");
        }
    }
    assert!(saved.0 < 0.9 * saved.1, "{saved:?}");
}

const SMALL_TREES: ForestShape = ForestShape {
    tree_size: 1000,
    tree_width: 8,
    query_size: Some(200),
    query_end: Some(5),
    shrink_above: 0.5,
};

/// Rows far from the margin but for a few: what queries find is little.
#[test]
fn a_metric_forest_is_asked_for_rows_and_what_is_said_is_so() {
    let mut saved = (0.0, 0.0);
    for (features, wrong) in [(6, 0.0), (40, 0.02)] {
        let rows = weighted(flipped(clouds(12_000, features, 4.0, 61), wrong, 62), 63);
        for (loss, s) in [
            (Loss::Hinge, None),
            (Loss::SquaredHinge, None),
            (Loss::Hinge, Some(1.0)),
            (Loss::SquaredHinge, Some(1.0)),
        ] {
            let plain = Problem::new(loss, 1.0, FINE).expect("valid");
            let plain = plain
                .with(|it| it.formulation.truncation = s)
                .expect("valid");
            let plain = plain.with_timing(Timing::Lockstep);
            let trained = |problem: Problem| {
                let settings = settings(8 * 1024 * features, Scale::None, Threads::One);
                let trained = train(problem, &rows, settings);
                assert!(!trained.reader.resident);
                match s {
                    Some(_) => {
                        assert_truncated(&trained, (0, &HeadSpec::binary(1.0)), &problem, &rows)
                    }
                    None => assert_certified(&trained, &problem, &rows),
                }
                trained
            };
            let asked = plain
                .with(|it| it.solver = SolverChoice::Indexed(Indexed::Forest(SMALL_TREES)))
                .expect("valid");
            let (stream, asked) = (trained(plain), trained(asked));
            let ((_, passes), (read, announced)) = (shares(&stream), shares(&asked));
            println!(
                "{loss:?} {s:?} {features} {wrong}: {read:.2} of {announced}, streaming {passes}"
            );
            saved = (saved.0 + read, saved.1 + announced);
            let primal = |it: &Trained| it.trainer.report().unwrap().heads[0].certificate.primal;
            let [a, b] = [&stream, &asked].map(primal);
            let most = if s.is_some() { 2e-2 } else { FINE };
            assert!((a - b).abs() <= most * a.max(b), "{a} {b}");
        }
    }
    assert!(saved.0 < 0.5 * saved.1, "{saved:?}");
}

/// Two trainings of the same heads by Newton's method, over rows that stream and over an index of them.
fn streamed_and_indexed(
    problem: Problem,
    specs: &[HeadSpec],
    rows: &[OwnedExample],
    (cache, threads): (usize, Threads),
) -> [Trained; 2] {
    let trained = |problem: Problem| {
        let settings = settings(cache, Scale::None, threads);
        let trained = train_examples(problem, specs.to_vec(), rows, settings).expect("works");
        let report = trained.trainer.report().unwrap();
        assert!(!trained.reader.resident && report.newton, "{report:?}");
        trained
    };
    let problem = problem
        .with(|it| it.solver = SolverChoice::Newton)
        .expect("valid");
    [
        trained(problem),
        trained(
            problem
                .with(|it| it.solver = SolverChoice::Indexed(Indexed::Newton))
                .expect("valid"),
        ),
    ]
}

/// Checks that passes over an index find what passes over all rows do. Gives back the rows that each read.
fn assert_the_same([streamed, indexed]: &[Trained; 2]) -> (f64, f64) {
    let [a, b] = [streamed, indexed].map(|it| it.trainer.report().unwrap());
    for (a, b) in a.heads.iter().zip(&b.heads) {
        let close =
            |a: f64, b: f64| assert!((a - b).abs() <= 1e-6 * a.abs().max(b.abs()), "{a} {b}");
        close(a.certificate.primal, b.certificate.primal);
        close(a.certificate.dual, b.certificate.dual);
        let outliers = |it: &pgsvm_core::HeadReport| it.truncated.map(|it| it.outliers);
        assert_eq!(outliers(a), outliers(b));
        assert_eq!(a.training_accuracy, b.training_accuracy);
        assert_eq!(a.support_vectors, b.support_vectors);
    }
    let ((all, passes), (read, announced)) = (shares(streamed), shares(indexed));
    assert_eq!((all, announced), (passes, passes));
    println!("{read:.2} of {passes}");
    (read, passes)
}

#[test]
fn newtons_method_finds_over_an_index_what_it_finds_over_all_rows() {
    let mut saved = (0.0, 0.0);
    for (features, wrong, c, s) in [
        (6, 0.2, 1.0, Some(0.5)),
        (6, 0.2, 30.0, Some(1.25)),
        (20, 0.1, 1.0, Some(1.25)),
        (6, 0.02, 10.0, None),
        (20, 0.1, 1.0, None),
    ] {
        let rows = weighted(flipped(clouds(12_000, features, 4.0, 71), wrong, 72), 73);
        let problem = Problem::new(Loss::SquaredHinge, c, 1e-6).expect("valid");
        let problem = problem
            .with(|it| it.formulation.truncation = s)
            .expect("valid");
        let specs = [HeadSpec::binary(c)];
        let cache = (8 * 1024 * features.max(6), Threads::One);
        let both = streamed_and_indexed(problem, &specs, &rows, cache);
        let (read, all) = assert_the_same(&both);
        saved = (saved.0 + read, saved.1 + all);
        for trained in &both {
            match s {
                Some(_) => assert_truncated(trained, (0, &specs[0]), &problem, &rows),
                None => assert_certified(trained, &problem, &rows),
            }
        }
    }
    assert!(saved.0 < 0.8 * saved.1, "{saved:?}");
}

#[test]
fn newtons_method_over_an_index_serves_several_classes_and_two_roles() {
    let rows = on_a_circle(12_000);
    let signs = [
        vec![1, -1, -1],
        vec![-1, 1, -1],
        vec![-1, -1, 1],
        vec![0, 1, -1],
    ];
    let specs = signs.map(|signs| HeadSpec::new(signs, 1.0));
    for threads in [Threads::One, Threads::Two] {
        for s in [None, Some(1.25)] {
            let problem = Problem::new(Loss::SquaredHinge, 1.0, 1e-6).expect("valid");
            let problem = problem
                .with(|it| it.formulation.truncation = s)
                .expect("valid");
            let both = streamed_and_indexed(problem, &specs, &rows, (32 * 1024, threads));
            assert_the_same(&both);
            for (head, spec) in specs.iter().enumerate() {
                match s {
                    Some(_) => assert_truncated(&both[1], (head, spec), &problem, &rows),
                    None => {
                        let found = recompute(&both[1], head, spec, &problem, &rows);
                        let head = both[1].trainer.report().unwrap().heads[head];
                        let said = head.certificate;
                        assert!((found.primal - said.primal).abs() <= 1e-5 * said.primal);
                        assert!((found.dual - said.dual).abs() <= 1e-5 * said.primal);
                    }
                }
            }
        }
    }
}

#[test]
fn a_free_intercept_is_part_of_what_weights_move_by() {
    let rows = clouds(12_000, 6, 4.0, 81);
    for s in [None, Some(1.25)] {
        let problem = Problem::new(Loss::SquaredHinge, 10.0, 1e-6).expect("valid");
        let problem = problem
            .with(|it| it.formulation.intercept = Intercept::Free)
            .expect("valid")
            .with(|it| it.formulation.truncation = s);
        let (problem, specs) = (problem.expect("valid"), [HeadSpec::binary(10.0)]);
        let both = streamed_and_indexed(problem, &specs, &rows, (48 * 1024, Threads::One));
        let (read, all) = assert_the_same(&both);
        assert!(read < all, "{read} {all}");
    }
}

#[test]
fn products_read_chunks_with_rows_within_the_margin_alone() {
    let rows = words(6000, 3000, 0, 74);
    for s in [None, Some(1.25)] {
        let problem = Problem::new(Loss::SquaredHinge, 10.0, TOLERANCE).expect("valid");
        let problem = problem
            .with(|it| it.formulation.truncation = s)
            .expect("valid");
        let cache = (96 * 1024, Threads::One);
        let both = streamed_and_indexed(problem, &[HeadSpec::binary(10.0)], &rows, cache);
        let ((all, _), (read, _)) = (shares(&both[0]), shares(&both[1]));
        println!("{read} {all}");
        assert!(read < 0.8 * all, "{read} {all}");
        let [a, b] = [0, 1].map(|k| both[k].trainer.report().unwrap().heads[0].certificate);
        assert!(
            (a.primal - b.primal).abs() <= TOLERANCE * a.primal,
            "{a:?} {b:?}"
        );
        if s.is_none() {
            assert_certified(&both[1], &problem, &rows);
        }
    }
}

#[test]
fn coordinate_descent_goes_on_over_the_index_where_newtons_method_does_not_arrive() {
    // columns with long tails, as they come
    let mut rows = flipped(clouds(6000, 10, 6.0, 80), 0.01, 180);
    for value in rows.iter_mut().flat_map(|row| &mut row.dense) {
        *value = value.powi(7);
    }
    let problem = Problem::new(Loss::SquaredHinge, 10.0, FINE).expect("valid");
    let problem = problem
        .with(|it| it.solver = SolverChoice::Indexed(Indexed::Newton))
        .expect("valid");
    let indexed = problem
        .with(|it| it.formulation.truncation = Some(0.1))
        .expect("valid");
    let trained = train(
        indexed,
        &rows,
        settings(40 * 1024, Scale::None, Threads::One),
    );
    let log = trained.trainer.log().unwrap();
    let verifies = log
        .iter()
        .filter(|entry| entry.event == pgsvm_core::Event::Verify);
    let (read, announced) = shares(&trained);
    println!(
        "{read} {announced} {} {:?}",
        verifies.clone().count(),
        trained.trainer.report().unwrap().heads[0]
    );
    assert!(
        verifies.count() > 1 && read < announced,
        "{read} {announced}"
    );
    assert_truncated(&trained, (0, &HeadSpec::binary(10.0)), &indexed, &rows);
}

#[test]
fn newtons_method_chooses_c_over_an_index() {
    let mut rows = flipped(clouds(9000, 6, 4.0, 77), 0.1, 78);
    deal_into_folds(&mut rows);
    for s in [None, Some(1.25)] {
        let problem = Problem::new(Loss::SquaredHinge, 1.0, TOLERANCE).expect("valid");
        let problem = problem
            .with(|it| it.solver = SolverChoice::Newton)
            .expect("valid")
            .with(|it| it.formulation.truncation = s);
        let trained = [false, true].map(|index| {
            let settings = settings(48 * 1024, Scale::None, Threads::One);
            let problem = problem
                .expect("valid")
                .with(|it| {
                    if index {
                        it.solver = SolverChoice::Indexed(Indexed::Newton)
                    }
                })
                .expect("valid");
            train_examples(problem, Goal::Plan(three_folds()), &rows, settings).expect("works")
        });
        let [a, b] = [0, 1].map(|k| trained[k].trainer.report().unwrap());
        assert_eq!(a.c, b.c);
        for (a, b) in a.validation.iter().zip(&b.validation) {
            assert_eq!(a.overall, b.overall);
        }
        let ((all, _), (read, _)) = (shares(&trained[0]), shares(&trained[1]));
        assert!(read < all, "{read} {all}");
        let [a, b] = [a, b].map(|it| it.heads[0].certificate);
        assert!(
            (a.primal - b.primal).abs() <= 1e-6 * a.primal,
            "{a:?} {b:?}"
        );
    }
}
