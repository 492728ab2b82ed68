-- Rights on what is read: nobody gets at more by this extension than by a SELECT of their own.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
DELETE FROM svm_model;
CREATE ROLE regress_svm_rich;
CREATE ROLE regress_svm_poor;
CREATE TABLE points AS SELECT i AS x, i % 7 AS secret, i > 20 AS y, CASE WHEN i % 2 = 0 THEN 'regress_svm_poor' ELSE 'else' END AS whose
FROM generate_series(1, 40) AS i;
CREATE TABLE part_rights (x int, y boolean) PARTITION BY RANGE (x);
CREATE TABLE part_rights_1 PARTITION OF part_rights DEFAULT;
INSERT INTO part_rights SELECT x, y FROM points;
CREATE VIEW plain_view AS SELECT x, y FROM points;
CREATE VIEW invoker_view WITH (security_invoker = true) AS SELECT x, y FROM points;
CREATE MATERIALIZED VIEW snapshot AS SELECT x, y FROM points;
GRANT SELECT ON plain_view, invoker_view TO regress_svm_poor;
SELECT svm_train('points', 'y', ARRAY['x'], 'open'), svm_train('points', 'y', ARRAY['x', 'secret'], 'hidden');
SELECT svm_grant('open', 'regress_svm_poor');

-- what runs with the rights of its owner: functions that tell whose a name is, with a path of their own
SELECT p.oid::regprocedure, p.proconfig FROM pg_proc AS p
JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pgsvm'
WHERE p.prosecdef ORDER BY 1::text;
-- views that do not ask with the rights of who reads them: svm_progress, which shows what pg_stat_activity shows to all
SELECT c.oid::regclass FROM pg_class AS c
JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pgsvm'
WHERE c.relkind = 'v' AND NOT 'security_invoker=true' = ANY (coalesce(c.reloptions, '{}')) ORDER BY 1::text;
-- tables without row-level security
SELECT c.oid::regclass FROM pg_class AS c
JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pgsvm'
WHERE c.relkind = 'r' AND NOT c.relrowsecurity;

-- every way to read a relation, one after the other; a row for each that got through
CREATE FUNCTION tries(relation text) RETURNS TABLE (what text, outcome text) LANGUAGE plpgsql AS $$
DECLARE
    call text;
BEGIN
    FOREACH call IN ARRAY ARRAY[
        'svm_train(%1$L, ''y'', ARRAY[''x''], ''tried'')',
        'svm_train_query(''SELECT x, y FROM %1$s'', ''y'', model => ''tried'')',
        'svm_cross_validate(%1$L, ''y'', features => ARRAY[''x''])',
        'svm_evaluate(''open'', %1$L)',
        'svm_confusion(''open'', %1$L)',
        'svm_roc(''open'', %1$L)',
        'svm_suspects(''open'', %1$L)'
    ] LOOP
        what := substring(call FROM '^\w+');
        BEGIN
            EXECUTE format('SELECT count(*) || '' rows'' FROM ' || call, relation) INTO outcome;
            RAISE 'undo' USING ERRCODE = 'UE001';
        EXCEPTION
            WHEN SQLSTATE 'UE001' THEN RETURN NEXT;
            WHEN OTHERS THEN
                outcome := SQLSTATE || ' ' || SQLERRM;
                RETURN NEXT;
        END;
    END LOOP;
END $$;
SET ROLE regress_svm_poor;
SELECT * FROM tries('points');
SELECT * FROM tries('part_rights');
SELECT * FROM tries('snapshot');
SELECT * FROM tries('plain_view');
SELECT * FROM tries('invoker_view');
-- some columns only: those named can be read, a whole row cannot
RESET ROLE;
GRANT SELECT (x, y) ON points TO regress_svm_poor;
SET ROLE regress_svm_poor;
SELECT * FROM tries('points');
SELECT svm_train('points', 'y', model => 'tried');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'y', ARRAY['x', 'secret'], 'tried');
SELECT svm_train('points', 'y', ARRAY['x'], 'tried', weight => 'secret');
SELECT svm_train('points', 'secret', ARRAY['x'], 'tried');
SELECT svm_train('points', 'y', ARRAY['x'], 'tried', c => NULL, options => '{"fold_column": "secret"}');
SELECT fold FROM svm_cross_validate('points', 'y', features => ARRAY['x'], fold_column => 'secret');
SELECT svm_evaluate('open', 'points', 'secret');
-- the view's owner loses the right to its base
RESET ROLE;
ALTER VIEW plain_view OWNER TO regress_svm_rich;
SET ROLE regress_svm_poor;
SELECT * FROM tries('plain_view');

-- row-level security: of the same table each trains on what it sees
RESET ROLE;
GRANT SELECT ON points TO regress_svm_poor;
ALTER TABLE points ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON points USING (whose = current_user);
SET ROLE regress_svm_poor;
SELECT svm_train('points', 'y', ARRAY['x'], 'mine');
SELECT rows_used FROM svm_models WHERE name = 'mine';
SELECT rows FROM svm_evaluate('open', 'points');
SELECT sum(rows) FROM svm_confusion('open', 'points');
SELECT count(*) FROM svm_suspects('open', 'points', 1000);
SELECT sum(rows) FROM svm_cross_validate('points', 'y', c => '{1}', features => ARRAY['x'], folds => 2);
SET row_security = off;
SELECT count(*) FROM svm_cross_validate('points', 'y', features => ARRAY['x']);
\echo :LAST_ERROR_SQLSTATE
SELECT svm_train('points', 'y', ARRAY['x'], 'mine');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_evaluate('open', 'points');
RESET row_security;
-- with workers too
SET pgsvm.workers = 2;
SET pgsvm.min_parallel_size = 0;
SELECT svm_train('points', 'y', ARRAY['x'], 'mine'), svm_train('invoker_view', 'y', ARRAY['x'], 'mine too');
SELECT name, rows_used FROM svm_models WHERE name LIKE 'mine%' ORDER BY name;
RESET pgsvm.workers;
RESET pgsvm.min_parallel_size;

-- SECURITY DEFINER: reads with its owner's rights, stores as its owner
RESET ROLE;
GRANT USAGE, CREATE ON SCHEMA public TO regress_svm_rich;
GRANT SELECT ON points TO regress_svm_rich;
CREATE POLICY all_rows ON points TO regress_svm_rich USING (true);
SET ROLE regress_svm_rich;
CREATE FUNCTION riches() RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
    AS $$ SELECT svm_train('points', 'y', ARRAY['x'], 'riches') $$;
SET ROLE regress_svm_poor;
SELECT riches();
SELECT svm_decision('riches', '{1}'::real[]);
RESET ROLE;
SELECT name, owner, rows_used FROM svm_models WHERE name = 'riches';
-- and one of a poor role's reads no more for a superuser than for its owner
GRANT CREATE ON SCHEMA public TO regress_svm_poor;
SET ROLE regress_svm_poor;
CREATE FUNCTION poor() RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
    AS $$ SELECT svm_train('points', 'y', ARRAY['x'], 'poor') $$;
RESET ROLE;
SELECT poor();
SELECT name, owner, rows_used FROM svm_models WHERE name = 'poor';

-- a model may be used without a right to its training table, and tells none of its rows
REVOKE ALL ON points FROM regress_svm_poor;
SET ROLE regress_svm_poor;
SELECT svm_classify('open', p) FROM (SELECT 30 AS x) AS p;
SELECT count(*) FROM svm_weights('open');
SELECT count(*) FROM svm_dual;
\set VERBOSITY terse
-- models of others: neither told apart from those that are not there, nor exported, explained, evaluated, made a function
SELECT svm_decision('hidden', ROW(1, 1));
SELECT svm_decision('no such', ROW(1, 1));
SELECT svm_export('hidden');
SELECT svm_as_sql('hidden');
SELECT svm_create_function('hidden');
SELECT * FROM svm_explain('hidden', ROW(1, 1));
SELECT * FROM svm_predict_set('hidden', ROW(1, 1));
SELECT * FROM svm_weights('hidden');
SELECT * FROM svm_internal.svm_weights_unordered('hidden');
SELECT * FROM svm_features('hidden');
SELECT * FROM svm_evaluate('hidden', 'invoker_view');
SELECT svm_import('hidden', E'solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\nw\n0.5 \n');
-- files of the server, and tables where the role may make none
SELECT svm_load_libsvm('loaded', '/etc/passwd');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_load_libsvm('pg_catalog.loaded', content => '1 1:1');
\echo :LAST_ERROR_SQLSTATE
SELECT svm_load_libsvm('points', content => '1 1:1');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default
-- a query cannot write, nor say what is not its own to say
SELECT svm_train_query('WITH gone AS (DELETE FROM points RETURNING *) SELECT x, y FROM gone', 'y', model => 'tried');
SELECT svm_train_query('SELECT x, y FROM points; RESET ROLE', 'y', model => 'tried');
RESET ROLE;

-- names in the way: functions, operators, casts and types of a user's, before the system's own in the path
CREATE SCHEMA regress_svm_trap AUTHORIZATION regress_svm_poor;
GRANT SELECT ON points TO regress_svm_poor;
DROP POLICY own_rows ON points;
ALTER TABLE points DISABLE ROW LEVEL SECURITY;
SET ROLE regress_svm_poor;
CREATE FUNCTION regress_svm_trap.sprung(what text) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF current_user <> 'regress_svm_poor' THEN
        RAISE WARNING 'trap % as %', what, current_user;
    END IF;
    RETURN true;
END $$;
-- every operator, function and type of the system's, under its own name, and the extension's inner functions
DO $$
DECLARE
    it record;
    made bigint := 0;
BEGIN
    FOR it IN
        SELECT format('CREATE FUNCTION regress_svm_trap.%I(%s) RETURNS %s LANGUAGE plpgsql SET search_path = pg_catalog AS %L', 'trap ' || o.oid,
            concat_ws(', ', nullif(o.oprleft, 0)::regtype, o.oprright::regtype), o.oprresult::regtype,
            format('BEGIN PERFORM regress_svm_trap.sprung(%L); RETURN %s OPERATOR(pg_catalog.%s) $%s; END',
                concat_ws(' ', nullif(o.oprleft, 0)::regtype, o.oprname, o.oprright::regtype), CASE WHEN o.oprleft <> 0 THEN '$1' END,
                o.oprname, CASE WHEN o.oprleft <> 0 THEN 2 ELSE 1 END)) AS what,
            format('CREATE OPERATOR regress_svm_trap.%s (FUNCTION = regress_svm_trap.%I, %sRIGHTARG = %s)', o.oprname, 'trap ' || o.oid,
                'LEFTARG = ' || nullif(o.oprleft, 0)::regtype || ', ', o.oprright::regtype) AS beside
        FROM pg_operator AS o WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprright <> 0
        UNION ALL
        SELECT format('CREATE FUNCTION regress_svm_trap.%I(%s) RETURNS %s%s LANGUAGE plpgsql SET search_path = pg_catalog AS %L', p.proname,
            (SELECT string_agg(taken::regtype::text, ', ' ORDER BY place) FROM unnest(p.proargtypes) WITH ORDINALITY AS t (taken, place)),
            CASE WHEN p.proretset THEN 'SETOF ' END, p.prorettype::regtype,
            format('BEGIN PERFORM regress_svm_trap.sprung(%L); RETURN %s%s.%I(%s); END', p.oid::regprocedure,
                CASE WHEN p.proretset THEN 'QUERY SELECT ' END, p.pronamespace::regnamespace, p.proname,
                (SELECT string_agg('$' || place, ', ' ORDER BY place) FROM generate_series(1, p.pronargs) AS place))), NULL
        FROM pg_proc AS p
        WHERE p.pronamespace IN ('pg_catalog'::regnamespace, 'svm_internal'::regnamespace) AND p.prokind = 'f' AND p.provariadic = 0
            AND p.prorettype NOT IN ('internal'::regtype, 'cstring'::regtype, 'trigger'::regtype, 'record'::regtype)
            AND NOT ARRAY['internal', 'cstring', '"any"']::regtype[] && p.proargtypes::regtype[]
            -- those are called here by that name
            AND NOT EXISTS (SELECT FROM pg_proc AS o WHERE o.pronamespace = 'public'::regnamespace AND o.proname = p.proname)
        UNION ALL
        SELECT format('CREATE DOMAIN regress_svm_trap.%I AS %s CHECK (regress_svm_trap.sprung(%L))', t.typname, t.oid::regtype,
            'type ' || t.typname), NULL
        FROM pg_type AS t WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype = 'b' AND t.typname !~ '^(_|pg_)' AND t.typname <> 'unknown'
    LOOP
        BEGIN
            EXECUTE it.what;
            made := made + 1;
            IF it.beside IS NOT NULL THEN
                EXECUTE it.beside;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END LOOP;
    IF made < 2500 THEN
        RAISE 'only % traps could be made', made;
    END IF;
END $$;
CREATE TABLE regress_svm_trap.svm_model (id bigint, name pg_catalog.text, owner name, current_version int);
CREATE TABLE regress_svm_trap.svm_version (id bigint);
CREATE TABLE regress_svm_trap.pg_class (oid oid);
GRANT ALL ON SCHEMA regress_svm_trap TO PUBLIC;
GRANT ALL ON ALL TABLES IN SCHEMA regress_svm_trap TO PUBLIC;
RESET ROLE;
-- the traps work
SET search_path = regress_svm_trap, pg_catalog, public;
SELECT 'a'::pg_catalog.text = 'b'::pg_catalog.text AS trapped;
SELECT 'a'::pg_catalog."char" = 'b', -(1::pg_catalog.float8), abs(-1), NULL::int4;
REVOKE CREATE ON SCHEMA public FROM regress_svm_poor, regress_svm_rich;
-- a superuser walks by all of them, in that path and with more in pg_temp
CREATE TEMP TABLE svm_model (id bigint, name pg_catalog.text);
CREATE TEMP TABLE svm_weight (version_id bigint);
CREATE TEMP TABLE svm_head (version_id bigint);
CREATE TABLE public.documents AS SELECT pg_catalog.jsonb_build_object('x', x) AS document, y FROM public.points;
SET search_path = pg_temp, regress_svm_trap, pg_catalog, public;
CREATE FUNCTION pg_temp.walk() RETURNS SETOF pg_catalog.text LANGUAGE plpgsql AS $$
DECLARE
    call pg_catalog.text;
BEGIN
    FOREACH call IN ARRAY ARRAY[
        'svm_train(''public.points'', ''y'', ARRAY[''x'', ''secret''], ''walked'', probability => true, options => ''{"duals": true}'')',
        'svm_train(''public.points'', ''whose'', ARRAY[''x''], ''text'', c => NULL, class_weight => ''balanced'')',
        'svm_train_query(''SELECT x, y FROM public.points'', ''y'', model => ''walked too'')',
        'svm_cross_validate(''public.points'', ''y'', features => ARRAY[''x''], c => ''{1}'', folds => 2)',
        'svm_decision(''walked'', p)', 'svm_predict(''walked'', p)', 'svm_classify(''walked'', p)',
        'svm_predict(''walked'', p, NULL::boolean)', 'svm_probability(''walked'', p)',
        'svm_probability(''walked'', p, true)', 'svm_margin(''walked'', p, true)',
        'svm_decision(''walked@1'', p, true)', 'svm_predict_set(''walked'', p)',
        'svm_train(''public.points'', ''x'', ARRAY[''secret''], ''quantiles'', options => ''{"quantiles": [0.1, 0.9]}'')',
        'svm_predict_quantiles(''quantiles'', p)', 'svm_evaluate(''quantiles'', ''public.points'', ''x'')',
        'svm_explain(''walked'', p)', 'svm_weights(''walked'')', 'svm_internal.svm_weights_unordered(''walked'')',
        'svm_features(''walked'')', 'svm_export(''walked'')', 'svm_as_sql(''walked'')', 'svm_create_function(''walked'', ''public.made'')',
        'svm_evaluate(''walked'', ''public.points'', ''y'')', 'svm_confusion(''walked'', ''public.points'', ''y'')',
        'svm_evaluate(''text'', ''public.points'', ''whose'')', 'svm_roc(''walked'', ''public.points'', ''y'')',
        'svm_predict_query(''walked'', ''SELECT * FROM public.points'')', 'svm_expand(''walked'', p)',
        'svm_training_log(''walked'')', 'svm_select_features(''public.points'', ''y'', features => ARRAY[''x'', ''secret''])',
        'svm_split((p).x, .5)', 'svm_split(''key'', .5)', 'svm_export_rows(''walked'', ''public.points'')', 'svm_roc_points((p).x, (p).y)',
        'svm_metrics((p).x, (p).x)', 'svm_auc((p).x, (p).y)', 'svm_log_loss(.5, (p).y)', 'svm_refresh(''walked'')', 'svm_update(''walked'', ''public.points'')',
        'svm_train(''public.points'', ''y'', ARRAY[''secret''], ''by key'', key => ''x'', options => ''{"duals": true}'')',
        'svm_refresh(''by key'')', 'svm_forget_query(''by key'', ''SELECT x FROM public.points LIMIT 1'')',
        'svm_update_query(''by key'', ''SELECT x, secret, y FROM public.points LIMIT 1'')',
        'svm_forget(''by key'', ''SELECT x FROM public.points LIMIT 1'')',
        'svm_update(''by key'', ''SELECT x, secret, y FROM public.points LIMIT 1'')', 'svm_update(''by key'', ''public.points'')',
        'svm_index(''public.points'', ARRAY[''x''], ''kept'')', 'svm_refresh_index(''kept'')', 'svm_drop_index(''kept'')',
        'svm_prune(''by key'', 1)', 'svm_repair(false)', 'svm_distribute_models()',
        'svm_suspects(''walked'', ''public.points'')', 'svm_suspects(''text'', ''public.points'')',
        'svm_suspects(''walked'', ''public.points'', 3, 2)', 'svm_evaluate(''walked'', ''SELECT * FROM public.points'')',
        'svm_train(''public.points'', ''y'', ARRAY[''spline(x, 3)'', ''bucket(secret, 2)''], ''by key'', '
            'options => ''{"deploy": "if_better", "relation": "public.points", "metric": "auc"}'')',
        'svm_train(''public.points'', ''y'', ARRAY[''x'', ''secret''], ''scanned'', solver => ''scan'')',
        'svm_train(''public.points'', ''y'', ARRAY[''x'', ''secret''], ''curved'', kernel => ''rbf'', gamma => ''auto'')',
        'svm_evaluate(''curved'', ''public.points'')', 'svm_weights(''curved'')', 'svm_export(''curved'', ''pgsvm'')',
        'svm_train(''public.points'', ''x'', ARRAY[''secret''], ''number'', task => ''regression'', options => ''{"intervals": true}'')',
        'svm_interval(''number'', p)', 'svm_export(''number'', ''pgsvm'')', 'svm_interval(''walked'', p)',
        'svm_import(''taken'', E''solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\nw\n0.5 \n'')',
        'svm_load_libsvm(''public.loaded'', content => ''1 1:1'')', 'svm_deploy(''walked'', 1)', 'svm_rename(''walked'', ''renamed'')',
        'svm_grant(''renamed'', ''regress_svm_poor'')', 'svm_revoke(''renamed'', ''regress_svm_poor'')', 'svm_drop(''walked too'')',
        'svm_decision(''RENAMED'', p)', 'svm_grant(''renamed'', ''nobody'')', 'svm_internal.svm_is_taken(''renamed'')'
    ]::pg_catalog.text[] LOOP
        BEGIN
            EXECUTE pg_catalog.format('SELECT %s FROM (SELECT p FROM public.points AS p LIMIT 1) AS one', call);
        EXCEPTION WHEN OTHERS THEN
            RETURN NEXT pg_catalog.concat(call, ': ', SQLERRM);
        END;
    END LOOP;
END $$;
SELECT * FROM pg_temp.walk();
-- what is looked up for a hint is so only where the call is the caller's own; of that type where it is known by its name
DROP DOMAIN regress_svm_trap.jsonb;
SELECT svm_train('public.documents', 'y', ARRAY['document'], 'documents');
-- all functions are among them
SELECT DISTINCT proname FROM pg_catalog.pg_proc
WHERE pronamespace OPERATOR(pg_catalog.=) 'public'::pg_catalog.regnamespace AND proname OPERATOR(pg_catalog.~~) 'svm\_%'
    AND NOT pg_catalog.pg_get_functiondef('pg_temp.walk'::pg_catalog.regproc) OPERATOR(pg_catalog.~~) pg_catalog.concat('%', proname, '(%')
ORDER BY 1;
SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>) 0 AS views FROM public.svm_models;
SELECT (svm_metrics(i, i)).rows FROM pg_catalog.generate_series(1, 3) AS i;
SELECT oid::pg_catalog.regprocedure FROM pg_catalog.pg_proc WHERE proname OPERATOR(pg_catalog.=) 'made';
RESET search_path;
-- nor does a function that others call with a path of theirs
SET ROLE regress_svm_poor;
SET search_path = pg_temp, regress_svm_trap, pg_catalog, public;
SELECT svm_internal.svm_is_taken('open');
SELECT pg_catalog.count(*) FROM public.svm_models;
RESET search_path;
RESET ROLE;

SELECT svm_drop(name) FROM svm_models ORDER BY name;
DROP SCHEMA regress_svm_trap CASCADE;
DROP FUNCTION riches, poor, tries, made;
DROP TABLE documents;
DROP VIEW plain_view, invoker_view;
DROP MATERIALIZED VIEW snapshot;
DROP TABLE points, part_rights, loaded, pg_temp.svm_model, pg_temp.svm_weight, pg_temp.svm_head;
DROP OWNED BY regress_svm_rich, regress_svm_poor;
DROP ROLE regress_svm_rich, regress_svm_poor;
