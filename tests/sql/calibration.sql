-- What makes probabilities of decisions: Platt's sigmoid, or isotonic regression where it is better on rows held out.
\set SHOW_CONTEXT never
SET pgsvm.workers = 0;
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
-- how likely it is has the form of a sigmoid, and not: from a value on every second row, before that hardly any
CREATE TABLE rows AS SELECT i, 2 * drawn(i, 1) - 1 AS x, drawn(i, 2) < 1 / (1 + exp(-3 * (2 * drawn(i, 1) - 1))) AS straight,
    CASE WHEN drawn(i, 2) < 0.02 + 0.48 * greatest(0, least(1, 20 * drawn(i, 1) - 13)) THEN 'yes' ELSE 'no' END AS bent,
    CASE WHEN drawn(i, 2) < 0.02 + 0.48 * greatest(0, least(1, 20 * drawn(i, 1) - 13)) THEN 'much' WHEN drawn(i, 3) < 0.5 THEN 'some' ELSE 'none' END AS amount
FROM generate_series(1, 12000) AS i;
CREATE TABLE seen AS SELECT * FROM rows WHERE i <= 4000 ORDER BY i;
CREATE TABLE fresh AS SELECT * FROM rows WHERE i > 4000 ORDER BY i;
SET client_min_messages = warning;
SELECT svm_train('seen', 'straight', '{x}', 'straight', probability => true);
SELECT svm_train('seen', 'bent', '{x}', 'bent', probability => true);
SELECT svm_train('seen', 'bent', '{x}', 'platt', probability => true, options => '{"calibration": "sigmoid"}');
SELECT svm_train('seen', 'straight', '{x}', 'asked', probability => true, options => '{"calibration": "isotonic"}');
SET client_min_messages = error;
SELECT svm_train('seen', 'bent', '{x}', 'curved', kernel => 'rbf', gamma => 0.5, rank => 10, probability => true);
SELECT svm_train('seen', 'bent', '{x}', 'scanned', solver => 'scan', probability => true);
SELECT svm_train('seen', 'bent', '{x}', 'chosen', c => 'auto', metric => 'log_loss', probability => true);
SELECT svm_train('seen', 'amount', '{x}', 'amounts', probability => true);
SELECT svm_train('seen', 'bent', '{x}', 'none');
SET client_min_messages = warning;
SELECT name, calibration FROM svm_versions ORDER BY name;
-- the sigmoid is there in any case, and the same
SELECT a.sigmoid_slope = b.sigmoid_slope AND a.sigmoid_offset = b.sigmoid_offset AS same, a.isotonic_decisions IS NULL AS none,
    cardinality(b.isotonic_decisions) BETWEEN 2 AND 100 AND cardinality(b.isotonic_decisions) = cardinality(b.isotonic_probabilities) AS points
FROM svm_head AS a, svm_head AS b WHERE a.version_id = svm_internal.svm_version_id('platt') AND b.version_id = svm_internal.svm_version_id('bent');
-- better on fresh rows, and what an evaluation says
SELECT (svm_evaluate('bent', 'fresh')).log_loss < (svm_evaluate('platt', 'fresh')).log_loss - 0.01 AS better,
    abs((svm_evaluate('bent', 'fresh')).log_loss - svm_log_loss(svm_probability('bent', f), bent = 'yes')) < 1e-9 AS evaluated,
    abs((svm_evaluate('platt', 'fresh')).log_loss - svm_log_loss(svm_probability('platt', f), bent = 'yes')) < 1e-9 AS by_sigmoid,
    (SELECT (a.accuracy, a.auc) = (b.accuracy, b.auc) FROM svm_evaluate('bent', 'fresh') AS a, svm_evaluate('platt', 'fresh') AS b) AS same_classes
FROM fresh AS f;
SELECT name, (svm_evaluate(name, 'fresh')).log_loss - (
    SELECT svm_log_loss(1 / (1 + exp(sigmoid_slope * svm_decision(name, f) + sigmoid_offset)), bent = 'yes')
    FROM fresh AS f, svm_head WHERE version_id = svm_internal.svm_version_id(name)) < -0.001 AS better
FROM unnest('{curved,scanned,chosen}'::text[]) AS name;
-- by hand: linear between points, constant beyond them
WITH points AS (
    SELECT p.*, lead(d) OVER (ORDER BY n) AS next_d, lead(p) OVER (ORDER BY n) AS next_p
    FROM svm_head, unnest(isotonic_decisions, isotonic_probabilities) WITH ORDINALITY AS p (d, p, n) WHERE version_id = svm_internal.svm_version_id('bent')
), said AS (SELECT svm_decision('bent', f) AS d, svm_probability('bent', f) AS p FROM fresh AS f)
SELECT max(abs(said.p - coalesce(b.p + coalesce((said.d - b.d) / (b.next_d - b.d) * (b.next_p - b.p), 0), (SELECT p FROM points WHERE n = 1)))) < 1e-12 AS by_hand
FROM said LEFT JOIN points AS b ON b.d <= said.d AND (b.next_d > said.d OR b.next_d IS NULL);
-- it rises with the decision, and is neither 0 nor 1
SELECT count(*) FILTER (WHERE p < before) AS fall, min(p) > 0 AND max(p) < 1 AS between
FROM (SELECT p, lag(p) OVER (ORDER BY d) AS before FROM (SELECT svm_decision('bent', f) AS d, svm_probability('bent', f) AS p FROM fresh AS f) AS said) AS ordered;
-- whichever class comes first
SELECT svm_train_query('SELECT x, bent FROM seen ORDER BY bent' || direction, 'bent', model => 'first' || direction, probability => true, options => '{"calibration": "isotonic"}')
FROM unnest('{""," DESC"}'::text[]) AS direction;
SELECT avg(abs(svm_probability('first', f) - svm_probability('first DESC', f))) < 0.02 AS close, avg(svm_probability('first', f)) FILTER (WHERE bent = 'yes') > avg(svm_probability('first', f)) + 0.1 AS likelier,
    abs(avg(svm_probability('first DESC', f)) - avg((bent = 'yes')::int)) < 0.02 AS as_often FROM fresh AS f;
-- of more than two classes they sum to 1, and the most probable one is predicted
SELECT max(abs(svm_probability('amounts', f, 'much') + svm_probability('amounts', f, 'some') + svm_probability('amounts', f, 'none') - 1)) < 1e-12 AS sum,
    bool_and(svm_probability('amounts', f, svm_classify('amounts', f)) = greatest(svm_probability('amounts', f, 'much'), svm_probability('amounts', f, 'some'), svm_probability('amounts', f, 'none'))) AS likeliest,
    abs((svm_evaluate('amounts', 'fresh')).log_loss - svm_log_loss(svm_probability('amounts', f, amount), true)) < 1e-9 AS evaluated
FROM fresh AS f;
-- the same elsewhere
SELECT svm_import('back', svm_export('bent', 'pgsvm')), svm_import('amounts back', svm_export('amounts', 'pgsvm'));
SELECT svm_create_function('bent', 'likely', kind => 'probability'), svm_create_function('bent', 'likely_of', kind => 'probability', immutable => true);
SELECT bool_and(svm_probability('bent', f) = svm_probability('back', f)) AS back, bool_and(svm_probability('amounts', f, 'much') = svm_probability('amounts back', f, 'much')) AS amounts,
    bool_and(svm_probability('bent', f) = likely(f)) AS function, bool_and(svm_probability('bent', f) = likely_of(f.x)) AS immutable, bool_and((svm_classify('bent', f, threshold => 0.3) = 'yes') = (likely(f) >= 0.3)) AS threshold
FROM fresh AS f;
SELECT name, calibration FROM svm_versions WHERE name LIKE '%back' ORDER BY name;
-- LIBSVM knows sigmoids alone
SET client_min_messages = notice;
SELECT svm_export('bent', 'libsvm_model') LIKE '%probA%' AS sigmoid;
SET client_min_messages = warning;
SELECT svm_import('by_libsvm', svm_export('bent', 'libsvm_model'), 'array', '{"1": "no", "2": "yes"}');
SELECT (SELECT calibration FROM svm_versions WHERE name = 'by_libsvm'), max(abs(svm_probability('by_libsvm', ARRAY[x]) - svm_probability('platt', f))) < 1e-6 AS as_platt FROM fresh AS f;
-- asked for with few rows
SELECT svm_train_query('SELECT x, straight FROM rows WHERE i <= 600', 'straight', model => 'few', probability => true, options => '{"calibration": "isotonic"}');
SELECT svm_train_query('SELECT x, straight FROM rows WHERE i <= 600', 'straight', model => 'few again', probability => true);
SELECT name, calibration FROM svm_versions WHERE name LIKE 'few%' ORDER BY name;
-- taken over where there are probabilities, and by a follow-up
SELECT svm_train('seen', 'bent', '{x}', 'platt');
SELECT svm_train('seen', 'bent', '{x}', 'platt', probability => false);
SELECT svm_train('seen', 'bent', '{x}', 'followed', probability => true, key => 'i', options => '{"calibration": "sigmoid"}');
UPDATE seen SET x = x + 0.001 WHERE i < 10;
SELECT svm_refresh('followed');
SELECT name, version, calibration, options FROM svm_versions WHERE name IN ('platt', 'followed') ORDER BY name, version;
-- what is none
SELECT svm_train('seen', 'bent', '{x}', 'wrong', probability => true, options => '{"calibration": "platt"}');
SELECT svm_train('seen', 'bent', '{x}', 'wrong', options => '{"calibration": "isotonic"}');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
CREATE VIEW bad AS SELECT * FROM (VALUES ('{1,2}'::float8[], NULL::float8[]), (NULL, '{0.5}'), ('{}', '{}'), ('{1,2}', '{0.5}'), ('{2,1}', '{0.2,0.4}'), ('{1,1}', '{0.2,0.4}'), ('{1,2}', '{0.4,0.2}'),
    ('{1,2}', '{0,0.4}'), ('{1,2}', '{0.2,1}'), ('{1,NULL}', '{0.2,0.4}'), ('{1,2}', '{0.2,NULL}'), ('{1,NaN}', '{0.2,0.4}'), ('{1,Infinity}', '{0.2,0.4}'), ('{1,2}', '{NaN,0.4}'), ('{{1,2}}', '{{0.2,0.4}}'),
    (array_fill(1, '{101}')::float8[], array_fill(0.5, '{101}')::float8[])) AS t (decisions, probabilities);
SELECT bool_or(svm_internal.svm_is_isotonic(decisions, probabilities)) AS any FROM bad;
SELECT bool_and(svm_internal.svm_is_isotonic(decisions, probabilities)) AS all FROM (VALUES ('{1,2,3}'::float8[], '{0.2,0.2,0.4}'::float8[]), ('{1}', '{0.5}'), (NULL, NULL)) AS t (decisions, probabilities);
UPDATE svm_head SET isotonic_decisions = '{2,1}', isotonic_probabilities = '{0.2,0.4}' WHERE version_id = svm_internal.svm_version_id('bent');
ALTER TABLE svm_head DROP CONSTRAINT svm_head_isotonic;
CREATE FUNCTION damage(decisions float8[], probabilities float8[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    content text := svm_export('back', 'pgsvm');
    of_tables text;
BEGIN
    UPDATE svm_head SET isotonic_decisions = decisions, isotonic_probabilities = probabilities WHERE version_id = svm_internal.svm_version_id('bent');
    UPDATE svm_version SET options = options WHERE id = svm_internal.svm_version_id('bent');
    BEGIN
        PERFORM svm_probability('bent', f) FROM fresh AS f LIMIT 1;
    EXCEPTION WHEN OTHERS THEN
        of_tables := SQLSTATE || ': ' || SQLERRM;
    END;
    content := regexp_replace(content, '"isotonic_decisions":\[[^]]*\]', '"isotonic_decisions":' || coalesce(array_to_json(decisions)::text, 'null'));
    content := regexp_replace(content, '"isotonic_probabilities":\[[^]]*\]', '"isotonic_probabilities":' || coalesce(array_to_json(probabilities)::text, 'null'));
    PERFORM svm_import('damaged', content);
    RETURN of_tables;
EXCEPTION WHEN OTHERS THEN
    RETURN of_tables || E'\n' || SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT decisions[1:3], probabilities[1:3], damage(decisions, probabilities) FROM bad WHERE cardinality(decisions) < 101 OR decisions IS NULL;
