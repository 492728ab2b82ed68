//! How fast the spool and the compression are, and what follows from it.

use std::time::Duration;

/// How often a chunk is thought to be read for the once that it is written: as often as trainings out of core
/// commonly go through their spool.
const PASSES: f64 = 8.0;

/// Seconds for some bytes.
#[derive(Debug, Default)]
struct Rate {
    seconds: f64,
    bytes: f64,
}

impl Rate {
    fn add(&mut self, time: Duration, bytes: usize) {
        self.seconds += time.as_secs_f64();
        self.bytes += bytes as f64;
    }

    /// Lets what is old count less.
    fn fade(&mut self) {
        self.seconds *= 0.5;
        self.bytes *= 0.5;
    }

    fn seconds_per_byte(&self) -> f64 {
        self.seconds / self.bytes.max(1.0)
    }
}

/// What has been measured.
#[derive(Debug, Default)]
pub(super) struct CodecPace {
    /// Bytes stored, and seconds for them.
    write: Rate,
    read: Rate,
    packing: Option<PackingTimes>,
}

#[derive(Debug, Clone, Copy)]
struct PackingTimes {
    /// Seconds for a byte of rows: the fewest seen, since an interrupted process measures more.
    pack: f64,
    unpack: f64,
    /// Bytes stored for a byte of rows in the last probe.
    share: f64,
}

impl CodecPace {
    /// A write took this long.
    pub(super) fn wrote(&mut self, time: Duration, bytes: usize) {
        self.write.add(time, bytes);
    }

    /// A chunk read back took this long.
    pub(super) fn read(&mut self, time: Duration, bytes: usize) {
        self.read.add(time, bytes);
    }

    /// A probe: `bytes` of rows became `packed` bytes and were unpacked again.
    pub(super) fn packed(
        &mut self,
        packing: Duration,
        unpacking: Duration,
        packed: usize,
        bytes: usize,
    ) {
        let bytes = bytes as f64;
        let pack = packing.as_secs_f64() / bytes;
        let unpack = unpacking.as_secs_f64() / bytes;
        self.packing = Some(PackingTimes {
            pack: self.packing.map_or(pack, |seen| seen.pack.min(pack)),
            unpack: self.packing.map_or(unpack, |seen| seen.unpack.min(unpack)),
            share: packed as f64 / bytes,
        });
        self.write.fade();
        self.read.fade();
    }

    /// Whether a byte of rows that is written once and read [`PASSES`] times costs less time compressed.
    pub(super) fn favours_packing(&self) -> bool {
        let Some(packing) = self.packing else {
            return false;
        };
        let moving = self.write.seconds_per_byte() + PASSES * self.read.seconds_per_byte();
        let computing = packing.pack + PASSES * packing.unpack;
        computing + packing.share * moving < moving
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a probe of rows that take 1 ms to pack, 0.5 ms to unpack, and then this share of a megabyte.
    fn pace(share: f64, write_ms: u64, read_ms: u64) -> CodecPace {
        let bytes = 1_000_000;
        let mut pace = CodecPace::default();
        pace.wrote(Duration::from_millis(write_ms), bytes);
        pace.read(Duration::from_millis(read_ms), bytes);
        let packed = (share * bytes as f64) as usize;
        pace.packed(
            Duration::from_micros(1000),
            Duration::from_micros(500),
            packed,
            bytes,
        );
        pace
    }

    #[test]
    fn nothing_is_compressed_before_a_measurement() {
        assert!(!CodecPace::default().favours_packing());
    }

    #[test]
    fn a_slow_device_favours_compression_where_rows_compress() {
        assert!(pace(0.25, 10, 10).favours_packing());
        assert!(pace(0.8, 10, 10).favours_packing());
        assert!(!pace(0.97, 10, 10).favours_packing());
        assert!(!pace(1.01, 1000, 1000).favours_packing());
    }

    #[test]
    fn a_fast_cache_favours_plain_rows() {
        assert!(!pace(0.25, 1, 0).favours_packing());
    }

    #[test]
    fn a_spool_that_slows_down_is_compressed_after_all() {
        let mut pace = pace(0.5, 1, 0);
        assert!(!pace.favours_packing());
        let slow = Duration::from_millis(10);
        for _ in 0..3 {
            pace.read(slow, 1_000_000);
            pace.wrote(64 * slow, 64_000_000);
            let (packing, unpacking) = (Duration::from_millis(2), Duration::from_millis(1));
            pace.packed(packing, unpacking, 500_000, 1_000_000);
        }
        assert!(pace.favours_packing());
    }
}
