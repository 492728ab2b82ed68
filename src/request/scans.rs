//! What training by scans does not take: whatever asks for something to be kept of each row. And when scans are taken though
//! nobody asked for them: where other servers have the rows, and each can sum up its own.

use crate::base::errors::Failure;
use crate::pg::{citus, query};
use crate::request::kernel::{KernelTerms, Method};
use crate::request::words::invalid;
use crate::request::Request;
use pgsvm_core::plan::Folds;
use pgsvm_core::{Leader, Loss, Policy, Purpose};

/// Refuses what a scan does not keep.
pub(super) fn check(request: &Request) -> Result<(), Failure> {
    if request.terms.leader != Leader::Scans {
        return Ok(());
    }
    let solver = request.terms.solver();
    if request.terms.together && request.plan.holds_out() {
        return Err(invalid(
            "classes that are told apart together are not compared on rows held out",
        )
        .hint("c => 1, and leave probability out; or leave \"multiclass\" out of the options"));
    }
    match kept(request) {
        None => Ok(()),
        Some(what) => Err(invalid(format!(
            "solver '{solver}' keeps nothing of a row, and {what}"
        ))
        .hint("solver => 'stream'")),
    }
}

/// What asks for something to be kept of each row.
fn kept(request: &Request) -> Option<&'static str> {
    let plan = &request.plan;
    let kept = [
        (request.key.is_some(), "a key wants its dual variable"),
        (
            request.terms.keep_duals,
            "\"duals\" wants its dual variable",
        ),
        (
            request.warm_start.is_some(),
            "\"warm_start\" begins from dual variables",
        ),
        (
            plan.purpose == Purpose::Validate,
            "a cross-validation wants the decisions of all rows held out",
        ),
        (
            plan.holds_out() && !matches!(plan.folds, Some(Folds::Count(_))),
            "folds that a column says want its values",
        ),
        (
            is(request, |kernel| kernel.is_grid()),
            "gammas are compared on all rows held out",
        ),
        (
            is(request, |kernel| kernel.method == Method::Exact),
            "an exact kernel machine compares rows with each other",
        ),
        (
            request.terms.truncation.is_some() && request.terms.loss != Loss::SquaredHinge,
            "the ramp remembers which are outliers",
        ),
        (
            !plan.truncations.is_empty(),
            "truncations are compared on all rows held out",
        ),
        (
            request.index.is_some(),
            "\"index\" is read by whoever keeps rows",
        ),
    ];
    let first = kept.into_iter().find(|(wanted, _)| *wanted);
    first.map(|(_, what)| what)
}

/// Whether a kernel machine is asked for of which this is so.
fn is(request: &Request, so: impl Fn(&KernelTerms) -> bool) -> bool {
    request.kernel.as_ref().is_some_and(so)
}

/// Whether solver 'auto' may take scans: what is asked for can be had by them.
pub fn may_choose(request: &Request) -> bool {
    let terms = &request.terms;
    terms.leader == Leader::Auto
        && terms.policy == Policy::Cached
        && request.plan.purpose == Purpose::Train
        && request.knows_scans
        && kept(request).is_none()
}

/// Whether interior points may be summed up by scans: with as many machines as there are shards.
fn may_spread(request: &Request) -> bool {
    let interior = |kernel: &KernelTerms| match kernel.method {
        Method::InteriorPoint(asked) => asked.machines.is_none(),
        _ => false,
    };
    is(request, interior)
        && request.terms.leader == Leader::Nobody
        && request.plan.purpose == Purpose::Train
        && kept(request).is_none()
}

/// Takes scans where that may be chosen and other nodes of Citus have the rows.
pub fn choose(request: &mut Request) -> Result<(), Failure> {
    let may = may_choose(request) || may_spread(request);
    if may && citus::is_there() && is_spread(request)? {
        request.terms.leader = Leader::Scans;
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
