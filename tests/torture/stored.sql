-- What a version stores, each column of it as long as somebody who writes to the tables by hand makes it, and every use of the model.
SET client_min_messages = error;
CREATE TABLE small AS SELECT i AS id, i % 2 AS y, sin(i) AS x, 'word ' || i % 5 AS word FROM generate_series(1, 60) AS i;
SELECT svm_train_query('SELECT * FROM small', 'y', '{x,word}', 'm', key => 'id', probability => true, class_weight => 'balanced');
CREATE TABLE giants (type regtype, value text);
INSERT INTO giants VALUES ('text', 'repeat(''x'', 900000)'), ('name', 'repeat(''x'', 900000)'), ('jsonb', 'to_jsonb(repeat(''x'', 900000))'),
    ('jsonb', '(SELECT jsonb_agg(i) FROM generate_series(1, 100000) AS i)'), ('jsonb', '(SELECT jsonb_object_agg(i, repeat(''x'', 100)) FROM generate_series(1, 9000) AS i)'),
    ('text[]', '(SELECT array_agg(''c'' || i) FROM generate_series(1, 100000) AS i)'), ('text[]', 'ARRAY[repeat(''x'', 900000), ''y'']'),
    ('int[]', 'array_fill(1, ARRAY[300000])'), ('bigint[]', 'array_fill(1::bigint, ARRAY[300000])'), ('float8[]', 'array_fill(1::float8, ARRAY[300000])'),
    ('float4[]', 'array_fill(1::float4, ARRAY[300000])'), ('bytea', 'decode(repeat(''00'', 900000), ''hex'')');
-- a copy of version 1 under another number, with a column of one of its tables replaced
CREATE PROCEDURE copied(changed regclass, replaced name, value text) LANGUAGE plpgsql AS $$
DECLARE one bigint; new bigint; next int; child regclass; list text;
BEGIN
    SELECT id INTO one FROM svm_version WHERE version = 1;
    SELECT max(version) + 1 INTO next FROM svm_version;
    FOR child IN SELECT a.attrelid::regclass FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid AND c.relkind = 'r'
        WHERE a.attname = 'version_id' OR a.attrelid = 'svm_version'::regclass AND a.attname = 'id' ORDER BY a.attrelid <> 'svm_version'::regclass
    LOOP
        SELECT string_agg(CASE WHEN child = changed AND a.attname = replaced THEN format('%s', value)
            WHEN child = 'svm_version'::regclass AND a.attname = 'version' THEN next::text
            WHEN child <> 'svm_version'::regclass AND a.attname = 'version_id' THEN new::text ELSE format('%I', a.attname) END, ', ' ORDER BY a.attnum) INTO list
        FROM pg_attribute AS a WHERE a.attrelid = child AND a.attnum > 0 AND NOT a.attisdropped AND NOT (child = 'svm_version'::regclass AND a.attname = 'id');
        IF child = 'svm_version'::regclass THEN
            EXECUTE format('INSERT INTO svm_version (%s) SELECT %s FROM svm_version WHERE id = %s RETURNING id', (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
                FROM pg_attribute AS a WHERE a.attrelid = child AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> 'id'), list, one) INTO new;
        ELSE
            EXECUTE format('INSERT INTO %1$s SELECT %2$s FROM %1$s WHERE version_id = %3$s', child, list, one);
        END IF;
    END LOOP;
    UPDATE svm_model SET current_version = next WHERE name = 'm';
END $$;
CREATE TABLE uses (use text);
INSERT INTO uses VALUES ('svm_decision(''m'', s)'), ('svm_classify(''m'', s)'), ('svm_probability(''m'', s)'), ('svm_predict_set(''m'', s)'), ('svm_explain(''m'', s)'), ('svm_features(''m'')'),
    ('svm_weights(''m'')'), ('svm_as_sql(''m'')'), ('svm_evaluate(''m'', ''small'')'), ('svm_confusion(''m'', ''small'')'), ('svm_roc(''m'', ''small'')'), ('svm_suspects(''m'', ''small'')'),
    ('svm_export(''m'', format => ''pgsvm'')'), ('svm_export(''m'')'), ('svm_create_function(''m'', ''f'', immutable => true)'), ('svm_create_function(''m'', ''g'')'), ('svm_refresh(''m'')'),
    ('svm_update_query(''m'', ''SELECT id + 100 AS id, y, x, word FROM small'')'), ('svm_forget_query(''m'', ''SELECT 3 AS id'')'),
    ('svm_train_query(''SELECT * FROM small'', ''y'', model => ''m'')'), ('svm_train(''small'', ''y'', ''{x,word}'', ''w'', options => ''{"warm_start": "m"}'')');
CREATE TABLE outcomes (changed text, replaced text, use text, state text);
CREATE PROCEDURE tried(changed text, replaced text) LANGUAGE plpgsql AS $$
DECLARE used text;
BEGIN
    FOR used IN SELECT use FROM uses LOOP
        BEGIN
            EXECUTE format('SELECT %s IS NULL FROM small AS s WHERE id = 1', used);
            RAISE 'undone' USING ERRCODE = 'MY000';
        EXCEPTION WHEN OTHERS THEN
            INSERT INTO outcomes VALUES (changed, replaced, used, SQLSTATE);
        END;
    END LOOP;
END $$;
-- some of it is refused as it is written
CREATE PROCEDURE given(changed regclass, replaced name, value text) LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        CALL copied(changed, replaced, value);
    EXCEPTION WHEN OTHERS THEN
        INSERT INTO outcomes VALUES (changed::text, replaced, 'INSERT', SQLSTATE);
        RETURN;
    END;
    CALL tried(changed::text, replaced);
    UPDATE svm_model SET current_version = 1 WHERE name = 'm';
    DELETE FROM svm_version WHERE version > 1;
END $$;
SELECT format('CALL given(%L, %L, %L)', a.attrelid::regclass, a.attname, g.value)
FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid AND c.relkind = 'r' JOIN giants AS g ON g.type = a.atttypid
WHERE a.attnum > 0 AND NOT a.attisdropped AND (a.attrelid = 'svm_version'::regclass OR EXISTS (SELECT FROM pg_attribute AS v WHERE v.attrelid = a.attrelid AND v.attname = 'version_id'))
    AND a.attrelid::regclass::text LIKE 'svm%'
ORDER BY a.attrelid, a.attnum, g.value
\gexec
SELECT use = 'INSERT' AS inserting, state, count(*) FROM outcomes GROUP BY 1, 2 ORDER BY 1, 2;
SELECT DISTINCT changed, replaced, use FROM outcomes WHERE state = 'XX000';
