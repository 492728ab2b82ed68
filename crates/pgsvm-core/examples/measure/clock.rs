//! Wall time and the calling thread's processor time.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use crate::Result;

pub struct Clock {
    schedstat: File,
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
    /// Of the thread that calls this, which is to read it too.
    pub fn start() -> Result<Self> {
        let schedstat = File::open("/proc/thread-self/schedstat")?;
        Ok(Self {
            cpu: cpu_seconds(&schedstat)?,
            schedstat,
            started: Instant::now(),
        })
    }

    pub fn read(&self) -> Result<Time> {
        Ok(Time {
            wall: self.started.elapsed().as_secs_f64(),
            cpu: cpu_seconds(&self.schedstat)? - self.cpu,
        })
    }
}

/// The first field of schedstat is nanoseconds on a processor; the kernel brings it up to date at ticks and when a
/// thread yields.
fn cpu_seconds(schedstat: &File) -> Result<f64> {
    std::thread::yield_now();
    let mut text = [0; 64];
    let length = schedstat.read_at(&mut text, 0)?;
    let first = text[..length].split(|byte| *byte == b' ').next();
    let nanoseconds: f64 = std::str::from_utf8(first.ok_or("an empty schedstat")?)?.parse()?;
    Ok(1e-9 * nanoseconds)
}
