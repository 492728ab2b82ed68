-- svm_index: numbers of a table's rows, kept from one training to the next
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = warning;
DELETE FROM svm_model;
DELETE FROM svm_index;
CREATE TABLE points AS
SELECT id, (hashint4(id) / 2147483648.0)::numeric(12, 6) AS a, hashint4(id + 100000) / 2147483648.0::float8 AS b,
    ARRAY[hashint4(id + 200000) / 2147483648.0, hashint4(id + 300000) / 2147483648.0]::real[] AS pair,
    CASE id % 3 WHEN 0 THEN 'red' WHEN 1 THEN 'green' ELSE 'blue' END AS colour,
    hashint4(id) / 2 + hashint4(id + 100000) / 4 + CASE id % 3 WHEN 0 THEN 300000000 ELSE 0 END > hashint4(id + 400000) / 8 AS side,
    id % 4 AS kind
FROM generate_series(1, 3000) AS id;
ALTER TABLE points ADD PRIMARY KEY (id);
-- its size is that of its rows in every version
VACUUM FULL points;

\set VERBOSITY default
SET client_min_messages = notice;
SELECT svm_index('points', name => 'p');
\set VERBOSITY terse
SET client_min_messages = warning;
SELECT name, relation, columns, rows, bytes BETWEEN 20000 AND 200000 AS bytes, owner = current_user AS own FROM svm_indexes;

-- The same model as from the table: of another label, of several classes, of some of the features, with another loss and C.
CREATE FUNCTION same(label text, more text) RETURNS TABLE (equal boolean, rows_used bigint, gap boolean) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT svm_train(''points'', %L, model => ''table'' %s, options => ''{"inherit": false}'')', label, more);
    EXECUTE format('SELECT svm_train(''points'', %L, model => ''index'' %s, options => ''{"index": "p", "inherit": false}'')', label, more);
    RETURN QUERY SELECT abs(t.primal - i.primal) <= 1e-12 * t.primal AND abs(t.dual - i.dual) <= 1e-12 * t.primal AND t.features = i.features
        AND (SELECT array_agg((feature, class, weight) ORDER BY feature, class) FROM svm_weights('table'))
            = (SELECT array_agg((feature, class, weight) ORDER BY feature, class) FROM svm_weights('index')), i.rows_used, i.gap <= 1e-3
    FROM svm_models AS t, svm_models AS i WHERE t.name = 'table' AND i.name = 'index';
    PERFORM svm_drop('table'), svm_drop('index');
END $$;
SET client_min_messages = notice;
SELECT svm_train('points', 'side', model => 'm', options => '{"index": "p"}');
SET client_min_messages = warning;
SELECT * FROM same('side', '');
SELECT * FROM same('side', ', c => 0.1, loss => ''squared_hinge''');
SELECT * FROM same('kind', ', exclude => ARRAY[''side'']');
SELECT * FROM same('side', ', features => ARRAY[''pair'', ''b'']');
SELECT * FROM same('side', ', features => ARRAY[''kind'', ''a'', ''colour'', ''polynomial(b, 2)'']');
SELECT * FROM same('side', ', c => NULL, seed => 3');
SELECT * FROM same('side', ', loss => ''ramp'', solver => ''indexed''');
SELECT * FROM same('side', ', key => ''id''');
SELECT * FROM same('side', ', kernel => ''rbf'', gamma => 0.5, features => ARRAY[''a'', ''b'', ''pair'']');
SELECT (SELECT array_agg((c, fold, accuracy)) FROM svm_cross_validate('points', 'side', c => ARRAY[1, 10], folds => 3))
    = (SELECT array_agg((c, fold, accuracy)) FROM svm_cross_validate('points', 'side', c => ARRAY[1, 10], folds => 3, options => '{"index": "p"}')) AS folds;

-- That it is read at all: other numbers in it make another model.
SET client_min_messages = notice;
SELECT svm_train_query('SELECT b AS one, a AS other, id % 2 = 1 AS odd FROM points WHERE id % 3 > 0', 'odd', model => 'q', options => '{"index": "p"}');
SET client_min_messages = warning;
SELECT chunk, rows, length(tuples) AS tuples FROM svm_index_chunk;
BEGIN;
UPDATE svm_index_chunk AS chunk SET tuples = other.tuples FROM (
    SELECT string_agg(substr(tuples, 1 + 8 * (2999 - row), 8), '' ORDER BY row) AS tuples
    FROM svm_index_chunk, generate_series(0, 2999) AS row) AS other;
SELECT * FROM same('side', '');
ROLLBACK;

-- Rows that stream, with a trainer of its own.
SET pgsvm.cache_size = '32kB';
SET pgsvm.min_parallel_size = 0;
SELECT svm_train('points', 'side', '{a, b, pair}', 'table', loss => 'hinge', solver => 'stream', options => '{"inherit": false}'),
    svm_train('points', 'side', '{a, b, pair}', 'index', loss => 'hinge', solver => 'stream', options => '{"inherit": false, "index": "p"}');
SELECT abs(t.primal - i.primal) <= 1e-3 * t.primal AS primal, i.gap <= 1e-3 AS gap, t.workers AS table_workers, i.workers
FROM svm_models AS t, svm_models AS i WHERE t.name = 'table' AND i.name = 'index';
SELECT svm_drop('table'), svm_drop('index');
RESET pgsvm.cache_size;
RESET pgsvm.min_parallel_size;

-- Rows that come, go and change are those of the table.
INSERT INTO points SELECT 10000 + id, 0.5, 0.25, '{1, 2}', 'red', true, 1 FROM generate_series(1, 20) AS id;
DELETE FROM points WHERE id <= 10;
UPDATE points SET a = -a WHERE id BETWEEN 100 AND 149;
UPDATE points SET side = NOT side WHERE id BETWEEN 200 AND 229;
SET client_min_messages = notice;
SELECT svm_train('points', 'side', model => 'm', options => '{"index": "p"}');
SET client_min_messages = warning;
SELECT * FROM same('side', '');
-- with a NULL: not kept, and read from the table
UPDATE points SET b = NULL WHERE id = 300;
VACUUM FULL points;
SET client_min_messages = notice;
\set VERBOSITY default
SELECT svm_index('points', name => 'p', exclude => '{kind}');
\set VERBOSITY terse
SET client_min_messages = warning;
SELECT * FROM same('side', ', nulls => ''mean'', exclude => ARRAY[''kind'']');
SELECT * FROM same('side', ', nulls => ''skip'', exclude => ARRAY[''kind'']');

-- a table that was rewritten: nothing is known of it any more
ALTER TABLE points ALTER b TYPE real;
\set VERBOSITY default
SELECT svm_train('points', 'side', '{a, b}', 'm', nulls => 'skip', options => '{"index": "p", "inherit": false}');
\set VERBOSITY terse
SELECT * FROM same('side', ', nulls => ''skip'', features => ARRAY[''a'', ''b'']');

-- partitions, and a view of numbers made by casts
CREATE TABLE parts (LIKE points) PARTITION BY LIST (colour);
CREATE TABLE red PARTITION OF parts FOR VALUES IN ('red');
CREATE TABLE others PARTITION OF parts FOR VALUES IN ('green', 'blue');
INSERT INTO parts SELECT * FROM points WHERE b IS NOT NULL;
CREATE VIEW seen AS SELECT a::float8 AS x, b AS y, side FROM parts WHERE id % 2 = 0;
SELECT svm_index('parts', '{a, b, pair}'), svm_index('seen');
SELECT name, relation, columns, rows FROM svm_indexes ORDER BY name;
SET client_min_messages = notice;
SELECT svm_train('parts', 'side', '{a, b}', 'm', options => '{"index": "parts_index", "inherit": false}');
SELECT svm_train('seen', 'side', model => 'm', options => '{"index": "seen_index", "inherit": false}');
CREATE TABLE greys PARTITION OF parts FOR VALUES IN ('grey');
INSERT INTO greys SELECT 20000 + id, 0.5, 0.25, '{1, 2}', 'grey', id % 2 = 0, 1 FROM generate_series(1, 5) AS id;
SELECT svm_train('parts', 'side', '{a, b}', 'm', options => '{"index": "parts_index", "inherit": false}');
SET client_min_messages = warning;

-- what cannot be
\set VERBOSITY default
\set ON_ERROR_STOP off
SELECT svm_train('parts', 'side', '{a, b}', 'm', options => '{"index": "none"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'side', '{a, b}', 'm', options => '{"index": "parts_index"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('parts', 'side', '{a, kind}', 'm', options => '{"index": "parts_index"}');
\echo :LAST_ERROR_SQLSTATE
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT svm_train('parts', 'side', '{a, b}', 'by_scans', solver => 'scan', options => '{"index": "parts_index"}');
SELECT svm_drop('by_scans');
\set VERBOSITY default
SET client_min_messages = warning;
SELECT svm_index('points', '{a, colour}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_index('points', '{a, nothing}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_index('points', name => '');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_index(NULL);
\echo :LAST_ERROR_SQLSTATE
CREATE VIEW joined AS SELECT p.a, q.b FROM points AS p JOIN parts AS q ON p.a = q.a;
SELECT svm_index('joined');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop_index('none');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop_index(NULL);
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE passing AS SELECT * FROM parts;
SELECT svm_index('passing', name => 'of a table that goes');
DROP TABLE passing;
SELECT svm_train_query('SELECT a, b, side FROM parts', 'side', model => 'm', options => '{"index": "of a table that goes", "inherit": false}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop_index('of a table that goes');
BEGIN READ ONLY;
SELECT svm_index('points');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
UPDATE svm_index_chunk SET numbers = substr(numbers, 1, 100);
SELECT svm_train('parts', 'side', '{a, b}', 'm', options => '{"index": "parts_index"}');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
UPDATE svm_index_chunk SET rows = rows + 1;
SELECT svm_train('parts', 'side', '{a, b}', 'm', options => '{"index": "parts_index"}');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

-- its owner's alone; and the table's rights hold in each training
CREATE ROLE svm_index_owner;
CREATE ROLE svm_index_other;
GRANT CREATE ON SCHEMA public TO svm_index_owner, svm_index_other;
GRANT SELECT ON parts TO svm_index_owner, svm_index_other;
SET ROLE svm_index_owner;
SELECT svm_index('parts', '{a, b}', 'own');
SELECT svm_train('parts', 'side', '{a, b}', 'own', options => '{"index": "own"}');
RESET ROLE;
SET ROLE svm_index_other;
SELECT count(*) FROM svm_indexes;
SELECT count(*) FROM svm_index_chunk;
SELECT svm_train('parts', 'side', '{a, b}', 'other', options => '{"index": "own"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop_index('own');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO svm_index (name, owner, relation, features, columns, lengths, lists, tables) VALUES ('x', 'svm_index_owner', 'parts', '{a}', '{a}', '{1}', '[]', '');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
REVOKE SELECT ON parts FROM svm_index_owner;
SET ROLE svm_index_owner;
SELECT svm_train('parts', 'side', '{a, b}', 'own', options => '{"index": "own", "inherit": false}');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT SELECT ON parts TO svm_index_owner;
ALTER TABLE parts ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON parts USING (id % 2 = 0);
SET ROLE svm_index_owner;
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT svm_train('parts', 'side', '{a, b}', 'own', options => '{"index": "own", "inherit": false}');
SET client_min_messages = warning;
SELECT svm_drop('own'), svm_drop_index('own');
RESET ROLE;
-- a follow-up needs none
SELECT svm_train('points', 'side', '{a, b}', 'follows', key => 'id', nulls => 'skip', options => '{"index": "p", "inherit": false}');
SELECT svm_drop_index('p');
SELECT svm_refresh('follows');
SELECT svm_drop_index('parts_index'), svm_drop_index('seen_index');
SELECT count(*) FROM svm_index_chunk;
DROP TABLE parts CASCADE;
DROP TABLE points;
DROP FUNCTION same;
REVOKE CREATE ON SCHEMA public FROM svm_index_owner, svm_index_other;
DROP ROLE svm_index_owner, svm_index_other;
DELETE FROM svm_model;
