-- Rows and keys given to follow-ups are kept as the query has them, whatever else their table has before and behind
SET client_min_messages = warning;
CREATE TABLE rows AS SELECT i AS id, i % 9 AS x, (i % 5)::real AS y, i % 9 > 4 AS label, 'row ' || i AS word, ARRAY[i, i] AS last FROM generate_series(1, 60) AS i;
SELECT svm_train('rows', 'label', ARRAY['x', 'y'], 'by_word', key => 'word');
SELECT svm_forget('by_word', 'rows', '{}') IS NULL AS never WHERE false;
SELECT svm_forget_query('by_word', 'SELECT * FROM rows WHERE id < 5');
SELECT svm_update_query('by_word', 'SELECT * FROM rows WHERE id < 5');
SELECT version, rows_used FROM svm_versions ORDER BY 1;
