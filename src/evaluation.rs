//! How good predictions are. `aggregates` holds `svm_metrics`, `svm_auc`, `svm_roc_points` and
//! `svm_log_loss`, and `svm_median` beside them, which run in any backend or parallel worker, over the states in `counts`, `ranking`
//! and `loss`; `relation` holds `svm_evaluate`, `svm_confusion` and `svm_roc`, each one query over a
//! relation in the calling backend, with the caller's rights, made of those aggregates; `lines` holds `svm_export_rows`, which
//! reads a relation in the same way.

mod aggregates;
mod counts;
mod lines;
mod loss;
mod ranking;
mod relation;
mod rows;
mod subject;
