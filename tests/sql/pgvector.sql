-- pgvector's types as features; without that extension nothing is tested
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT count(*) = 0 AS missing FROM pg_available_extensions WHERE name = 'vector' \gset
\if :missing
\q
\endif
CREATE SCHEMA tested;
CREATE SCHEMA "Vec";
CREATE EXTENSION vector SCHEMA "Vec";
SET search_path = tested, public, "Vec";
CREATE TABLE items AS SELECT i, i % 3 = 0 AS y, ARRAY[i % 3, i % 5, i % 7]::real[] AS a, ARRAY[i % 3, i % 5, i % 7]::vector(3) AS v,
    ARRAY[i % 3, i % 5, i % 7]::halfvec(3) AS h, ARRAY[i % 3, i % 5, i % 7]::vector::sparsevec(3) AS s,
    format('1:%s 2:%s 3:%s', i % 3, i % 5, i % 7) AS f FROM generate_series(1, 300) AS i;
-- vector and halfvec are arrays, sparsevec is sparse with the indices that it prints; named or found by themselves
SELECT svm_train('items', 'y', ARRAY[feature], model => name, scale => 'none')
FROM (VALUES ('a', 'a'), ('v', 'v'), ('h', 'h'), ('s', 's'), ('f', 'libsvm(f)')) AS t (name, feature);
CREATE VIEW found AS SELECT y, v, s FROM items;
SELECT svm_train('found', 'y', model => 'found');
SELECT column_name, type, treatment, features FROM svm_features('found') ORDER BY 1 DESC;
SELECT bool_and(svm_decision('v', t) = svm_decision('a', t) AND svm_decision('h', t) = svm_decision('a', t)) AS dense,
    bool_and(svm_decision('s', t) = svm_decision('f', t)) AS sparse FROM items AS t;
-- as arguments: of models of any of these types
SELECT bool_and(svm_decision('a', v) = svm_decision('a', a) AND svm_decision('v', a) = svm_decision('a', a) AND svm_decision('v', h) = svm_decision('a', a)) AS dense,
    bool_and(svm_decision('f', s) = svm_decision('f', f) AND svm_decision('s', f) = svm_decision('f', f) AND svm_decision('s', s) = svm_decision('f', f)) AS sparse,
    count(svm_predict('v', v)), count(svm_classify('h', h)) FROM items;
SET search_path = tested, public;
SELECT count(svm_decision('v', v)) AS whatever_the_search_path FROM items;
SET search_path = tested, public, "Vec";
SELECT svm_decision('s', '{}/3'::sparsevec) = svm_decision('f', '') AS nothing, svm_decision('s', '{2:0}/3'::sparsevec) = svm_decision('f', '2:1') - svm_decision('f', '2:1') + svm_decision('f', '') AS zero,
    svm_decision('s', '{1:1,500:3}/1000'::sparsevec) = svm_decision('f', '1:1 500:3') AS unseen;
-- halves: smallest, subnormal, largest, negative
SELECT svm_import('halves', E'solver_type L2R_LR\nnr_class 2\nlabel 1 0\nnr_feature 4\nbias -1\nw\n1\n2\n4\n8\n', 'array');
SELECT svm_decision('halves', '[0.000000059604645,0.00006103515625,65504,-0.333251953125]'::halfvec) = 5.9604644775390625e-08 + 2 * 0.00006103515625 + 4 * 65504 + 8 * -0.333251953125 AS exact;
-- wide ones, out of line and compressed
CREATE TABLE wide AS SELECT i, i % 2 AS y, (SELECT array_agg(((i * j) % 11)::real) FROM generate_series(1, 4000) AS j)::vector AS v FROM generate_series(1, 50) AS i;
SELECT svm_train('wide', 'y', ARRAY['v'], model => 'wide');
SELECT round(avg((svm_predict('wide', v) = y)::int), 2) > 0.5 AS predicts FROM wide;
-- as SQL: an element of a vector is one of the array that it casts to
SELECT svm_as_sql('v') AS expression \gset
SELECT bool_and(abs(:expression - svm_decision('v', t)) < 1e-9) AS same FROM items AS t;
SELECT svm_as_sql('s');
-- NULL, evaluation, export
CREATE TABLE holes AS SELECT i, y, CASE WHEN i % 10 > 0 THEN v END AS v, CASE WHEN i % 10 > 0 THEN s END AS s FROM items;
SELECT svm_train('holes', 'y', ARRAY['v', 's'], model => 'holes', nulls => 'skip');
SELECT rows FROM svm_evaluate('holes', 'holes');
SELECT svm_export('s') = svm_export('f') AS same;
-- errors
SELECT svm_decision('v', '[1,2]'::vector);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('v', '{1:1}/3'::sparsevec);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('s', '[1,2,3]'::vector);
SELECT svm_decision('found', '[1,2,3]'::vector);
SELECT svm_train('holes', 'y', ARRAY['v'], model => 'x', nulls => 'error');
CREATE TABLE uneven AS SELECT i % 2 AS y, (CASE WHEN i = 7 THEN '[1,2]' ELSE '[1,2,3]' END)::vector AS v FROM generate_series(1, 10) AS i;
SELECT svm_train('uneven', 'y', ARRAY['v'], model => 'x');
SELECT svm_train('items', 'y', ARRAY['libsvm(s)'], model => 'x');
-- a type of that name that is not pgvector's is none
CREATE TYPE tested.vector AS (a int);
CREATE TABLE others AS SELECT i % 2 AS y, ROW(i)::tested.vector AS v FROM generate_series(1, 4) AS i;
SELECT svm_train('others', 'y', ARRAY['v'], model => 'x');
DROP TABLE others;
DROP TYPE tested.vector;
SET client_min_messages = error;
DELETE FROM svm_model;
DROP SCHEMA tested, "Vec" CASCADE;
