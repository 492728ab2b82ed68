-- What grows with heads, columns, categories and texts, so that each asks for 64 kB and more.
SET client_min_messages = warning;
-- heads side by side: lists by head and lane
CREATE TABLE many AS SELECT i, i % 30 AS y, i % 200 AS class, array_agg(sin(i * j) + i % 30) AS x FROM generate_series(1, 300) AS i, generate_series(1, 32) AS j GROUP BY i;
SELECT count(*) FROM svm_cross_validate('many', 'y', features => '{x}', c => ARRAY[1e-5, 2e-5, 3e-5, 4e-5, 5e-5, 6e-5, 7e-5, 8e-5, 9e-5, 1e-4], folds => 10);
-- heads by themselves, and several trainers
SET pgsvm.trainers = 2;
SELECT svm_train('many', 'class', features => '{x}', model => 'apart', tolerance => 1e-9, max_passes => 2);
RESET pgsvm.trainers;
-- parts of features, and their copies
DO $$ BEGIN EXECUTE 'CREATE TABLE wide AS SELECT i AS id, i % 2 AS y, ' || (SELECT string_agg(format('sin(i * %s)::real AS x%1$s', j), ', ') FROM generate_series(1, 1500) AS j) || ' FROM generate_series(1, 40) AS i'; END $$;
SELECT svm_train('wide', 'y', model => 'wide', key => 'id', exclude => '{id}', max_passes => 5);
SELECT svm_refresh('wide');
SELECT svm_forget_query('wide', 'SELECT 3 AS id');
SELECT count(*) FROM svm_features('wide');
SELECT svm_train('wide', 'y', model => 'warm', exclude => '{id}', options => '{"warm_start": "wide"}');
SELECT sum(svm_decision('wide', w)) IS NOT NULL FROM wide AS w;
-- categories
CREATE TABLE words AS SELECT i AS id, i % 2 AS y, 'word ' || i % 6000 AS word FROM generate_series(1, 24000) AS i;
SELECT svm_train('words', 'y', '{word}', 'words', max_passes => 3, options => '{"max_categories": 50000}');
SELECT cardinality(categories) FROM svm_features('words');
SELECT length(svm_as_sql('words')) > 100000;
SELECT length(svm_export('words', format => 'pgsvm')) > 100000 AS exported, svm_import('words_again', svm_export('words', format => 'pgsvm'));
SELECT svm_create_function('words', 'words_function', immutable => true);
SELECT words_function(word) IS NOT NULL FROM words LIMIT 1;
-- terms, and a number of many digits for a category
CREATE TABLE long AS SELECT i % 2 AS y, array_agg(sin(i * j)) AS x FROM generate_series(1, 20) AS i, generate_series(1, 6000) AS j GROUP BY i;
SELECT svm_train('long', 'y', '{x}', 'long', max_passes => 3);
SELECT length(svm_as_sql('long')) > 100000;
SELECT svm_import('long_again', svm_export('long', format => 'pgsvm'));
SELECT svm_predict('words', jsonb_build_object('word', repeat('7', 100000)::numeric));
-- what a version stored, read again
SELECT svm_train_query(E'SELECT id, y, left(word, 7) AS word FROM words /*\n' || repeat('x', 30000) || E'\n*/ WHERE id < 2000', 'y', '{word}', 'query', key => 'id', max_passes => 3);
SELECT svm_refresh('query');
