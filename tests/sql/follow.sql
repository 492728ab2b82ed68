-- Models that follow their table: keys, refresh, update, forget, warm start.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DELETE FROM svm_model;

CREATE TABLE points (id int PRIMARY KEY, label text, x real, y real, colour text, w real);
-- two clouds that overlap, and a third apart
CREATE FUNCTION point(id int, OUT label text, OUT x real, OUT y real, OUT colour text) LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END,
        (id * 7919 % 1000) / 500.0 + id % 2, (id * 104729 % 1000) / 300.0 - id % 2,
        (ARRAY['red', 'green', 'blue'])[1 + id % 3]
$$;
INSERT INTO points SELECT id, (point(id)).*, 1 + id % 3 FROM generate_series(1, 2000) AS id;

-- Trains the same model anew and says whether both are certified and have the same objective, within the tolerance.
CREATE FUNCTION same_as_anew(name text, source text, settings text DEFAULT '') RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    followed float8;
    anew float8;
BEGIN
    EXECUTE format('SELECT svm_train_query(%L, ''label'', model => ''anew'', loss => %L %s)', source,
        (SELECT loss FROM svm_models WHERE svm_models.name = same_as_anew.name), settings);
    SELECT primal INTO followed FROM svm_models WHERE svm_models.name = same_as_anew.name AND gap <= 1e-3;
    SELECT primal INTO anew FROM svm_models WHERE svm_models.name = 'anew' AND gap <= 1e-3;
    PERFORM svm_drop('anew');
    RETURN abs(followed - anew) <= 1e-3 * greatest(followed, anew);
END
$$;
CREATE VIEW what_changed AS
SELECT name, version, deployed, rows_used, features, stop_reason FROM svm_versions ORDER BY name, version;

-- The key is no feature, and rows are known by it.
SELECT svm_train('points', 'label', model => 'm', loss => 'hinge', key => 'id', features => '{x, y, colour}');
SELECT column_name, treatment, features, categories FROM svm_features('m');
SELECT svm_train('points', 'label', model => 'all', key => 'id');
SELECT column_name FROM svm_features('all');
SELECT svm_drop('all');
SELECT key_column, key_type, source_relation, source_query FROM svm_version;
SELECT first_row, rows, length(keys) < 2 * rows + 8 AS small, length(digests) = 8 * rows AS digests FROM svm_key;
SELECT head, first_row, length(states), cardinality(common) <= 2 AS common, cardinality(duals) < 200 AS few FROM svm_key_dual;

-- An unchanged table is certified at once.
SELECT svm_refresh('m');
SELECT passes FROM svm_models WHERE name = 'm';

-- Rows new, gone and changed; a category that is new.
INSERT INTO points SELECT id, (point(id)).*, 1 FROM generate_series(2001, 2020) AS id;
UPDATE points SET colour = 'violet' WHERE id BETWEEN 2010 AND 2020;
DELETE FROM points WHERE id <= 20;
UPDATE points SET x = x + 1 WHERE id BETWEEN 100 AND 119;
UPDATE points SET label = 'odd' WHERE id = 200;
SELECT svm_refresh('m');
SELECT followed FROM svm_versions WHERE name = 'm' ORDER BY version;
SELECT same_as_anew('m', 'SELECT * FROM points', $$, features => '{x, y, colour}'$$);
SELECT categories, features FROM svm_features('m') WHERE column_name = 'colour';
SELECT * FROM what_changed;

-- Rows added from elsewhere; those that came into the table meanwhile, and are not among them, are left out.
CREATE TABLE arrivals AS SELECT id, (point(id)).* FROM generate_series(3001, 3030) AS id;
INSERT INTO points SELECT *, 1 FROM arrivals WHERE id <= 3020;
INSERT INTO points SELECT id, (point(id)).*, 1 FROM generate_series(4001, 4005) AS id;
SELECT svm_update('m', 'arrivals');
SELECT followed -> 'rows' AS rows, rows_used FROM svm_versions WHERE name = 'm' AND deployed;
SELECT same_as_anew('m', 'SELECT id, label, x, y, colour FROM points WHERE id < 3000 UNION ALL SELECT * FROM arrivals',
    $$, features => '{x, y, colour}'$$);
SELECT svm_update_query('m', 'SELECT * FROM points WHERE id > 4000', '{"deploy": false}');
INSERT INTO points SELECT *, 1 FROM arrivals WHERE id > 3020;
SELECT svm_update_query('m', 'SELECT * FROM points WHERE id > 4000', '{"deploy": false}');
SELECT svm_update_query('m', 'SELECT * FROM points WHERE id > 4000');
SELECT version, deployed, rows_used, followed FROM svm_versions WHERE name = 'm' AND version > 2 ORDER BY version;

-- Rows forgotten, of which only the key is read; that they are in the table still makes no difference.
SELECT svm_forget_query('m', 'SELECT id FROM points WHERE id % 10 = 0');
SELECT followed -> 'rows' AS rows, rows_used FROM svm_versions WHERE name = 'm' AND deployed;
SELECT same_as_anew('m', 'SELECT * FROM points WHERE id % 10 <> 0', $$, features => '{x, y, colour}'$$);
CREATE TABLE leavers (id int);
INSERT INTO leavers VALUES (101), (103), (999999);
SELECT svm_forget('m', 'leavers');
SELECT followed -> 'rows' AS rows, rows_used FROM svm_versions WHERE name = 'm' AND deployed;
-- a refresh takes in what the table holds
SELECT svm_refresh('m', '{"deploy": false}');
SELECT followed -> 'rows' AS rows, rows_used, deployed FROM svm_versions WHERE name = 'm' ORDER BY version DESC LIMIT 1;

-- Keys of text and uuid; weights of rows and classes; squared hinge, blocks, probabilities.
CREATE TABLE named AS SELECT *, 'row ' || id AS name, md5(id::text)::uuid AS uuid FROM points;
SELECT svm_train('named', 'label', '{x, y}', 'by_name', key => 'name', weight => 'w', class_weight => 'balanced', loss => 'squared_hinge'),
    svm_train('named', 'label', '{x, y}', 'by_uuid', key => 'uuid', class_weight => '{"odd": 3}', probability => true, scale => 'maxabs'),
    svm_train('named', 'label', '{x, y}', 'in_blocks', key => 'id', solver => 'block', nulls => 'mean', intercept => false);
DELETE FROM named WHERE id % 100 = 1;
UPDATE named SET x = NULL WHERE id % 100 = 2;
SELECT svm_refresh('in_blocks');
UPDATE named SET x = 1 WHERE x IS NULL;
SELECT svm_refresh('by_name'), svm_refresh('by_uuid');
SELECT name, followed -> 'rows' AS rows, probabilities FROM svm_versions WHERE version = 2 AND deployed ORDER BY name;
SELECT same_as_anew('by_name', 'SELECT * FROM named', $$, features => '{x, y}', weight => 'w', class_weight => 'balanced'$$),
    same_as_anew('by_uuid', 'SELECT * FROM named', $$, features => '{x, y}', class_weight => '{"odd": 3}', scale => 'maxabs'$$);

-- Balanced classes of which one is rare: in the head that takes it for positive, or in all; by the word of 0.2.0 in all.
CREATE TABLE rare AS SELECT id, 'c' || CASE WHEN id % 40 = 0 THEN 2 ELSE id % 2 END AS label,
    (id * 7919 % 1000) / 500.0 + (id % 2) AS x, (id * 104729 % 1000) / 500.0 + 1.5 * (id % 40 = 0)::int AS y FROM generate_series(1, 1500) AS id;
SELECT svm_train('rare', 'label', model => word, key => 'id', class_weight => word)
FROM unnest('{balanced, balanced_examples}'::text[]) AS word;
SELECT svm_train('rare', 'label', model => '0.2.0', key => 'id', class_weight => 'balanced_examples');
UPDATE svm_version SET class_weight = '"balanced"' FROM svm_model AS m WHERE m.id = model_id AND m.name = '0.2.0';
DELETE FROM rare WHERE id % 80 = 0 AND id < 1000;
UPDATE rare SET x = x + 1 WHERE id % 7 = 0;
SELECT svm_refresh('balanced'), svm_refresh('balanced_examples'), svm_refresh('0.2.0');
SELECT name, class_weight FROM svm_versions WHERE name IN ('balanced', 'balanced_examples', '0.2.0') ORDER BY name, version;
SELECT model, word, same_as_anew(model, 'SELECT * FROM rare', format($$, class_weight => %L, features => '{x, y}'$$, word)) AS same
FROM (VALUES ('balanced', 'balanced'), ('balanced_examples', 'balanced_examples'), ('0.2.0', 'balanced_examples'), ('0.2.0', 'balanced')) AS pairs (model, word);

-- Many classes; classes that come and go.
CREATE TABLE crowd AS SELECT id, 'c' || id % 4 AS label, (id * 7919 % 1000) / 300.0 + (id % 4 = 1)::int * 2 AS x,
    (id * 104729 % 1000) / 300.0 + (id % 4 = 2)::int * 2 AS y FROM generate_series(1, 1000) AS id;
SELECT svm_train('crowd', 'label', model => 'crowd', key => 'id');
DELETE FROM crowd WHERE id <= 10;
SELECT svm_refresh('crowd');
SELECT same_as_anew('crowd', 'SELECT * FROM crowd', $$, features => '{x, y}'$$);
INSERT INTO crowd SELECT id, 'new', 5, 5 FROM generate_series(2001, 2020) AS id;
SELECT svm_refresh('crowd');
SELECT same_as_anew('crowd', 'SELECT * FROM crowd', $$, features => '{x, y}'$$);
DELETE FROM crowd WHERE label NOT IN ('c1', 'c2');
SELECT svm_refresh('crowd');
SELECT same_as_anew('crowd', 'SELECT * FROM crowd', $$, features => '{x, y}'$$);
SELECT version, rows_used, label_values FROM svm_versions WHERE name = 'crowd' ORDER BY version;

-- A query as the source, read again as it was written.
SELECT svm_train_query('SELECT * FROM points WHERE id > 500 -- not the first', 'label', '{x, y}', 'later', key => 'id');
DELETE FROM points WHERE id = 501;
SELECT svm_refresh('later');
SELECT source, followed -> 'rows' AS rows FROM svm_versions WHERE name = 'later' ORDER BY version;

-- A warm start from another model: by key, by its weights alone, for another C.
SELECT svm_train('points', 'label', '{x, y, colour}', 'warm', key => 'id', c => 3, options => '{"warm_start": "m"}');
SELECT svm_train('points', 'label', '{x, y, colour}', 'warm_weights', options => '{"warm_start": "m@1"}');
SELECT name, followed FROM svm_versions WHERE name LIKE 'warm%' ORDER BY name;
SELECT same_as_anew('warm', 'SELECT * FROM points', $$, features => '{x, y, colour}', c => 3$$),
    same_as_anew('warm_weights', 'SELECT * FROM points', $$, features => '{x, y, colour}'$$);
SELECT svm_train('points', 'label', '{y, x}', 'warm', options => '{"warm_start": "m"}');
SELECT svm_train('points', 'label', '{x}', 'warm', options => '{"warm_start": "nobody"}');
SELECT svm_train('points', 'label', '{x, y, colour}', 'warm', c => NULL, options => '{"warm_start": "m"}');
SELECT * FROM svm_cross_validate('points', 'label', features => '{x, y, colour}', options => '{"warm_start": "m"}');
SELECT svm_train('points', 'label', '{x, y, colour}', 'warm', solver => 'block',
    options => '{"warm_start": "m", "inner": "pegasos"}');

-- A column whose unit has changed: the scaling is learned anew, and what was known of it is worth little.
CREATE TABLE rescaled AS SELECT id, label, x, y FROM points;
SELECT svm_train('rescaled', 'label', model => 'rescaled', key => 'id', scale => 'standard');
UPDATE rescaled SET y = 1000 * y;
SELECT svm_refresh('rescaled');
SELECT followed -> 'rows' ->> 'changed' = (SELECT count(*)::text FROM rescaled WHERE y <> 0) AS all_changed
FROM svm_versions WHERE name = 'rescaled' AND deployed;
SELECT same_as_anew('rescaled', 'SELECT * FROM rescaled', $$, scale => 'standard'$$);
-- rows that have not changed meet a scaling that has
INSERT INTO rescaled SELECT 100000 + id, label, 50 * x, y FROM rescaled WHERE id % 20 = 3;
SELECT svm_refresh('rescaled');
SELECT same_as_anew('rescaled', 'SELECT * FROM rescaled', $$, scale => 'standard'$$);
-- without a scaling
SELECT svm_train('rescaled', 'label', model => 'rescaled', key => 'id', scale => 'none', max_passes => 5000);
UPDATE rescaled SET x = 1000 * x WHERE id % 50 = 1;
SELECT svm_refresh('rescaled');
SELECT same_as_anew('rescaled', 'SELECT * FROM rescaled', $$, scale => 'none', max_passes => 5000$$);

-- Keys in no order, below 0 and far apart; one twice behind others; rows that come in another order than before.
SELECT svm_train_query('SELECT *, (hashint8(id) - 5)::bigint * 4294967291 AS key FROM points ORDER BY id % 7', 'label',
    '{x, y}', 'scattered', key => 'key');
SELECT svm_refresh('scattered');
SELECT followed -> 'rows' ->> 'unchanged' = rows_used::text AS all_unchanged
FROM svm_versions WHERE name = 'scattered' AND deployed;
SELECT svm_train_query('SELECT *, CASE id WHEN 1900 THEN 700 ELSE id END AS key FROM points ORDER BY id', 'label', '{x, y}', 'bad',
    key => 'key');
SELECT svm_train_query('SELECT *, CASE id WHEN 1900 THEN 1901 WHEN 1950 THEN 1901 ELSE 5000 - id END AS key FROM points
    WHERE id <> 1901 ORDER BY id', 'label', '{x, y}', 'bad', key => 'key');
-- Pegasos is carried on: its updates are counted on, and little is left to do.
SELECT svm_train('points', 'label', '{x, y}', 'descended', key => 'id', solver => 'block', tolerance => 0.05,
    options => '{"inner": "pegasos"}');
SELECT svm_refresh('descended');
SELECT stop_reason, gap <= 0.05 AS certified FROM svm_models WHERE name = 'descended';
SELECT v.version, h.updates > 10000 AND h.updates = max(h.updates) OVER () AS as_many, v.passes > 1 AS passes FROM svm_head AS h JOIN svm_version AS v ON v.id = h.version_id
JOIN svm_model AS m ON m.id = v.model_id WHERE m.name = 'descended' ORDER BY v.version;

-- What has changed too much is trained from nothing, at no more visits than a training that knows of nothing else.
CREATE TABLE turning AS SELECT id, x, y, label FROM points;
SELECT svm_train('turning', 'label', '{x, y}', 'turned', key => 'id');
UPDATE turning SET label = CASE label WHEN (SELECT min(label) FROM points) THEN (SELECT max(label) FROM points) ELSE (SELECT min(label) FROM points) END;
SELECT svm_refresh('turned');
SELECT svm_train('turning', 'label', '{x, y}', 'turned_anew', key => 'id');
SELECT (SELECT max(visits) FROM svm_training_log('turned')) <= (SELECT max(visits) FROM svm_training_log('turned_anew')) AS no_more;
SELECT version, followed ->> 'begun_from' AS begun_from, stop_reason FROM svm_versions WHERE name = 'turned' ORDER BY version;
-- and is followed again after that
UPDATE turning SET x = x + 0.01 WHERE id = (SELECT max(id) FROM turning);
SELECT svm_refresh('turned');
SELECT version, followed ->> 'begun_from' AS begun_from, followed -> 'rows' ->> 'changed' AS changed FROM svm_versions WHERE name = 'turned' AND deployed;

-- Keys that are none.
SELECT svm_train('points', 'label', '{x, y}', 'bad', key => 'w');
SELECT svm_train('points', 'label', '{x, y}', 'bad', key => 'colour');
SELECT svm_train('points', 'label', '{x, y}', 'bad', key => 'nowhere');
SELECT svm_train_query('SELECT *, nullif(id, 21) AS key FROM points WHERE id = 21', 'label', '{x, y}', 'bad', key => 'key');
SELECT svm_train_query('SELECT *, 7 AS key FROM points WHERE id > 30', 'label', '{x, y}', 'bad', key => 'key');

-- Models that cannot follow.
SELECT svm_train('points', 'label', '{x, y}', 'keyless');
SELECT svm_import('imported', E'solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\nw\n1 \n');
SELECT svm_refresh('imported');
SELECT svm_refresh('keyless');
SELECT svm_forget('keyless', 'leavers');
SELECT svm_refresh('nobody');
SELECT svm_refresh(NULL);
SELECT svm_update('m', NULL);
SELECT svm_refresh('m', '{"c": 2}');
SELECT svm_refresh('m', '[]');
BEGIN READ ONLY;
SELECT svm_refresh('m');
ROLLBACK;

-- Rows that cannot be added or forgotten.
CREATE TABLE wrong (id int, label text, x real, y real, colour text);
INSERT INTO wrong SELECT 1001, (point(1001)).*;
SELECT svm_update('m', 'wrong');
UPDATE wrong SET id = NULL;
SELECT svm_update('m', 'wrong');
SELECT svm_forget('m', 'wrong');
DELETE FROM wrong;
INSERT INTO wrong SELECT 5000, (point(5000)).* FROM generate_series(1, 2);
SELECT svm_update('m', 'wrong');
SELECT svm_forget('m', 'wrong');
SELECT svm_forget_query('m', 'SELECT 1 AS other');
SELECT svm_forget_query('m', $$SELECT '1'::text AS id$$);
SELECT svm_update_query('m', 'SELECT 1 AS id, x FROM points');
ALTER TABLE wrong ALTER x TYPE float8;
SELECT svm_update('m', 'wrong');
DELETE FROM points WHERE id = 1001;
SELECT svm_update_query('m', 'SELECT id + 10000 AS id, label, x, y, colour FROM points WHERE id = 1002');

-- A source that has become another.
ALTER TABLE points ALTER x TYPE float8;
SELECT svm_refresh('m');
ALTER TABLE points ALTER x TYPE real, ALTER label TYPE varchar;
SELECT svm_refresh('m');
ALTER TABLE points ALTER label TYPE text, ALTER id TYPE text;
SELECT svm_refresh('m');
ALTER TABLE points ALTER id TYPE bigint USING id::bigint;
SELECT svm_refresh('m');
ALTER TABLE points RENAME colour TO color;
SELECT svm_refresh('m');
ALTER TABLE points RENAME color TO colour;
ALTER TABLE points RENAME TO dots;
SELECT svm_refresh('m');
ALTER TABLE dots RENAME TO points;
BEGIN;
UPDATE svm_key SET keys = '\x80';
SELECT svm_refresh('m');
ROLLBACK;
BEGIN;
UPDATE svm_key_dual SET common = '{}';
SELECT svm_refresh('m');
ROLLBACK;

-- A model of another role.
CREATE ROLE regress_svm_follower;
GRANT SELECT ON points, leavers TO regress_svm_follower;
SELECT svm_grant('by_name', 'regress_svm_follower'), svm_grant('m', 'regress_svm_follower');
SET ROLE regress_svm_follower;
SELECT svm_refresh('m');
SELECT svm_forget('by_name', 'leavers');
SELECT svm_train('points', 'label', '{x, y, colour}', 'mine', key => 'id', options => '{"warm_start": "m"}');
SELECT count(*) FROM svm_key;
RESET ROLE;
SELECT svm_drop(name) FROM svm_models ORDER BY name;
SELECT (SELECT count(*) FROM svm_key) AS keys, (SELECT count(*) FROM svm_key_dual) AS duals;
DROP OWNED BY regress_svm_follower;
DROP ROLE regress_svm_follower;
DROP VIEW what_changed;
DROP TABLE points, arrivals, leavers, named, crowd, wrong, rescaled;
DROP FUNCTION same_as_anew(text, text, text), point(int);
