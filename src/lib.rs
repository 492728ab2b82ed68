//! pgsvm: support vector machines trained inside PostgreSQL.
//!
//! | module | holds | runs in |
//! |---|---|---|
//! | `train`, `request`, `source` | SQL face of training: arguments, the source's SELECT | the calling backend |
//! | `leader`, `worker`, `roles`, `job` | who plays reader and trainer, and what they tell each other | backend and workers |
//! | `helpers`, `pieces` | several processes fetch the rows of one table | whoever reads, workers |
//! | `rows`, `labels`, `groups`, `costs`, `features` | rows of the source become examples | whoever reads |
//! | `follow` | models that follow their table: keys of rows, what a version remembers of them | whoever reads, the calling backend |
//! | `validation` | what held-out rows told | the calling backend |
//! | `weights`, `models`, `training_log` | a trained model becomes rows | the calling backend |
//! | `life`, `rights` | SQL face of what becomes of a stored model; who may do it | the calling backend |
//! | `predict`, `model` | SQL face of prediction, models in memory | any backend or parallel worker |
//! | `feature_list` | SQL face of what was decided per column | any backend or parallel worker |
//! | `explain`, `function` | what a model has learned, functions made of models | the calling backend |
//! | `evaluation` | how good predictions are: aggregates, and queries made of them | any backend or parallel worker |
//! | `exchange` | models and data from and to other programs | the calling backend |
//! | `progress`, `settings`, `errors` | what users see and set | everywhere |
//! | `pg` | PostgreSQL's C interface in small wrappers | everywhere |

pgrx::pg_module_magic!();

mod costs;
mod errors;
mod evaluation;
mod exchange;
mod explain;
mod feature_list;
mod features;
mod follow;
mod function;
mod groups;
mod helpers;
mod job;
mod labels;
mod leader;
mod life;
mod model;
mod models;
mod pg;
mod pieces;
mod predict;
mod progress;
mod request;
mod rights;
mod roles;
mod rows;
mod settings;
mod source;
mod train;
mod training_log;
mod validation;
mod weights;
mod worker;

#[pgrx::prelude::pg_guard]
extern "C-unwind" fn _PG_init() {
    settings::register();
}

#[cfg(feature = "in_backend_tests")]
#[path = "../pgrx-tests/mod.rs"]
mod in_backend_tests;
