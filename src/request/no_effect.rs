//! Arguments that are accepted and change nothing about the training; NOTICEs say so. Pure.

use crate::base::errors::Failure;
use crate::combinations::no_effect;
use crate::features::{FeaturePart, FeatureSet};
use crate::request::kernel::KernelTerms;
use crate::request::options::table;
use crate::request::KernelMethod;
use crate::request::{ExpansionTime, Request};
use pgsvm_core::{
    Compression, Indexed, InteriorChoice, InteriorRank, InteriorTerms, LowRankJob, Policy,
    Proximal, SolverChoice,
};
use pgsvm_expand::Vocabulary;

/// Whether it says how the kernel matrix of a linear machine is factored.
fn ranks_line(request: &Request) -> bool {
    let SolverChoice::InteriorPoint(asked) = *request.terms.solver() else {
        return false;
    };
    let usual = InteriorChoice {
        rank: InteriorRank::Power(InteriorTerms::POWER),
        trace_tolerance: LowRankJob::DEFAULT_TOLERANCE,
        ..asked
    };
    request.kernel.as_ref().is_some_and(KernelTerms::is_linear) && asked != usual
}

/// What a training came to, as far as an option may have no effect on it.
pub struct MachineFacts {
    pub is_exact: bool,
    pub classes: usize,
    /// Whether all rows fitted the cache.
    pub fits: bool,
}

impl Request {
    /// The options that were given and have no effect on what trains.
    pub fn without_effect(&self) -> impl Iterator<Item = Failure> {
        let terms = &self.terms;
        let solver = terms.solver_word();
        let scans = terms.scans();
        let by_scans = scans && terms.expansion == ExpansionTime::Visit;
        let visit = by_scans.then(|| no_effect::visit_by_scans(solver));
        let indexed = scans && self.index.is_some();
        let index = indexed.then(|| no_effect::index_by_scans(solver));
        let copies = scans && terms.compression == Compression::On;
        let compression = copies.then(|| no_effect::compression(solver));
        let ranked = scans && ranks_line(self);
        let rank = ranked.then(no_effect::interior_rank);
        let shifts = terms.parameters.proximal == Proximal::On;
        let unshifted = self.without_shift().filter(|_| shifts);
        let shift = unshifted.map(no_effect::shift);
        [visit, index, compression, rank, shift]
            .into_iter()
            .flatten()
    }

    /// What the call gave, by `is_given`, and had no effect on the machine that came out or on these features.
    pub fn without_effect_on(
        &self,
        machine: &MachineFacts,
        features: &FeatureSet,
        is_given: impl Fn(&str) -> bool,
    ) -> Vec<Failure> {
        let has = |option: &str| self.call.options.get(option).is_some() && is_given(option);
        let mut notices = Vec::new();
        if machine.is_exact {
            let solver = self.terms.solver_word();
            let mut maps = self.kernel.iter().flat_map(|kernel| &kernel.maps);
            let has_rank = is_given("rank") && maps.any(|map| map.rank.is_some());
            let has_solver = solver != "auto" && is_given("solver");
            let by_loss = has_solver && solver == "newton" && !self.call.names_loss;
            if by_loss {
                let loss = self.terms.loss_word();
                notices.push(no_effect::exact_but_loss(solver, loss));
            }
            let on_exact = [
                (has_solver && !by_loss).then(|| format!("solver '{solver}'")),
                has_rank.then(|| "rank".to_owned()),
                has("landmarks").then(|| "\"landmarks\"".to_owned()),
            ];
            notices.extend(on_exact.into_iter().flatten().map(no_effect::exact));
        }
        // classes together are another solver and the hinge, of two as well
        if machine.classes == 2 && has(table::MULTICLASS.name()) && !self.terms.together() {
            notices.push(no_effect::two_classes());
        }
        let (terms, parts) = (&self.terms, &features.parts);
        // of scans it is notices before
        let is_kept = machine.fits && !terms.scans();
        if terms.compression == Compression::On && has("compression") && is_kept {
            notices.push(no_effect::resident_compression());
        }
        let words = || parts.iter().filter_map(FeaturePart::vocabulary);
        let are_learned = words().any(Vocabulary::is_learned);
        let (mut texts, mut categories) = (vec![], vec![]);
        if !are_learned {
            texts.extend(["min_df", "max_df", "max_words"]);
        }
        if words().next().is_none() {
            texts.push("sublinear");
        }
        if features.categories().next().is_none() {
            categories.push("max_categories");
            let is_hashed = |part: &FeaturePart| matches!(part, FeaturePart::Products(_));
            if !words().any(Vocabulary::is_hashed) && !parts.iter().any(is_hashed) {
                categories.push("hash_bits");
            }
        }
        texts.retain(|option| has(option));
        categories.retain(|option| has(option));
        notices.extend(texts.into_iter().map(no_effect::without_words));
        notices.extend(categories.into_iter().map(no_effect::without_categories));
        notices
    }

    /// What trains without a proximal shift, if that is so.
    fn without_shift(&self) -> Option<String> {
        let terms = &self.terms;
        let exact = self.kernel.as_ref().map(|kernel| kernel.method) == Some(KernelMethod::Exact);
        if terms.solver().policy() == Policy::Paper {
            return Some("policy \"paper\"".to_owned());
        }
        if exact {
            return Some("method \"exact\"".to_owned());
        }
        match terms.solver() {
            SolverChoice::Indexed(Indexed::Newton) => Some("inner solver \"newton\"".to_owned()),
            SolverChoice::Newton | SolverChoice::Scan(_) | SolverChoice::InteriorPoint(_) => {
                Some(format!("solver '{}'", terms.solver_word()))
            }
            _ => None,
        }
    }

    /// That a training on so many threads went on in one, where it did because of its published form. `resident`: whether
    /// all rows were in the cache, where a form is not asked for.
    pub fn without_trainers(&self, trainers: usize, resident: bool) -> Option<Failure> {
        let terms = &self.terms;
        let pegasos = terms.solver().descends();
        let published = terms.has_one_thread();
        let one = trainers > 1 && (pegasos || (published && !resident));
        one.then(|| {
            let what = match (pegasos, terms.solver().policy()) {
                (true, _) => "Pegasos".to_owned(),
                (false, Policy::Paper) => "policy \"paper\"".to_owned(),
                (false, _) => format!(
                    "solver '{}' with rows beyond the cache",
                    terms.solver_word()
                ),
            };
            no_effect::trainers(trainers, what)
        })
    }
}
