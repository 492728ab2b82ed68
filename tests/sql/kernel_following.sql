-- Kernel machines that follow their table: trained anew on the rows that there are, with the terms of the version before.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE FUNCTION made(first int, last int) RETURNS TABLE (id int, x float8, y float8, ring text, part int) LANGUAGE sql AS $$
    SELECT id, radius * cos(angle), radius * sin(angle), CASE WHEN id % 2 = 0 THEN 'inner' ELSE 'outer' END, (4 * angle / 6.2832)::int % 4
    FROM (SELECT i AS id, 1 + i % 2 + 0.6 * (drawn(i, 1) - 0.5) AS radius, 6.2831853 * drawn(i, 2) AS angle FROM generate_series(first, last) AS i) AS drawn $$;
CREATE TABLE rings AS SELECT * FROM made(1, 800);
SELECT svm_train('rings', 'ring', '{x, y}', 'exact', kernel => 'rbf', scale => 'none', key => 'id', options => '{"duals": true}'),
    svm_train('rings', 'ring', '{x, y}', 'low_rank', kernel => 'polynomial', degree => 2, coef0 => 1, rank => 5, scale => 'none', key => 'id'),
    svm_train('rings', 'part', '{x, y}', 'parts', kernel => 'rbf', gamma => 1, key => 'id', probability => true, options => '{"method": "low_rank"}'),
    svm_train('rings', 'ring', '{x, y}', 'chosen', kernel => 'rbf', key => 'id', options => '{"choose": ["c", "gamma"], "costs": [0.1, 1], "gammas": [0.1, 1]}');
SELECT name, sum(k.rows) AS keys FROM svm_key AS k JOIN svm_model ON k.version_id = svm_internal.svm_version_id(name) GROUP BY name ORDER BY name;

-- Rows come, go and change: each is what a training from nothing on the same rows is.
INSERT INTO rings SELECT * FROM made(801, 850);
DELETE FROM rings WHERE id <= 20;
UPDATE rings SET x = -x WHERE id % 100 = 50;
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT svm_refresh('exact');
\set VERBOSITY default
SET client_min_messages = warning;
SELECT svm_refresh(name) FROM unnest('{low_rank,parts,chosen}'::text[]) AS name;
SELECT name, version, rows_used, followed, kernel, gap <= 1e-3 AS certified, training_accuracy > 0.85 AS good FROM svm_models AS m
JOIN svm_versions AS v USING (name, version, rows_used, kernel, gap, training_accuracy) ORDER BY name;
CREATE FUNCTION gamma(name text) RETURNS float8 LANGUAGE sql AS $$ SELECT (features #>> '{kernel,gamma}')::float8 FROM svm_version WHERE id = svm_internal.svm_version_id(name) $$;
SELECT svm_train('rings', 'ring', '{x, y}', 'exact anew', kernel => 'rbf', gamma => gamma('exact'), scale => 'none'),
    svm_train('rings', 'ring', '{x, y}', 'low_rank anew', kernel => 'polynomial', gamma => gamma('low_rank'), degree => 2, coef0 => 1, rank => 5, scale => 'none'),
    svm_train('rings', 'part', '{x, y}', 'parts anew', kernel => 'rbf', gamma => 1, probability => true, options => '{"method": "low_rank"}'),
    svm_train('rings', 'ring', '{x, y}', 'chosen anew', kernel => 'rbf', gamma => gamma('chosen'), c => (SELECT c FROM svm_models WHERE name = 'chosen'));
SELECT max(abs(svm_decision('exact', r) - svm_decision('exact anew', r))) AS exact, max(abs(svm_decision('low_rank', r) - svm_decision('low_rank anew', r))) AS low_rank,
    max(abs(svm_decision('parts', r, '2') - svm_decision('parts anew', r, '2'))) AS parts, max(abs(svm_decision('chosen', r) - svm_decision('chosen anew', r))) AS chosen
FROM rings AS r;
SELECT gamma('exact') = gamma('exact@1') AND gamma('chosen') = gamma('chosen@1') AS same_gamma, (SELECT count(DISTINCT c) FROM svm_versions WHERE name = 'chosen') AS costs;

-- Rows from elsewhere, which must be in the source the next time.
CREATE TABLE more AS SELECT * FROM made(901, 930);
SELECT svm_update('low_rank', 'more');
SELECT rows_used, followed FROM svm_versions WHERE name = 'low_rank' ORDER BY version DESC LIMIT 1;
SELECT svm_update('low_rank', 'more');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO rings SELECT * FROM more;

-- A row that is a landmark goes, and its values are nowhere in the model, though it is in the table still.
CREATE FUNCTION landmark_rows(name text) RETURNS SETOF int LANGUAGE sql AS $$
    SELECT r.id FROM svm_landmark AS l JOIN rings AS r ON l.dense = ARRAY[r.x, r.y]::real[] WHERE l.version_id = svm_internal.svm_version_id(name) $$;
CREATE TABLE leavers AS SELECT min(id) AS id FROM landmark_rows('low_rank') AS id UNION SELECT min(id) FROM landmark_rows('exact') AS id;
SELECT count(*) AS leavers, bool_or(id IN (SELECT landmark_rows('low_rank'))) AS landmark, bool_or(id IN (SELECT landmark_rows('exact'))) AS support_vector FROM leavers;
SELECT svm_forget('low_rank', 'leavers'), svm_forget_query('exact', 'SELECT id FROM leavers');
SELECT name, rows_used, followed -> 'begun_from' AS begun_from, gap <= 1e-3 AS certified, (SELECT count(*) FROM landmark_rows(name)) = landmarks AS all_rows,
    (SELECT count(*) FROM landmark_rows(name) AS id JOIN leavers USING (id)) AS leavers,
    (SELECT count(*) FROM landmark_rows(name || CASE name WHEN 'exact' THEN '@1' ELSE '@3' END) AS id JOIN leavers USING (id)) > 0 AS in_one_before
FROM svm_versions AS v WHERE name IN ('low_rank', 'exact') AND version = (SELECT max(version) FROM svm_versions AS o WHERE o.name = v.name) ORDER BY name;
SELECT svm_prune('low_rank', 1) AS pruned;
SELECT count(*) FROM svm_landmark AS l JOIN rings AS r ON l.dense = ARRAY[r.x, r.y]::real[] JOIN leavers USING (id) JOIN svm_version AS v ON v.id = l.version_id
JOIN svm_model AS m ON m.id = v.model_id WHERE m.name = 'low_rank';
SELECT svm_forget('low_rank', 'leavers');
\echo :LAST_ERROR_SQLSTATE
-- what is forgotten comes back with a refresh, as of every model
SELECT svm_refresh('low_rank');
SELECT rows_used = (SELECT count(*) FROM rings) AS all FROM svm_models WHERE name = 'low_rank';

-- Without a key it forgets nothing; weights of another model are none of its own.
SELECT svm_forget('exact anew', 'leavers');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('rings', 'ring', '{x, y}', 'bad', key => 'id', options => '{"warm_start": "exact"}');
-- with a cache that holds neither the rows nor what is made of them
SET pgsvm.cache_size = '64kB';
SELECT svm_refresh('low_rank');
SELECT gap <= 1e-3 AS certified FROM svm_models WHERE name = 'low_rank';
RESET pgsvm.cache_size;
