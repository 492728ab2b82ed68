//! The SQL face: functions that people call for training and for what becomes of a model.

mod announcement;
mod column_notes;
pub mod feature_list;
pub mod follow;
pub mod function;
mod giveaways;
mod immutable_function;
mod index;
mod label_notes;

pub mod life;
mod out_of_fold;
mod predict_query;
pub mod repair;
mod selection;
mod split;
mod suspects;
pub mod train;
