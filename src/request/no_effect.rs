//! What is asked of a training and changes nothing about it, which NOTICEs tell. Pure.

use crate::base::errors::Failure;
use crate::combinations::no_effect;
use crate::request::kernel::{InteriorAsked, KernelTerms, Method};
use crate::request::options::MULTICLASS;
use crate::request::{Expansion, Request};
use pgsvm_core::{Compression, Inner, InteriorRank, InteriorTerms, LowRankJob};
use pgsvm_core::{Leader, Policy, Proximal};

/// Whether it says how the kernel matrix of a linear machine is factored.
fn ranks_line(kernel: &KernelTerms) -> bool {
    let Method::InteriorPoint(asked) = kernel.method else {
        return false;
    };
    let usual = InteriorAsked {
        rank: InteriorRank::Power(InteriorTerms::POWER),
        trace_tolerance: LowRankJob::DEFAULT_TOLERANCE,
        ..asked
    };
    kernel.is_linear() && asked != usual
}

impl Request {
    /// The options that were given and have no effect on what trains.
    pub fn without_effect(&self) -> impl Iterator<Item = Failure> {
        let terms = &self.terms;
        let solver = terms.solver();
        let scans = terms.leader == Leader::Scans;
        let by_scans = scans && terms.expansion == Expansion::Visit;
        let visit = by_scans.then(|| no_effect::visit_by_scans(solver));
        let copies = scans && terms.spooling.compression == Compression::On;
        let compression = copies.then(|| no_effect::compression(solver));
        let ranked = scans && self.kernel.as_ref().is_some_and(ranks_line);
        let rank = ranked.then(no_effect::interior_rank);
        let shifts = terms.proximal == Proximal::On;
        let unshifted = self.without_shift().filter(|_| shifts);
        let shift = unshifted.map(no_effect::shift);
        [visit, compression, rank, shift].into_iter().flatten()
    }

    /// What was given and had no effect on the machine that came out: an exact one, or one of two classes.
    pub fn without_effect_on(
        &self,
        is_exact: bool,
        classes: usize,
    ) -> impl Iterator<Item = Failure> {
        let solver = Some(self.terms.solver()).filter(|it| *it != "auto");
        let rank = self.kernel.iter().flat_map(|kernel| &kernel.maps);
        let has_rank = rank.clone().any(|map| map.rank.is_some());
        let given = |option| self.options.get(option).is_some();
        let on_exact = [
            solver.map(|solver| format!("solver '{solver}'")),
            has_rank.then(|| "rank".to_owned()),
            given("landmarks").then(|| "\"landmarks\"".to_owned()),
        ];
        let on_exact = on_exact.into_iter().flatten().filter(move |_| is_exact);
        let multiclass = (classes == 2 && given(MULTICLASS)).then(no_effect::two_classes);
        on_exact.map(no_effect::exact).chain(multiclass)
    }

    /// What trains without a proximal shift, if that is so.
    fn without_shift(&self) -> Option<String> {
        let terms = &self.terms;
        let exact = self.kernel.as_ref().map(|kernel| kernel.method) == Some(Method::Exact);
        if terms.policy == Policy::Paper {
            return Some("policy \"paper\"".to_owned());
        }
        if exact {
            return Some("method \"exact\"".to_owned());
        }
        let alone = terms.interior_point
            || terms.leader == Leader::Newton
            || (terms.leader == Leader::Scans && !terms.averages);
        alone.then(|| match terms.indexed {
            true => "inner solver \"newton\"".to_owned(),
            false => format!("solver '{}'", terms.solver()),
        })
    }

    /// That a training on so many threads went on in one, where it did because of its published form. `resident`: whether
    /// all rows were in the cache, where a form is not asked for.
    pub fn without_trainers(&self, trainers: usize, resident: bool) -> Option<Failure> {
        let terms = &self.terms;
        let pegasos = matches!(terms.inner, Inner::Pegasos(_));
        let published = terms.policy.is_published() || terms.indexed;
        let one = trainers > 1 && (pegasos || (published && !resident));
        one.then(|| {
            let what = match (pegasos, terms.policy) {
                (true, _) => "Pegasos".to_owned(),
                (false, Policy::Paper) => "policy \"paper\"".to_owned(),
                (false, _) => format!("solver '{}' with rows beyond the cache", terms.solver()),
            };
            no_effect::trainers(trainers, what)
        })
    }
}
