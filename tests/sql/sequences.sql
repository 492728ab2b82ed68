-- Strings as features: runs of characters, and runs of letters at their places.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE TABLE strings AS
SELECT i, overlay(letters PLACING 'GATTACA' FROM CASE WHEN y THEN 11 ELSE 13 END) AS dna, y
FROM (SELECT i, i % 2 = 0 AS y, translate(substr(md5(i::text) || md5((-i)::text), 1, 30), '0123456789abcdef', 'ACGTACGTACGTACGT') AS letters FROM generate_series(1, 300) AS i) AS random;

-- runs of characters, as words are
SELECT svm_train('strings', 'y', '{"ngrams(dna, 1, 3)"}', 'ngrams');
SELECT column_name, treatment, features FROM svm_features('ngrams');
SELECT feature FROM svm_weights('ngrams') WHERE feature ~ '\[ga' ORDER BY feature;
SELECT svm_decision('ngrams', 'gattaca'::text) = svm_decision('ngrams', 'GATTACA'::text) AS lower, svm_decision('ngrams', ''::text) IS NOT NULL AS empty;
SELECT svm_train('strings', 'y', '{"ngrams(dna, 2, 5)"}', 'hashed', options => '{"max_words": 0, "hash_bits": 10}');
SELECT treatment, features FROM svm_features('hashed');

-- counts of runs as they are
SELECT svm_train('strings', 'y', '{"spectrum(dna, 4)"}', 'spectrum');
SELECT treatment, features FROM svm_features('spectrum');
SELECT value FROM svm_explain('spectrum', 'ACGTTACGTACCCC'::text) WHERE feature = 'spectrum(dna, 4)[ACGT]';

-- places count for the weighted degree
SELECT svm_train('strings', 'y', '{"weighted_degree(dna, 4)"}', 'degree');
SELECT column_name, treatment, features FROM svm_features('degree');
SELECT bool_and(svm_predict('degree', s) = y::int) AS learned, bool_and(svm_decision('degree', s) = svm_decision('degree', s.dna)) AS same_text,
    bool_and(svm_decision('degree', s) = svm_decision('degree', to_jsonb(s))) AS same_document FROM strings AS s;
SELECT feature FROM svm_weights('degree') ORDER BY abs(weight) DESC LIMIT 1;
SELECT feature, round(value::numeric, 6) AS value FROM svm_explain('degree', 'ACG'::text) WHERE feature ~ 'dna' ORDER BY feature;
CREATE TABLE moved AS SELECT y, i, dna FROM strings;
SELECT svm_train('moved', 'y', '{"spectrum(dna, 4)",i,"weighted_degree(dna, 3, ACGT)","weighted_degree(dna, 2, TGCA)"}', 'mixed');
SELECT "position", treatment, features FROM svm_features('mixed');
SELECT bool_and(svm_decision('mixed', m) = svm_decision('mixed', to_jsonb(m))) AS same FROM moved AS m;
SELECT svm_import('copied', svm_export('mixed', 'pgsvm')) IS NOT NULL AS copied;
SELECT bool_and(svm_decision('copied', m) = svm_decision('mixed', m)) AS same FROM moved AS m;

-- runs that are stored and runs that are made when a row is visited
SELECT svm_train_query('SELECT * FROM strings ORDER BY i', 'y', '{"weighted_degree(dna, 6)",i}', 'stored', tolerance => 1e-6, options => '{"expansion": "stored"}');
SELECT svm_train_query('SELECT * FROM strings ORDER BY i', 'y', '{"weighted_degree(dna, 6)",i}', 'visit', tolerance => 1e-6, options => '{"expansion": "visit"}');
SELECT svm_train_query('SELECT * FROM strings ORDER BY i', 'y', '{"weighted_degree(dna, 6)",i}', 'auto', tolerance => 1e-6);
SELECT bool_and(svm_decision('stored', s) = svm_decision('visit', s)) AS same, bool_and(svm_decision('auto', s) = svm_decision('visit', s)) AS auto FROM strings AS s;
-- so are spectra, and both beside words, categories and numbers
CREATE TABLE mixed_strings AS SELECT *, reverse(dna) AS back, 'number ' || i % 40 || CASE WHEN y THEN ' even' ELSE '' END AS body, 'k' || i % 7 AS kind, CASE WHEN i % 9 > 0 THEN dna END AS gaps FROM strings;
SELECT svm_train_query('SELECT * FROM mixed_strings ORDER BY i', 'y', ARRAY['spectrum(dna, 3)'], 'spectrum_' || e, tolerance => 1e-6, options => jsonb_build_object('expansion', e))
FROM unnest('{stored,visit,auto}'::text[]) AS e;
SELECT bool_and(svm_decision('spectrum_stored', s) = svm_decision('spectrum_visit', s)) AS same, bool_and(svm_decision('spectrum_auto', s) = svm_decision('spectrum_visit', s)) AS auto FROM mixed_strings AS s;
-- short forms fit where features do not
SET pgsvm.cache_size = '512kB';
SET temp_file_limit = 0;
\set VERBOSITY sqlstate
SELECT svm_train_query('SELECT s.* FROM mixed_strings AS s, generate_series(1, 10)', 'y', '{"spectrum(dna, 3)"}', 'spectrum_stored', options => '{"expansion": "stored"}');
\set VERBOSITY default
SELECT svm_train_query('SELECT s.* FROM mixed_strings AS s, generate_series(1, 10)', 'y', '{"spectrum(dna, 3)"}', 'spectrum_visit', options => '{"expansion": "visit"}');
SELECT svm_train_query('SELECT s.* FROM mixed_strings AS s, generate_series(1, 10)', 'y', '{"spectrum(dna, 3)"}', 'spectrum_auto');
RESET temp_file_limit;
RESET pgsvm.cache_size;
SELECT svm_train_query('SELECT * FROM mixed_strings ORDER BY i', 'y',
    ARRAY['i', 'kind', 'text(body)', 'weighted_degree(dna, 4)', 'weighted_degree(back, 2)', 'spectrum(gaps, 3)', 'spectrum(back, 4)', 'spectrum(dna, 2)', 'ngrams(dna, 2, 2)'],
    'beside_' || e, nulls => 'zero', tolerance => 1e-6, options => jsonb_build_object('expansion', e))
FROM unnest('{stored,visit,auto}'::text[]) AS e;
SELECT bool_and(svm_decision('beside_stored', s) = svm_decision('beside_visit', s)) AS same, bool_and(svm_decision('beside_auto', s) = svm_decision('beside_visit', s)) AS auto FROM mixed_strings AS s;
SET pgsvm.trainers = 2;
SELECT svm_train_query('SELECT * FROM mixed_strings ORDER BY i', 'y', ARRAY['kind', 'spectrum(gaps, 3)', 'weighted_degree(dna, 4)'], 'two_' || e, nulls => 'zero', tolerance => 1e-6, options => jsonb_build_object('expansion', e))
FROM unnest('{stored,visit}'::text[]) AS e;
SELECT max(abs(svm_decision('two_stored', s) - svm_decision('two_visit', s))) < 1e-2 AS same FROM mixed_strings AS s;
RESET pgsvm.trainers;
SET pgsvm.cache_size = '64kB';
SELECT svm_train_query('SELECT * FROM strings ORDER BY i', 'y', '{"weighted_degree(dna, 6)"}', 'streamed', tolerance => 1e-4, options => '{"expansion": "stored"}');
SELECT svm_train_query('SELECT * FROM strings ORDER BY i', 'y', '{"weighted_degree(dna, 6)"}', 'kept', tolerance => 1e-4);
SELECT max(abs(svm_decision('streamed', s) - svm_decision('kept', s))) < 0.1 AS same FROM strings AS s;
RESET pgsvm.cache_size;
-- of features that are stored it has no effect, as a NOTICE says; the model is that of "stored"
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT svm_train('strings', 'y', '{"ngrams(dna, 1, 3)"}', 'visited', c => .001, options => '{"expansion": "visit"}');
SET client_min_messages = warning;
\set VERBOSITY default
SELECT svm_train('strings', 'y', '{"ngrams(dna, 1, 3)"}', 'as_stored', c => .001, options => '{"expansion": "stored"}');
SELECT count(*) AS other FROM strings AS s WHERE svm_decision('visited', s) <> svm_decision('as_stored', s);
SELECT svm_train('strings', 'y', '{"spectrum(dna, 3)"}', 'visited', kernel => 'rbf', options => '{"expansion": "visit", "inherit": false}');
SELECT svm_drop('visited'), svm_drop('as_stored');
SELECT svm_train('strings', 'y', '{"weighted_degree(dna, 6)"}', 'wrong', options => '{"expansion": "always"}');

-- what is wrong
SELECT svm_train('strings', 'y', '{"ngrams(dna, 3, 1)"}', 'wrong');
SELECT svm_train('strings', 'y', '{"ngrams(dna, 0, 1)"}', 'wrong');
SELECT svm_train('strings', 'y', '{"spectrum(dna, -1)"}', 'wrong');
SELECT svm_train('strings', 'y', '{"spectrum(i, 3)"}', 'wrong');
SELECT svm_train('strings', 'y', '{"weighted_degree(dna, 16)"}', 'wrong');
SELECT svm_train('strings', 'y', '{"weighted_degree(dna, 2, AA)"}', 'wrong');
SELECT svm_train('strings', 'y', '{"weighted_degree(dna, 2, ACG)"}', 'wrong');
SELECT svm_decision('degree', 'ACGNT'::text);
SELECT svm_decision('degree', r) FROM (SELECT 1 AS dna) AS r;
-- more runs at the places of a string than there are numbers
SELECT svm_train_query($$ SELECT i % 2 = 0 AS label, repeat(chr(65 + i % 2 * 2), 5) AS dna FROM generate_series(1, 100) AS i $$, 'label', '{"weighted_degree(dna, 15)"}', 'no');
