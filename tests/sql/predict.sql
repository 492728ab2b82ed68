-- Prediction from models written by hand, so that every figure can be checked in the head: what can be
-- passed as features, which model is used, and who may use it.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE FUNCTION put(name text, parts jsonb, weights float8[], label_type text DEFAULT 'integer',
    labels text[] DEFAULT '{-1,1}', nulls text DEFAULT 'error', feature_count bigint DEFAULT NULL)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    model svm_model;
    id bigint;
BEGIN
    INSERT INTO svm_model AS m (name, current_version) VALUES (put.name, 1)
    ON CONFLICT ON CONSTRAINT svm_model_name_key DO UPDATE SET current_version = m.current_version + 1
    RETURNING * INTO model;
    INSERT INTO svm_version AS v (model_id, version, features, label_column, label_type, label_values, nulls, loss, c,
        scale, solver, intercept_used, tolerance, seed, intercept, feature_count, rows_used, rows_skipped)
    VALUES (model.id, model.current_version, jsonb_build_object('parts', parts), 'y', put.label_type, labels,
        put.nulls, 'hinge', 1, 'none', 'stream', true, 1e-3, 0, 0.5,
        coalesce(put.feature_count, cardinality(put.weights)), 10, 0)
    RETURNING v.id INTO id;
    INSERT INTO svm_weight VALUES (id, 0, 0, NULL, put.weights);
    RETURN model.current_version;
END $$;
\set array_x '[{"kind": "array", "name": "x", "type": "real[]", "length": 3}]'
SELECT put('columns', '[{"kind": "column", "name": "a", "type": "integer"}, {"kind": "column", "name": "B c", "type": "real"}]', '{1,10}');
SELECT put('array', :'array_x', '{1,10,100}'), put('truth', :'array_x', '{1,10,100}', 'boolean', '{false,true}'),
    put('word', :'array_x', '{1,10,100}', 'text', '{no,yes}'),
    put('skips', :'array_x', '{1,10,100}', nulls => 'skip'), put('zeros', :'array_x', '{1,10,100}', nulls => 'zero');
SELECT put('text', '[{"kind": "libsvm", "name": "f", "type": "text"}]', '{1,10,100,1000}'),
    put('sparse', '[{"kind": "sparse", "index": "idx", "index_type": "integer[]", "value": "val", "value_type": "real[]"}]', '{1,10,100,1000}');
-- dense ids 0 to 2; behind them the two sparse parts take turns
SELECT put('mixed', '[{"kind": "column", "name": "a", "type": "integer"}, {"kind": "array", "name": "x", "type": "real[]", "length": 2},
    {"kind": "sparse", "index": "idx", "index_type": "integer[]", "value": "val", "value_type": "real[]"},
    {"kind": "libsvm", "name": "f", "type": "text"}]', '{1,10,100,1000,2000,3000,4000,5000,6000}');

-- arrays of any number
SELECT pg_typeof(x), svm_decision('array', x) FROM (SELECT '{1,1,1}'::int2[] AS x) AS t;
SELECT svm_decision('array', ARRAY[1, 1, 1]) AS int4, svm_decision('array', '{1,1,1}'::int8[]) AS int8,
    svm_decision('array', '{1,1,1}'::float4[]) AS float4, svm_decision('array', '{1,1,1}'::float8[]) AS float8,
    svm_decision('array', '{1,1.5,-123456789.125}'::numeric[]) AS numeric;
-- texts in LIBSVM notation: literal, text, varchar, char, a domain; positions from 1 for dense features
CREATE DOMAIN libsvm AS text;
CREATE DOMAIN triple AS real[];
SELECT svm_decision('array', '1:1 3:1') AS literal, svm_decision('array', ' 3:1e0  1:+1.0 '::text) AS text,
    svm_decision('array', '1:1 3:1'::varchar) AS varchar, svm_decision('array', '1:1 3:1'::char(20)) AS char,
    svm_decision('array', '1:1 3:1'::libsvm) AS domain, svm_decision('array', '{1,1,1}'::triple) AS array_domain,
    svm_decision('array', '') AS nothing;
-- the index itself for sparse ones; indices that the training did not see count nothing
SELECT svm_decision('text', '3:1 0:1 99:7'), svm_decision('sparse', '0:1 3:1 2000000000:7');
-- rows: by name, any order, any numeric type, more columns than needed
CREATE TABLE rows (id int, "B c" numeric, gone int, a bool, x float8[], idx int[], val real[], f text);
ALTER TABLE rows DROP gone;
INSERT INTO rows VALUES (1, 2.5, true, '{1,2}', '{0,1}', '{1,1}', '0:1 1:2'), (2, -1, false, '{0,0}', '{}', '{}', ''),
    (3, 0.25, true, '{0,0}', '{2,0}', '{1,2}', ' 0:1   7:1 ');
SELECT id, svm_decision('columns', r) AS columns, svm_decision('mixed', r) AS mixed, svm_decision('sparse', r) AS sparse,
    svm_decision('text', r) AS text, svm_decision('text', r.f) AS text_column
FROM rows AS r ORDER BY id;
SELECT svm_decision('columns', r) FROM (SELECT 'unused' AS q, 2::int2 AS "B c", 1::int8 AS a) AS r;
SELECT svm_decision('columns', ARRAY[1, 2]), svm_decision('columns', '2:2 1:1');
-- labels; the boundary itself is positive
SELECT svm_predict('array', ARRAY[0, 0, -1]), svm_predict('array', ARRAY[0, 0, 1]), svm_classify('array', ARRAY[0, 0, -1]),
    svm_predict('truth', ARRAY[0, 0, -1]), svm_predict('truth', ARRAY[0, 0, 1]), svm_classify('truth', ARRAY[0, 0, 1]),
    svm_classify('word', ARRAY[0, 0, 1]), svm_classify('word', ARRAY[0, 0, -1]);
SELECT svm_decision('array', '{-0.5,0,0}'::float8[]), svm_classify('array', '{-0.5,0,0}'::float8[]);
-- NULL
SELECT svm_decision(NULL, ARRAY[1, 2, 3]), svm_decision('array', NULL), svm_decision('array', NULL::int[]),
    svm_decision('skips', ARRAY[1, NULL, 3]), svm_predict('skips', ARRAY[1, NULL, 3]), svm_classify('skips', ARRAY[1, NULL, 3]),
    svm_decision('zeros', ARRAY[1, NULL, 3]);
SELECT svm_decision('skips', r), svm_decision('zeros', r) FROM (SELECT NULL::int[] AS x) AS r;
-- several models in one statement, a model per row, a version, a model in a variable
SELECT put('itself', :'array_x', '{0,1,0}');
SELECT name, svm_decision(name, ARRAY[1, 2, 3]) FROM (VALUES ('array'), ('truth'), ('array@1')) AS v (name);
DO $$
DECLARE
    model text;
    seen float8[];
BEGIN
    FOREACH model IN ARRAY '{array,itself,array}'::text[] LOOP
        seen := seen || svm_decision(model, ARRAY[1, 2, 3]);
    END LOOP;
    RAISE WARNING '%', seen;
END $$;
-- large values: compressed, out of line, with a short header
CREATE TABLE wide (x float8[], y text);
SELECT put('wide', jsonb_build_array(jsonb_build_object('kind', 'array', 'name', 'x', 'type', 'x', 'length', 20000)),
    (SELECT array_agg(1) FROM generate_series(1, 20000)));
INSERT INTO wide SELECT array_agg(i % 3), repeat('1:1 ', 1) || repeat(' ', 50000) || '3:1' FROM generate_series(1, 20000) AS i;
ALTER TABLE wide ALTER x SET STORAGE EXTERNAL;
INSERT INTO wide SELECT array_agg(i % 3), '2:1' FROM generate_series(1, 20000) AS i;
SELECT svm_decision('wide', x), svm_decision('array', y), svm_decision('wide', w) FROM wide AS w;
-- numeric, against PostgreSQL's own conversion
UPDATE svm_version SET intercept = 0 WHERE model_id = (SELECT id FROM svm_model WHERE name = 'itself');
SELECT count(*) AS compared, count(*) FILTER (WHERE svm_decision('itself', ARRAY[0, n, 0]) <> n::float8) AS different
FROM (SELECT (sign || digits || 'e' || exponent)::numeric AS n FROM unnest('{"",-}'::text[]) AS sign,
    unnest('{0,1,7,9999,10000,10001,12345678,99999999999999999999,123456789012345678901234567890.123456789,0.1,0.0001,1.00010001}'::text[]) AS digits,
    generate_series(-60, 60) AS exponent) AS t;

-- a new version is seen by the next statement, in a transaction, a prepared statement and PL/pgSQL alike
PREPARE asked AS SELECT svm_decision('array', ARRAY[1, 1, 1]);
EXECUTE asked;
SELECT put('array', :'array_x', '{2,10,100}');
EXECUTE asked;
BEGIN;
SELECT put('array', :'array_x', '{3,10,100}');
EXECUTE asked;
ROLLBACK;
EXECUTE asked;
SELECT svm_decision('array@1', ARRAY[1, 1, 1]), svm_decision('array@2', ARRAY[1, 1, 1]);
DO $$
DECLARE
    seen float8[];
BEGIN
    FOR i IN 1..3 LOOP
        seen := seen || svm_decision('array', ARRAY[1, 1, 1]);
        BEGIN
            PERFORM put('array', '[{"kind": "array", "name": "x", "type": "real[]", "length": 3}]', ARRAY[i * 1000, 10, 100]);
            seen := seen || svm_decision('array', ARRAY[1, 1, 1]);
            IF i = 2 THEN
                RAISE division_by_zero;
            END IF;
        EXCEPTION WHEN division_by_zero THEN
        END;
    END LOOP;
    RAISE WARNING '%', seen || svm_decision('array', ARRAY[1, 1, 1]);
END $$;
-- a cursor keeps to its snapshot
BEGIN;
DECLARE before CURSOR FOR SELECT svm_decision('array', ARRAY[1, 1, i]) FROM generate_series(1, 2) AS i;
FETCH before;
SELECT put('array', :'array_x', '{0,0,0}');
FETCH before;
ROLLBACK;
-- the shape of rows may change while a function holds its place
CREATE FUNCTION through_changes() RETURNS SETOF float8 LANGUAGE plpgsql AS $$
DECLARE
    r record;
BEGIN
    CREATE TEMP TABLE changing AS SELECT 1 AS a, 2::real AS "B c";
    FOR i IN 1..3 LOOP
        FOR r IN EXECUTE 'SELECT * FROM changing' LOOP
            RETURN NEXT svm_decision('columns', r);
        END LOOP;
        EXECUTE (ARRAY['ALTER TABLE changing ALTER a TYPE numeric', 'ALTER TABLE changing DROP a, ADD a int DEFAULT 7', 'SELECT'])[i];
    END LOOP;
END $$;
SELECT through_changes();
-- a value of a named type that is altered while the value is held
CREATE TYPE held AS (a int, "B c" real);
CREATE FUNCTION while_held() RETURNS SETOF float8 LANGUAGE plpgsql AS $$
DECLARE
    v held := ROW(1, 2);
BEGIN
    FOR i IN 1..4 LOOP
        RETURN NEXT svm_decision('columns', v);
        EXECUTE (ARRAY['ALTER TYPE held ADD ATTRIBUTE c text', 'ALTER TYPE held DROP ATTRIBUTE c', 'ALTER TYPE held ADD ATTRIBUTE d int',
            'SELECT'])[i];
    END LOOP;
END $$;
SELECT while_held();

-- read-only, parallel, whatever the search path
BEGIN READ ONLY;
SELECT svm_decision('truth', ARRAY[1, 1, 1]);
COMMIT;
SET search_path = pg_catalog;
SELECT public.svm_decision('truth', ARRAY[1, 1, 1]);
RESET search_path;
CREATE TABLE many AS SELECT ARRAY[i, 1, 1]::real[] AS x FROM generate_series(1, 50000) AS i;
ANALYZE many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT sum(svm_decision('truth', x)), count(svm_classify('word', x)) FROM many;
SELECT sum(svm_decision('truth', x)), count(svm_classify('word', x)) FROM many;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- rights: a role uses the models of the roles it is a member of, and sees no other
CREATE ROLE regress_svm_team;
CREATE ROLE regress_svm_alice IN ROLE regress_svm_team;
CREATE ROLE regress_svm_bob;
SET ROLE regress_svm_alice;
SELECT put('hers', :'array_x', '{1,10,100}');
SELECT name, owner FROM svm_models;
SELECT svm_decision('hers', ARRAY[1, 1, 1]);
SELECT svm_decision('truth', ARRAY[1, 1, 1]);
SET ROLE regress_svm_bob;
SELECT count(*) FROM svm_models;
SELECT svm_decision('hers', ARRAY[1, 1, 1]);
DELETE FROM svm_model;
DELETE FROM svm_weight;
INSERT INTO svm_model (name, owner, current_version) VALUES ('false flag', 'regress_svm_alice', 1);
INSERT INTO svm_weight SELECT 1, 0, 20000, NULL, '{1}';
RESET ROLE;
UPDATE svm_model SET owner = 'regress_svm_team' WHERE name = 'hers';
SET ROLE regress_svm_alice;
SELECT svm_decision('hers', ARRAY[1, 1, 1]);
RESET ROLE;
-- one call site, two users
CREATE FUNCTION through_plpgsql() RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    d float8 := svm_decision('hers', ARRAY[1, 1, 1]);
BEGIN
    RETURN d;
END $$;
BEGIN;
SET LOCAL ROLE regress_svm_alice;
SELECT through_plpgsql();
SET LOCAL ROLE regress_svm_bob;
SELECT through_plpgsql();
ROLLBACK;
-- an owner that is gone leaves a model to superusers, and everybody else undisturbed
UPDATE svm_model SET owner = 'nobody at all' WHERE name = 'hers';
SET ROLE regress_svm_alice;
SELECT count(*) FROM svm_models;
RESET ROLE;
SELECT svm_decision('hers', ARRAY[1, 1, 1]);
DROP ROLE regress_svm_team, regress_svm_alice, regress_svm_bob;

DROP TABLE rows, wide, many;
DROP DOMAIN libsvm, triple;
DROP FUNCTION put, through_changes, through_plpgsql;
DELETE FROM svm_model;
