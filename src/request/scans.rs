//! What training by scans refuses: anything that needs something kept of each row. And when scans are taken although nobody asked for them:
//! where other servers have the rows, and each can sum up its own.

use crate::base::errors::Failure;
use crate::combinations::scans;
use crate::pg::{citus, query};
use crate::request::kernel::KernelTerms;
use crate::request::KernelMethod;
use crate::request::Request;
use pgsvm_core::{Machines, Purpose, SolverChoice};

/// Refuses what a scan does not keep.
pub(super) fn check(request: &Request) -> Result<(), Failure> {
    if !request.terms.scans() {
        return Ok(());
    }
    if request.terms.together() && request.plan.holds_out() {
        return Err(scans::together_held_out());
    }
    if request.terms.together() && (request.columns.key.is_some() || request.terms.keep_duals) {
        return Err(scans::together_key());
    }
    kept(request).map_or(Ok(()), |refused| Err(refused(request.terms.solver_word())))
}

/// An entry of the table of combinations, for a solver.
type Refusal = fn(&'static str) -> Failure;

/// The refusal of what asks for something to be kept of each row.
fn kept(request: &Request) -> Option<Refusal> {
    let plan = &request.plan;
    let validates = plan.purpose == Purpose::Validate;
    let is_grid = is(request, KernelTerms::is_grid);
    let kept: [(bool, Refusal); 3] = [
        (validates && is_grid, scans::gammas),
        (
            is_grid && !request.epsilons.is_empty(),
            scans::epsilons_and_gammas,
        ),
        (
            is(request, |kernel| kernel.method == KernelMethod::Exact),
            scans::exact,
        ),
    ];
    let first = kept.into_iter().find(|(wanted, _)| *wanted);
    first.map(|(_, refused)| refused)
}

/// Whether something is asked for that rows which stay are quicker to give.
fn keeps_rows(request: &Request) -> bool {
    request.columns.key.is_some() || request.terms.keep_duals || request.index.is_some()
}

/// Whether a kernel machine is asked for of which this is so.
fn is(request: &Request, so: impl Fn(&KernelTerms) -> bool) -> bool {
    request.kernel.as_ref().is_some_and(so)
}

/// Whether solver 'auto' may take scans: what is asked for can be had by them.
pub fn may_choose(request: &Request) -> bool {
    let terms = &request.terms;
    *terms.solver() == SolverChoice::Auto
        && request.plan.purpose == Purpose::Train
        && request.call.knows_scans
        && !keeps_rows(request)
        && kept(request).is_none()
}

/// Whether interior points may be summed up by scans: with as many machines as there are shards.
fn may_spread(request: &Request) -> bool {
    let interior = match request.terms.solver() {
        SolverChoice::InteriorPoint(choice) => choice.machines == Machines::Usual,
        _ => false,
    };
    interior
        && request.terms.truncation().is_none()
        && request.plan.purpose == Purpose::Train
        && !keeps_rows(request)
        && kept(request).is_none()
}

/// Takes scans where that may be chosen and other nodes of Citus have the rows.
pub fn choose(request: &mut Request) -> Result<(), Failure> {
    let may = may_choose(request) || may_spread(request);
    if may && citus::is_there() && is_spread(request)? {
        request.terms.parameters.solver = request.terms.solver().by_scans();
    }
    Ok(())
}

/// Whether shards of distributed tables have the rows, and they are the same each time.
fn is_spread(request: &Request) -> Result<bool, Failure> {
    // says with its place what is wrong with a query
    request.source.columns()?;
    let select = request.source.select(&["*".to_owned()])?;
    let planned = query::plan(&select);
    Ok(planned.repeats && planned.spread.shards > 0)
}
