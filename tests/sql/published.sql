-- The published forms with what their papers leave to choose.
SET client_min_messages = warning;
CREATE TABLE waves (id int PRIMARY KEY, a real, b real, c real, side boolean);
INSERT INTO waves SELECT i, x, y, z, x + y / 2 + 0.6 * sin(i * 3.7) * cos(i * 0.77) > 0
FROM generate_series(1, 4000) AS i, LATERAL (SELECT 3 * sin(i * 12.9898), cos(i * 78.233), sin(i * i * 0.37)) AS p (x, y, z);
CREATE FUNCTION blocks(model text) RETURNS bigint LANGUAGE sql AS $$
    SELECT max(block) FROM svm_training_log(model)
$$;

-- as many blocks as asked for, whether rows fit the cache or not
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'bm_5', solver => 'block', options => '{"blocks": 5}');
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'sbm_40', solver => 'selective_block', options => '{"blocks": 40}');
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'bm_1', solver => 'block', options => '{"blocks": 1}');
SET pgsvm.cache_size = '64kB';
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'bm_9', solver => 'block', options => '{"blocks": 9}');
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'bm_2', solver => 'block', options => '{"blocks": 2}');
\echo :LAST_ERROR_SQLSTATE
SELECT name, stop_reason, gap <= 1e-3 AS certified, blocks(name) FROM svm_models ORDER BY name;
DROP FUNCTION blocks;

SET client_min_messages = error;
-- Pegasos: sets of a block, the squared hinge, and the updates it has made
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'sets', solver => 'block', max_passes => 5, c => 0.01,
    options => '{"inner": "pegasos", "inner_updates": 20, "blocks": 10}');
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'squared', solver => 'block', loss => 'squared_hinge', c => 0.002, tolerance => 0.05,
    key => 'id', options => '{"inner": "pegasos"}');
SELECT m.name, v.loss, v.stop_reason, v.gap < 0.9 AS certified, h.updates % (CASE m.name WHEN 'sets' THEN 200 ELSE 4000 END) = 0 AS whole_passes
FROM svm_model AS m JOIN svm_version AS v ON v.model_id = m.id JOIN svm_head AS h ON h.version_id = v.id
WHERE h.updates IS NOT NULL ORDER BY m.name;
-- carried on over rows that are added
INSERT INTO waves SELECT id + 4000, a, b + 0.01, c, side FROM waves WHERE id <= 100;
SELECT svm_refresh('squared');
SELECT v.version, v.rows_used, v.stop_reason, (h.updates - lag(h.updates, 1, 0::bigint) OVER (ORDER BY v.version)) % v.rows_used = 0 AS counted_on, v.followed ->> 'begun_from' AS begun_from,
    h.updates - lag(h.updates) OVER (ORDER BY v.version) < lag(h.updates) OVER (ORDER BY v.version) AS fewer
FROM svm_head AS h JOIN svm_version AS v ON v.id = h.version_id JOIN svm_model AS m ON m.id = v.model_id
WHERE m.name = 'squared' ORDER BY v.version;
DELETE FROM waves WHERE id > 4000;

-- StreamSVM's stop: the range of projected gradients, beside the gap
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'm_plus', loss => 'hinge', c => 0.1, options => '{"policy": "paper", "stop": "projected_gradient"}', max_passes => 5000);
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'bm_m', solver => 'block', c => 0.1, options => '{"stop": "projected_gradient"}');
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'too_few', solver => 'selective_block', options => '{"stop": "projected_gradient"}', max_passes => 2);
SELECT m.name, v.stop_reason, v.tolerance, v.gap < 0.01 AS near FROM svm_model AS m JOIN svm_version AS v ON v.model_id = m.id
WHERE m.name IN ('m_plus', 'bm_m', 'too_few') ORDER BY m.name;
SELECT name, bool_and((projected_gradient IS NOT NULL) = (event = 'pass')) AS of_each_pass,
    (array_agg(projected_gradient ORDER BY step DESC) FILTER (WHERE event = 'pass'))[1] <= 1e-4 AS ended,
    count(*) FILTER (WHERE event = 'pass' AND projected_gradient <= 1e-4) AS passes_within
FROM unnest('{m_plus, bm_m}'::text[]) AS name, svm_training_log(name) GROUP BY name ORDER BY name;
-- others tell it where there is no shift
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'gap', options => '{"proximal": "off"}');
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'shifted', options => '{"proximal": "on"}');
SELECT name, count(projected_gradient) > 0 AS told FROM unnest('{gap, shifted, squared}'::text[]) AS name, svm_training_log(name)
GROUP BY name ORDER BY name;

-- and its picks
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'picks', max_passes => 4, c => 0.1, tolerance => 1e-9, options => format('{"policy": "paper", "picks": %s}', picks)::jsonb)
FROM unnest('{1, 7}'::int[]) AS picks;
SELECT version, abs(visits / (16000.0 * CASE version WHEN 1 THEN 1 ELSE 7 END) - 1) < 0.05 AS as_many
FROM unnest('{1, 2}'::int[]) AS version, LATERAL (SELECT max(visits) AS visits FROM svm_training_log('picks@' || version)) AS log;
SELECT svm_train('waves', 'side', '{a, b, c}', model => 'free', c => 0.1, options => '{"policy": "paper", "picks": "free"}', tolerance => 0.05);
SELECT stop_reason, gap <= 0.05 AS certified FROM svm_models WHERE name = 'free';
