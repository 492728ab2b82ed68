-- Rights: who may see, use and change which model
-- The owner does everything; whom the owner lets (svm_permission) sees the model and predicts with it. What a training
-- wrote is never changed, so nobody may UPDATE it, and nobody chooses ids.

CREATE OR REPLACE FUNCTION svm_internal.svm_has_rights_of(role name) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    -- false for a role that is gone; without a subselect, so that it is inlined into the policies
    RETURN coalesce(pg_catalog.pg_has_role(pg_catalog.to_regrole(pg_catalog.quote_ident(role)), 'USAGE'), false);
COMMENT ON FUNCTION svm_internal.svm_has_rights_of(name) IS
    'whether the current user is the role, inherits its rights as a member, or is a superuser';

-- What a role is called now; the name it had when the row was written, where it is gone.
CREATE OR REPLACE FUNCTION svm_internal.svm_role_name(role oid, name name) RETURNS name
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce((SELECT known.rolname FROM pg_catalog.pg_roles AS known WHERE known.oid OPERATOR(pg_catalog.=) role), name);
COMMENT ON FUNCTION svm_internal.svm_role_name(oid, name) IS 'part of svm_versions';

-- Roles are asked for by oid: a role made later under an old name has no rights by it.

ALTER TABLE svm_model ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_permission ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_head ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_weight ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_dual ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_key_dual ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_key_leeway ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_key_scaling ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_key_metric ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_source ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_landmark ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_index ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_internal.svm_node_model ENABLE ROW LEVEL SECURITY;
ALTER TABLE svm_index_chunk ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS svm_model_owner ON svm_model;
CREATE POLICY svm_model_owner ON svm_model USING (pg_catalog.pg_has_role(owner_oid, 'USAGE'));
DROP POLICY IF EXISTS svm_model_reader ON svm_model;
CREATE POLICY svm_model_reader ON svm_model FOR SELECT USING (
    EXISTS (
        SELECT FROM svm_permission AS permission
        WHERE permission.model_id = svm_model.id AND permission.owner = svm_model.owner
    )
);

-- Those that read look at no other table: what svm_model's policy asks must not ask svm_model.
DROP POLICY IF EXISTS svm_permission_owner ON svm_permission;
CREATE POLICY svm_permission_owner ON svm_permission FOR SELECT USING (pg_catalog.pg_has_role(owner_oid, 'USAGE'));
DROP POLICY IF EXISTS svm_permission_remover ON svm_permission;
CREATE POLICY svm_permission_remover ON svm_permission FOR DELETE USING (pg_catalog.pg_has_role(owner_oid, 'USAGE'));
DROP POLICY IF EXISTS svm_permission_writer ON svm_permission;
CREATE POLICY svm_permission_writer ON svm_permission FOR INSERT WITH CHECK (
    EXISTS (
        SELECT FROM svm_model AS model
        WHERE model.id = model_id AND model.owner = svm_permission.owner AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);
DROP POLICY IF EXISTS svm_permission_grantee ON svm_permission;
CREATE POLICY svm_permission_grantee ON svm_permission FOR SELECT USING (
    grantee = 'public' OR pg_catalog.pg_has_role(grantee_oid, 'USAGE')
);

DROP POLICY IF EXISTS svm_version_reader ON svm_version;
CREATE POLICY svm_version_reader ON svm_version FOR SELECT USING (
    EXISTS (SELECT FROM svm_model AS model WHERE model.id = model_id)
);
DROP POLICY IF EXISTS svm_version_writer ON svm_version;
CREATE POLICY svm_version_writer ON svm_version FOR INSERT WITH CHECK (
    EXISTS (SELECT FROM svm_model AS model WHERE model.id = model_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE'))
);
DROP POLICY IF EXISTS svm_version_remover ON svm_version;
CREATE POLICY svm_version_remover ON svm_version FOR DELETE USING (
    EXISTS (SELECT FROM svm_model AS model WHERE model.id = model_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE'))
);

DROP POLICY IF EXISTS svm_head_reader ON svm_head;
CREATE POLICY svm_head_reader ON svm_head FOR SELECT USING (
    EXISTS (SELECT FROM svm_version AS version WHERE version.id = version_id)
);
DROP POLICY IF EXISTS svm_head_writer ON svm_head;
CREATE POLICY svm_head_writer ON svm_head FOR INSERT WITH CHECK (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);

DROP POLICY IF EXISTS svm_weight_reader ON svm_weight;
CREATE POLICY svm_weight_reader ON svm_weight FOR SELECT USING (
    EXISTS (SELECT FROM svm_version AS version WHERE version.id = version_id)
);
DROP POLICY IF EXISTS svm_weight_writer ON svm_weight;
CREATE POLICY svm_weight_writer ON svm_weight FOR INSERT WITH CHECK (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);

DROP POLICY IF EXISTS svm_log_reader ON svm_log;
CREATE POLICY svm_log_reader ON svm_log FOR SELECT USING (
    EXISTS (SELECT FROM svm_version AS version WHERE version.id = version_id)
);
DROP POLICY IF EXISTS svm_log_writer ON svm_log;
CREATE POLICY svm_log_writer ON svm_log FOR INSERT WITH CHECK (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);

-- Landmarks are rows of the table trained on, or means of them: whoever may predict reads them.
DROP POLICY IF EXISTS svm_landmark_reader ON svm_landmark;
CREATE POLICY svm_landmark_reader ON svm_landmark FOR SELECT USING (
    EXISTS (SELECT FROM svm_version AS version WHERE version.id = version_id)
);
DROP POLICY IF EXISTS svm_landmark_writer ON svm_landmark;
CREATE POLICY svm_landmark_writer ON svm_landmark FOR INSERT WITH CHECK (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);

-- Dual variables say which rows were trained on, and no prediction wants them: they are the owner's alone.
DROP POLICY IF EXISTS svm_dual_owner ON svm_dual;
CREATE POLICY svm_dual_owner ON svm_dual USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);

DROP POLICY IF EXISTS svm_key_owner ON svm_key;
CREATE POLICY svm_key_owner ON svm_key USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);
DROP POLICY IF EXISTS svm_key_dual_owner ON svm_key_dual;
CREATE POLICY svm_key_dual_owner ON svm_key_dual USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);
DROP POLICY IF EXISTS svm_source_owner ON svm_source;
CREATE POLICY svm_source_owner ON svm_source USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);
DROP POLICY IF EXISTS svm_key_leeway_owner ON svm_key_leeway;
CREATE POLICY svm_key_leeway_owner ON svm_key_leeway USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);
DROP POLICY IF EXISTS svm_key_scaling_owner ON svm_key_scaling;
CREATE POLICY svm_key_scaling_owner ON svm_key_scaling USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);
DROP POLICY IF EXISTS svm_key_metric_owner ON svm_key_metric;
CREATE POLICY svm_key_metric_owner ON svm_key_metric USING (
    EXISTS (
        SELECT FROM svm_version AS version JOIN svm_model AS model ON model.id = version.model_id
        WHERE version.id = version_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
    )
);

-- What nodes of Citus have is written by triggers alone. A function in place of a subselect, which Citus takes in no policy.
CREATE OR REPLACE FUNCTION svm_internal.svm_has_rights_of_any(roles oid[]) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce((SELECT pg_catalog.bool_or(pg_catalog.pg_has_role(role, 'USAGE')) FROM pg_catalog.unnest(roles) AS role), false);
COMMENT ON FUNCTION svm_internal.svm_has_rights_of_any(oid[]) IS 'whether the current user is one of the roles or inherits the rights of one';
DROP POLICY IF EXISTS svm_node_model_reader ON svm_internal.svm_node_model;
CREATE POLICY svm_node_model_reader ON svm_internal.svm_node_model FOR SELECT USING (
    pg_catalog.pg_has_role(owner_oid, 'USAGE') OR 'public' = ANY (readers) OR svm_internal.svm_has_rights_of_any(reader_oids)
);
REVOKE ALL ON svm_internal.svm_node_model FROM PUBLIC;
GRANT SELECT ON svm_internal.svm_node_model TO PUBLIC;

-- An index holds what its owner could read of a table: it is the owner's alone. Trainings of others may believe it, so who writes
-- is the owner and no member.
DROP POLICY IF EXISTS svm_index_owner ON svm_index;
CREATE POLICY svm_index_owner ON svm_index USING (pg_catalog.pg_has_role(owner_oid, 'USAGE'))
    WITH CHECK (owner_oid = pg_catalog.to_regrole(pg_catalog.quote_ident(CURRENT_USER)));
DROP POLICY IF EXISTS svm_index_chunk_owner ON svm_index_chunk;
CREATE POLICY svm_index_chunk_owner ON svm_index_chunk USING (
    EXISTS (
        SELECT FROM svm_index AS index WHERE index.id = index_id AND pg_catalog.pg_has_role(index.owner_oid, 'USAGE')
    )
) WITH CHECK (
    EXISTS (
        SELECT FROM svm_index AS index
        WHERE index.id = index_id AND index.owner_oid = pg_catalog.to_regrole(pg_catalog.quote_ident(CURRENT_USER))
    )
);

REVOKE ALL ON svm_index, svm_index_chunk FROM PUBLIC;
GRANT SELECT, DELETE, INSERT (name, owner, relation, features, columns, lengths, lists, tables), UPDATE (tables, refreshed_at) ON svm_index TO PUBLIC;
GRANT SELECT, INSERT (index_id, chunk, part, rows, tuples, numbers), DELETE ON svm_index_chunk TO PUBLIC;

REVOKE ALL ON svm_model, svm_permission, svm_version, svm_head, svm_weight, svm_dual, svm_key, svm_key_dual, svm_key_leeway, svm_key_scaling, svm_key_metric,
    svm_log, svm_source, svm_landmark FROM PUBLIC;
GRANT SELECT ON svm_model, svm_permission, svm_version, svm_head, svm_weight, svm_dual, svm_key, svm_key_dual, svm_key_leeway, svm_key_scaling,
    svm_key_metric, svm_log, svm_source, svm_landmark TO PUBLIC;
-- with their rows go, by triggers, those that belong to them
GRANT DELETE ON svm_model, svm_permission, svm_version TO PUBLIC;
GRANT INSERT (name, owner, current_version), UPDATE (name, owner, current_version, on_nodes) ON svm_model TO PUBLIC;
GRANT INSERT ON svm_permission, svm_head, svm_weight, svm_dual, svm_key, svm_key_dual, svm_key_leeway, svm_key_scaling, svm_key_metric, svm_log, svm_source, svm_landmark TO PUBLIC;
GRANT INSERT (
    model_id, version, trained_at, features, label_column, label_type, label_values, nulls, loss, c, scale, solver,
    intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped, passes, primal, dual, gap,
    training_accuracy, seconds, cache_bytes, workers, stop_reason, options, class_weight, weight_column, validation,
    source_relation, source_query, key_column, key_type, max_passes, followed, stored_rows, search_path, source_reads,
    training_auc, trained_by, server_version, given, decision_deviation, truncation, solver_used, classes_by,
    task, label_centre, label_deviation, epsilon, training_rmse, training_r2, nu, training_novel, quantiles,
    interval_rows, interval_residuals
) ON svm_version TO PUBLIC;

-- Whoever created the extension without being a superuser restores dumps of models of his own, which say ids. What he may write the
-- policies say to him as to everybody.
DO $$
BEGIN
    IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE oid OPERATOR(pg_catalog.=) '@extowner@'::pg_catalog.regrole::pg_catalog.oid) THEN
        GRANT INSERT ON svm_model, svm_permission, svm_version, svm_head, svm_weight, svm_dual, svm_key, svm_key_dual, svm_log, svm_source,
            svm_landmark, svm_index TO @extowner@;
    END IF;
END;
$$;
