-- Models: what a role sees of them, and their life
-- Views and functions run with the caller's rights, so the policies of sql/rights.sql decide.

CREATE OR REPLACE VIEW svm_versions WITH (security_invoker = true) AS
SELECT
    model.name,
    version.version,
    version.version = model.current_version AS deployed,
    version.rows_used,
    version.rows_skipped,
    version.feature_count AS features,
    version.label_column,
    version.label_type,
    CASE WHEN version.task IS DISTINCT FROM 'regression' THEN version.label_values END AS label_values,
    version.nulls,
    version.loss,
    version.c,
    version.scale,
    version.solver,
    version.class_weight,
    version.weight_column,
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
    EXISTS (
        SELECT FROM svm_head AS head WHERE head.version_id = version.id AND head.sigmoid_slope IS NOT NULL
    ) AS probabilities,
    svm_internal.svm_role_name(model.owner_oid, model.owner) AS owner,
    -- to the owner all of them, to another role its own
    ARRAY(
        SELECT svm_internal.svm_role_name(permission.grantee_oid, permission.grantee) FROM svm_permission AS permission
        WHERE permission.model_id = model.id ORDER BY 1
    ) AS granted_to,
    version.key_column,
    coalesce(
        version.source_relation,
        -- to its owner only
        (SELECT source.query FROM svm_source AS source WHERE source.version_id = version.id),
        CASE WHEN pg_catalog.pg_has_role(model.owner_oid, 'USAGE') THEN version.source_query END
    ) AS source,
    version.followed,
    version.training_auc,
    ARRAY(
        SELECT coalesce(
            part.value OPERATOR(pg_catalog.->>) 'name',
            pg_catalog.format(
                'sparse(%s, %s)', part.value OPERATOR(pg_catalog.->>) 'index', part.value OPERATOR(pg_catalog.->>) 'value')
        )
        FROM (SELECT version.features OPERATOR(pg_catalog.->) 'parts') AS stored (parts),
            pg_catalog.jsonb_array_elements(
                CASE pg_catalog.jsonb_typeof(stored.parts) WHEN 'array' THEN stored.parts END
            ) WITH ORDINALITY AS part (value, place)
        ORDER BY part.place
    ) AS feature_columns,
    version.intercept_used AS intercept,
    version.tolerance,
    version.max_passes,
    version.seed,
    version.options,
    version.trained_by,
    version.server_version,
    version.given,
    coalesce(version.features OPERATOR(pg_catalog.#>>) '{kernel,function}', 'linear') AS kernel,
    -- of a kernel machine: how many landmarks, and the part of the kernel's trace that they leave out
    CASE pg_catalog.jsonb_typeof(version.features OPERATOR(pg_catalog.#>) '{kernel,landmarks}') WHEN 'number'
        THEN (version.features OPERATOR(pg_catalog.#>>) '{kernel,landmarks}')::numeric END AS landmarks,
    CASE pg_catalog.jsonb_typeof(version.features OPERATOR(pg_catalog.#>) '{kernel,left_out}') WHEN 'number'
        THEN (version.features OPERATOR(pg_catalog.#>>) '{kernel,left_out}')::numeric::float8 END AS left_out,
    -- of a truncated loss, summed over the heads; in primal, dual and gap outliers cost a constant
    version.truncation,
    (SELECT pg_catalog.sum(head.truncated_primal) FROM svm_head AS head WHERE head.version_id = version.id) AS truncated_primal,
    (SELECT pg_catalog.sum(head.outliers)::bigint FROM svm_head AS head WHERE head.version_id = version.id) AS outliers,
    version.solver_used,
    version.id,
    CASE WHEN pg_catalog.cardinality(version.label_values) > 2 THEN coalesce(version.classes_by, 'decision') END AS classes_by,
    -- of some classes the one and of others the other: 'isotonic'
    (
        SELECT CASE WHEN pg_catalog.bool_or(head.isotonic_decisions IS NOT NULL) THEN 'isotonic' ELSE 'sigmoid' END
        FROM svm_head AS head
        WHERE head.version_id = version.id AND head.sigmoid_slope IS NOT NULL
        HAVING pg_catalog.count(*) > 0
    ) AS calibration,
    coalesce(version.task, 'classification') AS task,
    version.training_rmse,
    version.training_r2,
    version.epsilon,
    version.label_centre,
    version.label_deviation,
    version.nu,
    version.training_novel,
    version.quantiles,
    version.interval_rows
FROM svm_model AS model
JOIN svm_version AS version ON version.model_id = model.id;
COMMENT ON VIEW svm_versions IS 'every version of the models that the current user may use';
GRANT SELECT ON svm_versions TO PUBLIC;

CREATE OR REPLACE VIEW svm_models WITH (security_invoker = true) AS
SELECT
    name,
    version,
    rows_used,
    features,
    loss,
    c,
    solver,
    passes,
    primal,
    dual,
    gap,
    training_accuracy,
    seconds,
    cache_bytes,
    workers,
    stop_reason,
    trained_at,
    owner,
    pg_catalog.cardinality(label_values) AS classes,
    probabilities,
    granted_to,
    training_auc,
    kernel,
    landmarks,
    left_out,
    truncation,
    truncated_primal,
    outliers,
    label_column,
    source,
    solver_used,
    id,
    task,
    training_rmse,
    training_r2,
    nu,
    training_novel
FROM svm_versions
WHERE deployed;
COMMENT ON VIEW svm_models IS 'the current version of each model that the current user may use';
GRANT SELECT ON svm_models TO PUBLIC;

-- Names are unique in a database. That one is taken says also PostgreSQL's error; by whom, only who may see the model is told.
CREATE OR REPLACE FUNCTION svm_internal.svm_is_taken(model text) RETURNS boolean
    LANGUAGE sql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    -- bound to the table itself: whoever owns the schema may rename it and put another one in its place
    RETURN EXISTS (SELECT FROM svm_model AS it WHERE it.name OPERATOR(pg_catalog.=) $1);
COMMENT ON FUNCTION svm_internal.svm_is_taken(text) IS 'whether there is a model of this name, also where the caller may not see it';

CREATE OR REPLACE FUNCTION svm_deploy(model text, version int DEFAULT NULL) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_deploy_wrapper';
COMMENT ON FUNCTION svm_deploy(text, int) IS
    'makes a stored version the current one, which the model''s name stands for, and returns the name';

CREATE OR REPLACE FUNCTION svm_rename(model text, new_name text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_rename_wrapper';
COMMENT ON FUNCTION svm_rename(text, text) IS 'gives a model another name and returns that';

CREATE OR REPLACE FUNCTION svm_drop(model text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_drop_wrapper';
COMMENT ON FUNCTION svm_drop(text) IS 'removes a model with all its versions and grants, and returns its name';

CREATE OR REPLACE FUNCTION svm_drop(model text, version int) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_drop_version_wrapper';
COMMENT ON FUNCTION svm_drop(text, int) IS
    'removes a version other than the current one, and returns the model''s name';

CREATE OR REPLACE FUNCTION svm_prune(model text, keep int DEFAULT 10) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_prune_wrapper';
COMMENT ON FUNCTION svm_prune(text, int) IS
    'removes all versions but the newest ones and the current one, and returns how many';

-- The coordinator keeps nodes of Citus in line by triggers (sql/added/0.3.0.sql), of which this sets one off for each model.
CREATE OR REPLACE FUNCTION svm_distribute_models(model text DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_coordinator boolean;
    place text := (SELECT e.extnamespace::regnamespace FROM pg_extension AS e WHERE e.extname = 'pgsvm');
    distributed bigint;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_local_group') IS NULL THEN
        RAISE EXCEPTION 'svm_distribute_models() brings models to the nodes of Citus, which is not in this database' USING
            ERRCODE = 'feature_not_supported',
            HINT = format('To another database by hand: SELECT svm_export(%L, ''pgsvm''), and there svm_import', coalesce(model, '…'));
    END IF;
    EXECUTE 'SELECT groupid = 0 FROM pg_catalog.pg_dist_local_group' INTO is_coordinator;
    IF NOT is_coordinator THEN
        RAISE EXCEPTION 'svm_distribute_models() is called on the coordinator of Citus, and this is a node' USING
            ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Where that is: SELECT nodename, nodeport FROM pg_dist_node WHERE groupid = 0';
    END IF;
    -- says so where there is no such model
    PERFORM svm_internal.svm_version_id($1);
    EXECUTE format('WITH mine AS (UPDATE %s.svm_model AS m SET on_nodes = true WHERE $1 IS NULL OR m.name = $1 RETURNING m.id)
        SELECT count(*) FROM mine', place) INTO distributed USING $1;
    IF $1 IS NOT NULL AND distributed = 0 THEN
        RAISE EXCEPTION 'model "%" cannot be brought to the nodes', $1 USING
            ERRCODE = 'insufficient_privilege',
            DETAIL = 'Only its owner may do that, under its name without a version: nodes have the one that is deployed.',
            HINT = 'Whose it is: SELECT name, owner FROM svm_models';
    END IF;
    RETURN distributed;
END;
$$;
COMMENT ON FUNCTION svm_distribute_models(text) IS
    'has a model, or all that the role owns, on the nodes of Citus from now on, so that predictions are made where rows are; returns how many';

CREATE OR REPLACE FUNCTION svm_grant(model text, role text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_grant_wrapper';
COMMENT ON FUNCTION svm_grant(text, text) IS
    'lets a role, or ''public'', see a model and predict with it, and returns the model''s name';

CREATE OR REPLACE FUNCTION svm_revoke(model text, role text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_revoke_wrapper';
COMMENT ON FUNCTION svm_revoke(text, text) IS 'takes back what svm_grant gave, and returns the model''s name';

CREATE OR REPLACE FUNCTION svm_internal.svm_version_id(model text) RETURNS bigint
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_version_id_wrapper';
COMMENT ON FUNCTION svm_internal.svm_version_id(text) IS
    'the id in svm_version of a model''s current version, or of the version that name@3 stands for';

CREATE OR REPLACE FUNCTION svm_training_log(model text) RETURNS TABLE (
    step int,
    -- load, pass, verify, active or block
    event text,
    seconds float8,
    pass int,
    block int,
    heads int,
    rows_read bigint,
    visits bigint,
    updates bigint,
    dual float8,
    primal float8,
    gap float8,
    cache_rows bigint,
    evictions bigint,
    projected_gradient float8,
    test_error float8,
    test_auc float8
)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT entry.*
    FROM svm_log AS log, LATERAL (
        SELECT ordinality::int, event, seconds, pass, block, heads, rows_read, visits, updates, dual, primal, gap,
            cache_rows, evictions, projected_gradient, test_error, test_auc
        FROM ROWS FROM (
            pg_catalog.unnest(log.event), pg_catalog.unnest(log.seconds), pg_catalog.unnest(log.pass),
            pg_catalog.unnest(log.block), pg_catalog.unnest(log.heads), pg_catalog.unnest(log.rows_read),
            pg_catalog.unnest(log.visits), pg_catalog.unnest(log.updates), pg_catalog.unnest(log.dual),
            pg_catalog.unnest(log.primal), pg_catalog.unnest(log.gap), pg_catalog.unnest(log.cache_rows),
            pg_catalog.unnest(log.evictions), pg_catalog.unnest(log.projected_gradient),
            pg_catalog.unnest(log.test_error), pg_catalog.unnest(log.test_auc)
        ) WITH ORDINALITY
            AS entry (event, seconds, pass, block, heads, rows_read, visits, updates, dual, primal, gap, cache_rows,
                evictions, projected_gradient, test_error, test_auc, ordinality)
    ) AS entry
    WHERE log.version_id OPERATOR(pg_catalog.=) svm_internal.svm_version_id(svm_training_log.model)
    ORDER BY entry.ordinality;
END;
COMMENT ON FUNCTION svm_training_log(text) IS
    'what happened when in the training of a version: a row for each pass, sweep of the cache or block';
