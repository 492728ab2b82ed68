//! Labels that are numbers: regression with a loss of the distance from the label, zero up to epsilon, by every method that trains it. What is
//! certified is recomputed, and the optimum is found once more by coordinate descent over one signed dual variable a row (Ho and Lin,
//! *Large-scale linear support vector regression*, JMLR 13, 2012, algorithm 4).

use std::time::Instant;

use crate::common::parts::Parts;
use crate::common::{recompute, Numbers};
use pgsvm_core::engine::{
    train_by_interior_point, train_exactly, train_examples, train_low_rank, EngineError,
    MemorySpool, OwnedExample, Settings, SliceSource, Threads, Trained,
};
use pgsvm_core::kernels::{KernelKind, KernelSpec};
use pgsvm_core::{
    Blocks, Certificate, Cuts, Folds, ForestShape, Goal, HeadSpec, Holding, Indexed, Inner,
    Intercept, InteriorRank, InteriorTerms, Loss, LowRankJob, Plan, Problem, ReaderJob,
    SampleSearch, Scale, ScanTrainer, Scoring, SolverChoice, Step, Surveyed, TargetJob, TrainError,
};

const TOLERANCE: f64 = 1e-3;
const PLENTY: usize = 16 << 20;
const LITTLE: usize = 16 << 10;
const EPSILON: f64 = 0.2;
const LOSSES: [Loss; 3] = [Loss::Hinge, Loss::SquaredHinge, Loss::Huber];
const AS_THEY_ARE: TargetJob = TargetJob {
    epsilon: EPSILON,
    delta: None,
    standardizes: false,
};

const OF_QUANTILES: TargetJob = TargetJob {
    epsilon: 0.0,
    ..AS_THEY_ARE
};

/// Labels of a noisy plane far from 0, by features of a row, of which some may be 0.
fn plane(rows: usize, features: usize, sparse: bool, seed: u64) -> Vec<(Vec<f64>, f64)> {
    let mut numbers = Numbers::new(seed);
    let rule: Vec<f64> = (0..features).map(|_| numbers.normal()).collect();
    let row = |_| {
        let keeps = |numbers: &mut Numbers| !sparse || numbers.uniform() < 0.3;
        let x: Vec<f64> = (0..features)
            .map(|_| match keeps(&mut numbers) {
                true => f64::from(numbers.normal() as f32),
                false => 0.0,
            })
            .collect();
        let score: f64 = x.iter().zip(&rule).map(|(x, w)| x * w).sum();
        (x, score + 0.5 * numbers.normal() + 2.0)
    };
    (0..rows).map(row).collect()
}

/// Each row on the negative side and on the positive one.
fn two_sides(rows: &[(Vec<f64>, f64)], sparse: bool) -> Vec<OwnedExample> {
    let side = |(x, label): &(Vec<f64>, f64), group: u32| {
        let all = x.iter().enumerate();
        let entries: Vec<(u32, f32)> = all
            .filter(|(_, x)| **x != 0.0)
            .map(|(j, x)| (j as u32, *x as f32))
            .collect();
        let row = match sparse {
            true => OwnedExample::sparse(group, &entries),
            false => OwnedExample::dense(group, x.clone()),
        };
        OwnedExample {
            offset: Some(*label),
            ..row
        }
    };
    rows.iter()
        .flat_map(|row| [side(row, 0), side(row, 1)])
        .collect()
}

/// 1/2 |w|^2 + C sum of losses at the optimum, the intercept in the norm.
fn optimum(rows: &[(Vec<f64>, f64)], loss: Loss, c: f64, epsilon: f64) -> f64 {
    optimum_of_sides(rows, loss, [c; 2], epsilon)
}

/// The same where C of scores that are too high is another one than of those that are too low; of what bends they are one.
fn optimum_of_sides(
    rows: &[(Vec<f64>, f64)],
    loss: Loss,
    [high, low]: [f64; 2],
    epsilon: f64,
) -> f64 {
    let features = rows[0].0.len();
    let (mut w, mut beta) = (vec![0.0; features + 1], vec![0.0; rows.len()]);
    let bend = match loss.curvature() {
        0.0 => 0.0,
        curvature => 1.0 / (curvature * high),
    };
    let [least, most] = match loss.unbounded() {
        true => [-f64::INFINITY, f64::INFINITY],
        false => [-high, low],
    };
    let score =
        |w: &[f64], x: &[f64]| w[features] + x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
    loop {
        let mut primal = 0.5 * w.iter().map(|w| w * w).sum::<f64>();
        let mut dual = -primal;
        for ((x, label), beta) in rows.iter().zip(&beta) {
            let off = score(&w, x) - label;
            let c = if off > 0.0 { high } else { low };
            primal += c * loss.value(1.0 - (off.abs() - epsilon).max(0.0));
            dual += beta * label - epsilon * f64::abs(*beta) - 0.5 * bend * beta * beta;
        }
        if primal - dual <= 1e-6 * primal {
            return primal;
        }
        for ((x, label), beta) in rows.iter().zip(&mut beta) {
            let square = 1.0 + x.iter().map(|x| x * x).sum::<f64>() + bend;
            let wanted = *beta - (score(&w, x) - label + bend * *beta) / square;
            let within = wanted.clamp(-epsilon / square, epsilon / square);
            let after = (wanted - within).clamp(least, most);
            let step = after - *beta;
            *beta = after;
            w[features] += step;
            w.iter_mut().zip(x).for_each(|(w, x)| *w += step * x);
        }
    }
}

fn problem(loss: Loss, c: f64) -> Problem {
    Problem::new(loss, c, TOLERANCE)
        .expect("valid")
        .with(|it| it.stopping.max_passes = Some(3000))
        .expect("valid")
}

fn settings(cache: usize) -> Settings {
    Settings {
        targets: Some(AS_THEY_ARE),
        ..Settings::new(cache, Scale::None, Threads::One)
    }
}

fn train(problem: Problem, examples: &[OwnedExample], settings: Settings) -> Trained {
    let goal = vec![HeadSpec::binary(problem.c())];
    train_examples(problem, goal, examples, settings).expect("training works")
}

/// A form of training.
type Form = fn(Problem) -> Problem;

fn solved_by(problem: Problem, solver: SolverChoice) -> Problem {
    problem.with(|it| it.solver = solver).expect("valid")
}

/// Checks what a training claims of its only head.
fn assert_claims(name: &str, trained: &Trained, problem: &Problem, examples: &[OwnedExample]) {
    let spec = HeadSpec::binary(problem.c());
    assert_claims_of(name, trained, (0, &spec), problem, examples);
}

/// The same of a head.
fn assert_claims_of(
    name: &str,
    trained: &Trained,
    (head, spec): (usize, &HeadSpec),
    problem: &Problem,
    examples: &[OwnedExample],
) {
    let claimed = trained.trainer.report().expect("memory").heads[head].certificate;
    let found = recompute(trained, head, spec, problem, examples);
    let near = |one: f64, other: f64| (one - other).abs() <= 1e-5 * claimed.primal;
    assert!(
        near(claimed.primal, found.primal),
        "{name}: {claimed:?} {}",
        found.primal
    );
    assert!(
        near(claimed.dual, found.dual),
        "{name}: {claimed:?} {}",
        found.dual
    );
}

/// Checks a certificate against bounds of the optimum, which may be one number.
fn assert_optimal(name: &str, of: Certificate, [least, most]: [f64; 2]) {
    assert!(of.gap <= TOLERANCE, "{name}: {of:?}");
    assert!(of.dual <= most * (1.0 + 1e-6), "{name}: {of:?} {most}");
    assert!(of.primal >= least * (1.0 - 2e-6), "{name}: {of:?} {least}");
}

#[test]
fn rows_that_stay_and_stream_come_to_the_optimum() {
    let forms: [(&str, Form); 8] = [
        ("stream", |problem| solved_by(problem, SolverChoice::Stream)),
        ("block", |problem| {
            solved_by(problem, SolverChoice::Block(Blocks::USUAL))
        }),
        ("selective", |problem| {
            solved_by(problem, SolverChoice::SelectiveBlock(Blocks::USUAL))
        }),
        ("block newton", |problem| {
            let blocks = Blocks::solved_by(Inner::Newton);
            solved_by(problem, SolverChoice::Block(blocks))
        }),
        ("newton", |problem| solved_by(problem, SolverChoice::Newton)),
        ("trainers", |problem| problem.with_trainers(2).expect("two")),
        ("indexed", |problem| {
            solved_by(problem, SolverChoice::Indexed(Indexed::Slack))
        }),
        ("forest", |problem| {
            let forest = Indexed::Forest(ForestShape::USUAL);
            solved_by(problem, SolverChoice::Indexed(forest))
        }),
    ];
    for sparse in [false, true] {
        let rows = plane(700, 6, sparse, 3);
        let examples = two_sides(&rows, sparse);
        for loss in LOSSES {
            for c in [0.01, 1.0] {
                let best = optimum(&rows, loss, c, EPSILON);
                for (name, form) in forms {
                    let is_newton = name.contains("newton");
                    if is_newton && !loss.is_parabola() {
                        continue;
                    }
                    for cache in [PLENTY, LITTLE] {
                        let problem = form(problem(loss, c));
                        let trained = train(problem, &examples, settings(cache));
                        let report = trained.trainer.report().expect("memory").heads[0];
                        let name =
                            format!("{name}, {loss:?}, c {c}, {cache} bytes, sparse {sparse}");
                        let of = report.certificate;
                        assert_claims(&name, &trained, &problem, &examples);
                        assert_optimal(&name, of, [best; 2]);
                    }
                }
            }
        }
    }
}

#[test]
fn many_heads_come_to_the_optimum_of_each() {
    let rows = plane(500, 12, false, 5);
    let examples = two_sides(&rows, false);
    let costs: Vec<f64> = (0..9).map(|n| 0.01 * f64::from(1 << n)).collect();
    for solver in [SolverChoice::Stream, SolverChoice::Newton] {
        for loss in LOSSES {
            if solver == SolverChoice::Newton && !loss.is_parabola() {
                continue;
            }
            let goal: Vec<_> = costs.iter().map(|c| HeadSpec::binary(*c)).collect();
            let problem = solved_by(problem(loss, 1.0), solver);
            let trained =
                train_examples(problem, goal, &examples, settings(PLENTY)).expect("training works");
            let report = trained.trainer.report().expect("memory");
            for (head, c) in report.heads.iter().zip(&costs) {
                let (of, best) = (head.certificate, optimum(&rows, loss, *c, EPSILON));
                assert_optimal(&format!("{loss:?} {c}"), of, [best; 2]);
            }
        }
    }
}

#[test]
fn labels_are_standardized() {
    let rows = plane(600, 5, false, 7);
    let far: Vec<_> = rows
        .iter()
        .map(|(x, label)| (x.clone(), 1e6 + 40.0 * label))
        .collect();
    let examples = two_sides(&far, false);
    let problem = problem(Loss::SquaredHinge, 1.0);
    let job = TargetJob {
        standardizes: true,
        ..AS_THEY_ARE
    };
    let settings = Settings {
        targets: Some(job),
        ..settings(PLENTY)
    };
    let trained = train(problem, &examples, settings);
    assert_claims("standardized", &trained, &problem, &examples);
    let targets = trained.reader.targets.expect("labels");
    let weights = trained.trainer.weights(0);
    let squares = far.iter().map(|(x, label)| {
        let score = x.iter().enumerate().map(|(j, x)| weights.get(j) * x);
        let found = targets.label(weights.intercept() + score.sum::<f64>());
        (found - label).powi(2)
    });
    let error = (squares.sum::<f64>() / 600.0).sqrt();
    assert!(error < 22.0, "{error}");
}

/// Rows held out are scored by how far decisions are off their labels, over rows that stay, stream and are scanned: as trainings on the other
/// rows have it.
#[test]
fn rows_held_out_are_scored_by_their_errors() {
    const FOLDS: usize = 3;
    const COSTS: [f64; 3] = [1e-4, 1e-2, 1.0];
    let rows = plane(600, 6, false, 29);
    let mut examples = two_sides(&rows, false);
    let whole = examples.clone();
    for (at, side) in examples.iter_mut().enumerate() {
        side.group = side.group * FOLDS as u32 + (at / 2 % FOLDS) as u32;
    }
    let errors = |c: f64, fold: usize| {
        let is_own = |(at, _): &(usize, &OwnedExample)| at / 2 % FOLDS != fold;
        let others = whole.iter().enumerate().filter(is_own);
        let others: Vec<_> = others.map(|(_, it)| it.clone()).collect();
        let trained = train(problem(Loss::SquaredHinge, c), &others, settings(PLENTY));
        let weights = trained.trainer.weights(0);
        let held = rows.iter().enumerate().filter(|(at, _)| at % FOLDS == fold);
        let off = held.map(|(_, (x, label))| {
            let score = x.iter().enumerate().map(|(j, x)| weights.get(j) * x);
            weights.intercept() + score.sum::<f64>() - label
        });
        off.collect::<Vec<f64>>()
    };
    let mean = |all: &mut dyn Iterator<Item = f64>| {
        let (sum, count) = all.fold((0.0, 0.0), |(sum, count), it| (sum + it, count + 1.0));
        sum / count
    };
    let mut with_residuals = 0;
    for scoring in [Scoring::Rmse, Scoring::Mae, Scoring::R2] {
        let plan = Plan {
            costs: COSTS.to_vec(),
            folds: Some(Folds::Count(FOLDS as u32)),
            scoring,
            ..Plan::train(1.0)
        };
        let problem = problem(Loss::SquaredHinge, 1.0);
        let mut reports = Vec::new();
        for cache in [PLENTY, LITTLE] {
            let trained = train_examples(problem, plan.clone(), &examples, settings(cache));
            let trained = trained.expect("training works");
            reports.push(trained.trainer.report().expect("memory"));
        }
        let scanned = solved_by(problem, SolverChoice::Scan(Cuts::BesideHeld));
        let dealt = Parts::by_turns(&examples, 3);
        reports.push(scan(&scanned, &plan, &dealt).report().expect("memory"));
        for report in reports {
            assert_eq!(report.validation.len(), COSTS.len() * FOLDS);
            assert_eq!(report.c, Some(1.0), "{scoring:?} {:?}", report.validation);
            if let Some(residuals) = &report.calibrations.residuals {
                // of the C chosen, on all folds
                let mut off: Vec<f64> = (0..FOLDS).flat_map(|fold| errors(1.0, fold)).collect();
                off.iter_mut().for_each(|it| *it = it.abs());
                off.sort_unstable_by(f64::total_cmp);
                assert_eq!(residuals.rows(), off.len() as u64);
                // not the last one, which a held-out head that stops at 1e-2 may have elsewhere
                for rank in [60, 300, 540] {
                    let (found, wanted) = (residuals.sizes()[rank - 1], off[rank - 1]);
                    assert!(
                        (found - wanted).abs() < 0.03 * wanted.max(0.5),
                        "{rank}: {found} {wanted}"
                    );
                }
                with_residuals += 1;
            }
            for found in &report.validation {
                let off = errors(found.c, found.fold as usize);
                assert_eq!(found.rows as usize, off.len());
                let squares = mean(&mut off.iter().map(|it| it * it));
                let held = rows.iter().skip(found.fold as usize).step_by(FOLDS);
                let label = mean(&mut held.clone().map(|(_, label)| *label));
                let wanted = match scoring {
                    Scoring::Rmse => squares.sqrt(),
                    Scoring::Mae => mean(&mut off.iter().map(|it| it.abs())),
                    _ => 1.0 - squares / mean(&mut held.map(|(_, it)| (it - label).powi(2))),
                };
                let score = found.score.expect("rows");
                assert!(
                    (score - wanted).abs() < 0.05 * wanted.abs().max(0.1),
                    "{found:?} {wanted}"
                );
            }
        }
    }
    assert_eq!(with_residuals, 6, "in memory and not, by each score");
}

#[test]
fn a_sample_of_scanned_rows_is_scored_by_its_errors() {
    const FOLDS: u32 = 3;
    let rows = plane(600, 6, false, 29);
    let plan = Plan {
        costs: vec![1e-4, 1e-2, 1.0],
        folds: Some(Folds::Count(FOLDS)),
        scoring: Scoring::Rmse,
        ..Plan::train(1.0)
    };
    let problem = problem(Loss::SquaredHinge, 1.0);
    let job = ReaderJob {
        targets: Some(AS_THEY_ARE),
        ..ReaderJob::new(Scale::None, &problem)
    };
    let survey = Parts::by_turns(&two_sides(&rows, false), 1).survey(&job, 1 << 22);
    let surveyed = survey.finish(&[], 1).expect("memory");
    let mut search = SampleSearch::new(&problem, &plan, surveyed).expect("valid");
    while search.step(10_000).expect("memory") != Step::Done {}
    let (_, chosen) = search.finish().expect("memory");
    assert_eq!(chosen.c, 1.0, "{:?}", chosen.validation);
    assert!(chosen.validation.iter().all(|it| it.rows == 200));
    let residuals = chosen.calibrations.residuals.expect("rows were held out");
    assert_eq!(residuals.rows(), 600);
    // noise of deviation 0.5
    let width = residuals.half_width(0.9);
    assert!((0.7..1.0).contains(&width), "{width}");
}

#[test]
fn intervals_hold_as_many_labels_as_they_say() {
    const FOLDS: u32 = 5;
    let sides = |rows: &[(Vec<f64>, f64)]| {
        let mut examples = two_sides(rows, false);
        for (at, side) in examples.iter_mut().enumerate() {
            side.group = side.group * FOLDS + at as u32 / 2 % FOLDS;
        }
        examples
    };
    let plan = Plan {
        folds: Some(Folds::Count(FOLDS)),
        intervals: true,
        ..Plan::train(0.1)
    };
    let problem = problem(Loss::SquaredHinge, 0.1);
    let (mut held, mut all) = ([0.0; 3], 0.0);
    let coverages = [0.5, 0.8, 0.9];
    for seed in 0..20 {
        // one rule for the rows trained on and the others
        let rows = plane(1200, 8, false, 100 + seed);
        let (own, others) = rows.split_at(200);
        let trained = train_examples(problem, plan.clone(), &sides(own), settings(PLENTY));
        let trained = trained.expect("training works").trainer;
        let report = trained.report().expect("memory");
        let residuals = report.calibrations.residuals.expect("rows were held out");
        assert_eq!(residuals.rows(), 200);
        let weights = trained.weights(0);
        for (x, label) in others {
            let score = x.iter().enumerate().map(|(j, x)| weights.get(j) * x);
            let off = (weights.intercept() + score.sum::<f64>() - label).abs();
            for (held, coverage) in held.iter_mut().zip(coverages) {
                *held += f64::from(u8::from(off <= residuals.half_width(coverage)));
            }
            all += 1.0;
        }
    }
    for (held, coverage) in held.iter().zip(coverages) {
        let share = held / all;
        assert!((share - coverage).abs() < 0.03, "{coverage}: {share}");
    }
}

#[test]
fn a_free_intercept_takes_labels_where_they_are() {
    let mut rows = plane(400, 4, false, 11);
    rows.iter_mut().for_each(|(_, label)| *label += 100.0);
    let examples = two_sides(&rows, false);
    let forms: [(&str, Loss, Form); 3] = [
        ("stream", Loss::Hinge, |problem| problem),
        ("stream", Loss::SquaredHinge, |problem| problem),
        ("newton", Loss::SquaredHinge, |problem| {
            solved_by(problem, SolverChoice::Newton)
        }),
    ];
    for (name, loss, form) in forms {
        let free = problem(loss, 1.0).with(|it| it.formulation.intercept = Intercept::Free);
        let problem = form(free.expect("valid"));
        let trained = train(problem, &examples, settings(PLENTY));
        let report = trained.trainer.report().expect("memory").heads[0];
        assert!(
            report.certificate.gap <= TOLERANCE,
            "{name} {loss:?}: {report:?}"
        );
        let found = trained.trainer.weights(0).intercept();
        assert!((found - 102.0).abs() < 0.5, "{name} {loss:?}: {found}");
        assert_claims(name, &trained, &problem, &examples);
    }
}

/// The optimum of a kernel machine with k(x, z) = exp(-gamma |x - z|^2) and its intercept in the norm.
fn optimum_of_kernel(rows: &[(Vec<f64>, f64)], loss: Loss, c: f64, gamma: f64) -> f64 {
    let count = rows.len();
    let value = |one: &[f64], other: &[f64]| {
        let away = one.iter().zip(other).map(|(a, b)| (a - b).powi(2));
        1.0 + (-gamma * away.sum::<f64>()).exp()
    };
    let values: Vec<Vec<f64>> = rows
        .iter()
        .map(|(x, _)| rows.iter().map(|(z, _)| value(x, z)).collect())
        .collect();
    let (mut beta, mut score) = (vec![0.0; count], vec![0.0; count]);
    let bend = match loss.curvature() {
        0.0 => 0.0,
        curvature => 1.0 / (curvature * c),
    };
    let most = if loss.unbounded() { f64::INFINITY } else { c };
    loop {
        let (mut primal, mut dual) = (0.0, 0.0);
        for ((beta, score), (_, label)) in beta.iter().zip(&score).zip(rows) {
            let beyond = (f64::abs(score - label) - EPSILON).max(0.0);
            primal += 0.5 * beta * score + c * loss.value(1.0 - beyond);
            dual += beta * (label - 0.5 * score - 0.5 * bend * beta) - EPSILON * f64::abs(*beta);
        }
        if primal - dual <= 1e-5 * primal {
            return primal;
        }
        for at in 0..count {
            let square = values[at][at] + bend;
            let wanted = beta[at] - (score[at] - rows[at].1 + bend * beta[at]) / square;
            let within = wanted.clamp(-EPSILON / square, EPSILON / square);
            let step = (wanted - within).clamp(-most, most) - beta[at];
            beta[at] += step;
            let own = score.iter_mut().zip(&values[at]);
            own.for_each(|(score, value)| *score += step * value);
        }
    }
}

#[test]
fn kernel_machines_come_to_the_optimum() {
    const GAMMA: f64 = 0.5;
    let rows = plane(150, 3, false, 13);
    let examples = two_sides(&rows, false);
    let kernel = KernelSpec::new(KernelKind::Rbf, Some(GAMMA), 2, 1.0).expect("valid");
    let asked = LowRankJob {
        rank: Some(150),
        ..LowRankJob::new(kernel)
    };
    let source = || SliceSource::new(&examples);
    let spools = || [MemorySpool::default(), MemorySpool::default()];
    for loss in LOSSES {
        for c in [0.1, 3.0] {
            let best = optimum_of_kernel(&rows, loss, c, GAMMA);
            let goal = || Goal::Heads(vec![HeadSpec::binary(c)]);
            let problem = problem(loss, c);
            let low_rank =
                train_low_rank(problem, goal(), source(), spools(), settings(PLENTY), asked)
                    .unwrap_or_else(|error| panic!("{error}"));
            let low_rank = low_rank.trained.trainer.report().expect("memory").heads;
            let exact = train_exactly(
                problem,
                goal(),
                source(),
                spools(),
                settings(PLENTY),
                (asked, 1 << 22),
            )
            .unwrap_or_else(|error| panic!("{error:?}"))
            .reports;
            let terms = InteriorTerms {
                machines: 2,
                rank: InteriorRank::Given(150),
                trace_tolerance: 1e-12,
                in_norm: true,
                keep_duals: false,
                keep_weights: false,
                memory_bytes: PLENTY,
            };
            let interior = train_by_interior_point(
                problem,
                goal(),
                source(),
                spools(),
                settings(PLENTY),
                (asked, terms),
            )
            .unwrap_or_else(|error| panic!("{error:?}"))
            .reports;
            for (name, heads) in [
                ("low rank", low_rank),
                ("exact", exact),
                ("interior", interior),
            ] {
                let of = heads[0].certificate;
                assert!(of.gap <= TOLERANCE, "{name} {loss:?} {c}: {:?}", heads[0]);
                assert!(
                    of.dual <= best * (1.0 + 1e-5),
                    "{name} {loss:?} {c}: {of:?} {best}"
                );
                assert!(
                    of.primal >= best * (1.0 - 2e-5),
                    "{name} {loss:?} {c}: {of:?} {best}"
                );
            }
        }
    }
}

#[test]
fn exact_machines_with_a_free_intercept_are_certified() {
    let mut rows = plane(120, 3, false, 17);
    rows.iter_mut().for_each(|(_, label)| *label += 50.0);
    let examples = two_sides(&rows, false);
    let kernel = KernelSpec::new(KernelKind::Rbf, Some(0.5), 2, 1.0).expect("valid");
    let asked = LowRankJob {
        rank: Some(120),
        ..LowRankJob::new(kernel)
    };
    for loss in LOSSES {
        let free = problem(loss, 1.0).with(|it| it.formulation.intercept = Intercept::Free);
        let found = train_exactly(
            free.expect("valid"),
            Goal::Heads(vec![HeadSpec::binary(1.0)]),
            SliceSource::new(&examples),
            [MemorySpool::default(), MemorySpool::default()],
            settings(PLENTY),
            (asked, 1 << 22),
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
        let of = found.reports[0].certificate;
        assert!(of.gap <= TOLERANCE, "{loss:?}: {of:?}");
        assert!(of.dual <= of.primal);
        assert!(
            (found.intercepts[0] - 52.0).abs() < 2.0,
            "{:?}",
            found.intercepts
        );
    }
}

/// A training by scans of rows that these parts hold.
fn scan(problem: &Problem, plan: &Plan, dealt: &Parts) -> ScanTrainer {
    let targets = match plan.quantiles.is_empty() {
        true => AS_THEY_ARE,
        false => OF_QUANTILES,
    };
    scan_with(
        problem,
        (dealt, targets),
        plan.stride(),
        |surveyed, holding| {
            ScanTrainer::new(problem, plan, surveyed, holding, Instant::now()).expect("memory")
        },
    )
}

fn scan_with(
    problem: &Problem,
    (dealt, targets): (&Parts, TargetJob),
    stride: u32,
    begin: impl FnOnce(Surveyed, Holding) -> ScanTrainer,
) -> ScanTrainer {
    let job = ReaderJob {
        targets: Some(targets),
        stride,
        ..ReaderJob::new(Scale::None, problem)
    };
    let surveyed = dealt.survey(&job, 1 << 14).finish(&[], 1).expect("memory");
    let form = surveyed.form.copied().expect("memory");
    let holding = Holding {
        bytes: 1 << 20,
        lets_go: false,
    };
    let mut trainer = begin(surveyed, holding);
    loop {
        match trainer.step(1000).expect("memory") {
            Step::Progress => {}
            Step::Blocked => {
                let pass = trainer.pass().expect("memory");
                let sums = dealt.scan(&pass, &form);
                trainer.take(pass, sums).expect("memory");
            }
            Step::Done => return trainer,
        }
    }
}

#[test]
fn scans_come_to_the_optimum() {
    let rows = plane(900, 5, false, 19);
    let examples = two_sides(&rows, false);
    let dealt = Parts::by_turns(&examples, 3);
    for loss in LOSSES {
        let c = 0.3;
        let free = problem(loss, c).with(|it| it.formulation.intercept = Intercept::Free);
        let free = train(free.expect("valid"), &examples, settings(PLENTY));
        let free = free.trainer.report().expect("memory").heads[0].certificate;
        let best = optimum(&rows, loss, c, EPSILON);
        // interior points have a free intercept
        for (by_interior_points, [least, most]) in
            [(false, [best; 2]), (true, [free.dual, free.primal])]
        {
            let solver = SolverChoice::Scan(Cuts::BesideHeld);
            let problem = solved_by(problem(loss, c), solver);
            let plan = Plan::train(c);
            if loss == Loss::Huber && !by_interior_points {
                continue;
            }
            let trainer = match by_interior_points {
                true => scan_with(&problem, (&dealt, AS_THEY_ARE), 1, |surveyed, _| {
                    ScanTrainer::interior_point(&problem, &plan, surveyed, Instant::now())
                        .expect("memory")
                }),
                false => scan(&problem, &plan, &dealt),
            };
            let of = trainer.report().expect("memory").heads[0].certificate;
            let name = format!("{loss:?}, interior points {by_interior_points}");
            assert_optimal(&name, of, [least, most]);
        }
    }
}

const DELTA: f64 = 0.3;
const OF_HUBER: TargetJob = TargetJob {
    epsilon: 0.0,
    delta: Some(DELTA),
    standardizes: false,
};

/// x with A x = b, A positive definite: by Gaussian elimination.
fn solved(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    for at in 0..b.len() {
        let (pivot, right) = (a[at].clone(), b[at]);
        for row in 0..b.len() {
            let factor = a[row][at] / pivot[at];
            if row != at {
                a[row]
                    .iter_mut()
                    .zip(&pivot)
                    .for_each(|(own, above)| *own -= factor * above);
                b[row] -= factor * right;
            }
        }
    }
    (0..b.len()).map(|at| b[at] / a[at][at]).collect()
}

/// 1/2 |w|^2 + C sum of c huber_delta(t - <w, x>) where it is least: by least squares, weighted anew until it stands still (Holland and
/// Welsch, *Robust regression using iteratively reweighted least-squares*, Communications in Statistics 6, 1977).
fn least_of_huber(
    rows: &[(Vec<f64>, f64)],
    costs: &[f32],
    (c, delta): (f64, f64),
    intercept: Intercept,
) -> f64 {
    let constant = intercept.constant();
    let length = rows[0].0.len() + 1;
    let with_constant = |x: &[f64]| -> Vec<f64> { x.iter().copied().chain([constant]).collect() };
    let mut weights = vec![0.0; length];
    let mut before = f64::INFINITY;
    loop {
        let mut norms = vec![1.0; length];
        if intercept == Intercept::Free {
            norms[length - 1] = 0.0;
        }
        let mut primal: f64 = norms
            .iter()
            .zip(&weights)
            .map(|(one, w)| 0.5 * one * w * w)
            .sum();
        let mut products: Vec<Vec<f64>> = (0..length)
            .map(|j| {
                (0..length)
                    .map(|k| if j == k { norms[j] } else { 0.0 })
                    .collect()
            })
            .collect();
        let mut right = vec![0.0; length];
        for ((x, label), cost) in rows.iter().zip(costs) {
            let x = with_constant(x);
            let off = label - x.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>();
            let (weight, size) = (c * f64::from(*cost), off.abs());
            primal += weight
                * if size <= delta {
                    0.5 * off * off
                } else {
                    delta * (size - 0.5 * delta)
                };
            let weight = weight * (delta / size).min(1.0);
            for j in 0..length {
                right[j] += weight * x[j] * label;
                (0..length).for_each(|k| products[j][k] += weight * x[j] * x[k]);
            }
        }
        if before - primal <= 1e-10 * primal {
            return primal;
        }
        before = primal;
        weights = solved(products, right);
    }
}

/// Rows with labels that a tenth of the time are far off, and their costs.
fn with_outliers(count: usize, seed: u64) -> (Vec<(Vec<f64>, f64)>, Vec<f32>) {
    let mut rows = plane(count, 5, false, seed);
    let mut numbers = Numbers::new(seed + 1);
    for (_, label) in rows.iter_mut().step_by(10) {
        *label += 20.0 * numbers.normal();
    }
    let costs = (0..count).map(|row| [0.5, 1.0, 2.25][row % 3]).collect();
    (rows, costs)
}

/// Both sides of rows that cost so much.
fn sides_of(rows: &[(Vec<f64>, f64)], costs: &[f32]) -> Vec<OwnedExample> {
    let mut examples = two_sides(rows, false);
    for (at, example) in examples.iter_mut().enumerate() {
        example.cost = costs[at / 2];
    }
    examples
}

#[test]
fn hubers_loss_comes_to_the_optimum_of_least_squares_weighted_anew() {
    let forms: [(&str, Form); 6] = [
        ("stream", |problem| solved_by(problem, SolverChoice::Stream)),
        ("block", |problem| {
            solved_by(problem, SolverChoice::Block(Blocks::USUAL))
        }),
        ("selective", |problem| {
            solved_by(problem, SolverChoice::SelectiveBlock(Blocks::USUAL))
        }),
        ("trainers", |problem| problem.with_trainers(2).expect("two")),
        ("indexed", |problem| {
            solved_by(problem, SolverChoice::Indexed(Indexed::Slack))
        }),
        ("auto", |problem| problem),
    ];
    let (rows, costs) = with_outliers(600, 43);
    let examples = sides_of(&rows, &costs);
    for c in [0.01, 1.0, 30.0] {
        for intercept in [Intercept::InNorm, Intercept::Free, Intercept::None] {
            let best = least_of_huber(&rows, &costs, (c, DELTA), intercept);
            for (name, form) in forms {
                for cache in [PLENTY, LITTLE] {
                    let problem = form(problem(Loss::Huber, c));
                    let problem = problem.with(|it| it.formulation.intercept = intercept);
                    let problem = problem.expect("valid");
                    let settings = Settings {
                        targets: Some(OF_HUBER),
                        ..settings(cache)
                    };
                    let trained = train(problem, &examples, settings);
                    let report = trained.trainer.report().expect("memory").heads[0];
                    let name = format!("{name}, c {c}, {intercept:?}, {cache} bytes");
                    println!("{name}: {report:?}");
                    assert_claims(&name, &trained, &problem, &examples);
                    let unit = trained.reader.targets.expect("labels").of_objective();
                    assert_optimal(&name, report.certificate, [best / unit; 2]);
                }
            }
        }
    }
}

/// With epsilon 0 the squared loss is that of least squares: one Hessian of all rows leads to the optimum, and one more pass says so. Labels
/// of 0 are at the kink of both sides at weights of 0.
#[test]
fn least_squares_take_two_passes() {
    let (mut rows, costs) = with_outliers(600, 59);
    for (_, label) in rows.iter_mut().step_by(3) {
        *label = 0.0;
    }
    let examples = sides_of(&rows, &costs);
    let settings = || Settings {
        targets: Some(OF_QUANTILES),
        ..settings(PLENTY)
    };
    for intercept in [Intercept::None, Intercept::InNorm, Intercept::Free] {
        for c in [0.003, 1.0, 1e4] {
            // Huber's loss, which is a half of the square, far from where it is straight
            let best = least_of_huber(&rows, &costs, (2.0 * c, 1e9), intercept);
            for trainers in [1, 2] {
                let problem = solved_by(problem(Loss::SquaredHinge, c), SolverChoice::Newton)
                    .with_trainers(trainers)
                    .expect("some")
                    .with(|it| it.formulation.intercept = intercept)
                    .expect("valid");
                let trained = train(problem, &examples, settings());
                let report = trained.trainer.report().expect("memory");
                let name = format!("{intercept:?}, c {c}, {trainers} trainers");
                assert_claims(&name, &trained, &problem, &examples);
                let of = report.heads[0].certificate;
                assert_optimal(&name, of, [best; 2]);
                assert!(
                    of.gap <= 1e-9 && report.passes == 2,
                    "{name}: {of:?} {}",
                    report.passes
                );
            }
        }
    }
}

/// Weights of several C side by side, and of a standardized label: what they predict is what the loss of labels asks.
#[test]
fn hubers_loss_of_several_c_is_in_parts_of_the_labels_deviation() {
    let (rows, costs) = with_outliers(500, 47);
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(x, label)| (x, 300.0 * label + 1e4))
        .collect();
    let examples = sides_of(&rows, &costs);
    let all_c = [0.003, 0.1, 1.0, 10.0];
    let goal: Vec<_> = all_c.iter().map(|c| HeadSpec::binary(*c)).collect();
    let settings = Settings {
        targets: Some(TargetJob {
            standardizes: true,
            ..OF_HUBER
        }),
        ..settings(PLENTY)
    };
    let trained =
        train_examples(problem(Loss::Huber, 1.0), goal, &examples, settings).expect("training");
    let targets = trained.reader.targets.expect("labels");
    let standard: Vec<_> = rows
        .iter()
        .map(|(x, label)| (x.clone(), (label - targets.centre) / targets.deviation))
        .collect();
    let report = trained.trainer.report().expect("memory");
    for (head, c) in report.heads.iter().zip(all_c) {
        let best = least_of_huber(&standard, &costs, (c, DELTA), Intercept::InNorm);
        let best = best / targets.of_objective();
        assert_optimal(&format!("c {c}"), head.certificate, [best; 2]);
    }
}

#[test]
fn what_knows_parabolas_and_lines_alone_refuses_hubers_loss() {
    let (rows, costs) = with_outliers(50, 53);
    let examples = sides_of(&rows, &costs);
    let newton_blocks = SolverChoice::Block(Blocks::solved_by(Inner::Newton));
    for solver in [SolverChoice::Newton, newton_blocks] {
        let problem = solved_by(problem(Loss::Huber, 1.0), solver);
        let goal = vec![HeadSpec::binary(1.0)];
        let error = train_examples(problem, goal, &examples, settings(PLENTY)).err();
        let refused = EngineError::Train(TrainError::NewtonLoss);
        assert_eq!(error, Some(refused));
    }
    let dealt = Parts::by_turns(&examples, 2);
    let problem = solved_by(
        problem(Loss::Huber, 1.0),
        SolverChoice::Scan(Cuts::BesideHeld),
    );
    let job = ReaderJob {
        targets: Some(OF_HUBER),
        ..ReaderJob::new(Scale::None, &problem)
    };
    let surveyed = dealt.survey(&job, 1 << 14).finish(&[], 1).expect("memory");
    let holding = Holding {
        bytes: 1 << 20,
        lets_go: false,
    };
    let plan = Plan::train(1.0);
    let trainer = ScanTrainer::new(&problem, &plan, surveyed, holding, Instant::now());
    assert_eq!(trainer.err(), Some(TrainError::NewtonLoss));
}

const QUANTILES: [f64; 3] = [0.1, 0.5, 0.8];

fn of_quantiles(c: f64) -> Plan {
    Plan {
        quantiles: QUANTILES.to_vec(),
        ..Plan::train(c)
    }
}

/// Each head minimizes 1/2 |w|^2 + C sum of pinball losses (Takeuchi, Le, Sears and Smola, *Nonparametric Quantile Estimation*, JMLR 7,
/// 2006), whose dual has one variable a row between -C (1 - tau) and C tau.
#[test]
fn quantiles_come_to_the_optimum_of_each() {
    let forms: [(&str, Form); 5] = [
        ("stream", |problem| problem),
        ("block", |problem| {
            solved_by(problem, SolverChoice::Block(Blocks::USUAL))
        }),
        ("trainers", |problem| problem.with_trainers(2).expect("two")),
        ("forest", |problem| {
            let forest = Indexed::Forest(ForestShape::USUAL);
            solved_by(problem, SolverChoice::Indexed(forest))
        }),
        ("scan", |problem| {
            solved_by(problem, SolverChoice::Scan(Cuts::BesideHeld))
        }),
    ];
    let rows = plane(600, 5, false, 23);
    let examples = two_sides(&rows, false);
    let dealt = Parts::by_turns(&examples, 3);
    for c in [0.05, 1.0] {
        let bests = QUANTILES.map(|tau| {
            let sides = [c * (1.0 - tau), c * tau];
            optimum_of_sides(&rows, Loss::Hinge, sides, 0.0)
        });
        for (name, form) in forms {
            for cache in [PLENTY, LITTLE] {
                let problem = form(problem(Loss::Hinge, c));
                let name = format!("{name}, c {c}, {cache} bytes");
                if problem.solver().scans() {
                    let trainer = scan(&problem, &of_quantiles(c), &dealt);
                    let heads = trainer.report().expect("memory").heads;
                    for (head, best) in heads.iter().zip(bests) {
                        assert_optimal(&name, head.certificate, [best; 2]);
                    }
                    continue;
                }
                let settings = Settings {
                    targets: Some(OF_QUANTILES),
                    ..settings(cache)
                };
                let trained = train_examples(problem, of_quantiles(c), &examples, settings)
                    .expect("training works");
                let report = trained.trainer.report().expect("memory");
                assert_eq!(report.heads.len(), QUANTILES.len());
                for (at, (tau, best)) in QUANTILES.into_iter().zip(bests).enumerate() {
                    let spec = HeadSpec::binary(c).of_quantile(tau);
                    assert_optimal(&name, report.heads[at].certificate, [best; 2]);
                    assert_claims_of(&name, &trained, (at, &spec), &problem, &examples);
                }
            }
        }
    }
}

/// With a free intercept the rows below a prediction are tau of all, but for those that it goes through (Takeuchi et al., lemma 3).
#[test]
fn a_quantile_has_its_share_of_the_rows_below() {
    let rows = plane(2000, 4, false, 31);
    let examples = two_sides(&rows, false);
    let free = problem(Loss::Hinge, 1.0).with(|it| it.formulation.intercept = Intercept::Free);
    let settings = Settings {
        targets: Some(TargetJob {
            standardizes: true,
            ..OF_QUANTILES
        }),
        ..settings(PLENTY)
    };
    let trained = train_examples(free.expect("valid"), of_quantiles(1.0), &examples, settings)
        .expect("training works");
    let targets = trained.reader.targets.expect("labels");
    let mut predicted: Vec<Vec<f64>> = Vec::new();
    for (head, tau) in QUANTILES.into_iter().enumerate() {
        let weights = trained.trainer.weights(head);
        let all = rows.iter().map(|(x, _)| {
            let score = x.iter().enumerate().map(|(j, x)| weights.get(j) * x);
            targets.label(weights.intercept() + score.sum::<f64>())
        });
        let all: Vec<f64> = all.collect();
        let below = all.iter().zip(&rows).filter(|(it, (_, label))| label <= it);
        let share = below.count() as f64 / 2000.0;
        assert!((share - tau).abs() < 0.01, "{tau} {share}");
        predicted.push(all);
    }
    // the middle one stands for all
    let residuals = trained.trainer.report().expect("memory").fit.expect("rows");
    let residuals = residuals.residuals.expect("targets");
    assert!((residuals.coverage() - 0.5).abs() < 0.01, "{residuals:?}");
    let lost = (0..2000).map(|row| {
        let mut all: Vec<f64> = predicted.iter().map(|head| head[row]).collect();
        all.sort_by(f64::total_cmp);
        let each = all.iter().zip(QUANTILES).map(|(it, tau)| {
            let below = rows[row].1 - it;
            (tau * below).max((tau - 1.0) * below)
        });
        each.sum::<f64>() / 3.0
    });
    let mean = lost.sum::<f64>() / 2000.0;
    let found = targets.deviation * residuals.pinball();
    assert!((found / mean - 1.0).abs() < 1e-5, "{found} {mean}");
}

/// Where rows are scanned, C is chosen on a sample of them whose labels have become offsets: by errors as elsewhere.
#[test]
fn a_sample_of_rows_is_scored_by_their_errors() {
    const COSTS: [f64; 2] = [1e-4, 1.0];
    let rows = plane(600, 6, false, 41);
    let examples = two_sides(&rows, false);
    for scoring in [Scoring::Rmse, Scoring::Pinball] {
        let quantiles = match scoring {
            Scoring::Pinball => QUANTILES.to_vec(),
            _ => Vec::new(),
        };
        let plan = Plan {
            costs: COSTS.to_vec(),
            folds: Some(Folds::Count(3)),
            scoring,
            quantiles,
            ..Plan::train(1.0)
        };
        let problem = solved_by(
            problem(Loss::Hinge, 1.0),
            SolverChoice::Scan(Cuts::BesideHeld),
        );
        let job = ReaderJob {
            targets: Some(OF_QUANTILES),
            ..ReaderJob::new(Scale::None, &problem)
        };
        let survey = Parts::by_turns(&examples, 1).survey(&job, 1 << 20);
        let surveyed = survey.finish(&[], 1).expect("memory");
        let mut search = SampleSearch::new(&problem, &plan, surveyed).expect("a search");
        while search.step(10_000).expect("memory") != Step::Done {}
        let (_, chosen) = search.finish().expect("memory");
        assert_eq!(chosen.c, 1.0, "{:?}", chosen.validation);
        let overall = chosen.validation.iter().filter_map(|it| it.overall);
        assert!(overall.clone().count() == 6 && overall.min_by(f64::total_cmp) > Some(0.1));
    }
}

/// What exact machines and those of low rank make of a quantile is the same optimum.
#[test]
fn kernel_machines_of_quantiles_agree() {
    let rows = plane(120, 3, false, 37);
    let examples = two_sides(&rows, false);
    let kernel = KernelSpec::new(KernelKind::Rbf, Some(0.5), 2, 1.0).expect("valid");
    let asked = LowRankJob {
        rank: Some(120),
        ..LowRankJob::new(kernel)
    };
    let source = || SliceSource::new(&examples);
    let spools = || [MemorySpool::default(), MemorySpool::default()];
    let settings = || Settings {
        targets: Some(OF_QUANTILES),
        ..settings(PLENTY)
    };
    let (problem, plan) = (problem(Loss::Hinge, 1.0), of_quantiles(1.0));
    let low_rank = train_low_rank(problem, plan.clone(), source(), spools(), settings(), asked)
        .unwrap_or_else(|error| panic!("{error}"));
    let low_rank = low_rank.trained.trainer.report().expect("memory");
    let exact = train_exactly(
        problem,
        plan,
        source(),
        spools(),
        settings(),
        (asked, 1 << 22),
    )
    .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(exact.reports.len(), QUANTILES.len());
    for (one, other) in low_rank.heads.iter().zip(&exact.reports) {
        let (one, other) = (one.certificate, other.certificate);
        assert!(one.gap <= TOLERANCE && other.gap <= TOLERANCE);
        assert!(one.dual <= other.primal * (1.0 + 1e-5));
        assert!(other.dual <= one.primal * (1.0 + 1e-5));
    }
    let [one, other] = [low_rank.fit, exact.fit].map(|fit| fit.and_then(|it| it.residuals));
    let [one, other] = [one, other].map(|it| it.expect("targets").pinball());
    assert!((one / other - 1.0).abs() < 0.02, "{one} {other}");
}
