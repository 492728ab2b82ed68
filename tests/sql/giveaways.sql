-- What gives the label away is left out where the catalog says so, or named in a WARNING; numbers of rows likewise.
\set SHOW_CONTEXT never
CREATE SCHEMA giveaways;
SET search_path = giveaways, public;

-- trains, and says which columns the model reads
CREATE FUNCTION told(training text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE model text; parts text;
BEGIN
    EXECUTE 'SELECT ' || training INTO model;
    SELECT string_agg(part->>'name', ', ' ORDER BY place) INTO parts
    FROM svm_version AS v JOIN svm_model AS m ON v.model_id = m.id AND v.version = m.current_version,
        jsonb_array_elements(v.features->'parts') WITH ORDINALITY AS p (part, place)
    WHERE m.name = model;
    RETURN parts;
END$$;
SET client_min_messages = warning;

-- a number from 0 to 1 that looks drawn, of a row and a column
CREATE FUNCTION drawn(row_number int, number int) RETURNS float8 LANGUAGE sql IMMUTABLE
    RETURN (hashint8extended(row_number, number) & 1048575) / 1048576.0;
CREATE TABLE rows AS
    SELECT i AS nr, drawn(i, 1) AS a, drawn(i, 2) AS b, drawn(i, 3) AS c, 'k' || (drawn(i, 4) * 5)::int AS kind,
        drawn(i, 1) + drawn(i, 2) > 1.2 AS y, (ARRAY['low', 'middle', 'high'])[1 + (drawn(i, 1) + drawn(i, 2) > .8)::int + (drawn(i, 1) + drawn(i, 2) > 1.2)::int] AS z
    FROM generate_series(1, 1500) AS i;
ALTER TABLE rows DROP COLUMN nr;

-- honest rows: nothing is said
SELECT told($$svm_train('rows', 'y', exclude => '{z}')$$);
SELECT told($$svm_train('rows', 'z', exclude => '{y}')$$);

-- generated columns: of the label, and by a model that a function holds
SELECT svm_create_function('rows_y@1', 'score', kind => 'decision', immutable => true);
CREATE FUNCTION wrapped(a float8, b float8, c float8, kind text) RETURNS float8 LANGUAGE sql IMMUTABLE RETURN 2 * score(a, b, c, kind);
-- bodies that PostgreSQL parses when they run, the name in capitals or quoted, behind another one
CREATE FUNCTION in_plpgsql(a float8, b float8, c float8, kind text) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RETURN "score" (a, b, c, kind); END$$;
CREATE FUNCTION behind(a float8, b float8, c float8, kind text) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$SELECT 3 + IN_PLPGSQL($1, $2, $3, $4)$$;
CREATE FUNCTION by_decision(a float8, b float8, c float8, kind text) RETURNS float8 LANGUAGE plpgsql AS
$$BEGIN RETURN (SELECT public . SVM_DECISION ('rows_y@1', r) FROM (SELECT a, b, c, kind) AS r); END$$;
ALTER TABLE rows ADD flag int GENERATED ALWAYS AS (CASE WHEN y THEN 7 ELSE 3 END) STORED,
    ADD "twice it" text GENERATED ALWAYS AS ('y is ' || y::int) STORED,
    ADD scored float8 GENERATED ALWAYS AS (score(a, b, c, kind)) STORED,
    ADD scored_in_plpgsql float8 GENERATED ALWAYS AS (in_plpgsql(a, b, c, kind)) STORED,
    ADD scored_behind float8 GENERATED ALWAYS AS (behind(a, b, c, kind)) STORED,
    ADD scored_by_another float8 GENERATED ALWAYS AS (1 + wrapped(a, b, c, kind)) STORED,
    ADD honest float8 GENERATED ALWAYS AS (a * b + sqrt(c)) STORED;
SELECT told($$svm_train('rows', 'y', exclude => '{z}', options => '{"inherit": false}')$$);
-- whoever names them takes them, and is told
SELECT told($$svm_train('rows', 'y', ARRAY['a','flag','cross(kind,"twice it")','scored','honest'], 'named')$$);
SELECT count(*) FROM svm_cross_validate('rows', 'y', c => '{1}', folds => 3, features => '{a,b,scored_by_another}');

-- a field of a row is that one, not all
SELECT told($$svm_train_query('SELECT (s.r).a, (s.r).b, (s.r).y, (s.r).z AS copied, r IS NULL AS whole FROM (SELECT rows AS r FROM rows) AS s', 'y', exclude => '{copied}', model => 'fields')$$);

-- through views, queries, unions and WITH, and for a model that is asked there
CREATE VIEW seen AS SELECT a, b, y AS label, y::int AS code, CASE WHEN flag = 7 THEN 'yes' ELSE 'no' END AS word, svm_decision('rows_y@1', rows) AS asked,
    by_decision(a, b, c, kind) AS asked_behind,
    honest, lag(y) OVER (ORDER BY a)::int AS before, sum(y::int) OVER (PARTITION BY a, b, c) AS summed FROM rows;
SELECT told($$svm_train('seen', 'label', model => 'seen', nulls => 'zero')$$);
CREATE VIEW seen_again AS WITH part AS (SELECT *, code + 1 AS more FROM seen) SELECT label AS l, more, a, b FROM (SELECT * FROM part UNION ALL SELECT * FROM part) AS both_parts;
SELECT told($$svm_train('seen_again', 'l', model => 'seen')$$);
CREATE MATERIALIZED VIEW kept AS SELECT a, b, c, y, NOT y AS other, (SELECT r.y FROM rows AS r WHERE r.a = rows.a AND r.b = rows.b AND r.c = rows.c LIMIT 1)::int AS sub FROM rows;
SELECT told($$svm_train('kept', 'y', model => 'seen')$$);
SELECT told($$svm_train_query('SELECT r.a, r.b, r.y AS label, s.y AS copied, coalesce(s.y, false)::int AS made FROM rows r JOIN rows s USING (a, b, c)', 'label', model => 'seen')$$);
SELECT told($$svm_train_query('SELECT a, b, y, x.made FROM rows, LATERAL (SELECT y::int * 2 AS made) AS x', 'y', model => 'seen')$$);
-- the label made of one column: that one tells it
SELECT told($$svm_train_query('SELECT a, b, c, z, z = ''high'' AS is_high, upper(z) AS loud FROM rows', 'is_high', model => 'seen')$$);
-- of several: no single one does
SELECT told($$svm_train_query('SELECT a, b, c, a + b > 1 AS more FROM rows', 'more', model => 'seen')$$);
-- where there is nothing else to learn from it stays
SELECT told($$svm_train_query('SELECT a, a > .5 AS more FROM rows', 'more', model => 'seen')$$);

-- what the catalog does not know: numbers, codes and categories that tell the classes apart alone
CREATE TABLE plainly AS SELECT a, b, c, kind, y, z, ln(1 + exp(scored)) AS given, CASE WHEN y THEN 12 WHEN a > .5 THEN 3 ELSE 25 END AS code,
    CASE WHEN y THEN 'won' WHEN a > b THEN 'lost' ELSE 'open' END AS status FROM rows;
SELECT told($$svm_train('plainly', 'y', '{a,b,c,given}', 'plainly')$$);
SELECT told($$svm_train('plainly', 'y', '{a,b,c,code}', 'plainly')$$);
SELECT told($$svm_train('plainly', 'y', '{a,b,kind,status}', 'plainly')$$);
SELECT told($$svm_train('plainly', 'y', '{a,b,given,code,status}', 'plainly')$$);
SELECT told($$svm_train_query('SELECT a, b, c, y, ARRAY[a, given]::float8[] AS v FROM plainly', 'y', '{a,b,c,v}', 'plainly')$$);
CREATE TABLE coded AS SELECT *, CASE WHEN y THEN '0:1 7:1' ELSE '0:1 3:1' END AS l, CASE z WHEN 'low' THEN 2 WHEN 'high' THEN 1 ELSE 3 END AS z_code, left(z, 1) || (a > .5)::int AS begins,
    CASE WHEN z = 'low' THEN -1 ELSE c END AS easy FROM plainly;
SELECT told($$svm_train('coded', 'y', '{a,b,libsvm(l)}', 'plainly')$$);
-- several classes: a number in their order, a code, a category
SELECT told($$svm_train_query('SELECT a, b, c, z, a + b AS sum FROM plainly', 'z', model => 'several')$$);
SELECT told($$svm_train('coded', 'z', '{a,b,c,z_code}', 'several')$$);
SELECT told($$svm_train('coded', 'z', '{a,b,c,begins}', 'several')$$);
-- one of three classes told apart by one number is no more than an easy class
SELECT told($$svm_train('coded', 'z', '{a,b,c,easy}', 'several')$$);
-- few rows prove nothing, and of one column there is nothing else to learn from
SELECT told($$svm_train_query('SELECT a, b, given, y FROM plainly LIMIT 25', 'y', model => 'few')$$);
SELECT told($$svm_train('plainly', 'y', '{given}', 'alone')$$);
-- keys say nothing of other rows
SELECT told($$svm_train_query('SELECT a, b, y, hashtext(a::text) AS key FROM plainly', 'y', '{a,b,key}', 'keyed')$$);

-- by every way that rows are read
SELECT told(format($$svm_train('plainly', 'y', '{a,b,c,given}', 'ways', %s, options => '{"inherit": false}')$$, way))
FROM unnest(ARRAY[$$solver => 'scan'$$, $$solver => 'block'$$, $$solver => 'newton'$$, $$solver => 'ocas', loss => 'hinge'$$, $$kernel => 'rbf'$$, $$scale => 'none'$$,
    $$scale => 'minmax'$$, $$class_weight => 'balanced'$$, $$c => NULL$$]) AS way;
SET pgsvm.cache_size = '64kB';
SET pgsvm.min_parallel_size = 0;
SELECT told($$svm_train('plainly', 'y', '{a,b,c,status,given}', 'ways', options => '{"inherit": false}')$$);
RESET pgsvm.cache_size;
RESET pgsvm.min_parallel_size;

-- numbers of rows, by their name and by what they are
CREATE TABLE numbered AS SELECT (row_number() OVER ())::int AS "Id", a, b, y, 100 + 3 * row_number() OVER () AS nr, (date '2020-01-01' + (row_number() OVER ())::int) AS day FROM rows;
SELECT told($$svm_train('numbered', 'y')$$);
SELECT told($$svm_train('numbered', 'y', exclude => '{nr}', options => '{"inherit": false}')$$);
SELECT told($$svm_train('numbered', 'y', '{Id,nr,a}', options => '{"inherit": false}')$$);
-- what was left out is not asked for any more
ALTER TABLE numbered ADD code int GENERATED ALWAYS AS (CASE WHEN y THEN 1 ELSE 2 END) STORED;
SELECT told($$svm_train('numbered', 'y', key => 'Id', model => 'by_key', exclude => '{nr,day}')$$);
ALTER TABLE numbered DROP COLUMN code;
UPDATE numbered SET a = 1 - a WHERE "Id" < 10;
SELECT svm_refresh('by_key');
SELECT count(svm_decision('by_key', n)) FROM (SELECT a, b FROM numbered) AS n;
-- and nothing else is there
SELECT told($$svm_train_query('SELECT "Id", y, y::int AS code FROM numbered', 'y', model => 'nothing')$$);
\echo :LAST_ERROR_SQLSTATE

-- A number to predict: columns that say it as a straight line does, numbers of rows, and an epsilon that forgives everything.
SET client_min_messages = error;
CREATE TABLE amounts AS
    SELECT *, 7 - 3 * amount AS turned, round(amount * 1.19, 1) AS gross, amount + 20 * drawn(nr, 9) AS near, CASE WHEN nr > 1000 THEN amount END AS mostly_null,
        CASE WHEN nr % 10 > 0 THEN amount * 2 END AS with_nulls
    FROM (SELECT i AS nr, a, b, kind, round((50 + 20 * a + 3 * b + drawn(i, 7))::numeric, 4) AS amount FROM (SELECT *, row_number() OVER ()::int AS i FROM rows) AS r) AS s;
SET client_min_messages = warning;
SELECT told($$svm_train('amounts', 'amount', '{a, b, kind, near, mostly_null}', 'amounts')$$);
SELECT told($$svm_train('amounts', 'amount', '{a, b, kind, turned, gross, with_nulls}', 'amounts_told')$$);
SELECT told($$svm_train('amounts', 'amount', exclude => '{nr, turned, mostly_null, with_nulls}', model => 'amounts_gross')$$);
SELECT told($$svm_train('amounts', 'amount', '{a, b, turned}', 'amounts_rbf', kernel => 'rbf', rank => 20)$$);
SELECT told($$svm_train('amounts', 'amount', '{a, b, turned}', 'amounts_scan', solver => 'scan')$$);
SET pgsvm.workers = 2;
SET pgsvm.min_parallel_size = 0;
SET pgsvm.cache_size = '64kB';
SELECT told($$svm_train('amounts', 'amount', '{a, b, turned}', 'amounts_spooled', tolerance => 0.01)$$);
RESET pgsvm.cache_size;
RESET pgsvm.min_parallel_size;
SET pgsvm.workers = 0;
SELECT told($$svm_train_query('SELECT a, 2 * amount AS twice, amount FROM amounts', 'amount', '{a, twice}', 'amounts_twice')$$);
SELECT told($$svm_train('amounts', 'amount', '{turned}', 'amounts_only')$$);
SELECT told($$svm_train('amounts', 'amount', '{nr, a, kind}', 'amounts_counted')$$);
SELECT told($$svm_train('amounts', 'amount', '{a, b}', 'amounts_wide', epsilon => 5)$$);
SELECT told($$svm_train('amounts', 'amount', '{a, b}', 'amounts_wide', epsilon => 3, loss => 'epsilon_insensitive', options => '{"intercept": "free"}')$$);
SELECT told($$svm_train('amounts', 'amount', '{a, b}', 'amounts_flat', c => 1e-9)$$);
SELECT feature FROM svm_weights('amounts_wide');

DELETE FROM svm_model;
SET client_min_messages = error;
DROP SCHEMA giveaways CASCADE;
