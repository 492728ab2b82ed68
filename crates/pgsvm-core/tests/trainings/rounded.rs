//! Training has rows in 32 bits, and its certificates hold for rows as they come: few rows, many of them separable, with columns far from 0 or of
//! any size, at a C of any size, whose objectives are tiny.

use crate::common::parts::Parts;
use crate::common::*;
use pgsvm_core::engine::{train_examples, OwnedExample, Settings, Threads};
use pgsvm_core::{
    Blocks, Cuts, HeadReport, HeadSpec, Holding, Intercept, Loss, Plan, Problem, ReaderJob, Scale,
    Scaling, ScanTrainer, SolverChoice, StopReason,
};
use std::time::Instant;

const PLENTY: usize = 1 << 20;
/// Less is not counted, as a part of the objective.
const NOT_COUNTED: f64 = 1e-5;
const SCALES: [Scale; 4] = [Scale::Standard, Scale::None, Scale::MaxAbs, Scale::MinMax];

/// Rows of two classes, some of them more than there are features; `exact`: 32 bits hold them, and products and differences.
fn drawn(seed: u64, exact: bool) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let (count, features) = [(8, 20), (40, 3), (60, 2), (25, 25)][seed as usize % 4];
    let noise = [0.0, 0.0, 0.3][numbers.below(3)];
    let kinds: Vec<usize> = (0..features).map(|_| numbers.below(6)).collect();
    let row = |_| {
        let raw: Vec<f64> = (0..features).map(|_| numbers.normal()).collect();
        let score = raw[0] + 0.5 * raw[features - 1] + noise * numbers.normal();
        let values = raw.iter().zip(&kinds).map(|(x, kind)| match kind {
            _ if exact => (8.0 * x).round(),
            0 | 1 => *x,
            2 => x + 2e4,
            3 => 1e3 * x,
            4 => 1e-3 * x,
            _ => x * x * x,
        });
        OwnedExample {
            cost: [1.0, 1.0, 3.0][numbers.below(3)],
            ..OwnedExample::dense(u32::from(score > 0.0), values.collect())
        }
    };
    by_first_appearance((0..count).map(row).collect())
}

/// P of weights, the intercept's last, for rows as they come; and by how much more it would be for rows that are off, twice by what two
/// roundings and the way from the first row to the centre make of them.
fn objective(problem: &Problem, w: &[f64], rows: &[OwnedExample], scaling: &Scaling) -> [f64; 2] {
    let intercept = w[w.len() - 1];
    let length =
        |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
    let norm = length(&mut w.iter().copied());
    let mut sums = [0.5 * norm * norm; 2];
    let away = scaling.centre.iter().enumerate().map(|(j, centre)| {
        let first = scaling.scaled(j, rows[0].dense[j]).abs();
        first + 1e-7 * centre.abs() * scaling.factor_of(j)
    });
    let shift = norm * length(&mut away.into_iter());
    for row in rows {
        let values = (0..).zip(&row.dense).zip(w);
        let products = values.map(|((j, x), w)| w * scaling.scaled(j, *x));
        let size: f64 = products.clone().map(f64::abs).sum();
        let margin = (products.sum::<f64>() + intercept) * if row.group == 1 { 1.0 } else { -1.0 };
        let off = 2.001 * 2f64.powi(-24) * (2.0 * size + shift);
        let cost = problem.c() * f64::from(row.cost);
        sums[0] += cost * problem.loss().value(margin);
        sums[1] += cost * problem.loss().value(margin - off);
    }
    [sums[0], sums[1] - sums[0]]
}

/// What is found by visits and by scans.
struct Found {
    head: HeadReport,
    w: Vec<f64>,
    scaling: Scaling,
}

fn by_visits(problem: Problem, rows: &[OwnedExample], (scale, unit_rows): (Scale, bool)) -> Found {
    let settings = Settings {
        as_they_come: true,
        unit_rows,
        ..Settings::new(PLENTY, scale, Threads::One)
    };
    let specs = vec![HeadSpec::binary(problem.c())];
    let trained = train_examples(problem, specs, rows, settings).unwrap();
    let weights = trained.trainer.weights(0);
    Found {
        w: weights.iter().chain([weights.intercept()]).collect(),
        head: trained.trainer.report().unwrap().heads[0],
        scaling: trained.reader.scaling.copied().unwrap(),
    }
}

/// None where it goes on by rows that stream.
fn by_scans(
    problem: &Problem,
    rows: &[OwnedExample],
    (scale, unit_rows): (Scale, bool),
) -> Option<Found> {
    let parts = Parts::by_turns(rows, 2);
    let job = ReaderJob {
        as_they_come: true,
        unit_rows,
        ..ReaderJob::new(scale, problem)
    };
    let surveyed = parts.survey(&job, PLENTY).finish(&[], 1).unwrap();
    let form = surveyed.form.copied().unwrap();
    let scaling = surveyed.report.scaling.copied().unwrap();
    let holding = Holding {
        bytes: PLENTY,
        lets_go: true,
    };
    let plan = Plan::train(problem.c());
    let mut trainer = ScanTrainer::new(problem, &plan, surveyed, holding, Instant::now()).unwrap();
    if !parts.train(&mut trainer, 1 << 20, &form, || ()) {
        return None;
    }
    let weights = trainer.weights(0);
    Some(Found {
        w: weights.iter().chain([weights.intercept()]).collect(),
        head: trainer.report().unwrap().heads[0],
        scaling,
    })
}

/// The problems of a loss and a C, by whether they are solved by scans.
fn problems(loss: Loss, c: f64) -> Vec<(bool, Problem)> {
    let plain =
        Problem::new(loss, c, 1e-3).and_then(|it| it.with(|it| it.stopping.max_passes = Some(60)));
    let plain = plain.unwrap();
    let scans = plain
        .with(|it| it.solver = SolverChoice::Scan(Cuts::BesideHeld))
        .expect("valid");
    let mut all = vec![
        (
            false,
            plain
                .with(|it| it.solver = SolverChoice::Stream)
                .expect("valid"),
        ),
        (
            false,
            plain
                .with(|it| it.solver = SolverChoice::Block(Blocks::USUAL))
                .expect("valid"),
        ),
        (true, scans),
    ];
    match loss {
        Loss::Hinge => all.push((
            true,
            scans
                .with(|it| it.solver = SolverChoice::Scan(Cuts::Ocas(0.1)))
                .expect("valid"),
        )),
        _ => all.push((
            false,
            plain
                .with(|it| it.solver = SolverChoice::Newton)
                .expect("valid"),
        )),
    }
    all
}

/// Every certificate of these rows is looked at, with P and by how much more it may be.
fn each(seed: u64, exact: bool, mut look: impl FnMut(&Problem, &Found, [f64; 2], &str)) {
    let rows = drawn(seed, exact);
    for scale in SCALES {
        if exact && scale != Scale::None {
            continue;
        }
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            for c in [1e-4, 1.0, 1e3, 1e6] {
                let mut least = f64::INFINITY;
                for (scans, problem) in problems(loss, c) {
                    let found = match scans {
                        true => by_scans(&problem, &rows, (scale, false)),
                        false => Some(by_visits(problem, &rows, (scale, false))),
                    };
                    let Some(found) = found else { continue };
                    let what = format!(
                        "seed {seed}, {scale:?}, {loss:?}, C {c}, scans {scans}, {:?}",
                        found.head
                    );
                    let primal = objective(&problem, &found.w, &rows, &found.scaling);
                    least = f64::min(least, primal[0]);
                    let dual = found.head.certificate.dual;
                    assert!(dual <= least * (1.0 + NOT_COUNTED), "{what}: P {least}");
                    look(&problem, &found, primal, &what);
                }
            }
        }
    }
}

#[test]
fn a_primal_holds_for_rows_as_they_come() {
    let mut widened = 0;
    for seed in 0..12 {
        each(seed, false, |problem, found, [primal, more], what| {
            let said = found.head.certificate;
            assert!(
                primal <= said.primal * (1.0 + NOT_COUNTED),
                "{what}: P {primal}"
            );
            assert!(
                said.primal <= (primal + more) * (1.0 + 1e-9),
                "{what}: P {primal}, {more} more at most"
            );
            let gap = (said.primal - said.dual) / said.primal;
            assert!((said.gap - gap.max(0.0)).abs() < 1e-12, "{what}");
            let arrived = found.head.stop == Some(StopReason::Tolerance);
            assert!(!arrived || said.gap <= problem.tolerance(), "{what}");
            widened += u32::from(found.head.rounding > NOT_COUNTED);
        });
    }
    assert!(widened > 10, "{widened}");
}

/// The least P that coordinate ascent of the dual comes to in 64 bits, of few rows as they come: no dual is above it.
fn solved(problem: &Problem, rows: &[OwnedExample]) -> f64 {
    let side = |row: &OwnedExample| if row.group == 1 { 1.0 } else { -1.0 };
    let dot = |w: &[f64], row: &OwnedExample| -> f64 {
        let products = w.iter().zip(&row.dense).map(|(w, x)| w * x);
        side(row) * products.sum::<f64>()
    };
    let (mut w, mut duals) = (vec![0.0; rows[0].dense.len()], vec![0.0; rows.len()]);
    let mut least = f64::INFINITY;
    for sweep in 0..40_000 {
        for (row, dual) in rows.iter().zip(&mut duals) {
            let weight = problem.c() * f64::from(row.cost);
            let (curvature, high) = match problem.loss() {
                Loss::Hinge => (0.0, weight),
                _ => (0.5 / weight, f64::INFINITY),
            };
            let q: f64 = row.dense.iter().map(|x| x * x).sum();
            let slope = 1.0 - dot(&w, row) - curvature * *dual;
            let newer = (*dual + slope / (q + curvature)).clamp(0.0, high);
            let step = side(row) * (newer - *dual);
            w.iter_mut()
                .zip(&row.dense)
                .for_each(|(w, x)| *w += step * x);
            *dual = newer;
        }
        if sweep % 100 == 99 {
            let norm: f64 = w.iter().map(|w| w * w).sum();
            let cost = |row: &OwnedExample| problem.c() * f64::from(row.cost);
            let losses = rows
                .iter()
                .map(|row| cost(row) * problem.loss().value(dot(&w, row)));
            least = least.min(0.5 * norm + losses.sum::<f64>());
        }
    }
    least
}

/// Rows that differ by little beside their size: rounding changes v by more than it is long.
#[test]
fn a_dual_holds_for_rows_far_from_zero() {
    let mut below = 0;
    for seed in 0..24 {
        let mut numbers = Numbers::new(seed);
        let centre = [1e5, 1e6, 2.5e7][seed as usize % 3];
        let row = |at: u32| OwnedExample {
            cost: [1.0, 1.0, 3.0][numbers.below(3)],
            ..OwnedExample::dense(at % 2, (0..3).map(|_| centre + numbers.normal()).collect())
        };
        let rows: Vec<_> = (0..2 + seed as u32 % 5).map(row).collect();
        let rows = by_first_appearance(rows);
        for loss in [Loss::Hinge, Loss::SquaredHinge] {
            for c in [1e-4, 1.0, 1e2] {
                for (scans, problem) in problems(loss, c) {
                    let problem = problem
                        .with(|it| it.formulation.intercept = Intercept::None)
                        .expect("valid");
                    let found = match scans {
                        true => by_scans(&problem, &rows, (Scale::None, false)),
                        false => Some(by_visits(problem, &rows, (Scale::None, false))),
                    };
                    let Some(found) = found else { continue };
                    let (said, least) = (found.head.certificate, solved(&problem, &rows));
                    let what = format!("seed {seed}, {loss:?}, C {c}, scans {scans}: {said:?}");
                    assert!(
                        said.dual <= least * (1.0 + NOT_COUNTED),
                        "{what}, P {least}"
                    );
                    below += u32::from(said.gap > 0.1);
                }
            }
        }
    }
    assert!(below > 100, "{below}");
}

/// Rows of which some are far from the others, which lie about their centre; or steps of a tenth, which no number of 32 bits is.
fn about_the_centre(seed: u64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let away = [1e3, 1e4, 1e5][seed as usize % 3];
    let steps = seed % 2 == 1;
    let count = [6, 12, 25][numbers.below(3)];
    let row = |at: u32| {
        let values: Vec<f64> = match (steps, at) {
            (true, _) => (0..2).map(|_| 0.1 * numbers.below(11) as f64).collect(),
            (false, 0 | 1) => {
                let side = 1.0 - 2.0 * f64::from(at);
                vec![side * away, side * away * 1.0001]
            }
            _ => (0..2).map(|_| 1e-5 * numbers.normal()).collect(),
        };
        let group = match at {
            0 | 1 => at,
            _ => u32::from(values[0] > values[1]),
        };
        OwnedExample::dense(group, values)
    };
    by_first_appearance((0..count).map(row).collect())
}

/// The same rows scaled, and divided by their lengths.
fn of_length_1(rows: &[OwnedExample], scaling: &Scaling) -> Vec<OwnedExample> {
    let divided = |row: &OwnedExample| {
        let values = row.dense.iter().enumerate();
        let values: Vec<f64> = values.map(|(j, x)| scaling.scaled(j, *x)).collect();
        let length = values.iter().map(|x| x * x).sum::<f64>().sqrt();
        let length = if length > 0.0 { length } else { 1.0 };
        OwnedExample::dense(row.group, values.iter().map(|x| x / length).collect())
    };
    rows.iter().map(divided).collect()
}

/// What rows about the centre are rounded by is much of their length, or more than it.
#[test]
fn a_certificate_holds_for_rows_that_are_divided_by_their_lengths() {
    let (mut wider, mut certain) = (0, 0);
    for seed in 0..12 {
        let rows = about_the_centre(seed);
        for (scale, loss) in SCALES
            .into_iter()
            .flat_map(|scale| [Loss::Hinge, Loss::SquaredHinge].map(|loss| (scale, loss)))
        {
            for c in [1e-3, 1.0, 1e3] {
                let mut known = None;
                for (scans, problem) in problems(loss, c) {
                    let problem = problem
                        .with(|it| it.formulation.intercept = Intercept::None)
                        .expect("valid");
                    let found = match scans {
                        true => by_scans(&problem, &rows, (scale, true)),
                        false => Some(by_visits(problem, &rows, (scale, true))),
                    };
                    let Some(found) = found else { continue };
                    let divided = of_length_1(&rows, &found.scaling);
                    let unscaled = Scaling::none(2);
                    let [primal, _] = objective(&problem, &found.w, &divided, &unscaled);
                    let least = *known.get_or_insert_with(|| solved(&problem, &divided));
                    let said = found.head.certificate;
                    let what =
                        format!("seed {seed}, {scale:?}, {loss:?}, C {c}, {scans}: {said:?}");
                    assert!(
                        said.dual <= least * (1.0 + NOT_COUNTED),
                        "{what}, P {least}"
                    );
                    assert!(
                        primal <= said.primal * (1.0 + NOT_COUNTED),
                        "{what}: P {primal}"
                    );
                    wider += u32::from(found.head.rounding > 0.01);
                    certain += u32::from(found.head.rounding == 0.0);
                }
            }
        }
    }
    assert!(wider > 100 && certain > 100, "{wider} {certain}");
}

#[test]
fn rows_that_32_bits_hold_are_not_off() {
    for seed in 0..4 {
        each(seed, true, |_, found, [primal, more], what| {
            let said = found.head.certificate.primal;
            // what 64 bits lose at a large C
            let lost = 1e-7 * more;
            assert!(found.head.rounding * said <= lost, "{what}");
            let rounding = 1e-9 * primal + lost;
            assert!((said - primal).abs() <= rounding, "{what}: P {primal}");
        });
    }
}
