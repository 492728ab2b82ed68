-- Metrics of predictions: aggregates over any rows, and a model on a relation. Expected figures are those
-- of scikit-learn (tests/reference/metrics.py).
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA tested;
SET search_path = tested, public;
SET extra_float_digits = 0;
CREATE TABLE answers (id int, actual text, predicted text, decision float8, probability float8, part int);
INSERT INTO answers VALUES
    (1, 'yes', 'yes', 2.5, 0.9, 1), (2, 'yes', 'no', -0.5, 0.4, 1), (3, 'no', 'no', -1.5, 0.2, 1),
    (4, 'no', 'yes', 0.5, 0.6, 1), (5, 'no', 'no', -0.5, 0.4, 2), (6, 'yes', 'yes', 0.5, 0.6, 2),
    (7, 'no', 'no', -3, 0.05, 2), (8, 'no', 'yes', 1, 0.7, 2), (9, 'no', 'no', -1.5, 1, 2);
SELECT (svm_metrics(actual, predicted)).* FROM answers;
SELECT svm_auc(decision, actual = 'yes'), svm_log_loss(probability, actual = 'yes') FROM answers;
SELECT * FROM unnest((SELECT svm_roc_points(decision, actual = 'yes') FROM answers));
-- of another class than the larger one
SELECT (svm_metrics(actual, predicted, 'no')).* FROM answers;
-- one group at a time; all metrics of one row are in one composite
SELECT part, svm_metrics(actual, predicted), svm_auc(decision, actual = 'yes'), svm_log_loss(probability, actual = 'yes')
FROM answers GROUP BY part ORDER BY part;
SELECT svm_auc(decision, actual = 'yes') OVER (ORDER BY id) FROM answers;
-- many classes: means over the classes; a class that only predictions have counts too
CREATE TABLE many AS SELECT * FROM (VALUES (1, 1), (1, 2), (2, 2), (2, 2), (3, 1), (3, 3), (10, 10), (10, 4)) AS t (actual, predicted);
SELECT (svm_metrics(actual, predicted)).* FROM many;
-- classes of any type: the larger is larger in its type, and what is equal is one class
SELECT (svm_metrics(a, p)).* FROM (VALUES (9, 9), (10, 9), (10, 10)) AS t (a, p);
SELECT (svm_metrics(a, p)).* FROM (VALUES (1.0, 1), (2.00, 2), (2, 1.000)) AS t (a, p);
SELECT (svm_metrics(a, p)).* FROM (VALUES ('-0'::float8, 0::float8), (1, 0)) AS t (a, p);
SELECT (svm_metrics(a, p)).* FROM (VALUES (true, true), (false, true), (true, false)) AS t (a, p);
SELECT (svm_metrics(a, p)).* FROM (VALUES ('a '::char(3), 'a'::char(3)), ('b', 'a')) AS t (a, p);
-- of char(n) blanks at the end do not count, and nothing else
CREATE DOMAIN padded AS char(3);
SELECT kind, (svm_metrics(a::padded, p::padded)).accuracy AS domain, (svm_metrics(a::char(3), p::char(3))).accuracy AS char,
    (svm_metrics(a::text, p::text)).accuracy AS text
FROM (VALUES ('blanks', 'a ', 'a'), ('a line feed', E'a\n', 'a'), ('a tab', E'a\t', 'a'), ('a form feed', E'a\f ', 'a'), ('a return', 'a', E'a\r')) AS t (kind, a, p)
GROUP BY kind ORDER BY kind;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
SELECT (svm_metrics(a, p)).* FROM (VALUES ('ok'::mood, 'ok'::mood), ('happy', 'ok'), ('happy', 'happy')) AS t (a, p);
SELECT (svm_metrics(label, 1::float8)).* FROM (VALUES (1), (-1)) AS t (label);
-- NULLs are left out; nothing left, one class, ties
SELECT (svm_metrics(a, p)).* FROM (VALUES ('x', 'x'), (NULL, 'x'), ('y', NULL)) AS t (a, p);
SELECT (svm_metrics(actual, predicted)).*, svm_auc(decision, true) IS NULL AS auc, svm_log_loss(probability, true) IS NULL AS loss,
    svm_roc_points(decision, true) IS NULL AS roc FROM answers WHERE false;
SELECT svm_metrics(NULL::text, NULL), svm_auc(NULL, true), svm_auc(1, NULL), svm_log_loss(NULL, true), svm_roc_points(NULL, NULL);
SELECT svm_auc(decision, true) IS NULL AS one_class, svm_roc_points(decision, false) IS NULL AS roc FROM answers;
SELECT svm_auc(1, id < 3), svm_roc_points(1, id < 3) FROM answers;
SELECT svm_auc(d, p) FROM (VALUES ('NaN'::float8, true), ('Infinity', false), ('-Infinity', false), ('-0', true), (0, false)) AS t (d, p);
-- a hundred thousand rows, by hand and in parallel
CREATE TABLE scores AS SELECT (i * 7919 % 100003) / 1000.0::float8 AS decision, i * 31 % 100 < 30 + (i * 7919 % 100003) / 3000 AS positive,
    i * 37 % 7 AS actual, i * 41 % 7 AS predicted FROM generate_series(1, 100000) AS i;
CREATE VIEW by_hand AS SELECT (sum(rank) FILTER (WHERE positive) - count(*) FILTER (WHERE positive) * (count(*) FILTER (WHERE positive) + 1) / 2.0)
    / (count(*) FILTER (WHERE positive) * count(*) FILTER (WHERE NOT positive)) AS auc
    FROM (SELECT positive, rank() OVER (ORDER BY decision) + (count(*) OVER (PARTITION BY decision) - 1) / 2.0 AS rank FROM scores) AS ranked;
SELECT round(auc, 12) AS auc FROM by_hand;
CREATE VIEW in_one_scan AS SELECT svm_auc(decision, positive), svm_metrics(actual, predicted), round(svm_log_loss(decision / 101, positive)::numeric, 12) AS loss,
    (SELECT count(*) FROM unnest(svm_roc_points(decision, positive))) AS points,
    (SELECT round(sum((p.false_positive_rate - q.false_positive_rate) * (p.true_positive_rate + q.true_positive_rate) / 2)::numeric, 3)
     FROM (SELECT *, row_number() OVER () AS n FROM unnest(svm_roc_points(decision, positive))) AS p
     JOIN (SELECT *, row_number() OVER () AS n FROM unnest(svm_roc_points(decision, positive))) AS q ON p.n = q.n + 1) AS area
FROM scores;
SELECT * FROM in_one_scan;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT svm_auc(decision, positive), svm_metrics(actual, predicted), svm_log_loss(0.5, positive), svm_roc_points(decision, positive) FROM scores;
SELECT * FROM in_one_scan;
SELECT predicted, round(svm_auc(decision, positive)::numeric, 6), svm_metrics(actual, predicted, 3) FROM scores GROUP BY predicted ORDER BY predicted;
-- more different scores than are kept
SELECT abs(svm_auc(i / 3.0, i % 1000 < i / 500) - (sum(i) FILTER (WHERE i % 1000 < i / 500) - positives * (positives + 1) / 2)
    / (positives * (500000 - positives))) < 1e-6 AS close,
    (SELECT count(*) <= 1000 FROM unnest(svm_roc_points(i / 3.0, i % 1000 < i / 500))) AS points
FROM generate_series(1, 500000) AS i, (SELECT count(*)::float8 FROM generate_series(1, 500000) AS i WHERE i % 1000 < i / 500) AS c (positives)
GROUP BY positives;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
-- errors
SELECT svm_log_loss(1.5, true);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_log_loss('NaN', true);
SELECT svm_metrics(1, 'a'::text);
SELECT svm_metrics(i, -i) FROM generate_series(1, 300000) AS i;
\echo :LAST_ERROR_SQLSTATE

-- a model on a relation
CREATE TABLE points (x1 float8, x2 float8, spare int, y text);
INSERT INTO points SELECT (i % 17) - 8, (i % 23) - 11, i, CASE WHEN (i % 17) - 8 + (i % 5) > 2 THEN 'right' ELSE 'left' END FROM generate_series(1, 2000) AS i;
SELECT svm_train('points', 'y', ARRAY['x1', 'x2'], model => 'side', nulls => 'skip');
SELECT rows, round(accuracy::numeric, 6) AS accuracy, round(balanced_accuracy::numeric, 6) AS balanced, round(precision::numeric, 6) AS precision,
    round(recall::numeric, 6) AS recall, round(f1::numeric, 6) AS f1, round(auc::numeric, 4) AS auc, log_loss FROM svm_evaluate('side', 'points');
SELECT count(*), round(avg((svm_classify('side', p) = y)::int), 6) AS accuracy, round(svm_auc(svm_decision('side', p), y = 'right')::numeric, 4) AS auc FROM points AS p;
SELECT * FROM svm_confusion('side', 'points');
SELECT count(*) > 2 AS several, round(min(threshold)::numeric, 2) AS min, max(threshold), min(true_positive_rate), max(false_positive_rate) FROM svm_roc('side', 'points');
-- one scan each
SELECT pg_stat_force_next_flush();
SELECT seq_scan AS before FROM pg_stat_user_tables WHERE relname = 'points' \gset
SELECT count(*) FROM svm_evaluate('side', 'points');
SELECT count(*) FROM svm_confusion('side', 'points');
SELECT count(*) > 2 FROM svm_roc('side', 'points');
SELECT pg_stat_force_next_flush();
SELECT seq_scan - :before AS scans FROM pg_stat_user_tables WHERE relname = 'points';
-- rows without label or prediction are left out; a label that the model does not know is wrong
CREATE VIEW odd AS SELECT x1, x2, y FROM points UNION ALL VALUES (1, NULL, 'left'), (1, 1, NULL), (3, 1, 'up'), (-9, 1, 'up');
SELECT rows, round(accuracy::numeric, 6) AS accuracy, round(auc::numeric, 4) AS auc FROM svm_evaluate('side', 'odd');
SELECT * FROM svm_confusion('side', 'odd');
SELECT * FROM svm_evaluate('side', 'points') AS e JOIN (SELECT 1) AS one ON e.rows < 0;
CREATE VIEW nobody AS SELECT * FROM points WHERE false;
SELECT * FROM svm_evaluate('side', 'nobody');
SELECT * FROM svm_confusion('side', 'nobody');
SELECT * FROM svm_roc('side', 'nobody');
CREATE VIEW one_side AS SELECT * FROM points WHERE y = 'left';
SELECT rows, precision, recall, auc FROM svm_evaluate('side', 'one_side');
-- another column holds the labels; whatever the search path; quoted names
CREATE SCHEMA "My data";
CREATE TABLE "My data"."My points" AS SELECT x1, x2, y AS "The side", NULL::text AS y FROM points;
SELECT rows, round(accuracy::numeric, 6) AS accuracy FROM svm_evaluate('side', '"My data"."My points"', label => 'The side');
SELECT rows FROM svm_evaluate('side@1', '"My data"."My points"');
SET search_path = "My data";
SELECT rows FROM public.svm_evaluate('side', '"My points"', 'The side');
SET search_path = tested, public;
-- labels of every type are compared in their type
CREATE TABLE typed AS SELECT x1, x2, y = 'right' AS b, (y = 'right')::int AS i, CASE y WHEN 'right' THEN 1.50 ELSE -0.5 END::numeric AS n,
    CASE y WHEN 'right' THEN 1e20 ELSE 0.1 END::float8 AS d, CASE y WHEN 'right' THEN 0.3 ELSE 0.1 END::real AS r, left(y, 4)::char(6) AS c,
    CASE y WHEN 'right' THEN 'happy' ELSE 'sad' END::mood AS m, y::name AS na FROM points;
SELECT svm_train('typed', kind, ARRAY['x1', 'x2'], model => kind, task => 'classification') FROM unnest(ARRAY['b', 'i', 'n', 'd', 'r', 'c', 'm', 'na']) AS kind;
SELECT kind, rows, round(accuracy::numeric, 4) AS accuracy, round(recall::numeric, 4) AS recall
FROM unnest(ARRAY['b', 'i', 'n', 'd', 'r', 'c', 'm', 'na']) AS kind, svm_evaluate(kind, 'typed');
SELECT * FROM svm_confusion('d', 'typed');
SELECT * FROM svm_confusion('b', 'typed');
SELECT * FROM svm_confusion('c', 'typed');
-- also where the column has another type
CREATE VIEW retyped AS SELECT x1, x2, n::float8 AS n, i::numeric(5,2) AS i FROM typed;
SELECT (SELECT sum(rows) FROM svm_confusion('n', 'retyped') WHERE actual IN ('1.5', '-0.5')), (SELECT count(*) FROM svm_confusion('i', 'retyped'));
-- rights are the caller's
CREATE ROLE evaluator;
GRANT evaluator TO CURRENT_USER;
GRANT USAGE ON SCHEMA tested TO evaluator;
SET ROLE evaluator;
SELECT * FROM svm_evaluate('side', 'points');
RESET ROLE;
REVOKE ALL ON SCHEMA tested FROM evaluator;
DROP ROLE evaluator;
-- errors
SELECT * FROM svm_evaluate('sid', 'points');
SELECT * FROM svm_evaluate('side', 'answers');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_evaluate('side', 'answers', 'actual');
SELECT * FROM svm_evaluate('side', 'points', 'Y');
SELECT * FROM svm_evaluate('side', 0);
SELECT * FROM svm_evaluate(NULL, 'points');
SELECT * FROM svm_evaluate('side', NULL);
SELECT * FROM svm_confusion('side', 'svm_model_pkey');
SELECT * FROM svm_evaluate('i', 'points', 'y');
-- a type that a model names is not looked up: values are compared in that of the column
UPDATE svm_version SET label_type = 'gone' WHERE label_column = 'b';
SELECT rows, accuracy FROM svm_evaluate('b', 'typed');
UPDATE svm_version SET label_type = 'text); DROP TABLE typed; --' WHERE label_column = 'b';
SELECT rows, accuracy FROM svm_evaluate('b', 'typed');
CREATE VIEW quoted AS SELECT x1, x2, CASE y WHEN 'right' THEN 'a'' \"' ELSE E'\n$1;' END AS "y ""y" FROM points;
SELECT svm_train('quoted', 'y "y', model => 'quo''ted');
SELECT * FROM svm_confusion('quo''ted', 'quoted');

-- many classes: means over the classes, the area of each class against the rest, probabilities
CREATE TABLE thirds AS SELECT (i % 17) - 8.0::float8 AS x1, (i % 23) - 11.0::float8 AS x2, ((i % 17 + i % 3) / 7 + 8) AS y FROM generate_series(1, 1500) AS i;
SELECT svm_train('thirds', 'y', model => 'thirds', probability => true, tolerance => 1e-6);
SELECT rows, round(accuracy::numeric, 3) AS accuracy, round(balanced_accuracy::numeric, 3) AS balanced, round(f1::numeric, 3) AS f1,
    round(auc::numeric, 3) AS auc, round(log_loss::numeric, 2) AS log_loss FROM svm_evaluate('thirds', 'thirds');
SELECT round((svm_metrics(y::text, svm_classify('thirds', t))).accuracy::numeric, 3) AS accuracy,
    round(((svm_auc(svm_decision('thirds', t, '8'), y = 8) + svm_auc(svm_decision('thirds', t, '9'), y = 9) + svm_auc(svm_decision('thirds', t, '10'), y = 10)) / 3)::numeric, 3) AS auc,
    round(svm_log_loss(svm_probability('thirds', t, y::text), true)::numeric, 2) AS log_loss FROM thirds AS t;
SELECT actual, predicted, rows > 0 AS any FROM svm_confusion('thirds', 'thirds');
CREATE VIEW more_thirds AS TABLE thirds UNION ALL VALUES (0, 0, 99);
SELECT rows, log_loss IS NULL AS no_loss FROM svm_evaluate('thirds', 'more_thirds');
SELECT * FROM svm_roc('thirds', 'thirds');
SELECT svm_train('points', 'y', ARRAY['x1', 'x2'], model => 'sure', probability => true);
SELECT abs(e.log_loss - (SELECT svm_log_loss(svm_probability('sure', p), y = 'right') FROM points AS p)) < 1e-12 AS same FROM svm_evaluate('sure', 'points') AS e;
SET client_min_messages = error;
DELETE FROM svm_model;
DROP SCHEMA tested, "My data" CASCADE;

-- rows left out are counted, whatever for; rights are wanted on the columns used; features may be all in one column
CREATE TABLE visits AS SELECT i AS id, i % 17 AS a, i % 23 AS b, ARRAY[i % 17, i % 23]::real[] AS x, 'secret' AS note,
    CASE WHEN i % 17 + i % 5 > 10 THEN 'yes' ELSE 'no' END AS answer, (i % 17 + i % 5) / 8 AS third
FROM generate_series(1, 1000) AS i;
SELECT svm_train('visits', 'answer', ARRAY['a', 'b'], 'columns', probability => true);
SELECT svm_train('visits', 'answer', ARRAY['x'], 'list');
SELECT svm_train('visits', 'third', ARRAY['a', 'b'], 'thirds', probability => true);
UPDATE visits SET a = NULL, x = NULL WHERE id % 10 = 0;
UPDATE visits SET answer = NULL WHERE id % 15 = 0;
CREATE TABLE documents AS SELECT id, to_jsonb(v) AS doc, x, answer, third FROM visits AS v;
SELECT e.rows, e.rows_left_out, e.accuracy = (h.metrics).accuracy AS accuracy, e.auc = h.auc AS auc, e.log_loss = h.log_loss AS log_loss
FROM svm_evaluate('columns', 'visits') AS e, (SELECT svm_metrics(answer, svm_classify('columns', v)) AS metrics,
    svm_auc(svm_decision('columns', v), answer = 'yes') AS auc, svm_log_loss(svm_probability('columns', v), answer = 'yes') AS log_loss FROM visits AS v) AS h;
SELECT e.rows, e.rows_left_out, e.accuracy = (h.metrics).accuracy AS accuracy, e.auc = h.auc AS auc, e.log_loss
FROM svm_evaluate('list', 'visits') AS e, (SELECT svm_metrics(answer, svm_classify('list', v)) AS metrics,
    svm_auc(svm_decision('list', v), answer = 'yes') AS auc FROM visits AS v) AS h;
SELECT count(*) AS same FROM (SELECT * FROM svm_evaluate('columns', 'visits') INTERSECT SELECT * FROM svm_evaluate('columns', 'documents', features => 'doc')) AS s;
SELECT count(*) AS same FROM (SELECT * FROM svm_evaluate('list', 'visits') INTERSECT SELECT * FROM svm_evaluate('list', 'documents', features => 'doc')
    INTERSECT SELECT * FROM svm_evaluate('list', 'documents', features => 'x', label => 'answer')) AS s;
CREATE VIEW bare AS SELECT doc, x AS numbers FROM documents;
SELECT rows, rows_left_out FROM svm_evaluate('columns', 'bare', features => 'doc');
SELECT count(*) AS same FROM (SELECT * FROM svm_evaluate('thirds', 'visits') INTERSECT SELECT * FROM svm_evaluate('thirds', 'bare', features => 'doc')) AS s;
SELECT count(*) AS same FROM (SELECT * FROM svm_confusion('columns', 'visits') INTERSECT SELECT * FROM svm_confusion('columns', 'bare', features => 'doc')) AS s;
SELECT (SELECT array_agg(r) FROM svm_roc('columns', 'visits') AS r) = (SELECT array_agg(r) FROM svm_roc('columns', 'bare', features => 'doc') AS r) AS same;
SELECT rows, rows_left_out FROM svm_evaluate('list', 'documents', features => 'x');
SELECT * FROM svm_evaluate('list', 'bare', features => 'numbers');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_evaluate('list', 'bare', features => 'nothing');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM svm_evaluate('columns', 'documents');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE few AS SELECT a, CASE id WHEN 2 THEN 'NaN' ELSE b::float8 END AS b, answer FROM visits WHERE id < 4 ORDER BY id;
SELECT rows FROM svm_evaluate('columns', 'few');
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE visits ALTER b TYPE float8;
UPDATE visits SET b = 'NaN' WHERE id = 77;
ALTER TABLE visits ADD PRIMARY KEY (id);
SELECT rows FROM svm_evaluate('columns', 'visits');
\echo :LAST_ERROR_SQLSTATE
CREATE ROLE regress_svm_reader;
SELECT svm_grant(name, 'regress_svm_reader') FROM unnest('{columns,list}'::text[]) AS name;
GRANT SELECT (a, b, answer) ON visits TO regress_svm_reader;
SET ROLE regress_svm_reader;
SELECT rows FROM svm_evaluate('columns', 'visits');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
UPDATE visits SET b = 1 WHERE id = 77;
SET ROLE regress_svm_reader;
SELECT rows, rows_left_out FROM svm_evaluate('columns', 'visits');
SELECT sum(rows) FROM svm_confusion('columns', 'visits');
SELECT count(*) > 2 AS points FROM svm_roc('columns', 'visits');
SELECT rows FROM svm_evaluate('list', 'visits');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
SELECT svm_revoke(name, 'regress_svm_reader') FROM unnest('{columns,list}'::text[]) AS name;
REVOKE ALL (a, b, answer) ON visits FROM regress_svm_reader;
DROP ROLE regress_svm_reader;
-- columns that are called what our queries call their rows: they are not meant, whatever functions are there for their types
CREATE TABLE named AS SELECT i AS "pgsvm row", i + 1 AS "pgsvm row 2", sin(i) AS decision, cos(i) AS actual, sin(i) > .2 AS answers, i % 3 AS predicted
FROM generate_series(1, 60) AS i;
CREATE FUNCTION svm_row_decision(text, int) RETURNS float8 LANGUAGE sql AS 'SELECT 1 / 0::float8';
CREATE FUNCTION svm_row_answers(text, int) RETURNS float8[] LANGUAGE sql AS 'SELECT ARRAY[1 / 0::float8]';
CREATE FUNCTION svm_row_class(text, int) RETURNS text LANGUAGE sql AS 'SELECT (1 / 0)::text';
SET client_min_messages = warning;
SELECT svm_train('named', 'answers', '{"pgsvm row","pgsvm row 2",decision}', 'named'), svm_train('named', 'predicted', '{"pgsvm row",actual}', 'three', c => 1e-9);
RESET client_min_messages;
SELECT rows, accuracy FROM svm_evaluate('named', 'named');
SELECT rows FROM svm_evaluate('three', 'named');
SELECT count(*) FROM svm_confusion('three', 'named');
SELECT count(*) > 1 AS points FROM svm_roc('named', 'named');
SELECT count(*) FROM svm_suspects('named', 'named');
DROP TABLE named;
DROP FUNCTION svm_row_decision(text, int), svm_row_answers(text, int), svm_row_class(text, int);

-- categories and labels that training has not seen are counted, not passed over
SET client_min_messages = warning;
CREATE TABLE known AS SELECT 'k' || i % 4 AS kind, i % 3 AS part, CASE WHEN i % 4 > 1 AND i % 5 > 0 THEN 'true' ELSE 'false' END AS y FROM generate_series(1, 60) AS i;
SELECT svm_train('known', 'y', ARRAY['kind', 'category(part)', 'cross(kind, part)'], 'unseen');
CREATE TABLE later AS SELECT * FROM (VALUES ('k1', 1, 'true'), ('new', 2, 'false'), ('k2', 9, 'true'), (NULL, 1, 'false'), ('k3', 0, 'maybe'), ('other', 7, NULL), ('k0', 0, 'unsure'))
    AS rows (kind, part, y);
SELECT rows, rows_left_out, unseen_words, unseen_categories, unseen_labels FROM svm_evaluate('unseen', 'later');
SELECT rows, rows_left_out, unseen_words, unseen_categories, unseen_labels FROM svm_evaluate('unseen', 'known');
-- in documents; a model without categories, and one with hashed ones, has none that are unseen
CREATE TABLE later_documents AS SELECT to_jsonb(later) - 'y' AS doc, y FROM later;
SELECT rows, unseen_categories, unseen_labels FROM svm_evaluate('unseen', 'later_documents', features => 'doc');
SELECT svm_train('known', 'y', ARRAY['part'], 'unseen_numbers', kernel => 'rbf'), svm_train('known', 'y', ARRAY['kind', 'category(part)'], 'unseen_hashed', options => '{"max_categories": 1, "hash_bits": 6}');
SELECT unseen_categories, unseen_labels FROM svm_evaluate('unseen_numbers', 'later');
SELECT unseen_categories, unseen_labels FROM svm_evaluate('unseen_hashed', 'later');
DROP TABLE known, later, later_documents;
SELECT svm_drop(name) FROM (SELECT name FROM svm_models WHERE name LIKE 'unseen%' ORDER BY name) AS named;
