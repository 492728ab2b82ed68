-- svm_index: the words of texts, kept from one training to the next
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = warning;
DELETE FROM svm_model;
DELETE FROM svm_index;
CREATE TABLE texts AS
SELECT id, body, body::char(400) AS padded, string_to_array(body, ' ') AS words, to_tsvector('simple', body) AS lexemes, a,
    position('Word7 ' IN body) > 0 OR a > 0.9 AS label, id % 3 AS kind
FROM (
    SELECT id, hashint4(id + 1000) / 2147483648.0::float8 AS a,
        (SELECT coalesce(string_agg(CASE k % 5 WHEN 0 THEN 'Ünder-' || abs(hashint4(id * 31 + k)) % 40 WHEN 1 THEN 'WORD' || k % 30 ELSE 'Word' || abs(hashint4(id * 7 + k)) % 60 END, ' '), '')
         FROM generate_series(1, id % 30) AS k) AS body
    FROM generate_series(1, 1500) AS id
) AS made;
INSERT INTO texts SELECT 2000, repeat('x', 1200) || ' ' || repeat('y z', 30) || ' Word7 ', '', '{}', '', 0, true, 1;
ALTER TABLE texts ADD PRIMARY KEY (id);
VACUUM FULL texts;

\set VERBOSITY default
SET client_min_messages = notice;
-- a column of texts that nobody named is found by its first rows
SELECT svm_index('texts', name => 't');
SET client_min_messages = warning;
SELECT columns, rows FROM svm_indexes;
SELECT lengths, lists FROM svm_index;
\set VERBOSITY terse
CREATE FUNCTION same(label text, features text[], more text DEFAULT '', options jsonb DEFAULT '{}') RETURNS TABLE (equal boolean, rows_used bigint, features_used bigint)
LANGUAGE plpgsql AS $$
DECLARE
    plain jsonb := options || '{"inherit": false}';
BEGIN
    EXECUTE format('SELECT svm_train(''texts'', %L, %L, ''table'', %s options => %L)', label, features, more, plain);
    EXECUTE format('SELECT svm_train(''texts'', %L, %L, ''index'', %s options => %L)', label, features, more, plain || '{"index": "t"}');
    RETURN QUERY SELECT t.primal = i.primal AND t.dual = i.dual AND t.features = i.features
        AND (SELECT array_agg((feature, class, weight) ORDER BY feature, class) FROM svm_weights('table'))
            = (SELECT array_agg((feature, class, weight) ORDER BY feature, class) FROM svm_weights('index')), i.rows_used, i.features
    FROM svm_models AS t, svm_models AS i WHERE t.name = 'table' AND i.name = 'index';
    PERFORM svm_drop('table'), svm_drop('index');
END $$;
SELECT * FROM same('label', '{text(body)}');
SELECT * FROM same('label', '{"text(body, 3)"}');
SELECT * FROM same('label', '{words, lexemes, a}');
SELECT * FROM same('label', '{text(padded)}', 'loss => ''hinge'', c => 0.1,');
SELECT * FROM same('kind', '{text(body)}', '', '{"min_df": 3, "max_df": 0.5, "sublinear": true}');
-- most words without a number of their own
SELECT * FROM same('kind', '{text(body)}', '', '{"max_words": 20, "hash_bits": 5}');
SELECT * FROM same('label', '{text(body), "ngrams(body, 2, 2)", "text(body, english)"}');
-- texts that nobody named
SELECT * FROM same('label', NULL, 'exclude => ''{padded}'',');

-- That they are read: the first pass takes them from the index, and the second keeps what the first has met, or reads them again.
CREATE FUNCTION mirrored() RETURNS void LANGUAGE sql AS $$
    UPDATE svm_index_chunk AS chunk SET tuples = other.tuples FROM (
        SELECT chunk, string_agg(substr(tuples, 1 + 8 * (rows - 1 - row), 8), '' ORDER BY row) AS tuples
        FROM svm_index_chunk, generate_series(0, rows - 1) AS row WHERE part = 0 GROUP BY chunk) AS other
    WHERE chunk.chunk = other.chunk AND chunk.part = 0
$$;
BEGIN;
SELECT mirrored();
SELECT * FROM same('label', '{text(body)}');
SELECT * FROM same('label', '{"text(body, 2)"}');
SELECT * FROM same('label', '{"text(body, english)"}');
ROLLBACK;
-- what a quarter of the cache does not hold is read from the index twice
SET pgsvm.cache_size = '64kB';
SET pgsvm.workers = 0;
SET pgsvm.helpers = 0;
SELECT * FROM same('label', '{text(body)}');
SELECT * FROM same('label', '{"text(body, 2)"}');
RESET pgsvm.cache_size;
RESET pgsvm.workers;
RESET pgsvm.helpers;

-- Rows that have changed, and NULL.
UPDATE texts SET body = 'Word7 came ' || body WHERE id % 10 = 0;
UPDATE texts SET body = NULL WHERE id = 77;
DELETE FROM texts WHERE id < 20;
SELECT * FROM same('label', '{text(body)}', 'nulls => ''zero'',');
SELECT * FROM same('label', '{"text(body, 2)"}', 'nulls => ''skip'',');
VACUUM FULL texts;
SELECT svm_index('texts', '{text(body)}', 't');
SELECT * FROM same('label', '{text(body)}', 'nulls => ''zero'',');
-- by a query that names the column otherwise, and several chunks of rows
TRUNCATE texts;
INSERT INTO texts (id, body, label)
SELECT id, format('w%s w%s w%s', abs(hashint4(id)) % 3000, abs(hashint4(id + 7)) % 100, id % 7), hashint4(id) % 9 > id % 7 FROM generate_series(1, 20000) AS id;
SELECT svm_index('texts', '{text(body)}', 't');
SELECT count(*) AS chunks FROM svm_index_chunk WHERE part = 1;
SELECT * FROM same('label', '{text(body)}');
SET client_min_messages = notice;
SELECT svm_train_query('SELECT body AS told, label FROM texts WHERE id % 3 = 0 OR id < 9', 'label', '{text(told)}', 'q', options => '{"index": "t", "inherit": false}');
SET client_min_messages = warning;
SELECT svm_train_query('SELECT body AS told, label FROM texts WHERE id % 3 = 0 OR id < 9', 'label', '{text(told)}', 'p', options => '{"inherit": false}');
SELECT count(DISTINCT primal), count(DISTINCT dual) FROM svm_models WHERE name IN ('p', 'q');
-- damaged
\set ON_ERROR_STOP off
\set VERBOSITY default
BEGIN;
UPDATE svm_index_chunk SET numbers = substr(numbers, 1, length(numbers) - 1) WHERE part = 1;
SELECT svm_train('texts', 'label', '{text(body)}', 'm', nulls => 'skip', options => '{"index": "t"}');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
SELECT svm_index('texts', '{"ngrams(body, 2, 3)"}', 't');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_index('texts', '{body}', 't');
\echo :LAST_ERROR_SQLSTATE
DROP FUNCTION same, mirrored;
DROP TABLE texts;
SELECT svm_drop_index('t');
DELETE FROM svm_model;
