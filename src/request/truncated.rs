//! What truncated losses do not take: ways of solving that know convex losses only. Pure.

use crate::base::errors::Failure;
use crate::request::kernel::{KernelTerms, Method};
use crate::request::words::invalid;
use crate::request::{Request, Terms};
use pgsvm_core::{Inner, Leader, Loss, Policy, StopRule};

/// Refuses what solves convex problems alone.
pub(super) fn check(request: &Request) -> Result<(), Failure> {
    let terms = &request.terms;
    if terms.truncation.is_none() {
        return Ok(());
    }
    let loss = terms.loss_word();
    let led =
        matches!(terms.leader, Leader::Newton | Leader::Scans) && terms.loss != Loss::SquaredHinge;
    if terms.averages {
        return Err(invalid(format!("averages do not minimize loss '{loss}'"))
            .detail("It is not convex: the mean of what parts of the rows find may be worse than each of them.")
            .hint("Leave \"machines\" out of the options: by scans all rows find it together"));
    }
    if led || terms.interior_point || terms.policy == Policy::Paper {
        let solver = match terms.policy {
            Policy::Paper => "stream' with policy \"paper\" as published".to_owned(),
            _ => format!("{}'", terms.solver()),
        };
        return Err(invalid(format!("solver '{solver} does not minimize loss '{loss}'"))
            .detail("Which rows are outliers changes from round to round, and it solves one convex problem.")
            .hint(match terms.loss {
                Loss::Hinge => "solver => 'auto', 'stream', 'indexed', 'block' or 'selective_block'",
                Loss::SquaredHinge => "solver => 'auto', 'stream', 'indexed', 'newton', 'scan', 'block' or 'selective_block'",
            }));
    }
    if matches!(terms.inner, Inner::Pegasos(_)) {
        return Err(invalid(format!("Pegasos does not minimize loss '{loss}'"))
            .detail("Which rows are outliers follows from a convex problem that is solved, and it is far from that at any row.")
            .hint("Leave \"inner\" out of the options"));
    }
    if terms.stop == StopRule::ProjectedGradient {
        return Err(invalid(format!(
            "with loss '{loss}' the projected gradient says nothing of the rounds to come"
        ))
        .hint("Leave \"stop\" out of the options"));
    }
    Ok(())
}

/// The kernel machine that is asked for: of a truncated loss always one of low rank, whose rows are trained as any others.
pub(super) fn kernel(
    terms: &Terms,
    kernel: Option<KernelTerms>,
) -> Result<Option<KernelTerms>, Failure> {
    match kernel {
        Some(kernel) if terms.truncation.is_some() && kernel.method == Method::Exact => {
            let loss = terms.loss_word();
            Err(invalid(format!(
                "an exact kernel machine does not minimize loss '{loss}'"
            ))
            .hint("options => '{\"method\": \"low_rank\"}'"))
        }
        Some(kernel) if terms.truncation.is_some() => Ok(Some(kernel.of_low_rank())),
        kernel => Ok(kernel),
    }
}
