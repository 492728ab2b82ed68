-- Training

CREATE OR REPLACE FUNCTION svm_train(
    relation regclass,
    label text,
    features text[] DEFAULT NULL,
    model text DEFAULT NULL,
    c float8 DEFAULT 1.0,
    loss text DEFAULT 'hinge',
    intercept boolean DEFAULT true,
    scale text DEFAULT 'auto',
    nulls text DEFAULT 'error',
    tolerance float8 DEFAULT 1e-3,
    max_passes int DEFAULT NULL,
    solver text DEFAULT 'stream',
    seed int DEFAULT 0,
    options jsonb DEFAULT '{}'
) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_train_wrapper';
COMMENT ON FUNCTION svm_train IS
    'trains a support vector machine on a relation, stores it as a new version of the model and returns its name';

CREATE OR REPLACE FUNCTION svm_train_query(
    query text,
    label text,
    features text[] DEFAULT NULL,
    model text DEFAULT NULL,
    c float8 DEFAULT 1.0,
    loss text DEFAULT 'hinge',
    intercept boolean DEFAULT true,
    scale text DEFAULT 'auto',
    nulls text DEFAULT 'error',
    tolerance float8 DEFAULT 1e-3,
    max_passes int DEFAULT NULL,
    solver text DEFAULT 'stream',
    seed int DEFAULT 0,
    options jsonb DEFAULT '{}'
) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_train_query_wrapper';
COMMENT ON FUNCTION svm_train_query IS
    'trains a support vector machine on the rows of a SELECT, stores it as a new version of the model and returns its name';

-- One row for each process of a training that has run for a quarter of a second.
CREATE OR REPLACE VIEW svm_progress AS
SELECT
    activity.pid,
    coalesce(activity.leader_pid, activity.pid) AS leader_pid,
    activity.datname,
    activity.usename,
    pg_catalog.substring(activity.application_name, '^pgsvm (\w+):') AS role,
    CASE WHEN activity.application_name LIKE '%: loading%' THEN 'loading' ELSE 'training' END AS phase,
    pg_catalog.substring(activity.application_name, '(\d+) rows')::bigint AS rows_loaded,
    pg_catalog.substring(activity.application_name, 'pass (\d+)')::int AS pass,
    pg_catalog.substring(activity.application_name, '(\d+)%')::int AS percent_of_pass,
    pg_catalog.substring(activity.application_name, 'gap ([-+0-9.e]+)')::float8 AS gap,
    pg_catalog.substring(activity.application_name, '(\d+) s left')::bigint AS seconds_left,
    pg_catalog.clock_timestamp() - leader.query_start AS running_for,
    leader.query
FROM pg_catalog.pg_stat_activity AS activity
-- a worker shows neither the statement nor its start
LEFT JOIN pg_catalog.pg_stat_activity AS leader ON leader.pid = coalesce(activity.leader_pid, activity.pid)
WHERE activity.application_name LIKE 'pgsvm %:%';
GRANT SELECT ON svm_progress TO PUBLIC;
