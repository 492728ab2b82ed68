//! Storing a trained model: rows of svm_model, svm_version and svm_weight, written in the caller's
//! transaction and with the caller's rights, so that a model is there whole or not at all.

use crate::base::errors::{Failure, OrRaise};
use crate::base::settings;
use crate::catalog::spi_failure;
use crate::catalog::whole::StoredRows;
use crate::keys::chunks::{KeyChunk, CHUNK_ROWS};
use crate::model::text::Chunk;
use crate::pg::json::Jsonb;
use crate::pg::kept_statement::Kept;
use crate::pg::transactions;
use crate::request::deploy::Deploy;
use crate::request::reads::Reads;
use crate::request::source::Source;
use crate::request::Request;
use crate::storing::deployment::{self, Deployment, Outcome};
use crate::storing::{provenance, training_log};
use crate::training::fit::OnTrainingRows;
use crate::training::outcome::{Trained, TrainedHead};
use crate::training::validation;
use crate::training::weights::StoredWeights;
use crate::warm_start::followed::{Counts, Followed};
use crate::warm_start::screening::RowSlacks;
use pgrx::datum::DatumWithOid;
use pgrx::spi::{SpiClient, SpiError};
use pgrx::{JsonB, Spi};
use pgsvm_core::memory::Room;
use pgsvm_core::{Loss, StopReason};

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

/// Stores a new version of the request's model in `schema` (quoted); returns its number, and whether it is deployed.
pub fn store(
    schema: &str,
    request: &Request,
    trained: &mut Trained,
    labelled: &Labelled<'_>,
) -> Result<(i32, Deployment), Failure> {
    let (model, id, version, current, mut deployment) = Spi::connect_mut(|client| {
        let model = lock_model(client, schema, &request.model)?;
        let current = deployment::current(client, schema, model)?;
        let deployment = first_sight(request, trained, current.as_ref());
        let current = current.map(|(version, _)| version);
        let version = number_version(client, schema, model, deployment.is_current())?;
        // its row is locked: of two trainings at the same time the second meets the first one's source
        provenance::check(schema, request).or_raise();
        let id = insert_version(client, schema, model, version, request, trained, labelled)?;
        insert_heads(client, schema, id, trained, labelled)?;
        training_log::insert(client, schema, id, &trained.trainer.log)?;
        provenance::insert_query(client, schema, id, &request.source)?;
        Ok((model, id, version, current, deployment))
    })
    .map_err(spi_failure)?;
    for (number, head) in (0..).zip(&mut trained.heads) {
        insert_weights(schema, id, number, &head.weights).map_err(spi_failure)?;
        insert_duals(schema, id, number, head).map_err(spi_failure)?;
        insert_states(schema, id, number, head).map_err(spi_failure)?;
    }
    insert_keys(schema, id, &trained.keys).map_err(spi_failure)?;
    if let Some(slacks) = &trained.slacks {
        insert_slacks(schema, id, slacks).map_err(spi_failure)?;
    }
    if let (Deploy::IfBetter { relation, metric }, Some(current)) = (&request.deploy, current) {
        let [new, current] = [version, current].map(|it| format!("{}@{it}", request.model));
        deployment = deployment::compare(schema, [&new, &current], relation, *metric)?;
        if deployment.is_current() {
            deploy(schema, model, version)?;
        }
    }
    if let Some(keep) = settings::keep_versions() {
        prune(schema, model, keep)?;
    }
    Ok((version, deployment))
}

/// Whether to deploy a version in the place of the current one, before it is stored.
fn first_sight(
    request: &Request,
    trained: &Trained,
    current: Option<&(i32, Outcome)>,
) -> Deployment {
    let Some((version, current)) = current else {
        return Deployment::Deployed;
    };
    match request.deploy {
        Deploy::Always => Deployment::Deployed,
        Deploy::Never | Deploy::IfBetter { .. } => Deployment::Stored,
        Deploy::Usual => {
            let name = format!("{}@{version}", request.model);
            match Outcome::of(trained).held_back_by(current, &name) {
                Some(why) => Deployment::HeldBack(why),
                None => Deployment::Deployed,
            }
        }
    }
}

fn deploy(schema: &str, model: i64, version: i32) -> Result<(), Failure> {
    Kept(&format!(
        "UPDATE {schema}.svm_model SET current_version = $2 WHERE id OPERATOR(pg_catalog.=) $1"
    ))
    .run(&[model.into(), version.into()])
    .map_err(spi_failure)
}

/// Removes all versions of a model but the `keep` newest ones and the one that is deployed; returns how many.
pub fn prune(schema: &str, model: i64, keep: i32) -> Result<i64, Failure> {
    let removed = Spi::connect_mut(|client| {
        client
            .update(
                Kept(&format!(
                    "DELETE FROM {schema}.svm_version AS v USING {schema}.svm_model AS m
                     WHERE m.id OPERATOR(pg_catalog.=) $1 AND v.model_id OPERATOR(pg_catalog.=) $1
                         AND v.version OPERATOR(pg_catalog.<>) m.current_version
                         AND v.version NOT IN (
                             SELECT newest.version FROM {schema}.svm_version AS newest
                             WHERE newest.model_id OPERATOR(pg_catalog.=) $1
                             ORDER BY newest.version DESC LIMIT $2)"
                )),
                None,
                &[model.into(), i64::from(keep).into()],
            )
            .map(|removed| removed.len() as i64)
    });
    removed.map_err(spi_failure)
}

/// The model's row, made or moved on to its next version, which is deployed, and that version's number; locks the row until
/// the transaction ends.
pub fn next_version(
    client: &mut SpiClient<'_>,
    schema: &str,
    name: &str,
) -> Result<(i64, i32), SpiError> {
    let model = lock_model(client, schema, name)?;
    Ok((model, number_version(client, schema, model, true)?))
}

/// Makes or locks the model's row, until the transaction ends: waits for trainings of the same name, and the snapshots of the
/// next statements see what they stored.
fn lock_model(client: &mut SpiClient<'_>, schema: &str, name: &str) -> Result<i64, SpiError> {
    let row = client.update(
        Kept(&format!(
            "INSERT INTO {schema}.svm_model (name, owner, current_version) VALUES ($1, current_user, 0)
             ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id"
        )),
        None,
        &[name.into()],
    )?;
    Ok(row.first().get_one::<i64>()?.expect("id is NOT NULL"))
}

/// The number of the model's next version, which becomes the current one if it is to be deployed or is the first.
fn number_version(
    client: &mut SpiClient<'_>,
    schema: &str,
    model: i64,
    deploy: bool,
) -> Result<i32, SpiError> {
    let row = client.update(
        Kept(&format!(
            "WITH next AS (
                 SELECT coalesce(pg_catalog.max(v.version), 0) OPERATOR(pg_catalog.+) 1 AS version
                 FROM {schema}.svm_version AS v WHERE v.model_id OPERATOR(pg_catalog.=) $1)
             UPDATE {schema}.svm_model AS m SET current_version =
                 CASE WHEN $2 OR m.current_version OPERATOR(pg_catalog.=) 0 THEN next.version ELSE m.current_version END
             FROM next WHERE m.id OPERATOR(pg_catalog.=) $1
             RETURNING next.version"
        )),
        None,
        &[model.into(), deploy.into()],
    )?;
    let version = row.first().get_one::<i32>()?;
    Ok(version.expect("a version is NOT NULL"))
}

fn insert_version(
    client: &mut SpiClient<'_>,
    schema: &str,
    model: i64,
    version: i32,
    request: &Request,
    trained: &Trained,
    labelled: &Labelled<'_>,
) -> Result<i64, SpiError> {
    let terms = &request.terms;
    let reader = &trained.reader;
    let report = &trained.trainer.report;
    let summary = report.summary();
    let features = reader.features.to_json().or_raise();
    let followed = trained.followed.as_ref().map(followed_json);
    let intercept = trained
        .heads
        .first()
        .map_or(0.0, |head| head.weights.intercept);
    let on_rows = OnTrainingRows::of(trained);
    let validated = !report.validation.is_empty();
    let validation = validated.then(|| validation::json(trained, request.plan.scoring).or_raise());
    let reads = labelled
        .reads
        .map(|reads| serde_json::json!(reads.relations));
    let columns: Vec<(&str, DatumWithOid<'_>)> = vec![
        ("model_id", model.into()),
        ("version", version.into()),
        ("features", Jsonb(&features).into()),
        ("label_column", request.label.as_str().into()),
        ("label_type", labelled.label_type.into()),
        ("label_values", labelled.values.to_vec().into()),
        ("nulls", request.nulls.word().into()),
        ("loss", loss_word(terms.loss).into()),
        ("c", report.c.into()),
        ("scale", labelled.scale.into()),
        ("solver", terms.solver().into()),
        ("intercept_used", terms.intercept.into()),
        ("tolerance", terms.tolerance.into()),
        ("seed", (terms.seed as u32 as i32).into()),
        ("intercept", intercept.into()),
        ("feature_count", (reader.report.features as i64).into()),
        ("rows_used", (reader.report.rows as i64).into()),
        ("rows_skipped", (reader.rows_skipped as i64).into()),
        ("passes", (report.passes as i32).into()),
        ("primal", summary.primal.into()),
        ("dual", summary.dual.into()),
        ("gap", summary.gap.into()),
        ("training_accuracy", on_rows.accuracy.into()),
        ("training_auc", on_rows.auc.into()),
        ("decision_deviation", deployment::deviation(trained).into()),
        ("seconds", labelled.seconds.into()),
        ("cache_bytes", (labelled.cache_bytes as i64).into()),
        ("workers", trained.processes.workers.into()),
        ("stop_reason", stop_word(summary.stop).into()),
        ("options", JsonB(request.options.clone()).into()),
        (
            "given",
            request
                .given
                .as_ref()
                .map(|given| Jsonb(given.as_str()))
                .into(),
        ),
        (
            "class_weight",
            request.class_weight.json().map(JsonB).into(),
        ),
        ("weight_column", request.weight_column.clone().into()),
        (
            "source_relation",
            provenance::relation(&request.source).into(),
        ),
        ("key_column", request.key.clone().into()),
        ("key_type", labelled.key_type.into()),
        ("max_passes", request.max_passes.into()),
        ("followed", followed.map(JsonB).into()),
        ("validation", validation.as_deref().map(Jsonb).into()),
        ("stored_rows", JsonB(stored_rows(request, trained)).into()),
        (
            "search_path",
            labelled.reads.map(|reads| reads.search_path.clone()).into(),
        ),
        ("source_reads", reads.map(JsonB).into()),
    ];
    let (names, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let places: Vec<_> = (1..=names.len()).map(|i| format!("${i}")).collect();
    let row = client.update(
        Kept(&format!(
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

/// As svm_version keeps it.
fn followed_json(followed: &Followed) -> serde_json::Value {
    let mut json = serde_json::json!({ "model": followed.model });
    if let Some(rows) = followed.rows {
        let Counts {
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
    json
}

/// How many rows the version gets in each table without which it is not whole.
fn stored_rows(request: &Request, trained: &Trained) -> serde_json::Value {
    let sum = |count: fn(&TrainedHead) -> usize| trained.heads.iter().map(count).sum();
    StoredRows::to_json(&[
        ("svm_head", trained.trainer.report.heads.len()),
        ("svm_weight", sum(|head| head.weights.chunks.len())),
        ("svm_dual", sum(|head| head.duals.listed().len())),
        ("svm_key", trained.keys.len()),
        ("svm_key_dual", sum(|head| head.duals.by_key_count())),
        ("svm_log", 1),
        (
            "svm_source",
            usize::from(matches!(request.source, Source::Query(_))),
        ),
    ])
}

fn insert_heads(
    client: &mut SpiClient<'_>,
    schema: &str,
    version_id: i64,
    trained: &Trained,
    labelled: &Labelled<'_>,
) -> Result<(), SpiError> {
    let report = &trained.trainer.report;
    // of two classes the one head's positive class is the second
    let classes = match labelled.values {
        [_, positive] => std::slice::from_ref(positive),
        all => all,
    };
    let insert = format!(
        "INSERT INTO {schema}.svm_head (version_id, head, class, intercept, primal, dual, gap, training_accuracy,
             support_vectors, stop_reason, sigmoid_slope, sigmoid_offset)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    );
    for (number, (class, head)) in classes.iter().zip(&report.heads).enumerate() {
        let sigmoid = report.sigmoids.get(number);
        let values: [DatumWithOid<'_>; 12] = [
            version_id.into(),
            (number as i32).into(),
            class.as_str().into(),
            trained.heads[number].weights.intercept.into(),
            head.certificate.primal.into(),
            head.certificate.dual.into(),
            head.certificate.gap.into(),
            head.training_accuracy.into(),
            (head.support_vectors as i64).into(),
            stop_word(head.stop).into(),
            sigmoid.map(|sigmoid| sigmoid.a).into(),
            sigmoid.map(|sigmoid| sigmoid.b).into(),
        ];
        client.update(Kept(&insert), None, &values)?;
    }
    Ok(())
}

/// Stores the weights of head `number`.
pub fn insert_weights(
    schema: &str,
    version_id: i64,
    number: i32,
    weights: &StoredWeights,
) -> Result<(), SpiError> {
    let insert = format!(
        "INSERT INTO {schema}.svm_weight (version_id, head, first_feature, features, weights)
         VALUES ($1, $2, $3, $4, $5)"
    );
    for chunk in &weights.chunks {
        insert_chunk(&insert, || {
            vec![
                version_id.into(),
                number.into(),
                chunk.first_feature.into(),
                chunk.offsets.as_deref().into(),
                chunk.weights.as_slice().into(),
            ]
        })?;
    }
    Ok(())
}

/// Stores a chunk of weights as a model's text has it.
pub fn insert_weight_chunk(schema: &str, version_id: i64, chunk: &Chunk) -> Result<(), SpiError> {
    let insert = format!(
        "INSERT INTO {schema}.svm_weight (version_id, head, first_feature, features, weights)
         VALUES ($1, $2, $3, $4, $5)"
    );
    insert_chunk(&insert, || {
        vec![
            version_id.into(),
            chunk.head.into(),
            chunk.first.into(),
            chunk.features.clone().into(),
            chunk.weights.clone().into(),
        ]
    })
}

fn insert_duals(
    schema: &str,
    version_id: i64,
    number: i32,
    head: &TrainedHead,
) -> Result<(), SpiError> {
    let insert = format!(
        "INSERT INTO {schema}.svm_dual (version_id, head, first_row, rows, duals)
         VALUES ($1, $2, $3, $4, $5)"
    );
    for chunk in head.duals.listed() {
        insert_chunk(&insert, || {
            vec![
                version_id.into(),
                number.into(),
                chunk.first_row.into(),
                chunk.offsets.as_slice().into(),
                chunk.duals.as_slice().into(),
            ]
        })?;
    }
    Ok(())
}

/// Inserts the dual variables of a training with a key.
fn insert_states(
    schema: &str,
    version_id: i64,
    number: i32,
    head: &mut TrainedHead,
) -> Result<(), SpiError> {
    let insert = format!(
        "INSERT INTO {schema}.svm_key_dual (version_id, head, first_row, states, common, duals)
         VALUES ($1, $2, $3, $4, $5, $6)"
    );
    for chunk in head.duals.by_key() {
        insert_chunk(&insert, || {
            vec![
                version_id.into(),
                number.into(),
                chunk.first_row.into(),
                chunk.states.into(),
                chunk.common.into(),
                chunk.duals.into(),
            ]
        })?;
    }
    Ok(())
}

fn insert_keys(schema: &str, version_id: i64, keys: &[KeyChunk]) -> Result<(), SpiError> {
    let insert = format!(
        "INSERT INTO {schema}.svm_key (version_id, first_row, rows, keys, digests)
         VALUES ($1, $2, $3, $4, $5)"
    );
    for chunk in keys {
        insert_chunk(&insert, || {
            vec![
                version_id.into(),
                chunk.first_row.into(),
                chunk.rows.into(),
                chunk.keys.as_slice().into(),
                chunk.digests.as_slice().into(),
            ]
        })?;
    }
    Ok(())
}

fn insert_slacks(schema: &str, version_id: i64, slacks: &RowSlacks) -> Result<(), SpiError> {
    let insert = format!(
        "INSERT INTO {schema}.svm_key_scaling (version_id, as_of, dense, centre, factor, sparse_factor)
         VALUES ($1, $2, $3, $4, $5, $6)"
    );
    let scaling = &slacks.scaling;
    insert_chunk(&insert, || {
        vec![
            version_id.into(),
            (transactions::current() as i64).into(),
            (scaling.dense as i32).into(),
            scaling.centre.as_slice().into(),
            scaling.factor.as_slice().into(),
            scaling.sparse_factor.as_slice().into(),
        ]
    })?;
    let insert = format!(
        "INSERT INTO {schema}.svm_key_metric (version_id, class, centre, spread, constant)
         VALUES ($1, $2, $3, $4, $5)"
    );
    for (class, metric) in &slacks.metrics {
        insert_chunk(&insert, || {
            vec![
                version_id.into(),
                class.as_str().into(),
                metric.centre.as_slice().into(),
                metric.spread.as_slice().into(),
                metric.constant.into(),
            ]
        })?;
    }
    let insert = format!(
        "INSERT INTO {schema}.svm_key_leeway (version_id, first_row, versions, leeways)
         VALUES ($1, $2, $3, $4)"
    );
    let chunks = slacks.versions.chunks(CHUNK_ROWS);
    for (chunk, (versions, codes)) in chunks.zip(slacks.codes.chunks(CHUNK_ROWS)).enumerate() {
        insert_chunk(&insert, || {
            let mut bytes = Vec::new();
            let room = bytes.room(size_of_val(versions)).or_raise();
            room.extend(versions.iter().flat_map(|it| it.to_le_bytes()));
            vec![
                version_id.into(),
                ((chunk * CHUNK_ROWS) as i64).into(),
                bytes.into(),
                codes.into(),
            ]
        })?;
    }
    Ok(())
}

/// Inserts one row in an SPI connection of its own, whose end frees what its values took.
fn insert_chunk<'a>(
    insert: &str,
    values: impl FnOnce() -> Vec<DatumWithOid<'a>>,
) -> Result<(), SpiError> {
    crate::pg::check_for_interrupts();
    Kept(insert).run(&values())
}

pub fn loss_word(loss: Loss) -> &'static str {
    match loss {
        Loss::Hinge => "hinge",
        Loss::SquaredHinge => "squared_hinge",
    }
}

/// How a training ended, as svm_models shows it.
pub fn stop_word(stop: Option<StopReason>) -> &'static str {
    match stop {
        Some(StopReason::Tolerance) => "tolerance",
        Some(StopReason::MaxPasses) => "max_passes",
        Some(StopReason::Requested) | None => "requested",
    }
}
