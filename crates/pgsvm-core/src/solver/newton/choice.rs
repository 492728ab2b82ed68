//! Which trainings Newton's method leads.

use crate::rows::facts::Facts;
use crate::solver::newton::head::Newton;
use crate::solver::newton::pace::Costs;
use crate::task::loss::Loss;
use crate::task::problem::{Leader, NewtonRefused, Policy, Problem};

/// How heads are led.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leading {
    /// Whether the intercept's weight is not in the norm.
    pub(crate) free: bool,
}

/// Passes of coordinate descent that a training is taken to cost.
const DESCENT_PASSES: f64 = 12.0;
/// Passes of Newton's method, and factorizations.
const PASSES: f64 = 5.0;
const FACTORS: f64 = 4.0;

/// Whether heads are led over these rows, of which so many are trained with one another.
pub(crate) fn leading(
    problem: &Problem,
    facts: &Facts,
    heads: usize,
    together: usize,
) -> Option<Leading> {
    let can = problem.loss() == Loss::SquaredHinge
        && problem.policy() == Policy::Cached
        && together >= facts.rows
        && heads > 0
        && facts.features <= Problem::MOST_NEWTON_FEATURES;
    let does = can
        && match problem.leader() {
            Leader::Auto => pays(facts),
            Leader::Newton => true,
            Leader::Nobody => false,
        };
    does.then_some(Leading {
        free: problem.free_intercept(),
    })
}

/// Why heads that are to be led cannot be, over rows of which so many are trained with one another.
pub(crate) fn refusal(problem: &Problem, facts: &Facts, together: usize) -> Option<NewtonRefused> {
    let asked = problem.leader() == Leader::Newton;
    let most = Problem::MOST_NEWTON_FEATURES;
    match () {
        () if !asked => None,
        () if problem.loss() != Loss::SquaredHinge => Some(NewtonRefused::Loss),
        () if together < facts.rows => Some(NewtonRefused::Streams),
        () if facts.features > most => Some(NewtonRefused::Features(facts.features)),
        () => None,
    }
}

/// Whether Newton's method is expected to be faster than coordinate descent.
fn pays(facts: &Facts) -> bool {
    let costs = Costs::new(facts);
    let products = costs.rows * costs.row / f64::from(costs.first_share());
    let newton = PASSES * costs.pass + FACTORS * (products + costs.factor);
    newton <= DESCENT_PASSES * costs.pass
}

/// Heads led at a time: as many as their matrices fit, at least one.
pub(crate) fn at_a_time(features: usize) -> usize {
    const BYTES: usize = 24 << 20;
    (BYTES / Newton::bytes(features)).max(1)
}
