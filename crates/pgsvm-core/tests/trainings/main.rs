//! Trainings of every kind through the crate's own doors, each with an independent recomputation of what it claims. One program: the
//! loops that trainings share are compiled and linked once.

mod common;

mod any_cache;
mod block;
mod block_newton;
mod calibration;
mod certificate;
mod classes_together;
mod comparison;
mod completion;
mod ends;
mod evaluation;
mod exact;
mod fixtures;
mod free_intercept;
mod heads;
mod interior;
mod interior_scans;
mod kept;
mod leeway;
mod low_rank;
mod newton;
mod newton_trainers;
mod novelty;
mod numbers;
mod pegasos;
mod plan;
mod planted_loss;
mod published;
mod reference_data;
mod roles;
mod rounded;
mod scanned_maps;
mod scans;
mod stored;
mod strings;
mod targets;
mod trainers;
mod truncated;
mod truncated_scans;
mod unscaled;
mod warm;
