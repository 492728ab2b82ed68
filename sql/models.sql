-- Models: what a role sees of them, and their life

CREATE OR REPLACE VIEW svm_models WITH (security_invoker = true) AS
SELECT
    model.name,
    version.version,
    version.rows_used,
    version.feature_count AS features,
    version.loss,
    version.c,
    version.solver,
    version.passes,
    version.primal,
    version.dual,
    version.gap,
    version.training_accuracy,
    version.seconds,
    version.cache_bytes,
    version.workers,
    version.stop_reason,
    version.trained_at,
    model.owner
FROM svm_model AS model
JOIN svm_version AS version
    ON version.model_id = model.id AND version.version = model.current_version;
GRANT SELECT ON svm_models TO PUBLIC;

-- Whose model a name is, also when the caller may not see it: names are unique in a database.
CREATE OR REPLACE FUNCTION svm_model_owner(model text) RETURNS name
    LANGUAGE sql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'SELECT owner FROM @extschema@.svm_model WHERE name = $1';
