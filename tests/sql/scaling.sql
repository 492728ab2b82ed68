-- Columns from 0 to 1 and rows of unit length: against scikit-learn's, and alike wherever a model is used.
\set SHOW_CONTEXT never
SET client_min_messages = error;
SET pgsvm.workers = 0;
CREATE TABLE plots AS
SELECT i AS id, a, b, c, 3 * (a - 120) / 80.0 + 2 * (b - 1960) / 60.0 - c / 5.0 + (i * 7 % 13 - 6) / 3.0 > 0.002 AS y,
    '{1,2,3,4}'::int[] AS idx, ARRAY[i % 4, i * 5 % 7, (i % 3 = 0)::int, (i % 11 = 2)::int]::real[] AS val,
    (ARRAY['red', 'green', 'blue'])[i % 3 + 1] AS colour, i % 2 = 0 AS wet, 'plot' AS kind
FROM (SELECT i, 40 + i * 7919 % 160 AS a, 1900 + i * 104729 % 120 AS b, i * 31 % 17 - 5 AS c FROM generate_series(1, 300) AS i) AS n;

-- decisions about rows 1, 2, 3, 299 and 300, and the objective, by tests/reference/scaling.py (scikit-learn 1.9.1)
CREATE TABLE reference (name text, features text[], scale text, unit boolean, objective float8, decisions float8[]);
INSERT INTO reference VALUES
    ('minmax', '{a,b,c}', 'minmax', false, 139.6403, '{-0.3289,0.7326,-0.6842,0.8257,-0.5912}'),
    ('none_unit', '{a,b,c}', 'none', true, 272.9649, '{-0.1402,0.0975,-0.1339,-0.0749,-0.3059}'),
    ('standard_unit', '{a,b,c}', 'standard', true, 144.2231, '{-0.3169,0.6162,-0.9263,0.9807,-0.4974}'),
    ('minmax_unit', '{a,b,c}', 'minmax', true, 188.5725, '{-0.4575,0.1722,-0.253,0.5508,0.0343}'),
    ('sparse_unit', '{"sparse(idx, val)"}', 'none', true, 294.8595, '{-0.1208,-0.1785,-0.1184,-0.1661,-0.0742}'),
    ('sparse_maxabs_unit', '{"sparse(idx, val)"}', 'maxabs', true, 294.7383, '{-0.1272,-0.2305,-0.1251,-0.2231,-0.0925}'),
    ('sparse_minmax_unit', '{"sparse(idx, val)"}', 'minmax', true, 294.7383, '{-0.1272,-0.2305,-0.1251,-0.2231,-0.0925}');
SELECT count(svm_train('plots', 'y', features, name, scale => scale, tolerance => 1e-7, max_passes => 100000,
    options => jsonb_build_object('normalize_rows', unit))) FROM reference;
SELECT r.name, abs(m.primal / r.objective - 1) < 1e-5 AS objective, (SELECT max(abs(decision - svm_decision(r.name, p))) < 1e-3
    FROM unnest(r.decisions) WITH ORDINALITY AS d (decision, place) JOIN plots AS p ON id = CASE WHEN place < 4 THEN place ELSE place + 295 END) AS decisions
FROM reference AS r JOIN svm_models AS m USING (name) ORDER BY name;
SELECT name, scale, options FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id WHERE name IN ('minmax', 'minmax_unit') ORDER BY name;
-- where rows stream
SET pgsvm.cache_size = '16kB';
SELECT svm_train('plots', 'y', '{a,b,c}', 'streamed', scale => 'minmax', tolerance => 1e-5, max_passes => 10000, options => '{"normalize_rows": true}');
RESET pgsvm.cache_size;
SELECT abs(primal / 188.5725 - 1) < 1e-4 AS objective FROM svm_models WHERE name = 'streamed';

-- a model of everything is alike in each of its forms
CREATE TABLE everything AS SELECT scale, n, svm_train('plots', 'y', '{a,b,wet,colour,c}', format('all_%s_%s', scale, n), scale => scale, nulls => n,
    options => '{"normalize_rows": true}') AS model FROM unnest('{none,standard,maxabs,minmax}'::text[]) AS scale, unnest('{error,mean,zero}'::text[]) AS n;
CREATE FUNCTION alike(model text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    PERFORM svm_create_function(model, 'scored', kind => 'decision', immutable => true);
    PERFORM svm_import('brought', svm_export(model, format => 'pgsvm'));
    EXECUTE format('SELECT concat_ws('' '', every(abs(d - (%s)) < 1e-6), every(abs(d - scored(a, b, wet, colour, c)) < 1e-9),
        every(abs(d - svm_decision(''brought'', p)) < 1e-9), every(abs(d - svm_decision(%L, to_jsonb(p))) < 1e-9),
        every(abs(d - (SELECT sum(contribution) FROM svm_explain(%2$L, p))) < 1e-6), every((d > 0) = svm_classify(%2$L, p)::boolean), count(*))
        FROM (SELECT p.*, svm_decision(%2$L, p) AS d FROM plots AS p) AS p', svm_as_sql(model), model) INTO answer;
    PERFORM svm_drop('brought');
    DROP FUNCTION scored(double precision, double precision, boolean, text, double precision);
    RETURN answer;
END $$;
SELECT scale, n, alike(model) FROM everything ORDER BY scale, n;
-- NULL is what the model makes of it
DO $$
DECLARE
    model text;
    answer text;
BEGIN
    FOREACH model IN ARRAY '{all_standard_error,all_standard_mean,all_minmax_zero}'::text[] LOOP
        EXECUTE format('SELECT string_agg(coalesce((abs(by_sql - by_model) < 1e-6)::text, concat(by_sql, by_model, ''null'')), '' '') FROM (
            SELECT %s AS by_sql, svm_decision(%L, r) AS by_model FROM (VALUES (NULL::int, 1960, true, ''red'', 3), (100, 1960, NULL, ''red'', 3), (100, 1960, true, NULL, 3),
                (100, 1960, true, ''pink'', 3)) AS r (a, b, wet, colour, c)) AS s', svm_as_sql(model), model) INTO answer;
        RAISE INFO '%: %', model, answer;
    END LOOP;
END $$;
-- arrays and texts in place of rows
SELECT every(abs(svm_decision('minmax_unit', ARRAY[a, b, c]) - svm_decision('minmax_unit', p)) < 1e-9), every(abs(svm_decision('minmax_unit', ARRAY[a, b, c]::real[]) - svm_decision('minmax_unit', p)) < 1e-6),
    every(abs(svm_decision('minmax_unit', format('1:%s 2:%s 3:%s', a, b, c)) - svm_decision('minmax_unit', p)) < 1e-9),
    every(abs(svm_decision('sparse_unit', format('1:%s 2:%s 3:%s 4:%s', val[1], val[2], val[3], val[4])) - svm_decision('sparse_unit', p)) < 1e-9)
FROM plots AS p;
-- a row of zeros has no length
SELECT svm_decision('sparse_unit', '') = (SELECT weight FROM svm_weights('sparse_unit') WHERE feature = '(intercept)') AS intercept_alone;
-- values of an explained row are those that weights are for
SELECT round(sum(value * value)::numeric, 6) AS length FROM svm_explain('minmax_unit', (SELECT p FROM plots AS p WHERE id = 5)) WHERE feature <> '(intercept)';
SELECT count(*), count(standardized), round(sum(importance)::numeric, 6) AS importance FROM svm_weights('minmax_unit');

-- many classes, held-out rows, and what is said of the model by evaluation
CREATE TABLE kinds AS SELECT id, a, b, c, 1 + (y::int + (c > 3)::int) AS kind FROM plots;
SELECT svm_train('kinds', 'kind', '{a,b,c}', 'kinds', scale => 'minmax', probability => true, options => '{"normalize_rows": true}');
SELECT round(accuracy::numeric, 6) = (SELECT round(avg((svm_predict('kinds', k) = kind)::int), 6) FROM kinds AS k) AS evaluated FROM svm_evaluate('kinds', 'kinds');
SELECT abs((SELECT training_accuracy FROM svm_models WHERE name = 'kinds') - (SELECT avg((svm_predict('kinds', k) = kind)::int) FROM kinds AS k)) < 1e-6 AS on_training_rows;
SELECT count(*), every(accuracy > 0.5) FROM svm_cross_validate('plots', 'y', c => '{1}', features => '{a,b,c}', scale => 'minmax', options => '{"normalize_rows": true}');

-- models that follow their table scale anew
CREATE TABLE growing AS SELECT * FROM plots WHERE id <= 200;
SELECT svm_train('growing', 'y', '{a,b,c}', 'growing', scale => 'minmax', tolerance => 1e-5, max_passes => 10000, key => 'id', options => '{"normalize_rows": true}');
INSERT INTO growing SELECT * FROM plots WHERE id > 200;
SELECT svm_refresh('growing');
SELECT abs(primal / 188.5725 - 1) < 1e-4 AS objective, (SELECT max(abs(svm_decision('growing', p) - svm_decision('minmax_unit', p))) < 0.05 FROM plots AS p) AS as_trained_anew
FROM svm_models WHERE name = 'growing';
SELECT svm_forget_query('growing', 'SELECT id FROM growing WHERE id > 200');
SELECT svm_update_query('growing', 'SELECT * FROM growing WHERE id > 200');
SELECT abs(primal / 188.5725 - 1) < 1e-4 AS objective FROM svm_models WHERE name = 'growing';
SELECT svm_train('plots', 'y', '{a,b,c}', 'begun', scale => 'minmax', options => '{"normalize_rows": true, "warm_start": "minmax_unit"}');
SELECT abs(primal / 188.5725 - 1) < 2e-3 AS objective FROM svm_models WHERE name = 'begun';
-- what is missing lies at the mean
SELECT svm_train_query('SELECT nullif(a, 40 + id % 160) AS a, b, c, y FROM plots', 'y', model => 'holes', scale => 'minmax', nulls => 'mean', tolerance => 1e-6, max_passes => 10000);
SELECT svm_train_query('SELECT coalesce(nullif(a, 40 + id % 160), mean) AS a, b, c, y FROM plots, (SELECT avg(nullif(a, 40 + id % 160)) AS mean FROM plots) AS m', 'y',
    model => 'filled', scale => 'minmax', tolerance => 1e-6, max_passes => 10000);
SELECT abs(h.primal / f.primal - 1) < 1e-4 AS same FROM svm_models AS h, svm_models AS f WHERE h.name = 'holes' AND f.name = 'filled';

-- errors
SELECT svm_train('plots', 'y', '{a}', scale => 'unit');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('plots', 'y', '{a}', options => '{"normalize_rows": "l1"}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_export('minmax_unit', format => 'libsvm');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM svm_explain('minmax_unit', (SELECT p FROM plots AS p WHERE id = 5), baseline => 'mean');
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_version SET features = jsonb_set(features, '{unit_rows,factor}', '[1]') WHERE id = svm_internal.svm_version_id('minmax_unit');
SELECT svm_decision('minmax_unit', ARRAY[1, 2, 3]);
\echo :LAST_ERROR_SQLSTATE

DROP FUNCTION alike;
DROP TABLE plots, reference, everything, kinds, growing;
DELETE FROM svm_model;
