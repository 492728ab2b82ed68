//! Storing a trained model: rows of svm_model, svm_version and svm_weight, written in the caller's
//! transaction and with the caller's rights, so that a model is there whole or not at all.

use crate::base::errors::{Failure, OrRaise};
use crate::base::settings;
use crate::catalog::spi_failure;
use crate::pg::kept_statement::{read_one, KeptStatement};
use crate::request::deploy::Deploy;
use crate::request::Request;
use crate::storing::deployment::{self, DeployOutcome, Deployment};
use crate::storing::version_row::{self, Labelled};
use crate::storing::{chunks, provenance, training_log};
use crate::training::outcome::Trained;
use pgrx::spi::{SpiClient, SpiError};
use pgrx::Spi;

/// Stores a new version of the request's model in `schema` (quoted); returns its number, and whether it is deployed.
pub fn store(
    schema: &str,
    request: &Request,
    trained: &mut Trained,
    labelled: &Labelled<'_>,
) -> Result<(i32, Deployment), Failure> {
    let (model, id, version, current, mut deployment) = Spi::connect_mut(|client| {
        let model = lock_model(client, schema, &request.model)?;
        let current = deployment::current(client, schema, model, &request.columns.label)?;
        let deployment = first_sight(request, trained, current.as_ref());
        let current = current.map(|(version, _)| version);
        let version = next_number(client, schema, model)?;
        // its row is locked: of two trainings at the same time the second meets the first one's source
        provenance::check(schema, request).or_raise();
        let id = version_row::insert(client, schema, (model, version), request, trained, labelled)?;
        version_row::insert_heads(schema, id, trained, labelled)?;
        let log = (&trained.trainer.log[..], &trained.tested[..]);
        training_log::insert(client, schema, id, log)?;
        provenance::insert_query(client, schema, id, &request.source)?;
        Ok((model, id, version, current, deployment))
    })
    .map_err(spi_failure)?;
    chunks::insert_all(schema, id, trained).map_err(spi_failure)?;
    if let (Deploy::IfBetter { relation, metric }, Some(current)) = (&request.deploy, current) {
        let [new, current] = [version, current].map(|it| format!("{}@{it}", request.model));
        deployment = deployment::compare(schema, [&new, &current], relation, *metric)?;
    }
    if deployment.is_current() {
        deploy(schema, model, version)?;
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
    current: Option<&(i32, Option<DeployOutcome>)>,
) -> Deployment {
    let Some((version, outcome)) = current else {
        return Deployment::Deployed;
    };
    match request.deploy {
        Deploy::Always => Deployment::Deployed,
        Deploy::Never | Deploy::IfBetter { .. } => Deployment::Stored,
        Deploy::Usual => {
            let name = format!("{}@{version}", request.model);
            let held_back = |current| DeployOutcome::of(trained).held_back_by(current, &name);
            match outcome.as_ref().and_then(held_back) {
                Some(why) => Deployment::HeldBack(why),
                None => Deployment::Deployed,
            }
        }
    }
}

/// Makes a version, which is whole, the current one.
pub fn deploy(schema: &str, model: i64, version: i32) -> Result<(), Failure> {
    KeptStatement(&format!(
        "UPDATE {schema}.svm_model SET current_version = $2 WHERE id OPERATOR(pg_catalog.=) $1"
    ))
    .run(&[model.into(), version.into()])
    .map_err(spi_failure)
}

/// Whether the nodes of Citus have a model too.
pub fn is_on_nodes(schema: &str, model: &str) -> Result<bool, Failure> {
    let select =
        format!("SELECT on_nodes FROM {schema}.svm_model WHERE name OPERATOR(pg_catalog.=) $1");
    let found = read_one::<bool>(KeptStatement(&select), &[model.into()]);
    Ok(found.map_err(spi_failure)? == Some(true))
}

/// Removes all versions of a model but the `keep` newest ones and the one that is deployed; returns how many.
pub fn prune(schema: &str, model: i64, keep: i32) -> Result<i64, Failure> {
    let removed = Spi::connect_mut(|client| {
        client
            .update(
                KeptStatement(&format!(
                    "DELETE FROM {schema}.svm_version AS v USING {schema}.svm_model AS m
                     WHERE m.id OPERATOR(pg_catalog.=) $1 AND v.model_id OPERATOR(pg_catalog.=) $1
                         AND v.version OPERATOR(pg_catalog.<>) m.current_version
                         AND v.version OPERATOR(pg_catalog.<>) ALL (
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

/// The model's row, made where there is none, and the number of its next version, which the caller deploys once it is whole; locks
/// the row until the transaction ends.
pub fn next_version(
    client: &mut SpiClient<'_>,
    schema: &str,
    name: &str,
) -> Result<(i64, i32), SpiError> {
    let model = lock_model(client, schema, name)?;
    Ok((model, next_number(client, schema, model)?))
}

/// Makes or locks the model's row, until the transaction ends: waits for trainings of the same name, and the snapshots of the
/// next statements see what they stored.
fn lock_model(client: &mut SpiClient<'_>, schema: &str, name: &str) -> Result<i64, SpiError> {
    let row = client.update(
        KeptStatement(&format!(
            "INSERT INTO {schema}.svm_model (name, owner, current_version) VALUES ($1, current_user, 0)
             ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id"
        )),
        None,
        &[name.into()],
    )?;
    Ok(row.first().get_one::<i64>()?.expect("id is NOT NULL"))
}

/// The number of the model's next version.
fn next_number(client: &mut SpiClient<'_>, schema: &str, model: i64) -> Result<i32, SpiError> {
    // not as a SELECT that reads only, whose snapshot is from before the lock
    let row = client.update(
        KeptStatement(&format!(
            "SELECT coalesce(pg_catalog.max(v.version), 0) OPERATOR(pg_catalog.+) 1 FROM {schema}.svm_version AS v
             WHERE v.model_id OPERATOR(pg_catalog.=) $1"
        )),
        None,
        &[model.into()],
    )?;
    let version = row.first().get_one::<i32>()?;
    Ok(version.expect("a version is NOT NULL"))
}
