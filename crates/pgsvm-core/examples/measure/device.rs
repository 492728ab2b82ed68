//! A spool in memory that is read as slowly as a given device, and counts.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pgsvm_core::engine::MemorySpool;
use pgsvm_core::Spool;

pub struct Device {
    inner: MemorySpool,
    bytes_per_second: f64,
    /// When the device has delivered all that was asked of it.
    free_at: Instant,
    bytes_read: Arc<AtomicU64>,
}

impl Device {
    /// Reads at most `bytes_per_second`; infinity only counts.
    pub fn new(bytes_per_second: f64) -> Self {
        Self {
            inner: MemorySpool::default(),
            bytes_per_second,
            free_at: Instant::now(),
            bytes_read: Arc::default(),
        }
    }

    /// Counts the bytes read, also after the device has been given away.
    pub fn bytes_read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes_read)
    }
}

impl Spool for Device {
    type Error = Infallible;

    fn append(&mut self, bytes: &[u8]) -> Result<u64, Infallible> {
        self.inner.append(bytes)
    }

    fn read(&mut self, position: u64, bytes: &mut [u8]) -> Result<(), Infallible> {
        let asked = Instant::now();
        self.inner.read(position, bytes)?;
        self.bytes_read
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let busy = Duration::from_secs_f64(bytes.len() as f64 / self.bytes_per_second);
        self.free_at = self.free_at.max(asked) + busy;
        thread::sleep(self.free_at.saturating_duration_since(Instant::now()));
        Ok(())
    }
}
