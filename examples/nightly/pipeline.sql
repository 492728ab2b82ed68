-- A nightly run in one transaction: stage what has come in, clean it, train, compare with the model in force on rows
-- that neither has seen, deploy only if better, score the customers of the day. Whatever fails, nothing has happened.
--
--   psql -v ON_ERROR_STOP=1 -f setup.sql       -- once: tables with made-up customers
--   psql -v ON_ERROR_STOP=1 -f pipeline.sql    -- every night

BEGIN;

-- 1. Stage: the rows of the day, as they came
CREATE TEMPORARY TABLE staged ON COMMIT DROP AS
SELECT * FROM incoming WHERE arrived < now();

-- 2. Clean: one row a customer, the latest; ages that cannot be are unknown
INSERT INTO customers (id, joined, age, plan, calls, spent, churned)
SELECT DISTINCT ON (id)
    id, joined, CASE WHEN age BETWEEN 18 AND 110 THEN age END, lower(trim(plan)), calls, spent, churned
FROM staged ORDER BY id, arrived DESC
ON CONFLICT (id) DO UPDATE SET
    age = excluded.age, plan = excluded.plan, calls = excluded.calls, spent = excluded.spent, churned = excluded.churned;
DELETE FROM incoming USING staged WHERE incoming.id = staged.id AND incoming.arrived = staged.arrived;

-- 3. Train on four fifths of those whose fate is known; the model in force stays in force
CREATE TEMPORARY VIEW learned AS
SELECT age, plan, calls, spent, joined, churned FROM customers WHERE churned IS NOT NULL AND id % 5 <> 0;
CREATE TEMPORARY VIEW held_out AS
SELECT age, plan, calls, spent, joined, churned FROM customers WHERE churned IS NOT NULL AND id % 5 = 0;

SELECT svm_train('learned', 'churned', model => 'churn', c => 'auto', nulls => 'mean', class_weight => 'balanced',
                 probability => true, options => '{"deploy": false}');

-- 4. Evaluate: the newest version and the one in force, on the same rows
CREATE TEMPORARY TABLE contest ON COMMIT DROP AS
SELECT version, deployed, quality.*
FROM svm_versions, svm_evaluate(name || '@' || version, 'held_out') AS quality
WHERE name = 'churn'
  AND (deployed OR version = (SELECT max(version) FROM svm_versions WHERE name = 'churn'));
SELECT version, deployed, rows, round(accuracy::numeric, 3) AS accuracy, round(auc::numeric, 3) AS auc
FROM contest ORDER BY version;

-- 5. Deploy the newest if it is better than the one in force
SELECT svm_deploy('churn', challenger.version)
FROM contest AS challenger JOIN contest AS champion ON champion.deployed
WHERE NOT challenger.deployed AND challenger.auc > champion.auc;

-- 6. Score today's customers with whichever is in force now
INSERT INTO scores (customer, scored_at, probability)
SELECT id, now(), svm_probability('churn', c)
FROM customers AS c WHERE churned IS NULL
ON CONFLICT (customer) DO UPDATE SET scored_at = excluded.scored_at, probability = excluded.probability;

COMMIT;
