-- Prediction with many classes, probabilities and results of the labels' type, from models written by hand, so that
-- every figure can be checked in the head.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
-- one head a row of `weights` (the intercept first), one sigmoid a row of `sigmoids`
CREATE FUNCTION put(name text, parts jsonb, weights float8[], label_type text, labels text[], sigmoids float8[] DEFAULT NULL,
    nulls text DEFAULT 'error')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    model bigint;
    version bigint;
BEGIN
    INSERT INTO svm_model (name, current_version) VALUES (put.name, 1) RETURNING id INTO model;
    INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, c,
        scale, solver, intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped)
    VALUES (model, 1, jsonb_build_object('parts', parts), 'y', put.label_type, labels, put.nulls, 'hinge', 1, 'none',
        'stream', true, 1e-3, 0, weights[1][1], array_length(weights, 2) - 1, 10, 0)
    RETURNING id INTO version;
    FOR head IN 1..array_length(weights, 1) LOOP
        INSERT INTO svm_head (version_id, head, class, intercept, sigmoid_slope, sigmoid_offset)
        VALUES (version, head - 1, labels[CASE cardinality(labels) WHEN 2 THEN 2 ELSE head END], weights[head][1],
            sigmoids[head][1], sigmoids[head][2]);
        INSERT INTO svm_weight SELECT version, head - 1, 0, NULL, array_agg(weights[head][i] ORDER BY i)
        FROM generate_series(2, array_length(weights, 2)) AS i;
    END LOOP;
    RETURN name;
END $$;
\set array_x '[{"kind": "array", "name": "x", "type": "real[]", "length": 3}]'
\set three '{{0.5,1,0,0},{0.25,0,1,0},{0,0,0,1}}'
CREATE SCHEMA elsewhere;
CREATE TYPE elsewhere.mood AS ENUM ('sad', 'ok', 'glad');
SELECT put('digits', :'array_x', :'three', 'integer', '{1,2,10}'),
    put('fruit', :'array_x', :'three', 'text', '{apple,pear,"o''plum"}', '{{-1,0},{-2,0.5},{-1,0}}'),
    put('moods', :'array_x', :'three', 'elsewhere.mood', '{sad,ok,glad}', nulls => 'skip'),
    put('truth', :'array_x', '{{0.5,1,10,100}}', 'boolean', '{false,true}', '{{-2,0.5}}'),
    put('sparse', '[{"kind": "libsvm", "name": "f", "type": "text"}]', :'three', 'integer', '{1,2,10}'),
    put('mixed', '[{"kind": "column", "name": "a", "type": "integer"}, {"kind": "libsvm", "name": "f", "type": "text"}]',
        :'three', 'integer', '{1,2,10}');

-- a decision for each class; a class of any type, of the second argument every form
SELECT class, svm_decision('digits', ARRAY[1, 2, 3], class) FROM unnest('{1,2,10}'::int[]) AS class;
SELECT svm_decision('digits', ARRAY[1, 2, 3], '10') AS literal, svm_decision('digits', ARRAY[1, 2, 3], 10) AS int,
    svm_decision('digits', ARRAY[1, 2, 3], 10.0) AS numeric, svm_decision('digits', ARRAY[1, 2, 3], '10'::text) AS text,
    svm_decision('digits', ARRAY[1, 2, 3], '10'::char(5)) AS char, svm_decision('digits', '1:1 3:3', 10) AS all_literals,
    svm_decision('digits', '1:1 3:3', '10') AS strings, svm_decision('digits', '1:1 3:3'::varchar, '10') AS varchar,
    svm_decision('digits', r, 10) AS row
FROM (SELECT ARRAY[1, 2, 3]::real[] AS x) AS r;
SELECT svm_decision('sparse', '0:1 2:7 9:1', 10), svm_decision('mixed', r, 1) AS a, svm_decision('mixed', r, 2) AS zero, svm_decision('mixed', r, 10) AS one
FROM (SELECT 4 AS a, '0:5 1:6'::text AS f) AS r;
SELECT svm_decision('fruit', ARRAY[1, 2, 3], 'o''plum'), svm_decision('moods', ARRAY[1, 2, 3], 'glad'::elsewhere.mood),
    svm_decision('truth', ARRAY[1, 1, 1]), svm_decision('truth', ARRAY[1, 1, 1], true) AS for_true,
    svm_decision('truth', ARRAY[1, 1, 1], false) AS for_false, svm_decision('truth', ARRAY[1, 1, 1], 'true') AS for_true_text;
-- arrays that are not read where they lie give the same
SELECT every(svm_decision('digits', x::numeric[], c) = svm_decision('digits', x, c)
    AND svm_decision('digits', x::float8[], c) = svm_decision('digits', x, c) AND svm_decision('digits', r, c) = svm_decision('digits', x, c))
FROM (SELECT ARRAY[i, i % 7, i % 5] AS x FROM generate_series(1, 20) AS i) AS r, unnest('{1,2,10}'::int[]) AS c;
SELECT svm_margin('digits', ARRAY[1, 2, 3], 10), svm_margin('digits', ARRAY[1, 2, 3], 1), svm_margin('truth', ARRAY[1, 1, 1], false);

-- the class with the largest decision, of equals the first
SELECT svm_predict('digits', ARRAY[1, 2, 3]), svm_predict('digits', ARRAY[9, 2, 3]), svm_predict('digits', '2:1'),
    svm_predict('digits', ARRAY[0, 0.25, 0.5]::real[]) AS equals, svm_classify('fruit', ARRAY[1, 2, 3]),
    svm_classify('moods', ARRAY[1, 2, 0]), svm_classify('moods', ARRAY[1, NULL, 3]), svm_predict('digits', r)
FROM (SELECT 7 AS other, '{1,8,3}'::float8[] AS x) AS r;
SELECT * FROM svm_predict_set('digits', ARRAY[1, 2, 3]);
SELECT * FROM svm_predict_set('digits', '2:1', 2);
SELECT * FROM svm_predict_set('digits', '2:1', top_n => 0);
SELECT * FROM svm_predict_set('truth', ARRAY[0, 0, 0]);
SELECT * FROM svm_predict_set('truth', ARRAY[-0.5, 0, 0]::float8[]);
SELECT id, s.* FROM (VALUES (1, ARRAY[1, 2, 3]), (2, NULL), (3, ARRAY[3, NULL, 1])) AS t (id, x)
    LEFT JOIN LATERAL svm_predict_set('moods', x, 2) AS s ON true ORDER BY id, rank;
SELECT svm_predict_set('digits', ARRAY[1, i, 3], 1) FROM generate_series(1, 4) AS i;

-- probabilities
SELECT svm_probability('truth', ARRAY[0, 0, 0]) = 1 / (1 + exp(-2 * 0.5 + 0.5)) AS by_hand,
    svm_probability('truth', ARRAY[0, 0, 0], true) = svm_probability('truth', '') AS same,
    svm_probability('truth', ARRAY[0, 0, 0], false) + svm_probability('truth', ARRAY[0, 0, 0], true) AS sum,
    svm_probability('truth', ARRAY[0, 0, 20]) AS sure, svm_probability('truth', ARRAY[0, 0, 20], false) AS unlikely;
SELECT class, round(svm_probability('fruit', ARRAY[1, 2, 3], class)::numeric, 6) AS probability,
    svm_probability('fruit', ARRAY[1, 2, 3], class) - p / sum(p) OVER () < 1e-15 AS by_hand
FROM (VALUES ('apple', 1 / (1 + exp(-1.5))), ('pear', 1 / (1 + exp(-4.5 + 0.5))), ('o''plum', 1 / (1 + exp(-3.0)))) AS v (class, p);
SELECT rank, class, decision, round(probability::numeric, 6) AS probability FROM svm_predict_set('fruit', ARRAY[1, 2, 3]);
-- where every class is out of the question they are equally so
SELECT svm_probability('fruit', ARRAY[-1e6, -1e6, -1e6]::float8[], 'pear');

-- typed
SELECT svm_predict('truth', ARRAY[0, 0, -1], NULL::boolean) AS boolean, svm_predict('digits', ARRAY[1, 2, 3], NULL::bigint) AS bigint,
    svm_predict('digits', '3:1', NULL::numeric) AS numeric, svm_predict('digits', r, NULL::text) AS text, svm_predict('digits', '3:1', NULL) AS unknown,
    svm_predict('digits', ARRAY[1, 2, 3], 0::real) AS real, svm_predict('moods', ARRAY[0, 0, 9], NULL::elsewhere.mood) AS mood
FROM (SELECT '{1,2,3}'::real[] AS x) AS r \gdesc
SELECT svm_predict('truth', ARRAY[0, 0, -1], NULL::boolean) AS boolean, svm_predict('digits', ARRAY[1, 2, 3], NULL::bigint) AS bigint,
    svm_predict('digits', '3:1', NULL::numeric) AS numeric, svm_predict('digits', r, NULL::text) AS text, svm_predict('digits', '3:1', NULL) AS unknown,
    svm_predict('digits', ARRAY[1, 2, 3], 0::real) AS real, svm_predict('moods', ARRAY[0, 0, 9], NULL::elsewhere.mood) AS mood,
    svm_predict('moods', ARRAY[0, NULL, 9], NULL::elsewhere.mood) AS skipped, svm_predict(NULL, ARRAY[0, 0, 9], NULL::elsewhere.mood) AS nothing
FROM (SELECT '{1,2,3}'::real[] AS x) AS r;
SELECT svm_predict('moods', ARRAY[i % 3, 0, 0], NULL::elsewhere.mood) AS mood, count(*) FROM generate_series(0, 8) AS i GROUP BY 1 ORDER BY 1;
-- a number that looks like a threshold is a type all the same, and that is said once a statement; a label is none
SET client_min_messages = notice;
SELECT svm_predict('digits', ARRAY[i, 2, 3], 0.999) AS numeric FROM generate_series(1, 2) AS i;
SELECT svm_predict('digits', ARRAY[i, 2, 3], i / 9.0) AS from_a_column, svm_predict('digits', ARRAY[1, 2, 3], 1.0) AS one FROM generate_series(1, 2) AS i;
SELECT svm_predict('truth', ARRAY[0, 0, -1], 0.5::real);
SET client_min_messages = warning;

-- a model per row, a model that changes under a call site
SELECT name, svm_decision(name, ARRAY[1, 2, 3], label), svm_classify(name, ARRAY[1, 2, 3]), svm_predict(name, ARRAY[1, 2, 3], NULL::text)
FROM (VALUES ('digits', '10'), ('truth', 'false'), ('fruit', 'pear'), ('digits', '1')) AS v (name, label);
DO $$
DECLARE
    seen text[];
    model text;
    label text;
BEGIN
    FOR model, label IN VALUES ('digits', '10'), ('truth', 'false'), ('fruit', 'pear'), ('fruit', 'apple') LOOP
        seen := seen || (svm_classify(model, ARRAY[1, 2, 3]) || ' ' || svm_decision(model, ARRAY[1, 2, 3], label));
    END LOOP;
    UPDATE svm_head SET intercept = 99 WHERE class = 'apple';
    UPDATE svm_version SET rows_used = 11 WHERE id = (SELECT version_id FROM svm_head WHERE class = 'apple');
    seen := seen || svm_classify('fruit', ARRAY[1, 2, 3]);
    RAISE WARNING '%', seen;
END $$;

-- read-only, parallel
BEGIN READ ONLY;
SELECT svm_predict('digits', ARRAY[1, 2, 3]), svm_probability('truth', ARRAY[1, 2, 3], true), count(*) FROM svm_predict_set('digits', ARRAY[1, 2, 3]);
COMMIT;
CREATE TABLE many AS SELECT ARRAY[i, i % 7, i % 5]::real[] AS x FROM generate_series(1, 50000) AS i;
ANALYZE many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM many WHERE svm_decision('digits', x, 2) > svm_margin('digits', x, 1)
    AND svm_predict('truth', x, NULL::boolean) AND svm_probability('fruit', x, 'pear') > 0 AND svm_probability('truth', x) > 0;
SELECT count(*) FROM many WHERE svm_decision('digits', x, 2) > svm_margin('digits', x, 1)
    AND svm_predict('truth', x, NULL::boolean) AND svm_probability('fruit', x, 'pear') > 0 AND svm_probability('truth', x) > 0;
EXPLAIN (COSTS OFF) SELECT sum(decision) FROM many, svm_predict_set('digits', x, 1);
SELECT class, count(*) FROM many, svm_predict_set('digits', x, 1) GROUP BY 1 ORDER BY 1;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- a function of one's own, for others who have no right on the model
CREATE ROLE regress_svm_owner;
CREATE ROLE regress_svm_user;
CREATE SCHEMA regress_svm_owner AUTHORIZATION regress_svm_owner;
GRANT USAGE ON SCHEMA regress_svm_owner, elsewhere TO regress_svm_user, regress_svm_owner;
UPDATE svm_model SET owner = 'regress_svm_owner';
SET ROLE regress_svm_owner;
SET search_path = regress_svm_owner, public;
SELECT svm_create_function('truth');
SELECT svm_create_function('moods', '"My Mood"'), svm_create_function('digits', 'Regress_SVM_owner.digit'), svm_create_function('fruit@1', 'fruit');
SELECT provolatile, proparallel, proisstrict, prosecdef, proconfig, proacl, prorettype::regtype, prosrc
FROM pg_proc WHERE oid = 'digit'::regproc;
SELECT predict_truth(ARRAY[1, 1, 1]), "My Mood"(ARRAY[0, 9, 0]) AS mood, digit('2:3'::text), digit(r), fruit(x), digit(NULL::int[])
FROM (SELECT ARRAY[1, 2, 3]::real[] AS x) AS r;
-- a new version is used at once; made again, it keeps who may use it
GRANT EXECUTE ON FUNCTION digit TO regress_svm_user;
SELECT svm_create_function('digits', 'digit');
SET ROLE regress_svm_user;
SELECT count(*) FROM svm_models;
SELECT digit(ARRAY[9, 2, 3]), digit(x) FROM (SELECT ARRAY[1, 2, 3]::real[] AS x) AS r;
SELECT svm_predict('digits', ARRAY[9, 2, 3]);
SELECT predict_truth(ARRAY[1, 1, 1]);
-- what is found by the caller's search path changes nothing
RESET ROLE;
CREATE SCHEMA regress_svm_user AUTHORIZATION regress_svm_user;
SET ROLE regress_svm_user;
CREATE FUNCTION regress_svm_user.svm_predict(text, anyelement, integer) RETURNS integer LANGUAGE sql AS 'SELECT -1';
SET search_path = regress_svm_user, public;
SELECT regress_svm_owner.digit(ARRAY[9, 2, 3]);
-- names and types that it cannot be made for
SELECT svm_create_function('digits');
\echo :LAST_ERROR_SQLSTATE
SET ROLE regress_svm_owner;
SET search_path = regress_svm_owner, public;
CREATE FUNCTION taken(features anyelement) RETURNS integer LANGUAGE sql AS 'SELECT 1';
SELECT svm_create_function('digits', 'taken');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_create_function('digits', 'predict_truth');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_create_function('digits', 'a.b.c');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_create_function('digits', 'a b');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_create_function('digits', 'elsewhere.digit');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_create_function('nowhere');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_create_function(NULL);
\echo :LAST_ERROR_SQLSTATE
SET search_path = '';
SELECT public.svm_create_function('digits');
\echo :LAST_ERROR_SQLSTATE
SET search_path = regress_svm_owner, public;
RESET ROLE;
UPDATE svm_version SET label_type = 'elsewhere.gone' WHERE label_type = 'elsewhere.mood';
SELECT svm_create_function('moods', 'gone');
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_version SET label_type = 'integer) $$; SELECT 1 --' WHERE label_type = 'elsewhere.gone';
DO $$
BEGIN
    PERFORM svm_create_function('moods', 'gone');
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'refused';
END $$;
SET ROLE regress_svm_owner;
BEGIN READ ONLY;
SELECT svm_create_function('digits', 'read_only');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
RESET ROLE;
RESET search_path;

DROP SCHEMA regress_svm_owner, regress_svm_user CASCADE;
DROP OWNED BY regress_svm_owner, regress_svm_user;
DROP ROLE regress_svm_owner, regress_svm_user;
DELETE FROM svm_model;
DROP SCHEMA elsewhere CASCADE;
DROP TABLE many;
DROP FUNCTION put;
