-- What a dump restored in part, or with its triggers disabled, leaves behind: said, and repaired

CREATE OR REPLACE VIEW svm_problems WITH (security_invoker = true) AS
-- without the tables that are unlogged: this is read on standbys too
WITH stored (version_id, table_name, rows) AS (
    SELECT version_id, 'svm_head', pg_catalog.count(*) FROM svm_head GROUP BY version_id
    UNION ALL SELECT version_id, 'svm_weight', pg_catalog.count(*) FROM svm_weight GROUP BY version_id
    UNION ALL SELECT version_id, 'svm_landmark', pg_catalog.count(*) FROM svm_landmark GROUP BY version_id
    UNION ALL SELECT version_id, 'svm_dual', pg_catalog.count(*) FROM svm_dual GROUP BY version_id
    UNION ALL SELECT version_id, 'svm_key', pg_catalog.count(*) FROM svm_key GROUP BY version_id
    UNION ALL SELECT version_id, 'svm_key_dual', pg_catalog.count(*) FROM svm_key_dual GROUP BY version_id
    UNION ALL SELECT version_id, 'svm_log', pg_catalog.count(*) FROM svm_log GROUP BY version_id
    UNION ALL SELECT version_id, 'svm_source', pg_catalog.count(*) FROM svm_source GROUP BY version_id
), restore (command) AS (
    -- as a shell reads it: by a role that row-level security binds, too, where the archive has INSERTs
    SELECT pg_catalog.concat('pg_restore --enable-row-security --data-only -d ', CASE
        WHEN name OPERATOR(pg_catalog.~) '^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$' THEN name
        ELSE pg_catalog.concat('''', pg_catalog.replace(name, '''', '''\'''''), '''')
    END, ' --table=') FROM pg_catalog.current_database() AS name
), version AS (
    SELECT version.id, model.name, version.version, version.stored_rows, version.dual, version.solver
    FROM svm_version AS version JOIN svm_model AS model
        ON model.id OPERATOR(pg_catalog.=) version.model_id AND pg_catalog.pg_has_role(model.owner_oid, 'USAGE')
)
SELECT version.name AS model, version.version, expected.table_name,
    pg_catalog.format('it has %s of %s rows', coalesce(stored.rows, 0), expected.rows) AS problem,
    pg_catalog.concat(restore.command, expected.table_name, ' ARCHIVE, or train the model again') AS remedy
FROM version CROSS JOIN restore
CROSS JOIN LATERAL (
    SELECT key, value::bigint FROM pg_catalog.jsonb_each_text(
        CASE pg_catalog.jsonb_typeof(version.stored_rows) WHEN 'object' THEN version.stored_rows END)
    WHERE value OPERATOR(pg_catalog.~) '^\d{1,18}$'
) AS expected (table_name, rows)
LEFT JOIN stored ON stored.version_id OPERATOR(pg_catalog.=) version.id
    AND stored.table_name OPERATOR(pg_catalog.=) expected.table_name
WHERE coalesce(stored.rows, 0) OPERATOR(pg_catalog.<>) expected.rows
UNION ALL
SELECT version.name, version.version, 'svm_weight', 'it has no rows',
    pg_catalog.concat(restore.command, 'svm_weight ARCHIVE, or train the model again')
FROM version CROSS JOIN restore
WHERE version.stored_rows IS NULL
    AND (version.dual OPERATOR(pg_catalog.>) 0 OR version.solver OPERATOR(pg_catalog.=) 'imported')
    AND NOT EXISTS (SELECT FROM svm_weight AS weight WHERE weight.version_id OPERATOR(pg_catalog.=) version.id)
UNION ALL
SELECT model.name, model.current_version, 'svm_version', 'the current version is not there',
    pg_catalog.concat(restore.command, 'svm_version ARCHIVE, or svm_deploy another one')
FROM svm_model AS model CROSS JOIN restore
WHERE NOT EXISTS (
    SELECT FROM svm_version AS version WHERE version.model_id OPERATOR(pg_catalog.=) model.id
        AND version.version OPERATOR(pg_catalog.=) model.current_version
)
-- the rest only a superuser sees: rows that belong to nothing are nobody's. DROP OWNED and REASSIGN OWNED know nothing of
-- rows, so that a role can be dropped that has some.
UNION ALL
SELECT model.name, NULL, 'svm_model', pg_catalog.format('its owner, the role that was called %I, is gone', model.owner),
    pg_catalog.format('UPDATE %s SET owner = ''…'' WHERE name = %L, as a superuser', 'svm_model'::regclass, model.name)
FROM svm_model AS model
WHERE pg_catalog.pg_has_role(coalesce(model.owner_oid, 0::oid), 'USAGE')
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS role WHERE role.oid OPERATOR(pg_catalog.=) model.owner_oid)
UNION ALL
SELECT NULL, NULL, 'svm_index',
    pg_catalog.format('the owner of index %I, the role that was called %I, is gone', index.name, index.owner),
    pg_catalog.format('UPDATE %s SET owner = ''…'' WHERE id = %s, as a superuser; or DELETE', 'svm_index'::regclass, index.id)
FROM svm_index AS index
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS role WHERE role.oid OPERATOR(pg_catalog.=) index.owner_oid)
UNION ALL
SELECT model.name, NULL, 'svm_permission', pg_catalog.format('it is granted to the role that was called %I and is gone', permission.grantee),
    pg_catalog.format('DELETE FROM %s WHERE grantee = %L', 'svm_permission'::regclass, permission.grantee)
FROM svm_permission AS permission JOIN svm_model AS model ON model.id OPERATOR(pg_catalog.=) permission.model_id
WHERE permission.grantee OPERATOR(pg_catalog.<>) 'public'
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS role WHERE role.oid OPERATOR(pg_catalog.=) permission.grantee_oid)
UNION ALL
SELECT NULL, version.version, 'svm_version', 'its model is not there',
    pg_catalog.concat(restore.command, 'svm_model ARCHIVE, where a name is taken after svm_rename; or svm_repair(remove_orphans => true)')
FROM svm_version AS version CROSS JOIN restore
WHERE NOT EXISTS (SELECT FROM svm_model AS model WHERE model.id OPERATOR(pg_catalog.=) version.model_id)
UNION ALL
SELECT NULL, NULL, stored.table_name,
    pg_catalog.format('%s rows belong to versions that are not there', pg_catalog.sum(stored.rows)),
    pg_catalog.concat(restore.command, 'svm_version ARCHIVE, or svm_repair(remove_orphans => true)')
FROM stored CROSS JOIN restore
WHERE NOT EXISTS (SELECT FROM svm_version AS version WHERE version.id OPERATOR(pg_catalog.=) stored.version_id)
GROUP BY stored.table_name, restore.command
UNION ALL
SELECT NULL, NULL, 'svm_permission',
    pg_catalog.format('%s grants are about models that are not there', pg_catalog.count(*)),
    pg_catalog.concat((SELECT command FROM restore), 'svm_model ARCHIVE, or svm_repair(remove_orphans => true)')
FROM svm_permission AS permission
WHERE NOT EXISTS (SELECT FROM svm_model AS model WHERE model.id OPERATOR(pg_catalog.=) permission.model_id)
HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 0
UNION ALL
SELECT NULL, NULL, tgrelid::regclass::text, pg_catalog.format('trigger %s is not enabled as it was made', tgname), 'svm_repair()'
FROM pg_catalog.pg_trigger JOIN (VALUES
    ('svm_model'::regclass, 'svm_model_changed', 'A'),
    ('svm_model', 'svm_model_children', 'O'),
    ('svm_model', 'svm_model_emptied', 'O'),
    ('svm_model', 'svm_model_owner', 'O'),
    ('svm_model', 'svm_model_told', 'O'),
    ('svm_model', 'svm_model_gone', 'O'),
    ('svm_model', 'svm_model_all_gone', 'O'),
    ('svm_version', 'svm_version_changed', 'A'),
    ('svm_version', 'svm_version_children', 'O'),
    ('svm_version', 'svm_version_emptied', 'O'),
    ('svm_version', 'svm_version_gone', 'O'),
    ('svm_permission', 'svm_permission_changed', 'A'),
    ('svm_permission', 'svm_permission_told', 'O'),
    ('svm_permission', 'svm_permission_all_gone', 'O'),
    ('svm_head', 'svm_head_changed', 'R'),
    ('svm_weight', 'svm_weight_changed', 'R'),
    ('svm_landmark', 'svm_landmark_changed', 'R')
) AS made (relation, name, enabled)
    ON tgrelid OPERATOR(pg_catalog.=) made.relation::oid AND tgname OPERATOR(pg_catalog.=) made.name
WHERE tgenabled::text OPERATOR(pg_catalog.<>) made.enabled
UNION ALL
SELECT NULL, NULL, travels.relation::regclass::text,
    pg_catalog.format('publication %I has svm_model and not this table', pubname),
    pg_catalog.format('ALTER PUBLICATION %I ADD TABLE %s; then ALTER SUBSCRIPTION … REFRESH PUBLICATION', pubname,
        travels.relation::regclass)
FROM pg_catalog.pg_publication AS publication
JOIN pg_catalog.pg_publication_rel AS has
    ON has.prpubid OPERATOR(pg_catalog.=) publication.oid AND has.prrelid OPERATOR(pg_catalog.=) 'svm_model'::regclass::oid
CROSS JOIN pg_catalog.pg_extension CROSS JOIN LATERAL pg_catalog.unnest(extconfig) AS travels (relation)
WHERE extname OPERATOR(pg_catalog.=) 'pgsvm' AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_publication_rel AS other WHERE other.prpubid OPERATOR(pg_catalog.=) publication.oid
        AND other.prrelid OPERATOR(pg_catalog.=) travels.relation
);
COMMENT ON VIEW svm_problems IS
    'what is not whole: models of the current user that lack rows, and for a superuser rows that belong to nothing or to roles that are gone, and triggers';
GRANT SELECT ON svm_problems TO PUBLIC;

CREATE OR REPLACE FUNCTION svm_repair(remove_orphans boolean DEFAULT false) RETURNS SETOF text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_repair_wrapper';
COMMENT ON FUNCTION svm_repair(boolean) IS
    'enables triggers as they were made, and removes rows that belong to nothing if told to; returns what it did';
REVOKE ALL ON FUNCTION svm_repair(boolean) FROM PUBLIC;
