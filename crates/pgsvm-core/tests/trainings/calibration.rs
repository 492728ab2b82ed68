//! Isotonic functions against a definition that is slow, and which data they are chosen for.

use crate::common::{settings, Numbers};
use pgsvm_core::engine::{train_examples, OwnedExample, Threads};
use pgsvm_core::plan::drawn_fold;
use pgsvm_core::{
    Calibration, CalibrationChoice, Calibrations, Folds, Isotonic, Loss, Plan, Problem, Scale,
};

/// The points of isotonic regression by its definition: at each decision the share is the largest, over all decisions before, of the
/// smallest, over all decisions behind, of the share between them. A row of either class more is at each end.
fn by_definition(rows: &[(f32, bool)]) -> Vec<(f64, f64)> {
    // decision, rows, positive rows; and of those that are there
    let mut groups: Vec<(f64, f64, f64, f64)> = Vec::new();
    for (decision, positive) in rows {
        let decision = f64::from(*decision);
        if groups.last().is_none_or(|last| last.0 != decision) {
            groups.push((decision, 0.0, 0.0, 0.0));
        }
        let last = groups.last_mut().unwrap();
        *last = (
            decision,
            last.1 + 1.0,
            last.2 + f64::from(u8::from(*positive)),
            last.3 + 1.0,
        );
    }
    let count = groups.len();
    for end in [0, count - 1] {
        groups[end].1 += 2.0;
        groups[end].2 += 1.0;
    }
    let share = |from: usize, to: usize| {
        let between = &groups[from..=to];
        let sum = |of: fn(&(f64, f64, f64, f64)) -> f64| between.iter().map(of).sum::<f64>();
        sum(|it| it.2) / sum(|it| it.1)
    };
    let at = |group: usize| {
        let least = |from: usize| {
            (group..count)
                .map(|to| share(from, to))
                .fold(f64::INFINITY, f64::min)
        };
        (0..=group).map(least).fold(0.0, f64::max)
    };
    let shares: Vec<f64> = (0..count).map(at).collect();
    let mut points = Vec::new();
    let mut from = 0;
    for to in 1..=count {
        if to == count || shares[to] - shares[from] > 1e-12 {
            let block = &groups[from..to];
            let sum: f64 = block.iter().map(|it| it.0 * it.3).sum();
            let rows: f64 = block.iter().map(|it| it.3).sum();
            points.push((sum / rows, shares[from]));
            from = to;
        }
    }
    points
}

fn drawn(numbers: &mut Numbers, count: usize, steps: f64) -> Vec<(f32, bool)> {
    let slope = 4.0 * numbers.uniform() - 1.0;
    let mut rows: Vec<(f32, bool)> = (0..count)
        .map(|_| {
            let decision = (steps * numbers.normal()).round() / steps;
            let positive = numbers.uniform() < 1.0 / (1.0 + (-slope * decision).exp());
            (decision as f32, positive)
        })
        .collect();
    rows.sort_by(|one, other| one.partial_cmp(other).unwrap());
    rows
}

#[test]
fn pooled_neighbours_are_the_isotonic_function_of_its_definition() {
    let mut numbers = Numbers::new(7);
    for count in [1, 2, 3, 5, 20, 60] {
        for steps in [1.0, 4.0, 1e6] {
            for _ in 0..20 {
                let rows = drawn(&mut numbers, count, steps);
                let found = Isotonic::fit(rows.iter().copied()).unwrap().unwrap();
                let (decisions, probabilities) = found.points();
                let expected = by_definition(&rows);
                assert_eq!(decisions.len(), expected.len(), "{rows:?}");
                for (at, (decision, probability)) in expected.iter().enumerate() {
                    assert!((decisions[at] - decision).abs() < 1e-6, "{rows:?}");
                    assert!((probabilities[at] - probability).abs() < 1e-12, "{rows:?}");
                    assert_eq!(found.probability(decisions[at]), probabilities[at]);
                }
            }
        }
    }
}

#[test]
fn probabilities_rise_between_0_and_1_and_swap_with_the_sides() {
    let mut numbers = Numbers::new(8);
    for count in [1, 10, 1000] {
        let rows = drawn(&mut numbers, count, 1e6);
        let isotonic = Isotonic::fit(rows.iter().copied()).unwrap().unwrap();
        let mut swapped = isotonic.copied().unwrap();
        swapped.swap_sides();
        let mut before = 0.0;
        for at in -5000..=5000 {
            let decision = f64::from(at) / 1000.0;
            let found = isotonic.probability(decision);
            assert!(found >= before && found > 0.0 && found < 1.0);
            assert!((1.0 - swapped.probability(-decision) - found).abs() < 1e-12);
            before = found;
        }
        for decision in [
            f64::MIN,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ] {
            let found = isotonic.probability(decision);
            assert!(found > 0.0 && found < 1.0);
        }
    }
    // all of one class, and rows that nothing tells apart
    for positive in [false, true] {
        let one = Isotonic::fit((0..98).map(|at| (at as f32, positive)))
            .unwrap()
            .unwrap();
        let extreme = if positive { 0.99 } else { 0.01 };
        assert!((one.probability(if positive { 97.0 } else { 0.0 }) - extreme).abs() < 0.01);
    }
    let equal = (0..96).map(|at| (0.5, at >= 72));
    let equal = Isotonic::fit(equal).unwrap().unwrap();
    assert_eq!(equal.probability(3.0), 26.0 / 100.0);
    assert_eq!(Isotonic::fit([].into_iter()), Ok(None));
    assert_eq!(
        Isotonic::fit([(1.0, true), (f32::INFINITY, true)].into_iter()),
        Ok(None)
    );
}

#[test]
fn no_function_has_more_points_than_there_may_be() {
    // block k has k positive rows of 400, at its beginning
    let rows = (0..400)
        .flat_map(|block| (0..400).map(move |row| ((400 * block + row) as f32, row < block)));
    let found = Isotonic::fit(rows).unwrap().unwrap();
    let (decisions, probabilities) = found.points();
    assert_eq!(decisions.len(), Isotonic::MOST_POINTS);
    assert!(decisions.windows(2).all(|two| two[0] < two[1]));
    assert!(probabilities.windows(2).all(|two| two[0] < two[1]));
    for at in 0..160_000 {
        let block = f64::from(at / 400) / 400.0;
        assert!(
            (found.probability(f64::from(at)) - block).abs() < 0.02,
            "{at}"
        );
    }
}

#[test]
fn points_that_are_none_of_such_a_function_are_refused() {
    let new = |decisions: &[f64], probabilities: &[f64]| {
        Isotonic::new(decisions.to_vec(), probabilities.to_vec())
    };
    assert!(new(&[1.0], &[0.5]).is_some());
    assert!(new(&[1.0, 2.0], &[0.5, 0.5]).is_some());
    for (decisions, probabilities) in [
        (&[][..], &[][..]),
        (&[1.0], &[]),
        (&[1.0, 1.0], &[0.1, 0.2]),
        (&[1.0, 2.0], &[0.2, 0.1]),
        (&[1.0, 2.0], &[0.0, 0.1]),
        (&[1.0, 2.0], &[0.1, 1.0]),
        (&[1.0, f64::NAN], &[0.1, 0.2]),
        (&[1.0, f64::INFINITY], &[0.1, 0.2]),
        (&[f64::MIN, f64::MAX], &[0.1, 0.2]),
        (&[1.0, 2.0], &[0.1, f64::NAN]),
    ] {
        assert!(
            new(decisions, probabilities).is_none(),
            "{decisions:?} {probabilities:?}"
        );
    }
    let many: Vec<f64> = (1..=101).map(f64::from).collect();
    let shares: Vec<f64> = many.iter().map(|it| it / 102.0).collect();
    assert!(new(&many, &shares).is_none());
    assert!(new(&many[1..], &shares[1..]).is_some());
}

/// Rows of one feature, whose class is 1 with this probability; of more classes the others share the rest.
fn rows(count: usize, classes: u32, seed: u64, probability: fn(f64) -> f64) -> Vec<OwnedExample> {
    let mut numbers = Numbers::new(seed);
    let mut seen = vec![0; classes as usize];
    (0..count)
        .map(|row| {
            let value = 2.0 * numbers.uniform() - 1.0;
            let class = match numbers.uniform() < probability(value) {
                true => 1,
                // 0 and 2 and whatever else there is
                false if classes == 2 => 0,
                false => [0, 2][usize::from(numbers.uniform() < 0.5 + 0.4 * value)],
            };
            // the first rows have all classes, in their order
            let class = if row < classes as usize {
                row as u32
            } else {
                class
            };
            let fold = drawn_fold(1, class, seen[class as usize], 5);
            seen[class as usize] += 1;
            OwnedExample::dense(class * 5 + fold, vec![value])
        })
        .collect()
}

fn sigmoid(value: f64) -> f64 {
    1.0 / (1.0 + (-3.0 * value).exp())
}

/// Nearly none, and from a value on half of the rows.
fn bent(value: f64) -> f64 {
    0.02 + 0.48 * (10.0 * value - 3.0).clamp(0.0, 1.0)
}

/// The decisions of the final heads at a value, and what makes probabilities of them.
struct Trained(Vec<(f64, f64)>, Calibrations);

fn trained(examples: &[OwnedExample], choice: CalibrationChoice) -> Trained {
    let plan = Plan {
        probability: true,
        calibration: choice,
        folds: Some(Folds::Count(5)),
        ..Plan::train(1.0)
    };
    let problem = Problem::new(Loss::SquaredHinge, 1.0, 1e-3).unwrap();
    let settings = settings(16 << 20, Scale::None, Threads::One);
    let trained = train_examples(problem, plan, examples, settings).unwrap();
    let report = trained.trainer.report().unwrap();
    let heads = (0..report.heads.len()).map(|head| {
        let weights = trained.trainer.weights(head);
        (weights.iter().next().unwrap(), weights.intercept())
    });
    Trained(heads.collect(), report.calibrations)
}

impl Trained {
    fn of(&self, row: &OwnedExample, of: impl Fn(&Calibration, f64) -> f64) -> f64 {
        let class = (row.group / 5) as usize;
        let each = self.0.iter().zip(&self.1.heads);
        let each: Vec<f64> = each
            .map(|((w, b), it)| of(it, w * row.dense[0] + b))
            .collect();
        match each[..] {
            [positive] => [1.0 - positive, positive][class],
            _ => each[class] / each.iter().sum::<f64>(),
        }
    }

    /// Mean log losses on these rows: of sigmoids, and of what says probabilities.
    fn losses(&self, rows: &[OwnedExample]) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for row in rows {
            sums[0] -= self
                .of(row, |it, decision| it.sigmoid.probability(decision))
                .ln();
            sums[1] -= self.of(row, Calibration::probability).ln();
        }
        sums.map(|sum| sum / rows.len() as f64)
    }
}

#[test]
fn sigmoids_stay_where_they_are_right() {
    for seed in 1..=8 {
        for (count, classes) in [(1500, 2), (20_000, 2)] {
            let found = trained(
                &rows(count, classes, seed, sigmoid),
                CalibrationChoice::Auto,
            )
            .1;
            assert!(!found.has_isotonic(), "{seed} {count}: {:?}", found.losses);
            let losses = found.losses.unwrap();
            assert_eq!(losses.rows, count as u64);
            assert!(losses.sigmoid < losses.isotonic + 1e-3, "{losses:?}");
        }
    }
}

#[test]
fn bent_shares_are_told_by_isotonic_functions_which_are_better_on_fresh_rows() {
    for classes in [2, 3] {
        let found = trained(&rows(6000, classes, 3, bent), CalibrationChoice::Auto);
        assert!(found.1.has_isotonic(), "{:?}", found.1.losses);
        let fresh = rows(50_000, classes, 4, bent);
        let [sigmoid, isotonic] = found.losses(&fresh);
        assert!(isotonic < sigmoid - 0.01, "{sigmoid} {isotonic}");
        // and about as good as it was said to be
        let losses = found.1.losses.unwrap();
        assert!(
            (losses.isotonic - isotonic).abs() < 0.03,
            "{losses:?} {isotonic}"
        );
        assert!(
            (losses.sigmoid - sigmoid).abs() < 0.03,
            "{losses:?} {sigmoid}"
        );
    }
}

#[test]
fn what_is_asked_for_is_taken_and_few_rows_are_not_judged() {
    let examples = rows(6000, 2, 3, bent);
    let asked = trained(&examples, CalibrationChoice::Sigmoid).1;
    assert!(!asked.has_isotonic() && asked.fitted.is_none() && asked.losses.is_none());
    let auto = trained(&examples, CalibrationChoice::Auto).1;
    assert_eq!(asked.heads[0].sigmoid, auto.heads[0].sigmoid);
    let asked = trained(&rows(6000, 2, 3, sigmoid), CalibrationChoice::Isotonic).1;
    assert!(asked.has_isotonic() && asked.fitted.unwrap().suffice());
    // too few rows, or too few of one class
    for few in [rows(900, 2, 3, bent), rows(3000, 2, 3, |_| 0.01)] {
        let auto = trained(&few, CalibrationChoice::Auto).1;
        assert!(!auto.has_isotonic() && auto.heads.len() == 1);
        let asked = trained(&few, CalibrationChoice::Isotonic).1;
        assert!(asked.has_isotonic() && !asked.fitted.unwrap().suffice());
    }
}

#[test]
fn of_many_rows_a_sample_is_judged() {
    let found = trained(&rows(400_000, 2, 3, bent), CalibrationChoice::Auto).1;
    let judged = found.losses.unwrap().rows as f64;
    assert!((judged / f64::from(1 << 18) - 1.0).abs() < 0.01, "{judged}");
    assert!(found.has_isotonic() && found.fitted.unwrap().rows == judged as u64);
}

#[test]
fn isotonic_functions_are_those_of_held_out_decisions() {
    let examples = rows(6000, 2, 3, bent);
    let settings = settings(16 << 20, Scale::None, Threads::One);
    let plan = Plan {
        probability: true,
        folds: Some(Folds::Count(5)),
        ..Plan::train(1.0)
    };
    let problem = Problem::new(Loss::SquaredHinge, 1.0, 1e-3).unwrap();
    let trained = train_examples(problem, plan, &examples, settings).unwrap();
    let report = trained.trainer.report().unwrap();
    // held-out heads, one a fold, stand behind the final one
    let mut decided: Vec<(f32, bool)> = examples
        .iter()
        .map(|row| {
            let weights = trained.trainer.weights(1 + (row.group % 5) as usize);
            let w = weights.iter().next().unwrap();
            let value = f64::from(row.dense[0] as f32);
            ((w * value + weights.intercept()) as f32, row.group / 5 == 1)
        })
        .collect();
    decided.sort_by(|one, other| one.partial_cmp(other).unwrap());
    let expected = Isotonic::fit(decided.into_iter()).unwrap().unwrap();
    let found = report.calibrations.heads[0].isotonic.as_ref().unwrap();
    for at in -100..=100 {
        let decision = f64::from(at) / 50.0;
        let off = found.probability(decision) - expected.probability(decision);
        assert!(off.abs() < 0.01, "{decision}: {off}");
    }
}
