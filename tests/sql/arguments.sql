-- Arguments as people give them: C as a number, a list or a word; what was 0.2.0's; a relation or a query
CREATE EXTENSION IF NOT EXISTS pgsvm;
CREATE SCHEMA arguments;
SET search_path = arguments, public;
SET client_min_messages = error;
CREATE TABLE few AS SELECT i AS id, sin(i) AS a, sin(i) > 0.3 * cos(3 * i) AS label FROM generate_series(1, 200) AS i;
CREATE TABLE in_parts AS SELECT a, label, 'p' || id % 2 AS part FROM few;
CREATE TABLE by_year AS SELECT a AS "2019", id AS "2020", label FROM few;

-- C as a number, a list and a word, of any type
CREATE FUNCTION trained_c(form text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT svm_train(''few'', ''label'', model => ''form'', c => %s, options => ''{"inherit": false}'')', form);
    RETURN (SELECT format('%s of %s', v.c, coalesce(jsonb_array_length(v.validation)::text, 'one')) FROM svm_version AS v
        WHERE v.id = (SELECT id FROM svm_version ORDER BY trained_at DESC, version DESC LIMIT 1));
END $$;
CREATE DOMAIN cost AS numeric;
SELECT form, trained_c(form) FROM unnest(ARRAY['0.5', '2', '2::smallint', '3::bigint', '0.1::real', '0.25::float8', '0.75::cost', '''.5''',
    '''5e-1''::text', '''0.5''::varchar', '''default''', '''NaN''::float8', '''{0.5}''', 'ARRAY[2]']) AS form;
SELECT form, trained_c(form) ~ '^(0.1|1) of 10$' AS chosen FROM unnest(ARRAY['ARRAY[0.1, 1]', 'ARRAY[0.1, 1]::float8[]', 'ARRAY[0.1, 1]::real[]',
    'ARRAY[0.1, 1]::text[]', '''{.1, 1}''', '''{"0.1",1}''::text', '''[0.1, 1]''']) AS form;
SELECT form, trained_c(form) ~ ' of (25|30|35|40)$' AS chosen FROM unnest(ARRAY['''auto''', 'NULL', 'NULL::float8', '''auto''::text']) AS form;
-- the next training goes on with it
SELECT svm_train('few', 'label', model => 'form', c => '{0.1, 1}', folds => 3);
SELECT svm_train('few', 'label', model => 'form');
SELECT given -> 'c' AS c, options FROM svm_versions WHERE name = 'form' ORDER BY version DESC LIMIT 2;
SELECT svm_train('few', 'label', model => 'form', c => 'auto', options => '{"costs": [0.1, 10]}');
SELECT svm_train('few', 'label', model => 'form', c => '{0.5,5}');
SELECT given -> 'c' AS c, options FROM svm_versions WHERE name = 'form' ORDER BY version DESC LIMIT 2;
-- gamma likewise
SELECT svm_train('few', 'label', model => 'round', kernel => 'rbf', gamma => 0.5), svm_train('few', 'label', model => 'rounder', kernel => 'rbf', gamma => '{0.5, 2}', c => '{1,10}');
SELECT (v.features #>> '{kernel,gamma}')::float8 IN (0.5, 2) AS named, jsonb_array_length(v.validation) FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id
WHERE m.name IN ('round', 'rounder') ORDER BY m.name;
SELECT count(*), count(DISTINCT gamma) FROM svm_cross_validate('few', 'label', c => 1, kernel => 'rbf', gamma => 0.5, folds => 2);
SELECT count(DISTINCT gamma) FROM svm_cross_validate('few', 'label', c => 1, kernel => 'rbf', gamma => 'auto', folds => 2, rank => 10);
SELECT svm_train('few', 'label', gamma => 'much', kernel => 'rbf');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('few', 'label', c => 'atuo');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('few', 'label', c => '0,5');
SELECT svm_cross_validate('few', 'label', c => '{0.1, small}');
SELECT svm_select_features('few', 'label', c => '{}');
SELECT svm_cross_validate('few', 'label', c => array_fill(1, ARRAY[101]));
SELECT svm_train('few', 'label', c => true);
\echo :LAST_ERROR_SQLSTATE
-- 0.2.0 had C in the place of features, the number of folds in that of c and the fold column in that of loss
SET client_min_messages = notice;
SELECT count(*), count(DISTINCT c), count(DISTINCT fold) FROM svm_cross_validate('few', 'label', '{0.1,1}');
SELECT count(*), count(DISTINCT c), count(DISTINCT fold) FROM svm_cross_validate('few', 'label', '{0.1, 1}', 3);
SELECT count(DISTINCT c), array_agg(DISTINCT fold) FROM svm_cross_validate('in_parts', 'label', '{10}', 2, 'part');
-- a column may have such a name
SELECT count(DISTINCT c), count(DISTINCT fold) FROM svm_cross_validate('by_year', 'label', '{2019,2020}', 1, folds => 2);
SELECT svm_cross_validate('few', 'label', '{0.1,1}', '{1,2}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('few', 'label', '{0.1,-1}');
\echo :LAST_ERROR_SQLSTATE
SET client_min_messages = error;
-- the same arguments in the same order, with the same types
WITH arguments AS (
    SELECT proname, argument.name, argument.type::regtype, argument.place
    FROM pg_proc, unnest(proargnames[:pronargs], proargtypes::oid[]) WITH ORDINALITY AS argument (name, type, place)
    WHERE proname IN ('svm_train', 'svm_train_query', 'svm_cross_validate', 'svm_select_features')
)
SELECT one.proname, two.proname, count(*) AS common, count(*) FILTER (WHERE one.type <> two.type) AS of_other_types,
    array_agg(one.name ORDER BY one.place) = array_agg(one.name ORDER BY two.place) AS in_one_order
FROM arguments AS one JOIN arguments AS two ON two.name = one.name AND one.proname < two.proname GROUP BY one.proname, two.proname ORDER BY 1, 2;
SELECT * FROM svm_select_features('few', 'label', c => 0.1, metric => 'auc', folds => 2);

-- a relation, by its name, or a query
SELECT svm_train('few', 'label', '{a}', 'kept', key => 'id', options => '{"inherit": false}');
CREATE TABLE "select" AS SELECT i AS id, sin(i) AS a, sin(i) > 0 AS label FROM generate_series(201, 260) AS i;
CREATE TABLE "with. blank" AS TABLE "select";
SELECT source, (SELECT (rows, rows_left_out) FROM svm_evaluate('kept', source)) FROM unnest(ARRAY['few', 'arguments.few', 'SELECT * FROM few', 'select"id",a,label from few',
    ' TABLE few', '(SELECT * FROM few)', 'WITH early AS (SELECT * FROM few WHERE id < 100) SELECT * FROM early', E'-- by hand\n/* as ever */ SELECT a, label FROM few LIMIT 50',
    'select', '"with. blank"', 'arguments.select']) AS source;
SELECT (SELECT accuracy FROM svm_evaluate('kept', 'few'::regclass)) = (SELECT accuracy FROM svm_evaluate('kept', 'TABLE few')) AS same,
    (SELECT sum(rows) FROM svm_confusion('kept', 'SELECT * FROM few WHERE id > 50')) AS confused, (SELECT count(*) > 5 FROM svm_roc('kept', 'SELECT * FROM few')) AS roc;
SELECT rows FROM svm_evaluate('kept', 'SELECT a AS b, label AS truth, jsonb_build_object(''a'', a) AS doc FROM few', 'truth', features => 'doc');
PREPARE asked AS SELECT rows FROM svm_evaluate('kept', $1);
EXECUTE asked('SELECT * FROM few LIMIT 7');
INSERT INTO few SELECT * FROM "select";
SELECT svm_update('kept', 'SELECT * FROM "select"'), svm_forget('kept', 'SELECT id FROM few WHERE id <= 10'), svm_forget('kept', 'arguments.select'), svm_update('kept', 'select'),
    svm_forget_query('kept', 'TABLE "select"');
SELECT rows_used FROM svm_versions WHERE name = 'kept' ORDER BY version;
SELECT rows FROM svm_evaluate('kept', 'fewer');
\echo :LAST_ERROR_SQLSTATE
SELECT rows FROM svm_evaluate('kept', 'SELECT a FROM few');
\echo :LAST_ERROR_SQLSTATE
SELECT rows FROM svm_evaluate('kept', 'SELECT a FROM few; SELECT 1');
\echo :LAST_ERROR_SQLSTATE
SELECT rows FROM svm_evaluate('kept', 'WITH gone AS (DELETE FROM few RETURNING *) SELECT * FROM gone');
\echo :LAST_ERROR_SQLSTATE
SELECT rows FROM svm_evaluate('kept', 'SELECT a, label FROM few) AS x, (SELECT 1');
\echo :LAST_ERROR_SQLSTATE
SELECT rows FROM svm_evaluate('kept', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_update('kept', 'fewer');
\echo :LAST_ERROR_SQLSTATE

-- a label beside the text that svm_classify makes of it
CREATE TYPE mood AS ENUM ('well', 'ill');
CREATE TABLE moods AS SELECT a, label, (label::int)::numeric(3, 1) AS number, label::int AS whole, label::int::float8 AS float, label::text AS word,
    CASE WHEN label THEN 'ill' ELSE 'well' END::mood AS mood, CASE WHEN label THEN 'ill' ELSE 'well' END::char(6) AS padded, id > 190 AS is_new FROM few;
SELECT svm_train('moods', 'label', '{a}', 'by_label'), svm_train('moods', 'whole', '{a}', 'by_whole'), svm_train('moods', 'number', '{a}', 'by_number'),
    svm_train('moods', 'float', '{a}', 'by_float'), svm_train('moods', 'mood', '{a}', 'by_mood'), svm_train('moods', 'padded', '{a}', 'by_padded');
WITH found AS (
    SELECT svm_metrics(label, svm_predict('by_label', m, NULL::boolean)) AS expected, svm_metrics(label, svm_classify('by_label', m)) AS label,
        svm_metrics(whole, svm_classify('by_whole', m)) AS whole, svm_metrics(number, svm_classify('by_number', m)) AS number, svm_metrics(float, svm_classify('by_float', m)) AS float,
        svm_metrics(mood, svm_classify('by_mood', m)) AS mood, svm_metrics(padded, svm_classify('by_padded', m)) AS padded,
        svm_metrics(word, svm_predict('by_label', m, NULL::boolean)) AS reverse, svm_metrics(word, svm_classify('by_label', m)) AS words,
        svm_metrics(label, svm_classify('by_label', m), true) AS named, svm_metrics(word, svm_predict('by_label', m, NULL::boolean), true) AS named_reverse,
        svm_metrics(label, svm_classify('by_label', m), 'true') AS named_by_text
    FROM moods AS m
)
SELECT (expected).rows, expected = label AS label, expected = whole AS whole, expected = number AS number, expected = float AS float, (expected).accuracy = (mood).accuracy AS mood,
    (expected).accuracy = (padded).accuracy AS padded, expected = reverse AS reverse, expected = words AS words, expected = named AS named, expected = named_reverse AS named_reverse,
    expected = named_by_text AS named_by_text FROM found;
SELECT (svm_metrics(label, given)).accuracy FROM (VALUES (true, 't'), (true, 'yes'), (false, '0'), (false, 'false'), (false, 'on'), (true, NULL)) AS v (label, given);
SELECT (svm_metrics(word, 'true')).accuracy = (svm_metrics(word, 'true'::text)).accuracy AS literal, (svm_metrics(word::varchar, 'true')).accuracy = (svm_metrics(word, 'true')).accuracy AS varchar,
    (svm_metrics(label, 'true')).accuracy = (svm_metrics(label, true)).accuracy AS truth, (svm_metrics(word, 'true', 'true')).recall AS recall, (svm_metrics(mood, 'ill')).rows, (svm_metrics(whole, 1.0)).rows AS of_numbers,
    (svm_metrics(word, NULL)).rows AS none, (svm_metrics(word, word::name)).accuracy AS of_names, (svm_metrics(label, 't'::varchar)).rows AS by_varchar FROM moods;
SELECT svm_metrics(label, 'maybe'::text) FROM moods;
\echo :LAST_ERROR_SQLSTATE

-- whoever it is
CREATE ROLE regress_svm_anybody;
GRANT USAGE ON SCHEMA arguments TO regress_svm_anybody;
GRANT SELECT ON few TO regress_svm_anybody;
SET ROLE regress_svm_anybody;
SELECT svm_train('few', 'label', '{a}', 'anybodys', kernel => 'rbf', c => 2, gamma => ARRAY[0.5, 1]), svm_train('few', 'label', '{a}', 'anybodys', c => '{1,2}'::text);
SELECT count(*) FROM svm_cross_validate('few', 'label', c => 0.5::real);
SELECT (svm_metrics(label, svm_classify('anybodys', f))).rows, (SELECT rows FROM svm_evaluate('anybodys', 'SELECT * FROM few')) FROM few AS f;
SELECT svm_drop('anybodys');
RESET ROLE;
DROP OWNED BY regress_svm_anybody;
DROP ROLE regress_svm_anybody;

-- JSON as programs write it: numbers and booleans as strings
CREATE TABLE visits AS SELECT i AS age, i % 4 AS shop, i % 2 = 0 AS member, (ARRAY['red', 'green', 'blue'])[1 + i % 3] AS colour, ARRAY[i % 5, i % 7] AS counts, CASE WHEN i > 100 THEN 'old' ELSE 'young' END AS label
FROM generate_series(1, 200) AS i;
SELECT svm_train('visits', 'label', '{age,member,colour,counts}', 'visits'), svm_train('visits', 'label', '{shop,category(shop),age,member}', 'both');
SELECT count(*) FROM visits AS v, jsonb_build_object('age', age::text, 'shop', shop::text, 'member', member::text, 'colour', colour, 'counts', ARRAY[counts[1]::text, counts[2]::text]) AS strings
WHERE svm_decision('visits', strings) IS DISTINCT FROM svm_decision('visits', v) OR svm_decision('visits', strings::json) IS DISTINCT FROM svm_decision('visits', v)
    OR svm_decision('both', strings) IS DISTINCT FROM svm_decision('both', v);
SELECT svm_decision('visits', '{"age": " 4.2e1 ", "member": "true", "colour": "red", "counts": [1, "2"]}'::jsonb) = svm_decision('visits', '{"age": 42, "member": true, "colour": "red", "counts": [1, 2]}'::jsonb) AS same;
SELECT svm_decision('visits', '{"age": "old", "member": true, "colour": "red", "counts": [1, 2]}'::jsonb);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_decision('visits', '{"age": "", "member": true, "colour": "red", "counts": [1, 2]}'::jsonb);
SELECT svm_decision('visits', '{"age": "NaN", "member": true, "colour": "red", "counts": [1, 2]}'::jsonb);
SELECT svm_decision('visits', '{"age": 1, "member": true, "colour": "red", "counts": [1, "many"]}'::jsonb);
-- what training has not seen is counted in documents as in columns
CREATE TABLE strangers AS SELECT age, member, CASE WHEN age % 4 = 0 THEN 'mauve' ELSE colour END AS colour, counts, CASE WHEN age % 10 = 0 THEN 'perhaps' ELSE label END AS label FROM visits;
CREATE TABLE documents AS SELECT to_jsonb(s) AS doc, s.label FROM strangers AS s;
SELECT a.rows, a.unseen_categories, a.unseen_labels, a = b AS as_jsonb, a = c AS as_json, a = d AS with_label_within FROM svm_evaluate('visits', 'strangers') AS a,
    svm_evaluate('visits', 'documents', features => 'doc') AS b, svm_evaluate('visits', 'SELECT doc::json, label FROM documents', features => 'doc') AS c,
    svm_evaluate('visits', 'SELECT doc FROM documents', features => 'doc') AS d;
-- what svm_models shows
SELECT name, label_column, source, solver, solver_used IN ('newton', 'stream') AS used FROM svm_models WHERE name IN ('visits', 'kept') ORDER BY name;
SELECT svm_train_query('SELECT age, label FROM visits', 'label', model => 'asked', solver => 'stream');
SELECT label_column, source, solver_used FROM svm_models WHERE name = 'asked';
