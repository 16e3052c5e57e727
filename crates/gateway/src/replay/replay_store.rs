//! The ledger of a replay: in memory, or on disk so that it can be reopened.

use std::path::PathBuf;
use std::sync::Arc;

use weaver_trace_store::{MemoryLedger, OpenOptions, SqliteLedger};
use weaver_types::ledger::Ledger;
use weaver_types::{Clock, LogId, Random};

use super::ReplayError;
use crate::private_file;

/// The id of a log in memory.
const LOG_ID: &str = "weaver-replay";

/// The place of one ledger. A folder on disk is removed when this is dropped.
pub(super) enum ReplayStore {
    Memory,
    Disk(PathBuf),
}

impl ReplayStore {
    /// Creates a new folder for a ledger that will be reopened.
    pub(super) fn create_on_disk(random: &dyn Random) -> Result<Self, ReplayError> {
        let mut name = [0_u8; 8];
        random.fill(&mut name)?;
        let (process, name) = (std::process::id(), u64::from_be_bytes(name));
        let folder = std::env::temp_dir().join(format!("weaver-replay-{process}-{name:016x}"));
        private_file::create_folder(&folder)
            .map_err(|error| ReplayError::Ledger(error.to_string()))?;
        Ok(Self::Disk(folder))
    }

    /// Opens the ledger, with what was written to disk before.
    pub(super) fn open_ledger(
        &self,
        clock: Arc<dyn Clock>,
        random: &Arc<dyn Random>,
    ) -> Result<Arc<dyn Ledger>, ReplayError> {
        let random = Arc::clone(random);
        match self {
            Self::Memory => Ok(Arc::new(MemoryLedger::new(LogId::parse(LOG_ID)?, random))),
            Self::Disk(folder) => {
                let options = OpenOptions {
                    random,
                    clock,
                    holder: "weaver replay".to_owned(),
                    ..OpenOptions::default()
                };
                let ledger = SqliteLedger::open(folder.join("ledger.db"), options);
                let ledger = ledger.map_err(|error| ReplayError::Ledger(error.to_string()))?;
                Ok(Arc::new(ledger))
            }
        }
    }
}

impl Drop for ReplayStore {
    fn drop(&mut self) {
        if let Self::Disk(folder) = self {
            // The folder is a temporary one; if this fails, the system removes it later.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
