//! Trainings by scans find what trainings of kept rows find, however rows are dealt out among those who scan them, and what they
//! claim is true.

use crate::common::parts::{by_scans, example, sent, with_room, Parts};
use crate::common::*;
use pgsvm_core::engine::{OwnedExample, Threads};
use pgsvm_core::plan::drawn_fold;
use pgsvm_core::source::Example;
use pgsvm_core::{
    Chosen, Cuts, Folds, HeadSpec, Holding, Intercept, Loss, PartRefusal, PartRows, PartsFound,
    Plan, Problem, Purpose, ReaderJob, RowForm, SampleSearch, Scale, ScanTrainer, SolverChoice,
    Step, StopReason, TrainError, TrainerReport,
};
use std::time::Instant;

const PLENTY: usize = 64 << 20;

fn problem(c: f64, tolerance: f64) -> Problem {
    Problem::new(Loss::SquaredHinge, c, tolerance).expect("valid")
}

/// The objective of the same rows when they are kept.
fn kept(problem: &Problem, examples: &[OwnedExample], scale: Scale) -> f64 {
    let problem = problem
        .with(|it| it.solver = SolverChoice::Stream)
        .expect("valid");
    let trained = train(problem, examples, settings(PLENTY, scale, Threads::One));
    assert_certified(&trained, &problem, examples);
    trained.trainer.report().unwrap().heads[0]
        .certificate
        .primal
}

/// The same rows, of which some cost more than others.
fn weighed(mut examples: Vec<OwnedExample>) -> Vec<OwnedExample> {
    for (number, example) in examples.iter_mut().enumerate() {
        example.cost = [0.1, 1.0, 7.0][number % 3];
    }
    examples
}

#[test]
fn scans_arrive_where_kept_rows_do_however_rows_are_dealt_out() {
    let sets = [
        (clouds(3000, 12, 1.5, 1), Scale::Standard),
        (words(2000, 60, 3, 2), Scale::Standard),
        (words(2000, 60, 0, 3), Scale::MaxAbs),
        (clouds(2500, 5, 0.7, 4), Scale::None),
        (words(1500, 30, 4, 5), Scale::MinMax),
        (weighed(clouds(2500, 6, 1.0, 6)), Scale::Standard),
    ];
    for (at, (examples, scale)) in sets.iter().enumerate() {
        for c in [0.01, 1.0, 100.0] {
            let problem = problem(c, 1e-6);
            let expected = kept(&problem, examples, *scale);
            let dealt = [
                (Parts::by_turns(examples, 1), 0, 1 << 20),
                (Parts::by_turns(examples, 3), 40_000, 100_000),
                (Parts::by_class(examples, 2), 100_000, 1 << 20),
                // no rows come along, some, and all but a few
                (Parts::by_turns(examples, 2), 40_000, 0),
                (Parts::by_turns(examples, 4), 20_000, 8_000),
                (Parts::by_turns(examples, 1), PLENTY, PLENTY),
            ];
            for (parts, sample, room) in dealt {
                let found = with_room(&problem, &parts, *scale, (sample, room));
                let head = found.report.heads[0];
                let place = format!("set {at}, C {c}, sample {sample}, room {room}: {head:?}");
                assert_eq!(head.stop, Some(StopReason::Tolerance), "{place}");
                assert!(head.certificate.gap <= 1e-6, "{place}");
                let off = (head.certificate.primal - expected).abs() / expected;
                assert!(off < 2e-6, "{place}: {expected}");
                // no dual is above the optimum, which may be lower by the gap there
                let most = expected * (1.0 + 1e-9);
                assert!(head.certificate.dual <= most, "{place}: {expected}");
                let most = if room < 20_000 { 12 } else { 5 };
                assert!(
                    found.report.passes <= most,
                    "{place}: {}",
                    found.report.passes
                );
            }
        }
    }
}

#[test]
fn what_a_scan_certifies_is_true_of_the_rows() {
    let examples = clouds(2000, 6, 1.0, 7);
    for (c, tolerance) in [(0.1, 1e-2), (10.0, 1e-3)] {
        let problem = problem(c, tolerance);
        let parts = Parts::by_turns(&examples, 4);
        let found = by_scans(&problem, &parts, Scale::None, 50_000);
        let (w, head) = (&found.weights[0], found.report.heads[0]);
        let norm: f64 = w.iter().map(|w| w * w).sum();
        let score = |row: &OwnedExample| {
            let features = row
                .dense
                .iter()
                .zip(w)
                .map(|(x, w)| f64::from(*x as f32) * w);
            features.sum::<f64>() + w.last().unwrap()
        };
        let sign = |row: &OwnedExample| 2.0 * f64::from(row.group) - 1.0;
        let lost = |row: &OwnedExample| (1.0 - sign(row) * score(row)).max(0.0);
        let loss: f64 = examples.iter().map(|row| lost(row).powi(2)).sum();
        let primal = 0.5 * norm + c * loss;
        assert!((primal - head.certificate.primal).abs() < 1e-9 * primal);
        let right = examples.iter().filter(|row| sign(row) * score(row) > 0.0);
        let accuracy = right.count() as f64 / examples.len() as f64;
        assert!((accuracy - head.training_accuracy).abs() < 1e-12);
        // no dual can be above the smallest primal
        let least = kept(
            &problem
                .with(|it| it.solver = SolverChoice::Stream)
                .expect("valid"),
            &examples,
            Scale::None,
        );
        assert!(head.certificate.dual <= least * (1.0 + 1e-9));
    }
}

#[test]
fn a_truncated_loss_is_scanned_for_too() {
    let mut examples = weighed(clouds(3000, 8, 3.0, 71));
    for example in examples.iter_mut().skip(1).step_by(5) {
        example.group = 1 - example.group;
    }
    for (c, s) in [(0.01, 1.25), (1.0, 0.5), (1.0, 3.0)] {
        let problem = problem(c, 1e-4)
            .with(|it| it.solver = SolverChoice::Scan(Cuts::BesideHeld))
            .expect("valid");
        let problem = problem
            .with(|it| it.formulation.truncation = Some(s))
            .expect("valid");
        let dealt = [
            (Parts::by_turns(&examples, 1), 0, 1 << 20),
            (Parts::by_turns(&examples, 3), 20_000, 100_000),
            (Parts::by_class(&examples, 2), 40_000, 0),
            (Parts::by_turns(&examples, 1), PLENTY, PLENTY),
        ];
        for (parts, sample, room) in dealt {
            let found = with_room(&problem, &parts, Scale::None, (sample, room));
            let (head, w) = (found.report.heads[0], &found.weights[0]);
            assert_eq!(head.stop, Some(StopReason::Tolerance), "{c} {s}: {head:?}");
            assert!(head.certificate.gap <= 1e-4);
            let mut sums = (0.5 * w.iter().map(|w| w * w).sum::<f64>(), 0);
            for example in &examples {
                let y = if example.group == 1 { 1.0 } else { -1.0 };
                let products = example
                    .dense
                    .iter()
                    .zip(w)
                    .map(|(x, w)| f64::from(*x as f32) * w);
                let score = products.sum::<f64>() + w[w.len() - 1];
                let loss = (1.0 - y * score).max(0.0).powi(2);
                sums.0 += c * f64::from(example.cost) * loss.min(1.0 + s);
                sums.1 += u64::from(loss > 1.0 + s);
            }
            let truncated = head.truncated.expect("a truncated loss");
            assert!(
                (truncated.objective / sums.0 - 1.0).abs() < 1e-6,
                "{truncated:?} {sums:?}"
            );
            assert!(
                truncated.outliers.abs_diff(sums.1) <= 2,
                "{truncated:?} {sums:?}"
            );
            assert_eq!(head.certificate.primal, truncated.objective);
        }
    }
}

#[test]
fn all_classes_are_scanned_for_at_once() {
    let examples = on_a_circle(900);
    let problem = problem(1.0, 1e-5);
    let found = by_scans(
        &problem,
        &Parts::by_turns(&examples, 2),
        Scale::Standard,
        20_000,
    );
    assert_eq!(found.report.heads.len(), 3);
    assert!(found.report.passes <= 12, "{}", found.report.passes);
    for (class, head) in found.report.heads.iter().enumerate() {
        let signs: Vec<i8> = (0..3).map(|it| if it == class { 1 } else { -1 }).collect();
        let spec = HeadSpec::new(signs, 1.0);
        let kept = pgsvm_core::engine::train_examples(
            problem,
            vec![spec],
            &examples,
            settings(PLENTY, Scale::Standard, Threads::One),
        )
        .expect("training works");
        let expected = kept.trainer.report().unwrap().heads[0].certificate.primal;
        assert!((head.certificate.primal - expected).abs() < 2e-5 * expected);
    }
    let fit = found.report.fit.expect("a sample was kept");
    assert_eq!(fit.actual.iter().sum::<u64>(), fit.rows);
}

#[test]
fn many_features_are_scanned_for_products() {
    let examples = words(600, 3000, 0, 9);
    let problem = problem(1.0, 1e-3);
    let expected = kept(&problem, &examples, Scale::None);
    let found = by_scans(
        &problem,
        &Parts::by_turns(&examples, 2),
        Scale::None,
        60_000,
    );
    let head = found.report.heads[0].certificate;
    assert!(head.gap <= 1e-3);
    assert!((head.primal - expected).abs() < 2e-3 * expected);
}

#[test]
fn what_was_no_row_before_is_refused() {
    let examples = clouds(100, 3, 1.0, 5);
    let problem = problem(1.0, 1e-3);
    let job = ReaderJob::new(Scale::Standard, &problem);
    let surveyed = Parts::by_turns(&examples, 1).survey(&job, 0).finish(&[], 1);
    let form = surveyed.unwrap().form;
    let mut maker = form.maker().unwrap();
    let row = &examples[0];
    for unknown in [
        Example {
            group: 2,
            ..example(row)
        },
        Example {
            dense: &row.dense[1..],
            ..example(row)
        },
        Example {
            sparse_index: &[7],
            sparse_value: &[1.0],
            ..example(row)
        },
    ] {
        assert!(maker.make(&unknown).is_err());
    }
    assert!(maker.make(&example(row)).is_ok());
}

/// The plan that chooses among these C by three folds, with sigmoids.
fn choosing(costs: &[f64]) -> Plan {
    Plan {
        costs: costs.to_vec(),
        folds: Some(Folds::Count(3)),
        probability: true,
        ..Plan::train(1.0)
    }
}

/// What is chosen on the rows of a sample of so many bytes at most, and how many rows it has.
fn on_a_sample(
    problem: &Problem,
    plan: &Plan,
    examples: &[OwnedExample],
    sample_bytes: usize,
) -> (Chosen, usize) {
    let job = ReaderJob::new(Scale::Standard, problem);
    let survey = Parts::by_turns(examples, 1).survey(&job, sample_bytes);
    let surveyed = survey.finish(&[], 1).unwrap();
    let rows = surveyed.sample_rows();
    let mut search = SampleSearch::new(problem, plan, surveyed).unwrap();
    while search.step(10_000).unwrap() != Step::Done {}
    let (surveyed, chosen) = search.finish().unwrap();
    assert_eq!(surveyed.sample_rows(), rows);
    (chosen, rows)
}

/// The same rows, each in a fold drawn for it.
fn in_folds(examples: &[OwnedExample], folds: u32, seed: u64) -> Vec<OwnedExample> {
    let mut rows = [0u64; 8];
    let folded = examples.iter().map(|it| {
        let nth = &mut rows[it.group as usize];
        *nth += 1;
        let fold = drawn_fold(seed, it.group, *nth - 1, folds);
        OwnedExample {
            group: it.group * folds + fold,
            ..it.clone()
        }
    });
    folded.collect()
}

#[test]
fn c_and_sigmoids_are_those_of_kept_rows_where_the_sample_has_all() {
    let of = |loss| Problem::new(loss, 1.0, 1e-3).unwrap();
    let free = of(Loss::Hinge)
        .with(|it| it.formulation.intercept = Intercept::Free)
        .expect("valid");
    let ramp = free.with(|it| it.formulation.truncation = Some(1.0));
    for (examples, problem) in [
        (clouds(3000, 6, 1.0, 21), of(Loss::SquaredHinge)),
        (by_first_appearance(rings(2000, 3, 22)), of(Loss::Hinge)),
        (clouds(3000, 6, 1.0, 23), free),
        (clouds(3000, 6, 1.0, 24), ramp.expect("valid")),
    ] {
        let plan = choosing(&[0.001, 0.1, 10.0]);
        let settings = settings(PLENTY, Scale::Standard, Threads::One);
        let folded = in_folds(&examples, 3, problem.seed());
        let kept = pgsvm_core::engine::train_examples(problem, plan.clone(), &folded, settings);
        let kept = kept.unwrap().trainer.report().unwrap();
        let scans = problem
            .with(|it| it.solver = SolverChoice::Scan(Cuts::BesideHeld))
            .expect("valid");
        let (chosen, rows) = on_a_sample(&scans, &plan, &examples, PLENTY);
        assert_eq!(rows, examples.len());
        assert_eq!(chosen.validation.len(), kept.validation.len());
        for (own, other) in chosen.validation.iter().zip(&kept.validation) {
            assert_eq!(
                (own.c, own.fold, own.rows),
                (other.c, other.fold, other.rows)
            );
            let off = (own.objective / other.objective - 1.0).abs();
            assert!(off < 2e-2, "{own:?} {other:?}");
        }
        assert_eq!(Some(chosen.c), kept.c);
        assert_eq!(
            chosen.calibrations.heads.len(),
            kept.calibrations.heads.len()
        );
        for (own, other) in chosen
            .calibrations
            .heads
            .iter()
            .zip(&kept.calibrations.heads)
        {
            let of = |at: f64| own.probability(at) - other.probability(at);
            assert!(
                [-1.0, 0.0, 1.0].iter().all(|at| of(*at).abs() < 0.02),
                "{problem:?} {:?}",
                [-1.0, 0.0, 1.0].map(of)
            );
        }
    }
}

#[test]
fn a_c_means_on_a_sample_what_it_means_on_all_rows() {
    let examples = clouds(20_000, 5, 0.8, 23);
    let problem = problem(1.0, 1e-3)
        .with(|it| it.solver = SolverChoice::Scan(Cuts::BesideHeld))
        .expect("valid");
    let plan = choosing(&[1e-4, 1e-1]);
    let (all, _) = on_a_sample(&problem, &plan, &examples, PLENTY);
    let (some, rows) = on_a_sample(&problem, &plan, &examples, 200_000);
    assert!((500..10_000).contains(&rows), "{rows}");
    for c in [1e-4, 1e-1] {
        let objective = |chosen: &Chosen| {
            let at_c = chosen.validation.iter().filter(|it| it.c == c);
            at_c.map(|it| it.objective).sum::<f64>()
        };
        let ratio = objective(&some) / objective(&all);
        assert!((0.85..1.15).contains(&ratio), "{c}: {ratio}");
    }
}

#[test]
fn a_class_that_cannot_be_held_out_of_the_sample_is_an_error() {
    let mut examples = clouds(5000, 8, 1.0, 24);
    // one class is rare
    examples.retain(|it| it.group == 0);
    examples.extend(
        clouds(12, 8, 1.0, 25)
            .into_iter()
            .filter(|it| it.group == 1),
    );
    let problem = problem(1.0, 1e-3)
        .with(|it| it.solver = SolverChoice::Scan(Cuts::BesideHeld))
        .expect("valid");
    let job = ReaderJob::new(Scale::Standard, &problem);
    let survey = Parts::by_turns(&examples, 1).survey(&job, 3000);
    let surveyed = survey.finish(&[], 1).unwrap();
    let refused = SampleSearch::new(&problem, &choosing(&[1.0]), surveyed).err();
    assert!(
        matches!(refused, Some(TrainError::Sample { class: 1, .. })),
        "{refused:?}"
    );
}

fn hinge(c: f64, tolerance: f64) -> Problem {
    Problem::new(Loss::Hinge, c, tolerance).expect("valid")
}

#[test]
fn the_hinge_arrives_where_kept_rows_do_with_whatever_room() {
    let sets = [
        (clouds(6000, 12, 1.5, 1), Scale::Standard),
        (words(4000, 60, 3, 2), Scale::Standard),
        (clouds(5000, 5, 0.7, 4), Scale::None),
        (rings(3000, 2, 6), Scale::Standard),
    ];
    for (at, (examples, scale)) in sets.iter().enumerate() {
        for c in [0.01, 1.0, 100.0] {
            let problem = hinge(c, 1e-3);
            let expected = kept(
                &problem
                    .with(|it| it.stopping.max_passes = Some(2000))
                    .unwrap(),
                examples,
                *scale,
            );
            let dealt = [
                (Parts::by_turns(examples, 1), 100_000, 1 << 20),
                (Parts::by_turns(examples, 3), 40_000, 200_000),
                (Parts::by_class(examples, 2), 100_000, 60_000),
                (Parts::by_turns(examples, 4), 50_000, 40_000),
            ];
            for (parts, sample, room) in dealt {
                let found = with_room(&problem, &parts, *scale, (sample, room));
                let head = found.report.heads[0];
                let place = format!("set {at}, C {c}, room {room}: {head:?}");
                eprintln!(
                    "{at} {c} {room}: {} scans, gap {:.1e}",
                    found.report.passes, head.certificate.gap
                );
                assert!(
                    head.certificate.primal >= expected * (1.0 - 1.1e-3),
                    "{place}: {expected}"
                );
                assert!(
                    head.certificate.dual <= expected * (1.0 + 1e-9),
                    "{place}: {expected}"
                );
                // where rows are let go any room does, and else what holds a good part of them
                if room > 100_000 || parts.parts.len() != 2 {
                    assert_eq!(head.stop, Some(StopReason::Tolerance), "{place}");
                    assert!(
                        head.certificate.primal <= expected * (1.0 + 1.1e-3),
                        "{place}: {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn planes_alone_arrive_too_and_a_line_search_saves_scans() {
    for (at, examples) in [clouds(3000, 8, 1.5, 1), words(2000, 30, 0, 2)]
        .iter()
        .enumerate()
    {
        for c in [0.01, 0.1] {
            let problem = hinge(c, 1e-3);
            let expected = kept(&problem, examples, Scale::Standard);
            let parts = Parts::by_turns(examples, 2);
            let scans = [Cuts::Ocas(0.1), Cuts::Newest].map(|cuts| {
                let found = by_scans(
                    &problem
                        .with(|it| it.solver = SolverChoice::Scan(cuts))
                        .expect("valid"),
                    &parts,
                    Scale::Standard,
                    20_000,
                );
                let head = found.report.heads[0];
                let place = format!("set {at}, C {c}, {cuts:?}: {head:?}");
                assert_eq!(head.stop, Some(StopReason::Tolerance), "{place}");
                assert!(
                    (head.certificate.primal / expected - 1.0).abs() < 1.1e-3,
                    "{place}"
                );
                assert!(head.certificate.dual <= expected * (1.0 + 1e-9), "{place}");
                found.report.passes
            });
            eprintln!("set {at}, C {c}: {scans:?}");
            // two scans a step with a line search, one without
            assert!(scans[0] / 2 < scans[1], "set {at}, C {c}: {scans:?}");
        }
    }
}

/// What parts that each train on their own rows find on average.
fn averaged(problem: &Problem, parts: &Parts<'_>) -> TrainerReport {
    averaged_from(problem, Scale::Standard, parts, Vec::new()).0
}

/// The same where heads begin at such weights, if there are some; and the weights that it ends with.
fn averaged_from(
    problem: &Problem,
    scale: Scale,
    parts: &Parts<'_>,
    starts: Vec<Vec<f64>>,
) -> (TrainerReport, Vec<Vec<f64>>) {
    let job = ReaderJob::new(scale, problem);
    let surveyed = parts.survey(&job, 0).finish(&[], 1).unwrap();
    let form = surveyed.form.copied().unwrap();
    let plan = Plan::train(problem.c());
    let mut trainer = ScanTrainer::averaging(problem, &plan, surveyed, Instant::now()).unwrap();
    trainer.begin_at(starts).unwrap();
    average(&mut trainer, parts, &form);
    while trainer.step(1000).unwrap() != Step::Done {
        if let Ok(pass) = trainer.pass() {
            let sums = parts.scan(&pass, &form);
            trainer.take(pass, sums).unwrap();
        }
    }
    let report = trainer.report().unwrap();
    let weights = (0..report.heads.len()).map(|head| {
        let weights = trainer.weights(head);
        weights.iter().chain([weights.intercept()]).collect()
    });
    (report, weights.collect())
}

/// Has each part train on its rows, and the trainer take the average.
fn average(trainer: &mut ScanTrainer, parts: &Parts<'_>, form: &RowForm) {
    let mut all: Option<PartsFound> = None;
    for part in &parts.parts {
        let order = trainer.part_order(PLENTY).unwrap().expect("parts train");
        let mut rows = PartRows::new(sent(&order));
        let mut maker = form.maker().unwrap();
        for row in part {
            rows.take(&maker.make(&example(row)).expect("a row"));
        }
        let found = sent(&rows.train());
        match &mut all {
            None => all = Some(found),
            Some(all) => assert!(all.join(&found)),
        }
    }
    let all = all.expect("a part");
    assert_eq!(
        (all.refused(), all.parts()),
        (None, parts.parts.len() as u32)
    );
    trainer.take_parts(all).unwrap();
    assert_eq!(trainer.averaged(), Some(parts.parts.len() as u32));
    assert!(trainer.part_order(PLENTY).unwrap().is_none());
}

#[test]
fn an_average_of_parts_is_judged_by_what_it_is() {
    let examples = weighed(clouds(4000, 8, 1.0, 41));
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for c in [0.01, 1.0] {
            let problem = Problem::new(loss, c, 1e-5).expect("valid");
            let best = kept(&problem, &examples, Scale::Standard);
            // alone, by chance, and each part with one label only
            let dealt = [
                (Parts::by_turns(&examples, 1), 0.0..1e-5),
                (Parts::by_turns(&examples, 4), 0.0..0.2),
                (Parts::by_class(&examples, 2), 0.2..1.0),
            ];
            for (parts, gaps) in dealt {
                let found = averaged(&problem, &parts).heads[0].certificate;
                let place = format!("{loss:?}, C {c}, {} parts: {found:?}", parts.parts.len());
                assert!(gaps.contains(&found.gap), "{place}");
                // the smallest primal lies between both, up to what the best is off
                assert!(found.dual <= best * (1.0 + 1e-9), "{place}: {best}");
                assert!(found.primal >= best * (1.0 - 2e-5), "{place}: {best}");
            }
        }
    }
}

#[test]
fn an_average_with_a_free_intercept_claims_no_more_however_far_rows_lie() {
    // how far dual variables of 32 bits are from balanced shows in v, times where the rows lie
    for offset in [0.0, 65_536.0, 200_000.0] {
        let rows = [
            ([-1.0, 1.0], 0),
            ([-6.0, 5.0], 0),
            ([-6.0, 2.0], 1),
            ([-4.0, 3.0], 1),
        ];
        let row = |([x, y], group): ([f64; 2], u32)| {
            OwnedExample::dense(group, vec![x + offset, y + offset])
        };
        let examples: Vec<_> = rows.into_iter().map(row).collect();
        let problem = Problem::new(Loss::Hinge, 0.1, 1e-3).and_then(|problem| {
            problem.with(|it| {
                it.formulation.intercept = Intercept::Free;
                it.stopping.max_passes = Some(300);
            })
        });
        let problem = problem.expect("valid");
        let parts = Parts::by_turns(&examples, 1);
        let (report, _) = averaged_from(&problem, Scale::None, &parts, Vec::new());
        let found = report.heads[0].certificate;
        let least = 0.35;
        assert!(found.dual <= least * (1.0 + 1e-7), "{offset}: {found:?}");
        assert!(found.primal >= least * (1.0 - 1e-7), "{offset}: {found:?}");
    }
}

#[test]
fn a_part_with_too_many_rows_says_so() {
    let examples = clouds(500, 8, 1.0, 42);
    let problem = problem(1.0, 1e-3);
    let parts = Parts::by_turns(&examples, 1);
    let job = ReaderJob::new(Scale::None, &problem);
    let surveyed = parts.survey(&job, 0).finish(&[], 1).unwrap();
    let form = surveyed.form.copied().unwrap();
    let plan = Plan::train(1.0);
    let trainer = ScanTrainer::averaging(&problem, &plan, surveyed, Instant::now()).unwrap();
    let mut rows = PartRows::new(trainer.part_order(1000).unwrap().unwrap());
    let mut maker = form.maker().unwrap();
    for row in &examples {
        rows.take(&maker.make(&example(row)).expect("a row"));
    }
    assert_eq!(rows.train().refused(), Some(PartRefusal::Room));
}

#[test]
fn rows_that_are_all_here_are_gone_over_by_any_number_of_threads() {
    let examples = weighed(clouds(3000, 10, 1.0, 43));
    for cuts in [Cuts::Ocas(0.1), Cuts::Newest] {
        let problem = hinge(0.01, 1e-3)
            .with(|it| it.solver = SolverChoice::Scan(cuts))
            .expect("valid");
        let parts = Parts::by_turns(&examples, 1);
        let scanned = with_room(&problem, &parts, Scale::Standard, (PLENTY, 0));
        // with room for outputs beside the rows and without
        let ways = [(1, PLENTY), (1, 0), (2, PLENTY), (5, 0), (16, PLENTY)];
        for (threads, bytes) in ways {
            let job = ReaderJob::new(Scale::Standard, &problem);
            let surveyed = parts.survey(&job, PLENTY).finish(&[], 1).unwrap();
            let nothing = Holding {
                bytes: 0,
                lets_go: true,
            };
            let plan = Plan::train(problem.c());
            let trainer = ScanTrainer::new(&problem, &plan, surveyed, nothing, Instant::now());
            let mut trainer = trainer.unwrap();
            assert!(trainer.scan_resident(threads, bytes).unwrap());
            loop {
                match trainer.step(1000).unwrap() {
                    Step::Progress => {}
                    Step::Blocked => panic!("no scan is wanted"),
                    Step::Done => break,
                }
            }
            let report = trainer.report().unwrap();
            assert!(report.resident);
            let (found, expected) = (
                report.heads[0].certificate,
                scanned.report.heads[0].certificate,
            );
            assert!((0.0..=1e-3).contains(&found.gap));
            let place = format!("{cuts:?}, {threads} threads, {bytes}: {found:?}, {expected:?}");
            // sums of other parts are rounded otherwise, which planes that hardly matter show
            assert!(
                (found.primal / expected.primal - 1.0).abs() < 2e-3,
                "{place}"
            );
            let more = f64::from(report.passes) / f64::from(scanned.report.passes);
            assert!((0.7..1.4).contains(&more), "{place}: {more}");
            assert_eq!(trainer.log().unwrap().len() as u32, report.passes + 1);
        }
    }
}

#[test]
fn a_training_over_rows_that_have_changed_begins_where_the_one_before_has_got_to() {
    let examples = clouds(3000, 20, 0.8, 21);
    let (before, parts) = (&examples[..2900], Parts::by_turns(&examples, 3));
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        let problem = Problem::new(loss, 1.0, 1e-4).unwrap();
        // a sample of a few rows says little
        let found = with_room(
            &problem,
            &Parts::by_turns(before, 3),
            Scale::None,
            (4000, 40_000),
        );
        let job = ReaderJob::new(Scale::None, &problem);
        let begun = |starts: Option<Vec<Vec<f64>>>| {
            let surveyed = parts.survey(&job, 4000).finish(&[], 1).unwrap();
            let form = surveyed.form.copied().unwrap();
            let holding = Holding {
                bytes: 40_000,
                lets_go: false,
            };
            let plan = Plan::train(problem.c());
            let trainer = ScanTrainer::new(&problem, &plan, surveyed, holding, Instant::now());
            let mut trainer = trainer.unwrap();
            if let Some(starts) = starts {
                trainer.begin_at(starts).unwrap();
            }
            assert!(parts.train(&mut trainer, 1000, &form, || ()));
            assert_eq!(trainer.weights_so_far().unwrap().len(), 1);
            trainer.report().unwrap()
        };
        let (anew, on) = (begun(None), begun(Some(found.weights)));
        let (one, other) = (anew.heads[0].certificate, on.heads[0].certificate);
        assert!(one.gap <= 1e-4 && other.gap <= 1e-4);
        assert!((one.primal - other.primal).abs() <= 2e-4 * one.primal);
        assert!(on.passes <= anew.passes, "{} {}", on.passes, anew.passes);
        // weights of other rows are no start
        let odd = begun(Some(vec![vec![1.0; 3]]));
        assert_eq!(odd.passes, anew.passes);
    }
}

#[test]
fn planes_begin_at_any_weights_too() {
    let examples = clouds(3000, 8, 1.5, 1);
    let parts = Parts::by_turns(&examples, 2);
    // by others, and over rows that are here, whose outputs are kept
    for (cuts, bytes) in [
        (Cuts::Ocas(0.1), 0),
        (Cuts::Newest, 0),
        (Cuts::Ocas(0.1), PLENTY),
        (Cuts::Newest, PLENTY),
    ] {
        let problem = hinge(0.1, 1e-3)
            .with(|it| it.solver = SolverChoice::Scan(cuts))
            .unwrap();
        let job = ReaderJob::new(Scale::Standard, &problem);
        let sample = if bytes > 0 { PLENTY } else { 20_000 };
        let begun = |starts: Vec<Vec<f64>>| {
            let surveyed = parts.survey(&job, sample).finish(&[], 1).unwrap();
            let form = surveyed.form.copied().unwrap();
            let holding = Holding {
                bytes: 1 << 20,
                lets_go: false,
            };
            let plan = Plan::train(problem.c());
            let trainer = ScanTrainer::new(&problem, &plan, surveyed, holding, Instant::now());
            let mut trainer = trainer.unwrap();
            trainer.begin_at(starts).unwrap();
            if bytes > 0 {
                assert!(trainer.scan_resident(1, bytes).unwrap());
            }
            assert!(parts.train(&mut trainer, 1000, &form, || ()));
            (trainer.report().unwrap(), trainer.weights_so_far().unwrap())
        };
        let (anew, weights) = begun(Vec::new());
        let first = |report: &TrainerReport| report.heads[0];
        let on = begun(weights.clone()).0;
        let odd = begun(vec![weights[0].iter().map(|w| -3.0 * w).collect()]).0;
        for found in [&anew, &on, &odd] {
            let (head, expected) = (first(found), first(&anew).certificate);
            assert_eq!(head.stop, Some(StopReason::Tolerance), "{cuts:?}: {head:?}");
            assert!(head.certificate.primal >= expected.dual);
            assert!(head.certificate.dual <= expected.primal);
        }
        let passes = [&anew, &on, &odd].map(|found| found.passes);
        eprintln!("{cuts:?}: {passes:?} scans from 0, from the end, from elsewhere");
        // the smallest primal is known from the first scan on
        assert!(first(&on).certificate.primal <= first(&anew).certificate.primal * (1.0 + 1e-9));
    }
}

#[test]
fn parts_of_an_average_begin_at_weights_too() {
    let examples = clouds(4000, 8, 1.0, 41);
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        let problem = Problem::new(loss, 0.1, 1e-4).expect("valid");
        let parts = Parts::by_turns(&examples, 4);
        let (anew, weights) = averaged_from(&problem, Scale::Standard, &parts, Vec::new());
        let (on, _) = averaged_from(&problem, Scale::Standard, &parts, weights);
        let [anew, on] = [anew, on].map(|report| report.heads[0].certificate);
        assert!(
            (on.primal / anew.primal - 1.0).abs() < 1e-3,
            "{anew:?} {on:?}"
        );
        assert!(on.gap < 2.0 * anew.gap.max(1e-3), "{anew:?} {on:?}");
        // of other rows they are no start, and nothing goes wrong
        let (odd, _) = averaged_from(&problem, Scale::Standard, &parts, vec![vec![1.0; 3]]);
        assert!((odd.heads[0].certificate.primal - anew.primal).abs() < 1e-12 * anew.primal);
    }
}

/// The decision of weights for features as they come, the intercept's last.
fn score(w: &[f64], row: &OwnedExample) -> f64 {
    let products = row.dense.iter().zip(w);
    let products = products.map(|(x, w)| f64::from(*x as f32) * w);
    products.sum::<f64>() + w[w.len() - 1]
}

#[test]
fn all_rows_are_held_out_in_turn_whoever_trains() {
    let examples = clouds(3000, 5, 1.2, 81);
    let (folds, costs) = (3u32, [0.01, 1.0]);
    let folded = in_folds(&examples, folds, 7);
    let plan = Plan {
        costs: costs.to_vec(),
        folds: Some(Folds::Count(folds)),
        purpose: Purpose::Validate,
        ..Plan::train(1.0)
    };
    for (loss, method) in [
        (Loss::SquaredHinge, "scan"),
        (Loss::Hinge, "scan"),
        (Loss::Hinge, "ocas"),
        (Loss::Hinge, "cutting_plane"),
        (Loss::Hinge, "average"),
        (Loss::SquaredHinge, "average"),
        (Loss::Hinge, "interior_point"),
    ] {
        let problem = Problem::new(loss, 1.0, 1e-3).unwrap();
        let settings = settings(PLENTY, Scale::None, Threads::One);
        let kept = pgsvm_core::engine::train_examples(problem, plan.clone(), &folded, settings);
        let kept = kept.unwrap().trainer.report().unwrap();
        for (count, sample) in [(1, PLENTY), (3, 30_000)] {
            let parts = Parts::by_turns(&folded, count);
            let job = ReaderJob {
                stride: folds,
                ..ReaderJob::new(Scale::None, &problem)
            };
            let surveyed = parts.survey(&job, sample).finish(&[], 1).unwrap();
            let form = surveyed.form.copied().unwrap();
            let holding = Holding {
                bytes: 1 << 20,
                lets_go: true,
            };
            let now = Instant::now();
            let cuts = match method {
                "ocas" => Cuts::Ocas(0.1),
                "cutting_plane" => Cuts::Newest,
                _ => Cuts::BesideHeld,
            };
            let problem = match method {
                "average" | "interior_point" => problem,
                _ => problem
                    .with(|it| it.solver = SolverChoice::Scan(cuts))
                    .unwrap(),
            };
            let trainer = match method {
                "average" => ScanTrainer::averaging(&problem, &plan, surveyed, now),
                "interior_point" => ScanTrainer::interior_point(&problem, &plan, surveyed, now),
                _ => ScanTrainer::new(&problem, &plan, surveyed, holding, now),
            };
            let mut trainer = trainer.unwrap();
            if method == "average" {
                average(&mut trainer, &parts, &form);
            }
            if count == 1 && method == "ocas" {
                assert!(trainer.scan_resident(2, PLENTY).unwrap());
            }
            assert!(parts.train(&mut trainer, 100_000, &form, || ()));
            let report = trainer.report().unwrap();
            assert!(report.heads.is_empty());
            assert_eq!(report.validation.len(), kept.validation.len());
            for (place, (own, other)) in report.validation.iter().zip(&kept.validation).enumerate()
            {
                let told = format!("{method}, {loss:?}, {count} parts: {own:?} {other:?}");
                assert_eq!(
                    (own.c, own.fold, own.rows),
                    (other.c, other.fold, other.rows)
                );
                if method != "average" {
                    let off = (own.objective / other.objective - 1.0).abs();
                    // interior points have an intercept in no norm
                    let most = if method == "interior_point" {
                        0.1
                    } else {
                        2.1e-2
                    };
                    assert!(off < most, "{told}");
                }
                // of just the rows held out, at just these weights
                let weights = trainer.weights(place);
                let w: Vec<f64> = weights.iter().chain([weights.intercept()]).collect();
                let held = folded.iter().filter(|row| row.group % folds == own.fold);
                let right = held.filter(|row| (score(&w, row) >= 0.0) == (row.group / folds == 1));
                let accuracy = right.count() as f64 / own.rows as f64;
                assert!((accuracy - own.accuracy).abs() < 1e-3, "{told}: {accuracy}");
                assert!(
                    (own.auc.unwrap() - other.auc.unwrap()).abs() < 0.02,
                    "{told}"
                );
            }
            assert!(report.c.is_some());
        }
    }
}
