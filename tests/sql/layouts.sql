-- however a table keeps its columns, the same rows give the same model
\set VERBOSITY terse
-- that what is learned from numbers like these is worth little is no matter here
SET client_min_messages = error;
CREATE TABLE plain AS
    SELECT (hashint4(i) & 7 > 3) AS label, i::int2 AS a, hashint4(i) AS b, i::int8 * 3 AS c, (hashint4(-i) / 2e9)::real AS d,
           hashint4(i + 7) / 2e9::float8 AS e, i % 3 = 0 AS f
    FROM generate_series(1, 500) AS i;
CREATE FUNCTION trained(of_table text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM svm_train(of_table::regclass, 'label', ARRAY['a', 'b', 'c', 'd', 'e', 'f'], model => of_table, nulls => 'skip');
    RETURN (SELECT CASE WHEN model.rows_used <> first.rows_used THEN format('%s rows', model.rows_used)
                        WHEN model.primal = first.primal AND model.dual = first.dual THEN 'the same'
                        ELSE format('objective %s, not %s', model.primal, first.primal) END
            FROM svm_models AS model, svm_models AS first WHERE model.name = of_table AND first.name = 'plain');
END $$;
SELECT trained('plain');

-- the label last, columns in another order, others between and around them
CREATE TABLE moved AS SELECT f, d, e, c, b, a, label FROM plain;
CREATE TABLE among AS SELECT 'x'::"char" AS w, a, 1::int2 AS u, b, c, d, e, 1 AS v, label, f, 'text' AS z FROM plain;
CREATE TABLE behind_text AS SELECT repeat('x', a % 7) AS z, f, a, b, d, label, c, e FROM plain;
SELECT name, trained(name) FROM unnest(ARRAY['moved', 'among', 'behind_text']) AS name;

-- a column dropped, and one added later, whose values older rows do not hold
CREATE TABLE dropped AS SELECT 1 AS gone, label, a, b, c, d, e, f FROM plain;
ALTER TABLE dropped DROP COLUMN gone;
CREATE TABLE added AS SELECT label, a, b, c, d, e FROM plain WHERE f;
ALTER TABLE added ADD COLUMN f boolean DEFAULT true;
INSERT INTO added SELECT label, a, b, c, d, e, f FROM plain WHERE NOT f;
CREATE VIEW in_two_halves AS SELECT * FROM plain WHERE f UNION ALL SELECT * FROM plain WHERE NOT f;
CREATE TABLE in_order_of_added AS SELECT * FROM in_two_halves;
SELECT trained('dropped');
SELECT trained('added') IS NOT NULL AND trained('in_order_of_added') IS NOT NULL AS trained;
SELECT count(DISTINCT primal) FROM svm_models WHERE name IN ('added', 'in_order_of_added');

-- rows with NULLs among the others: in a column of features, and in one that is not read
CREATE TABLE with_nulls AS SELECT * FROM plain;
ALTER TABLE with_nulls ADD COLUMN unread int;
UPDATE with_nulls SET unread = 1 WHERE a % 2 = 0;
INSERT INTO with_nulls SELECT label, a, NULL, c, d, e, f, 1 FROM plain WHERE a % 5 = 0;
CREATE TABLE in_order_of_updates AS SELECT label, a, b, c, d, e, f FROM with_nulls WHERE b IS NOT NULL;
SELECT trained('with_nulls') IS NOT NULL AND trained('in_order_of_updates') IS NOT NULL AS trained;
SELECT count(DISTINCT primal), max(rows_used), min(rows_used)
FROM svm_models WHERE name IN ('with_nulls', 'in_order_of_updates');

-- partitions that differ in layout
CREATE TABLE parted (label boolean, a int2, b int4, c int8, d real, e float8, f boolean) PARTITION BY RANGE (a);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (200);
CREATE TABLE parted_2 (f boolean, z text, e float8, d real, c int8, b int4, a int2, label boolean);
ALTER TABLE parted_2 DROP COLUMN z;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (200) TO (1000);
INSERT INTO parted SELECT * FROM plain;
SELECT trained('parted');

-- rights on the columns that are read are enough
CREATE ROLE layouts_reader;
GRANT SELECT (f, d, e, c, b, a, label) ON moved TO layouts_reader;
ALTER TABLE moved ADD COLUMN secret int;
SET ROLE layouts_reader;
SELECT svm_train_query('SELECT label, a, b, c, d, e, f FROM moved', 'label', model => 'permitted');
SELECT svm_train_query('SELECT label, a, secret FROM moved', 'label', model => 'not_permitted');
RESET ROLE;
DROP OWNED BY layouts_reader;
DROP ROLE layouts_reader;
DROP TABLE plain, moved, among, behind_text, dropped, added, with_nulls, in_order_of_added, in_order_of_updates, parted CASCADE;
DROP FUNCTION trained;

DELETE FROM svm_model;
