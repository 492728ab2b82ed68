//! How well heads fit rows whose decisions are all at hand.

use crate::base::memory::{filled, OutOfMemory, Room as _};
use crate::calibration::Calibration;
use crate::evaluation::Ranking;
use crate::heads::{HeadSpec, Signs};
use crate::pairs::Telling;
use crate::report::Fit;

/// What the decisions of these heads, by head and row, make of rows of these groups; None where there are none. `calibrations`: those by
/// which classes are told apart, or none.
pub fn fit<'a>(
    specs: impl ExactSizeIterator<Item = &'a HeadSpec>,
    decisions: &[Vec<f32>],
    groups: &[u32],
    calibrations: &[Calibration],
    ranks: &[u32],
) -> Result<Option<Fit>, OutOfMemory> {
    let mut signs = Vec::new();
    signs.room(specs.len())?.extend(specs.map(|it| &it.signs));
    let class = |group: u32| match signs.as_slice() {
        [pair @ Signs::Between { .. }, ..] => pair.class(group as usize),
        [only] => usize::from(only.of(group as usize) > 0),
        many => many
            .iter()
            .position(|signs| signs.of(group as usize) > 0)
            .unwrap_or(0),
    };
    let mut telling = Telling::of(signs.iter().copied(), calibrations, ranks)?;
    let classes = telling.classes(decisions.len());
    let mut fit = Fit {
        rows: groups.len() as u64,
        actual: filled(0, classes)?,
        predicted: filled(0, classes)?,
        right: filled(0, classes)?,
        auc: None,
        deviation: 0.0,
    };
    count(&mut fit, (decisions, &mut telling), groups, class)?;
    fit.deviation = decisions
        .iter()
        .map(|all| deviation(all))
        .fold(0.0, f64::max);
    if let [only] = decisions {
        let mut ranking = Ranking::new(only.len())?;
        let rows = only.iter().zip(groups);
        ranking.add(rows.map(|(decision, group)| (*decision, class(*group) == 1)));
        while !ranking.step() {
            crate::base::interrupts::check();
        }
        fit.auc = ranking.area();
    }
    Ok((!groups.is_empty()).then_some(fit))
}

/// Counts the rows by class and by what is said of them.
fn count(
    fit: &mut Fit,
    (decisions, telling): (&[Vec<f32>], &mut Telling),
    groups: &[u32],
    class: impl Fn(u32) -> usize,
) -> Result<(), OutOfMemory> {
    let mut own = filled(0.0f32, decisions.len())?;
    for (row, group) in groups.iter().enumerate() {
        for (decision, all) in own.iter_mut().zip(decisions) {
            *decision = all[row];
        }
        let (actual, predicted) = (class(*group), telling.class(&own));
        fit.actual[actual] += 1;
        fit.predicted[predicted] += 1;
        fit.right[actual] += u64::from(actual == predicted);
    }
    Ok(())
}

fn deviation(decisions: &[f32]) -> f64 {
    let rows = decisions.len().max(1) as f64;
    let sum: f64 = decisions.iter().map(|value| f64::from(*value)).sum();
    let mean = sum / rows;
    let squares = decisions
        .iter()
        .map(|value| (f64::from(*value) - mean).powi(2));
    (squares.sum::<f64>() / rows).sqrt()
}
