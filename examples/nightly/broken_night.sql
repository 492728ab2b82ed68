-- A night that goes wrong: among what has come in is a customer whose spending nobody can have. The training refuses the
-- row, the transaction ends, and nothing of the night has happened.

SELECT count(*) AS customers, (SELECT count(*) FROM incoming) AS waiting, (SELECT count(*) FROM scores) AS scored,
       (SELECT max(version) FROM svm_versions WHERE name = 'churn') AS newest_version
FROM customers;

SELECT customers_come(1000);
-- one of those that the model learns from
UPDATE incoming SET spent = 'NaN' WHERE id = (SELECT min(id) FROM incoming WHERE churned AND id % 5 <> 0);

\ir pipeline.sql

-- as before, but for those who wait
SELECT count(*) AS customers, (SELECT count(*) FROM incoming) AS waiting, (SELECT count(*) FROM scores) AS scored,
       (SELECT max(version) FROM svm_versions WHERE name = 'churn') AS newest_version
FROM customers;
