-- Comments on tables, types, sequences, columns of views and trigger functions: what \d+ and \df+ show beside definitions.

COMMENT ON TABLE svm_model IS 'models: name, owner and current version';
COMMENT ON TABLE svm_permission IS 'roles other than the owner that may see a model and predict with it';
COMMENT ON TABLE svm_version IS 'trainings, and models from other programs: what was trained on, with which settings, and what came out';
COMMENT ON TABLE svm_head IS
    'the binary problems of a version: of two classes one, of more each class against the rest; with certificate and probabilities';
COMMENT ON TABLE svm_weight IS 'weights for raw rows, in chunks of at most 16384 features; chunks of zeros are left out';
COMMENT ON TABLE svm_dual IS
    'dual variables in chunks of at most 16384 rows, of versions trained with options => ''{"duals": true}''';
COMMENT ON TABLE svm_key IS 'which rows a version with a key was trained on, in chunks of at most 16384 rows, packed';
COMMENT ON TABLE svm_key_dual IS 'the dual variables of the rows of svm_key, packed';
COMMENT ON TABLE svm_key_leeway IS
    'how far weights may move before a row of svm_key can matter; about rows as they lie in this cluster, so no dump has it';
COMMENT ON TABLE svm_key_scaling IS 'the scaling of rows in which leeways are measured; no dump has it';
COMMENT ON TABLE svm_key_metric IS 'the metrics by class in which leeways are measured; no dump has it';
COMMENT ON TABLE svm_source IS 'the queries of versions that were trained on one: their owner''s to see';
COMMENT ON TABLE svm_index IS 'indexes: of which relations and columns numbers, sparse features and words are kept';
COMMENT ON TABLE svm_index_chunk IS 'the numbers, sparse features and words that indexes keep; no dump has them';
COMMENT ON TABLE svm_landmark IS 'rows that kernel machines compare rows with, scaled; their factors are in svm_weight';
COMMENT ON TABLE svm_internal.svm_node_model IS 'models that nodes of Citus predict with, whole: a reference table there; no dump has it';
COMMENT ON TABLE svm_log IS 'what happened when in a training: arrays of equal length, which svm_training_log shows as rows';

COMMENT ON SEQUENCE svm_model_id_seq IS 'not used; dumps of pgsvm 0.2.0 set it';
COMMENT ON SEQUENCE svm_version_id_seq IS 'not used; dumps of pgsvm 0.2.0 set it';

COMMENT ON TYPE svm_metric_values IS 'what the aggregate svm_metrics returns';
COMMENT ON COLUMN svm_metric_values.rows IS 'rows with a label and a prediction';
COMMENT ON COLUMN svm_metric_values.accuracy IS 'share of rows predicted right';
COMMENT ON COLUMN svm_metric_values.balanced_accuracy IS 'mean of the classes'' recalls';
COMMENT ON COLUMN svm_metric_values."precision" IS 'share right of the rows predicted as a class';
COMMENT ON COLUMN svm_metric_values.recall IS 'share right of the rows of a class';
COMMENT ON COLUMN svm_metric_values.f1 IS 'harmonic mean of precision and recall';
COMMENT ON TYPE svm_roc_point IS 'a point of an ROC curve, as svm_roc_points returns them';
COMMENT ON COLUMN svm_roc_point.threshold IS 'rows with at least this decision count as positive';
COMMENT ON COLUMN svm_roc_point.false_positive_rate IS 'share of the negative rows that count as positive';
COMMENT ON COLUMN svm_roc_point.true_positive_rate IS 'share of the positive rows that count as positive';

COMMENT ON COLUMN svm_models.name IS 'the model''s name';
COMMENT ON COLUMN svm_models.version IS 'number of the current version';
COMMENT ON COLUMN svm_models.rows_used IS 'rows trained on';
COMMENT ON COLUMN svm_models.features IS 'number of features, the largest sparse one counting';
COMMENT ON COLUMN svm_models.loss IS '''hinge'', ''squared_hinge'', ''ramp'', ''truncated_squared_hinge'' or ''crammer_singer''';
COMMENT ON COLUMN svm_models.c IS 'what a unit of loss costs; the chosen one where C was chosen';
COMMENT ON COLUMN svm_models.solver IS 'as given; ''imported'' where the model came from another program';
COMMENT ON COLUMN svm_models.passes IS 'passes over all rows, those that verify included';
COMMENT ON COLUMN svm_models.primal IS 'objective of the stored weights, summed over the heads';
COMMENT ON COLUMN svm_models.dual IS 'proven lower bound of the objective, summed over the heads';
COMMENT ON COLUMN svm_models.gap IS 'largest relative gap of a head, (primal - dual) / primal';
COMMENT ON COLUMN svm_models.training_accuracy IS 'share of the rows used that the stored weights predict right';
COMMENT ON COLUMN svm_models.training_auc IS 'of two classes, the area under the ROC curve on the rows trained on';
COMMENT ON COLUMN svm_models.seconds IS 'from the call to the storing';
COMMENT ON COLUMN svm_models.cache_bytes IS 'pgsvm.cache_size at the time';
COMMENT ON COLUMN svm_models.workers IS 'worker processes that ran, 0 to 2';
COMMENT ON COLUMN svm_models.stop_reason IS '''tolerance'': the gap was reached; ''projected_gradient'': its range was, where that was asked for; ''max_passes'': neither was';
COMMENT ON COLUMN svm_models.trained_at IS 'start of the transaction that trained';
COMMENT ON COLUMN svm_models.owner IS 'role that owns the model';
COMMENT ON COLUMN svm_models.classes IS 'number of labels';
COMMENT ON COLUMN svm_models.probabilities IS 'whether svm_probability works';
COMMENT ON COLUMN svm_models.granted_to IS 'to the owner all grantees, to another role those whose rights it has';

COMMENT ON COLUMN svm_versions.name IS 'the model''s name';
COMMENT ON COLUMN svm_versions.version IS 'number of the version: name@version stands for it';
COMMENT ON COLUMN svm_versions.deployed IS 'whether it is the current version, which the name alone stands for';
COMMENT ON COLUMN svm_versions.rows_used IS 'rows trained on';
COMMENT ON COLUMN svm_versions.rows_skipped IS 'rows left out because of NULLs';
COMMENT ON COLUMN svm_versions.features IS 'number of features, the largest sparse one counting';
COMMENT ON COLUMN svm_versions.label_column IS 'column of the source that was to be predicted';
COMMENT ON COLUMN svm_versions.label_type IS 'its type';
COMMENT ON COLUMN svm_versions.label_values IS 'its values, ascending: of two the second is the positive one';
COMMENT ON COLUMN svm_versions.nulls IS 'what becomes of a row with a NULL: ''error'', ''skip'', ''zero'' or ''mean''';
COMMENT ON COLUMN svm_versions.loss IS '''hinge'', ''squared_hinge'', ''ramp'', ''truncated_squared_hinge'' or ''crammer_singer''';
COMMENT ON COLUMN svm_versions.c IS 'what a unit of loss costs; the chosen one where C was chosen';
COMMENT ON COLUMN svm_versions.scale IS 'how columns were scaled, as decided';
COMMENT ON COLUMN svm_versions.solver IS 'as given; ''imported'' where the model came from another program';
COMMENT ON COLUMN svm_versions.class_weight IS 'weights by label, or the word for balanced classes; NULL where every class counts the same';
COMMENT ON COLUMN svm_versions.weight_column IS 'column that held the rows'' weights';
COMMENT ON COLUMN svm_versions.passes IS 'passes over all rows, those that verify included';
COMMENT ON COLUMN svm_versions.primal IS 'objective of the stored weights, summed over the heads';
COMMENT ON COLUMN svm_versions.dual IS 'proven lower bound of the objective, summed over the heads';
COMMENT ON COLUMN svm_versions.gap IS 'largest relative gap of a head, (primal - dual) / primal';
COMMENT ON COLUMN svm_versions.training_accuracy IS 'share of the rows used that the stored weights predict right';
COMMENT ON COLUMN svm_versions.training_auc IS 'of two classes, the area under the ROC curve on the rows trained on';
COMMENT ON COLUMN svm_versions.seconds IS 'from the call to the storing';
COMMENT ON COLUMN svm_versions.cache_bytes IS 'pgsvm.cache_size at the time';
COMMENT ON COLUMN svm_versions.workers IS 'worker processes that ran, 0 to 2';
COMMENT ON COLUMN svm_versions.stop_reason IS '''tolerance'': the gap was reached; ''projected_gradient'': its range was, where that was asked for; ''max_passes'': neither was';
COMMENT ON COLUMN svm_versions.trained_at IS 'start of the transaction that trained';
COMMENT ON COLUMN svm_versions.probabilities IS 'whether svm_probability works';
COMMENT ON COLUMN svm_versions.owner IS 'role that owns the model';
COMMENT ON COLUMN svm_versions.granted_to IS 'to the owner all grantees, to another role those whose rights it has';
COMMENT ON COLUMN svm_versions.key_column IS 'column by which the model follows its source; NULL where it does not';
COMMENT ON COLUMN svm_versions.source IS 'relation that its rows came from, or, to the owner, the query; where it is known';
COMMENT ON COLUMN svm_versions.followed IS 'the version that the training began from, and how its rows compared';
COMMENT ON COLUMN svm_versions.feature_columns IS 'columns it learned from, in their order';
COMMENT ON COLUMN svm_versions.intercept IS 'whether it has an intercept';
COMMENT ON COLUMN svm_versions.tolerance IS 'relative gap that the training went for';
COMMENT ON COLUMN svm_versions.max_passes IS 'limit on passes as given; NULL where it was pgsvm''s';
COMMENT ON COLUMN svm_versions.seed IS 'seed of the order of rows, and of folds';
COMMENT ON COLUMN svm_versions.options IS 'options as given';
COMMENT ON COLUMN svm_versions.given IS 'settings that somebody gave, which the next training takes over';
COMMENT ON COLUMN svm_versions.trained_by IS 'role that trained it; NULL where that is not known';
COMMENT ON COLUMN svm_versions.server_version IS 'version of PostgreSQL that it was trained on';
COMMENT ON COLUMN svm_models.kernel IS 'linear, or the kernel of a kernel machine';
COMMENT ON COLUMN svm_models.landmarks IS 'rows that a kernel machine compares rows with; NULL of linear models';
COMMENT ON COLUMN svm_models.left_out IS 'part of the kernel''s trace that the landmarks leave out, on about 30,000 of the rows, or with solver interior_point on all';
COMMENT ON COLUMN svm_models.truncation IS 's of a truncated loss, min(L, 1 + s); NULL of convex ones';
COMMENT ON COLUMN svm_models.truncated_primal IS 'the truncated objective over all rows; primal, dual and gap are those of the problem in which outliers cost a constant';
COMMENT ON COLUMN svm_models.outliers IS 'rows whose loss is beyond 1 + s, summed over the heads';
COMMENT ON COLUMN svm_models.label_column IS 'column that it predicts';
COMMENT ON COLUMN svm_models.source IS 'relation or, to its owner, query that it was trained on';
COMMENT ON COLUMN svm_models.solver_used IS 'solver that ran, where auto chose; NULL where that is not known';
COMMENT ON COLUMN svm_models.id IS 'id of the version, version_id in the tables';
COMMENT ON COLUMN svm_versions.solver_used IS 'solver that ran, where auto chose; NULL where that is not known';
COMMENT ON COLUMN svm_versions.id IS 'id of the version, version_id in the tables';
COMMENT ON COLUMN svm_versions.kernel IS 'linear, or the kernel of a kernel machine';
COMMENT ON COLUMN svm_versions.landmarks IS 'rows that a kernel machine compares rows with; NULL of linear models';
COMMENT ON COLUMN svm_versions.left_out IS 'part of the kernel''s trace that the landmarks leave out, on about 30,000 of the rows, or with solver interior_point on all';
COMMENT ON COLUMN svm_versions.truncation IS 's of a truncated loss, min(L, 1 + s); NULL of convex ones';
COMMENT ON COLUMN svm_versions.truncated_primal IS 'the truncated objective over all rows; primal, dual and gap are those of the problem in which outliers cost a constant';
COMMENT ON COLUMN svm_versions.outliers IS 'rows whose loss is beyond 1 + s, summed over the heads';

COMMENT ON COLUMN svm_indexes.name IS 'options => ''{"index": "name"}'' trains from it';
COMMENT ON COLUMN svm_indexes.relation IS 'the relation of whose rows it keeps something, as SQL writes it';
COMMENT ON COLUMN svm_indexes.columns IS 'the columns of which it keeps something';
COMMENT ON COLUMN svm_indexes.rows IS 'rows that it keeps; 0 after a crash or a restore';
COMMENT ON COLUMN svm_indexes.bytes IS 'what they take';
COMMENT ON COLUMN svm_indexes.owner IS 'the role whose it is';
COMMENT ON COLUMN svm_indexes.created_at IS 'when it was made';
COMMENT ON COLUMN svm_indexes.refreshed_at IS 'when it was made or brought up to date last';
COMMENT ON COLUMN svm_progress.pid IS 'the process';
COMMENT ON COLUMN svm_progress.leader_pid IS 'the session that called the training: pg_cancel_backend(leader_pid) ends it';
COMMENT ON COLUMN svm_progress.datname IS 'the database it works in';
COMMENT ON COLUMN svm_progress.usename IS 'the role it works for';
COMMENT ON COLUMN svm_progress.role IS '''reader'', ''trainer'', or ''leader'' where one process does both; ''machine'' a worker of solver interior_point';
COMMENT ON COLUMN svm_progress.phase IS
    '''loading'': the query runs; of a kernel machine ''sampling'', ''choosing landmarks'' and ''mapping'' of the rows; ''training''; ''solving exactly''; with solver interior_point ''dealing out rows'', ''factoring'' and ''interior point''';
COMMENT ON COLUMN svm_progress.rows_loaded IS 'rows read, looked at, mapped or dealt out so far in the phase, before training';
COMMENT ON COLUMN svm_progress.pass IS 'passes begun, while training, or steps of an interior point';
COMMENT ON COLUMN svm_progress.percent_of_pass IS 'how much of the pass is done';
COMMENT ON COLUMN svm_progress.stage IS
    'while training: ''choosing c'', on rows held out in turn; ''trying c beyond the usual''; or ''final''';
COMMENT ON COLUMN svm_progress.heads IS 'models of two classes that this stage trains at once: by class, c and fold';
COMMENT ON COLUMN svm_progress.heads_running IS 'those of them that have not arrived';
COMMENT ON COLUMN svm_progress.folds IS 'parts of the rows held out in turn in this stage; 0: none';
COMMENT ON COLUMN svm_progress.landmarks IS 'landmarks chosen so far, or columns of the factor made, while that is the phase';
COMMENT ON COLUMN svm_progress.working_sets IS 'working sets that the exact method has solved of the head under way';
COMMENT ON COLUMN svm_progress.gamma_tried IS 'which gamma is under way, from 1, where gammas are compared';
COMMENT ON COLUMN svm_progress.gammas IS 'how many gammas are compared';
COMMENT ON COLUMN svm_progress.rank IS 'columns that the factor is to have at most, while it is made';
COMMENT ON COLUMN svm_progress.gap IS 'the smallest relative gap known, once there is one; of an interior point the surrogate gap';
COMMENT ON COLUMN svm_progress.seconds_left IS 'a guess for the stage that runs, from the length of its first pass and how the gap has shrunk';
COMMENT ON COLUMN svm_progress.running_for IS 'how long the statement has been running';
COMMENT ON COLUMN svm_progress.query IS 'the statement';

COMMENT ON COLUMN svm_problems.model IS 'the model''s name; NULL where it belongs to none';
COMMENT ON COLUMN svm_problems.version IS 'its version';
COMMENT ON COLUMN svm_problems.table_name IS 'the table that is not whole';
COMMENT ON COLUMN svm_problems.problem IS 'what is missing, or too much';
COMMENT ON COLUMN svm_problems.remedy IS 'what to do about it';

COMMENT ON FUNCTION svm_internal.svm_model_changed() IS 'part of triggers: tells every backend that a model has changed';
COMMENT ON FUNCTION svm_internal.svm_weight_changed() IS
    'part of triggers: tells every backend that replication has brought weights';
COMMENT ON FUNCTION svm_internal.svm_remove_children() IS 'part of triggers: removes what belongs to a removed row';
COMMENT ON FUNCTION svm_internal.svm_owner_changed() IS 'part of triggers: tells grants about a model''s new owner';
COMMENT ON FUNCTION svm_internal.svm_query_moves() IS
    'part of triggers: moves a query to where only the owner of the model sees it';
COMMENT ON FUNCTION svm_internal.svm_source_rights() IS 'part of triggers: no source for a model of somebody else''s';
