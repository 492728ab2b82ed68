-- Every training ends: by its tolerance, or with a WARNING that says which bound it met and what to type.
\set VERBOSITY default
SET client_min_messages = error;
SET statement_timeout = '60s';
-- numbers of 1e15, whose planes are nearly parallel; weights of any size
CREATE TABLE large AS
SELECT i % 2 AS y, i % 5 AS kind, ARRAY[1e15 * sin(i), 1e15 * cos(3 * i), 1e15 * sin(7 * i + 1)]::real[] AS x, (i * 7919 % 1000) * 1e3 AS w
FROM generate_series(1, 40) AS i;
-- two classes that overlap
CREATE TABLE overlapping AS
SELECT id, a, b, (a + sin(12.9898 * id) > 0) AS y
FROM (SELECT i AS id, 2 * sin(i * 0.7) * cos(i * 3.1) AS a, 2 * cos(i * 1.9) * sin(i * 0.3) AS b FROM generate_series(1, 400) AS i) AS drawn;

-- planes alone cost more than many passes over all rows
SELECT svm_train('large', 'y', '{x}', model => 'planes', weight => 'w', solver => 'cutting_plane', scale => 'none', c => 1e6);
SELECT svm_train('large', 'y', '{x}', model => 'planes', weight => 'w', solver => 'ocas', scale => 'none', c => 1e6, max_passes => 3);
SELECT svm_train('large', 'kind', '{x}', model => 'together', weight => 'w', solver => 'ocas', scale => 'none', c => 1e6,
    options => '{"multiclass": "crammer_singer"}');
-- dual variables of 32 bits prove nothing of such numbers: 'auto' goes over to scans, which have others
SELECT svm_train('large', 'y', '{x}', model => 'planes', loss => 'hinge', scale => 'none', c => 1e6, options => '{"inherit": false}');
SELECT version, stop_reason, gap <= 1e-3 AS arrived FROM svm_versions WHERE name = 'planes' ORDER BY version;

-- many features and classes, whose heads all compute between two scans
CREATE TABLE wide AS
SELECT i % 20 AS y, (SELECT array_agg((1e15 * sin(7.3 * i * j + j))::real ORDER BY j) FROM generate_series(1, 150) AS j) AS x, 1e6 ^ (i % 2) AS w
FROM generate_series(1, 60) AS i;
SELECT svm_train('wide', 'y', '{x}', model => 'planes', weight => 'w', loss => 'hinge', solver => 'scan', scale => 'none', c => 1e6);

-- passes, of any solver
SELECT svm_train('overlapping', 'y', '{a,b}', model => 'few', c => 1e4, max_passes => 1, tolerance => 1e-9);
SELECT svm_train('overlapping', 'y', '{a,b}', model => 'few', c => 1e4, max_passes => 1, tolerance => 1e-9, solver => 'newton');
SELECT svm_train('overlapping', 'y', '{a,b}', model => 'few', c => 1e4, max_passes => 1, tolerance => 1e-9, solver => 'block', scale => 'none');
SELECT svm_train('overlapping', 'y', '{a,b}', model => 'few', c => 1e4, max_passes => 1, tolerance => 1e-9, solver => 'scan', loss => 'hinge');
SELECT svm_train('overlapping', 'y', '{a,b}', model => 'few', c => 1e4, max_passes => 1, tolerance => 1e-9, solver => 'ocas');
SELECT svm_train('overlapping', 'y', '{a,b}', model => 'few', c => 1e4, max_passes => 1, tolerance => 1e-9, solver => 'interior_point', kernel => 'rbf');

-- exact kernel machines come to their tolerance at any C
SELECT svm_train('overlapping', 'y', '{a,b}', model => 'exact', kernel => 'rbf', gamma => gamma, c => c, loss => loss, options => '{"method": "exact"}')
FROM unnest('{0.1, 1}'::float8[]) AS gamma, unnest('{1e6}'::float8[]) AS c, unnest('{hinge, squared_hinge}'::text[]) AS loss;
SELECT stop_reason, gap <= 1e-3 AS arrived, count(*) FROM svm_versions WHERE name = 'exact' GROUP BY 1, 2 ORDER BY 1, 2;

-- where no row moves, a machine without support vectors is left, which is a model as any other
CREATE TABLE far AS SELECT (i * 7919 % 13) % 2 AS y, 20454 + (i * 37 % 61) AS far FROM generate_series(1, 65) AS i;
SELECT svm_train('far', 'y', '{far}', model => 'nothing', kernel => 'polynomial', gamma => 9, degree => 3, coef0 => 1, c => 1e4, scale => 'none',
    loss => 'squared_hinge', max_passes => 100, options => '{"method": "exact", "duals": true}');
SELECT stop_reason, gap FROM svm_versions WHERE name = 'nothing';
SELECT support_vectors FROM svm_head WHERE version_id = svm_internal.svm_version_id('nothing');
SELECT DISTINCT svm_decision('nothing', far.*) AS decision FROM far;
SELECT rows FROM svm_evaluate('nothing', 'far', 'y');
SELECT svm_export('nothing', 'libsvm_model') LIKE 'svm_type c_svc%' AS exported;

-- an interior point by scans whose steps run out of digits ends with the best point it has been at
CREATE TABLE unscaled AS SELECT y, x::float8 FROM (VALUES (2, 100012), (2, 99979), (0, 99995), (0, 99995), (0, 99980), (2, 100000), (1, 99981)) AS v (y, x);
SELECT svm_train('unscaled', 'y', '{x}', model => 'scanned', solver => 'interior_point', loss => 'hinge', scale => 'none', c => 28063.5,
    intercept => false, max_passes => 100, options => '{"machines": "scans"}');
SELECT class, primal < 'Infinity' AS is_finite, dual <= primal AS below FROM svm_head WHERE version_id = svm_internal.svm_version_id('scanned') ORDER BY class;

-- rows that are the same in 32 bits: weights of 0 prove nothing of rows as they come
CREATE TABLE coinciding AS
SELECT at, at + CASE WHEN i % 2 = 0 THEN 20 ELSE 5 END AS until, i % 2 = 0 AS y FROM (SELECT i, 1.71e9::float8 + i % 7 AS at FROM generate_series(1, 1000) AS i) AS drawn;
SELECT svm_train('coinciding', 'y', '{at, until}', model => 'coinciding', scale => 'none', c => 100, loss => loss, solver => solver, options => '{"inherit": false}')
FROM (VALUES ('hinge', 'stream'), ('hinge', 'scan'), ('hinge', 'ocas'), ('hinge', 'block'), ('hinge', 'indexed'), ('squared_hinge', 'stream'),
    ('squared_hinge', 'newton'), ('squared_hinge', 'scan'), ('squared_hinge', 'indexed')) AS given (loss, solver);
-- weights of .15 and -.15 with an intercept of 2 come to 2.0225
SELECT loss, solver, stop_reason, dual <= 2.0225 AS true, gap > .9 AS told FROM svm_versions WHERE name = 'coinciding' ORDER BY version;

SELECT count(svm_drop(name)) FROM svm_models WHERE name IN ('coinciding', 'planes', 'together', 'few', 'exact', 'nothing', 'scanned');
DROP TABLE large, overlapping, wide, far, unscaled, coinciding;
-- exact kernel machines of rows that stand close together far from 0, whose kernel values in 32 bits would be noise, with a loss that bounds
-- no dual variable, and with room for few kernel rows: they arrive, and where they do not, nothing worse than weights of 0 is stored
CREATE TABLE heaps AS SELECT i % 2 AS label, (CASE WHEN i % 5 < 3 THEN 0 ELSE 10000 + sin(i * 1.23) * 2 END)::float8 AS x FROM generate_series(1, 321) AS i;
SELECT svm_train('heaps', 'label', '{x}', 'heap_' || name, kernel => 'rbf', gamma => 15.52, scale => 'none', loss => loss, c => c, options => '{"method": "exact"}')
FROM (VALUES ('a', 'hinge', 10), ('b', 'squared_hinge', 10), ('c', 'squared_hinge', 6662)) AS cases (name, loss, c);
SET pgsvm.cache_size = '1MB';
SELECT svm_train('heaps', 'label', '{x}', 'heap_d', kernel => 'rbf', gamma => 15.52, scale => 'none', loss => 'squared_hinge', c => 6662, tolerance => 1e-4, options => '{"method": "exact"}');
RESET pgsvm.cache_size;
SELECT name, stop_reason, gap < 1e-3 AS near FROM svm_models WHERE name LIKE 'heap\_%' ORDER BY name;
SET client_min_messages = error;
SELECT svm_train_query('SELECT (sin(i * 12.9) + sin(i * 7.77) > 0)::int AS label, sin(i * 1.1) AS a, sin(i * 2.3 + 1) AS b FROM generate_series(1, 800) AS i', 'label',
    model => 'heap_e', kernel => 'rbf', gamma => 50, loss => 'squared_hinge', c => 1e8, max_passes => 1, options => '{"method": "exact"}');
RESET client_min_messages;
SELECT primal <= 800e8 AS no_worse_than_nothing FROM svm_models WHERE name = 'heap_e';
SELECT count(svm_drop(name)) FROM svm_models WHERE name LIKE 'heap\_%';
DROP TABLE heaps;

-- An exact machine in a cache that holds none of its kernel values: all candidates are solved for at once in a megabyte.
SET client_min_messages = warning;
SET pgsvm.cache_size = '200kB';
CREATE TABLE small_cache AS SELECT 1700000000 + abs(hashint4(i)) % 1000000 AS a, abs(hashint4(i + 1000)) % 7 - 3 AS b, abs(hashint4(i + 5000)) % 4 AS l,
    1 + abs(hashint4(i + 7000)) % 1000 AS w FROM generate_series(1, 250) AS i;
SELECT svm_train('small_cache', 'l', '{a,b}', 'small_cache', kernel => 'rbf', c => 87652, weight => 'w', options => '{"method": "exact"}');
SELECT gap <= 1e-3 AS certified, stop_reason, dual > 0 AS solved FROM svm_models WHERE name = 'small_cache';
SELECT svm_drop('small_cache');
RESET pgsvm.cache_size;
DROP TABLE small_cache;
