//! Whether a new version becomes the model's current one. It does not where something is wrong with it that is not wrong with the current
//! one, nor where it was to be better on rows held out and is not. Runs in the calling backend.

use crate::base::errors::{shortened, Code, Failure};
use crate::catalog::spi_failure;
use crate::pg::kept_statement::{read_one, KeptStatement};
use crate::request::deploy::Deploy;
use crate::request::scoring_words;
use crate::training::fit::{OffTarget, OnTrainingRows, POOR_AUC, POOR_R2, SMALL_DEVIATION};
use crate::training::outcome::Trained;
use pgrx::spi::{quote_literal, SpiClient, SpiError};
use pgsvm_core::{Scoring, StopReason};

/// What became of a version.
pub enum Deployment {
    /// It is the current one.
    Deployed,
    /// As it was to be.
    Stored,
    /// It is not, because of this.
    HeldBack(String),
    /// It is the current one, because of this.
    Better(String),
}

/// What came out of a training, as far as it says whether to deploy it.
#[derive(Debug, Clone, Default)]
pub struct DeployOutcome {
    /// Whether it came to its tolerance.
    pub arrived: bool,
    pub gap: Option<f64>,
    /// Of two classes, on the training rows.
    pub auc: Option<f64>,
    /// Of a regression, there.
    pub r2: Option<f64>,
    /// The standard deviation of decisions there.
    pub deviation: Option<f64>,
}

impl DeployOutcome {
    pub fn of(trained: &Trained) -> Self {
        let summary = trained.trainer.report.summary();
        Self {
            arrived: summary.stop.is_some_and(StopReason::arrived),
            gap: Some(summary.gap),
            auc: OnTrainingRows::of(trained).auc,
            r2: OffTarget::telling_r2(trained),
            deviation: deviation(trained),
        }
    }

    /// It ranks the rows or explains their labels no better than chance does, or its weights are next to nothing.
    fn learned_nothing(&self) -> bool {
        let below = |value: Option<f64>, limit| value.is_some_and(|value| value < limit);
        below(self.auc, POOR_AUC) || below(self.r2, POOR_R2) || self.has_no_weights()
    }

    fn has_no_weights(&self) -> bool {
        self.deviation.is_some_and(|it| it < SMALL_DEVIATION)
    }

    /// Why not to deploy it in the place of `current`, which is called `name`; None where there is no reason. Each fault is
    /// looked at by itself: one that learned nothing, but is the best there is at its C, is not bettered by weights that are far from theirs.
    pub fn held_back_by(&self, current: &Self, name: &str) -> Option<String> {
        let number =
            |value: Option<f64>| value.map_or("unknown".to_owned(), |it| format!("{it:.4}"));
        let it_alone_learned_nothing = self.learned_nothing() && !current.learned_nothing();
        if it_alone_learned_nothing && self.has_no_weights() {
            return Some(format!(
                "its weights are next to nothing, those of {name} are not"
            ));
        }
        if it_alone_learned_nothing || self.explains_less_than(current) {
            let (measure, [mine, theirs]) = match self.r2 {
                Some(_) => ("R2", [self.r2, current.r2]),
                None => ("AUC", [self.auc, current.auc]),
            };
            return Some(format!(
                "its training {measure} is {}, that of {name} {}",
                number(mine),
                number(theirs)
            ));
        }
        if self.arrived {
            None
        } else if current.arrived {
            Some(format!("it missed its tolerance, which {name} reached"))
        } else {
            // of two that missed it, one that is clearly worse
            let clearly = self.gap > current.gap.map(|gap| 2.0 * gap);
            clearly.then(|| {
                format!(
                    "it missed its tolerance by more than {name}: gap {:.1e}, that of the other {:.1e}",
                    self.gap.unwrap_or_default(),
                    current.gap.unwrap_or_default()
                )
            })
        }
    }

    /// Both learned nothing, and it clearly less.
    fn explains_less_than(&self, current: &Self) -> bool {
        let both = self.learned_nothing() && current.learned_nothing();
        match (self.auc.or(self.r2), current.auc.or(current.r2)) {
            (Some(mine), Some(theirs)) => both && mine < theirs - 0.01,
            _ => false,
        }
    }
}

/// The standard deviation of the decisions on the training rows.
pub fn deviation(trained: &Trained) -> Option<f64> {
    let report = &trained.trainer.report;
    // decisions about rows of one class may be near each other
    let fit = report.fit.as_ref().filter(|_| report.nu.is_none());
    fit.map(|fit| fit.deviation)
}

/// The current version of a model and its outcome, which is not known where it predicts another label than this one; None where it has none.
/// The model's row is locked.
pub fn current(
    client: &SpiClient<'_>,
    schema: &str,
    model: i64,
    label: &str,
) -> Result<Option<(i32, Option<DeployOutcome>)>, SpiError> {
    let rows = client.select(
        KeptStatement(&format!(
            "SELECT v.version, v.stop_reason, v.gap, v.training_auc, v.decision_deviation,
                 v.label_column OPERATOR(pg_catalog.=) $2, v.training_r2
             FROM {schema}.svm_model AS m JOIN {schema}.svm_version AS v
                 ON v.model_id OPERATOR(pg_catalog.=) m.id AND v.version OPERATOR(pg_catalog.=) m.current_version
             WHERE m.id OPERATOR(pg_catalog.=) $1"
        )),
        Some(1),
        &[model.into(), label.into()],
    )?;
    if rows.is_empty() {
        return Ok(None);
    }
    let row = rows.first();
    let outcome = DeployOutcome {
        // what was imported was trained elsewhere
        arrived: row.get::<String>(2)?.as_deref() != Some("max_passes"),
        gap: row.get(3)?,
        auc: row.get(4)?,
        deviation: row.get(5)?,
        r2: row.get(7)?,
    };
    let same = row.get::<bool>(6)?.unwrap_or_default();
    let outcome = same.then_some(outcome);
    Ok(row.get::<i32>(1)?.map(|version| (version, outcome)))
}

/// Refuses to begin a training that is to be compared on rows held out, where its deployed version cannot be evaluated on them.
/// Errors of the evaluation are raised.
pub fn check(schema: &str, model: &str, deploy: &Deploy) -> Result<(), Failure> {
    let Deploy::IfBetter { relation, metric } = deploy else {
        return Ok(());
    };
    let found = read_one::<i32>(
        &format!(
            "SELECT coalesce((SELECT current_version FROM {schema}.svm_model WHERE name OPERATOR(pg_catalog.=) $1), 0)"
        ),
        &[model.into()],
    );
    match found.map_err(spi_failure)? {
        Some(version) if version > 0 => {
            let current = format!("{model}@{version}");
            match evaluated(schema, &current, relation, *metric)? {
                Some(_) => Ok(()),
                // the new version may be the first one that has probabilities
                None if *metric == Scoring::LogLoss => Ok(()),
                None => Err(not_measured(&current, relation, *metric)),
            }
        }
        _ => known_relation(relation),
    }
}

/// A version cannot be compared by a metric that is none on these rows.
fn not_measured(version: &str, relation: &str, metric: Scoring) -> Failure {
    let metric = scoring_words(metric).0;
    Failure::new(
        Code::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("model \"{version}\" has no {metric} on {relation}, by which the new version is to be compared"),
    )
    .hint(format!("SELECT * FROM svm_evaluate({}, {}) says which it has: \"metric\" in options", quote_literal(version), quote_literal(relation)))
}

/// Compares version `new` with the model's current one, both as name@version.
pub fn compare(
    schema: &str,
    [new, current]: [&str; 2],
    relation: &str,
    metric: Scoring,
) -> Result<Deployment, Failure> {
    let mine = evaluated(schema, new, relation, metric)?;
    let theirs = evaluated(schema, current, relation, metric)?;
    let number = |value: Option<f64>| value.map_or("none".to_owned(), |it| format!("{it:.4}"));
    let compared = format!(
        "{} on {relation} {}, that of {current} {}",
        scoring_words(metric).0,
        number(mine),
        number(theirs)
    );
    Ok(match metric.is_better(mine, theirs) {
        true => Deployment::Better(compared),
        false => Deployment::HeldBack(compared),
    })
}

/// A metric of a version on a relation, with the caller's rights.
fn evaluated(
    schema: &str,
    version: &str,
    relation: &str,
    metric: Scoring,
) -> Result<Option<f64>, Failure> {
    known_relation(relation)?;
    read_one::<f64>(
        &format!(
            "SELECT found.{} FROM {schema}.svm_evaluate($1, $2::pg_catalog.regclass, NULL::pg_catalog.text,
                 NULL::pg_catalog.text) AS found",
            scoring_words(metric).0
        ),
        &[version.into(), relation.into()],
    )
    .map_err(spi_failure)
}

/// Refuses a relation that is not there; its name is looked up as SQL looks it up.
fn known_relation(relation: &str) -> Result<(), Failure> {
    let found = read_one::<bool>(
        "SELECT pg_catalog.to_regclass($1) IS NOT NULL",
        &[relation.into()],
    );
    match found.map_err(spi_failure)? {
        Some(true) => Ok(()),
        _ => Err(Failure::new(
            Code::ERRCODE_UNDEFINED_TABLE,
            format!("relation \"{}\" does not exist", shortened(relation)),
        )
        .detail("New versions are compared on its rows: \"relation\" in options.")
        .hint("It is written as in SQL, with its schema where that is not in the search path.")),
    }
}

impl Deployment {
    /// Whether the version is the current one.
    pub fn is_current(&self) -> bool {
        matches!(self, Self::Deployed | Self::Better(_))
    }

    /// What to say of it; `model` is its name.
    pub fn say(&self, model: &str, version: i32) {
        match self {
            Self::Deployed | Self::Stored => {}
            Self::Better(why) => Failure::new(
                Code::ERRCODE_SUCCESSFUL_COMPLETION,
                format!("model {model}@{version} is deployed: {why}"),
            )
            .notice(),
            Self::HeldBack(why) => Failure::new(
                Code::ERRCODE_WARNING,
                format!("model {model}@{version} is stored and not deployed: {why}"),
            )
            .hint(format!(
                "SELECT svm_deploy({}, {version}) deploys it",
                quote_literal(model)
            ))
            .warn(),
        }
    }
}
