//! Models and data from and to other programs. `liblinear` is LIBLINEAR's model format as text; `export`
//! writes a model in it and `import` stores one that was read from it; `libsvm_model`, `libsvm_export` and `libsvm_import` are the
//! same of LIBSVM's, which has kernel machines; `whole` moves all of a model from one
//! database to another; `libsvm` reads data files and `load` puts them into a table. All run in the calling backend, in its transaction and with its
//! rights.

mod export;
mod facts;
mod import;
mod liblinear;
mod libsvm;
mod libsvm_export;
mod libsvm_import;
mod libsvm_model;
mod load;
mod whole;
