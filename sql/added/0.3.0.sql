-- What 0.3.0 added: part of a new installation and of the update from 0.2.0 alike.

-- Ids are random, so that what a dump brings finds its own and nobody else's, whatever is there already.
CREATE FUNCTION svm_new_id() RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL SAFE AS 'MODULE_PATHNAME', 'svm_new_id_wrapper';
COMMENT ON FUNCTION svm_new_id() IS 'a random number of 63 bits: the id of a new model or version';
ALTER TABLE svm_model ALTER id SET DEFAULT svm_new_id();
ALTER TABLE svm_version ALTER id SET DEFAULT svm_new_id();

-- Dumps of 0.2.0 set these; nothing draws from them.
CREATE SEQUENCE svm_model_id_seq;
CREATE SEQUENCE svm_version_id_seq;

-- What belongs to a removed row goes with it, as the owner of the tables: those who may remove a model may not remove
-- its weights. Not where replication applies changes, which brings the removals themselves. Arguments: the column that
-- holds the id, and the tables.
CREATE FUNCTION svm_remove_children() RETURNS trigger
    LANGUAGE c SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'svm_remove_children_wrapper';
REVOKE ALL ON FUNCTION svm_remove_children() FROM PUBLIC;

CREATE TRIGGER svm_model_children AFTER DELETE ON svm_model
    FOR EACH ROW EXECUTE FUNCTION svm_remove_children('model_id', 'svm_permission', 'svm_version');
CREATE TRIGGER svm_model_emptied AFTER TRUNCATE ON svm_model
    FOR EACH STATEMENT EXECUTE FUNCTION svm_remove_children('model_id', 'svm_permission', 'svm_version');
CREATE TRIGGER svm_version_children AFTER DELETE ON svm_version
    FOR EACH ROW EXECUTE FUNCTION svm_remove_children('version_id', 'svm_head', 'svm_weight', 'svm_dual', 'svm_key',
        'svm_key_dual', 'svm_key_leeway', 'svm_key_scaling', 'svm_key_metric', 'svm_log');
CREATE TRIGGER svm_version_emptied AFTER TRUNCATE ON svm_version
    FOR EACH STATEMENT EXECUTE FUNCTION svm_remove_children('version_id', 'svm_head', 'svm_weight', 'svm_dual', 'svm_key',
        'svm_key_dual', 'svm_key_leeway', 'svm_key_scaling', 'svm_key_metric', 'svm_log');

-- Grants say whose model they are about.
CREATE FUNCTION svm_owner_changed() RETURNS trigger
    LANGUAGE c SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS 'MODULE_PATHNAME', 'svm_owner_changed_wrapper';
REVOKE ALL ON FUNCTION svm_owner_changed() FROM PUBLIC;
CREATE TRIGGER svm_model_owner AFTER UPDATE OF owner ON svm_model
    FOR EACH ROW EXECUTE FUNCTION svm_owner_changed();
