-- Weights that compare: times the deviation of their feature, and contributions counted from the mean row.
\set SHOW_CONTEXT never
SET client_min_messages = error;
SET pgsvm.workers = 0;
CREATE TABLE houses AS
SELECT i AS id, 40 + i * 7919 % 160 AS area, 1900 + i * 104729 % 120 AS built, ((i * 31) % 17)::real AS distance,
    (ARRAY['brick', 'wood', 'stone'])[i % 3 + 1] AS walls, ARRAY[i % 5, i % 7, i % 11, 0, 0, 0, 0, 0, 0, i % 2]::real[] AS x,
    ARRAY[i % 50, 50 + i % 3] AS idx, ARRAY[1, i % 4]::real[] AS val, 40 + i * 7919 % 160 + (1900 + i * 104729 % 120) / 5 > 500 AS dear
FROM generate_series(1, 2000) AS i;
-- whatever is done about scaling, the deviations are those of the table
CREATE FUNCTION deviations(model text) RETURNS TABLE (feature text, as_in_table boolean) LANGUAGE sql AS $$
    SELECT w.feature, abs(w.standardized - w.weight * t.deviation) <= 1e-9 * abs(w.weight * t.deviation)
    FROM svm_weights(model) AS w JOIN (
        SELECT 'area', stddev_pop(area) FROM houses UNION ALL SELECT 'built', stddev_pop(built) FROM houses
        UNION ALL SELECT 'distance', stddev_pop(distance) FROM houses
        UNION ALL SELECT 'walls=' || wall, (SELECT stddev_pop((walls = wall)::int) FROM houses) FROM unnest('{brick,wood,stone}'::text[]) AS wall
        UNION ALL SELECT format('x[%s]', n), (SELECT stddev_pop(x[n]) FROM houses) FROM generate_series(1, 10) AS n
        UNION ALL SELECT format('sparse(idx, val)[%s]', n), (SELECT stddev_pop(coalesce(val[array_position(idx, n)], 0)) FROM houses) FROM generate_series(0, 52) AS n
    ) AS t (feature, deviation) ON t.feature = w.feature
$$;
CREATE TABLE models AS SELECT scale, svm_train('houses', 'dear', ARRAY['area', 'built', 'distance', 'walls', 'x', 'sparse(idx, val)'], 'houses_' || scale,
    scale => scale, max_passes => 20) AS model FROM unnest('{standard,none,maxabs}'::text[]) AS scale;
SELECT scale, count(*), every(as_in_table) FROM models, deviations(model) GROUP BY scale ORDER BY scale;
-- sorted by importance, whose sum is 1; the intercept is beside it
SELECT feature, round(importance::numeric, 1) AS importance, index FROM svm_weights('houses_standard') LIMIT 2;
SELECT scale, round(sum(importance)::numeric, 9) AS sum, array_agg(feature) FILTER (WHERE importance IS NULL) AS unknown,
    array_agg(importance ORDER BY place) = array_agg(importance ORDER BY importance DESC NULLS LAST) AS sorted
FROM models, svm_weights(model) WITH ORDINALITY AS w (class, feature, weight, standardized, importance, index, place) GROUP BY scale ORDER BY scale;
-- indices are numbers
SELECT feature, index FROM svm_weights('houses_none') WHERE feature ~ '^x' ORDER BY index;
SELECT every(feature = format('sparse(idx, val)[%s]', index)), min(index), max(index) FROM svm_weights('houses_none') WHERE feature ~ '^sparse';

-- contributions are weight x (value - mean), and sum to the decision, absent features among them
SELECT scale, every(abs(total - decision) <= 1e-9 * greatest(1, abs(decision))), count(*) FROM (
    SELECT scale, svm_decision(model, h) AS decision, (SELECT sum(contribution) FROM svm_explain(model, h, n, baseline => 'mean')) AS total
    FROM models, (SELECT * FROM houses LIMIT 20) AS h, unnest('{0,3,NULL}'::int[]) AS n) AS s GROUP BY scale ORDER BY scale;
SELECT e.feature, value, abs(contribution - weight * (value - (SELECT avg(area) FROM houses))) < 1e-9 AS from_the_mean
FROM svm_explain('houses_standard', (SELECT h FROM houses AS h WHERE id = 77), NULL, baseline => 'mean') AS e WHERE feature = 'area';
SELECT svm_train('houses', 'dear', ARRAY['area', 'built'], 'houses_two');
SELECT count(*) FILTER (WHERE feature = '(intercept)') AS intercept,
    abs(max(contribution) FILTER (WHERE feature = '(mean row)')
        - (SELECT sum(weight * CASE feature WHEN 'area' THEN (SELECT avg(area) FROM houses) WHEN 'built' THEN (SELECT avg(built) FROM houses) ELSE 1 END)
           FROM svm_weights('houses_two'))) < 1e-6 AS mean_row
FROM svm_explain('houses_two', (SELECT h FROM houses AS h WHERE id = 77), NULL, baseline => 'mean');
SELECT feature, value FROM svm_explain('houses_standard', (SELECT h FROM houses AS h WHERE id = 3), NULL, false, 'mean') WHERE feature ~ '^walls' ORDER BY 1;
SELECT count(*) FROM svm_explain('houses_two', (SELECT h FROM houses AS h WHERE id = 77), baseline => NULL) WHERE feature = '(intercept)';

-- a value that is missing lies at the mean
CREATE VIEW holes AS SELECT nullif(area, 40 + id % 160) AS area, nullif(built, 1900 + id % 120) AS built, nullif(distance, 3) AS distance, dear FROM houses;
CREATE TABLE imputed AS SELECT scale, svm_train('holes', 'dear', model => 'holes_' || scale, nulls => 'mean', scale => scale, max_passes => 20) AS model
FROM unnest('{standard,none,maxabs}'::text[]) AS scale;
SELECT scale, every(abs(standardized - weight * CASE feature
    WHEN 'distance' THEN (SELECT stddev_pop(coalesce(distance, mean)) FROM holes, (SELECT avg(distance) AS mean FROM holes) AS m)
    WHEN 'area' THEN (SELECT stddev_pop(coalesce(area, mean)) FROM holes, (SELECT avg(area) AS mean FROM holes) AS m)
    ELSE (SELECT stddev_pop(coalesce(built, mean)) FROM holes, (SELECT avg(built) AS mean FROM holes) AS m) END) < 1e-9), count(*)
FROM imputed, svm_weights(model) WHERE feature <> '(intercept)' GROUP BY scale ORDER BY scale;
-- far from 0 as near it
CREATE VIEW far AS SELECT area + 1048576 AS area, built, dear FROM houses;
SELECT svm_train('far', 'dear', model => 'far', scale => 'maxabs');
SELECT abs(standardized / weight - (SELECT stddev_pop(area) FROM houses)) < 1e-6 AS as_in_table
FROM svm_weights('far') WHERE feature = 'area';

-- a model that follows its table has those of its rows as they are
CREATE TABLE moving AS SELECT id, area, built, dear FROM houses;
SELECT svm_train('moving', 'dear', model => 'moving', key => 'id');
UPDATE moving SET area = area * 2 WHERE id % 2 = 0;
SELECT svm_refresh('moving');
SELECT abs(standardized - weight * (SELECT stddev_pop(area) FROM moving)) < 1e-9 AS as_in_table FROM svm_weights('moving') WHERE feature = 'area';
-- and goes with them to another database
SELECT svm_import('brought', svm_export('houses_two', format => 'pgsvm'));
SELECT count(*), count(importance) FROM svm_weights('brought');

-- of many features none is known
CREATE TABLE broad AS SELECT i % 2 AS y, ARRAY[5000 + i % 3] AS idx, ARRAY[1]::real[] AS val, i % 5 AS n FROM generate_series(1, 100) AS i;
SELECT svm_train('broad', 'y', ARRAY['n', 'sparse(idx, val)'], 'broad');
SELECT feature, standardized IS NULL AS unknown, importance FROM svm_weights('broad') WHERE feature <> '(intercept)' ORDER BY index NULLS FIRST;

-- errors
SELECT * FROM svm_explain('houses_two', (SELECT h FROM houses AS h LIMIT 1), baseline => 'median');
\echo :LAST_ERROR_SQLSTATE
UPDATE svm_version SET features = features - 'spread' WHERE id = svm_internal.svm_version_id('houses_two');
SELECT * FROM svm_explain('houses_two', (SELECT h FROM houses AS h LIMIT 1), baseline => 'mean');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*), count(standardized), count(importance) FROM svm_weights('houses_two');
-- what somebody wrote by hand may be shorter or longer than the features
UPDATE svm_version SET features = features || '{"spread": {"mean": [1,2,3,4], "deviation": [2]}}' WHERE id = svm_internal.svm_version_id('houses_two');
SELECT feature, standardized = 2 * weight AS doubled, importance FROM svm_weights('houses_two') WHERE feature <> '(intercept)' ORDER BY 1;

DROP VIEW holes, far;
DROP FUNCTION deviations;
DROP TABLE houses, models, imputed, moving, broad;
DELETE FROM svm_model;
