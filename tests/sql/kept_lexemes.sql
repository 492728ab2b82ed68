-- svm_index: the lexemes that text search configurations make of texts
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = warning;
DELETE FROM svm_model;
DELETE FROM svm_index;
CREATE TEXT SEARCH CONFIGURATION own (COPY = english);
CREATE TEXT SEARCH DICTIONARY plainly (TEMPLATE = simple);
CREATE TABLE texts AS
SELECT id, body, body::char(400) AS padded, position('running ' IN body) > 0 OR id % 9 = 1 AS label, id % 3 AS kind
FROM (
    SELECT id, (SELECT coalesce(string_agg(CASE k % 5 WHEN 0 THEN 'the' WHEN 1 THEN 'Houses' WHEN 2 THEN 'running'
            ELSE CASE id * k % 3 WHEN 0 THEN 'Word' WHEN 1 THEN 'own-words' ELSE 'http://a.b/c' END || abs(hashint4(id * 7 + k)) % 40 END, ' '), '')
         FROM generate_series(id % 7, id % 30) AS k) AS body
    FROM generate_series(1, 1500) AS id
) AS made;
-- a lexeme in more places than a vector keeps
INSERT INTO texts SELECT 2000, repeat('houses of ', 400) || ' running ' || repeat('y z ', 300), '', true, 1;
ALTER TABLE texts ADD PRIMARY KEY (id);
VACUUM FULL texts;
CREATE FUNCTION same(features text[], more text DEFAULT '', options jsonb DEFAULT '{}') RETURNS TABLE (equal boolean, rows_used bigint, features_used bigint)
LANGUAGE plpgsql AS $$
DECLARE
    plain jsonb := options || '{"inherit": false}';
BEGIN
    EXECUTE format('SELECT svm_train(''texts'', ''label'', %L, ''table'', %s options => %L)', features, more, plain);
    EXECUTE format('SELECT svm_train(''texts'', ''label'', %L, ''index'', %s options => %L)', features, more, plain || '{"index": "t"}');
    RETURN QUERY SELECT t.primal = i.primal AND t.dual = i.dual AND t.features = i.features
        AND (SELECT array_agg((feature, class, weight) ORDER BY feature, class) FROM svm_weights('table'))
            = (SELECT array_agg((feature, class, weight) ORDER BY feature, class) FROM svm_weights('index')), i.rows_used, i.features
    FROM svm_models AS t, svm_models AS i WHERE t.name = 'table' AND i.name = 'index';
    PERFORM svm_drop('table'), svm_drop('index');
END $$;
\set VERBOSITY default
SET client_min_messages = notice;
SELECT svm_index('texts', '{"text(body, english)", "text(body, own)", text(body), "text(padded, simple)"}', 't');
SET client_min_messages = warning;
\set VERBOSITY terse
SELECT features, columns, lengths, jsonb_path_query_array(lists, '$[*].columns') AS lists,
    (SELECT count(DISTINCT list -> 'configuration') FROM jsonb_array_elements(lists) AS list) AS configurations FROM svm_index;
SELECT * FROM same('{"text(body, english)"}');
SELECT * FROM same('{"text(body, english, 2)"}');
SELECT * FROM same('{"text(body, own)", text(body)}', 'loss => ''hinge'', c => 0.1,', '{"min_df": 3, "sublinear": true}');
SELECT * FROM same('{"text(padded, simple, 3)"}');
-- most words without a number of their own: those that come first have one
SELECT * FROM same('{"text(body, english)"}', '', '{"max_words": 20, "hash_bits": 5}');
SELECT * FROM same('{"text(body, english, 2)"}', '', '{"max_words": 20, "hash_bits": 5}');
-- while a worker trains
SET pgsvm.cache_size = '32kB';
SET pgsvm.min_parallel_size = 0;
SELECT svm_train('texts', 'label', '{"text(body, english, 2)"}', 'm', solver => 'stream', options => '{"index": "t", "inherit": false}');
SELECT gap <= 1e-3 AS gap, workers FROM svm_models;
RESET pgsvm.cache_size;
RESET pgsvm.min_parallel_size;
-- by a configuration that the index does not have
SELECT * FROM same('{"text(body, german)"}');

-- That they are read: the words of other rows make another model.
CREATE FUNCTION mirrored() RETURNS void LANGUAGE sql AS $$
    UPDATE svm_index_chunk AS chunk SET tuples = other.tuples FROM (
        SELECT chunk, string_agg(substr(tuples, 1 + 8 * (rows - 1 - row), 8), '' ORDER BY row) AS tuples
        FROM svm_index_chunk, generate_series(0, rows - 1) AS row WHERE part = 0 GROUP BY chunk) AS other
    WHERE chunk.chunk = other.chunk AND chunk.part = 0
$$;
BEGIN;
SELECT mirrored();
SELECT * FROM same('{"text(body, english)"}');
SELECT * FROM same('{"text(body, own, 2)"}');
SELECT * FROM same('{"text(body, german)"}');
ROLLBACK;

-- A configuration that has changed: from the table, until the index is brought up to date.
ALTER TEXT SEARCH CONFIGURATION own ALTER MAPPING FOR asciiword WITH plainly;
SELECT * FROM same('{"text(body, own)"}');
BEGIN;
SELECT mirrored();
SELECT * FROM same('{"text(body, own)"}');
SELECT * FROM same('{"text(body, english)"}');
ROLLBACK;
ALTER TEXT SEARCH DICTIONARY plainly (ACCEPT = false);
ALTER TEXT SEARCH CONFIGURATION own ALTER MAPPING FOR asciiword WITH plainly, english_stem;
DELETE FROM texts WHERE id < 10;
SET client_min_messages = notice;
SELECT svm_refresh_index('t');
SET client_min_messages = warning;
SELECT * FROM same('{"text(body, own)"}');
BEGIN;
SELECT mirrored();
SELECT * FROM same('{"text(body, own)"}');
ROLLBACK;
-- an option of a dictionary
ALTER TEXT SEARCH DICTIONARY plainly (ACCEPT = true);
BEGIN;
SELECT mirrored();
SELECT * FROM same('{"text(body, own)"}');
ROLLBACK;
ALTER TEXT SEARCH DICTIONARY plainly (ACCEPT = false);

-- Rows that change, with the index brought up to date.
UPDATE texts SET body = body || ' newly running' WHERE id % 50 = 0;
UPDATE texts SET body = NULL WHERE id = 77;
SET client_min_messages = notice;
SELECT svm_refresh_index('t');
SET client_min_messages = warning;
SELECT * FROM same('{"text(body, english)"}', 'nulls => ''zero'',');
SELECT * FROM same('{"text(body, own, 2)"}', 'nulls => ''skip'',');

-- what cannot be
\set ON_ERROR_STOP off
\set VERBOSITY default
DROP TEXT SEARCH CONFIGURATION own;
SELECT svm_refresh_index('t');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_index('texts', '{"text(body, own)"}', 't');
\echo :LAST_ERROR_SQLSTATE
DROP FUNCTION same, mirrored;
DROP TABLE texts;
DROP TEXT SEARCH DICTIONARY plainly;
SELECT svm_drop_index('t');
DELETE FROM svm_model;
