-- What svm_features tells of vocabularies and of hashed features that meet, and svm_evaluate of words that training did not see.
SET client_min_messages = warning;
CREATE TABLE notes AS
SELECT i, 'w' || i % 40 || ' v' || i % 23 || ' common' || CASE WHEN i = 7 THEN ' once' ELSE '' END AS body, 'c' || i % 31 AS kind,
    ARRAY[i, 3 * i + 1000, i % 7 + 5000] AS idx, ARRAY[1, i % 5, 2.5]::float8[] AS val, i % 2 = 0 AS even
FROM generate_series(1, 400) AS i;

-- Of these distinct values, which are known to be hashed, the share whose place is that of another one.
CREATE FUNCTION that_meet(model text, features text[]) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE place bigint; places bigint[]; document text;
BEGIN
    FOREACH document IN ARRAY features LOOP
        SELECT "position" INTO STRICT place FROM svm_expand(model, document::jsonb) WHERE feature ~ '#';
        places := places || place;
    END LOOP;
    RETURN (SELECT round(avg((count > 1)::int), 9) FROM (SELECT count(*) OVER (PARTITION BY at) FROM unnest(places) AS at) AS counted);
END$$;

-- words
SELECT svm_train('notes', 'even', '{text(body)}', 'exact');
SELECT treatment, features, vocabulary, collisions FROM svm_features('exact');
SELECT svm_train('notes', 'even', '{text(body)}', 'hashed', options => '{"max_words": 10, "hash_bits": 6}');
SELECT treatment, features, vocabulary FROM svm_features('hashed');
CREATE VIEW hashed_words AS SELECT DISTINCT word FROM notes, unnest(string_to_array(body, ' ')) AS word;
SELECT that_meet('hashed', array_agg(jsonb_build_object('body', word)::text)) = round(collisions::numeric, 9) AS same, collisions > 0 AS some_meet
FROM hashed_words, svm_features('hashed') WHERE EXISTS (SELECT FROM svm_expand('hashed', word) WHERE feature ~ '#') GROUP BY collisions;
-- those in too few rows are hashed with the others
SELECT svm_train('notes', 'even', '{text(body)}', 'cut', options => '{"max_words": 50, "hash_bits": 1, "min_df": 12}');
SELECT features, vocabulary, collisions FROM svm_features('cut');

-- values of a column
SELECT svm_train('notes', 'even', '{kind}', 'values', options => '{"max_categories": 10, "hash_bits": 4}');
SELECT treatment, features, vocabulary FROM svm_features('values');
SELECT that_meet('values', array_agg(jsonb_build_object('kind', kind)::text)) = round(collisions::numeric, 9) AS same, collisions > 0 AS some_meet
FROM (SELECT DISTINCT kind FROM notes) AS k, svm_features('values')
WHERE EXISTS (SELECT FROM svm_expand('values', jsonb_build_object('kind', kind)) WHERE feature ~ '#') GROUP BY collisions;
SELECT svm_train('notes', 'even', '{kind}', 'all_values');
SELECT treatment, features, vocabulary, collisions FROM svm_features('all_values');

-- indices
SELECT svm_train('notes', 'even', '{"hash(sparse(idx, val), 9)"}', 'indices');
CREATE FUNCTION place_of(model text, index int) RETURNS bigint LANGUAGE sql AS $$
    SELECT "position" FROM svm_expand(model, (SELECT r FROM (SELECT ARRAY[index] AS idx, ARRAY[1.0] AS val) AS r))
$$;
SELECT features, vocabulary, (
    SELECT avg((count > 1)::int)::float8
    FROM (SELECT count(*) OVER (PARTITION BY place_of('indices', index)) FROM (SELECT DISTINCT unnest(idx) AS index FROM notes) AS i) AS counted
) = collisions AS same, collisions > 0 AS some_meet FROM svm_features('indices');
-- of more than 16,384 it is an estimate, here beside what is expected of any hash
SELECT svm_train_query('SELECT ARRAY[3 * i, 3 * i + 1, 3 * i + 2] AS idx, ARRAY[1, 1, 1] AS val, i % 2 = 0 AS even FROM generate_series(1, 20000) AS i', 'even',
    '{"hash(sparse(idx, val), 16)"}', 'many');
SELECT abs(collisions - (1 - (1 - 1 / 65536.0) ^ 59999)) < 0.02 AS as_expected FROM svm_features('many');

-- a copy and a refresh tell the same
SELECT svm_import('copied', svm_export('hashed', 'pgsvm')) IS NOT NULL AS copied;
SELECT count(*) AS same FROM (SELECT collisions FROM svm_features('copied') INTERSECT SELECT collisions FROM svm_features('hashed')) AS s;
ALTER TABLE notes ADD PRIMARY KEY (i);
SELECT svm_train('notes', 'even', '{text(body),kind}', 'kept', key => 'i', options => '{"max_words": 10, "max_categories": 10, "hash_bits": 4}');
INSERT INTO notes SELECT 1000 + i, 'w1 v1', 'c1', '{}', '{}', i % 2 = 0 FROM generate_series(1, 5) AS i;
SELECT svm_refresh('kept');
SELECT one.column_name, one.collisions = other.collisions AS same FROM svm_features('kept@1') AS one JOIN svm_features('kept') AS other USING (column_name) ORDER BY 1;

-- what a training did not see
SELECT rows, unseen_words FROM svm_evaluate('exact', 'notes');
CREATE TABLE later AS SELECT * FROM (VALUES
    ('w1 v1 new newer', true), ('common COMMON common', false), (NULL, true), ('', false), ('not evaluated, as nobody labelled it', NULL)) AS v (body, even);
SELECT rows, unseen_words FROM svm_evaluate('exact', 'later');
SELECT rows, unseen_words FROM svm_evaluate('values', 'notes');
-- of a hashed vocabulary those whose feature nothing met
SELECT unseen_words FROM svm_evaluate('hashed', 'notes');
SELECT svm_train('notes', 'even', '{text(body)}', 'wide', options => '{"max_words": 0, "hash_bits": 20}');
SELECT unseen_words FROM svm_evaluate('wide', 'later');
-- runs of characters, classes, documents
SELECT svm_train('notes', 'kind', '{"spectrum(body, 4)"}', 'runs');
SELECT unseen_words FROM svm_evaluate('runs', 'notes');
SELECT unseen_words > 0.3 AS many_unseen FROM (SELECT * FROM svm_evaluate('runs', 'later', label => 'body')) AS e;
CREATE TABLE documents AS SELECT even, jsonb_build_object('body', body) AS doc FROM later;
SELECT rows, unseen_words FROM svm_evaluate('exact', 'documents', features => 'doc');
-- without a text there is nothing to tell
CREATE TABLE empty AS SELECT ''::text AS body, true AS even;
SELECT rows, unseen_words FROM svm_evaluate('exact', 'empty');
