//! What truncated losses do not go with: methods that know only convex losses. Pure.

use crate::base::errors::Failure;
use crate::combinations::losses;
use crate::request::kernel::KernelTerms;
use crate::request::{Request, SolvingTerms};
use pgsvm_core::{Policy, SolverChoice, StopRule};

/// Refuses what solves convex problems alone.
pub(super) fn check(request: &Request) -> Result<(), Failure> {
    let terms = &request.terms;
    if terms.truncation().is_none() {
        return Ok(());
    }
    let loss = terms.loss_word();
    if *terms.solver() == SolverChoice::Average {
        return Err(losses::truncated_average(loss));
    }
    if terms.solver().policy() == Policy::Paper {
        let more = match terms.loss().is_smooth() {
            true => "'newton', 'scan', ",
            false => "'scan', ",
        };
        return Err(losses::truncated_paper(loss, more));
    }
    if terms.scans() && terms.by_interior_points() {
        return Err(losses::truncated_interior_point(loss));
    }
    if terms.solver().descends() {
        return Err(losses::truncated_pegasos(loss));
    }
    if terms.stopping().rule == StopRule::ProjectedGradient {
        return Err(losses::truncated_projected_gradient(loss));
    }
    Ok(())
}

/// The kernel machine that is asked for: of a truncated loss one of low rank, unless an exact one is asked for.
pub(super) fn kernel(terms: &SolvingTerms, kernel: Option<KernelTerms>) -> Option<KernelTerms> {
    match terms.truncation() {
        Some(_) => kernel.map(KernelTerms::of_low_rank),
        None => kernel,
    }
}
