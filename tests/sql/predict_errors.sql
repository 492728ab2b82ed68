-- Predictions that cannot be made: each case a clear error, its SQLSTATE behind it. Models are written by hand.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE FUNCTION put(name text, parts jsonb, weights float8[], label_type text DEFAULT 'integer',
    labels text[] DEFAULT '{-1,1}', feature_count bigint DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    model bigint;
    version bigint;
BEGIN
    INSERT INTO svm_model (name, current_version) VALUES (put.name, 1) RETURNING id INTO model;
    INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, c,
        scale, solver, intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped)
    VALUES (model, 1, jsonb_build_object('parts', parts), 'y', put.label_type, labels, 'error', 'hinge', 1, 'none',
        'stream', true, 1e-3, 0, 0.5, coalesce(put.feature_count, cardinality(put.weights)), 10, 0)
    RETURNING id INTO version;
    INSERT INTO svm_weight VALUES (version, 0, 0, NULL, put.weights);
    RETURN version;
END $$;
\set array_x '[{"kind": "array", "name": "x", "type": "real[]", "length": 3}]'
SELECT count(*) FROM (SELECT
    put('columns', '[{"kind": "column", "name": "a", "type": "integer"}, {"kind": "column", "name": "B c", "type": "real"}]', '{1,10}'),
    put('array', :'array_x', '{1,10,100}'), put('word', :'array_x', '{1,10,100}', 'text', '{no,yes}'),
    put('text', '[{"kind": "libsvm", "name": "f", "type": "text"}]', '{1,10,100,1000}'),
    put('sparse', '[{"kind": "sparse", "index": "idx", "index_type": "integer[]", "value": "val", "value_type": "real[]"}]', '{1,10,100,1000}'),
    put('mixed', '[{"kind": "column", "name": "a", "type": "integer"}, {"kind": "libsvm", "name": "f", "type": "text"}]', '{1,10}')
) AS t;

-- the model
SELECT svm_predict('nowhere', ARRAY[1]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('Array', ARRAY[1]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array@7', ARRAY[1]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('nowhere@7', ARRAY[1]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('word', ARRAY[0, 0, 1]);
\echo :LAST_ERROR_SQLSTATE
-- arrays
SELECT svm_predict('array', ARRAY[0, 1]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', '{}'::int[]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', ARRAY[[0, 1, 2]]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', ARRAY[0, 1, NULL]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', '{1,NaN,3}'::real[]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', '{1,2,-Infinity}'::float8[]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', ARRAY['a', 'b', 'c']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('text', ARRAY[1]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('array', '{1e308,1e308,1e308}'::float8[]);
\echo :LAST_ERROR_SQLSTATE
-- texts
SELECT svm_predict('array', '{1,2,3}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', '1:2 x:1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', '1: 2');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', '-1 1:2');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', '1:2 4:1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', '0:1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', '1:2 1:1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', '1:nan');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('text', '3:1 0:2 3:1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('text', '-3:1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('text', '99999999999:1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('text', '3:1e39');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('mixed', '0:1');
\echo :LAST_ERROR_SQLSTATE
-- rows
SELECT svm_predict('columns', ROW(1, 2));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('columns', r) FROM (SELECT 1 AS "A", 2 AS "B c") AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('columns', r) FROM (SELECT 1 AS a, 'x' AS "B c") AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('columns', r) FROM (SELECT 1 AS a, 2 AS a, 3 AS "B c") AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('columns', r) FROM (SELECT 1 AS a, NULL::int AS "B c") AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('columns', r) FROM (SELECT 'NaN'::numeric AS a, 1 AS "B c") AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('text', r) FROM (SELECT '1:1'::name AS f) AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('sparse', r) FROM (SELECT '{1,2}'::int[] AS idx, '{1}'::real[] AS val) AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('sparse', r) FROM (SELECT '{2,1,2}'::int[] AS idx, '{1,2,3}'::real[] AS val) AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('sparse', r) FROM (SELECT '{-1}'::int[] AS idx, '{1}'::real[] AS val) AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('sparse', r) FROM (SELECT '{1}'::real[] AS idx, '{1}'::real[] AS val) AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('sparse', r) FROM (SELECT '{1,NULL}'::int[] AS idx, '{1,1}'::real[] AS val) AS r;
\echo :LAST_ERROR_SQLSTATE
-- other types
SELECT svm_predict('array', 3);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('array', date '2020-01-01');
\echo :LAST_ERROR_SQLSTATE

-- what is stored makes no sense
SELECT put('unreadable', '[{"kind": "unheard of"}]', '{1}') AS version \gset
SELECT svm_predict('unreadable', ARRAY[1]);
\echo :LAST_ERROR_SQLSTATE
SELECT put('open', '[{"kind": "array", "name": "x", "type": "real[]", "length": null}]', '{1}') AS version \gset
SELECT svm_predict('open', ARRAY[1]);
\echo :LAST_ERROR_SQLSTATE
SELECT put('too long', :'array_x', '{1,2,3,4}', feature_count => 3) AS version \gset
SELECT svm_predict('too long', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
SELECT put('infinite', :'array_x', '{1,Infinity,3}') AS version \gset
SELECT svm_predict('infinite', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
SELECT put('holey', :'array_x', '{1,NULL,3}') AS version \gset
SELECT svm_predict('holey', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
SELECT put('square', :'array_x', '{{1,2},{3,4}}', feature_count => 3) AS version \gset
SELECT svm_predict('square', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
SELECT put('shuffled', :'array_x', '{1,2}', feature_count => 3) AS version \gset
UPDATE svm_weight SET features = '{1,0}' WHERE version_id = :version;
SELECT svm_predict('shuffled', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_weight SET features = '{0,1}', first_feature = 9223372036854775807 WHERE version_id = :version;
SELECT svm_predict('shuffled', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_weight SET features = '{0}', first_feature = 0 WHERE version_id = :version;
SELECT svm_predict('shuffled', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE

DROP FUNCTION put;
DELETE FROM svm_model;
