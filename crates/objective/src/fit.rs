//! How well heads fit rows whose decisions are all at hand.

use crate::base::memory::{filled, gathered, OutOfMemory};
use crate::calibration::Calibration;
use crate::evaluation::Ranking;
use crate::heads::{HeadSpec, Signs};
use crate::minimized::target_of;
use crate::pairs::Telling;
use crate::report::{Fit, Residuals};

/// Classes of rows with targets: their sides.
const SIDES: usize = 2;

/// What the decisions of these heads, by head and row, make of rows of these groups; None where there are none. `calibrations`: those by
/// which classes are told apart, or none.
///
/// `targets`: where labels are numbers, the rows' offsets, and by how much a score may be off without a loss.
pub fn fit<'a>(
    specs: impl ExactSizeIterator<Item = &'a HeadSpec>,
    decisions: &[Vec<f32>],
    (groups, targets): (&[u32], Option<(&[f64], f64)>),
    calibrations: &[Calibration],
    ranks: &[u32],
) -> Result<Option<Fit>, OutOfMemory> {
    if let Some(targets) = targets {
        return of_targets(specs, decisions, groups, targets);
    }
    let signs = gathered(specs.map(|it| &it.signs))?;
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
        residuals: None,
    };
    count(&mut fit, (decisions, &mut telling), groups, class)?;
    fit.deviation = most_deviation(decisions);
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

/// The same of rows with targets, which have sides and no classes.
fn of_targets<'a>(
    specs: impl ExactSizeIterator<Item = &'a HeadSpec>,
    decisions: &[Vec<f32>],
    groups: &[u32],
    (offsets, epsilon): (&[f64], f64),
) -> Result<Option<Fit>, OutOfMemory> {
    let specs = gathered(specs)?;
    let quantiles = gathered(specs.iter().filter_map(|it| it.quantile))?;
    let mut residuals = Residuals::default();
    for (row, (group, offset)) in groups.iter().zip(offsets).enumerate() {
        let y = specs.first().map_or(0, |it| it.signs.of(*group as usize));
        let target = target_of(*offset, y.into(), epsilon);
        let own = decisions.iter().map(|all| f64::from(all[row]));
        residuals.take(target, own, &quantiles);
    }
    let fit = Fit {
        rows: groups.len() as u64,
        actual: filled(0, SIDES)?,
        predicted: filled(0, SIDES)?,
        right: filled(0, SIDES)?,
        auc: None,
        deviation: most_deviation(decisions),
        residuals: Some(residuals),
    };
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

fn most_deviation(decisions: &[Vec<f32>]) -> f64 {
    let each = decisions.iter().map(|all| deviation(all));
    each.fold(0.0, f64::max)
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
