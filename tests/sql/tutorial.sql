-- The SQL of docs/tutorial.md, in the same order.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgsvm;

-- Data
DO $$ BEGIN PERFORM setseed(0.25); END $$;
CREATE TABLE machines AS
SELECT id, site, temperature, vibration, hours, serviced,
       CASE WHEN 0.1 * (temperature - 60) + vibration + hours / 4000.0 - 1.5 * serviced::int + noise > 3.5
            THEN 'fails' ELSE 'runs' END AS state
FROM (
    SELECT id,
           (ARRAY['north', 'south', 'west'])[1 + id % 3] AS site,
           50 + 20 * random() AS temperature,
           (4 * random())::real AS vibration,
           (8000 * random())::int AS hours,
           random() < 0.5 AS serviced,
           2 * (random() + random() + random() - 1.5) AS noise
    FROM generate_series(1, 21000) AS id
) AS measured;
CREATE TABLE new_machines AS SELECT * FROM machines WHERE id > 20000;
DELETE FROM machines WHERE id > 20000;
SELECT state, count(*) FROM machines GROUP BY state ORDER BY state;

-- Training
SELECT svm_train('machines', 'state', ARRAY['temperature', 'vibration', 'hours', 'serviced', 'site']);
SELECT column_name, type, treatment, features, categories FROM svm_features('machines_state');
SELECT name, version, rows_used, features, loss, c, gap <= 1e-3 AS certified, stop_reason
FROM svm_models;

-- Prediction
SELECT id, state, svm_classify('machines_state', m) AS predicted
FROM new_machines AS m ORDER BY id LIMIT 5;
SELECT width_bucket(abs(svm_decision('machines_state', m)), 0, 3, 3) AS distance,
       round(avg((svm_classify('machines_state', m) = state)::int), 1) AS right_share
FROM new_machines AS m GROUP BY 1 ORDER BY 1;

-- How good, and why
SELECT rows, round(accuracy::numeric, 2) AS accuracy, round(recall::numeric, 2) AS recall, round(auc::numeric, 2) AS auc
FROM svm_evaluate('machines_state', 'new_machines');
SELECT actual, predicted, round(rows, -1) AS about FROM svm_confusion('machines_state', 'new_machines');
SELECT feature, CASE WHEN weight > 0 THEN 'runs' ELSE 'fails' END AS speaks_for FROM svm_weights('machines_state')
WHERE importance > 0.05;
SELECT feature, round(value::numeric) AS value, CASE WHEN contribution > 0 THEN 'runs' ELSE 'fails' END AS speaks_for
FROM svm_explain('machines_state', (SELECT m FROM new_machines AS m WHERE id = 20005), 3, baseline => 'mean');

-- Choosing C
SELECT c, count(*) AS folds, round(avg(accuracy)::numeric, 2) AS accuracy
FROM svm_cross_validate('machines', 'state', c => ARRAY[0.0001, 0.01, 1],
                        features => ARRAY['temperature', 'vibration', 'hours', 'serviced', 'site'])
GROUP BY c ORDER BY c;
SELECT svm_train('machines', 'state', ARRAY['temperature', 'vibration', 'hours', 'serviced', 'site'], 'careful',
                 c => 'auto', probability => true, class_weight => 'balanced');
SELECT svm_classify('careful', m) AS predicted, round(avg(svm_probability('careful', m, 'fails'))::numeric, 1) AS probability
FROM new_machines AS m GROUP BY 1 ORDER BY 1;
SELECT svm_train_query('SELECT temperature, vibration, hours, CASE WHEN hours + 30 * temperature < 4000 THEN ''new'' WHEN hours + 30 * temperature < 8000 THEN ''used'' ELSE ''old'' END AS age
                        FROM machines', 'age', model => 'age');
SELECT rank, class FROM svm_predict_set('age', '{60, 2, 7900}'::float8[]);

-- The certificate
SELECT svm_train_query('SELECT vibration, serviced::int, state FROM machines ORDER BY id', 'state', model => 'raw',
                       scale => 'none', intercept => false, options => '{"duals": true}');
CREATE VIEW raw_version AS
SELECT version.*
FROM svm_model AS model
JOIN svm_version AS version ON version.model_id = model.id AND version.version = model.current_version
WHERE model.name = 'raw';
CREATE VIEW signed AS
SELECT row_number() OVER (ORDER BY id) - 1 AS row, CASE state WHEN 'runs' THEN 1 ELSE -1 END AS y, vibration, serviced::int
FROM machines;
WITH recomputed AS (
    SELECT 0.5 * (SELECT sum(w ^ 2) FROM raw_version JOIN svm_weight ON version_id = id, unnest(weights) AS w)
           + sum(greatest(0, 1 - y * svm_decision('raw', signed)) ^ 2) AS primal
    FROM signed
)
SELECT abs(stored.primal - recomputed.primal) < 1e-6 * stored.primal AS primal_agrees
FROM svm_models AS stored, recomputed WHERE name = 'raw';
WITH duals AS (
    SELECT first_row + rows.at AS row, rows.a::float8 AS a
    FROM raw_version JOIN svm_dual ON version_id = id, unnest(rows, duals) AS rows (at, a)
), recomputed AS (
    SELECT sum(a) - 0.5 * (sum(a * y * vibration) ^ 2 + sum(a * y * serviced) ^ 2) - sum(a ^ 2) / 4 AS dual,
           min(a) >= 0 AS feasible
    FROM duals JOIN signed USING (row)
)
SELECT abs(stored.dual - recomputed.dual) < 1e-6 * stored.dual AS dual_agrees, feasible
FROM svm_models AS stored, recomputed WHERE name = 'raw';

-- Versions
SELECT svm_train('machines', 'state', ARRAY['temperature', 'vibration', 'hours', 'serviced', 'site'], c => 0.01);
SELECT name, version, c FROM svm_models WHERE name = 'machines_state';
SELECT avg((svm_classify('machines_state@1', m) = svm_classify('machines_state@2', m))::int) > 0.95 AS mostly_agree
FROM new_machines AS m;
SELECT svm_deploy('machines_state', 1);
SELECT svm_drop('machines_state', 2);

-- Arrays, sparse rows, LIBSVM text
CREATE TABLE readings AS
SELECT ARRAY[temperature, vibration, hours]::real[] AS x, state = 'fails' AS failed FROM machines;
SELECT svm_train('readings', 'failed');
SELECT svm_predict('readings_failed', ARRAY[69, 3.9, 7900]) AS hot, svm_predict('readings_failed', ARRAY[51, 0.1, 100]) AS cool;
CREATE TABLE notes (good boolean, words int[], counts real[]);
INSERT INTO notes
SELECT id % 2 = 0 OR id % 7 = 4, ARRAY[id % 2, 2 + id % 7, 100 + id % 50], ARRAY[1, 1, 2] FROM generate_series(1, 1000) AS id;
SELECT svm_train('notes', 'good', ARRAY['sparse(words, counts)']);
SELECT svm_predict('notes_good', '0:1 4:1 120:2') AS even, svm_predict('notes_good', '1:1 4:1 120:2') AS odd;

-- NULL
CREATE VIEW patchy AS SELECT nullif(vibration::int, 0) AS vibration, temperature, state FROM machines;
SELECT svm_train('patchy', 'state');
SELECT column_name, nulls, round(mean::numeric) AS mean FROM svm_features('patchy_state');
SELECT svm_train('patchy', 'state', nulls => 'skip');
SELECT rows_used < 20000 AS some_left_out FROM svm_models WHERE name = 'patchy_state';

-- More rows than memory
SET pgsvm.cache_size = '256kB';
SELECT svm_train('machines', 'state', ARRAY['temperature', 'vibration', 'hours', 'serviced'], 'streamed');
RESET pgsvm.cache_size;
SELECT svm_train('machines', 'state', ARRAY['temperature', 'vibration', 'hours', 'serviced'], 'cached');
SELECT max(gap) <= 1e-3 AS certified, (max(primal) - min(primal)) / min(primal) <= 1e-3 AS same_objective
FROM svm_models WHERE name IN ('streamed', 'cached');

-- What no line tells apart
CREATE TABLE rings AS
SELECT id, radius * cos(angle) AS x, radius * sin(angle) AS y, CASE WHEN radius < 1.5 THEN 'inner' ELSE 'outer' END AS ring
FROM (SELECT id, 1 + id % 2 + 0.4 * (random() - 0.5) AS radius, 6.2831853 * random() AS angle
      FROM generate_series(1, 2000) AS id) AS drawn;
SELECT svm_train('rings', 'ring', ARRAY['x', 'y'], 'line');
SELECT svm_train('rings', 'ring', ARRAY['x', 'y'], 'curve', kernel => 'rbf');
SELECT name, kernel, landmarks > 0 AS landmarks, gap <= 1e-3 AS certified, training_accuracy > 0.99 AS good
FROM svm_models WHERE name IN ('line', 'curve') ORDER BY name;
SELECT count(*) AS answered, sum((p.label = r.ring)::int) > 1980 AS good
FROM svm_predict_query('curve', 'SELECT * FROM rings', 'id') AS p JOIN rings AS r ON r.id = p.row_key::int;

-- Spam from free text
DO $$ BEGIN PERFORM setseed(0.5); END $$;
CREATE TABLE sms AS
SELECT id, id % 5 = 0 AS spam, initcap(string_agg(word, ' ' ORDER BY place)) || '.' AS body
FROM generate_series(1, 4000) AS id,
     LATERAL (SELECT place, (ARRAY['call', 'now', 'you', 'your', 'to', 'for', 'the', 'me', 'mobile', 'txt',
                                   'free', 'win', 'prize', 'cash', 'claim', 'urgent', 'reply', 'stop', 'offer', 'www',
                                   'home', 'later', 'love', 'ok', 'going', 'time', 'good', 'come', 'what', 'work'])
                            [1 + (10 * random())::int % 10
                             + CASE WHEN random() < 0.6 THEN 0 WHEN (random() < 0.8) = (id % 5 = 0) THEN 10 ELSE 20 END] AS word
              FROM generate_series(1, 9 + id % 4) AS place) AS drawn
GROUP BY id;
CREATE TABLE new_sms AS SELECT * FROM sms WHERE id > 3000;
DELETE FROM sms WHERE id > 3000;
SELECT body, spam FROM sms ORDER BY id LIMIT 5;
SELECT svm_train('sms', 'spam', '{text(body)}');
SELECT rows, round(accuracy::numeric, 1) AS accuracy, auc > 0.9 AS ranks FROM svm_evaluate('sms_spam', 'new_sms');
SELECT svm_classify('sms_spam', 'URGENT! You win a prize, claim your cash'::text) AS one, svm_classify('sms_spam', 'ok, going home later'::text) AS other;
SELECT feature, contribution > 0 AS spam FROM svm_explain('sms_spam', 'ok, claim your prize'::text) ORDER BY contribution DESC, feature;
SELECT svm_train('sms', 'spam', model => 'by_itself', exclude => '{id}');
SELECT column_name, treatment, features FROM svm_features('by_itself');

-- Prices, with intervals
DO $$ BEGIN PERFORM setseed(0.75); END $$;
CREATE TABLE flats AS
SELECT id, area, floor, district,
       round((50000 + 3200 * area + 2500 * floor + 60000 * (district = 'harbour')::int
              + 40000 * (random() + random() + random() - 1.5))::numeric, 2) AS price
FROM (SELECT id, 25 + 120 * random() AS area, (8 * random())::int AS floor,
             (ARRAY['harbour', 'hill', 'station'])[1 + id % 3] AS district
      FROM generate_series(1, 4000) AS id) AS drawn;
CREATE TABLE new_flats AS SELECT * FROM flats WHERE id > 3000;
DELETE FROM flats WHERE id > 3000;
SELECT svm_train('flats', 'price', exclude => '{id}', options => '{"intervals": true}');
SELECT rows, round(rmse::numeric, -3) AS rmse, round(r2::numeric, 2) AS r2 FROM svm_evaluate('flats_price', 'new_flats');
SELECT round(svm_predict('flats_price', f)::numeric, -3) AS price, round(lower::numeric, -3) AS lower, round(upper::numeric, -3) AS upper
FROM (SELECT 90 AS area, 3 AS floor, 'harbour' AS district) AS f, svm_interval('flats_price', f);
SELECT coverage, round(avg((f.price BETWEEN lower AND upper)::int), 1) AS inside, round(avg(upper - lower)::numeric, -4) AS width
FROM unnest('{0.5, 0.8, 0.9}'::float8[]) AS coverage, new_flats AS f, svm_interval('flats_price', f, coverage)
GROUP BY coverage ORDER BY coverage;

-- Strange readings
DO $$ BEGIN PERFORM setseed(0.25); END $$;
CREATE TABLE sensors AS
SELECT id, broken, 20 + 2 * (random() + random() + random() - 1.5) + CASE WHEN broken THEN 6 * (random() - 0.5) ELSE 0 END AS temperature,
       1 + 0.1 * (random() + random() + random() - 1.5) + CASE WHEN broken THEN 2 * (random() - 0.5) ELSE 0 END AS pressure
FROM (SELECT id, id % 50 = 0 AS broken FROM generate_series(1, 3000) AS id) AS numbered;
SELECT svm_train('sensors', features => '{temperature,pressure}', nu => 0.03);
SELECT svm_classify('sensors_novelty', s) AS is, round(avg(broken::int), 1) AS broken FROM sensors AS s GROUP BY 1 ORDER BY 1;
SELECT broken, count(*) FROM (SELECT broken FROM sensors AS s ORDER BY svm_decision('sensors_novelty', s) LIMIT 50) AS strangest GROUP BY broken;
SELECT rows, round(auc::numeric, 1) AS auc FROM svm_evaluate('sensors_novelty', 'sensors', label => 'broken');

-- Cleaning up
SELECT count(svm_drop(name)) AS dropped
FROM unnest('{machines_state,careful,age,raw,readings_failed,notes_good,patchy_state,streamed,cached,line,curve,sms_spam,by_itself,flats_price,sensors_novelty}'::text[]) AS name;
DROP VIEW patchy, raw_version, signed;
DROP TABLE machines, new_machines, readings, notes, rings, sms, new_sms, flats, new_flats, sensors;
RESET client_min_messages;
