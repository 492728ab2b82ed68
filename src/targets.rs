//! What a row is to be: its label, its fold, its weight. Knows neither features nor the training's job.

pub mod amounts;
pub mod costs;
pub mod groups;
pub mod labels;
