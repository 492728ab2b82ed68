//! pgsvm: support vector machines trained inside PostgreSQL.
//!
//! A module knows those above it in this list and none below it, which `scripts/layers` looks after:
//!
//! | module | holds | runs in |
//! |---|---|---|
//! | `base` | errors, settings, hashes of tables in memory | everywhere |
//! | `pg` | PostgreSQL's C interface in small wrappers | everywhere |
//! | `catalog` | the extension's own tables and who may do what with them; what the catalog says of columns | the calling backend |
//! | `features` | columns become numbers | the reading process, any backend that predicts |
//! | `targets`, `keys` | labels, folds and weights of rows; keys and digests of rows | the reading process |
//! | `index` | numbers, sparse features and words of a table's rows, kept from one training to the next | the reading process, the calling backend |
//! | `model` | models in memory | any backend or parallel worker |
//! | `request` | arguments become a request; the source's SELECT | the calling backend |
//! | `predict` | SQL face of prediction | any backend or parallel worker |
//! | `planning` | a request and its source become a job, and the plan of its SELECT | the calling backend |
//! | `warm_start` | models that follow their table: what a version remembers of its rows | the reading process, the calling backend |
//! | `evaluation` | how good predictions are: aggregates, and queries made of them | any backend or parallel worker |
//! | `explain` | what a model has learned | the calling backend |
//! | `reading` | rows of the source become examples; several processes fetch the rows of one table | the reading process, workers |
//! | `scanning` | rows summed up where they are, by PostgreSQL's own plans | any backend or parallel worker |
//! | `training` | who plays reader and trainer, which messages they send each other, and what comes out | backend and workers |
//! | `storing` | a trained model becomes rows | the calling backend |
//! | `sql` | SQL face of training, of what becomes of a stored model, of what a training decided about columns, and of predictions of whole queries | the calling backend |
//! | `exchange` | models and data from and to other programs | the calling backend |

pgrx::pg_module_magic!();

#[cfg(not(feature = "in_backend_tests"))]
#[global_allocator]
static ALLOCATOR: pgsvm_core::memory::reserve::Sparing = pgsvm_core::memory::reserve::Sparing;

mod base;
mod catalog;
mod combinations;
mod evaluation;
mod exchange;
mod explain;
mod features;
mod index;
mod keys;
mod model;
mod pg;
mod planning;
mod predict;
mod reading;
mod request;
mod scanning;
mod sql;
mod storing;
mod targets;
mod training;
mod warm_start;

#[pgrx::prelude::pg_guard]
extern "C-unwind" fn _PG_init() {
    pg::backtraces::switch_off();
    pgsvm_core::memory::reserve::keep();
    pgsvm_core::check_by(pg::answer);
    #[cfg(feature = "in_backend_tests")]
    in_backend_tests::allocation::register();
    base::settings::register();
}

#[cfg(feature = "in_backend_tests")]
#[path = "../pgrx-tests/mod.rs"]
#[allow(clippy::disallowed_methods)]
mod in_backend_tests;
