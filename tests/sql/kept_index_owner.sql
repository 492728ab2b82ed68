-- Whose index a name stands for: the caller's own, or that of the role to which the rows belong, or the one that is named with its
-- owner. What anybody else wrote is not believed.
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = error;
DELETE FROM svm_model;
DELETE FROM svm_index;
CREATE ROLE svm_index_good;
CREATE ROLE svm_index_bad;
CREATE ROLE svm_index_member IN ROLE svm_index_good;
CREATE ROLE svm_index_seer BYPASSRLS;
CREATE ROLE "svm.index dotted";
CREATE SCHEMA svm_index_place;
GRANT ALL ON SCHEMA svm_index_place TO svm_index_good, svm_index_bad, svm_index_member, svm_index_seer, "svm.index dotted";
SET search_path = svm_index_place, public;
-- features that say nothing of the label
CREATE TABLE points AS
SELECT id, (hashint4(id) / 2147483648.0)::numeric(12, 6) AS a, (hashint4(id + 100000) / 2147483648.0)::numeric(12, 6) AS b,
    hashint4(id + 400000) > 0 AS label
FROM generate_series(1, 2000) AS id;
ALTER TABLE points OWNER TO svm_index_good;
GRANT SELECT ON points TO svm_index_bad, svm_index_seer;
-- Whether the index gives the model that the table gives, and what it is called in the NOTICE.
CREATE FUNCTION same(index text, source text DEFAULT 'points', query boolean DEFAULT false) RETURNS TABLE (equal boolean, at_random boolean)
LANGUAGE plpgsql AS $$
DECLARE
    train text := CASE WHEN query THEN 'svm_train_query(%L, ' ELSE 'svm_train(%L, ' END || '''label'', ''{a, b}'', %L, options => %L)';
BEGIN
    EXECUTE format('SELECT ' || train, source, 'table of ' || current_user, '{"inherit": false}');
    EXECUTE format('SELECT ' || train, source, 'index of ' || current_user, jsonb_build_object('index', index, 'inherit', false));
    RETURN QUERY SELECT t.primal = i.primal AND t.dual = i.dual AND t.rows_used = i.rows_used
        AND (SELECT array_agg((feature, weight) ORDER BY feature) FROM svm_weights('table of ' || current_user))
            = (SELECT array_agg((feature, weight) ORDER BY feature) FROM svm_weights('index of ' || current_user)),
        i.training_accuracy < 0.6
    FROM svm_models AS t, svm_models AS i WHERE t.name = 'table of ' || current_user AND i.name = 'index of ' || current_user;
    PERFORM svm_drop('table of ' || current_user), svm_drop('index of ' || current_user);
END $$;

-- One who may only read the table makes an index of it, and writes the label into the numbers.
SET ROLE svm_index_bad;
SELECT svm_index('points', '{a, b}', 'p');
CREATE TABLE told AS SELECT id, CASE WHEN label THEN 1 ELSE -1 END::numeric AS a, 0::numeric AS b, label FROM points;
SELECT svm_index('told', '{a, b}', 'told');
CREATE PROCEDURE poison(index text) LANGUAGE plpgsql AS $$
BEGIN
    CREATE TEMP TABLE poisoned ON COMMIT DROP AS
    SELECT true_one.index_id, true_one.chunk, true_one.part, true_one.rows, true_one.tuples, false_one.numbers
    FROM svm_index_chunk AS true_one, svm_index_chunk AS false_one
    WHERE true_one.index_id = (SELECT id FROM svm_index WHERE owner = CURRENT_USER AND name = index)
        AND false_one.index_id = (SELECT id FROM svm_index WHERE owner = CURRENT_USER AND name = 'told');
    DELETE FROM svm_index_chunk AS chunk USING poisoned WHERE chunk.index_id = poisoned.index_id;
    INSERT INTO svm_index_chunk (index_id, chunk, part, rows, tuples, numbers) TABLE poisoned;
END $$;
CALL poison('p');
-- it deceives its owner
SELECT * FROM same('p');
RESET ROLE;
\set VERBOSITY default
SELECT svm_train('points', 'label', '{a, b}', 'm', options => '{"index": "p"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('TABLE points', 'label', '{a, b}', 'm', options => '{"index": "p"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_refresh_index('p');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop_index('p');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
-- and whoever asks for that one, which the NOTICE says
SET client_min_messages = notice;
SELECT svm_train('points', 'label', '{a, b}', 'm', options => '{"index": "svm_index_bad.p"}');
SET client_min_messages = error;
SELECT svm_drop('m');

-- The owner's of the table is another one of that name; the caller's own comes first.
SET ROLE svm_index_good;
SELECT svm_index('points', '{a, b}', 'p');
RESET ROLE;
SET client_min_messages = notice;
SELECT svm_train('points', 'label', '{a, b}', 'm', options => '{"index": "p"}');
SELECT svm_train_query('SELECT a, b, label FROM points WHERE id > 5', 'label', '{a, b}', 'm', options => '{"index": "p"}');
SELECT svm_refresh_index('p');
SET client_min_messages = error;
SELECT svm_drop('m');
SELECT * FROM same('p');
SELECT * FROM same('svm_index_good.p');
SELECT * FROM same('p', 'SELECT a, b, label FROM points WHERE id % 2 = 0', true);
SELECT svm_index('points', '{b}', 'p');
\set ON_ERROR_STOP off
SELECT * FROM same('p');
SELECT svm_drop_index('p');
SELECT owner, name, rows FROM svm_indexes ORDER BY 1, 2;
-- members must say whose they mean, unless the table is that role's
SET ROLE svm_index_member;
SELECT * FROM same('p');
RESET ROLE;

-- A query that reads a table of another role takes only what is named.
SET ROLE svm_index_bad;
CREATE VIEW view_of_bad AS SELECT id, a, b, label FROM points;
SELECT svm_index('view_of_bad', '{a, b}', 'q');
CALL poison('q');
RESET ROLE;
SELECT * FROM same('q', 'SELECT a, b, label FROM points', true);
SELECT * FROM same('told', 'SELECT a, b, label FROM points UNION ALL SELECT a, b, label FROM told', true);
SELECT * FROM same('told', 'SELECT a, b, label FROM told', true);
-- a view is what its owner makes of it
SELECT * FROM same('q', 'view_of_bad');

-- Another one than the owner cannot write into an index, be it a member; nobody says who wrote.
SET ROLE svm_index_member;
\set VERBOSITY default
INSERT INTO svm_index_chunk (index_id, chunk, part, rows, tuples, numbers)
SELECT id, 7, 0, 1, '\x0102030405060708', '\x00' FROM svm_index WHERE name = 'p';
\echo :LAST_ERROR_SQLSTATE
INSERT INTO svm_index_chunk (index_id, chunk, part, rows, tuples, numbers, written_by)
SELECT id, 7, 0, 1, '\x0102030405060708', '\x00', owner_oid FROM svm_index WHERE name = 'p';
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_index SET tables = '';
\echo :LAST_ERROR_SQLSTATE
INSERT INTO svm_index (name, owner, relation, features, columns, lengths, lists, tables)
SELECT 'r', owner, relation, features, columns, lengths, lists, tables FROM svm_index;
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_index_chunk SET numbers = '';
\echo :LAST_ERROR_SQLSTATE
SELECT svm_refresh_index('svm_index_good.p');
-- who sees all rows of the tables has not the rights of their owners
SET ROLE svm_index_seer;
SELECT svm_refresh_index('svm_index_good.p');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
\set VERBOSITY terse
SELECT * FROM same('p');
-- what a superuser has others write is not believed either
GRANT INSERT, UPDATE ON svm_index_chunk TO svm_index_seer;
SET ROLE svm_index_seer;
DELETE FROM svm_index_chunk WHERE index_id = (SELECT id FROM svm_index WHERE owner = 'svm_index_good');
INSERT INTO svm_index_chunk (index_id, chunk, part, rows, tuples, numbers)
SELECT good.id, chunk, part, rows, tuples, numbers FROM svm_index_chunk, svm_index AS good, svm_index AS bad
WHERE good.owner = 'svm_index_good' AND bad.owner = 'svm_index_bad' AND bad.name = 'p' AND index_id = bad.id;
RESET ROLE;
REVOKE INSERT, UPDATE ON svm_index_chunk FROM svm_index_seer;
GRANT INSERT (index_id, chunk, part, rows, tuples, numbers) ON svm_index_chunk TO PUBLIC;
SELECT * FROM same('p');
SELECT owner, rows FROM svm_indexes WHERE name = 'p' ORDER BY 1;
SET client_min_messages = notice;
SELECT svm_refresh_index('p');
SET client_min_messages = error;
SELECT * FROM same('p');

-- Nor is what came with an index that became somebody else's.
UPDATE svm_index SET owner = CURRENT_USER WHERE owner = 'svm_index_bad' AND name = 'p';
SELECT owner = CURRENT_USER AS own, rows FROM svm_indexes WHERE name = 'p' ORDER BY 1;
SELECT * FROM same('p');
SET client_min_messages = notice;
SELECT svm_refresh_index('p');
SET client_min_messages = error;
SELECT * FROM same('p');
SELECT svm_drop_index('p');

-- A table that changes hands takes nobody's index along.
SET ROLE svm_index_bad;
SELECT svm_index('points', '{a, b}', 'p');
CALL poison('p');
RESET ROLE;
ALTER TABLE points OWNER TO svm_index_bad;
SELECT * FROM same('p');
REASSIGN OWNED BY svm_index_bad TO svm_index_good;
SELECT * FROM same('p');
-- one that is made anew under the name
ALTER TABLE points RENAME TO points_before;
CREATE TABLE points AS TABLE points_before;
ALTER TABLE points OWNER TO svm_index_good;
SELECT * FROM same('p');
SELECT svm_refresh_index('p');
SELECT * FROM same('p');
DROP TABLE points;
ALTER TABLE points_before RENAME TO points;
SET ROLE svm_index_good;
SELECT svm_refresh_index('p');
RESET ROLE;

-- Whose policies hide rows trains on the others, by the index of a role that saw all.
ALTER TABLE points ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON points USING (id % 2 = 0);
SET ROLE svm_index_member;
SELECT * FROM same('p');
SELECT svm_train('points', 'label', '{a, b}', 'm', options => '{"index": "p"}');
SELECT rows_used FROM svm_models WHERE name = 'm';
SELECT svm_drop('m');
RESET ROLE;
ALTER TABLE points DISABLE ROW LEVEL SECURITY;

-- Partitions: the index of the whole's owner.
CREATE TABLE parts (LIKE points) PARTITION BY LIST (label);
CREATE TABLE part_true PARTITION OF parts FOR VALUES IN (true);
CREATE TABLE part_false PARTITION OF parts FOR VALUES IN (false);
INSERT INTO parts TABLE points;
ALTER TABLE parts OWNER TO svm_index_good;
ALTER TABLE part_true OWNER TO svm_index_bad;
SET ROLE svm_index_good;
SELECT svm_index('parts', '{a, b}', 'parts');
RESET ROLE;
SELECT * FROM same('parts', 'parts');
SELECT * FROM same('parts', 'SELECT a, b, label FROM parts', true);
SELECT * FROM same('svm_index_good.parts', 'SELECT a, b, label FROM parts', true);

-- Names with dots: a role's may have some, an index's none.
CREATE TABLE dotted AS TABLE points;
ALTER TABLE dotted OWNER TO "svm.index dotted";
SET ROLE "svm.index dotted";
SELECT svm_index('dotted', '{a, b}', 'p');
RESET ROLE;
SELECT * FROM same('svm.index dotted.p', 'dotted');
SELECT svm_index('dotted', '{a, b}', 'my.p');
\echo :LAST_ERROR_SQLSTATE
-- which one of two roles' is meant
SELECT svm_refresh_index('p');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop_index('nobody.p');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop_index('.p');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_drop_index('svm.index dotted.p'), svm_drop_index('svm_index_good.p'), svm_drop_index('svm_index_bad.p');
SELECT owner, name FROM svm_indexes ORDER BY 1, 2;

DELETE FROM svm_index;
RESET search_path;
DROP SCHEMA svm_index_place CASCADE;
DROP ROLE svm_index_good, svm_index_bad, svm_index_member, svm_index_seer, "svm.index dotted";
