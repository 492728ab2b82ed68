//! The temporary file of a training.

use crate::base::errors::{Code, Failure};
use crate::pg::tempfile::TempFile;
use pgsvm_core::Spool;

/// The temporary file of a training, made when the first row does not fit the cache.
#[derive(Default)]
pub struct SpoolFile(Option<TempFile>);

impl Spool for SpoolFile {
    type Error = Failure;

    fn append(&mut self, bytes: &[u8]) -> Result<u64, Failure> {
        let file = self.0.get_or_insert_with(TempFile::create);
        file.append(bytes).map_err(|reason| {
            let hint = match reason.code {
                Code::ERRCODE_DISK_FULL => "Name a tablespace on a disk with room, or let the rows fit: SET temp_tablespaces = '…', or SET pgsvm.cache_size = '1GB'",
                _ => "Raise pgsvm.cache_size or temp_file_limit: SET pgsvm.cache_size = '1GB'",
            };
            Failure::new(reason.code, reason.message)
                .detail("The rows do not fit pgsvm.cache_size and are spooled to a temporary file.")
                .hint(hint)
        })
    }

    fn read(&mut self, position: u64, bytes: &mut [u8]) -> Result<(), Failure> {
        self.0
            .as_mut()
            .expect("positions come from append, which creates the file")
            .read(position, bytes);
        Ok(())
    }
}
