-- Categories, times and NULL rules: tables as they are.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE TYPE grade AS ENUM ('low', 'middle', 'high');
CREATE TABLE people (age int, workclass text, education varchar(20), hours numeric(4, 1), married boolean, grade grade,
    "odd ""name, (x)" char(8), sex "char", hired date, seen timestamptz, region int, notes jsonb, tags text[], income text);
INSERT INTO people
SELECT 20 + i * 7 % 45, (ARRAY['Private', 'State-gov', 'Self-emp', 'Never worked', '?'])[1 + i % 5],
    (ARRAY['HS-grad', 'Bachelors', 'Masters'])[1 + i % 3], 20 + i % 40, i % 4 = 0, (enum_range(NULL::grade))[1 + i % 3],
    (ARRAY['it''s', '"q"', 'a\b', ''])[1 + i % 4], (ARRAY['f', 'm'])[1 + i % 2]::"char", date '2000-01-01' + i % 900,
    timestamptz '2020-01-01 00:00+00' + i % 700 * interval '1 hour', i % 6, '{}', '{a}',
    CASE WHEN i * 7 % 45 + i % 40 / 2 + 10 * (i % 3) + 8 * (i % 4 = 0)::int - 6 * (i % 5) > 33 THEN '>50K' ELSE '<=50K' END
FROM generate_series(1, 600) AS i;

-- as it is
SELECT svm_train('people', 'income');
\x
SELECT * FROM svm_features('people_income');
\x
SELECT training_accuracy > 0.9 AS learned, gap <= 1e-3 AS certified, features FROM svm_models;
SELECT svm_classify('people_income', p) = income AS right, count(*) > 0 AS there FROM people AS p GROUP BY 1 ORDER BY 1;
SELECT jsonb_path_query(features, '$.parts[*] ? (@.kind == "category")') AS stored FROM svm_version ORDER BY stored;

-- one-hot features are what columns of 0 and 1 are
SELECT svm_train('people', 'income', ARRAY['workclass', 'education'], 'one_hot', loss => 'hinge', scale => 'none', tolerance => 1e-6);
SELECT svm_train_query('SELECT (workclass = ''Private'')::int AS a, (workclass = ''State-gov'')::int AS b, (workclass = ''Self-emp'')::int AS c,
    (workclass = ''Never worked'')::int AS d, (workclass = ''?'')::int AS e, (education = ''HS-grad'')::int AS f,
    (education = ''Bachelors'')::int AS g, (education = ''Masters'')::int AS h, income FROM people',
    'income', model => 'by_hand', loss => 'hinge', scale => 'none', tolerance => 1e-6);
SELECT count(DISTINCT round(primal::numeric, 2)) AS objectives FROM svm_models WHERE name IN ('one_hot', 'by_hand');
SELECT abs(primal
    - (SELECT sum(w ^ 2) / 2 FROM svm_weight, unnest(weights) AS w WHERE version_id = v.id) - v.intercept ^ 2 / 2
    - (SELECT sum(greatest(0, 1 - CASE income WHEN '>50K' THEN 1 ELSE -1 END * svm_decision('one_hot', p))) FROM people AS p))
    < 1e-5 * primal AS primal_agrees
FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE m.name = 'one_hot';

-- a value that training did not see is none of them; types may differ, columns are found by name
SELECT svm_decision('one_hot', r) = svm_decision('one_hot', s) AS none_of_them
FROM (SELECT 'Martian' AS workclass, 'Masters' AS education) AS r, (SELECT 'Masters'::name AS education, 'private' AS workclass) AS s;
SELECT svm_decision('one_hot', r) = svm_decision('one_hot', p) AS same
FROM people AS p, LATERAL (SELECT p.education::text, p.workclass::char(30)) AS r GROUP BY 1;
SELECT svm_train('people', 'income', ARRAY['grade', 'married', 'category(region)', 'sex', 'odd "name, (x)'], 'kinds');
SELECT column_name, type, treatment, categories FROM svm_features('kinds');
SELECT bool_and(svm_decision('kinds', r) = svm_decision('kinds', p)) AS same
FROM people AS p, LATERAL (SELECT p.grade::text, p.married::text, p.region::int8, p.sex::text, p."odd ""name, (x)"::text) AS r;
SELECT count(DISTINCT svm_decision('kinds', r)) AS decisions
FROM generate_series(7, 9) AS region, LATERAL (SELECT 'low' AS grade, true AS married, region, 'f' AS sex, 'x' AS "odd ""name, (x)") AS r;
ALTER TYPE grade RENAME VALUE 'low' TO 'poor';
SELECT bool_and(svm_decision('kinds', r) = svm_decision('kinds', s)) AS none_of_them
FROM (SELECT * FROM people WHERE grade = 'poor' LIMIT 10) AS r,
    LATERAL (SELECT NULLIF('x', 'y') AS grade, r.married, r.region, r.sex, r."odd ""name, (x)") AS s;
ALTER TYPE grade RENAME VALUE 'poor' TO 'low';

-- entries that must quote
SELECT svm_train('people', 'income', ARRAY['category("odd ""name, (x)")'], 'quoted');
SELECT column_name, categories FROM svm_features('quoted');

-- whatever stands in values and names comes back from a dump; a domain is what it is made of
CREATE DOMAIN town AS text;
CREATE TABLE odd AS
SELECT (ARRAY['it''s', '"q"', 'a\b', '', ' ', E'tab\tline\n', 'NULL', '{a,b}', 'Zürich', '😀', E'\x01\x7f', '=', '\u0041'])[1 + i % 13]::town AS "Wo ""=#"", ü",
    i % 13 < 6 AS good FROM generate_series(1, 130) AS i;
SELECT svm_train('odd', 'good', scale => 'none');
SELECT array_agg(DISTINCT "Wo ""=#"", ü"::text ORDER BY "Wo ""=#"", ü"::text) = (SELECT array_agg(c ORDER BY c) FROM svm_features('odd_good'), unnest(categories) AS c) AS all_there,
    bool_and(svm_predict('odd_good', o) = good::int) AS learned FROM odd AS o;
CREATE TEMP TABLE before AS SELECT "Wo ""=#"", ü" AS value, svm_decision('odd_good', o) AS decision FROM odd AS o;
UPDATE svm_version SET features = features::text::jsonb WHERE model_id = (SELECT id FROM svm_model WHERE name = 'odd_good');
SELECT bool_and(svm_decision('odd_good', o) = decision) AS same FROM odd AS o JOIN before ON "Wo ""=#"", ü" = value;
DROP TABLE odd, before;
DROP DOMAIN town;

-- beside sparse features
SELECT svm_train_query('SELECT workclass, ''3:1 '' || age || '':1'' AS bag, education, income FROM people', 'income',
    ARRAY['workclass', 'libsvm(bag)', 'education'], 'beside');
SELECT "position", column_name, treatment, features FROM svm_features('beside');
SELECT bool_and((svm_decision('beside', r) >= 0) = (svm_classify('beside', r) = '>50K')) AS agree
FROM people AS p, LATERAL (SELECT p.*, '3:1 ' || age || ':1' AS bag) AS r;

-- workers learn the same
SET pgsvm.min_parallel_size = 0;
SELECT svm_train('people', 'income', model => 'by_workers');
RESET pgsvm.min_parallel_size;
SELECT count(DISTINCT features) AS learned FROM svm_version JOIN svm_model AS m ON m.id = model_id
WHERE name IN ('people_income', 'by_workers');
SELECT max(abs(svm_decision('by_workers', p) - svm_decision('people_income', p))) < 0.1 AS alike FROM people AS p;

-- times
SELECT svm_train('people', 'income', ARRAY['hired', 'seen'], 'times');
SELECT column_name, type, treatment FROM svm_features('times');
SELECT svm_train_query('SELECT extract(epoch FROM hired)::float8 AS hired, extract(epoch FROM seen)::float8 AS seen, income FROM people',
    'income', model => 'seconds');
SELECT max(abs(svm_decision('times', p) - svm_decision('seconds', r))) < 1e-6 AS same
FROM people AS p, LATERAL (SELECT extract(epoch FROM p.hired)::float8 AS hired, extract(epoch FROM p.seen) AS seen) AS r;

-- NULL: each rule
CREATE TABLE patchy AS
SELECT nullif(age, 27) AS age, nullif(workclass, '?') AS workclass, nullif(hired, '2000-01-02') AS hired,
    CASE age % 3 WHEN 0 THEN ARRAY[age, NULL] ELSE ARRAY[age, hours] END AS pair, income FROM people;
SELECT svm_train('patchy', 'income', nulls => 'error');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('patchy', 'income', model => 'rule_' || rule, nulls => rule) FROM unnest('{skip,zero,mean}'::text[]) AS rule;
SELECT name, rows_used, rows_skipped FROM svm_models JOIN svm_version USING (version, trained_at, rows_used, seconds) WHERE name LIKE 'rule%' ORDER BY name;
SELECT name, column_name, features, categories, nulls, round(mean::numeric, 6) AS mean
FROM unnest('{rule_skip,rule_zero,rule_mean}'::text[]) AS name, svm_features(name);
SELECT round(avg(age), 6) AS age, round(avg(extract(epoch FROM hired)), 6) AS hired FROM patchy;
SELECT (svm_decision('rule_skip', p) IS NULL) = (workclass IS NULL OR age IS NULL OR hired IS NULL OR pair[2] IS NULL) AS as_ruled,
    count(*) > 0 AS there FROM patchy AS p GROUP BY 1;
SELECT bool_and(svm_decision('rule_zero', p) = svm_decision('rule_zero', r)) AS as_ruled
FROM patchy AS p, LATERAL (SELECT coalesce(p.age, 0) AS age, coalesce(workclass, 'unheard of') AS workclass,
    coalesce(hired, '1970-01-01') AS hired, ARRAY[pair[1], coalesce(pair[2], 0)] AS pair) AS r;
SELECT svm_train_query('SELECT coalesce(age, avg(age) OVER ()) AS age, coalesce(workclass, ''NULL'') AS workclass,
    coalesce(extract(epoch FROM hired), avg(extract(epoch FROM hired)) OVER ()) AS hired,
    ARRAY[pair[1], coalesce(pair[2], avg(pair[2]) OVER ())] AS pair, income FROM patchy', 'income', model => 'filled', tolerance => 1e-6);
SELECT svm_train('patchy', 'income', model => 'rule_mean', nulls => 'mean', tolerance => 1e-6);
SELECT max(abs(svm_decision('rule_mean', p) - svm_decision('filled', r))) < 0.01 AS as_ruled
FROM patchy AS p, LATERAL (SELECT coalesce(p.age, (SELECT avg(age) FROM patchy)) AS age, coalesce(workclass, 'NULL') AS workclass,
    coalesce(extract(epoch FROM hired), (SELECT avg(extract(epoch FROM hired)) FROM patchy)) AS hired,
    ARRAY[pair[1], coalesce(pair[2], (SELECT avg(pair[2]) FROM patchy))] AS pair) AS r;
-- a NULL that training never met
SELECT svm_train('people', 'income', ARRAY['workclass', 'age'], 'never_null', nulls => 'mean');
SELECT svm_decision('never_null', r) = svm_decision('never_null', s) AS none_of_them
FROM (SELECT NULL::text AS workclass, NULL::int AS age) AS r, (SELECT 'x' AS workclass, avg(age) AS age FROM people) AS s;
-- in an array argument
SELECT svm_train('patchy', 'income', ARRAY['age', 'pair'], 'numbers', nulls => 'mean');
SELECT bool_and(svm_decision('numbers', ARRAY[age] || pair) = svm_decision('numbers', p)) AS same FROM patchy AS p;

-- columns that look like keys
CREATE TABLE passengers AS
SELECT 1 + i % 3 AS class, 'Passenger ' || i AS name, 'T-' || i * 3 / 4 AS ticket, CASE WHEN i % 5 = 0 THEN 'C' || i END AS "ca'bin",
    (i % 90)::text AS age, i % 7 < 3 AS survived FROM generate_series(1, 1300) AS i;
SELECT svm_train('passengers', 'survived', nulls => 'zero');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('passengers', 'survived', ARRAY['category(class)', 'name']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('passengers', 'survived', ARRAY['name']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('passengers', 'survived', features => ARRAY['class', 'age']);
-- hashed on request: the first values still have features of their own
SELECT svm_train('passengers', 'survived', nulls => 'zero', options => '{"hash_bits": 6, "max_categories": 200, "inherit": false}');
SELECT column_name, treatment, features, cardinality(categories) AS categories FROM svm_features('passengers_survived');
SELECT count(DISTINCT svm_decision('passengers_survived', r)) BETWEEN 2 AND 64 AS hashed
FROM generate_series(5001, 6000) AS i, LATERAL (SELECT 1 AS class, 'Passenger ' || i AS name, 'T-1' AS ticket, NULL::text AS "ca'bin", '7' AS age) AS r;
-- not by itself, where a column has many values that repeat
SELECT svm_train_query('SELECT ''City '' || i % 1500 AS city, i % 1500 < 700 AS south FROM generate_series(1, 6000) AS i', 'south', model => 'cities');
SELECT treatment, features, cardinality(categories) AS categories FROM svm_features('cities');
SELECT training_accuracy > 0.99 AS learned FROM svm_models WHERE name = 'cities';
-- a text too long to be kept
SELECT svm_train_query('SELECT repeat(age, 900) AS story, survived FROM passengers', 'survived', model => 'long');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT repeat(age, 900) AS story, survived FROM passengers', 'survived', model => 'long', options => '{"hash_bits": 10}');
SELECT treatment, features, cardinality(categories) AS categories FROM svm_features('long');

-- predictions that cannot be made
SELECT svm_decision('one_hot', ARRAY[1, 2]);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('one_hot', '1:2');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('one_hot', r) FROM (SELECT 'Private' AS workclass) AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('one_hot', r) FROM (SELECT 'Private' AS workclass, 1.5 AS education) AS r;
\echo :LAST_ERROR_SQLSTATE
SET pgsvm.predict_nulls = 'error';
SELECT svm_decision('one_hot', r) FROM (SELECT 'Private' AS workclass, NULL::text AS education) AS r;
\echo :LAST_ERROR_SQLSTATE
RESET pgsvm.predict_nulls;
SELECT svm_decision('times', r) FROM (SELECT 1 AS hired, now() AS seen) AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('times', r) FROM (SELECT date 'infinity' AS hired, now() AS seen) AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('seconds', r) FROM (SELECT current_date AS hired, 1 AS seen) AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_features('nowhere');
\echo :LAST_ERROR_SQLSTATE

-- what is stored makes no sense
UPDATE svm_version SET features = features - 'means' WHERE model_id = (SELECT id FROM svm_model WHERE name = 'numbers');
SELECT svm_decision('numbers', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE

DELETE FROM svm_model;
DROP TABLE people, patchy, passengers;
DROP TYPE grade;
