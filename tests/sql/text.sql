-- Texts as features: the words of a column, weighted by tf-idf.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE TABLE mails (id int PRIMARY KEY, body text, age int, kind text, spam boolean);
INSERT INTO mails
SELECT i, (ARRAY['Free entry', 'WIN cash', 'see you', 'call me'])[1 + i % 4] || ' ' ||
    (ARRAY['now', 'later', 'today', 'Übermorgen', 'tonight'])[1 + i % 5] || ' number ' || i || (ARRAY['!', '', '.'])[1 + i % 3],
    20 + i % 30, (ARRAY['a', 'b'])[1 + i % 2], i % 4 < 2
FROM generate_series(1, 400) AS i;

-- the words of a text
SELECT svm_train('mails', 'spam', '{text(body)}', 'words');
SELECT column_name, type, treatment, features, categories, nulls FROM svm_features('words');
SELECT bool_and(svm_predict('words', m) = spam::int) AS learned FROM mails AS m;
SELECT feature, weight > 0 AS spam FROM svm_weights('words') WHERE feature ~ 'free|win|cash|entry|see|call' ORDER BY 1;
SELECT part ->> 'kind' AS kind, jsonb_array_length(part -> 'words') AS words, part -> 'all_texts' AS texts, part ->> 'words' ~ '"übermorgen"' AS lower
FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id, jsonb_path_query(features, '$.parts[*]') AS part WHERE m.name = 'words';

-- what a text is, whatever it comes in
SELECT bool_and(svm_decision('words', m) = svm_decision('words', r)) AS same_row,
    bool_and(svm_decision('words', m) = svm_decision('words', m.body)) AS same_text,
    bool_and(abs(svm_decision('words', m) - svm_decision('words', to_jsonb(m))) < 1e-9) AS same_document,
    bool_and(svm_decision('words', upper(m.body)) = svm_decision('words', m.body)) AS lower
FROM mails AS m, LATERAL (SELECT m.body::varchar(100)) AS r;
SELECT svm_decision('words', 'nothing that it knows: xyzzy') = svm_decision('words', '') AS none_of_them;
SELECT svm_decision('words', NULL::text) IS NULL AS null;
SELECT feature, value > 0 AS there, contribution > 0 AS spam FROM svm_explain('words', 'free entry, see'::text) WHERE feature <> '(others)' ORDER BY 1;

-- by hand: idf, tf, length 1
CREATE TABLE by_hand AS
WITH token AS (SELECT id, spam, lower(t[1]) AS word FROM mails, regexp_matches(body, '\w\w+', 'g') AS t),
    tf AS (SELECT id, spam, word, count(*) AS tf FROM token GROUP BY 1, 2, 3),
    df AS (SELECT word, count(*) AS df, (row_number() OVER (ORDER BY word COLLATE "C"))::int AS number FROM tf GROUP BY word),
    w AS (SELECT id, spam, number, tf * (ln((1 + 400) / (1 + df)::float8) + 1) AS w FROM tf JOIN df USING (word)),
    n AS (SELECT id, sqrt(sum(w ^ 2)) AS n FROM w GROUP BY id)
SELECT id, spam, array_agg(number ORDER BY number) AS idx, array_agg(w / n ORDER BY number) AS val FROM w JOIN n USING (id) GROUP BY 1, 2;
SELECT svm_train_query('SELECT * FROM by_hand ORDER BY id', 'spam', '{"sparse(idx,val)"}', 'by_hand', tolerance => 1e-6);
SELECT svm_train_query('SELECT * FROM mails ORDER BY id', 'spam', '{text(body)}', 'by_words', tolerance => 1e-6);
SELECT max(abs(svm_decision('by_words', m) - svm_decision('by_hand', h))) < 1e-5 AS same FROM mails AS m JOIN by_hand AS h USING (id);

-- mixed with others
SELECT svm_train('mails', 'spam', '{age,text(body),kind}', 'mixed');
SELECT "position", column_name, treatment, features FROM svm_features('mixed');
SELECT bool_and(svm_predict('mixed', m) = spam::int) AS learned FROM mails AS m;
SELECT count(*) > 0 AS validated, bool_and(accuracy > 0.9) AS learned
FROM svm_cross_validate('mails', 'spam', c => ARRAY[1.0]::float8[], folds => 3, features => '{age,text(body),kind}');

-- options, and runs of words
SELECT svm_train('mails', 'spam', '{"text(body, 2)"}', 'runs', options => '{"min_df": 2, "max_df": 0.5, "sublinear": true}');
SELECT treatment, features FROM svm_features('runs');
SELECT feature FROM svm_weights('runs') WHERE feature ~ 'free|number' ORDER BY 1;
SELECT svm_train('mails', 'spam', '{text(body)}', 'few', options => '{"max_words": 10, "hash_bits": 8}');
SELECT treatment, features FROM svm_features('few');
SELECT bool_and(svm_predict('few', m) = spam::int) AS learned FROM mails AS m;
SELECT feature FROM svm_weights('few') WHERE feature ~ '#' ORDER BY 1 LIMIT 1;

-- lexemes of a text search configuration
SELECT svm_train('mails', 'spam', '{"text(body, english)"}', 'english');
SELECT features FROM svm_features('english');
SELECT bool_or(feature = 'text(body, pg_catalog.english)[entri]') AS stemmed, bool_or(feature ~ '\[(you|me)\]') AS stop FROM svm_weights('english');
SELECT bool_and(svm_predict('english', m) = spam::int) AS learned, bool_and(svm_decision('english', m) = svm_decision('english', m.body)) AS same FROM mails AS m;
SELECT svm_train('mails', 'spam', '{"text(body, simple, 2)"}', 'pairs');
SELECT count(*) > 0 AS pairs FROM svm_weights('pairs') WHERE feature = 'text(body, pg_catalog.simple, 2)[free entry]';

-- vectors and arrays of words are features as they are
CREATE TABLE listed AS SELECT id, to_tsvector('english', body) AS lexemes, regexp_split_to_array(body, ' ') || '{NULL}' AS list, spam FROM mails;
SELECT svm_train('listed', 'spam', '{lexemes}', 'lexemes');
SELECT column_name, type, treatment, features FROM svm_features('lexemes');
SELECT max(abs(svm_decision('lexemes', l) - svm_decision('english', m))) < 1e-3 AS same FROM listed AS l JOIN mails AS m USING (id);
SELECT svm_train('listed', 'spam', '{list}', 'list');
SELECT column_name, type, treatment, features FROM svm_features('list');
SELECT bool_and(svm_predict('list', l) = spam::int) AS learned, bool_and(svm_decision('list', l) = svm_decision('list', to_jsonb(l))) AS same,
    bool_and(svm_decision('lexemes', l) = svm_decision('lexemes', to_jsonb(l))) AS same_lexemes FROM listed AS l;
SELECT feature FROM svm_weights('list') WHERE feature ~ 'Free';

-- by default a text column of many long values is words, and the NOTICE says so
SET client_min_messages = notice;
CREATE TABLE messages AS SELECT 'so ' || body || ' it is as ever' AS body, spam FROM mails;
\set VERBOSITY terse
SELECT svm_train('messages', 'spam', model => 'messages') \gset
\set VERBOSITY default
SET client_min_messages = warning;
SELECT column_name, treatment FROM svm_features('messages');

-- a refresh keeps vocabulary and idf
SELECT svm_train('mails', 'spam', '{text(body)}', 'kept', key => 'id');
INSERT INTO mails SELECT 400 + i, 'fresh words for number ' || i, 30, 'a', true FROM generate_series(1, 40) AS i;
SELECT svm_refresh('kept');
SELECT count(DISTINCT part) AS vocabularies, count(*) AS versions
FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id, jsonb_path_query(features, '$.parts[*]') AS part WHERE m.name = 'kept';
SELECT svm_train('mails', 'spam', '{text(body)}', 'kept', key => 'id');
SELECT features FROM svm_features('kept');

-- NULL
CREATE TABLE gaps AS SELECT nullif(body, 'Free entry later number 1') AS body, spam FROM mails WHERE id <= 400;
UPDATE gaps SET body = NULL WHERE body ~ ' 1?7[.]?$';
SELECT svm_train('gaps', 'spam', '{text(body)}', 'nulls', nulls => 'error');
SELECT svm_train('gaps', 'spam', '{text(body)}', 'nulls', nulls => 'skip');
SELECT svm_decision('nulls', r) IS NULL AS skipped FROM (SELECT NULL::text AS body) AS r;
SELECT svm_train('gaps', 'spam', '{text(body)}', 'nulls', nulls => 'zero');
SELECT svm_decision('nulls', r) = svm_decision('nulls', '') AS nothing FROM (SELECT NULL::text AS body) AS r;
SELECT treatment, nulls FROM svm_features('nulls');

-- another database gets the same
SELECT svm_import('copied', svm_export('mixed', 'pgsvm')) IS NOT NULL AS copied;
SELECT bool_and(svm_decision('copied', m) = svm_decision('mixed', m)) AS same FROM mails AS m;
SELECT svm_train('mails', 'spam', '{text(body),"text(body, english)","text(body, 2)"}', 'thrice');
SELECT "position", column_name, features FROM svm_features('thrice');

-- by scans, and by workers
SELECT svm_train('mails', 'spam', '{text(body),age}', 'scanned', solver => 'scan');
SELECT bool_and(svm_predict('scanned', m) = spam::int) AS learned FROM mails AS m;
SET pgsvm.min_parallel_size = 0;
SELECT svm_train('mails', 'spam', '{text(body),age}', 'helped');
SELECT max(abs(svm_decision('scanned', m) - svm_decision('helped', m))) < 0.1 AS same FROM mails AS m;
RESET pgsvm.min_parallel_size;

-- texts are taken apart once, in the pass that learns their words, and again where the pass that reads meets others: rows in another order,
-- values that are made anew, more of them than fit
CREATE TABLE long_mails AS
SELECT id, body || CASE WHEN id % 3 = 0 THEN repeat(' and so on', 600) WHEN id % 3 = 1 THEN (SELECT string_agg(md5(id || '-' || i), ' ') FROM generate_series(1, 90) AS i) ELSE '' END AS body,
    nullif(id % 11, 0) AS age, (id % 13 <> 0)::int AS counts, spam FROM mails WHERE id <= 400;
SELECT svm_train_query('SELECT * FROM long_mails ORDER BY id', 'spam', '{text(body)}', 'long', tolerance => 1e-6);
SELECT svm_train_query('SELECT * FROM long_mails ORDER BY random()', 'spam', '{text(body)}', 'shuffled', tolerance => 1e-6);
SELECT max(abs(svm_decision('long', m) - svm_decision('shuffled', m))) < 1e-2 AS same FROM long_mails AS m;
CREATE FUNCTION in_memory(list text[]) RETURNS text[] LANGUAGE plpgsql AS $$BEGIN list[1] := list[1]; RETURN list; END$$;
SELECT svm_train_query('SELECT id, list, spam FROM listed ORDER BY id', 'spam', '{list}', 'list');
SELECT svm_train_query('SELECT id, in_memory(list) AS list, spam FROM listed ORDER BY id', 'spam', '{list}', 'list_made');
SELECT bool_and(svm_decision('list', l) = svm_decision('list_made', l)) AS same FROM listed AS l;
SELECT svm_train_query('SELECT * FROM long_mails ORDER BY id', 'spam', '{text(body),age}', 'skipped', nulls => 'skip', weight => 'counts', tolerance => 1e-6);
SELECT svm_train_query('SELECT * FROM long_mails WHERE age IS NOT NULL AND counts = 1 ORDER BY id', 'spam', '{text(body),age}', 'left', tolerance => 1e-6);
SELECT bool_and(svm_decision('skipped', m) = svm_decision('left', m)) AS same FROM long_mails AS m WHERE age IS NOT NULL;
SET pgsvm.cache_size = '64kB';
SELECT svm_train_query('SELECT * FROM long_mails ORDER BY id', 'spam', '{text(body)}', 'tight', tolerance => 1e-6);
SELECT max(abs(svm_decision('long', m) - svm_decision('tight', m))) < 1e-2 AS same FROM long_mails AS m;
RESET pgsvm.cache_size;

-- what is wrong
SELECT svm_train('mails', 'spam', '{text(age)}', 'wrong');
SELECT svm_train('listed', 'spam', '{text(list)}', 'wrong');
SELECT svm_train('mails', 'spam', '{"text(body, klingon)"}', 'wrong');
SELECT svm_train('mails', 'spam', '{"text(body, english, 0)"}', 'wrong');
SELECT svm_train('mails', 'spam', '{"text(body, 9)"}', 'wrong');
SELECT svm_train('mails', 'spam', '{"text(body, english, 2, 3)"}', 'wrong');
SELECT svm_train('mails', 'spam', '{text(body)}', 'wrong', options => '{"min_df": 1000}');
SELECT svm_train('mails', 'spam', '{text(body)}', 'wrong', options => '{"min_df": 1.5}');
SELECT svm_train('mails', 'spam', '{text(body)}', 'wrong', options => '{"max_df": "all"}');
SELECT svm_train('mails', 'spam', '{text(body)}', 'wrong', options => '{"max_words": -1}');
SELECT svm_decision('words', ARRAY[1.0, 2.0]);
SELECT svm_decision('mixed', 'free entry'::text);
SELECT svm_decision('words', r) FROM (SELECT 1 AS body) AS r;
SELECT svm_decision('words', '{"body": 1}'::jsonb);
SELECT svm_as_sql('words');
CREATE TEXT SEARCH CONFIGURATION own (COPY = english);
SELECT svm_train('mails', 'spam', '{"text(body, own)"}', 'own');
DROP TEXT SEARCH CONFIGURATION own;
SELECT svm_decision('own', 'free entry'::text);
