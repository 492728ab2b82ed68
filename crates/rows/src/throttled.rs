//! A spool that is as slow as a given device, where one is wanted: for benchmarks and tests.

use std::time::{Duration, Instant};

use crate::source::Spool;

/// Writes and reads that together do not exceed a rate, and a count of them.
#[derive(Debug)]
pub struct ThrottledSpool<P> {
    inner: P,
    bytes_per_second: f64,
    /// When the device has done all that was asked of it.
    free_at: Instant,
    bytes_written: u64,
    bytes_read: u64,
}

impl<P: Spool> ThrottledSpool<P> {
    /// At most `bytes_per_second` to and from `inner`; infinity only counts.
    pub fn new(inner: P, bytes_per_second: f64) -> Self {
        Self {
            inner,
            bytes_per_second,
            free_at: Instant::now(),
            bytes_written: 0,
            bytes_read: 0,
        }
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Sleeps until the device has moved `bytes` more, begun at `asked`.
    fn wait(&mut self, asked: Instant, bytes: usize) {
        let busy = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
        self.free_at = self.free_at.max(asked) + busy;
        std::thread::sleep(self.free_at.saturating_duration_since(Instant::now()));
    }
}

impl<P: Spool> Spool for ThrottledSpool<P> {
    type Error = P::Error;

    fn append(&mut self, bytes: &[u8]) -> Result<u64, P::Error> {
        let asked = Instant::now();
        let position = self.inner.append(bytes)?;
        self.bytes_written += bytes.len() as u64;
        self.wait(asked, bytes.len());
        Ok(position)
    }

    fn read(&mut self, position: u64, bytes: &mut [u8]) -> Result<(), P::Error> {
        let asked = Instant::now();
        self.inner.read(position, bytes)?;
        self.bytes_read += bytes.len() as u64;
        self.wait(asked, bytes.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_memory::MemorySpool;

    #[test]
    fn a_throttled_spool_keeps_to_its_rate_and_counts() {
        let mut spool = ThrottledSpool::new(MemorySpool::default(), 1e6);
        let start = Instant::now();
        let positions: Vec<u64> = (0..4u8)
            .map(|k| spool.append(&[k; 5_000]).expect("infallible"))
            .collect();
        let mut bytes = [0; 5_000];
        for (k, position) in positions.iter().enumerate() {
            spool.read(*position, &mut bytes).expect("infallible");
            assert_eq!(bytes, [k as u8; 5_000]);
        }
        assert!(start.elapsed() >= Duration::from_millis(40));
        assert_eq!(
            (spool.bytes_written(), spool.bytes_read()),
            (20_000, 20_000)
        );
    }

    #[test]
    fn no_rate_is_no_wait() {
        let mut spool = ThrottledSpool::new(MemorySpool::default(), f64::INFINITY);
        let before = spool.free_at;
        spool.append(&[1; 1000]).expect("infallible");
        assert!(spool.free_at <= before.max(Instant::now()));
    }
}
