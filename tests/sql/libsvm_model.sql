-- LIBSVM's model format: machines of any number of classes go there and come from there
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET pgsvm.workers = 0;
DELETE FROM svm_model;
-- a file; decisions speak for the first label
\set rbf 'svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 3\nrho 0.25\nlabel 1 -1\nnr_sv 2 1\nSV\n1 1:1 2:2 \n0.5 3:1 \n-1.5 1:-1 \n'
SELECT svm_import('rbf', :'rbf');
WITH rows (features) AS (VALUES ('1:1 2:2'), ('3:1'), ('1:-1'), ('')), by_hand AS (
    SELECT features, CASE features WHEN '1:1 2:2' THEN 1 + 0.5 * exp(-3.0) - 1.5 * exp(-4.0) WHEN '3:1' THEN exp(-3.0) + 0.5 - 1.5 * exp(-1.0)
        WHEN '1:-1' THEN exp(-4.0) + 0.5 * exp(-1.0) - 1.5 ELSE exp(-2.5) + 0.5 * exp(-0.5) - 1.5 * exp(-0.5) END - 0.25 AS decision FROM rows)
SELECT features, abs(svm_decision('rbf', features) - decision) < 1e-6 AS as_by_hand, svm_predict('rbf', features) FROM by_hand;
-- entries that no support vector has count for the distance
SELECT svm_decision('rbf', '9:100') AS minus_rho;
SELECT kernel, landmarks, features, loss, solver, gap, rows_used FROM svm_models WHERE name = 'rbf';
SELECT svm_export('rbf', 'libsvm_model') = :'rbf' AS same;
SELECT svm_export('rbf', 'libsvm_model');
-- the same with other labels, first the smaller one: signs are kept; for rows with an array, or text; with probabilities
SELECT svm_import('turned', replace(:'rbf', 'label 1 -1', E'label -1 1\nprobA -2\nprobB 0.5'), 'libsvm');
SELECT bool_and(svm_decision('turned', features) = -svm_decision('rbf', features)) AS opposite FROM unnest('{1:1,2:3,1:-1 3:4}'::text[]) AS features;
SELECT abs(svm_probability('turned', '1:1', '-1') - 1 / (1 + exp(-2 * svm_decision('rbf', '1:1') + 0.5))) < 1e-12 AS probability;
SELECT svm_export('turned', 'libsvm_model') = replace(:'rbf', 'label 1 -1', E'label -1 1\nprobA -2\nprobB 0.5') AS same;
SELECT svm_import('array', :'rbf', 'array', '{"1": "good", "-1": "bad"}');
SELECT svm_decision('array', '{1,2,0}'::float8[]) = svm_decision('rbf', '1:1 2:2') AS same, svm_classify('array', '{1,2,0}'::float8[]);
SELECT svm_export('array', 'libsvm_model') = :'rbf' AS same;
-- other kernels; a linear machine is one of weights
\set rest 'nr_class 2\ntotal_sv 2\nrho -1\nlabel 2 7\nnr_sv 1 1\nSV\n2 1:1 2:0.5 \n-1 2:2 4:1 \n'
SELECT svm_import('polynomial', E'svm_type nu_svc\nkernel_type polynomial\ndegree 2\ngamma 0.5\ncoef0 1\n' || :'rest'),
    svm_import('sigmoid', E'svm_type c_svc\nkernel_type sigmoid\ngamma 0.5\ncoef0 -1\n' || :'rest'), svm_import('linear', E'svm_type c_svc\nkernel_type linear\n' || :'rest');
SELECT svm_decision('polynomial', '1:1 2:2') AS zero, abs(svm_decision('sigmoid', '1:1 2:2') + 2 * tanh(0.0) - tanh(1.0) + 1) < 1e-6 AS sigmoid, svm_decision('linear', '1:1 2:2') AS minus_1;
SELECT kernel, landmarks FROM svm_models WHERE name = 'linear';
SELECT feature, weight FROM svm_weights('linear') ORDER BY feature;
SELECT svm_export('polynomial', 'libsvm_model') = E'svm_type c_svc\nkernel_type polynomial\ndegree 2\ngamma 0.5\ncoef0 1\n' || :'rest' AS same;
SELECT svm_export('linear', 'libsvm_model');

-- several classes: a machine for each pair, in the order of the file; the stored ones are in that of the labels
\set three 'svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 3\ntotal_sv 4\nrho 0.25 -0.5 0.125\nlabel 5 -1 2\nprobA -1 -2 -3\nprobB 0.5 0 -0.25\nnr_sv 2 1 1\nSV\n1 0.5 1:1 2:2 \n0.5 0 3:1 \n-1.5 2 1:-1 \n-0.5 -2 2:2 \n'
SELECT svm_import('three', :'three', 'array');
SELECT head, class, against, intercept, sigmoid_slope, sigmoid_offset FROM svm_head WHERE version_id = svm_internal.svm_version_id('three') ORDER BY head;
SELECT landmarks, label_values, (SELECT classes_by FROM svm_versions WHERE name = 'three') AS classes_by FROM svm_models JOIN svm_version AS v ON v.id = svm_internal.svm_version_id(name) WHERE name = 'three';
WITH rows AS (SELECT ARRAY[a, b, c]::float8[] AS x, exp(-((a - 1) ^ 2 + (b - 2) ^ 2 + c ^ 2) / 2) AS one, exp(-(a ^ 2 + b ^ 2 + (c - 1) ^ 2) / 2) AS two,
        exp(-((a + 1) ^ 2 + b ^ 2 + c ^ 2) / 2) AS three, exp(-(a ^ 2 + (b - 2) ^ 2 + c ^ 2) / 2) AS four
    FROM generate_series(-2.0, 2) AS a, generate_series(-1.0, 3) AS b, generate_series(0.0, 1) AS c),
by_hand AS (SELECT x, one + 0.5 * two - 1.5 * three - 0.25 AS first, 0.5 * one - 0.5 * four + 0.5 AS second, 2 * three - 2 * four - 0.125 AS third FROM rows)
SELECT count(*), max(abs(svm_margin('three', x, '5') - least(first, second))) < 1e-6 AS of_5, max(abs(svm_margin('three', x, '-1') - least(-first, third))) < 1e-6 AS "of_-1",
    max(abs(svm_margin('three', x, '2') - least(-second, -third))) < 1e-6 AS of_2,
    bool_and(floor(svm_decision('three', x, '5') + 0.5) = (first > 0)::int + (second > 0)::int) AS votes,
    count(DISTINCT svm_predict('three', x)) AS told, max(abs(svm_probability('three', x, '5') + svm_probability('three', x, '-1') + svm_probability('three', x, '2') - 1)) < 1e-12 AS sum
FROM by_hand;
SELECT svm_export('three', 'libsvm_model') = :'three' AS same;
SELECT svm_import('named', :'three', classes => '{"5": "five", "-1": "minus", "2": "two"}');
SELECT class, against FROM svm_head WHERE version_id = svm_internal.svm_version_id('named') ORDER BY head;
SELECT svm_classify('named', '1:1 2:2'), svm_export('named', 'libsvm_model') = :'three' AS same;
SELECT svm_import('whole', svm_export('three', 'pgsvm'));
SELECT svm_margin('whole', '{1,2,0}'::float8[], '5') = svm_margin('three', '{1,2,0}'::float8[], '5') AS same, svm_export('whole', 'libsvm_model') = :'three' AS exported;
-- a linear machine of several classes stays one of support vectors
\set straight 'svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho 0 0.5 -1\nlabel 1 2 3\nnr_sv 1 1 1\nSV\n1 2 1:1 \n-1 1 2:1 \n-2 -1 1:-1 2:-1 \n'
SELECT svm_import('straight', :'straight', 'array');
SELECT svm_margin('straight', '{1,0.5}'::float8[], '1') = 0.5 AS first, svm_margin('straight', '{-1,0.5}'::float8[], '2') = 1 AS second, svm_predict('straight', '{-3,-3}'::float8[]) AS third;
SELECT kernel, landmarks, features, svm_export('straight', 'libsvm_model') = :'straight' AS same FROM svm_models WHERE name = 'straight';
SELECT feature, contribution FROM svm_explain('straight', '{1,0.5}'::float8[]) ORDER BY feature;

-- What was trained here goes there and back: the same decisions of the same rows, which are scaled before.
CREATE FUNCTION drawn(id int, k int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(id, k) & 1048575) / 1048576.0 $$;
CREATE TABLE circles AS
SELECT id, radius * cos(angle) AS x, radius * sin(angle) AS y, CASE WHEN radius < 1.5 THEN 'inner' ELSE 'outer' END AS ring, id % 3 AS part
FROM (SELECT i AS id, 1 + i % 2 + 0.4 * (drawn(i, 1) - 0.5) AS radius, 6.2831853 * drawn(i, 2) AS angle FROM generate_series(1, 500) AS i) AS drawn;
SELECT svm_train('circles', 'ring', '{x, y}', 'exact', kernel => 'rbf', scale => 'none', probability => true),
    svm_train('circles', 'ring', '{x, y}', 'low_rank', kernel => 'polynomial', degree => 2, coef0 => 1, rank => 6, scale => 'none'),
    svm_train('circles', 'ring', '{x, y}', 'scaled', kernel => 'rbf', rank => 20),
    svm_train('circles', 'ring', '{x, y}', 'parts', kernel => 'rbf'), svm_train('circles', 'ring', '{x, y}', 'line', scale => 'none', loss => 'hinge');
SELECT svm_train('circles', 'part', '{x, y}', 'parts', kernel => 'rbf', options => '{"multiclass": "one_vs_rest"}'), svm_train('circles', 'part', '{x, y}', 'lines');
SELECT svm_import('back ' || name, svm_export(name, 'libsvm_model'), 'array', '{"1": "inner", "2": "outer"}') FROM unnest('{exact,low_rank,scaled,line}'::text[]) AS name;
SELECT max(abs(svm_decision('exact', c) - svm_decision('back exact', ARRAY[x, y]))) < 1e-6 AS exact, max(abs(svm_decision('low_rank', c) - svm_decision('back low_rank', ARRAY[x, y]))) < 1e-5 AS low_rank,
    max(abs(svm_decision('line', c) - svm_decision('back line', ARRAY[x, y]))) < 1e-6 AS line, max(abs(svm_probability('exact', c, 'inner') - svm_probability('back exact', ARRAY[x, y], 'inner'))) < 1e-6 AS probability,
    bool_and(svm_classify('exact', c) = svm_classify('back exact', ARRAY[x, y])) AS classes
FROM circles AS c;
WITH scaling AS (SELECT features #> '{kernel,scaling}' AS it FROM svm_version WHERE id = svm_internal.svm_version_id('scaled'))
SELECT max(abs(svm_decision('scaled', c) - svm_decision('back scaled', ARRAY[
    (x - (it #>> '{centre,0}')::float8) * (it #>> '{factor,0}')::float8, (y - (it #>> '{centre,1}')::float8) * (it #>> '{factor,1}')::float8]))) < 1e-5 AS scaled
FROM circles AS c, scaling;
-- classes told apart two by two: exact, each support vector has one line; of low rank, as many as classes but one
CREATE TABLE quarters AS SELECT id, x, y, CASE WHEN ring = 'inner' THEN 'none' WHEN x * y > 0 THEN 'even' WHEN x > 0 THEN 'right' ELSE 'left' END AS quarter FROM circles;
SELECT svm_train('quarters', 'quarter', '{x, y}', 'pairs', kernel => 'rbf', scale => 'none', probability => true, options => '{"calibration": "sigmoid"}'),
    svm_train('quarters', 'quarter', '{x, y}', 'low pairs', kernel => 'rbf', rank => 12, scale => 'none', options => '{"multiclass": "one_vs_one"}');
SELECT svm_import('back ' || name, svm_export(name, 'libsvm_model'), 'array', '{"1": "even", "2": "left", "3": "none", "4": "right"}') FROM unnest('{pairs,low pairs}'::text[]) AS name;
SELECT max(abs(svm_margin('pairs', q, name) - svm_margin('back pairs', ARRAY[x, y], name))) < 1e-5 AS exact, max(abs(svm_margin('low pairs', q, name) - svm_margin('back low pairs', ARRAY[x, y], name))) < 1e-4 AS low_rank,
    max(abs(svm_probability('pairs', q, name) - svm_probability('back pairs', ARRAY[x, y], name))) < 1e-5 AS probability
FROM quarters AS q, unnest('{even,left,none,right}'::text[]) AS name;
SELECT m.name, m.landmarks * lines = back.landmarks AS lines, svm_export(back.name, 'libsvm_model') = svm_export(m.name, 'libsvm_model') AS same
FROM (VALUES ('pairs', 1), ('low pairs', 3)) AS it (name, lines) JOIN svm_models AS m USING (name) JOIN svm_models AS back ON back.name = 'back ' || m.name ORDER BY 1;
SET client_min_messages = notice;
SELECT length(svm_export('low pairs', 'libsvm_model')) > 100 AS said;
SELECT length(svm_export('scaled', 'libsvm_model')) > 100 AS said;
SET client_min_messages = warning;
-- text in LIBSVM notation keeps its indices
CREATE TABLE texts AS SELECT ring, format('1:%s 7:%s', x::numeric(8, 4), y::numeric(8, 4)) AS entries FROM circles;
SELECT svm_train('texts', 'ring', '{libsvm(entries)}', 'texts', kernel => 'rbf', gamma => 1);
SELECT svm_import('back texts', svm_export('texts', 'libsvm_model'), 'libsvm');
SELECT max(abs(svm_decision('texts', t) - svm_decision('back texts', entries))) < 1e-6 AS same FROM texts AS t;

-- Errors.
SELECT svm_export('parts', 'libsvm_model');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('circles', 'part', model => 'parts_pairs', features => '{x,y}', kernel => 'rbf', options => '{"multiclass": "one_vs_one"}');
SELECT svm_export('parts_pairs', 'libsvm_model') LIKE '%nr_class 3%' AS exported;
SELECT svm_export('lines', 'libsvm_model');
SELECT svm_export('exact', 'libsvm_models');
SELECT svm_import('bad', replace(:'rbf', 'nr_class 2', 'nr_class 1000000000'));
\echo :LAST_ERROR_SQLSTATE
-- more factors than there can be
SELECT svm_import('bad', format(E'svm_type c_svc\nkernel_type linear\nnr_class 20\ntotal_sv 1000000\nrho %s\nlabel %s\nnr_sv %s\nSV\n',
    repeat('0 ', 190), (SELECT string_agg(i::text, ' ') FROM generate_series(1, 20) AS i), repeat('50000 ', 20)));
\echo :LAST_ERROR_SQLSTATE
-- each line of the header missing, twice, and with a word that is none
SELECT key, sql_tests.import_says(replace(content, key || rest || E'\n', '')) AS missing, sql_tests.import_says(replace(content, key || rest || E'\n', key || rest || E'\n' || key || rest || E'\n')) AS twice,
    sql_tests.import_says(replace(content, key || rest || E'\n', key || E' word\n')) AS word
FROM replace(:'three', 'kernel_type rbf', E'kernel_type polynomial\ndegree 2\ncoef0 1') AS content,
    regexp_matches(split_part(content, E'SV\n', 1), '([a-zA-Z_0]+)( [^\n]*)\n', 'g') WITH ORDINALITY AS it (line, number), LATERAL (SELECT line[1], line[2]) AS parts (key, rest) ORDER BY number;
SELECT sql_tests.import_says(replace(:'rbf', E'SV\n', '')) AS missing, sql_tests.import_says(replace(:'rbf', E'SV\n', E'SV\nSV\n')) AS twice;
-- the lines in any order
SELECT sql_tests.import_says(replace(replace(:'rbf', E'svm_type c_svc\n', ''), E'SV\n', E'svm_type c_svc\nSV\n')) AS last, sql_tests.import_says(replace(replace(:'rbf', E'svm_type c_svc\n', ''), E'nr_class 2\n', E'nr_class 2\nsvm_type c_svc\n')) AS middle;
-- as many heads as several statements store
SELECT format(E'svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 13\ntotal_sv 13\nrho %s\nlabel %s\nprobA %s\nprobB %s\nnr_sv %s\nSV\n%s',
    (SELECT string_agg((i / 128.0)::float8::text, ' ' ORDER BY i) FROM generate_series(1, 78) AS i), (SELECT string_agg(i::text, ' ' ORDER BY i) FROM generate_series(1, 13) AS i),
    (SELECT string_agg((-i / 64.0)::float8::text, ' ' ORDER BY i) FROM generate_series(1, 78) AS i), (SELECT string_agg((i / 32.0)::float8::text, ' ' ORDER BY i) FROM generate_series(1, 78) AS i),
    repeat('1 ', 13), (SELECT string_agg((SELECT string_agg((CASE WHEN j < i THEN -1 ELSE 1 END * (i * j) / 4.0)::float8::text, ' ' ORDER BY j) FROM generate_series(1, 12) AS j) || format(E' %s:1 20:%s\n', i, i), '' ORDER BY i)
        FROM generate_series(1, 13) AS i)) AS many \gset
SELECT svm_import('many', :'many'), svm_import('many too', :'many');
SELECT svm_import('many back', svm_export('many', 'pgsvm'));
SELECT head, class, against, intercept, sigmoid_slope, sigmoid_offset FROM svm_head WHERE version_id = svm_internal.svm_version_id('many') AND head IN (0, 1, 62, 63, 64, 77) ORDER BY head;
SELECT model, (SELECT count(*) FROM svm_head WHERE version_id = id) AS heads, (SELECT count(*) FROM svm_weight WHERE version_id = id) AS chunks,
    (SELECT jsonb_agg(to_jsonb(h) - 'version_id' ORDER BY head) FROM svm_head AS h WHERE version_id = id) = (SELECT jsonb_agg(to_jsonb(h) - 'version_id' ORDER BY head) FROM svm_head AS h
        WHERE version_id = svm_internal.svm_version_id('many')) AS same_heads,
    svm_export(model, 'libsvm_model') = svm_export('many', 'libsvm_model') AS same_machines
FROM unnest('{many,many too,many back}'::text[]) AS model, svm_internal.svm_version_id(model) AS id;
-- of so many classes svm_predict_set gives what svm_decision and svm_probability give, and the first is svm_classify's
SELECT count(*) AS classes, bool_and(s.decision = svm_decision('many', row, class) AND s.probability = svm_probability('many', row, class)) AS same,
    bool_and((rank = 1) = (class = svm_classify('many', row))) AS first
FROM unnest(ARRAY['1:1', '3:1 20:2', '7:0.5 9:2', '13:1']) AS row, svm_predict_set('many', row) AS s;
SELECT svm_import('bad', replace(:'rbf', 'c_svc', 'one_class'));
SELECT svm_import('bad', replace(:'rbf', 'kernel_type rbf', 'kernel_type precomputed'));
\set VERBOSITY terse
SELECT svm_import('bad', replace(:'rbf', 'gamma 0.5', 'gamma -1'));
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', replace(:'rbf', 'gamma 0.5', 'gamma nan'));
SELECT svm_import('bad', replace(:'rbf', 'gamma 0.5', 'gamma'));
SELECT svm_import('bad', replace(:'rbf', E'gamma 0.5\n', ''));
SELECT svm_import('bad', replace(:'rbf', E'gamma 0.5\n', E'gamma 0.5\ngamma 0.5\n'));
SELECT svm_import('bad', replace(:'rbf', 'gamma 0.5', 'gama 0.5'));
SELECT svm_import('bad', replace(:'rbf', 'label 1 -1', 'label 1 1'));
SELECT svm_import('bad', replace(:'rbf', 'label 1 -1', 'label 1'));
SELECT svm_import('bad', replace(:'rbf', 'label 1 -1', 'label 1 -1 2'));
SELECT svm_import('bad', replace(:'rbf', 'label 1 -1', 'label 1 a'));
SELECT svm_import('bad', replace(:'rbf', 'rho 0.25', 'rho 0.25 1'));
SELECT svm_import('bad', replace(:'rbf', 'rho 0.25', 'rho inf'));
SELECT svm_import('bad', replace(:'rbf', 'rho 0.25', E'rho 0.25\nprobA 1'));
SELECT svm_import('bad', replace(:'rbf', 'total_sv 3', 'total_sv 4'));
SELECT svm_import('bad', replace(replace(:'rbf', 'total_sv 3', 'total_sv 4000000000'), 'nr_sv 2 1', 'nr_sv 2000000000 2000000000'));
SELECT svm_import('bad', replace(replace(:'rbf', 'total_sv 3', 'total_sv 0'), 'nr_sv 2 1', 'nr_sv 0 0'));
SELECT svm_import('bad', replace(replace(:'rbf', 'total_sv 3', 'total_sv 4'), 'nr_sv 2 1', 'nr_sv 2 2'));
SELECT svm_import('bad', replace(replace(:'rbf', 'total_sv 3', 'total_sv 2'), 'nr_sv 2 1', 'nr_sv 1 1'));
SELECT svm_import('bad', replace(:'rbf', '0.5 3:1', '0.5 3:x'));
SELECT svm_import('bad', replace(:'rbf', '0.5 3:1', '0.5 3'));
SELECT svm_import('bad', replace(:'rbf', '0.5 3:1', '0.5 0:1'));
SELECT svm_import('bad', replace(:'rbf', '0.5 3:1', '0.5 3:1 2:1'));
SELECT svm_import('bad', replace(:'rbf', '0.5 3:1', '0.5 3000000000:1'));
SELECT svm_import('bad', replace(:'rbf', '0.5 3:1', '0.5 3:1e60'));
SELECT svm_import('bad', replace(:'rbf', '0.5 3:1', 'x 3:1'));
SELECT svm_import('bad', replace(:'rbf', '0.5 3:1', ''));
SELECT svm_import('bad', 'svm_type c_svc');
SELECT svm_import('bad', replace(:'rbf', 'nr_class 2', 'nr_class 3'));
SELECT svm_import('bad', replace(:'rbf', 'nr_class 2', 'nr_class 1'));
SELECT svm_import('bad', replace(:'rbf', 'nr_class 2', 'nr_class -3'));
SELECT svm_import('bad', replace(:'rbf', 'nr_class 2', 'nr_class 1001'));
SELECT svm_import('bad', replace(:'three', 'nr_class 3', 'nr_class 2'));
SELECT svm_import('bad', replace(:'three', 'nr_class 3', 'nr_class 1000'));
SELECT svm_import('bad', replace(:'three', 'rho 0.25 -0.5 0.125', 'rho 0.25 -0.5'));
SELECT svm_import('bad', replace(:'three', 'rho 0.25 -0.5 0.125', 'rho 0.25 -0.5 0.125 1'));
SELECT svm_import('bad', replace(:'three', 'rho 0.25 -0.5 0.125', 'rho 0.25 -0.5 nan'));
SELECT svm_import('bad', replace(:'three', 'label 5 -1 2', 'label 5 -1 5'));
SELECT svm_import('bad', replace(:'three', 'probA -1 -2 -3', 'probA -1 -2'));
SELECT svm_import('bad', replace(:'three', 'probB 0.5 0 -0.25', 'probB 0.5 0 inf'));
SELECT svm_import('bad', replace(:'three', E'probB 0.5 0 -0.25\n', ''));
SELECT svm_import('bad', replace(:'three', 'nr_sv 2 1 1', 'nr_sv 2 1 2'));
SELECT svm_import('bad', replace(:'three', 'nr_sv 2 1 1', 'nr_sv 2 2'));
SELECT svm_import('bad', replace(:'three', '-1.5 2 1:-1', '-1.5 1:-1'));
SELECT svm_import('bad', replace(:'three', '-1.5 2 1:-1', '-1.5 2 2 1:-1'));
SELECT svm_import('bad', replace(:'three', '-1.5 2 1:-1', '-1.5'));
SELECT svm_import('bad', :'three', classes => '{"5": "a", "-1": "b", "2": "a"}');
SELECT svm_import('bad', replace(:'rbf', '3:1', '2147483647:1'), 'array');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_import('bad', :'rbf', 'table');
SELECT svm_import('bad', :'rbf', classes => '{"1": "a"}');
SELECT count(*) FROM svm_models WHERE name = 'bad';
-- the largest index there is
SELECT svm_import('far', replace(:'rbf', '3:1', '2147483647:1'));
SELECT abs(svm_decision('far', '2147483647:1') - svm_decision('rbf', '3:1')) < 1e-6 AS same;
SELECT svm_export('far', 'libsvm_model') = replace(:'rbf', '3:1', '2147483647:1') AS same;
