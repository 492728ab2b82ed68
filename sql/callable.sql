-- Which functions of svm_internal everybody may call: those that run with the caller's rights on the caller's behalf. All others are
-- called by aggregates, whose owner PostgreSQL asks for that right, or by triggers, for which it asks nobody.

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA svm_internal FROM PUBLIC;
-- trainings by scans: of the caller's own plans, and of what postgres_fdw and Citus send to other servers
GRANT EXECUTE ON FUNCTION svm_internal.svm_scan(bytea, VARIADIC "any"), svm_internal.svm_scan_join(bytea),
    svm_internal.svm_scan_rows(bytea, record) TO PUBLIC;
-- Citus calls the functions of an aggregate by itself, and asks the caller for the right
GRANT EXECUTE ON FUNCTION svm_internal.svm_scan_rows_add(bytea, bytea, record), svm_internal.svm_scan_rows_combine(bytea, bytea) TO PUBLIC;
-- the policy of models on the nodes of Citus
GRANT EXECUTE ON FUNCTION svm_internal.svm_has_rights_of_any(oid[]) TO PUBLIC;
-- what svm_evaluate, svm_suspects and their kin ask of rows, in queries of the caller's
GRANT EXECUTE ON FUNCTION svm_internal.svm_row_class(text, record), svm_internal.svm_row_decision(text, record), svm_internal.svm_row_quantiles(text, record),
    svm_internal.svm_row_answers(text, record), svm_internal.svm_row_margin(text, record, text), svm_internal.svm_row_unseen(text, record),
    svm_internal.svm_row_libsvm(text, record, boolean), svm_internal.svm_median(float8), svm_internal.svm_label_metrics(text, text),
    svm_internal.svm_label_metrics(text, text, text) TO PUBLIC;
-- what functions made by svm_create_function ask, with their owner's rights
GRANT EXECUTE ON FUNCTION svm_internal.svm_decision(text, anyelement), svm_internal.svm_classify(text, anyelement),
    svm_internal.svm_predict(text, anyelement, anycompatible), svm_internal.svm_probability(text, anyelement) TO PUBLIC;
-- defaults, generated columns and views of the extension's tables, and the bodies of svm_weights and svm_training_log
GRANT EXECUTE ON FUNCTION svm_internal.svm_new_id(), svm_internal.svm_role_oid(name), svm_internal.svm_role_name(oid, name),
    svm_internal.svm_weights_unordered(text), svm_internal.svm_version_id(text) TO PUBLIC;
-- a constraint of svm_head
GRANT EXECUTE ON FUNCTION svm_internal.svm_is_isotonic(float8[], float8[]) TO PUBLIC;
-- whether a name is free
GRANT EXECUTE ON FUNCTION svm_internal.svm_is_taken(text) TO PUBLIC;
-- what becomes svm_numbers does so by these
GRANT EXECUTE ON FUNCTION svm_internal.svm_numbers_in(cstring), svm_internal.svm_numbers_out(svm_numbers), svm_internal.svm_numbers_receive(internal),
    svm_internal.svm_numbers_send(svm_numbers) TO PUBLIC;
