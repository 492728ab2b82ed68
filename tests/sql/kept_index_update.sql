-- svm_refresh_index: an index is brought up to date where it is, and rows that are gone leave it
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = warning;
DELETE FROM svm_model;
DELETE FROM svm_index;
CREATE TABLE points AS
SELECT id, (hashint4(id) / 2147483648.0)::numeric(12, 6) AS a,
    ARRAY[hashint4(id + 200000) / 2147483648.0, hashint4(id + 300000) / 2147483648.0]::real[] AS pair,
    format('%s:%s %s:1', id % 50, hashint4(id + 9) / 2147483648.0, 50 + id % 9) AS line, 'own' || id % 900 || ' Word' || id % 17 || ' word' || id % 5 AS body,
    hashint4(id) / 2 + hashint4(id + 200000) / 4 > hashint4(id + 400000) / 8 AS label
FROM generate_series(1, 40000) AS id;
-- its size, and the places of its rows, are the same in every run
VACUUM FULL points;
-- Whether the index gives the model that the table gives; rows of which it knows something.
CREATE FUNCTION same(features text[]) RETURNS TABLE (equal boolean, rows_used bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM svm_train('points', 'label', features, 'table', options => '{"inherit": false}');
    PERFORM svm_train('points', 'label', features, 'index', options => '{"index": "p", "inherit": false}');
    RETURN QUERY SELECT t.primal = i.primal AND t.dual = i.dual AND t.features = i.features
        AND (SELECT array_agg((feature, class, weight) ORDER BY feature, class) FROM svm_weights('table'))
            = (SELECT array_agg((feature, class, weight) ORDER BY feature, class) FROM svm_weights('index')), i.rows_used
    FROM svm_models AS t, svm_models AS i WHERE t.name = 'table' AND i.name = 'index';
    PERFORM svm_drop('table'), svm_drop('index');
END $$;
-- Its chunks, and whether they are those of the last look.
CREATE TABLE before (chunk int, part int, told text);
CREATE FUNCTION chunks() RETURNS TABLE (chunk int, rows int, parts bigint, as_before boolean) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT c.chunk, c.rows, count(*), bool_and(md5(c.tuples) || md5(c.numbers) IS NOT DISTINCT FROM b.told)
    FROM svm_index_chunk AS c LEFT JOIN before AS b ON b.chunk = c.chunk AND b.part = c.part
    WHERE index_id = (SELECT id FROM svm_index WHERE name = 'p') GROUP BY c.chunk, c.rows ORDER BY c.chunk;
    TRUNCATE before;
    INSERT INTO before SELECT c.chunk, c.part, md5(c.tuples) || md5(c.numbers) FROM svm_index_chunk AS c;
END $$;
-- What the rows of an index are known by.
CREATE FUNCTION known(index text) RETURNS SETOF bytea LANGUAGE sql AS $$
    SELECT substr(tuples, 1 + 8 * row, 8) FROM svm_index_chunk, generate_series(0, rows - 1) AS row
    WHERE part = 0 AND index_id = (SELECT id FROM svm_index WHERE name = index)
$$;
-- Whether it knows the rows that an index knows which is made now, and no others.
CREATE FUNCTION as_made_now() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM svm_index('points', '{a, pair, libsvm(line), text(body)}', 'now');
    RETURN (SELECT array_agg(k ORDER BY k) FROM known('p') AS k) = (SELECT array_agg(k ORDER BY k) FROM known('now') AS k)
        AND svm_drop_index('now') = 'now';
END $$;
SELECT svm_index('points', '{a, pair, libsvm(line), text(body)}', 'p');
SELECT features FROM svm_index;
SELECT * FROM chunks();

\set VERBOSITY default
SET client_min_messages = notice;
-- Nothing has changed.
SELECT svm_refresh_index('p');
SELECT * FROM chunks();

-- Rows that come are in a chunk behind the others, with what is in a small one there.
INSERT INTO points SELECT id + 40000, a, pair, line, 'fresh ' || body, label FROM points WHERE id <= 500;
SELECT svm_refresh_index('p');
SELECT * FROM chunks();
INSERT INTO points SELECT id + 50000, a, pair, line, body, label FROM points WHERE id <= 20000;
SELECT svm_refresh_index('p');
SELECT * FROM chunks();

-- Rows that go leave the one chunk that they are in.
DELETE FROM points WHERE id BETWEEN 20000 AND 20009;
\set VERBOSITY terse
SELECT svm_train('points', 'label', '{a, text(body)}', 'm', options => '{"index": "p", "inherit": false}');
\set VERBOSITY default
SELECT svm_refresh_index('p');
SELECT * FROM chunks();
SET client_min_messages = warning;
SELECT * FROM same('{a, pair, libsvm(line), text(body)}');
SELECT as_made_now();
SET client_min_messages = notice;

-- Rows that change.
UPDATE points SET a = -a, body = body || ' changed' WHERE id BETWEEN 17000 AND 17499;
SELECT svm_refresh_index('p');
SELECT * FROM chunks();
-- into places that others have left, among those that stay
VACUUM points;
UPDATE points SET a = 1 - a, line = line || ' 77:1' WHERE id % 1000 = 7;
SELECT svm_refresh_index('p');
SELECT rows FROM chunks();
SET client_min_messages = warning;
SELECT * FROM same('{a, pair, libsvm(line), text(body)}');
SELECT * FROM same('{pair}');
SELECT as_made_now();
SET client_min_messages = notice;

-- A chunk of which little is left joins the next.
DELETE FROM points WHERE id <= 10000 AND id % 100 > 0 OR id BETWEEN 15000 AND 30000 AND id % 50 > 0;
SELECT svm_refresh_index('p');
SELECT rows FROM chunks();
SELECT svm_refresh_index('p');
SELECT rows, as_before FROM chunks();
-- with a NULL: not kept
UPDATE points SET a = NULL WHERE id = 35000;
SELECT svm_refresh_index('p');
SET client_min_messages = warning;
SELECT as_made_now();
DELETE FROM points WHERE a IS NULL;
SELECT * FROM same('{a, pair, libsvm(line), text(body)}');

-- What is rolled back is as if it had not been.
SELECT count(*) FROM chunks();
BEGIN;
DELETE FROM points WHERE id % 2 = 0;
SELECT svm_refresh_index('p');
SELECT rows < 20000 AS fewer FROM svm_indexes;
ROLLBACK;
SELECT bool_and(as_before) FROM chunks();

-- after a crash, and where nothing is known of the table any more
DELETE FROM svm_index_chunk;
SET client_min_messages = notice;
SELECT svm_refresh_index('p');
VACUUM FULL points;
-- how large the table is now depends on whether anybody may still see rows that are gone
SET client_min_messages = warning;
SELECT svm_refresh_index('p');
SET client_min_messages = notice;
SELECT rows FROM svm_indexes WHERE name = 'p';
TRUNCATE points;
SELECT svm_refresh_index('p');
-- arrays of another length
INSERT INTO points SELECT id, id % 7, ARRAY[id % 5, id % 3, id % 11], '1:1', 'a' || id % 5, id % 7 > id % 5 FROM generate_series(1, 100) AS id;
SELECT svm_refresh_index('p');
SET client_min_messages = warning;
SELECT * FROM same('{a, pair, text(body)}');
SELECT lengths FROM svm_index;

-- Bytes of a row that is gone are in no row of the chunks.
CREATE TABLE few (x float8, body text, "odd, name" int[], "odd (value)" real[]);
INSERT INTO few VALUES (pi(), 'Open words', '{1,7}', '{1,2}'), (exp(1), 'Somebodyssecret word', '{3}', '{3}'), (sqrt(2), 'More words', '{2,9}', '{4,5}');
SELECT svm_index('few', '{x, text(body), "sparse(\"odd, name\", \"odd (value)\")"}', 'few');
CREATE VIEW held AS SELECT bool_or(position('somebodyssecret'::bytea IN numbers) > 0) AS word,
    bool_or(position('\x6957148b0abf0540' IN numbers) > 0) AS number, sum(rows) FILTER (WHERE part = 0) AS rows
FROM svm_index_chunk WHERE index_id = (SELECT id FROM svm_index WHERE name = 'few');
SELECT * FROM held;
DELETE FROM few WHERE x = exp(1);
SELECT svm_refresh_index('few');
SELECT * FROM held;

-- The same rows twice, and in another order than before.
CREATE TABLE one AS SELECT id % 13 AS x, id % 7 AS y, id % 13 > id % 7 AS label FROM generate_series(1, 10000) AS id;
CREATE TABLE two AS SELECT x - 1 AS x, y, label FROM one;
-- PostgreSQL extends a table that is filled by more than its rows take, from version 16 on
VACUUM FULL one;
VACUUM FULL two;
CREATE VIEW doubled AS SELECT x, y, label FROM one UNION ALL SELECT x, y, label FROM two UNION ALL SELECT x, y, label FROM one;
SELECT svm_index('doubled', '{x, y}', 'b');
SET client_min_messages = notice;
DELETE FROM one WHERE x = 12;
SELECT svm_refresh_index('b');
CREATE OR REPLACE VIEW doubled AS SELECT x, y, label FROM two UNION ALL SELECT x, y, label FROM one UNION ALL SELECT x, y, label FROM one;
SELECT svm_refresh_index('b');
\set VERBOSITY terse
SELECT svm_train('doubled', 'label', '{x, y}', 'b', options => '{"index": "b", "inherit": false}');
\set VERBOSITY default
-- columns that are made of others than before
CREATE OR REPLACE VIEW doubled AS SELECT y AS x, x AS y, label FROM two;
SELECT svm_refresh_index('b');
\set VERBOSITY terse
SELECT svm_train('doubled', 'label', '{x, y}', 'b', options => '{"index": "b", "inherit": false}');
\set VERBOSITY default

-- partitions that come and go
CREATE TABLE parts (LIKE one) PARTITION BY LIST (y);
CREATE TABLE low PARTITION OF parts FOR VALUES IN (0, 1, 2);
CREATE TABLE high PARTITION OF parts FOR VALUES IN (3, 4, 5, 6);
INSERT INTO parts SELECT * FROM one WHERE y < 3;
SELECT svm_index('parts', '{x, y}', 'parts');
ALTER TABLE parts DETACH PARTITION low;
INSERT INTO parts SELECT * FROM one WHERE y = 3;
SELECT svm_refresh_index('parts');
ALTER TABLE parts ATTACH PARTITION low FOR VALUES IN (0, 1, 2);
SELECT svm_refresh_index('parts');
\set VERBOSITY terse
SELECT svm_train('parts', 'label', '{x, y}', 'parts', options => '{"index": "parts", "inherit": false}');
\set VERBOSITY default

-- whoever calls, it keeps what its owner may read
CREATE ROLE svm_index_owner;
CREATE ROLE svm_index_member IN ROLE svm_index_owner;
CREATE ROLE svm_index_other;
ALTER TABLE parts ENABLE ROW LEVEL SECURITY;
CREATE POLICY rows_of_role ON parts USING (CASE current_user WHEN 'svm_index_owner' THEN x = 5 ELSE true END);
GRANT SELECT ON parts TO svm_index_owner, svm_index_other;
SET ROLE svm_index_owner;
SELECT svm_index('parts', '{x, y}', 'own');
RESET ROLE;
INSERT INTO parts VALUES (5, 0, true), (6, 0, true);
SET ROLE svm_index_member;
SELECT svm_refresh_index('svm_index_owner.own');
RESET ROLE;
INSERT INTO parts VALUES (5, 1, true), (6, 1, true);
SELECT svm_refresh_index('svm_index_owner.own');
DROP POLICY rows_of_role ON parts;
CREATE POLICY rows_of_role ON parts USING (x = 6);
SELECT svm_refresh_index('svm_index_owner.own');
SELECT name, owner, rows FROM svm_indexes WHERE name = 'own';
-- nothing any more, and something again
DROP POLICY rows_of_role ON parts;
SELECT svm_refresh_index('svm_index_owner.own');
CREATE POLICY rows_of_role ON parts USING (x = 6);
SELECT svm_refresh_index('svm_index_owner.own');

-- what cannot be
\set ON_ERROR_STOP off
SET ROLE svm_index_other;
SELECT svm_refresh_index('svm_index_owner.own');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
REVOKE SELECT ON parts FROM svm_index_owner;
SELECT svm_refresh_index('svm_index_owner.own');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_refresh_index('none');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_refresh_index(NULL);
\echo :LAST_ERROR_SQLSTATE
BEGIN READ ONLY;
SELECT svm_refresh_index('p');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
UPDATE svm_index_chunk SET numbers = substr(numbers, 1, length(numbers) - 1);
DELETE FROM points WHERE id = 5;
SELECT svm_refresh_index('p');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
INSERT INTO points SELECT * FROM points;
BEGIN;
UPDATE svm_index_chunk SET chunk = 2147483647 WHERE index_id = (SELECT id FROM svm_index WHERE name = 'p');
SELECT svm_refresh_index('p');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
CREATE OR REPLACE VIEW doubled AS SELECT max(x) AS x, y, true AS label FROM two GROUP BY y;
SELECT svm_refresh_index('b');
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE points ALTER a TYPE text;
SELECT svm_refresh_index('p');
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE points DROP a;
SELECT svm_refresh_index('p');
\echo :LAST_ERROR_SQLSTATE
DROP TABLE points;
SELECT svm_refresh_index('p');
\echo :LAST_ERROR_SQLSTATE
DROP TABLE parts;
DROP ROLE svm_index_owner, svm_index_member, svm_index_other;
SELECT svm_refresh_index('svm_index_owner.own');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
SET client_min_messages = warning;
DELETE FROM svm_index;
SELECT count(*) FROM svm_index_chunk;
DROP TABLE before, one, two, few CASCADE;
DROP FUNCTION same, chunks, known, as_made_now;
DELETE FROM svm_model;
