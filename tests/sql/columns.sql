-- What is no feature is left out by itself, and what is wrong with columns is said at once.
\set SHOW_CONTEXT never
CREATE SCHEMA columns;
SET search_path = columns, public;
SET pgsvm.cache_size = '8MB';

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

CREATE TABLE visits (
    id int GENERATED ALWAYS AS IDENTITY,
    "Visit" bigserial,
    code text GENERATED ALWAYS AS ('v' || ("Visit" * 7)) STORED,
    twice float8 GENERATED ALWAYS AS (pages * 2) STORED,
    token text,
    shop int,
    day int,
    pages float8,
    browser text,
    "Total Charges" text,
    bought boolean,
    PRIMARY KEY (shop, day)
);
INSERT INTO visits (token, shop, day, pages, browser, "Total Charges", bought)
SELECT gen_random_uuid(), i / 20, i % 20, i % 7, CASE i % 3 WHEN 0 THEN 'fox' ELSE 'owl' END, (i % 30) + 0.5, i % 7 > 3
FROM generate_series(0, 399) AS i;

-- parts of a composite key are features; identity, serial, generated from them and UUIDs are none
SELECT told($$svm_train('visits', 'bought')$$);
-- the same through views and queries, under other names
CREATE VIEW seen AS SELECT id AS number, "Visit" + 0 AS computed, pages, token AS t, bought FROM visits;
CREATE VIEW seen_again AS SELECT number AS n, computed, pages, t, bought FROM seen;
SELECT told($$svm_train('seen_again', 'bought', model => 'seen')$$);
SELECT told($$svm_train_query('SELECT v.id, v.pages, w."Visit" FROM visits v JOIN visits w USING (shop, day), generate_series(1, 2)', 'pages', model => 'x')$$);
SELECT told($$svm_train_query('SELECT s.*, v.browser FROM (SELECT id, pages, bought FROM visits) s JOIN visits v USING (id)', 'bought', model => 'joined')$$);
-- who names them takes them
SELECT told($$svm_train('visits', 'bought', '{id,pages,Visit,category(browser)}')$$);
SELECT told($$svm_train('visits', 'bought', exclude => '{pages,twice,"Total Charges"}', options => '{"inherit": false, "deploy": true}')$$);
-- a single primary key, of a partitioned table too; and a default that counts
CREATE SEQUENCE counter;
CREATE TABLE parts (k text, n int DEFAULT nextval('counter'), x float8, y int, PRIMARY KEY (k)) PARTITION BY HASH (k);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO parts (k, x, y) SELECT 'k' || i, i, i / 20 FROM generate_series(1, 39) AS i;
SELECT told($$svm_train('parts', 'y')$$);
SELECT told($$svm_train('parts_0', 'y')$$);
-- UUIDs with NULLs are as little a feature, whatever NULL means
UPDATE visits SET token = NULL WHERE id = 399;
SELECT nulls, told(format($$svm_train('visits', 'bought', nulls => %L, options => '{"inherit": false}')$$, nulls)) FROM unnest('{error,skip,zero,mean}'::text[]) AS nulls;
SELECT rows_used, rows_skipped FROM svm_versions WHERE name = 'visits_bought' ORDER BY version DESC LIMIT 4;
-- predictions do not ask for what was left out, refreshes neither
SELECT svm_predict('visits_bought', v) FROM (SELECT shop, day, pages, twice, browser, "Total Charges" FROM visits WHERE id = 5) AS v;
SELECT told($$svm_train('visits', 'bought', model => 'follows', key => 'id', exclude => '{Total Charges}')$$);
UPDATE visits SET pages = 3 WHERE id < 10;
SELECT told($$svm_refresh('follows')$$);
SELECT told($$svm_train('visits', 'bought', model => 'begun', exclude => '{Total Charges}', options => '{"warm_start": "follows"}')$$);
SELECT count(*) FROM svm_cross_validate('visits', 'bought', c => ARRAY[1.0], folds => 2, exclude => '{token,day}');
RESET client_min_messages;

-- errors of exclude
SELECT svm_train('visits', 'bought', exclude => '{pages,brwoser,shopp}', options => '{"inherit": false}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('visits', 'bought', exclude => '{pages,NULL}', options => '{"inherit": false}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('visits', 'bought', '{pages,shop}', exclude => '{pages}', options => '{"inherit": false}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT id, pages, bought FROM visits', 'bought', model => 'none', exclude => '{pages}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_cross_validate('visits', 'bought', exclude => '{Pages}');
\echo :LAST_ERROR_SQLSTATE
-- names that are misspelt, all of them
SELECT svm_train('visits', 'boght', '{page,brwoser,TotalCharges}', key => 'Id');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('visits', 'bought', '{zebra}', options => '{"inherit": false}');
\echo :LAST_ERROR_SQLSTATE

-- NULLs, keys and numbers in text, all at once; no hint proposes an id
CREATE TABLE churn (id serial PRIMARY KEY, "Mail" text, "TotalCharges" text, age int, "Left" text);
INSERT INTO churn ("Mail", "TotalCharges", age, "Left")
SELECT 'm' || i || '@x.org', CASE WHEN i % 100 = 7 THEN ' ' ELSE (i * 1.25)::text END, CASE WHEN i % 50 > 0 THEN i END, CASE WHEN i % 3 = 0 THEN 'yes' ELSE 'no' END
FROM generate_series(1, 300) AS i;
SET client_min_messages = error;
SELECT svm_train('churn', 'Left', nulls => 'error');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('churn', 'Left');
SELECT svm_train('churn', 'Left', nulls => 'mean', exclude => '{"Mail"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('churn', 'Left', '{Mail,age}', nulls => 'mean');
UPDATE churn SET "Left" = NULL WHERE id = 1;
SELECT svm_train('churn', 'Left', '{age}');
\echo :LAST_ERROR_SQLSTATE
-- codes that begin with 0 are no numbers by themselves, and the hint says how they would be
SELECT svm_train_query('SELECT to_char(i, ''FM0000'') AS code, i % 3 = 0 AS left FROM generate_series(1, 300) AS i', 'left', model => 'codes');
SELECT svm_train_query('SELECT to_char(i, ''FM0000'') AS code, i % 3 = 0 AS left FROM generate_series(1, 300) AS i', 'left', '{number(code)}', model => 'codes');
DROP SCHEMA columns CASCADE;
