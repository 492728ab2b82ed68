//! The processes of a training, the roles they play, and what comes out. Knows neither the SQL face nor the tables.

pub mod fit;
pub mod leader;
pub mod passed_over;
pub mod progress;
pub mod roles;
pub mod validation;
pub mod weights;
pub mod worker;
