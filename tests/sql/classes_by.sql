-- Which of more than two classes it is: the most probable one where a model has probabilities, else that of the largest decision.
-- Three classes near chance: their shares differ, and features tell little.
CREATE TABLE near AS
SELECT i, (ARRAY['a', 'a', 'b', 'b', 'b', 'c', 'c', 'c', 'c'])[1 + (i * 7919 % 1009) % 9] AS kind,
    (i * 104729 % 1000) / 500.0 - 1 + 0.1 * ((i * 7919 % 1009) % 9) AS x, (i * 15485863::bigint % 997) / 498.0 - 1 AS y
FROM generate_series(1, 1000) AS i;
SET client_min_messages = error;
SELECT svm_train('near', 'kind', '{x, y}', 'probable', loss => 'hinge', probability => true);
SELECT svm_train('near', 'kind', '{x, y}', 'decided', loss => 'hinge', probability => true, options => '{"classes_by": "decision"}');
SELECT svm_train('near', 'kind', '{x, y}', 'plain');
SELECT svm_train('near', 'kind', '{x, y}', 'weighted', probability => true, class_weight => 'balanced');
SELECT svm_train('near', 'kind', '{x, y}', 'weighted_probable', probability => true, class_weight => 'balanced', options => '{"classes_by": "probability"}');
SELECT svm_train('near', 'kind', '{x, y}', 'curved', kernel => 'rbf', probability => true);
SELECT svm_train_query('SELECT x, y, kind = ''c'' AS c FROM near', 'c', model => 'two', probability => true, options => '{"classes_by": "probability"}');
RESET client_min_messages;
SELECT name, shown.classes_by, stored.classes_by AS stored FROM svm_versions AS shown JOIN svm_version AS stored USING (id) ORDER BY name;

-- every row's class is the most probable one, or that of the largest decision
CREATE FUNCTION agreement(model text, OUT by_probability bigint, OUT by_decision bigint) LANGUAGE sql AS $$
    SELECT count(*) FILTER (WHERE svm_probability(model, example, class) = likely), count(*) FILTER (WHERE class = decided)
    FROM (
        SELECT n AS example, svm_classify(model, n) AS class,
            (SELECT max(svm_probability(model, n, k)) FROM unnest('{a, b, c}'::text[]) AS k) AS likely,
            (SELECT k FROM unnest('{a, b, c}'::text[]) AS k ORDER BY svm_decision(model, n, k) DESC, k LIMIT 1) AS decided
        FROM near AS n
    ) AS rows
$$;
SELECT name, by_probability = 1000 AS by_probability, by_decision = 1000 AS by_decision, least(by_probability, by_decision) < 950 AS differ
FROM unnest('{probable, decided, weighted, weighted_probable, curved}'::text[]) AS name, agreement(name) ORDER BY name;

-- and all that names the class names this one
SELECT svm_create_function('probable', 'asked'), svm_create_function('probable', 'held', immutable => true);
SELECT bool_and(class = asked(n)) AS asked, bool_and(class = held(n.x, n.y)) AS held, bool_and(class = svm_predict('probable', n, NULL::text)) AS predicted,
    bool_and(class = (SELECT s.class FROM svm_predict_set('probable', n, 1) AS s)) AS first, bool_and(class = answer.label) AS by_query,
    bool_and(abs(svm_probability('probable', n, class) - answer.probability) < 1e-12) AS probability
FROM near AS n
JOIN svm_predict_query('probable', 'SELECT * FROM near', 'i') AS answer ON answer.row_key = n.i::text, LATERAL svm_classify('probable', n) AS class;
SELECT bool_and(probability <= before) AS descending, count(*) FROM (
    SELECT s.probability, lag(s.probability) OVER (PARTITION BY n.i ORDER BY s.rank) AS before FROM near AS n, svm_predict_set('probable', n) AS s
) AS sets WHERE before IS NOT NULL;
-- of the rows trained on too
SELECT name, abs(training_accuracy - accuracy) < 0.002 AS training_accuracy FROM svm_models, svm_evaluate(name, 'near') WHERE name IN ('probable', 'decided', 'curved') ORDER BY name;
SELECT name, round(e.accuracy::numeric, 6) = share AS accuracy, (SELECT round(sum(rows) / 1000, 6) FROM svm_confusion(name, 'near') WHERE actual = predicted) = share AS confusion
FROM unnest('{probable, decided}'::text[]) AS name, svm_evaluate(name, 'near') AS e,
    LATERAL (SELECT round(avg((svm_classify(name, n) = n.kind)::int), 6) AS share FROM near AS n) AS own;

-- it goes with the model to another database, and on to its next version
SELECT svm_import(name || '_again', svm_export(name, 'pgsvm')) FROM unnest('{probable, decided}'::text[]) AS name;
SELECT name, classes_by FROM svm_versions WHERE name LIKE '%_again' ORDER BY name;
SELECT bool_and(svm_classify('probable', n) = svm_classify('probable_again', n)) AS probable, bool_and(svm_classify('decided', n) = svm_classify('decided_again', n)) AS decided FROM near AS n;
SET client_min_messages = error;
SELECT svm_train('near', 'kind', model => 'decided');
SELECT svm_train('near', 'kind', model => 'probable');
SELECT svm_train('near', 'kind', model => 'probable', class_weight => 'balanced');
RESET client_min_messages;
SELECT name, version, classes_by FROM svm_versions WHERE name IN ('decided', 'probable') ORDER BY name, version;
-- a version of 0.2.0 recorded nothing, and its classes are those of decisions
UPDATE svm_version SET given = NULL, classes_by = NULL, options = '{}', loss = 'hinge' WHERE id = (SELECT id FROM svm_models WHERE name = 'curved');
SET client_min_messages = error;
SELECT svm_train('near', 'kind', model => 'curved');
SELECT version, classes_by, options FROM svm_versions WHERE name = 'curved' ORDER BY version;
SELECT svm_train('near', 'kind', '{x, y}', 'kept', probability => true, key => 'i');
INSERT INTO near SELECT i, 'a', 0, 0 FROM generate_series(1001, 1010) AS i;
SELECT svm_refresh('kept');
SELECT version, classes_by FROM svm_versions WHERE name = 'kept' ORDER BY version;
UPDATE svm_version SET given = NULL, classes_by = NULL WHERE id = (SELECT id FROM svm_models WHERE name = 'kept');
INSERT INTO near SELECT i, 'a', 0, 0 FROM generate_series(1011, 1020) AS i;
SELECT svm_refresh('kept');
RESET client_min_messages;
SELECT version, classes_by, options FROM svm_versions WHERE name = 'kept' ORDER BY version;

-- what cannot be
SELECT svm_train('near', 'kind', '{x, y}', options => '{"classes_by": "probability"}');
SELECT svm_train('near', 'kind', '{x, y}', probability => true, options => '{"classes_by": "votes"}');
UPDATE svm_version SET classes_by = 'votes' WHERE id = (SELECT id FROM svm_models WHERE name = 'plain');
SELECT svm_classify('plain', n) FROM near AS n LIMIT 1;
UPDATE svm_version SET classes_by = 'probability' WHERE id = (SELECT id FROM svm_models WHERE name = 'plain');
SELECT svm_classify('plain', n) FROM near AS n LIMIT 1;
