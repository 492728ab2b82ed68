//! The row of svm_version and the rows of its heads: what was asked for, and what came out.

use crate::base::errors::OrRaise;
use crate::catalog::whole::StoredRows;
use crate::model::{ClassesBy, NOVELTY, REGRESSION};
use crate::pg::json::{JsonText, Jsonb};
use crate::pg::kept_statement::KeptStatement;
use crate::request::reads::Reads;
use crate::request::source::GivenSource;
use crate::request::Request;
use crate::storing::heads::HeadRow;
use crate::storing::together::RowsOfVersion;
use crate::storing::{deployment, provenance};
use crate::training::fit::{novel_share, OffTarget, OnTrainingRows};
use crate::training::outcome::{Trained, TrainedHead};
use crate::training::validation;
use crate::warm_start::followed::{Followed, RowCounts};
use pgrx::datum::DatumWithOid;
use pgrx::spi::{SpiClient, SpiError};
use pgrx::JsonB;
use pgsvm_core::kernels::Rows as LandmarkRows;
use pgsvm_core::memory::copied;
use pgsvm_core::{Pairs, StopReason};
use serde_json::Value;

/// What is stored besides the outcome of the training.
pub struct Labelled<'a> {
    /// Type of the label column, as SQL writes it.
    pub label_type: &'a str,
    /// The labels, ascending.
    pub values: &'a [String],
    pub scale: &'a str,
    /// Of a training with a key.
    pub key_type: Option<&'a str>,
    pub reads: Option<&'a Reads>,
    pub cache_bytes: usize,
    pub seconds: f64,
}

/// A column of svm_version and its value.
type Field<'a> = (&'static str, DatumWithOid<'a>);

/// Inserts the row of a version; returns its id.
pub fn insert(
    client: &mut SpiClient<'_>,
    schema: &str,
    (model, version): (i64, i32),
    request: &Request,
    trained: &Trained,
    labelled: &Labelled<'_>,
) -> Result<i64, SpiError> {
    let documents = Documents::of(request, trained, labelled);
    let mut columns: Vec<Field<'_>> = vec![
        ("model_id", model.into()),
        ("version", version.into()),
        ("stored_rows", JsonB(stored_rows(request, trained)).into()),
    ];
    columns.extend(documents.fields());
    columns.extend(asked(request, labelled));
    columns.extend(found(trained, labelled));
    let newton = trained.trainer.report.newton;
    columns.push(("solver_used", request.terms.solver_taken(newton).into()));
    let has_probabilities = !trained.trainer.report.calibrations.heads.is_empty();
    let by_probability = request.plan.by_probability && has_probabilities;
    let classes_by = by_probability.then_some(ClassesBy::Probability.word());
    columns.push(("classes_by", classes_by.into()));
    let s = trained.trainer.report.truncation;
    columns.push(("truncation", s.or(request.terms.truncation()).into()));
    let (names, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let places: Vec<_> = (1..=names.len()).map(|i| format!("${i}")).collect();
    let row = client.update(
        KeptStatement(&format!(
            "INSERT INTO {schema}.svm_version ({}, trained_by, server_version)
             VALUES ({}, current_user, pg_catalog.current_setting('server_version')) RETURNING id",
            names.join(", "),
            places.join(", ")
        )),
        None,
        &values,
    )?;
    Ok(row.first().get_one::<i64>()?.expect("id is NOT NULL"))
}

/// What is stored as JSON and may be long.
struct Documents {
    features: String,
    followed: Option<Value>,
    validation: Option<String>,
    reads: Option<JsonText>,
}

impl Documents {
    fn of(request: &Request, trained: &Trained, labelled: &Labelled<'_>) -> Self {
        let validated = !trained.trainer.report.validation.is_empty();
        let scoring = request.plan.scoring;
        Self {
            features: trained.reader.features.to_json().or_raise(),
            followed: trained.followed.as_ref().map(followed_json),
            validation: validated.then(|| validation::json(trained, scoring).or_raise()),
            reads: labelled
                .reads
                .map(|reads| JsonText::of(&reads.relations).or_raise()),
        }
    }

    fn fields(&self) -> [Field<'_>; 4] {
        let reads = self.reads.as_ref();
        [
            ("features", Jsonb(&self.features).into()),
            ("followed", self.followed.clone().map(JsonB).into()),
            ("validation", self.validation.as_deref().map(Jsonb).into()),
            ("source_reads", reads.map(|it| Jsonb(it.as_str())).into()),
        ]
    }
}

/// What was asked for.
fn asked<'a>(request: &'a Request, labelled: &'a Labelled<'_>) -> Vec<Field<'a>> {
    let terms = &request.terms;
    let options = JsonText::of(&request.call.options).or_raise();
    let class_weight = request.class_weight.json();
    let class_weight = class_weight.map(|it| JsonText::of(&it).or_raise());
    let quantiles = Some(&terms.quantiles).filter(|it| !it.is_empty());
    let quantiles = quantiles.map(|it| copied(it).or_raise());
    vec![
        ("label_column", request.columns.label.as_str().into()),
        ("label_type", labelled.label_type.into()),
        ("label_values", labelled.values.to_vec().into()),
        ("nulls", request.rows.nulls.word().into()),
        ("loss", terms.loss_of(labelled.values.len()).into()),
        ("scale", labelled.scale.into()),
        (
            "solver",
            request
                .call
                .stays_with
                .unwrap_or(terms.solver_word())
                .into(),
        ),
        ("intercept_used", terms.intercept().into()),
        ("tolerance", terms.stopping().tolerance.into()),
        ("seed", (terms.parameters.seed as u32 as i32).into()),
        ("options", Jsonb(options.as_str()).into()),
        (
            "given",
            request
                .call
                .given
                .as_ref()
                .map(|given| Jsonb(given.as_str()))
                .into(),
        ),
        (
            "class_weight",
            class_weight.as_ref().map(|it| Jsonb(it.as_str())).into(),
        ),
        ("weight_column", request.columns.weight.clone().into()),
        (
            "source_relation",
            provenance::relation(&request.source).into(),
        ),
        ("key_column", request.columns.key.clone().into()),
        ("key_type", labelled.key_type.into()),
        ("quantiles", quantiles.into()),
        (
            "max_passes",
            terms.stopping().max_passes.map(|it| it as i32).into(),
        ),
        (
            "search_path",
            labelled.reads.map(|reads| reads.search_path.clone()).into(),
        ),
    ]
}

/// What came out.
fn found<'a>(trained: &'a Trained, labelled: &'a Labelled<'_>) -> Vec<Field<'a>> {
    let (reader, report) = (&trained.reader, &trained.trainer.report);
    let summary = report.summary();
    let on_rows = OnTrainingRows::of(trained);
    let (targets, residuals) = (reader.report.targets, OffTarget::of(trained));
    let off = report.calibrations.residuals.as_ref();
    let intercept = trained
        .heads
        .first()
        .map_or(0.0, |head| head.weights.intercept);
    vec![
        ("c", report.c.into()),
        ("intercept", intercept.into()),
        ("feature_count", (reader.report.features as i64).into()),
        ("rows_used", (reader.report.rows as i64).into()),
        ("rows_skipped", (reader.rows_left_out() as i64).into()),
        ("passes", (report.passes as i32).into()),
        ("primal", summary.primal.into()),
        ("dual", summary.dual.into()),
        ("gap", summary.gap.into()),
        ("training_accuracy", on_rows.accuracy.into()),
        (
            "task",
            match (targets, report.nu) {
                (Some(_), _) => Some(REGRESSION),
                (None, Some(_)) => Some(NOVELTY),
                (None, None) => None,
            }
            .into(),
        ),
        ("nu", report.nu.into()),
        ("training_novel", novel_share(trained).into()),
        ("label_centre", targets.map(|it| it.centre).into()),
        ("label_deviation", targets.map(|it| it.deviation).into()),
        (
            "epsilon",
            targets.map(|it| it.delta.unwrap_or(it.epsilon)).into(),
        ),
        ("training_rmse", residuals.map(|it| it.rmse).into()),
        ("training_r2", residuals.and_then(|it| it.r2).into()),
        ("interval_rows", off.map(|it| it.rows() as i64).into()),
        (
            "interval_residuals",
            off.map(|it| it.sizes().to_vec()).into(),
        ),
        ("training_auc", on_rows.auc.into()),
        ("decision_deviation", deployment::deviation(trained).into()),
        ("seconds", labelled.seconds.into()),
        ("cache_bytes", (labelled.cache_bytes as i64).into()),
        ("workers", trained.processes.workers.into()),
        ("stop_reason", stop_word(summary.stop).into()),
    ]
}

/// As svm_version keeps it.
fn followed_json(followed: &Followed) -> Value {
    let mut json = serde_json::json!({ "model": followed.model });
    if let Some(rows) = followed.rows {
        let RowCounts {
            unchanged,
            changed,
            added,
            gone,
            unused,
        } = rows;
        json["rows"] = serde_json::json!({
            "unchanged": unchanged, "changed": changed, "new": added, "gone": gone, "left_out": unused,
        });
    }
    if let Some(screened) = followed.screened {
        json["passed_over"] = screened.into();
    }
    if let Some(rechecked) = followed.rechecked {
        json["looked_at_again"] = rechecked.into();
    }
    if followed.from_nothing {
        json["begun_from"] = "nothing".into();
    }
    json
}

/// How many rows the version gets in each table without which it is not whole.
fn stored_rows(request: &Request, trained: &Trained) -> Value {
    let sum = |count: fn(&TrainedHead) -> usize| trained.heads.iter().map(count).sum();
    StoredRows::to_json(&[
        ("svm_head", trained.trainer.report.heads.len()),
        ("svm_weight", sum(|head| head.weights.chunks.len())),
        (
            "svm_landmark",
            trained.landmarks.as_ref().map_or(0, LandmarkRows::len),
        ),
        ("svm_dual", sum(|head| head.duals.listed().len())),
        ("svm_key", trained.keys.len()),
        ("svm_key_dual", sum(|head| head.duals.by_key_count())),
        ("svm_log", 1),
        (
            "svm_source",
            usize::from(matches!(request.source, GivenSource::Query(_))),
        ),
    ])
}

/// Inserts the rows of a version's heads.
pub fn insert_heads(
    schema: &str,
    version_id: i64,
    trained: &Trained,
    labelled: &Labelled<'_>,
) -> Result<(), SpiError> {
    let report = &trained.trainer.report;
    let labels = labelled.values;
    let pairs = report.in_pairs.then(|| Pairs::all(labels.len()).or_raise());
    // of two classes the one head's positive class is the second
    let sides = |head: usize| match (&pairs, labels) {
        (Some(pairs), _) => {
            let [positive, negative] = pairs.sides(head);
            (&labels[positive], Some(&labels[negative]))
        }
        (None, [_, positive]) => (positive, None),
        (None, all) => (&all[head], None),
    };
    let mut rows = RowsOfVersion::of(schema, version_id);
    for (number, head) in report.heads.iter().enumerate() {
        let (class, against) = sides(number);
        let calibration = report.calibrations.heads.get(number);
        let isotonic = calibration.and_then(|it| it.isotonic.as_ref());
        rows.put(HeadRow {
            number: number as i32,
            class,
            against: against.map(String::as_str),
            intercept: trained.heads[number].weights.intercept,
            primal: Some(head.certificate.primal),
            dual: Some(head.certificate.dual),
            gap: Some(head.certificate.gap),
            training_accuracy: match trained.reader.report.targets {
                Some(_) => None,
                None => Some(head.training_accuracy),
            },
            support_vectors: Some(head.support_vectors as i64),
            stop_reason: Some(stop_word(head.stop).into()),
            sigmoid: calibration.map(|it| (it.sigmoid.a, it.sigmoid.b)),
            isotonic: isotonic.map(|it| it.points()),
            updates: head.updates.map(|updates| updates as i64),
            truncated_primal: head.truncated.map(|it| it.objective),
            outliers: head.truncated.map(|it| it.outliers as i64),
        })?;
    }
    rows.finish()
}

/// How a training ended, as svm_models shows it.
pub fn stop_word(stop: Option<StopReason>) -> &'static str {
    match stop {
        Some(StopReason::Tolerance) => "tolerance",
        Some(StopReason::ProjectedGradient) => "projected_gradient",
        Some(StopReason::MaxPasses) => "max_passes",
        Some(StopReason::Requested) | None => "requested",
    }
}
