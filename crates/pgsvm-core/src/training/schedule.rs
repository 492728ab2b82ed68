//! Who is visited when: an order of rows and visits for each kind of training.
//!
//! Knows the cache's sides and the solver's passes. Must not know plans, stages or what is reported.

pub(crate) mod active;
pub(crate) mod block;
mod block_newton;
mod forest;
pub(crate) mod grades;
pub(crate) mod indexed;
pub(crate) mod interface;
pub(crate) mod pass;
pub(crate) mod pegasos;
pub(crate) mod resident;
pub(crate) mod resident_passes;
pub(crate) mod selective;
pub(crate) mod sharing;
pub(crate) mod stream_svm;
pub(crate) mod streamed_passes;
pub(crate) mod streaming;
pub(crate) mod survey;
pub(crate) mod sweep;
pub(crate) mod threshold;
pub(crate) mod turns;
pub(crate) mod walk;
pub(crate) mod working_set;

use crate::base::random::Random;
use crate::cache::TrainerSide;
use crate::objective::problem::Problem;
use crate::rows::compact::make_room;
use crate::rows::facts::Facts;
use crate::rows::map::{Identity, RowMap};
use crate::simd::Real;
use crate::solver::Solver;
use crate::training::error::TrainError;
use crate::training::log::Log;
use block::BlockMinimization;
use interface::Schedule;
use pegasos::Pegasos;
use resident::Resident;
use resident_passes::ResidentPasses;
use streamed_passes::StreamedPasses;
use streaming::{kept_rows, Streaming};

/// What is known of all rows as they are visited, and how many of them are trained with one another between two passes over
/// all.
pub(super) fn facts_of(side: &TrainerSide) -> Result<(Facts, usize), TrainError> {
    let visited = |stored| Identity.facts(stored);
    if let TrainerSide::Resident(facts, _) | TrainerSide::Streaming(facts, ..) = side {
        if facts.most_visited_words > 0 {
            make_room(facts.max_row_words, facts.most_visited_words)?;
        }
    }
    match side {
        TrainerSide::Resident(facts, _) => Ok((visited(facts), facts.rows)),
        TrainerSide::Streaming(facts, region, _) => {
            Ok((visited(facts), kept_rows(region.len(), facts)))
        }
        TrainerSide::Waiting(_) | TrainerSide::Ended => Err(TrainError::ReaderFailed),
    }
}

/// The schedule of a problem over rows that are there or arrive. `learns_metrics`: those of the rows' classes, from some
/// rows, where this schedule can.
pub(super) fn begin<T: Real>(
    solver: Solver<T>,
    side: TrainerSide,
    problem: &Problem,
    random: Random,
    log: Log,
    learns_metrics: bool,
) -> Result<Box<dyn Schedule<T>>, TrainError> {
    if problem.pegasos().is_some() {
        return Ok(Box::new(Pegasos::new(solver, side, problem, random, log)?));
    }
    match side {
        TrainerSide::Resident(facts, arena) => {
            let trainers = problem.trainers();
            let resident = Resident::new(solver, facts, arena, random, trainers, log)?;
            Ok(Box::new(ResidentPasses::new(resident, problem.seed())?))
        }
        TrainerSide::Streaming(facts, region, consumer) if problem.blocks().is_some() => {
            let block =
                BlockMinimization::new(solver, facts, region, consumer, problem, random, log)?;
            Ok(Box::new(block))
        }
        TrainerSide::Streaming(facts, region, consumer) => {
            let mut streaming =
                Streaming::new(solver, facts, region, consumer, problem, random, log)?;
            if learns_metrics {
                streaming.learn_metrics()?;
            }
            Ok(Box::new(StreamedPasses::new(streaming)?))
        }
        TrainerSide::Waiting(_) | TrainerSide::Ended => Err(TrainError::ReaderFailed),
    }
}
