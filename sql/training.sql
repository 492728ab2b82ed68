-- Training. A default of NULL, and of 'default' for c, says that the argument is not given; src/request.rs has what holds then. All four
-- functions have the same arguments in the same order, without those that they have no use for; what only one has comes last.

CREATE OR REPLACE FUNCTION svm_train(
    relation regclass,
    label text DEFAULT NULL,
    features text[] DEFAULT NULL,
    model text DEFAULT NULL,
    c svm_numbers DEFAULT 'default',
    loss text DEFAULT NULL,
    intercept boolean DEFAULT NULL,
    scale text DEFAULT NULL,
    nulls text DEFAULT NULL,
    tolerance float8 DEFAULT NULL,
    max_passes int DEFAULT NULL,
    solver text DEFAULT NULL,
    seed int DEFAULT NULL,
    class_weight text DEFAULT NULL,
    weight text DEFAULT NULL,
    probability boolean DEFAULT NULL,
    key text DEFAULT NULL,
    options jsonb DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    metric text DEFAULT NULL,
    kernel text DEFAULT NULL,
    gamma svm_numbers DEFAULT NULL,
    degree int DEFAULT NULL,
    coef0 float8 DEFAULT NULL,
    rank int DEFAULT NULL,
    bad_rows text DEFAULT NULL,
    folds int DEFAULT NULL,
    fold_column text DEFAULT NULL,
    fold_order text DEFAULT NULL,
    task text DEFAULT NULL,
    epsilon svm_numbers DEFAULT NULL,
    nu svm_numbers DEFAULT NULL
) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_train_wrapper';
COMMENT ON FUNCTION svm_train IS
    'trains a support vector machine on a relation, stores it as a new version of the model and returns its name';

CREATE OR REPLACE FUNCTION svm_train_query(
    query text,
    label text DEFAULT NULL,
    features text[] DEFAULT NULL,
    model text DEFAULT NULL,
    c svm_numbers DEFAULT 'default',
    loss text DEFAULT NULL,
    intercept boolean DEFAULT NULL,
    scale text DEFAULT NULL,
    nulls text DEFAULT NULL,
    tolerance float8 DEFAULT NULL,
    max_passes int DEFAULT NULL,
    solver text DEFAULT NULL,
    seed int DEFAULT NULL,
    class_weight text DEFAULT NULL,
    weight text DEFAULT NULL,
    probability boolean DEFAULT NULL,
    key text DEFAULT NULL,
    options jsonb DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    metric text DEFAULT NULL,
    kernel text DEFAULT NULL,
    gamma svm_numbers DEFAULT NULL,
    degree int DEFAULT NULL,
    coef0 float8 DEFAULT NULL,
    rank int DEFAULT NULL,
    bad_rows text DEFAULT NULL,
    folds int DEFAULT NULL,
    fold_column text DEFAULT NULL,
    fold_order text DEFAULT NULL,
    task text DEFAULT NULL,
    epsilon svm_numbers DEFAULT NULL,
    nu svm_numbers DEFAULT NULL
) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_train_query_wrapper';
COMMENT ON FUNCTION svm_train_query IS
    'trains a support vector machine on the rows of a SELECT, stores it as a new version of the model and returns its name';

-- How good each C is on rows that were held out: all folds and all C trained in the same passes over the rows, of a kernel machine
-- gamma after gamma, of a regression epsilon after epsilon.
CREATE OR REPLACE FUNCTION svm_cross_validate(
    relation regclass,
    label text,
    features text[] DEFAULT NULL,
    c svm_numbers DEFAULT 'default',
    loss text DEFAULT NULL,
    intercept boolean DEFAULT NULL,
    scale text DEFAULT NULL,
    nulls text DEFAULT NULL,
    tolerance float8 DEFAULT NULL,
    max_passes int DEFAULT NULL,
    solver text DEFAULT NULL,
    seed int DEFAULT NULL,
    class_weight text DEFAULT NULL,
    weight text DEFAULT NULL,
    options jsonb DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    metric text DEFAULT NULL,
    kernel text DEFAULT NULL,
    gamma svm_numbers DEFAULT NULL,
    degree int DEFAULT NULL,
    coef0 float8 DEFAULT NULL,
    rank int DEFAULT NULL,
    bad_rows text DEFAULT NULL,
    folds int DEFAULT NULL,
    fold_column text DEFAULT NULL,
    fold_order text DEFAULT NULL,
    task text DEFAULT NULL,
    epsilon svm_numbers DEFAULT NULL
) RETURNS TABLE (c float8, fold text, rows bigint, accuracy float8, auc float8, objective float8,
                 score float8, overall float8, best boolean, gamma float8, truncation float8, epsilon float8)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_cross_validate_wrapper';
COMMENT ON FUNCTION svm_cross_validate IS
    'accuracy, area under the curve and objective of each C, and gamma, on each fold, trained on the other folds; best marks the C, and gamma, of the best overall score';

-- Which columns are worth their place: each step reads the rows once.
CREATE OR REPLACE FUNCTION svm_select_features(
    relation regclass,
    label text,
    features text[] DEFAULT NULL,
    c svm_numbers DEFAULT 'default',
    loss text DEFAULT NULL,
    intercept boolean DEFAULT NULL,
    scale text DEFAULT NULL,
    nulls text DEFAULT NULL,
    tolerance float8 DEFAULT NULL,
    max_passes int DEFAULT NULL,
    solver text DEFAULT NULL,
    seed int DEFAULT NULL,
    class_weight text DEFAULT NULL,
    weight text DEFAULT NULL,
    options jsonb DEFAULT NULL,
    exclude text[] DEFAULT NULL,
    metric text DEFAULT NULL,
    bad_rows text DEFAULT NULL,
    folds int DEFAULT NULL,
    fold_column text DEFAULT NULL,
    fold_order text DEFAULT NULL,
    keep int DEFAULT 1,
    remove int DEFAULT 1,
    task text DEFAULT NULL,
    epsilon svm_numbers DEFAULT NULL
) RETURNS TABLE (step int, removed text[], features_left text[], score float8, best boolean)
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_select_features_wrapper';
COMMENT ON FUNCTION svm_select_features IS
    'the score on held-out rows as columns are taken away, those of the least standardized weights first; a row a step';

-- Rows to train on and rows to evaluate with, told apart by their keys.
CREATE OR REPLACE FUNCTION svm_split(key text, share float8 DEFAULT 0.8, seed int DEFAULT 0) RETURNS boolean
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_split_wrapper';
COMMENT ON FUNCTION svm_split(text, float8, int) IS
    'whether a key is among about this share of all keys: the same for the same text for ever';

CREATE OR REPLACE FUNCTION svm_split(key anyelement, share float8 DEFAULT 0.8, seed int DEFAULT 0) RETURNS boolean
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_split_wrapper';
COMMENT ON FUNCTION svm_split(anyelement, float8, int) IS
    'whether a key, as text, is among about this share of all keys';

-- Models that follow their table: those trained with a key.

CREATE OR REPLACE FUNCTION svm_refresh(model text, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_refresh_wrapper';
COMMENT ON FUNCTION svm_refresh(text, jsonb) IS
    'trains a model with a key on its source as that is now, from what it knows, as a new version, and returns its name';

CREATE OR REPLACE FUNCTION svm_update(model text, relation regclass, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_update_wrapper';
COMMENT ON FUNCTION svm_update(text, regclass, jsonb) IS
    'adds the rows of a relation to those a model with a key was trained on, as a new version, and returns its name';

CREATE OR REPLACE FUNCTION svm_update(model text, source text, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_update_wrapper';
COMMENT ON FUNCTION svm_update(text, text, jsonb) IS
    'adds the rows of a relation, by its name, or a query to those a model with a key was trained on, as a new version, and returns its name';

CREATE OR REPLACE FUNCTION svm_update_query(model text, query text, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_update_wrapper';
COMMENT ON FUNCTION svm_update_query(text, text, jsonb) IS
    'adds the rows of a SELECT to those a model with a key was trained on, as a new version, and returns its name';

CREATE OR REPLACE FUNCTION svm_forget(model text, relation regclass, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_forget_wrapper';
COMMENT ON FUNCTION svm_forget(text, regclass, jsonb) IS
    'removes the rows with the keys in a relation from those a model was trained on, as a new version, and returns its name';

CREATE OR REPLACE FUNCTION svm_forget(model text, source text, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_forget_wrapper';
COMMENT ON FUNCTION svm_forget(text, text, jsonb) IS
    'removes the rows with the keys in a relation, by its name, or a query from those a model was trained on, as a new version, and returns its name';

CREATE OR REPLACE FUNCTION svm_forget_query(model text, query text, options jsonb DEFAULT '{}') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_forget_wrapper';
COMMENT ON FUNCTION svm_forget_query(text, text, jsonb) IS
    'removes the rows with the keys in a SELECT from those a model was trained on, as a new version, and returns its name';

-- Numbers, sparse features and words of a table's rows, kept from one training to the next.

CREATE OR REPLACE FUNCTION svm_index(
    relation regclass,
    features text[] DEFAULT NULL,
    name text DEFAULT NULL,
    exclude text[] DEFAULT NULL
) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_index_wrapper';
COMMENT ON FUNCTION svm_index(regclass, text[], text, text[]) IS
    'keeps numbers, sparse features and words of a table''s rows for trainings with the option "index", and returns the name of the index';

CREATE OR REPLACE FUNCTION svm_refresh_index(name text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_refresh_index_wrapper';
COMMENT ON FUNCTION svm_refresh_index(text) IS
    'takes rows that are gone or have changed out of an index, adds those that are new, and returns its name';

CREATE OR REPLACE FUNCTION svm_drop_index(name text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'svm_drop_index_wrapper';
COMMENT ON FUNCTION svm_drop_index(text) IS 'removes an index, and returns its name';

CREATE OR REPLACE VIEW svm_indexes WITH (security_invoker = true) AS
SELECT
    index.name,
    index.relation,
    index.columns,
    kept.rows,
    kept.bytes,
    svm_internal.svm_role_name(index.owner_oid, index.owner) AS owner,
    index.created_at,
    index.refreshed_at
FROM svm_index AS index
CROSS JOIN LATERAL (
    SELECT coalesce(pg_catalog.sum(chunk.rows) FILTER (WHERE chunk.part = 0), 0)::bigint,
        coalesce(pg_catalog.sum(pg_catalog.octet_length(chunk.tuples) + pg_catalog.octet_length(chunk.numbers)), 0)::bigint
    FROM svm_index_chunk AS chunk WHERE chunk.index_id = index.id AND chunk.written_by = index.owner_oid
) AS kept (rows, bytes);
COMMENT ON VIEW svm_indexes IS 'the indexes of the current user';
GRANT SELECT ON svm_indexes TO PUBLIC;

-- One row for each process of a training that has run for a quarter of a second.
CREATE OR REPLACE VIEW svm_progress AS
SELECT
    activity.pid,
    coalesce(activity.leader_pid, activity.pid) AS leader_pid,
    activity.datname,
    activity.usename,
    CASE told.code[1] WHEN 'r' THEN 'reader' WHEN 't' THEN 'trainer' WHEN 'm' THEN 'machine' ELSE 'leader' END AS role,
    CASE told.code[2] WHEN 'n' THEN 'loading' WHEN 's' THEN 'sampling' WHEN 'k' THEN 'choosing landmarks' WHEN 'm' THEN 'mapping'
        WHEN 'd' THEN 'dealing out rows' WHEN 'f' THEN 'factoring'
        ELSE CASE told.code[6] WHEN 'e' THEN 'solving exactly' WHEN 'i' THEN 'interior point' ELSE 'training' END END AS phase,
    CASE WHEN told.code[2] NOT IN ('k', 'f') THEN told.code[3]::bigint END AS rows_loaded,
    told.code[4]::int AS pass,
    CASE WHEN told.code[6] <> 'i' THEN told.code[5]::int END AS percent_of_pass,
    told.code[10]::float8 AS gap,
    told.code[11]::bigint AS seconds_left,
    pg_catalog.clock_timestamp() - leader.query_start AS running_for,
    leader.query,
    CASE told.code[6] WHEN 'c' THEN 'choosing c' WHEN 'b' THEN 'trying c beyond the usual' WHEN 'f' THEN 'final'
        WHEN 'e' THEN 'final' WHEN 'i' THEN 'final' END AS stage,
    told.code[8]::int AS heads,
    told.code[7]::int AS heads_running,
    CASE told.code[6] WHEN 'e' THEN 0 ELSE told.code[9]::int END AS folds,
    CASE WHEN told.code[2] IN ('k', 'f') THEN told.code[3]::bigint END AS landmarks,
    CASE told.code[6] WHEN 'e' THEN told.code[9]::int END AS working_sets,
    told.code[12]::int AS gamma_tried,
    told.code[13]::int AS gammas,
    told.code[14]::int AS rank
FROM pg_catalog.pg_stat_activity AS activity
-- anybody may call his session anything: what is read as numbers are no more than numbers hold
CROSS JOIN LATERAL pg_catalog.regexp_match(
    activity.application_name,
    '^pgsvm ([rtlm]) (?:([nskmdf])(\d{1,18})|p(\d{1,9}) (\d{1,3})% ([cbfei])(\d{1,6})/(\d{1,6})/(\d{1,6})(?: g(\d\.\de-?\d{1,2}))?(?: e(\d{1,6}))?)(?: G(\d{1,3})/(\d{1,3}))?(?: R(\d{1,9}))?$'
) AS told (code)
-- a worker shows neither the statement nor its start
LEFT JOIN pg_catalog.pg_stat_activity AS leader ON leader.pid = coalesce(activity.leader_pid, activity.pid)
WHERE told.code IS NOT NULL;
COMMENT ON VIEW svm_progress IS 'where trainings are: a row for each process of one that has run for a quarter of a second';
GRANT SELECT ON svm_progress TO PUBLIC;
