-- Features made of other values: logarithms, polynomials, ranges, splines, parts of a time, crossed columns, hashed indices.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE TABLE loans AS
SELECT i AS id, 1 + i % 97 AS amount, (i * 7 % 41) / 4.0 AS rate, ARRAY[i % 5, i % 7, i % 3]::real[] AS v,
    (ARRAY['rent', 'own, paid', 'own'])[1 + i % 3] AS home, (ARRAY['car', 'paid, car', 'boat'])[1 + i / 3 % 3] AS use,
    timestamptz '2024-01-01 00:00+00' + i * interval '7 hours' AS at, ARRAY[i % 50, 1000 + i * 13 % 700, 70000]::int[] AS idx,
    ARRAY[1, 2, i % 3]::real[] AS val,
    (1 + i % 97 > 60) <> ((i * 7 % 41) / 4.0 > 6) AS good
FROM generate_series(1, 2000) AS i;

-- products make an exclusive or linear, by hand and made
SELECT svm_train('loans', 'good', '{"polynomial(amount, rate, 2)"}', 'made', tolerance => 1e-6);
SELECT svm_train_query('SELECT amount::float8 AS x1, rate::float8 AS x2, amount::float8 ^ 2 AS x11, amount::float8 * rate AS x12, rate::float8 ^ 2 AS x22, good FROM loans', 'good', model => 'by_hand', tolerance => 1e-6);
SELECT column_name, type, treatment, features FROM svm_features('made');
SELECT count(DISTINCT round(primal::numeric, 2)) AS objectives, count(DISTINCT training_accuracy) AS accuracies FROM svm_models WHERE name IN ('made', 'by_hand');
SELECT string_agg(feature, ', ' ORDER BY feature) AS names FROM svm_weights('made');
SELECT max(abs(svm_decision('made', l) - svm_decision('by_hand', h))) < 1e-3 AS same
FROM loans AS l, LATERAL (SELECT amount::float8 AS x1, rate::float8 AS x2, amount::float8 ^ 2 AS x11, amount::float8 * rate AS x12, rate::float8 ^ 2 AS x22) AS h;

-- of arrays
SELECT svm_train('loans', 'good', '{"polynomial(v, 2)",log(v),log(amount)}', 'arrays');
SELECT column_name, treatment, features FROM svm_features('arrays');
SELECT feature, round(value::numeric, 4) AS value FROM svm_expand('arrays', (SELECT l FROM loans AS l WHERE id = 8));
SELECT bool_and(svm_decision('arrays', l) = svm_decision('arrays', to_jsonb(l))) AS same FROM loans AS l;

-- ranges and splines, learned
SELECT svm_train('loans', 'good', '{"bucket(amount, 4)","spline(rate, 3)"}', 'ranges');
SELECT column_name, treatment, features FROM svm_features('ranges');
SELECT "position", feature, value FROM svm_expand('ranges', (SELECT l FROM loans AS l WHERE id = 8));
SELECT bool_and(svm_decision('ranges', l) = svm_decision('ranges', to_jsonb(l))) AS same FROM loans AS l;

-- parts of a time
SELECT svm_train('loans', 'good', '{parts(at)}', 'times', tolerance => 0.1);
SELECT feature, round(value::numeric, 4) AS value FROM svm_expand('times', (SELECT l FROM loans AS l WHERE id = 11));
SELECT bool_and(svm_decision('times', l) = svm_decision('times', to_jsonb(l))) AS same FROM loans AS l;

-- crossed columns
SELECT svm_train('loans', 'good', '{"cross(home, use)","cross(amount, rate)",home}', 'crossed', tolerance => 0.1);
SELECT column_name, type, treatment, features, categories FROM svm_features('crossed');
SELECT "position", feature, value FROM svm_expand('crossed', (SELECT l FROM loans AS l WHERE id = 7));
SELECT bool_and(svm_decision('crossed', l) = svm_decision('crossed', to_jsonb(l))) AS same FROM loans AS l;

-- a category times a number has the number for its value
SELECT svm_train('loans', 'good', '{"cross(home, amount)",home,rate}', 'weighted', tolerance => 1e-6);
SELECT column_name, type, treatment, features, categories FROM svm_features('weighted');
SELECT "position", feature, value FROM svm_expand('weighted', (SELECT l FROM loans AS l WHERE id = 7));
SELECT svm_train_query('SELECT home, rate, ARRAY[1, 2, 3] AS idx, ARRAY[(home = ''own'')::int * amount, (home = ''own, paid'')::int * amount, (home = ''rent'')::int * amount] AS val, good FROM loans',
    'good', '{"sparse(idx, val)",home,rate}', 'by_hand', tolerance => 1e-6);
SELECT count(DISTINCT round(primal::numeric, 1)) AS objectives, count(DISTINCT training_accuracy) AS accuracies FROM svm_models WHERE name IN ('weighted', 'by_hand');
SELECT bool_and(svm_decision('weighted', l) = svm_decision('weighted', to_jsonb(l))) AS same FROM loans AS l;
SELECT svm_train('loans', 'good', '{"cross(amount, home)"}', 'turned', tolerance => 1e-6);
SELECT column_name FROM svm_features('turned');
SELECT feature FROM svm_weights('turned') ORDER BY feature;
SELECT value FROM svm_expand('turned', (SELECT r FROM (SELECT 0 AS amount, 'own' AS home) AS r));
SELECT value FROM svm_expand('turned', (SELECT r FROM (SELECT -2.5 AS amount, 'own' AS home) AS r));
SELECT value FROM svm_expand('turned', (SELECT r FROM (SELECT 1 AS amount, 'tent' AS home) AS r));
SELECT svm_train_query('SELECT nullif(amount, 3) AS amount, nullif(home, ''own'') AS home, good FROM loans', 'good', '{"cross(home, amount)"}', 'turned_gaps', nulls => 'mean');
SELECT feature FROM svm_weights('turned_gaps') ORDER BY feature;
SELECT svm_import('copied', svm_export('weighted', 'pgsvm')) IS NOT NULL AS copied;
SELECT bool_and(svm_decision('copied', l) = svm_decision('weighted', l)) AS same FROM loans AS l;
SELECT svm_as_sql('weighted');

-- products that are hashed: by hand, and where they are too many to be listed
SELECT svm_train('loans', 'good', '{"polynomial(v, 3)"}', 'listed', scale => 'none', tolerance => 1e-5);
SELECT svm_train('loans', 'good', '{"hash(polynomial(v, 3), 20)"}', 'products', tolerance => 1e-5);
SELECT column_name, type, treatment, features, collisions FROM svm_features('products');
SELECT max(primal) < (1 + 1e-4) * min(primal) AS same FROM svm_models WHERE name IN ('listed', 'products');
SELECT (SELECT array_agg(round(abs(value)::numeric, 3) ORDER BY abs(value)) FROM svm_expand('products', l)) = (SELECT array_agg(round(abs(value)::numeric, 3) ORDER BY abs(value)) FROM svm_expand('listed', l)) AS same
FROM loans AS l WHERE id = 8;
SELECT bool_and(svm_decision('products', l) = svm_decision('products', to_jsonb(l))) AS same FROM loans AS l;
SELECT svm_import('copied', svm_export('products', 'pgsvm')) IS NOT NULL AS copied;
SELECT bool_and(svm_decision('copied', l) = svm_decision('products', l)) AS same FROM loans AS l;
CREATE VIEW wide AS SELECT id, array_fill(0.0, ARRAY[id % 200]) || (amount / 97.0) || (rate / 10) || array_fill(0.0, ARRAY[199 - id % 200]) AS x, good FROM loans;
SELECT svm_train('wide', 'good', '{"polynomial(x, 2)"}', 'wide', options => '{"hash_bits": 16}');
SELECT column_name, treatment, features, collisions BETWEEN 0.001 AND 0.2 AS some_meet FROM svm_features('wide');
SELECT count(*) AS features FROM svm_expand('wide', (SELECT w FROM wide AS w WHERE id = 8));
SELECT svm_train('wide', 'good', '{"polynomial(x, 2)"}', 'wide_too', key => 'id');
SELECT svm_refresh('wide_too');
SELECT count(DISTINCT column_name) AS forms FROM (SELECT * FROM svm_features('wide_too') UNION ALL SELECT * FROM svm_features('wide_too@1')) AS f;
SELECT svm_train('wide', 'good', '{"polynomial(x, 2)"}', 'scanned', solver => 'scan', options => '{"hash_bits": 16}');
SELECT max(abs(svm_decision('scanned', w) - svm_decision('wide', w))) < 0.1 AS same FROM wide AS w;
SELECT svm_train_query('SELECT CASE WHEN id > 10 THEN array_fill(0.5, ARRAY[150]) END AS x, good FROM loans WHERE id < 100 ORDER BY id', 'good', '{"polynomial(x, 2)"}', 'late', nulls => 'zero');
SELECT treatment, nulls FROM svm_features('late');
SELECT svm_train_query('SELECT ' || string_agg(format('(amount * %s %% 3 = 0)::int AS a%s', i, i), ', ') || ', good FROM loans', 'good',
    ARRAY['polynomial(' || string_agg('a' || i, ', ') || ', 4)'], 'columns', tolerance => 0.1) FROM generate_series(1, 25) AS i;
SELECT treatment, features FROM svm_features('columns');

-- hashed indices
SELECT svm_train('loans', 'good', '{"hash(sparse(idx, val), 4)"}', 'hashed', tolerance => 0.1);
SELECT column_name, treatment, features FROM svm_features('hashed');
SELECT "position", feature, value FROM svm_expand('hashed', (SELECT l FROM loans AS l WHERE id = 7));
SELECT bool_and(svm_decision('hashed', l) = svm_decision('hashed', to_jsonb(l))) AS same FROM loans AS l;

-- all of them together, from another database too, and for a refresh
SELECT svm_train('loans', 'good', '{log(amount),"polynomial(amount, rate, 2)","bucket(amount, 4)","spline(rate, 3)",parts(at),"cross(home, use)","cross(use, rate)","hash(polynomial(v, 3), 12)","hash(sparse(idx, val), 6)",amount}', 'all_of_them', key => 'id');
SELECT svm_refresh('all_of_them');
SELECT svm_import('copied', svm_export('all_of_them', 'pgsvm')) IS NOT NULL AS copied;
SELECT bool_and(svm_decision('copied', l) = svm_decision('all_of_them', l)) AS same FROM loans AS l;
SELECT svm_create_function('all_of_them') IS NOT NULL AS created;

-- as other programs read it
SELECT good::int || ' ' || string_agg("position" || ':' || value, ' ' ORDER BY "position") AS libsvm
FROM (SELECT * FROM loans WHERE id < 3) AS l, svm_expand('ranges', l) GROUP BY l.id, good ORDER BY l.id;

-- NULL
SELECT svm_train_query('SELECT nullif(amount, 3) AS amount, rate, nullif(home, ''own'') AS home, use, good FROM loans', 'good',
    '{"polynomial(amount, rate, 2)","bucket(amount, 4)","cross(home, use)"}', 'gaps', nulls => 'error');
SELECT svm_train_query('SELECT nullif(amount, 3) AS amount, rate, nullif(home, ''own'') AS home, use, good FROM loans', 'good',
    '{"polynomial(amount, rate, 2)","bucket(amount, 4)","cross(home, use)"}', 'gaps', nulls => 'mean');
SELECT column_name, features, nulls FROM svm_features('gaps');
SELECT svm_decision('gaps', r) IS NOT NULL AS decided FROM (SELECT NULL::int AS amount, 1 AS rate, NULL AS home, 'car' AS use) AS r;

-- what is wrong
SELECT svm_train('loans', 'good', '{"polynomial(amount, 9)"}', 'wrong');
SELECT svm_train('loans', 'good', '{"polynomial(home, 2)"}', 'wrong');
SELECT svm_train('loans', 'good', '{"bucket(amount, 0)"}', 'wrong');
SELECT svm_train('loans', 'good', '{"bucket(v, 3)"}', 'wrong');
SELECT svm_train('loans', 'good', '{parts(amount)}', 'wrong');
SELECT svm_train('loans', 'good', '{log(at)}', 'wrong');
SELECT svm_train('loans', 'good', '{"cross(home, at)"}', 'wrong');
SELECT svm_train('loans', 'good', '{"cross(home, amount, rate)"}', 'wrong');
SELECT svm_train_query('SELECT home, ''NaN''::float8 AS amount, good FROM loans', 'good', '{"cross(home, amount)"}', 'wrong');
SELECT svm_decision('turned', r) FROM (SELECT 'own' AS home, 'x' AS amount) AS r;
SELECT svm_train('loans', 'good', '{"hash(polynomial(amount, 2), 0)"}', 'wrong');
SELECT svm_train('loans', 'good', '{"hash(log(amount), 9)"}', 'wrong');
SELECT svm_train('loans', 'good', '{"hash(sparse(idx, val), 99)"}', 'wrong');
SELECT svm_train('loans', 'good', '{"hash(libsvm(home), 9)"}', 'wrong');
SELECT svm_train_query('SELECT array_fill(1.0, ARRAY[2000]) AS x, good FROM loans', 'good', '{"polynomial(x, 2)"}', 'wrong');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train_query('SELECT CASE WHEN id < 10 THEN array_fill(1.0, ARRAY[150]) ELSE ''{1,2}'' END AS x, good FROM loans', 'good', '{"polynomial(x, 2)"}', 'wrong');
SELECT svm_train_query('SELECT ''NaN''::float8 AS x, good FROM loans', 'good', '{log(x)}', 'wrong');
SELECT svm_as_sql('made');
SELECT * FROM svm_expand('nobody', 'a'::text);
SELECT count(*) FROM svm_expand('made', NULL::loans);
