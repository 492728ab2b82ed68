//! What a training says when its model has been stored: one NOTICE with how good it is on its own rows, with all else as its DETAIL, and a
//! WARNING for each thing that is wrong.

use crate::base::errors::{Code, Failure};
use crate::base::text::{array_literal, duration, listed, listed_by};
use crate::features::{
    excluding, naming, ArrayPart, Dictionary, FeaturePart, KernelForm, MOST_TYPED, SUPPORT_VECTORS,
};
use crate::pg::citus::ShardSpread;
use crate::planning::source_columns::LeftOutColumns;
use crate::request::kernel::KernelTerms;
use crate::request::source::GivenSource;
use crate::request::{scoring_words, ClassWeight, Request, SolvingTerms};
use crate::sql::column_notes::{
    counted, missing_categories, nulls, number_columns, read_texts, short, split_categories,
    text_categories, texts, with_units,
};
use crate::sql::giveaways::Giveaways;
use crate::sql::label_notes::doubtful_labels;
use crate::storing::predecessor::TakenOver;
use crate::storing::version_row::{self, Labelled};
use crate::targets::amounts::{are_doubtful, if_to_predict};
use crate::targets::labels::LabelValue;
use crate::training::fit::{
    novel_share, troubles, OffTarget, OnTrainingRows, Trouble, POOR_R2, SMALL_DEVIATION,
    VERY_MANY_CLASSES,
};
use crate::training::outcome::{Approximate, Away, Coarse, Trained};
use crate::training::validation;
use pgrx::spi::{quote_identifier, quote_literal};
use pgsvm_core::engine::Compared;
use pgsvm_core::{
    quantiles, CalibrationRows, LowRankJob, MachineTimes, Scoring, StopReason, StopRule, Stopping,
};
use pgsvm_expand::reading::is_marker;

/// The part of a kernel's trace that landmarks may leave out and be as good as all rows.
const NOTHING: f64 = 1e-7;
/// What landmarks leave out of a kernel's trace is much above this share.
const COARSE: f64 = 0.05;
/// Most classes that a message names.
const MOST_NAMED: usize = 5;
const RBF: &str = "kernel => 'rbf', which tells apart what no line can";

/// A model that has been stored.
pub struct Announcement<'a> {
    pub request: &'a Request,
    pub trained: &'a Trained,
    pub labelled: &'a Labelled<'a>,
    /// What trains on classes made of the label's values.
    pub classed: &'a str,
    pub version: i32,
    /// Columns that are no features though nobody said so.
    pub left_out: &'a LeftOutColumns,
    /// Features that WARNINGs want left out.
    pub giveaways: &'a Giveaways<'a>,
    /// Threads that were to train.
    pub trainers: usize,
    /// Settings that are those of the version before.
    pub taken_over: Option<&'a TakenOver>,
    /// Whether nodes of Citus have the rows and not the model.
    pub is_for_nodes: bool,
}

/// The share of rows held out that the NOTICE tells something of.
const COVERAGE_SAID: f64 = 0.9;
/// How far the share of novel rows may be from nu.
const MOST_OFF_NU: f64 = 0.01;

impl Announcement<'_> {
    pub fn make(&self) {
        let said = Failure::new(Code::ERRCODE_SUCCESSFUL_COMPLETION, self.result());
        let said = said.detail(self.detail());
        let hints = [
            self.a_kernel_is_better(),
            self.codes(),
            self.as_sparse(),
            self.for_nodes(),
        ];
        let hints: Vec<_> = hints.into_iter().flatten().collect();
        match hints.is_empty() {
            false => said.hint(hints.join("\n")).notice(),
            true => said.notice(),
        }
        let labels = doubtful_labels(
            (&self.request.columns.label, self.classed),
            &self.trained.reader.classes,
        );
        let labels = labels.filter(|_| self.tells_classes());
        let warnings = [
            self.unfinished(),
            self.learned_nothing(labels.is_some())
                .filter(|_| self.tells_classes()),
            self.explains_nothing(),
            self.finds_others(),
            self.follows_chance(),
            self.coarse(),
            self.hardly_read(),
            self.empty(),
            self.outdated(),
            labels,
        ];
        warnings.into_iter().flatten().for_each(Failure::warn);
    }

    /// Whether gamma was chosen.
    fn is_grid(&self) -> bool {
        let kernel = self.request.kernel.as_ref();
        kernel.is_some_and(KernelTerms::is_grid)
    }

    /// The same of epsilon.
    fn chooses_epsilon(&self) -> bool {
        !self.request.epsilons.is_empty()
    }

    fn name(&self) -> String {
        format!("{}@{}", self.request.model, self.version)
    }

    /// The one line: how good the model is.
    fn result(&self) -> String {
        let report = &self.trained.trainer.report;
        let reader = &self.trained.reader.report;
        let mut parts = Vec::new();
        if let (true, Some(c)) = (
            self.request.plan.candidate_count() > 1 || self.is_grid() || self.chooses_epsilon(),
            report.c,
        ) {
            parts.push(self.held_out(c));
        }
        parts.extend(self.on_rows());
        parts.push(counted(reader.rows, "row"));
        if let Some(served) = &self.trained.served {
            parts.push(format!("{} by index {}", served.used, served.name));
        }
        match self.trained.reader.rows_skipped {
            0 => {}
            skipped => parts.push(format!("{skipped} skipped")),
        }
        match self.trained.reader.bad_rows.count {
            0 => {}
            bad => parts.push(format!("{} left out", counted(bad, "bad row"))),
        }
        match self.trained.reader.rows_unlabelled {
            0 => {}
            rows => parts.push(format!("{rows} without a label left out")),
        }
        parts.push(counted(reader.features, "feature"));
        match self.labelled.values.len() {
            0..=2 => {}
            classes => parts.push(format!("{classes} classes")),
        }
        format!("model {}: {}", self.name(), parts.join(", "))
    }

    /// How good it is on its own rows.
    fn on_rows(&self) -> Vec<String> {
        if self.regresses() {
            let Some(off) = OffTarget::of(self.trained) else {
                return Vec::new();
            };
            let quantiles = self.request.terms.quantiles.as_slice();
            if !quantiles.is_empty() {
                let pinball = format!("training pinball {}", short(off.pinball));
                let share = format!(
                    "{:.1} % of labels are not above quantile {}",
                    100.0 * off.coverage,
                    quantiles[quantiles::middle(quantiles)]
                );
                return vec![pinball, share];
            }
            let r2 = off.r2.map(|r2| format!("training R2 {r2:.4}"));
            let rmse = format!("training RMSE {}", short(off.rmse));
            return r2.into_iter().chain([rmse]).collect();
        }
        if let Some(share) = novel_share(self.trained) {
            return vec![format!("{:.1} % of the training rows novel", 100.0 * share)];
        }
        let on_rows = OnTrainingRows::of(self.trained);
        let accuracy = on_rows
            .accuracy
            .map(|it| format!("training accuracy {it:.4}"));
        let auc = on_rows.auc.map(|it| format!("training AUC {it:.4}"));
        accuracy.into_iter().chain(auc).collect()
    }

    fn tells_classes(&self) -> bool {
        !self.regresses() && self.request.terms.nu.is_none()
    }

    /// Of a regression, how far predictions of rows held out were off.
    fn off(&self) -> Option<String> {
        let residuals = self
            .trained
            .trainer
            .report
            .calibrations
            .residuals
            .as_ref()?;
        let off = residuals.half_width(COVERAGE_SAID);
        off.is_finite().then(|| {
            format!(
                "Of rows held out 9 in 10 are predicted within {}; svm_interval says it row by row.",
                short(off)
            )
        })
    }

    /// Of novelties, what was asked for and found.
    fn novelty(&self) -> Option<String> {
        let nu = self.request.terms.nu?;
        let mut text = format!("A machine of one class, as there is no label: nu {nu}");
        if self.request.call.options.get("task").is_some() {
            text = format!("A machine of one class: nu {nu}");
        }
        Some(text + "; svm_decision is below 0 for novel rows.")
    }

    /// Where another share of rows is novel than asked for.
    fn finds_others(&self) -> Option<Failure> {
        let nu = self.request.terms.nu?;
        let share = novel_share(self.trained)?;
        let report = &self.trained.trainer.report;
        let rows = report.rows as f64;
        // of rows that are looked at some are on the margin, as many as there are weights that are free
        let mut off = MOST_OFF_NU.max(10.0 / rows);
        if let Some(fit) = report.fit.as_ref().filter(|fit| fit.rows < report.rows) {
            // and of a sample the share has a standard error
            off += 4.0 * (nu * (1.0 - nu) / fit.rows.max(1) as f64).sqrt();
        }
        let reached = report.nu.unwrap_or(1.0);
        // where rows weigh the share is one of weights
        let is_share = (share - nu).abs() <= off || self.request.columns.weight.is_some();
        if is_share && (reached - nu).abs() <= MOST_OFF_NU {
            return None;
        }
        let message = format!(
            "model {} takes {:.1} % of its rows for novel, and nu asks for {:.1} %",
            self.name(),
            100.0 * share,
            100.0 * nu
        );
        let warning = Failure::new(Code::ERRCODE_WARNING, message);
        Some(match (self.request.kernel.is_none(), reached > 1.05 * nu) {
            (true, true) => {
                warning.hint("kernel => 'rbf' encloses rows wherever they are; or a larger nu")
            }
            (_, true) => warning.hint("A larger nu, a larger gamma, or more passes: max_passes"),
            (_, false) => warning.hint(
                "Rows that are the same are novel together, or not at all; or a smaller tolerance",
            ),
        })
    }

    fn of_quantiles(&self) -> bool {
        !self.request.terms.quantiles.is_empty()
    }

    fn regresses(&self) -> bool {
        self.trained.reader.report.targets.is_some()
    }

    /// Of a regression what was predicted, and what to type where that was not meant.
    fn target(&self) -> Option<String> {
        let targets = self.trained.reader.report.targets?;
        let label = &self.request.columns.label;
        let why = match self.request.call.amount {
            None => format!("A regression of {label}"),
            Some(amount) => format!(
                "A regression, as {} (task => 'classification' takes each for a class)",
                amount.reason(label)
            ),
        };
        let standardizes = self.request.terms.targets.is_some_and(|it| it.standardizes);
        let terms = match (self.request.terms.quantiles.as_slice(), targets.epsilon) {
            ([tau], _) => format!("quantile {tau}"),
            ([_, ..], _) => {
                let all = self.request.terms.quantiles.iter();
                let all: Vec<_> = all.map(f64::to_string).collect();
                format!("quantiles {}", all.join(", "))
            }
            _ if targets.delta.is_some() => {
                let unit = if standardizes {
                    " standard deviations"
                } else {
                    ""
                };
                let delta = short(targets.delta());
                format!("squared errors up to {delta}{unit}, straight ones beyond")
            }
            ([], 0.0) => "epsilon 0".to_owned(),
            ([], epsilon) if standardizes => {
                format!("epsilon {} standard deviations", short(epsilon))
            }
            ([], epsilon) => format!("epsilon {}", short(epsilon)),
        };
        let label = match standardizes {
            true => format!(
                "; its mean is {}, its standard deviation {}",
                short(targets.centre),
                short(targets.deviation)
            ),
            false => String::new(),
        };
        Some(format!("{why}: {terms}{label}."))
    }

    /// Where predictions of a regression say next to nothing, or the same for all rows.
    fn explains_nothing(&self) -> Option<Failure> {
        let off = OffTarget::of(self.trained)?;
        let fit = self.trained.trainer.report.fit.as_ref()?;
        let targets = self.trained.reader.report.targets?;
        let free = targets.deviation * targets.epsilon;
        let is_free = free > 0.0 && free >= off.rmse;
        let is_poor = off
            .r2
            .is_some_and(|r2| r2 < POOR_R2 || fit.deviation < SMALL_DEVIATION);
        let why = match off.r2 {
            None => "its label is the same in all rows".to_owned(),
            Some(_) if is_poor && is_free => format!(
                "predictions may be off by epsilon, {} in the label's unit, which is wider than the label spreads",
                short(free)
            ),
            Some(_) if fit.deviation < SMALL_DEVIATION => {
                "it predicts almost the same for every row".to_owned()
            }
            // a quantile is not to be near all labels
            Some(_) if self.of_quantiles() => return None,
            Some(_) => match OffTarget::telling_r2(self.trained) {
                Some(r2) if r2 < POOR_R2 => {
                    format!(
                        "it explains {:.1} % of the variance of its label",
                        100.0 * r2.max(0.0)
                    )
                }
                _ => return None,
            },
        };
        let message = format!("model {} has learned next to nothing: {why}", self.name());
        let warning = Failure::new(Code::ERRCODE_WARNING, message);
        Some(match off.r2 {
            None => warning,
            Some(_) if is_free => warning.hint("A smaller one: epsilon => 0.1"),
            Some(_) => warning.hint(
                "Give it features that say more, a larger c, or kernel => 'rbf' for what is not linear",
            ),
        })
    }

    /// How good the model of the C chosen was on rows that were held out.
    fn held_out(&self, c: f64) -> String {
        let plan = &self.request.plan;
        let score = match validation::best_score(&self.trained.trainer.report) {
            Some(score) => format!("{score:.4}"),
            None => "unknown".to_owned(),
        };
        let what = scoring_words(plan.scoring).1;
        let mut text = format!("held-out {what} {score} at c {c}");
        if !plan.costs.contains(&c) {
            let least = plan.costs.iter().copied().fold(f64::INFINITY, f64::min);
            let most = plan.costs.iter().copied().fold(0.0, f64::max);
            text += &format!(" (beyond the usual {least} to {most})");
        }
        if let Some(s) = self.trained.trainer.report.truncation {
            text += &format!(", truncation {s}");
        }
        if let (true, Some(gamma)) = (self.is_grid(), self.trained.trainer.report.gamma) {
            text += &format!(", gamma {gamma:.6}");
        }
        if let Some(epsilon) = self.trained.trainer.report.epsilon {
            text += &format!(", epsilon {epsilon}");
        }
        text
    }

    /// What to type where a kernel machine tells a sample of the rows apart clearly better.
    fn a_kernel_is_better(&self) -> Option<String> {
        if self.giveaways.as_code().is_some() {
            return None;
        }
        let compared = self.trained.compared.filter(Compared::is_clear)?;
        Some(format!(
            "Try kernel => 'rbf': of {} rows drawn, each held out in turn, a kernel machine is right about {:.1} %, a linear one about {:.1} %.",
            compared.rows,
            100.0 * compared.kernel,
            100.0 * compared.linear
        ))
    }

    /// What to type where numbers are codes.
    fn codes(&self) -> Option<String> {
        // who names a column as it is means that
        let unasked = self.request.columns.features.is_none();
        let codes = self.trained.reader.telltales.codes.iter();
        let codes = codes.filter(|_| unasked);
        let codes: Vec<_> = codes.map(String::as_str).collect();
        let is_wanted = |name: &str| !self.giveaways.has(name);
        let codes: Vec<_> = codes.into_iter().filter(|it| is_wanted(it)).collect();
        let (look, numbers) = match codes.as_slice() {
            [] => return None,
            [_] => ("looks like a code", "a number"),
            _ => ("look like codes", "numbers"),
        };
        let is_code =
            |part: &FeaturePart| part.is_number() && part.columns().any(|it| codes.contains(&it));
        // what another hint of this training wants left out is not asked for here
        let parts = self.trained.reader.features.parts.iter();
        let parts = parts.filter(|part| is_wanted(&part.name()) && part.columns().all(is_wanted));
        let parts: Vec<_> = parts.collect();
        let are_few = parts.len() <= MOST_TYPED;
        let named = parts.iter().filter(|part| are_few || is_code(part));
        let named: Vec<_> = named
            .map(|part| match is_code(part) {
                true => part.as_category(),
                false => part.entry(),
            })
            .collect();
        let named = named.iter().map(String::as_str);
        let how = match are_few {
            true => naming(named),
            false => format!("name them so in features, such as {}", array_literal(named)),
        };
        Some(format!(
            "{} {look} rather than {numbers}. To have a feature for each value: {how}.",
            codes.join(", ")
        ))
    }

    /// What to type where two arrays that nobody named look like the indices and values of one sparse vector: the mean index rises from
    /// place to place.
    fn as_sparse(&self) -> Option<String> {
        let features = &self.trained.reader.features;
        let arrays = features.dense_places().filter_map(|(part, places)| {
            let array = part.as_one::<ArrayPart>()?;
            Some((array, places, array.holds_integers()?))
        });
        let arrays: Vec<_> = arrays.collect();
        let (index, value) = match arrays.as_slice() {
            [index, value] if index.2 && !value.2 => (index, value),
            [value, index] if index.2 && !value.2 => (index, value),
            _ => return None,
        };
        let places = index.1.clone();
        let are_few = features.parts.len() <= MOST_TYPED;
        if self.request.columns.features.is_some()
            || !are_few
            || places.clone().count() < 2
            || places.clone().count() != value.1.clone().count()
        {
            return None;
        }
        let means = places.map(|id| features.mean(id as u64));
        let means: Option<Vec<f64>> = means.collect();

        let means = means?;
        if means[0] < 0.0 || !means.is_sorted_by(|one, next| one < next) {
            return None;
        }
        let pair = format!(
            "sparse({}, {})",
            quote_identifier(&index.0.name),
            quote_identifier(&value.0.name)
        );
        let is_other = |part: &&FeaturePart| {
            let array = part.as_one::<ArrayPart>();
            array.is_none_or(|array| array.holds_integers().is_none())
        };
        let others = features.parts.iter().filter(is_other);
        let entries: Vec<_> = std::iter::once(pair)
            .chain(others.map(|part| part.entry()))
            .collect();
        Some(format!(
            "If {} has the indices of the values in {}, they are one sparse vector: {}.",
            index.0.name,
            value.0.name,
            naming(entries.iter().map(String::as_str))
        ))
    }

    /// What to type where nodes of Citus have the rows and not the model.
    fn for_nodes(&self) -> Option<String> {
        self.is_for_nodes.then(|| {
            format!(
                "Nodes predict with it from then on: SELECT svm_distribute_models({})",
                quote_literal(&self.request.model)
            )
        })
    }

    /// Where the C chosen is the smallest or the largest that was tried, and better than the others.
    fn at_the_edge(&self) -> Option<String> {
        let report = &self.trained.trainer.report;
        let scores = validation::scores(report);
        self.edge("c", report.c?, &scores)
    }

    /// The same of gamma.
    fn at_the_edge_of_gammas(&self) -> Option<String> {
        let report = &self.trained.trainer.report;
        let scores = validation::scores_of_gammas(report);
        self.edge("gamma", report.gamma?, &scores)
    }

    /// The same of epsilon, which is nowhere smaller than 0.
    fn at_the_edge_of_epsilons(&self) -> Option<String> {
        let report = &self.trained.trainer.report;
        let epsilon = report.epsilon.filter(|epsilon| *epsilon > 0.0)?;
        self.edge("epsilon", epsilon, &validation::scores_of_epsilons(report))
    }

    /// The same of any, by its name and the scores of all tried in ascending order.
    fn edge(&self, name: &str, chosen: f64, scores: &[(f64, Option<f64>)]) -> Option<String> {
        let scoring = self.request.plan.scoring;
        let (which, others, beside) = match scores {
            [first, second, ..] if first.0 == chosen => {
                ("smallest", "smaller", (first.1, second.1))
            }
            [.., second, last] if last.0 == chosen => ("largest", "larger", (last.1, second.1)),
            _ => return None,
        };
        let rises = scoring.is_better(beside.0, beside.1) && !scoring.is_perfect(beside.0);
        let shown = |value: f64| match name {
            "gamma" => format!("{value:.6}"),
            _ => value.to_string(),
        };
        let step: f64 = match name {
            "c" => 10.0,
            "gamma" => 4.0,
            _ => 2.0,
        };
        let more = (1..=3).map(|times| match which {
            "largest" => chosen * step.powi(times),
            _ => chosen / step.powi(times),
        });
        // as short as tells them apart
        let more: Vec<_> = more.map(short).collect();
        rises.then(|| {
            format!(
                "{name} {} is the {which} that was tried: {others} ones may be better ({name} => '{{{}}}').",
                shown(chosen),
                more.join(", ")
            )
        })
    }

    /// How it came about.
    fn detail(&self) -> String {
        let report = &self.trained.trainer.report;
        let terms = &self.request.terms;
        let mut sentences = vec![format!(
            "Loss {}{}, c {}, scale {}; solver {}, {}, gap {:.1e}; {}, {}; {:.2} s.",
            terms.loss_of(self.labelled.values.len()),
            match self.request.call.options.get("intercept") {
                Some(word) if word == "free" => ", free intercept",
                _ => "",
            },
            match (report.c, report.nu) {
                (Some(c), Some(_)) => short(c),
                (c, _) => c.unwrap_or_default().to_string(),
            },
            self.labelled.scale,
            terms.solver_taken(report.newton),
            counted(report.passes.into(), terms.what_is_counted()),
            self.trained.trainer.report.summary().gap,
            memory(self.trained, terms, self.labelled.cache_bytes),
            processes(self.trained, self.trainers, terms),
            self.labelled.seconds,
        )];
        sentences.extend(self.target());
        sentences.extend(self.off());
        sentences.extend(self.novelty());
        let fit = report.fit.as_ref().filter(|_| self.tells_classes());
        if let Some(fit) = fit.filter(|fit| fit.rows < report.rows) {
            let what = match self.labelled.values.len() {
                2 => "The AUC is",
                _ => "The accuracy is",
            };
            sentences.push(format!("{what} that of {} of the rows.", fit.rows));
        }
        sentences.extend(self.averaged());
        sentences.extend(self.went_over());
        sentences.extend(self.by_a_sample());
        sentences.extend(self.calibrated());
        sentences.extend(self.truncated());
        sentences.extend(self.kernel());
        sentences.extend(self.exact_instead());
        sentences.extend(self.factored());
        sentences.extend(self.taken_over.and_then(TakenOver::sentence));
        sentences.extend(self.at_the_edge());
        sentences.extend(self.at_the_edge_of_gammas());
        sentences.extend(self.at_the_edge_of_epsilons());
        sentences.extend(self.followed());
        sentences.extend(self.served());
        sentences.extend(self.left_out());
        sentences.extend(self.about_columns());
        sentences.join("\n")
    }

    /// Of an average, of what it is one.
    fn averaged(&self) -> Option<String> {
        let parts = counted(self.trained.processes.averaged?.into(), "part");
        Some(format!("The average of what each of {parts} of the rows finds alone; the gap is what it is off at most over all rows."))
    }

    /// Whether it began by scans and gave that up, or the other way round.
    fn went_over(&self) -> Option<String> {
        if let (Some(passes), true) = (self.trained.streamed, self.request.terms.scans()) {
            let passes = counted(passes.into(), "pass");
            return Some(format!("Went over to scans, whose dual variables have 64 bits, as rows that stream had missed the tolerance after {passes}."));
        }
        let scans = counted(self.trained.gave_way?.into(), "scan");
        Some(format!("Went over from solver 'scan' after {scans}, as those near the margin are too many to be solved between scans; begun from the weights found so far."))
    }

    /// By scans what is found on rows that are held out, and of how many those were.
    fn by_a_sample(&self) -> Option<String> {
        let report = &self.trained.trainer.report;
        let (terms, plan) = (&self.request.terms, &self.request.plan);
        if !terms.scans() || report.validation.is_empty() {
            return None;
        }
        let chosen = report.validation.iter().filter(|it| {
            let is_s = report.truncation.is_none() || it.truncation == report.truncation;
            let is_gamma = !self.is_grid() || it.gamma == report.gamma;
            Some(it.c) == report.c && is_s && is_gamma && it.epsilon == report.epsilon
        });
        let rows: u64 = chosen.map(|it| it.rows).sum();
        let all = [
            ("c", plan.costs.len() > 1),
            ("gamma", self.is_grid()),
            ("the truncation", plan.truncations.len() > 1),
            ("epsilon", self.chooses_epsilon()),
            ("probabilities", plan.probability),
            ("intervals", plan.intervals),
        ];
        let all = all.iter().filter(|(_, so)| *so).map(|(name, _)| *name);
        let what = match all.collect::<Vec<_>>().as_slice() {
            ["probabilities"] => "Probabilities are".to_owned(),
            ["intervals"] => "Intervals are".to_owned(),
            ["the truncation"] => "The truncation is".to_owned(),
            [one] => format!("{one} is"),
            [several @ .., last] => format!("{} and {last} are", several.join(", ")),
            [] => return None,
        };
        let of = match rows == report.rows {
            true => "all rows".to_owned(),
            false => format!("a sample of {rows} rows"),
        };
        Some(format!("{what} by folds of {of}."))
    }

    /// By what probabilities are made, where there was a choice.
    fn calibrated(&self) -> Option<String> {
        let calibrations = &self.trained.trainer.report.calibrations;
        let rows = counted(calibrations.fitted?.rows, "row");
        let [sigmoid, isotonic] = ["Platt's sigmoid", "isotonic regression"];
        let losses = calibrations.losses;
        let losses = losses.map(|it| [(sigmoid, it.sigmoid), (isotonic, it.isotonic)]);
        let (by, losses) = match calibrations.has_isotonic() {
            true => (isotonic, losses.map(|[one, other]| [other, one])),
            false => (sigmoid, losses),
        };
        Some(match losses {
            Some([(_, loss), (other, others)]) => format!(
                "Probabilities by {by}: on {rows} held out its log loss is {loss:.4}, and that of {other} {others:.4}; the smaller the better."
            ),
            None => format!("Probabilities by {by}, of {rows} held out."),
        })
    }

    /// What is said of isotonic regression that was asked for.
    fn follows_chance(&self) -> Option<Failure> {
        let calibrations = &self.trained.trainer.report.calibrations;
        let rows = calibrations.fitted.filter(|it| !it.suffice())?;
        let (least, side) = (CalibrationRows::LEAST, CalibrationRows::LEAST_OF_SIDE);
        calibrations.has_isotonic().then(|| {
            let message = format!(
                "the probabilities of model {} may follow chance: {} held out are few for isotonic regression",
                self.name(),
                counted(rows.rows, "row")
            );
            Failure::new(Code::ERRCODE_WARNING, message)
                .detail(format!("Of the rarest class {} were held out. It is chosen by itself only from {least} rows on, {side} of them of each class.", rows.rarest))
                .hint("options => '{\"calibration\": \"auto\"}' takes Platt's sigmoid where that is better")
        })
    }

    /// Of a truncated loss what is certified, and what the outliers came to.
    fn truncated(&self) -> Option<String> {
        let report = &self.trained.trainer.report;
        let s = report.truncation.or(self.request.terms.truncation())?;
        let heads = report.heads.iter().filter_map(|head| head.truncated);
        let (objective, outliers) = heads.fold((0.0, 0), |(objective, outliers), it| {
            (objective + it.objective, outliers + it.outliers)
        });
        let settled = report.summary().stop.is_some_and(StopReason::arrived);
        let (are, which, given) = match outliers {
            1 => ("is an outlier", "Which row that is", "outlier"),
            _ => ("are outliers", "Which rows these are", "outliers"),
        };
        let rest = match settled {
            true => "does not change any more",
            false => "may still change",
        };
        Some(format!(
            "Truncation {s}: {} {are}, with a loss of {} however far off. {which} {rest}.\n\
             The objective is {objective:.6e}. The gap takes the {given} as given: with others the objective may be smaller.",
            counted(outliers, "row"),
            1.0 + s,
        ))
    }

    /// Of a kernel machine its kernel and its landmarks.
    fn kernel(&self) -> Option<String> {
        let kernel = self.trained.reader.features.kernel.as_ref()?;
        if kernel.chosen == SUPPORT_VECTORS {
            let count = counted(kernel.landmarks as u64, "support vector");
            return Some(format!(
                "Kernel {}; exact, {count}{}.",
                kernel.words(),
                self.classes_sentence()
            ));
        }
        Some(format!(
            "Kernel {}; {} ({}), which reproduce the kernel but for {:.1e} of its trace{}.{}",
            kernel.words(),
            counted(kernel.landmarks as u64, "landmark"),
            kernel.chosen,
            kernel.left_out,
            self.classes_sentence(),
            self.fewer_landmarks(kernel).unwrap_or_default()
        ))
    }

    /// Of fewer landmarks than `rank` says why there are no more.
    fn fewer_landmarks(&self, kernel: &KernelForm) -> Option<String> {
        let maps = &self.request.kernel.as_ref()?.maps;
        let rank = maps.iter().find_map(|map| map.rank)?;
        let fewer = self.trained.factored.is_none() && kernel.landmarks < rank;
        fewer.then(|| {
            format!(
                "\nrank => {rank} allows for more landmarks: {}",
                match kernel.left_out <= LowRankJob::DEFAULT_TOLERANCE {
                    true => "they would add next to nothing.",
                    false => "these reproduce all rows of the sample that they are chosen of. With a larger pgsvm.cache_size the sample may be larger.",
                }
            )
        })
    }

    /// How more than two classes are told apart.
    fn classes_sentence(&self) -> String {
        let report = &self.trained.trainer.report;
        match report.heads.len() {
            ..=1 => String::new(),
            quantiles if self.of_quantiles() => format!("; {quantiles} quantiles"),
            pairs if report.in_pairs => format!("; {pairs} pairs of classes"),
            classes => format!("; {classes} classes, each against the rest"),
        }
    }

    /// Of a kernel machine that nobody wants approximate what an exact one would take.
    fn exact_instead(&self) -> Option<String> {
        let kernel = self.trained.reader.features.kernel.as_ref()?;
        let approximate = self.trained.approximate;
        Some(match approximate.filter(|_| kernel.left_out > NOTHING)? {
            Approximate::Seconds(seconds) => format!(
                "An exact machine would take about {}: options => '{{\"method\": \"exact\"}}'.",
                duration(seconds)
            ),
            Approximate::MoreThan(seconds) => format!(
                "An exact machine was given up: it takes more than {}: options => '{{\"method\": \"exact\"}}'.",
                duration(seconds)
            ),
            Approximate::CacheBytes(bytes) => format!(
                "An exact machine needs a larger cache: SET pgsvm.cache_size = '{}MB'.",
                bytes.div_ceil(1 << 20)
            ),
        })
    }

    /// Of interior points the factor that they were solved on, and who did.
    fn factored(&self) -> Option<String> {
        let factored = self.trained.factored.as_ref()?;
        let machines = &factored.machines;
        let held = machines.iter().map(|times| times.bytes).max().unwrap_or(0);
        let seconds = |of: fn(&MachineTimes) -> f64| machines.iter().map(of).sum::<f64>();
        Some(format!(
            "A factor of {} reproduces the kernel but for {:.1e} of its trace over all rows; the dual differs from the kernel's own by at most {:.3e}.\n\
             {}, {:.1} MB at most on each: {:.2} s of computation, {:.2} s of exchange, {:.2} s of waiting.",
            counted(factored.columns as u64, "column"),
            factored.left_out,
            factored.bound,
            counted(machines.len() as u64, "machine"),
            held as f64 / f64::from(1 << 20),
            seconds(|times| times.computing),
            seconds(|times| times.exchanging),
            seconds(|times| times.waiting),
        ))
    }

    /// Rows that were left out, but for those with NULLs and weights of 0.
    fn left_out(&self) -> Vec<String> {
        let reader = &self.trained.reader;
        let unlabelled = match reader.rows_unlabelled {
            0 => None,
            rows => Some(format!(
                "Not trained on: {} whose {} is NULL. The model can predict it.",
                counted(rows, "row"),
                self.request.columns.label
            )),
        };
        let bad = &reader.bad_rows;
        let which = match (bad.count, &bad.place) {
            (1, Some(place)) => format!("The bad row is {place}"),
            (1, None) => "The bad row".to_owned(),
            (_, Some(place)) => format!("The first bad row is {place}"),
            (_, None) => "One of the bad rows".to_owned(),
        };
        let bad = (bad.count > 0).then(|| format!("{which}: {}.", bad.first));
        unlabelled.into_iter().chain(bad).collect()
    }

    /// What became of columns that nobody named.
    fn about_columns(&self) -> Vec<String> {
        let features = &self.trained.reader.features;
        let categories = |holds: fn(&Dictionary) -> bool| -> Vec<String> {
            let such = features.categories().filter(|(_, values)| holds(values));
            such.map(|(name, _)| name.to_owned()).collect()
        };
        let uuids = features
            .left_out
            .iter()
            .map(|name| format!("{name} (UUIDs)"));
        let identifiers = self.left_out.identifiers.iter().cloned();
        let empty = &self.trained.reader.telltales.empty;
        let constant = features.constant.iter();
        let constant = constant.map(|name| match empty.contains(name) {
            true => format!("{name} (NULL in all rows)"),
            false => format!("{name} (the same value in all rows)"),
        });
        let all = [
            ("Columns not used", self.left_out.by_type.clone()),
            (
                "Left out",
                identifiers.chain(uuids).chain(constant).collect(),
            ),
            (
                "Columns with hashed values",
                categories(Dictionary::is_hashed),
            ),
            ("Texts", texts(features)),
            (
                "Texts as categories",
                match &self.request.columns.features {
                    None => text_categories(features),
                    Some(_) => Vec::new(),
                },
            ),
            (
                "Categories that look like missing values",
                missing_categories(features),
            ),
            (
                "Categories that differ only in case or blanks",
                split_categories(features),
            ),
            ("The same value in all rows", features.of_one_value()),
            (
                "Text that looks like numbers, taken as categories (number(column) in features reads the numbers)",
                number_columns(features),
            ),
        ];
        let columns_said = all.map(|(what, columns)| (what, listed(&columns)));
        // these have commas of their own
        let more = [
            (
                "Texts read as numbers and times",
                listed_by(&read_texts(features), "; "),
            ),
            (
                "NULLs",
                listed_by(&nulls(features, self.request.rows.nulls), "; "),
            ),
            (
                "Numbers with a unit, taken as categories; as numbers in svm_train_query",
                listed_by(&with_units(features), "; "),
            ),
        ];
        let said = columns_said.into_iter().chain(more);
        let said = said.filter(|(_, columns)| !columns.is_empty());
        said.map(|(what, columns)| format!("{what}: {columns}."))
            .collect()
    }

    /// What the training began from, and how its rows compare.
    fn followed(&self) -> Option<String> {
        let followed = self.trained.followed.as_ref()?;
        let model = &followed.model;
        let mut text = match followed.from_nothing {
            true if self.request.warm_start.is_some() => {
                format!("Trained from nothing, as {model} tells none of its classes apart, or otherwise")
            }
            true if self.trained.reader.features.kernel.is_some() => {
                format!("Trained anew, as landmarks are chosen of the rows as they are; terms are those of {model}, whose landmarks stay until svm_prune() removes it")
            }
            true if followed.rows.is_none() || self.request.terms.by_interior_points() => {
                format!("Trained from nothing, as each refresh by its solver is; terms are those of {model}")
            }
            true if self.request.terms.nu.is_some() => {
                format!("Trained from nothing, as other rows may go with another c; terms are those of {model}")
            }
            true => {
                format!(
                    "Trained from nothing, which takes no longer here than to begin from {model}"
                )
            }
            false => format!("Begun from {model}"),
        };
        if let Some(rows) = &followed.rows {
            text += &format!(
                "; rows: {} unchanged, {} changed, {} new, {} gone, {} left out",
                rows.unchanged, rows.changed, rows.added, rows.gone, rows.unused
            );
            if let Some(screened) = followed.screened {
                text += &format!("; {screened} passed over");
            }
            if let Some(rechecked) = followed.rechecked {
                text += &format!(", {rechecked} of them looked at again");
            }
        }
        Some(text + ".")
    }

    /// How an index has served.
    fn served(&self) -> Option<String> {
        let served = self.trained.served.as_ref()?;
        let others = match served.others.is_empty() {
            true => String::new(),
            false => format!("; from the table in all rows: {}", listed(&served.others)),
        };
        let mut text = format!(
            "Index {}: {} of it, {} read from the table; {} of the index not met{others}.",
            served.name,
            counted(served.used, "row"),
            counted(served.read, "row"),
            counted(served.unmet, "row"),
        );
        // a query may leave out rows that are there
        if served.unmet > 0 && matches!(self.request.source, GivenSource::Relation(_)) {
            let name = quote_literal(&served.name);
            text += &format!(" What is gone or has changed is still in it: svm_refresh_index({name}) takes it out.");
        }
        Some(text)
    }

    /// What is said of texts that were read as numbers or times, and many of which are none.
    fn hardly_read(&self) -> Option<Failure> {
        let rows = self.trained.reader.report.rows;
        let is_hardly_read = |part: &&FeaturePart| {
            part.reading().is_some_and(|reading| {
                let says_nothing = reading.such.iter().all(|text| is_marker(text));
                reading.unread.saturating_mul(10) > rows && !says_nothing
            })
        };
        let parts = self.trained.reader.features.parts.iter();
        let parts: Vec<_> = parts.filter(is_hardly_read).collect();
        let (first, names) = (parts.first()?, parts.iter().map(|part| part.name()));
        let names: Vec<_> = names.collect();
        Some(
            Failure::new(
                Code::ERRCODE_WARNING,
                format!(
                    "many texts of {} cannot be read as numbers or times, and count as NULL",
                    names.join(", ")
                ),
            )
            .hint(format!(
                "If these are categories, name them so in features: {}",
                first.as_category()
            )),
        )
    }

    /// What is said of columns that are NULL in all rows.
    fn empty(&self) -> Option<Failure> {
        let names = &self.trained.reader.telltales.empty;
        let (column, is, it) = match names.len() {
            0 => return None,
            1 => ("column", "is", "it"),
            _ => ("columns", "are", "them"),
        };
        let message = format!("{column} {} {is} NULL in all rows", listed(names));
        let constant = &self.trained.reader.features.constant;
        let are_out = names.iter().all(|name| constant.contains(name));
        let (jsonb, warning) = (
            "The field of a jsonb is NULL if its name is misspelt",
            Failure::new(Code::ERRCODE_WARNING, message),
        );
        if are_out {
            let warning = warning.detail(format!("The model leaves {it} out."));
            return Some(match self.request.source.is_table() {
                true => warning,
                false => warning.hint(jsonb),
            });
        }
        let names = names.iter().filter(|name| !constant.contains(name));
        let leave_out = match self.request.columns.features {
            None => excluding(names.map(String::as_str), &self.request.columns.exclude),
            Some(_) => "name the other features alone".to_owned(),
        };
        let hint = match self.request.source.is_table() {
            true => format!("To leave {it} out: {leave_out}"),
            false => format!("{jsonb}. If that is not so, leave {it} out: {leave_out}"),
        };
        let learned = format!("The model has learned nothing of {it}.");
        Some(warning.detail(learned).hint(hint))
    }

    /// What is said of an index that knows few of the rows.
    fn outdated(&self) -> Option<Failure> {
        let served = self.trained.served.as_ref()?;
        (served.read > served.used).then(|| {
            let (name, read) = (&served.name, counted(served.read, "row"));
            Failure::new(
                Code::ERRCODE_WARNING,
                format!("index {name} does not know {read} as they are now"),
            )
            .detail("They have come or changed since, their table was rewritten or restored, or no scan of it hands them over; they were read from the table.")
            .hint(format!("svm_refresh_index({}) brings it up to date", quote_literal(name)))
        })
    }

    /// What is said of a machine of low rank that nobody asked for, and that more landmarks would make better.
    fn coarse(&self) -> Option<Failure> {
        let kernel = self.trained.reader.features.kernel.as_ref()?;
        let shows = match self.trained.coarse? {
            Coarse::Falling(fell) => format!(
                "Twice as many landmarks lowered the objective by {:.0} % at the end.",
                100.0 * fell
            ),
            Coarse::Untried if kernel.left_out > COARSE => format!(
                "They reproduce the kernel but for {:.0} % of its trace.",
                100.0 * kernel.left_out
            ),
            Coarse::Untried => return None,
        };
        let text = format!(
            "model {} has fewer landmarks than its kernel asks for: {}",
            self.name(),
            kernel.landmarks
        );
        let more = format!(
            "More of them: rank => {}, which takes about four times as long.",
            2 * kernel.landmarks
        );
        let hint = match self.exact_instead() {
            Some(exact) => format!("{exact} {more}"),
            None => more,
        };
        Some(
            Failure::new(Code::ERRCODE_WARNING, text)
                .detail(shows)
                .hint(hint),
        )
    }

    /// What is said of a training that did not come to its tolerance.
    fn unfinished(&self) -> Option<Failure> {
        let sum = self.trained.trainer.report.summary();
        if sum.stop.is_some_and(StopReason::arrived) {
            return None;
        }
        let passes = self.trained.trainer.report.passes;
        let Stopping {
            tolerance,
            rule: stop,
            ..
        } = self.request.terms.stopping();
        let of_what = match stop {
            StopRule::Gap => "its tolerance",
            StopRule::MeanLoss => "the tolerance of its mean loss",
            StopRule::ProjectedGradient => "the range of projected gradients",
        };
        let text = format!(
            "model {} stopped at a gap of {} before {of_what} {tolerance:e} was reached",
            self.name(),
            above(sum.gap, tolerance),
        );
        let warning = Failure::new(Code::ERRCODE_WARNING, text);
        if let Some(parts) = self.trained.processes.averaged {
            return Some(
                warning
                    .detail(format!(
                        "It is an average of what {} found, and no solution.",
                        counted(parts.into(), "part")
                    ))
                    .hint("Leave \"machines\" out of the options: scans over all rows come to the tolerance"),
            );
        }
        let heads = &self.trained.trainer.report.heads;
        let rounding = heads.iter().map(|head| head.rounding).fold(0.0, f64::max);
        if stop == StopRule::Gap && rounding > 0.0 && sum.gap - rounding <= tolerance {
            return Some(
                warning
                    .detail(format!("Of that, {rounding:.1e} is what rounding may change, which more passes do not lessen."))
                    .hint(match self.scaling() {
                        Some(scaling) => format!("Try {scaling}, or a smaller c, or a larger tolerance"),
                        None => "Try a smaller c, or a larger tolerance".to_owned(),
                    }),
            );
        }
        let after = counted(passes.into(), "pass");
        let warning = match passes < self.request.terms.stopping().most_passes() {
            // rows near the margin are told apart by what passes found them
            true if self.request.terms.scans()
                && !self.request.terms.loss().is_smooth()
                && !self.request.terms.solver().by_planes() =>
            {
                return Some(
                    warning
                        .detail(format!("Stopped after {after}, the most that solver 'scan' makes of the hinge."))
                        .hint("Give the rows near the margin more room: pgsvm.cache_size; or solver => 'stream', or a smaller c"),
                );
            }
            true if self.trained.reader.features.kernel.is_some() => {
                return Some(
                    warning
                        .detail(format!("Stopped after {after}, where more would come no nearer, or work between passes took as long as max_passes of them. The gap is that of the machine as it is stored, in 64 bits."))
                        .hint(self.another_machine()),
                );
            }
            true if self.request.terms.solver().by_planes() => warning.detail(
                "Stopped before max_passes: planes had cost more than many passes over all rows do.",
            ),
            // numbers tell no more than what it has come to
            true => warning.detail(format!("Stopped after {after}, which came no nearer.")),
            false => {
                let most = self.request.terms.stopping().most_passes();
                let more = match passes - most {
                    0 => String::new(),
                    more => format!("; {more} more measured the gap"),
                };
                warning.detail(format!(
                    "Stopped by {} after {}{more}.",
                    version_row::stop_word(sum.stop),
                    counted(most.into(), "pass")
                ))
            }
        };
        if self.request.terms.solver().by_planes() {
            return Some(warning.hint(
                "Planes alone take long over large values, a large c and weights that differ much: scale => 'standard', or solver => 'scan' or 'stream'",
            ));
        }
        let mut tries = Vec::new();
        let targets = self.request.terms.targets;
        if targets.is_some_and(|it| !it.standardizes) {
            tries.push("options => '{\"scale_label\": \"standard\"}'");
        }
        tries.extend(self.scaling());
        tries.extend(self.another_solver());
        match self.request.terms.nu {
            Some(_) => tries.push("a larger nu"),
            None => tries.push("a smaller c"),
        }
        Some(warning.hint(format!(
            "Try {}, or more passes: max_passes",
            tries.join(", or ")
        )))
    }

    /// What to try where a kernel machine comes no nearer.
    fn another_machine(&self) -> &'static str {
        let kernel = self.trained.reader.features.kernel.as_ref();
        let exact = kernel.is_some_and(|kernel| kernel.chosen == SUPPORT_VECTORS);
        match exact {
            _ if self.request.terms.nu.is_some() => "Try a larger nu, or a larger gamma",
            true => "Try a smaller c, or a larger gamma",
            false => "Try a smaller c, a larger gamma, or options => '{\"method\": \"exact\"}'",
        }
    }

    /// The solver that comes to the tolerance where others take long; of numbers as they come one that has dual variables in 64 bits.
    fn another_solver(&self) -> Option<&'static str> {
        let terms = &self.request.terms;
        let is_usual = ["auto", "stream"].contains(&terms.solver_word());
        match self.request.kernel {
            Some(_) => None,
            None if !is_usual => Some("solver => 'stream'"),
            None => (self.labelled.scale == "none"
                && terms.loss_word() == "hinge"
                && self.trained.streamed.is_none()
                && self.trained.gave_way.is_none())
            .then_some("solver => 'scan'"),
        }
    }

    /// What is said of a model that looks as if it had learned nothing. `of_labels`: whether labels that are no classes of their own are
    /// said to be such, which nobody wonders about if they are never predicted.
    fn learned_nothing(&self, of_labels: bool) -> Option<Failure> {
        let report = &self.trained.trainer.report;
        let classes = &self.trained.reader.classes;
        let accuracy = OnTrainingRows::of(self.trained).accuracy;
        if let Some(warning) = are_doubtful(
            (&self.request.columns.label, self.classed),
            classes,
            report.rows,
        ) {
            let right = accuracy.map(|it| {
                format!(
                    "The model is right about {:.1} % of the rows it was trained on.",
                    100.0 * it
                )
            });
            return Some(match right {
                Some(right) => warning.in_detail(&right),
                None => warning,
            });
        }
        let fit = report.fit.as_ref()?;
        let accuracy = accuracy?;
        let troubles = troubles(
            fit,
            report.rows,
            accuracy,
            self.request.class_weight != ClassWeight::Equal,
        );
        let is_said = |it: &&Trouble| !(of_labels && matches!(it, Trouble::Missing(_)));
        let mut said = troubles.iter().filter(is_said).map(|it| self.words(it));
        let first = said.next()?;
        let warning = Failure::new(
            Code::ERRCODE_WARNING,
            format!("model {} {first}", self.name()),
        );
        let advice = self.advice(&troubles, fit.auc);
        let is_hardly_better = |it: &Trouble| matches!(it, Trouble::HardlyBetter(..));
        let are_texts = classes.iter().all(LabelValue::is_text);
        let may_be_ids = classes.len() > VERY_MANY_CLASSES || troubles.iter().any(is_hardly_better);
        let advice = match may_be_ids && are_texts {
            true => format!(
                "Is {} an id, which tells rows apart? Then it cannot be predicted: take another column as the label. {advice}",
                self.request.columns.label
            ),
            false => advice,
        };
        let label = (self.request.columns.label.as_str(), self.classed);
        let warning = warning.hint(match if_to_predict(label, classes) {
            Some(classes) => format!("{advice}. {classes}"),
            None => advice,
        });
        let others: Vec<_> = said.map(|words| format!("It {words}.")).collect();
        Some(match others.is_empty() {
            true => warning,
            false => warning.detail(others.join("\n")),
        })
    }

    /// A trouble, as what the model does.
    fn words(&self, trouble: &Trouble) -> String {
        let label = |class: &usize| self.labelled.values[*class].as_str();
        let percent = |share: &f64| format!("{:.1} %", 100.0 * share);
        match trouble {
            Trouble::NoWeights => "has weights next to nothing: it decides almost the same for every row".to_owned(),
            Trouble::Chance(auc) => {
                format!("ranks the rows it was trained on hardly better than chance: training AUC {auc:.4}")
            }
            Trouble::OneClass(class, predicted, actual) => format!(
                "predicts {} for nearly every row ({}); {} of them are",
                label(class),
                percent(predicted),
                percent(actual)
            ),
            Trouble::NoBetter(accuracy, class, share) => format!(
                "is no better than always saying {}: training accuracy {accuracy:.4}, share of that class {share:.4}",
                label(class)
            ),
            Trouble::HardlyBetter(accuracy, class, share) => format!(
                "is hardly better than always saying {}: training accuracy {accuracy:.4}, share of that class {share:.4}",
                label(class)
            ),
            Trouble::ByChance(accuracy, class) => format!(
                "is no better than always saying {}: balanced training accuracy {accuracy:.4}, {:.4} by chance",
                label(class),
                1.0 / self.labelled.values.len() as f64
            ),
            Trouble::Missing(classes) => {
                let mut names: Vec<_> = classes.iter().take(MOST_NAMED).map(label).collect();
                let more = format!("and {} more", classes.len().saturating_sub(MOST_NAMED));
                if classes.len() > MOST_NAMED {
                    names.push(&more);
                }
                format!(
                    "never predicts {} of its {} classes on the rows it was trained on: {}",
                    classes.len(),
                    self.labelled.values.len(),
                    names.join(", ")
                )
            }
        }
    }

    /// How to scale, where numbers come as they are.
    fn scaling(&self) -> Option<&'static str> {
        let has_numbers = self.trained.reader.features.dense_parts() > 0;
        (self.labelled.scale == "none" && has_numbers).then_some("scale => 'standard'")
    }

    /// What to try, the likeliest first.
    fn advice(&self, troubles: &[Trouble], auc: Option<f64>) -> String {
        let request = self.request;
        let curved = request.kernel.as_ref().is_some_and(|it| !it.is_linear());
        let has = |kind: fn(&Trouble) -> bool| troubles.iter().any(kind);
        let mut tries = Vec::new();
        // a code that tells the classes apart needs no curve
        let as_code = self.giveaways.as_code();
        tries.extend(as_code.as_deref());
        if self.codes().is_some() {
            tries.push("the features that the NOTICE's hint names");
        }
        let chooses_gamma = request.kernel.as_ref().is_some_and(|it| it.is_grid());
        if curved && !chooses_gamma {
            tries.push("gamma => 'auto', which chooses it");
        }
        // of many classes some that no row gets are none that a line parts from all others
        let has_numbers = self.trained.reader.features.dense_parts() > 0;
        let many = self.labelled.values.len() > VERY_MANY_CLASSES;
        let lines_miss = !curved && has_numbers && has(|it| matches!(it, Trouble::Missing(_)));
        let ranks_well = auc.is_none_or(|auc| auc >= 0.6);
        let rare = has(|it| matches!(it, Trouble::OneClass(..) | Trouble::Missing(_)));
        let actual = self
            .trained
            .trainer
            .report
            .fit
            .as_ref()
            .map(|it| &it.actual);
        let (least, most) = actual.map_or((0, 0), |it| {
            let counts = || it.iter().copied();
            (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
        });
        // there is nothing to balance
        let are_even = 4 * most <= 5 * least;
        if rare && ranks_well && !are_even && request.class_weight == ClassWeight::Equal {
            tries.push("class_weight => 'balanced'");
        }
        if lines_miss && as_code.is_none() && !many {
            tries.push(RBF);
        }
        let together = request.terms.together();
        let by_planes = request.terms.solver().by_planes();
        if !request.terms.loss().is_smooth()
            && !request.terms.by_interior_points()
            && !together
            && !by_planes
        {
            tries.push("loss => 'squared_hinge'");
        }
        if together {
            // which neither a kernel nor a choice of c goes with
            tries.retain(|tried| *tried != RBF);
            tries.push("options => '{\"multiclass\": \"one_vs_rest\"}', with which c can be chosen and kernels taken");
        }
        // what was chosen by how it ranks may decide for one class everywhere
        let by_ranking =
            rare && ranks_well && auc.is_some() && request.plan.scoring == Scoring::Auc;
        let threshold = format!(
            "a threshold of your own: svm_decision({0}, …) > a threshold of svm_roc({0}, …)",
            quote_literal(&request.model)
        );
        tries.extend(by_ranking.then_some(threshold.as_str()));
        tries.extend(self.scaling());
        if request.plan.costs.len() == 1 && !together {
            tries.push("c => 'auto', which chooses c");
        }
        if !rare || !ranks_well || tries.is_empty() {
            let may_curve = !curved && !lines_miss && as_code.is_none() && !many && !together;
            tries.extend(may_curve.then_some(RBF));
            tries.push("other features");
        }
        format!("Try {}", tries.join("; or "))
    }
}

/// A WARNING where what was trained on is not what the table holds.
pub fn warn_of_lost_digits(trained: &Trained) {
    let report = &trained.reader.report;
    if report.imprecise.is_empty() {
        return;
    }
    let features = &trained.reader.features;
    let named = report.imprecise.iter();
    let named: Vec<_> = named.map(|id| features.feature_name(*id)).collect();
    let mut named = named.join(", ");
    let more = report.imprecise_features - report.imprecise.len() as u64;
    if more > 0 {
        named += &format!(" and {more} more");
    }
    let mut dense = report.imprecise.iter();
    let dense = dense.find(|id| **id < report.dense_features);
    let dense = dense.map(|id| {
        let name = features.feature_name(*id);
        match features.columns().contains(&name.as_str()) {
            true => quote_identifier(name),
            false => "…".to_owned(),
        }
    });
    let what = format!(
        "the values of {named} differ by less than 32-bit numbers of their size can tell apart"
    );
    Failure::new(Code::ERRCODE_WARNING, what)
        .detail("Rows are kept in 32 bits, here with an error of more than a millionth of a column's standard deviation; the gap of a linear model counts what that may change.")
        .hint(match &dense {
            Some(column) => format!(
                "Subtract what all values have in common, as scale => 'standard' does with the first row's value: svm_train_query({}, …)",
                quote_literal(format!("SELECT {column} - … AS {column}, … FROM …"))
            ),
            None => "Subtract what all values have in common, or give such features in columns of their own, where scale => 'standard' does that.".to_owned(),
        })
        .warn();
}

fn processes(trained: &Trained, trainers: usize, terms: &SolvingTerms) -> String {
    let away = trained.processes.away.as_ref();
    let mut text = match (away.and_then(nodes), trained.processes.workers) {
        (Some(nodes), _) => nodes,
        (None, 0) if trained.processes.helpers > 0 => String::new(),
        (None, 0) => "no workers".to_owned(),
        (None, 1) => "1 worker".to_owned(),
        (None, many) => format!("{many} workers"),
    };
    if let Some(away) = away {
        text += &troubles_away(away);
    }
    let between = if text.is_empty() { "" } else { ", " };
    match trained.processes.helpers {
        0 => {}
        many => text += &format!("{between}{}", counted(many as u64, "helper")),
    }
    let report = &trained.trainer.report;
    // of rows that stream the published forms have one
    let share = report.resident || !(terms.scans() || terms.has_one_thread());
    // Newton's method sums up in one
    if trainers > 1 && share && !report.newton && trained.factored.is_none() {
        text += &format!(", {trainers} trainers");
    }
    text
}

/// On which nodes rows were summed up, and what went there and back; None where that is not known.
fn nodes(away: &Away) -> Option<String> {
    let ShardSpread { shards, nodes, .. } = away.spread;
    (shards > 0).then(|| {
        format!(
            "{} on {}, {} sent",
            counted(shards.into(), "shard"),
            counted(nodes.into(), "node"),
            readable_bytes(away.sent.bytes)
        )
    })
}

/// What went wrong there on the way.
fn troubles_away(away: &Away) -> String {
    let mut text = String::new();
    if away.sent.repeated > 0 {
        let times = counted(away.sent.repeated.into(), "time");
        text += &format!(", tried again {times}");
    }
    if away.anew {
        text += ", begun anew as rows had changed";
    }
    text
}

fn memory(trained: &Trained, terms: &SolvingTerms, cache_bytes: usize) -> String {
    let reader = &trained.reader.report;
    let rows = readable_bytes(reader.bytes);
    let cache = readable_bytes(cache_bytes as u64);
    match reader.resident {
        _ if terms.scans() && !trained.trainer.report.resident => {
            let held = trained.trainer.log.iter().map(|it| it.cache_rows).max();
            let held = held.filter(|held| *held > 0);
            let held = held.map(|held| counted(held, "row"));
            format!("{rows}, {} kept", held.as_deref().unwrap_or("none"))
        }
        _ if reader.resident || trained.trainer.report.resident => {
            format!("{rows} of the {cache} cache")
        }
        _ => format!("{rows} through a {cache} cache"),
    }
}

/// Bytes as PostgreSQL's settings write them, with one decimal.
fn readable_bytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    let (unit, name) = [
        (1e0, "B"),
        (1024.0, "kB"),
        (1048576.0, "MB"),
        (1073741824.0, "GB"),
    ]
    .into_iter()
    .rfind(|(unit, _)| bytes >= *unit)
    .unwrap_or((1.0, "B"));
    let number = format!("{:.1}", bytes / unit);
    format!("{} {name}", number.trim_end_matches(".0"))
}

/// A gap with as many digits as it takes to see that it is above a tolerance, two at least.
fn above(gap: f64, tolerance: f64) -> String {
    let shown = (1..=6).map(|digits| format!("{gap:.digits$e}"));
    let is_above = |text: &String| text.parse().is_ok_and(|shown: f64| shown > tolerance);
    let mut shown = shown.skip_while(|text| gap > tolerance && !is_above(text));
    shown.next().unwrap_or_else(|| format!("{gap:e}"))
}
