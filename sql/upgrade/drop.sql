-- Drops what the upgrade script calls outdated: see begin.sql.

DO $$
DECLARE
    search_path text := pg_catalog.current_setting('search_path');
    -- what belongs to nobody here and hangs on what is dropped: views, functions, columns' defaults, indexes, ...
    users_own text;
    used text;
    outdated record;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT string_agg(DISTINCT pg_describe_object(dependent.class, dependent.object, dependent.part), ', '),
        string_agg(DISTINCT pg_describe_object(dependent.refclassid, dependent.refobjid, 0), ', ')
    INTO users_own, used
    FROM (
        SELECT d.refclassid, d.refobjid,
            -- of a rule, the view
            CASE WHEN rule.oid IS NULL THEN d.classid ELSE 'pg_class'::regclass END AS class,
            coalesce(rule.ev_class, d.objid) AS object,
            CASE WHEN rule.oid IS NULL THEN d.objsubid ELSE 0 END AS part
        FROM @extschema@.svm_outdated AS o
        -- a view is used as a type too
        LEFT JOIN pg_type AS type ON o.class = 'pg_class'::regclass AND type.typrelid = o.object
        JOIN pg_depend AS d ON (d.refclassid, d.refobjid) IN
            ((o.class, o.object), ('pg_type'::regclass, type.oid), ('pg_type'::regclass, type.typarray))
        LEFT JOIN pg_rewrite AS rule ON d.classid = 'pg_rewrite'::regclass AND rule.oid = d.objid
        WHERE d.deptype IN ('n', 'a')
    ) AS dependent
    WHERE NOT EXISTS (
        SELECT FROM pg_depend AS member JOIN pg_extension ON pg_extension.oid = member.refobjid
        WHERE (member.classid, member.objid) = (dependent.class, dependent.object) AND member.deptype = 'e'
            AND member.refclassid = 'pg_extension'::regclass AND extname = 'pgsvm'
    );
    IF users_own IS NOT NULL THEN
        RAISE EXCEPTION 'cannot update extension pgsvm while % is there', users_own USING
            ERRCODE = 'dependent_objects_still_exist',
            DETAIL = format('It depends on %s, which the new version has in another form.', used),
            HINT = 'Keep its definition (pg_dump --schema-only has it), drop it, and make it again after ALTER EXTENSION pgsvm UPDATE.';
    END IF;

    UPDATE @extschema@.svm_outdated AS o SET kept = ARRAY(
        SELECT objid FROM pg_depend AS member JOIN pg_extension ON pg_extension.oid = member.refobjid
        WHERE member.classid = o.class AND member.deptype = 'e' AND member.refclassid = 'pg_extension'::regclass
            AND extname = 'pgsvm' AND objid NOT IN (SELECT object FROM @extschema@.svm_outdated)
    );
    FOR outdated IN
        SELECT CASE class WHEN 'pg_proc'::regclass THEN 'ROUTINE' ELSE 'VIEW' END AS kind,
            string_agg(CASE class WHEN 'pg_proc'::regclass THEN object::regprocedure::text
                ELSE object::regclass::text END, ', ') AS names
        FROM @extschema@.svm_outdated GROUP BY class ORDER BY kind DESC
    LOOP
        EXECUTE format('DROP %s %s', outdated.kind, outdated.names);
    END LOOP;
    PERFORM set_config('search_path', search_path, true);
END;
$$;

