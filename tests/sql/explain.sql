-- What a model has learned and why it decides as it does, from models written by hand.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
-- one head a row of `weights` (the intercept first)
CREATE FUNCTION put(name text, parts jsonb, weights float8[], label_type text, labels text[], nulls text DEFAULT 'error')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    model bigint;
    version bigint;
BEGIN
    INSERT INTO svm_model (name, current_version) VALUES (put.name, 1) RETURNING id INTO model;
    INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, c,
        scale, solver, intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped)
    VALUES (model, 1, jsonb_build_object('parts', parts), 'kind of', put.label_type, labels, put.nulls, 'hinge', 1, 'none',
        'stream', true, 1e-3, 0, weights[1][1], array_length(weights, 2) - 1, 10, 0)
    RETURNING id INTO version;
    FOR head IN 1..array_length(weights, 1) LOOP
        INSERT INTO svm_head (version_id, head, class, intercept)
        VALUES (version, head - 1, labels[CASE cardinality(labels) WHEN 2 THEN 2 ELSE head END], weights[head][1]);
        INSERT INTO svm_weight SELECT version, head - 1, 0, NULL, array_agg(weights[head][i] ORDER BY i)
        FROM generate_series(2, array_length(weights, 2)) AS i;
    END LOOP;
    RETURN name;
END $$;
\set table '[{"kind": "column", "name": "age", "type": "integer"}, {"kind": "column", "name": "B \\"c\\"", "type": "real"}, {"kind": "column", "name": "owner", "type": "boolean"}, {"kind": "array", "name": "x", "type": "real[]", "length": 2}]'
\set text '[{"kind": "libsvm", "name": "f", "type": "text"}]'
SELECT put('two', :'table', '{{0.5,0.25,-2,3,0,1e-3}}', 'text', '{bad,good}'),
    put('zeros', :'table', '{{0.5,0.25,-2,3,0,1e-3}}', 'text', '{bad,good}', 'zero'),
    put('skips', :'table', '{{0.5,0.25,-2,3,0,1e-3}}', 'text', '{bad,good}', 'skip'),
    put('three', :'table', '{{0.1,0.5,-2,3,0,1},{-0.2,-0.25,0,0,0,2},{0,0,7,0,0.1,-3}}', 'integer', '{1,2,3}'),
    put('sparse', :'text', '{{0,3,0,-1},{0,0,0,0},{0.5,0,2,5}}', 'integer', '{1,2,3}');
CREATE TABLE things (id int, age int, "B ""c""" real, owner boolean, x real[], "kind of" text, pgsvm_row int);
INSERT INTO things VALUES (1, 40, 1.5, true, '{1,2}', 'good', 1), (2, 20, 7, false, '{0,1000}', 'bad', 2), (3, 30, 0.5, false, '{2,0}', 'bad', 3),
    (4, 4, 30, true, '{0,3}', 'good', 4), (5, 0, 0, false, '{0,0}', NULL, 5), (6, 30, 0.25, false, '{2,0}', 'bad', 6);

-- weights by name, the largest first, zeros left out
SELECT * FROM svm_weights('two');
SELECT * FROM svm_weights('three');
SELECT * FROM svm_weights('sparse');
SELECT * FROM svm_weights(NULL);
SELECT feature, weight FROM svm_weights('two') WHERE feature ~ '^x' LIMIT 1;

-- contributions sum to the decision
SELECT e.* FROM things AS t, svm_explain('two', t) AS e WHERE id = 1;
SELECT e.* FROM things AS t, svm_explain('two', t, 2) AS e WHERE id = 1;
SELECT e.* FROM things AS t, svm_explain('two', t, top_n => 1, class => 'bad') AS e WHERE id = 1;
SELECT e.* FROM things AS t, svm_explain('three', t, 0) AS e WHERE id = 1;
SELECT e.* FROM things AS t, svm_explain('three', t, 10, 2) AS e WHERE id = 1;
SELECT * FROM svm_explain('sparse', '0:1 2:3 77:1');
SELECT * FROM svm_explain('sparse', '0:1 2:3', class => 1);
SELECT * FROM svm_explain('sparse', '', NULL, '2');
SELECT every(abs(total - decision) <= 1e-12 * abs(decision)), count(*) FROM (
    SELECT svm_decision('three', t, class) AS decision, (SELECT sum(contribution) FROM svm_explain('three', t, n, class)) AS total
    FROM things AS t, unnest('{1,2,3}'::int[]) AS class, generate_series(0, 6) AS n) AS s;
SELECT put('wide', '[{"kind": "array", "name": "x", "type": "real[]", "length": 1500}]',
    ARRAY[(SELECT array_agg(sin(i)) FROM generate_series(0, 1500) AS i)], 'integer', '{0,1}');
CREATE TABLE wide AS SELECT array_agg(cos(i)) AS x FROM generate_series(1, 1500) AS i;
SELECT every(abs(total - decision) <= 1e-12 * abs(decision)), count(*) FROM (
    SELECT svm_decision('wide', x) AS decision, (SELECT sum(contribution) FROM svm_explain('wide', x, n)) AS total
    FROM wide, generate_series(1, 1500, 150) AS n) AS s;
-- a row with NULL has none where it has no decision
SELECT (SELECT count(*) FROM svm_explain('skips', r)) AS skips, (SELECT sum(contribution) FROM svm_explain('zeros', r)) AS zeros
FROM (SELECT 4 AS age, NULL::real AS "B ""c""", true AS owner, '{1,1}'::real[] AS x) AS r;
SELECT count(*) FROM svm_explain(NULL, 'text');

-- the rows whose labels the model doubts
SELECT * FROM svm_suspects('two', 'things');
SELECT label, predicted, margin FROM svm_suspects('two', 'things', 1);
CREATE VIEW numbered AS SELECT id, age, "B ""c""", owner, x, id % 3 + 1 AS "kind of" FROM things;
SELECT example ->> 'id' AS id, label, predicted, margin FROM svm_suspects('three', 'numbered', NULL);
SELECT example ->> 'id' AS id, label, predicted, margin,
    margin = svm_margin('three', t, label) AS by_hand, svm_classify('three', t) = predicted AS same
FROM svm_suspects('three', 'numbered') JOIN things AS t ON id = (example ->> 'id')::int ORDER BY margin, id;
-- of a query, or of a relation by its name
SELECT label, predicted, margin FROM svm_suspects('two', 'SELECT * FROM things WHERE age > 0 -- all', 1);
SELECT (SELECT count(*) FROM svm_suspects('two', 'things'::text)) = (SELECT count(*) FROM svm_suspects('two', 'SELECT * FROM things')) AS same,
    (SELECT count(*) FROM svm_suspects('two', 'SELECT * FROM things', NULL, folds => 2)) >= 0 AS out_of_fold;
SELECT * FROM svm_suspects('two', 'SELECT age FROM things');
SELECT * FROM svm_suspects('two', 'SELECT nothing FROM things');
SELECT * FROM svm_suspects('two', 'DELETE FROM things');
SELECT count(*) >= 0 AS by_a_quoted_name FROM svm_suspects('two', ' "things" '::text);
SELECT * FROM svm_suspects('two', '"things'::text);
-- with the caller's rights, and those rows that the caller may see
CREATE ROLE regress_svm_reader;
UPDATE svm_model SET owner = 'regress_svm_reader' WHERE name = 'two';
SET ROLE regress_svm_reader;
SELECT * FROM svm_suspects('two', 'things');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT SELECT ON things TO regress_svm_reader;
ALTER TABLE things ENABLE ROW LEVEL SECURITY;
CREATE POLICY early ON things USING (id < 4);
SET ROLE regress_svm_reader;
SELECT example -> 'id' AS id, margin FROM svm_suspects('two', 'things');
RESET ROLE;
ALTER TABLE things DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON things FROM regress_svm_reader;
DROP ROLE regress_svm_reader;

-- the decision as SQL
SELECT svm_as_sql('two');
SELECT svm_as_sql('zeros');
SELECT svm_as_sql('three', 3), svm_as_sql(NULL);
SELECT svm_as_sql('two', 'bad');
SELECT format('SELECT every(abs((%s) - svm_decision(''two'', t)) < 1e-9), count(*) FROM things AS t', svm_as_sql('two')) \gexec
SELECT format('SELECT every(abs((%s) - svm_decision(''two'', t, ''bad'')) < 1e-9), count(*) FROM things AS t', svm_as_sql('two', 'bad')) \gexec
SELECT format('SELECT every(abs((%s) - svm_decision(''three'', t, %s)) < 1e-9), count(*) FROM things AS t', svm_as_sql('three', class), class)
FROM unnest('{1,2,3}'::int[]) AS class \gexec
DO $$
DECLARE
    same boolean;
BEGIN
    EXECUTE format('SELECT abs((%s) - svm_decision(''wide'', x)) < 1e-9 FROM wide', svm_as_sql('wide')) INTO same;
    RAISE WARNING 'with 1500 features: %', same;
END $$;
-- NULL is what the model makes of it
CREATE TABLE holes AS SELECT nullif(id, 1) AS age, nullif(id, 2)::real AS "B ""c""", nullif(id, 3) <> 4 AS owner,
    CASE id WHEN 5 THEN NULL WHEN 6 THEN '{NULL,1}' ELSE x END AS x FROM things;
SELECT format('SELECT (%s) AS skips, svm_decision(''skips'', t) AS by_model, (%s) AS zeros, svm_decision(''zeros'', t) AS by_model FROM holes AS t ORDER BY age',
    svm_as_sql('skips'), svm_as_sql('zeros')) \gexec

-- categories, times and means, learned from rows
CREATE TABLE homes AS SELECT (ARRAY['flat', 'house', 'b''n''b', NULL])[i % 4 + 1] AS kind, date '2020-01-01' + i % 50 AS built,
    nullif(i % 10, 4) AS rooms, i % 4 = 1 AND i % 10 > 3 OR i % 7 = 0 AS "kind of" FROM generate_series(1, 400) AS i;
SELECT svm_train('homes', 'kind of', ARRAY['kind', 'built', 'rooms'], 'homes', nulls => 'mean');
SELECT svm_train('homes', 'kind of', ARRAY['kind', 'built', 'category(rooms)'], 'homes_skips', nulls => 'skip');
SELECT svm_train('homes', 'kind of', ARRAY['kind'], 'homes_hashed', nulls => 'zero', options => '{"max_categories": 2, "hash_bits": 4}');
SELECT class, feature FROM svm_weights('homes') ORDER BY 2;
SELECT feature, value FROM (SELECT NULL::text AS kind, date '1970-01-02' AS built, 3 AS rooms) AS r, svm_explain('homes', r) ORDER BY 1;
SELECT regexp_replace(regexp_replace(svm_as_sql('homes'), '-?[0-9.]+(e-?[0-9]+)?', '#', 'g'), '^[-+] #', '± #', 'gn') AS numbers_left_out;
SELECT regexp_replace(svm_as_sql('homes_skips'), 'THEN -?[0-9.]+(e-?[0-9]+)?', 'THEN #', 'g') ~ 'WHEN "rooms" = 3 THEN #' AS a_category_of_numbers;
DO $$
DECLARE
    model text;
    worst float8;
    nulls bigint;
BEGIN
    FOREACH model IN ARRAY '{homes,homes_skips}'::text[] LOOP
        EXECUTE format('SELECT max(abs(by_sql - by_model)), count(*) FILTER (WHERE by_sql IS NULL AND by_model IS NULL)
            FROM (SELECT %s AS by_sql, svm_decision(%L, h) AS by_model FROM homes AS h) AS s', svm_as_sql(model), model) INTO worst, nulls;
        RAISE WARNING '%: % with NULL, the others %', model, nulls, CASE WHEN worst < 1e-9 THEN 'equal' ELSE worst::text END;
    END LOOP;
END $$;

-- read-only, parallel
BEGIN READ ONLY;
SELECT count(*), (SELECT count(*) FROM svm_suspects('two', 'things')), (SELECT count(*) FROM svm_weights('two')) FROM things AS t, svm_explain('two', t);
COMMIT;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT sum(contribution) FROM things AS t, svm_explain('two', t);
SELECT count(*) FROM svm_suspects('two', 'things');
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- whatever the search path
CREATE SCHEMA trap;
CREATE FUNCTION trap.abs(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 1 / 0.0::float8';
CREATE FUNCTION trap.to_jsonb(anyelement) RETURNS jsonb LANGUAGE sql AS 'SELECT NULL::jsonb';
SET search_path = trap, pg_catalog;
SELECT count(*), (SELECT count(example) FROM public.svm_suspects('two', 'public.things')) FROM public.svm_weights('two');
RESET search_path;

-- errors
SELECT * FROM svm_weights('nowhere');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_explain('nowhere', ARRAY[1]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_explain('three', t, 1, 4) FROM things AS t;
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_suspects('nowhere', 'things');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_suspects('two', 'nowhere');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_suspects('two', 'holes');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_suspects('sparse', 'numbered');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_suspects('three', 'things');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_suspects('two', 'things', -1);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_suspects('two', 'pg_class_oid_index');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_as_sql('nowhere');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_as_sql('three');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_as_sql('three', 4);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_as_sql('homes_hashed');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_as_sql('sparse', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT put('too wide', '[{"kind": "array", "name": "x", "type": "real[]", "length": 100001}]',
    ARRAY[(SELECT array_agg(0) FROM generate_series(0, 100001))], 'integer', '{0,1}');
SELECT svm_as_sql('too wide');
\echo :LAST_ERROR_SQLSTATE

DROP SCHEMA trap CASCADE;
DROP VIEW numbered;
DROP TABLE things, holes, wide, homes;
DROP FUNCTION put;
DELETE FROM svm_model;
