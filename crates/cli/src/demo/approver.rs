//! The person in the demo who releases a held call, and somebody who would like to.

use std::fs;
use std::time::{Duration, Instant};

use weaver_agent_kernel::StoredApproval;
use weaver_policy::approval::{ApprovalRequest, Resolution, ResolutionVerdict};
use weaver_trace_store::Reader;
use weaver_types::ledger::Namespace;
use weaver_types::signature::SigningKey;
use weaver_types::{Clock as _, OsRandom, SystemClock, Tenant, random_text};

use super::DemoError;
use super::folder::DemoFolder;

/// The name under which the keys document knows this person.
const NAME: &str = "owner";
/// How long the gateway may take to see a file.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many records are looked through.
const MAX_REQUESTS: usize = 100;

/// Whoever answers requests.
pub(super) struct Approver<'f> {
    folder: &'f DemoFolder,
    key: SigningKey,
}

impl<'f> Approver<'f> {
    pub(super) fn new(folder: &'f DemoFolder, key: SigningKey) -> Self {
        Self { folder, key }
    }

    /// Approves the request, as the ledger shows it, and waits until the gateway has taken that in.
    pub(super) fn grant(&self, id: &str) -> Result<(), DemoError> {
        let request = self.request(id)?;
        let now = SystemClock::default().now();
        let signed = Resolution::new(&request, ResolutionVerdict::Granted, NAME, now)
            .map_err(failed)?
            .sign(&self.key)
            .map_err(failed)?;
        self.drop_in(&signed.to_json().map_err(failed)?)
    }

    fn request(&self, id: &str) -> Result<ApprovalRequest, DemoError> {
        let reader = Reader::open(self.folder.ledger()).map_err(failed)?;
        let records = reader
            .records(&Tenant::default(), Namespace::Hold, None, MAX_REQUESTS)
            .map_err(failed)?;
        let found = records.iter().find(|(name, _)| name == id);
        match found.map(|(name, record)| StoredApproval::read(name, record)) {
            Some(Ok(StoredApproval::Open(open))) => Ok(open.request),
            Some(Err(error)) => Err(failed(error)),
            Some(Ok(StoredApproval::Ended(_))) | None => {
                Err(failed(format!("the request `{id}` is not open")))
            }
        }
    }

    fn drop_in(&self, bytes: &[u8]) -> Result<(), DemoError> {
        let inbox = self.folder.inbox();
        let name = random_text("", 8, &OsRandom).map_err(failed)?;
        let (part, path) = (inbox.join(format!("{name}.part")), inbox.join(format!("{name}.json")));
        fs::write(&part, bytes).map_err(DemoError::file("write", &part))?;
        fs::rename(&part, &path).map_err(DemoError::file("write", &path))?;
        let begun = Instant::now();
        while path.exists() {
            if begun.elapsed() > PATIENCE {
                return Err(failed("the gateway does not look into its inbox"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

fn failed(error: impl ToString) -> DemoError {
    DemoError::System { what: "approve a call", reason: error.to_string() }
}
