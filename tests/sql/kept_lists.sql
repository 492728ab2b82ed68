-- svm_index: sparse features, of which rows have any number, kept from one training to the next
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = warning;
DELETE FROM svm_model;
DELETE FROM svm_index;
CREATE TABLE sparse AS
SELECT id, idx, val, line, val::numeric[] AS exact, idx::bigint[] AS wide, a, label, id % 4 AS kind
FROM (
    SELECT id, hashint4(id + 1000) / 2147483648.0::float8 AS a, hashint4(id + 5) / 8 + hashint4(id) % 1000000000 > 0 AS label
    FROM generate_series(1, 2000) AS id
) AS ids,
LATERAL (
    SELECT coalesce(array_agg(index ORDER BY index), '{}') AS idx, coalesce(array_agg(value ORDER BY index), '{}') AS val,
        coalesce(string_agg(index || ':' || value, ' ' ORDER BY index), '') AS line
    FROM (
        SELECT DISTINCT ON (index) abs(hashint4(id * 31 + k)) % 500 AS index, (hashint4(id * 17 + k) / 2147483648.0)::real AS value
        FROM generate_series(1, id % 12 * 20) AS k
    ) AS entries
) AS lists;
ALTER TABLE sparse ADD PRIMARY KEY (id);
-- rows of more than 2 kB have them out of line
ALTER TABLE sparse SET (toast_tuple_target = 128);
VACUUM FULL sparse;

\set VERBOSITY default
SET client_min_messages = notice;
SELECT svm_index('sparse', '{"sparse(idx, val)", libsvm(line), "sparse(wide, exact)", a}', 's');
\set VERBOSITY terse
SET client_min_messages = warning;
SELECT name, relation, columns, rows, bytes BETWEEN 1000000 AND 4000000 AS bytes FROM svm_indexes;
SELECT lengths, lists FROM svm_index;

-- The same model as from the table.
CREATE FUNCTION same(label text, more text) RETURNS TABLE (equal boolean, rows_used bigint) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT svm_train(''sparse'', %L, model => ''table'' %s, options => ''{"inherit": false}'')', label, more);
    EXECUTE format('SELECT svm_train(''sparse'', %L, model => ''index'' %s, options => ''{"index": "s", "inherit": false}'')', label, more);
    RETURN QUERY SELECT t.primal = i.primal AND t.dual = i.dual AND t.features = i.features
        AND (SELECT array_agg((feature, class, weight) ORDER BY feature, class) FROM svm_weights('table'))
            = (SELECT array_agg((feature, class, weight) ORDER BY feature, class) FROM svm_weights('index')), i.rows_used
    FROM svm_models AS t, svm_models AS i WHERE t.name = 'table' AND i.name = 'index';
    PERFORM svm_drop('table'), svm_drop('index');
END $$;
SET client_min_messages = notice;
SELECT svm_train('sparse', 'label', '{"sparse(idx, val)"}', 'm', options => '{"index": "s"}');
SET client_min_messages = warning;
SELECT * FROM same('label', ', features => ARRAY[''sparse(idx, val)'']');
SELECT * FROM same('label', ', features => ARRAY[''libsvm(line)''], c => 0.1, loss => ''hinge''');
SELECT * FROM same('label', ', features => ARRAY[''a'', ''sparse(wide, exact)'', ''libsvm(line)''], scale => ''standard''');
SELECT * FROM same('kind', ', features => ARRAY[''hash(sparse(idx, val), 6)'']');
SELECT * FROM same('label', ', features => ARRAY[''a'']');
SELECT * FROM same('label', ', features => ARRAY[''sparse(idx, val)''], c => NULL, seed => 3');
SELECT * FROM same('label', ', features => ARRAY[''sparse(idx, val)'', ''a''], kernel => ''rbf'', gamma => 0.1');
SELECT * FROM same('label', ', features => ARRAY[''sparse(wide, exact)''], key => ''id''');
-- what the index has not comes from the table
SELECT * FROM same('label', ', features => ARRAY[''sparse(idx, exact)'', ''a'']');

-- That it is read at all: the lists of other rows make another model.
BEGIN;
UPDATE svm_index_chunk AS chunk SET tuples = other.tuples FROM (
    SELECT chunk, string_agg(substr(tuples, 1 + 8 * (rows - 1 - row), 8), '' ORDER BY row) AS tuples
    FROM svm_index_chunk, generate_series(0, rows - 1) AS row WHERE part = 0 GROUP BY chunk) AS other
WHERE chunk.chunk = other.chunk AND chunk.part = 0;
SELECT * FROM same('label', ', features => ARRAY[''sparse(idx, val)'']');
ROLLBACK;
-- only the parts that are wanted
BEGIN;
UPDATE svm_index_chunk SET numbers = '' WHERE part IN (0, 2, 3);
SELECT * FROM same('label', ', features => ARRAY[''sparse(idx, val)'']');
ROLLBACK;

-- Rows that have changed, and lists of which nothing is kept, are those of the table.
UPDATE sparse SET val = (SELECT array_agg(-x) FROM unnest(val) AS x) WHERE id BETWEEN 100 AND 149 AND id % 12 > 0;
DELETE FROM sparse WHERE id < 20;
UPDATE sparse SET idx = NULL WHERE id = 300;
UPDATE sparse SET val[2] = NULL WHERE id = 305;
-- indices that do not ascend
UPDATE sparse SET (idx, val) = (SELECT array_agg(i ORDER BY i DESC), array_agg(x ORDER BY i DESC) FROM unnest(idx, val) AS entries (i, x))
WHERE id BETWEEN 500 AND 550 AND id % 12 > 0;
SELECT svm_train('sparse', 'label', '{"sparse(idx, val)"}', 'm', nulls => 'skip', options => '{"index": "s", "inherit": false}');
SELECT * FROM same('label', ', features => ARRAY[''sparse(idx, val)''], nulls => ''skip''');
VACUUM FULL sparse;
SELECT svm_index('sparse', '{"sparse(idx, val)", a}', 's');
SELECT rows, (SELECT count(*) FROM svm_index_chunk WHERE part = 1 AND get_byte(numbers, 0) = 0) AS unordered FROM svm_indexes;
SELECT * FROM same('label', ', features => ARRAY[''sparse(idx, val)''], nulls => ''skip''');
SELECT * FROM same('label', ', features => ARRAY[''sparse(idx, val)'', ''a''], nulls => ''zero''');

-- What is wrong with a row is said as of the table.
\set ON_ERROR_STOP off
UPDATE sparse SET idx = array_prepend(idx[1], idx[2:]) || idx[1], val = val || 1::real, wide = idx WHERE id = 402;
UPDATE sparse SET val = '{1}', idx = '{1,2}' WHERE id = 403;
UPDATE sparse SET val = '{1}', idx = '{-1}' WHERE id = 404;
UPDATE sparse SET val = '{1}', wide = '{3000000000}', idx = '{1}' WHERE id = 405;
VACUUM FULL sparse;
SELECT svm_index('sparse', '{"sparse(idx, val)", "sparse(wide, val)"}', 's');
SELECT svm_train_query('SELECT idx, val, label FROM sparse WHERE id = 402 OR id BETWEEN 420 AND 800', 'label', '{"sparse(idx, val)"}', 'm', options => '{"index": "s", "inherit": false}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT idx, val, label FROM sparse WHERE id = 403 OR id BETWEEN 420 AND 800', 'label', '{"sparse(idx, val)"}', 'm', options => '{"index": "s", "inherit": false}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT idx, val, label FROM sparse WHERE id = 404 OR id BETWEEN 420 AND 800', 'label', '{"sparse(idx, val)"}', 'm', options => '{"index": "s", "inherit": false}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT wide, val, label FROM sparse WHERE id = 405', 'label', '{"sparse(wide, val)"}', 'm', options => '{"index": "s", "inherit": false}');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default
SELECT svm_index('sparse', '{a, "category(kind)"}');
\echo :LAST_ERROR_SQLSTATE
-- indices of 64 bits are kept where they are hashed
DELETE FROM sparse WHERE id BETWEEN 402 AND 404;
UPDATE sparse SET wide = (SELECT array_agg(i * 1234567890) FROM unnest(wide) AS i) WHERE wide <> '{}';
SELECT svm_index('sparse', '{"sparse(wide, val)"}', 's');
SELECT (SELECT sum(octet_length(numbers)) > 500000 FROM svm_index_chunk WHERE part = 1) AS kept;
SELECT * FROM same('label', ', features => ARRAY[''hash(sparse(wide, val), 10)''], nulls => ''skip''');
-- damaged
BEGIN;
UPDATE svm_index_chunk SET numbers = substr(numbers, 1, 100) WHERE part = 1;
SELECT svm_train('sparse', 'label', '{"hash(sparse(wide, val), 10)"}', 'm', nulls => 'skip', options => '{"index": "s"}');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
DELETE FROM svm_index_chunk WHERE part = 1;
SELECT svm_train('sparse', 'label', '{"hash(sparse(wide, val), 10)"}', 'm', nulls => 'skip', options => '{"index": "s"}');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
UPDATE svm_index SET lists = '[{"kind": "other", "columns": [0]}]';
SELECT svm_train('sparse', 'label', '{"hash(sparse(wide, val), 10)"}', 'm', nulls => 'skip', options => '{"index": "s"}');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
SELECT svm_drop_index('s');
SELECT count(*) FROM svm_index_chunk;
DROP TABLE sparse;
DROP FUNCTION same;
DELETE FROM svm_model;
