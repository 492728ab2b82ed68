//! Wall time and the calling thread's processor time.

use std::fs;
use std::time::Instant;

use crate::Result;

pub struct Clock {
    started: Instant,
    cpu: f64,
}

/// What a clock shows, in seconds.
#[derive(Clone, Copy)]
pub struct Time {
    pub wall: f64,
    pub cpu: f64,
}

impl Clock {
    pub fn start() -> Result<Self> {
        Ok(Self {
            cpu: cpu_seconds()?,
            started: Instant::now(),
        })
    }

    pub fn read(&self) -> Result<Time> {
        Ok(Time {
            wall: self.started.elapsed().as_secs_f64(),
            cpu: cpu_seconds()? - self.cpu,
        })
    }
}

/// The first field of schedstat is nanoseconds on a processor; the kernel brings it up to date at ticks and when a
/// thread yields.
fn cpu_seconds() -> Result<f64> {
    std::thread::yield_now();
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = schedstat
        .split_whitespace()
        .next()
        .ok_or("an empty schedstat")?
        .parse()?;
    Ok(1e-9 * nanoseconds)
}
