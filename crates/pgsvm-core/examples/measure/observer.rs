//! What is noted down between the steps of the trainer: the bounds after each pass, and how fast rows are visited.

use pgsvm_core::{Cache, Trainer};

use crate::clock::{Clock, Time};
use crate::Result;

/// The first head after so many passes over all rows.
pub struct Point {
    pub passes: u32,
    pub time: Time,
    pub primal: f64,
    pub dual: f64,
}

/// When the trainer is asked to stop.
pub struct Limit {
    /// Processor and wall seconds.
    pub time: Time,
    /// A dual objective of the first head.
    pub dual: f64,
}

/// Visits and the processor seconds they took.
#[derive(Clone, Copy, Default)]
pub struct Rate {
    visits: u64,
    cpu: f64,
}

pub struct Observer<'a> {
    cache: &'a Cache,
    clock: Clock,
    limit: Limit,
    passes: u32,
    visits: u64,
    cpu: f64,
    pub points: Vec<Point>,
    /// Passes that visit every row, and those that leave out sleeping rows.
    pub full: Rate,
    pub active: Rate,
}

impl Rate {
    /// Bytes of rows visited in a second; 0 without visits.
    pub fn bytes_per_second(&self, row_bytes: f64) -> f64 {
        if self.visits == 0 {
            return 0.0;
        }
        self.visits as f64 * row_bytes / self.cpu
    }

    fn add(&mut self, visits: u64, cpu: f64) {
        self.visits += visits;
        self.cpu += cpu;
    }
}

impl<'a> Observer<'a> {
    /// Begins to watch a trainer that has not made a step yet.
    pub fn start(cache: &'a Cache, limit: Limit) -> Result<Self> {
        Ok(Self {
            cache,
            clock: Clock::start()?,
            limit,
            passes: 0,
            visits: 0,
            cpu: 0.0,
            points: Vec::new(),
            full: Rate::default(),
            active: Rate::default(),
        })
    }

    /// To be called after each step.
    pub fn look(&mut self, trainer: &Trainer) -> Result<()> {
        let (now, seen) = (self.clock.read()?, self.cache.statistics());
        if now.cpu > self.limit.time.cpu || now.wall > self.limit.time.wall {
            self.cache.request_stop();
        }
        // a step without a visit verifies or waits
        if seen.visits > self.visits {
            let rate = if seen.working_set_rows == seen.rows {
                &mut self.full
            } else {
                &mut self.active
            };
            rate.add(seen.visits - self.visits, now.cpu - self.cpu);
        }
        // the count of passes goes up when one begins
        if seen.pass > self.passes.max(1) {
            self.note(trainer, seen.pass - 1, now);
        }
        (self.passes, self.visits, self.cpu) = (seen.pass, seen.visits, now.cpu);
        Ok(())
    }

    /// To be called after the last step: the time that training took.
    pub fn finish(&mut self, trainer: &Trainer) -> Result<Time> {
        let now = self.clock.read()?;
        self.note(trainer, trainer.report().unwrap().passes, now);
        Ok(now)
    }

    fn note(&mut self, trainer: &Trainer, passes: u32, time: Time) {
        let certificate = trainer.report().unwrap().heads[0].certificate;
        if certificate.dual >= self.limit.dual {
            self.cache.request_stop();
        }
        self.points.push(Point {
            passes,
            time,
            primal: certificate.primal,
            dual: certificate.dual,
        });
    }
}
