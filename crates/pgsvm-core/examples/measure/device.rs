//! A spool in memory that is as slow as a given device, and counts what is read.

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
    /// When the device has done all that was asked of it.
    free_at: Instant,
    bytes_read: Arc<AtomicU64>,
}

impl Device {
    /// Moves at most `bytes_per_second`, either way; infinity only counts.
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

    /// Sleeps until the device has moved `bytes` more, begun at `asked`.
    fn wait(&mut self, asked: Instant, bytes: usize) {
        let busy = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
        self.free_at = self.free_at.max(asked) + busy;
        thread::sleep(self.free_at.saturating_duration_since(Instant::now()));
    }
}

impl Spool for Device {
    type Error = Infallible;

    fn append(&mut self, bytes: &[u8]) -> Result<u64, Infallible> {
        let asked = Instant::now();
        let position = self.inner.append(bytes)?;
        self.wait(asked, bytes.len());
        Ok(position)
    }

    fn read(&mut self, position: u64, bytes: &mut [u8]) -> Result<(), Infallible> {
        let asked = Instant::now();
        self.inner.read(position, bytes)?;
        self.bytes_read
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.wait(asked, bytes.len());
        Ok(())
    }
}
