-- Arguments as people give them: C as a number, a list or a word; what was 0.2.0's; a relation or a query
CREATE EXTENSION IF NOT EXISTS pgsvm;
CREATE SCHEMA arguments;
SET search_path = arguments, public;
SET client_min_messages = error;
CREATE TABLE few AS SELECT i AS id, sin(i) AS a, sin(i) > 0.3 * cos(3 * i) AS label FROM generate_series(1, 200) AS i;

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
-- 0.2.0 had C in the place of features
SELECT svm_cross_validate('few', 'label', '{0.1,1}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_cross_validate('few', 'label', '{0.1,1}', 3);
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
