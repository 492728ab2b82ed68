-- Weights on the way, tested on rows that nothing is learned of.
\set SHOW_CONTEXT never
DELETE FROM svm_model;
SET pgsvm.cache_size = '8MB';
CREATE TABLE seen AS
SELECT i AS id, sin(i) AS a, cos(3 * i) AS b, sin(7 * i) AS c, sin(i) + cos(3 * i) + 0.3 * sin(11 * i) > 0.2 AS side
FROM generate_series(1, 4000) AS i;
CREATE TABLE unseen AS
SELECT -i AS id, sin(i + 0.5) AS a, cos(3 * i + 1) AS b, sin(7 * i) AS c, sin(i + 0.5) + cos(3 * i + 1) > 0.2 AS side
FROM generate_series(1, 1000) AS i;

CREATE FUNCTION told() RETURNS TABLE (told boolean, falls boolean, right_at_last boolean) LANGUAGE sql AS $$
    WITH log AS (SELECT * FROM svm_training_log('watched') WHERE test_error IS NOT NULL),
        ends AS (
            SELECT (array_agg(test_error ORDER BY step))[1] AS first, (array_agg(test_error ORDER BY step DESC))[1] AS last,
                (array_agg(test_auc ORDER BY step DESC))[1] AS auc, count(*) AS entries
            FROM log)
    SELECT entries > 0, last <= first + 0.01, abs(last - 1 + e.accuracy) < 1e-3 AND abs(ends.auc - e.auc) < 1e-3
    FROM ends, svm_evaluate('watched', 'unseen') AS e
$$;

SET client_min_messages = warning;
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'stream', loss => 'hinge', options => '{"watch": "unseen", "inherit": false}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'stream', loss => 'squared_hinge', options => '{"watch": "unseen", "inherit": false}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'stream', loss => 'ramp', options => '{"watch": "unseen", "inherit": false}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'newton', loss => 'squared_hinge', options => '{"watch": "unseen", "inherit": false}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'block', loss => 'hinge', options => '{"watch": "unseen", "inherit": false, "blocks": 4}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'selective_block', loss => 'squared_hinge', options => '{"watch": "unseen", "inherit": false, "blocks": 4}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'block', loss => 'squared_hinge', options => '{"watch": "unseen", "inherit": false, "inner": "newton"}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'block', loss => 'hinge', options => '{"watch": "unseen", "inherit": false, "inner": "pegasos", "blocks": 4}', tolerance => 0.02);
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'scan', loss => 'hinge', options => '{"watch": "unseen", "inherit": false}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'scan', loss => 'squared_hinge', options => '{"watch": "unseen", "inherit": false}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'stream', loss => 'hinge', options => '{"watch": "unseen", "inherit": false, "policy": "paper"}');
SELECT * FROM told();

SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'newton', loss => 'squared_hinge', options => '{"watch": "unseen", "inherit": false, "normalize_rows": true}');
SELECT * FROM told();
-- kernel machines, whose weights are those of landmarks, and interior points
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', kernel => 'rbf', loss => 'hinge', options => '{"watch": "unseen", "inherit": false, "method": "low_rank"}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', kernel => 'rbf', loss => 'squared_hinge', options => '{"watch": "unseen", "inherit": false, "method": "low_rank", "normalize_rows": true}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', kernel => 'polynomial', solver => 'newton', loss => 'squared_hinge', options => '{"watch": "unseen", "inherit": false, "method": "low_rank"}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', kernel => 'rbf', solver => 'scan', loss => 'squared_hinge', options => '{"watch": "unseen", "inherit": false}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', kernel => 'rbf', loss => 'hinge', options => '{"watch": "unseen", "inherit": false, "method": "exact"}');
SELECT * FROM told();
SELECT event, test_error IS NOT NULL AS tested, gap <= 1e-3 AS arrived FROM svm_training_log('watched') ORDER BY step DESC LIMIT 1;
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'interior_point', loss => 'hinge', options => '{"watch": "unseen", "inherit": false}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'interior_point', loss => 'hinge', options => '{"watch": "unseen", "inherit": false, "machines": "scans"}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', kernel => 'rbf', solver => 'interior_point', loss => 'hinge', options => '{"watch": "unseen", "inherit": false}');
SELECT * FROM told();
SELECT event, count(*) = count(test_error) AS all_tested FROM svm_training_log('watched') GROUP BY event ORDER BY event;

-- rows without a label are passed over; without the option there is nothing
INSERT INTO unseen SELECT 0, 0, 0, 0, NULL FROM generate_series(1, 10);
SELECT svm_train('seen', 'side', '{a, b, c}', 'watched', solver => 'stream', loss => 'hinge', options => '{"watch": "unseen", "inherit": false}');
SELECT * FROM told();
SELECT svm_train('seen', 'side', '{a, b, c}', 'blind');
SELECT count(test_error) AS tested, count(test_auc) AS ranked FROM svm_training_log('blind');
-- a retraining does not take it over
SELECT svm_train('seen', 'side', model => 'watched');
SELECT count(test_error) FROM svm_training_log('watched');

-- several classes
CREATE VIEW thirds AS SELECT a, b, c, (id % 3)::text AS third FROM seen WHERE a + b > 0 OR id % 3 = 1;
SELECT svm_train('thirds', 'third', '{a, b, c}', 'thirds', options => '{"watch": "thirds"}');
SELECT count(*) > 0 AS told, bool_and(test_error BETWEEN 0 AND 1 AND test_auc BETWEEN 0 AND 1) AS sensible
FROM svm_training_log('thirds') WHERE test_error IS NOT NULL;
CREATE VIEW sectors AS SELECT a, b, c, width_bucket(a + b + c * c, -0.2, 1, 1)::text AS third FROM seen;
CREATE FUNCTION told_of_thirds() RETURNS TABLE (entries boolean, right_at_last boolean) LANGUAGE sql AS $$
    WITH log AS (SELECT * FROM svm_training_log('thirds') WHERE test_error IS NOT NULL),
        ends AS (
            SELECT (array_agg(test_error ORDER BY step DESC))[1] AS last, (array_agg(test_auc ORDER BY step DESC))[1] AS auc, count(*) AS entries
            FROM log)
    SELECT entries > 0, abs(last - 1 + e.accuracy) < 2e-3 AND abs(ends.auc - e.auc) < 2e-3 FROM ends, svm_evaluate('thirds', 'sectors') AS e
$$;
SELECT svm_train('sectors', 'third', '{a, b, c}', 'thirds', kernel => 'rbf', options => '{"watch": "sectors", "inherit": false, "method": "low_rank"}');
SELECT * FROM told_of_thirds();
SELECT svm_train('sectors', 'third', '{a, b, c}', 'thirds', kernel => 'rbf', rank => 50, options => '{"watch": "sectors", "inherit": false, "method": "exact", "multiclass": "one_vs_one"}');
SELECT * FROM told_of_thirds();
SELECT svm_train('sectors', 'third', '{a, b, c}', 'thirds', kernel => 'rbf', solver => 'interior_point', loss => 'hinge', options => '{"watch": "sectors", "inherit": false}');
SELECT * FROM told_of_thirds();

-- what it does not go with
RESET client_min_messages;
SELECT svm_train('seen', 'side', '{a, b, c}', 'no', options => '{"watch": "nowhere"}');
SELECT svm_train('seen', 'side', '{a, b, c}', 'no', options => '{"watch": "SELECT * FROM seen"}');
SELECT svm_train('seen', 'side', '{a, b, c, id}', 'no', options => '{"watch": "thirds"}');
CREATE VIEW texts AS SELECT a::text, b, c, side FROM unseen;
SELECT svm_train('seen', 'side', '{a, b, c}', 'no', options => '{"watch": "texts"}');
SELECT svm_train('seen', 'side', '{a, b, c}', 'no', c => NULL, options => '{"watch": "unseen"}');
CREATE VIEW many AS SELECT unseen.* FROM unseen, generate_series(1, 200);
SELECT svm_train('seen', 'side', '{a, b, c}', 'no', options => '{"watch": "many"}');
