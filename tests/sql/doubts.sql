-- Rows judged out of fold, and s of a truncated loss chosen by cross-validation.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
-- as many features as a few rows can be learned by heart with; every tenth label is wrong
CREATE TABLE marks AS
SELECT i AS id, x, x[1] + x[2] > 0 AS truth, (x[1] + x[2] > 0) <> (i % 10 = 0) AS side, 1 + i % 3 AS w,
    CASE WHEN i % 10 = 0 THEN 'wrong' WHEN x[1] + x[2] > 0.3 THEN 'up' WHEN x[1] + x[2] < -0.3 THEN 'down' ELSE 'between' END AS part
FROM (
    SELECT i, array_agg(sin(i * (12.9898 + j * 1.7) + j * j) * 2) AS x
    FROM generate_series(1, 300) AS i, generate_series(1, 60) AS j GROUP BY i
) AS s;
SELECT svm_train('marks', 'side', '{x}', 'convex', c => 10), svm_train('marks', 'side', '{x}', 'ramp', loss => 'ramp'),
    svm_train('marks', 'part', '{x}', 'parts', c => 0.1), svm_train('marks', 'side', '{x}', 'weighed', weight => 'w', class_weight => 'balanced', key => 'id');

-- what the rows have been learned by heart with finds fewer wrong labels than what has not seen them
CREATE FUNCTION found(model text, folds int) RETURNS TABLE (recall float8, precise float8) LANGUAGE sql AS $$
    SELECT count(*) FILTER (WHERE example->>'truth' <> example->>'side') / 30.0, avg((example->>'truth' <> example->>'side')::int)
    FROM svm_suspects(model, 'marks', NULL, folds)
$$;
SELECT (SELECT recall FROM found('convex', 5)) > (SELECT recall FROM found('convex', NULL)) + 0.2 AS finds_more;
SELECT model, recall > 0.6 AS finds FROM unnest('{convex, weighed}'::text[]) AS model, found(model, 5);
-- nor does the kind of machine matter: of solver 'interior_point' it is by low rank that rows are held out
SELECT svm_train('marks', 'side', '{x}', 'interior', solver => 'interior_point', rank => 60, c => 10),
    svm_train('marks', 'side', '{x}', 'interior_rbf', solver => 'interior_point', kernel => 'rbf', c => 10);
SELECT model, recall > 0.6 AS finds FROM unnest('{interior, interior_rbf}'::text[]) AS model, found(model, 5);
SELECT svm_drop('interior'), svm_drop('interior_rbf');

-- the most doubtful first, each row once, with the label that is predicted; the same each time, and however rows lie
SELECT count(*) = count(DISTINCT example->>'id') AS once, bool_and(margin < 0) AS below, bool_and(label <> predicted) AS others,
    bool_and(label = example->>'side') AS own
FROM svm_suspects('convex', 'marks', NULL, folds => 5);
SELECT count(*) AS shown, bool_and(margin <= next) AS ordered
FROM (SELECT margin, lead(margin, 1, margin) OVER () AS next FROM svm_suspects('convex', 'marks', 7, 5)) AS s;
CREATE TABLE turned AS SELECT * FROM marks ORDER BY id DESC;
SELECT array_agg(a.example->'id' ORDER BY a.example->>'id') = array_agg(b.example->'id' ORDER BY b.example->>'id') AS same
FROM svm_suspects('convex', 'marks', NULL, folds => 3) AS a FULL JOIN svm_suspects('convex', 'turned', NULL, folds => 3) AS b
    ON a.example = b.example;
-- several classes: less than the best other one
SELECT count(*) > 0 AS some, bool_and(margin < 0) AS below, bool_and(label <> predicted) AS others
FROM svm_suspects('parts', 'marks', NULL, folds => 4);
-- outliers of a truncated loss, out of fold
SELECT count(*) > 5 AS some, max(margin) < -1 AS beyond FROM svm_suspects('ramp', 'marks', NULL, folds => 5);
-- rows without a label are passed over, nothing is stored, and equal rows are each as good as the other
CREATE VIEW more AS SELECT * FROM marks UNION ALL SELECT id, x, truth, NULL, w, part FROM marks UNION ALL SELECT * FROM marks WHERE id <= 20;
SELECT count(*) > 10 AS some, bool_and(label IS NOT NULL) AS labelled FROM svm_suspects('convex', 'more', NULL, folds => 5);
SELECT count(*) AS versions FROM svm_versions;

-- s is chosen by cross-validation, with C or without
SELECT svm_train('marks', 'side', '{x}', 'chosen', loss => 'ramp', options => '{"truncation": "auto", "folds": 3}');
SELECT truncation IN (0.5, 1, 2, 4) AS one_of_them, outliers > 0 AS has_outliers FROM svm_models WHERE name = 'chosen';
SELECT svm_train('marks', 'side', '{x}', 'both', c => NULL, loss => 'truncated_squared_hinge', options => '{"truncation": "auto", "folds": 3, "costs": [0.01, 1]}');
SELECT truncation IN (0.625, 1.25, 2.5, 5) AS one_of_them, c IN (0.01, 1) AS c FROM svm_models WHERE name = 'both';
SELECT count(*), count(DISTINCT it->>'truncation') AS tried, count(*) FILTER (WHERE (it->>'best')::bool) AS of_the_best
FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id, jsonb_array_elements(v.validation) AS it WHERE m.name = 'both';
SELECT c, truncation, count(*) AS folds, bool_or(best) AS best
FROM svm_cross_validate('marks', 'side', c => '{1, 0.1}', folds => 3, features => '{x}', loss => 'ramp', options => '{"truncation": "auto"}')
GROUP BY c, truncation ORDER BY c, truncation OFFSET 6;
-- a model that follows its table keeps the s that was chosen
SELECT svm_train('marks', 'side', '{x}', 'follows', loss => 'ramp', key => 'id', options => '{"truncation": "auto", "folds": 3}');
DELETE FROM marks WHERE id % 50 = 1;
SELECT svm_refresh('follows');
SELECT count(*) AS versions, count(DISTINCT truncation) AS truncations FROM svm_versions WHERE name = 'follows';

RESET client_min_messages;
SELECT svm_train('marks', 'side', '{x}', 'no', loss => 'ramp', options => '{"truncation": "some"}');
SELECT svm_train('marks', 'side', '{x}', 'no', loss => 'hinge', options => '{"truncation": "auto"}');
SELECT svm_train('marks', 'side', '{x}', 'no', loss => 'ramp', options => '{"truncation": "auto", "warm_start": "ramp"}');
SELECT svm_train('marks', 'side', '{x}', 'no', loss => 'ramp', kernel => 'rbf', options => '{"truncation": "auto", "choose": ["gamma"]}');
SELECT * FROM svm_suspects('convex', 'marks', folds => 1);
SELECT * FROM svm_suspects('convex', 'marks', folds => 65);
SELECT svm_import('imported', svm_export('convex', 'pgsvm'));
SELECT count(*) FROM svm_suspects('imported', 'marks', folds => 5);

-- Of numbers, rows whose error is an outlier: more than three deviations of normal errors, by the median. The largest come first.
SET client_min_messages = warning;
CREATE TABLE prices AS
SELECT i AS id, x, i % 25 = 0 AS wrong, round((100 + 20 * x[1] + 10 * x[2] + sin(i * 7.7) * 3 + CASE WHEN i % 25 = 0 THEN 80 * (-1) ^ (i / 25 % 2) ELSE 0 END)::numeric, 3) AS price
FROM (
    SELECT i, array_agg(sin(i * (12.9898 + j * 1.7) + j * j) * 2) AS x
    FROM generate_series(1, 500) AS i, generate_series(1, 100) AS j GROUP BY i
) AS s;
SELECT svm_train('prices', 'price', '{x}', 'prices', c => 10), svm_train('prices', 'price', '{x}', 'robust', loss => 'epsilon_insensitive', c => 0.01),
    svm_train('prices', 'price', '{x}', 'band', c => 1, options => '{"quantiles": [0.1, 0.5, 0.9]}'),
    svm_train_query('SELECT x[1:2] AS x, price FROM prices', 'price', model => 'rbf', kernel => 'rbf');
CREATE FUNCTION found_prices(model text, folds int) RETURNS TABLE (recall float8, precise float8) LANGUAGE sql AS $$
    SELECT count(*) FILTER (WHERE (example->>'wrong')::bool) / 20.0, avg((example->>'wrong')::bool::int) FROM svm_suspects(model, 'prices', NULL, folds)
$$;
SELECT model, folds, recall, precise > 0.6 AS precise FROM unnest('{prices, robust, band}'::text[]) AS model, unnest('{NULL, 5}'::int[]) AS folds, found_prices(model, folds) ORDER BY model, folds;
SELECT count(*) FILTER (WHERE (example->>'wrong')::bool) >= 18 AS finds FROM svm_suspects('rbf', 'SELECT x[1:2] AS x, wrong, price FROM prices', NULL, 4);
-- what is shown: the number that is predicted, and how far off it is
SELECT folds, count(*), bool_and(margin <= before) AS ordered, bool_and(abs(margin - abs(label::float8 - predicted::float8)) < 1e-9) AS errors,
    bool_and(label = example->>'price') AS own, bool_and(folds IS NOT NULL OR predicted::float8 = svm_predict('prices', p)) AS as_predicted
FROM unnest('{NULL, 5}'::int[]) AS folds,
    LATERAL (SELECT *, lag(margin, 1, margin) OVER () AS before FROM svm_suspects('prices', 'prices', 7, folds)) AS s JOIN prices AS p ON p.id = (example->>'id')::int
GROUP BY folds;
SELECT bool_and(s.margin > t.beyond) AND count(*) = max(t.more) AS as_documented
FROM svm_suspects('robust', 'SELECT * FROM prices WHERE id <= 401', NULL) AS s, (
    WITH offs AS (SELECT abs(price - svm_predict('robust', p)) AS off FROM prices AS p WHERE id <= 401),
        middle AS (SELECT 3 * 1.4826 * percentile_cont(0.5) WITHIN GROUP (ORDER BY off) AS beyond FROM offs)
    SELECT beyond, count(*) FILTER (WHERE off > beyond) AS more FROM offs, middle GROUP BY beyond
) AS t;
-- rows without a label or a prediction are passed over, a text is a number, nothing is stored
CREATE VIEW some_prices AS SELECT id, x, wrong, CASE WHEN id <> 25 THEN price END AS price FROM prices UNION ALL SELECT 1000, NULL, true, 1e9;
SELECT count(*) FILTER (WHERE example->>'id' = '25') AS unlabelled, count(*) FILTER (WHERE example->>'id' = '1000') AS no_features, count(*) > 15 AS some
FROM svm_suspects('robust', 'SELECT id, x, wrong, price::text AS price FROM some_prices', NULL);
SELECT count(*) FROM svm_suspects('robust', 'SELECT id, x FROM prices');
SELECT count(*) FROM svm_suspects('robust', 'prices', 0);
SELECT count(*) FILTER (WHERE name IN ('prices', 'robust', 'band')) AS versions FROM svm_versions;
