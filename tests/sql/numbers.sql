-- Numbers at the edges: trained with a certificate that says how far it got, or refused; nothing stored is NaN.
\set SHOW_CONTEXT never
SET client_min_messages = error;
DELETE FROM svm_model;
-- trains in every combination and tells those that stored something that is not finite, or a gap that is not one
CREATE FUNCTION trains(query text, scales text[] DEFAULT '{none,standard,maxabs}', features text[] DEFAULT NULL) RETURNS TABLE (outcome text, trainings bigint)
LANGUAGE plpgsql AS $$
DECLARE
    cost float8; scaling text; kind text; v record; outcomes text[] := '{}';
BEGIN
    FOREACH cost IN ARRAY ARRAY[1e-6, 1, 1e6]::float8[] LOOP
    FOREACH scaling IN ARRAY scales LOOP
    FOREACH kind IN ARRAY ARRAY['hinge', 'squared_hinge'] LOOP
        BEGIN
            PERFORM svm_train_query(query, 'y', features, 'edge', c => cost, scale => scaling, loss => kind, max_passes => 50);
            SELECT * INTO STRICT v FROM svm_version ORDER BY trained_at DESC LIMIT 1;
            IF EXISTS (
                SELECT FROM svm_weight, unnest(weights || v.intercept) AS w
                WHERE version_id = v.id AND (w = 'NaN' OR abs(w) = 'Infinity')
            ) THEN
                outcomes := outcomes || format('a weight is not finite: c %s, scale %s, %s', cost, scaling, kind);
            -- converged, or as far from it as the gap says, which is that of primal and dual
            ELSIF (
                SELECT bool_and(
                    CASE h.stop_reason WHEN 'tolerance' THEN h.gap BETWEEN 0 AND 1e-3 ELSE h.gap > 1e-3 AND h.gap < 'Infinity' END
                    AND abs((h.primal - h.dual) / h.primal - h.gap) < 1e-6
                ) AND max(h.gap) = v.gap
                FROM svm_head AS h WHERE h.version_id = v.id
            ) THEN
                outcomes := outcomes || 'honest'::text;
            ELSE
                outcomes := outcomes || format('wrong certificate: c %s, scale %s, %s: primal %s, dual %s, gap %s, %s',
                    cost, scaling, kind, v.primal, v.dual, v.gap, v.stop_reason);
            END IF;
        EXCEPTION WHEN OTHERS THEN
            outcomes := outcomes || (SQLSTATE || ' ' || SQLERRM);
        END;
    END LOOP; END LOOP; END LOOP;
    RETURN QUERY SELECT o, count(*) FROM unnest(outcomes) AS o GROUP BY o ORDER BY o;
END $$;
-- duplicate rows, and one row with both labels
SELECT * FROM trains('SELECT i % 2 AS x, i % 2 = 0 AS y FROM generate_series(1, 60) AS i');
SELECT * FROM trains('SELECT 1 AS x, i % 2 = 0 AS y FROM generate_series(1, 60) AS i');
-- constant features, rows of zeros, no entries at all
SELECT * FROM trains('SELECT i AS x, 1e6 AS constant, 0 AS zero, i > 30 AS y FROM generate_series(1, 60) AS i', '{standard,maxabs}');
SELECT * FROM trains('SELECT ARRAY[0, 0, 0] AS x, i % 3 = 0 AS y FROM generate_series(1, 60) AS i');
SELECT * FROM trains('SELECT ''{}''::int[] AS idx, ''{}''::real[] AS val, i % 3 = 0 AS y FROM generate_series(1, 60) AS i',
    features => '{"sparse(idx, val)"}');
-- very small and very large
SELECT * FROM trains('SELECT i * 1e-30 AS x, i > 30 AS y FROM generate_series(1, 60) AS i');
SELECT * FROM trains('SELECT i * 1e30 AS x, i > 30 AS y FROM generate_series(1, 60) AS i', '{standard,maxabs}');
SELECT * FROM trains('SELECT i * 1e-30 AS x, (i % 7) * 1e30 AS z, i > 30 AS y FROM generate_series(1, 60) AS i', '{standard,maxabs}');
SELECT * FROM trains('SELECT i * 1e-44 AS x, i > 30 AS y FROM generate_series(1, 60) AS i');
-- unscaled, squares overflow 32 bits
SELECT * FROM trains('SELECT i * 1e30 AS x, i > 30 AS y FROM generate_series(1, 60) AS i', '{none}');
SELECT * FROM trains('SELECT (i - 30) * 1e37 AS x, i > 30 AS y FROM generate_series(1, 60) AS i', '{none}');
-- two rows; fewer rows than features; one feature; separable
SELECT * FROM trains('SELECT i AS x, i > 1 AS y FROM generate_series(1, 2) AS i');
SELECT * FROM trains('SELECT ARRAY(SELECT sin(i * j) FROM generate_series(1, 200) AS j) AS x, i % 2 = 0 AS y FROM generate_series(1, 10) AS i');
SELECT * FROM trains('SELECT i % 9 AS x, i % 2 = 0 AS y FROM generate_series(1, 60) AS i');
-- a row of one label only; a row a class
SELECT * FROM trains('SELECT 1 AS x, true AS y');
SELECT * FROM trains('SELECT i AS x, i AS y FROM generate_series(1, 12) AS i');
-- a primal beyond what numbers hold: refused
SELECT svm_train_query('SELECT i % 2 AS y, i * 1e37 AS x, i * 1e37 AS w FROM generate_series(1, 10) AS i', 'y', model => 'edge', c => 1e300,
    loss => 'squared_hinge', scale => 'standard', features => ARRAY['x'], weight => 'w', max_passes => 1);
\echo :LAST_ERROR_SQLSTATE
-- sparse, ten million features
SELECT svm_train_query('SELECT ARRAY[i, i * 1000, 9999999] AS idx, ARRAY[1, 1, 1]::real[] AS val, i % 2 = 0 AS y FROM generate_series(1, 200) AS i',
    'y', ARRAY['sparse(idx, val)'], 'wide');
SELECT feature_count, gap <= 1e-3 AS converged FROM svm_version JOIN svm_model AS m ON m.id = model_id WHERE name = 'wide';
-- folds with a row each, probabilities of them
SELECT svm_train_query('SELECT i AS x, i > 5 AS y, i AS f FROM generate_series(1, 10) AS i', 'y', ARRAY['x'], 'folds', c => NULL,
    probability => true, options => '{"fold_column": "f", "costs": [1e-6, 1, 1e6]}');
SELECT svm_probability('folds', r) BETWEEN 0 AND 1 AS probability FROM (SELECT 3 AS x) AS r;
SELECT svm_train_query('SELECT i AS x, i AS y FROM generate_series(1, 6) AS i', 'y', ARRAY['x'], 'folds', probability => true);
SELECT round(sum(probability)::numeric, 6) FROM svm_predict_set('folds', (SELECT r FROM (SELECT 3 AS x) AS r));
CREATE TABLE few AS SELECT i AS x, i % 3 AS y, i AS f FROM generate_series(1, 30) AS i;
SELECT count(*), bool_and(accuracy BETWEEN 0 AND 1 AND objective >= 0 AND objective < 'Infinity') AS finite, count(auc)
FROM svm_cross_validate('few', 'y', c => '{1e-6,1e6}', features => ARRAY['x'], fold_column => 'f', max_passes => 20);
SELECT count(*), bool_and(accuracy BETWEEN 0 AND 1 AND objective >= 0 AND objective < 'Infinity') AS finite
FROM svm_cross_validate('few', 'y', c => '{1}', features => ARRAY['x'], folds => 64);
DROP TABLE few;
-- huge numbers in predictions: an error, never infinity
SELECT abs(svm_decision('folds', r, 1)) > 1e300 AS large FROM (SELECT 1e308 AS x) AS r;
SELECT svm_decision('folds', r, 1) FROM (SELECT 'NaN'::float8 AS x) AS r;
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('steep', E'solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n1e308\n1e308\n', 'array');
SELECT svm_decision('steep', '{1,1}'::real[]);
SELECT svm_classify('steep', '{1,1}'::real[]);
SELECT svm_decision('steep', '{1e30,-1e30}'::real[]);
SELECT * FROM svm_explain('steep', '{1e30,-1e30}'::real[]);
SELECT svm_as_sql('steep');
-- jsonb holds numbers and nesting that no reader takes
SELECT svm_train_query('SELECT 1 AS x, true AS y', 'y', model => 'edge', options => '{"costs": [1e400]}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT 1 AS x, true AS y', 'y', model => 'edge', options => (repeat('[', 200) || repeat(']', 200))::jsonb);
SELECT svm_import('edge', E'solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\nw\n0.5 \n', classes => '{"1": 1e400}');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('edge', 'x', classes => (repeat('[', 200) || repeat(']', 200))::jsonb);
-- a list of features that claims more than there are weights takes no memory for them
INSERT INTO svm_model (name, current_version) VALUES ('claims', 1);
INSERT INTO svm_version (model_id, version, features, label_column, label_type, label_values, nulls, loss, scale, solver, intercept_used,
    intercept, feature_count)
SELECT id, 1, '{"parts": [{"kind": "array", "name": "x", "type": "real[]", "length": 400000000}]}', 'y', 'integer', '{-1,1}', 'error',
    'hinge', 'none', 'stream', true, 0, 400000000
FROM svm_model WHERE name = 'claims';
SELECT svm_decision('claims', '{1}'::real[]);
SELECT count(*) FROM svm_weights('claims');
SELECT length(svm_as_sql('claims'));
SELECT svm_export('claims');
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_version SET feature_count = 9223372036854775807;
SELECT svm_export('claims');
DELETE FROM svm_model;
SET client_min_messages = warning;
-- what 32 bits lose of the table's values is said, where it is more than a millionth of their spread
CREATE TABLE digits AS SELECT i, i % 2 AS y, 16777216 + i % 2 AS odd, 16777000 + i % 2 AS below, 1e9 + sin(i) AS shifted, sin(i) AS plain,
    ARRAY[sin(i), 1e6 + cos(i), 7] AS both, nullif(2e7::int + i % 7, 2e7::int + 3) AS gaps FROM generate_series(1, 3000) AS i;
SELECT svm_train('digits', 'y', ARRAY['odd', 'plain'], model => 'm', scale => 'none', c => 1e-18, tolerance => 0.9);
SELECT svm_train('digits', 'y', ARRAY['odd', 'plain'], model => 'm', scale => 'standard', c => 1e-18, tolerance => 0.9);
SELECT svm_train('digits', 'y', ARRAY['below', 'plain'], model => 'm', scale => 'none', c => 1e-18, tolerance => 0.9);
SELECT svm_train('digits', 'y', ARRAY['shifted', 'both', 'gaps', 'odd'], model => 'm', scale => 'maxabs', nulls => 'mean', c => 1e-18, tolerance => 0.9);
SELECT svm_train('digits', 'y', ARRAY['shifted', 'both', 'gaps', 'odd'], model => 'm', scale => 'standard', nulls => 'mean', c => 1e-18, tolerance => 0.9);
-- a first row far from all others takes their digits
SELECT svm_train_query('SELECT i % 2 AS y, CASE i WHEN 1 THEN 1e7 ELSE sin(i) END AS x FROM generate_series(1, 30000) AS i', 'y', model => 'm', c => 1e-18, tolerance => 0.9);
SELECT svm_train_query('SELECT y, ' || string_agg(format('odd AS c%s', i), ', ') || ' FROM digits', 'y', model => 'm', scale => 'none', c => 1e-18, tolerance => 0.9)
FROM generate_series(1, 12) AS i;
SELECT count(*) FROM svm_cross_validate('digits', 'y', features => ARRAY['odd'], scale => 'none', c => ARRAY[1e-18], tolerance => 0.9);
-- sparse values too: those of a feature that nearly every row has, as all others spread down to 0
CREATE TABLE sparse_digits AS SELECT i % 2 AS y, ARRAY[1, 7, 3 + i % 3] AS at, ARRAY[sin(i), 16777216 + i % 2, 16777216 + i % 2] AS value,
    format('2:%s 9:0.1', 16777216 + i % 2) AS lines, ARRAY[7] AS whole_at, ARRAY[16777000 + i % 2] AS whole FROM generate_series(1, 3000) AS i;
SELECT svm_train('sparse_digits', 'y', ARRAY['sparse(at, value)', 'libsvm(lines)'], model => 'm', scale => 'none', c => 1e-18, tolerance => 0.9);
SELECT svm_train('sparse_digits', 'y', ARRAY['sparse(at, value)'], model => 'm', scale => 'auto', c => 1e-18, tolerance => 0.9);
SELECT svm_train('sparse_digits', 'y', ARRAY['sparse(whole_at, whole)'], model => 'm', scale => 'none', c => 1e-18, tolerance => 0.9);
SELECT svm_train_query('SELECT * FROM sparse_digits, (SELECT odd FROM digits LIMIT 7) AS d', 'y', ARRAY['odd', 'sparse(at, value)'], model => 'm', scale => 'none', c => 1e-18, tolerance => 0.9);
DROP TABLE digits, sparse_digits;
DELETE FROM svm_model WHERE name = 'm';
SET client_min_messages = error;
DROP FUNCTION trains;

-- rows at a decision of exactly 0 are of the larger label, whichever label comes first in the table
CREATE TABLE nothing AS SELECT i AS id, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END AS label, ARRAY[0, 0] AS x FROM generate_series(1, 30) AS i;
ALTER TABLE nothing ADD PRIMARY KEY (id);
CREATE TABLE nothing_else AS SELECT id, CASE label WHEN 'a' THEN 'b' ELSE 'a' END AS label, x FROM nothing;
SELECT svm_train(source, 'label', '{x}', scale => 'none', intercept => false, key => 'id') FROM unnest('{nothing,nothing_else}'::regclass[]) AS source;
SELECT name, training_accuracy::numeric(4, 3), accuracy::numeric(4, 3)
FROM svm_models, svm_evaluate(name, CASE name WHEN 'nothing_label' THEN 'nothing' ELSE 'nothing_else' END) WHERE name LIKE 'nothing%' ORDER BY name;
