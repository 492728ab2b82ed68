-- Predictions that cannot be made: each case a clear error, its SQLSTATE behind it. Models are written by hand.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET pgsvm.predict_nulls = 'error';
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

-- more than two classes, classes by name, probabilities, types of results
CREATE FUNCTION put_classes(name text, labels text[], label_type text DEFAULT 'text') RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    version bigint := put(name, '[{"kind": "array", "name": "x", "type": "real[]", "length": 3}]', '{1,10,100}', label_type, labels);
BEGIN
    INSERT INTO svm_head (version_id, head, class, intercept) SELECT version, place - 1, label, place
    FROM unnest(labels) WITH ORDINALITY AS l (label, place);
    RETURN version;
END $$;
SELECT put_classes('fruit', '{apple,fig,pear,"d''anjou"}') AS fruit, put_classes('dates', '{1999-12-31,2000-01-01,2000-01-02}', 'date'),
    put_classes('dozen', ARRAY(SELECT i::text FROM generate_series(1, 12) AS i), 'integer') \gset
SELECT svm_decision('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('fruit', ARRAY[1, 2, 3], 'Paer');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('fruit', ARRAY[1, 2, 3], 7);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('array', ARRAY[1, 2, 3], true);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('dozen', ARRAY[1, 2, 3], 13);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_margin('fruit', ARRAY[1, 2, 3], '');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('nowhere', ARRAY[1, 2, 3], 'apple');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('fruit', ARRAY[1, 2], 'apple');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('fruit', ARRAY[1, NULL, 3], 'apple');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('fruit', '{1e308,1e308,1e308}'::float8[], 'apple');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('fruit', ARRAY[1, 2, 3], NULL::boolean);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict('dates', ARRAY[1, 2, 3], NULL::date), svm_predict('dates', ARRAY[1, 2, 3], NULL::int);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_predict_set('fruit', ARRAY[1, 2]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_probability('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_probability('fruit', ARRAY[1, 2, 3], 'apple');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_probability('word', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_probability('word', ARRAY[1, 2, 3], 'maybe');
\echo :LAST_ERROR_SQLSTATE
-- heads that make no sense
UPDATE svm_head SET intercept = 'NaN' WHERE version_id = :fruit AND head = 1;
UPDATE svm_version SET rows_used = 11 WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_head SET intercept = 1, sigmoid_slope = -1 WHERE version_id = :fruit AND head = 1;
UPDATE svm_version SET rows_used = 12 WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_head SET sigmoid_slope = NULL, class = 'kiwi' WHERE version_id = :fruit AND head = 1;
UPDATE svm_version SET rows_used = 13 WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
DELETE FROM svm_head WHERE version_id = :fruit AND head = 1;
UPDATE svm_version SET rows_used = 14 WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
DELETE FROM svm_head WHERE version_id = :fruit;
UPDATE svm_version SET rows_used = 15 WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
INSERT INTO svm_head (version_id, head, class, intercept) SELECT :fruit, i - 1, ('{apple,fig,pear,d''anjou}'::text[])[i], 0 FROM generate_series(1, 4) AS i;
INSERT INTO svm_weight VALUES (:fruit, 4, 0, NULL, '{1}');
UPDATE svm_version SET rows_used = 16 WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_weight SET head = 3, first_feature = 3 WHERE version_id = :fruit AND head = 4;
UPDATE svm_version SET rows_used = 17 WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
-- what is longer or more than any training stores
UPDATE svm_version SET rows_used = 30, label_column = repeat('x', 900000) WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_version SET rows_used = 31, label_column = 'y', label_type = repeat('x', 900000) WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_version SET rows_used = 32, label_type = 'text', label_values = ARRAY['apple', repeat('x', 900000)] WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_version SET rows_used = 33, label_values = (SELECT array_agg('c' || i) FROM generate_series(1, 100000) AS i) WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_version SET rows_used = 34, label_values = '{apple,fig,pear,"d''anjou"}', stored_rows = to_jsonb(repeat('x', 900000)) WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_version SET stored_rows = NULL, options = to_jsonb(repeat('x', 900000)), loss = repeat('x', 900000) WHERE id = :fruit;
SELECT svm_export('fruit') IS NULL;
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_version SET rows_used = 18, label_values = '{apple,NULL,pear,"d''anjou"}' WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_version SET rows_used = 19, label_values = '{{apple,fig},{pear,kiwi}}' WHERE id = :fruit;
SELECT svm_classify('fruit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
-- one head too many
INSERT INTO svm_head (version_id, head, class, intercept) SELECT v.id, i, '1', 0
FROM svm_version AS v JOIN svm_model AS m ON m.id = model_id, generate_series(0, 1) AS i WHERE name = 'array';
UPDATE svm_version SET rows_used = 11 WHERE model_id = (SELECT id FROM svm_model WHERE name = 'array');
SELECT svm_predict('array', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE
DROP FUNCTION put, put_classes;
DELETE FROM svm_model;
