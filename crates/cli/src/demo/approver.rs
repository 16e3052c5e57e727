//! The person in the demo who releases a held call, and somebody without the authority to.

use std::time::{Duration, Instant};

use weaver_agent_kernel::StoredApproval;
use weaver_policy::approval::{ApprovalRequest, Resolution, ResolutionVerdict};
use weaver_trace_store::Reader;
use weaver_types::ledger::Namespace;
use weaver_types::signature::SigningKey;
use weaver_types::{Clock as _, SystemClock, Tenant};

use super::DemoError;
use super::folder::DemoFolder;
use crate::approve::inbox;

/// The approver's name in the keys document.
const NAME: &str = "owner";
/// How long the gateway may take to read a file in its inbox.
const INBOX_TIMEOUT: Duration = Duration::from_secs(20);
/// How many records are searched for the request.
const MAX_REQUESTS: usize = 100;

/// Answers approval requests with one key.
pub(super) struct Approver<'f> {
    folder: &'f DemoFolder,
    key: SigningKey,
}

impl<'f> Approver<'f> {
    pub(super) fn new(folder: &'f DemoFolder, key: SigningKey) -> Self {
        Self { folder, key }
    }

    /// Grants the request that the ledger shows, and waits until the gateway has read the answer.
    pub(super) fn grant(&self, id: &str) -> Result<(), DemoError> {
        let request = self.request(id)?;
        let now = SystemClock::default().now();
        let signed = Resolution::new(&request, ResolutionVerdict::Granted, NAME, now)
            .map_err(approval_error)?
            .sign(&self.key)
            .map_err(approval_error)?;
        self.submit(&signed.to_json().map_err(approval_error)?)
    }

    fn request(&self, id: &str) -> Result<ApprovalRequest, DemoError> {
        let reader = Reader::open(self.folder.ledger()).map_err(approval_error)?;
        let records = reader
            .records(&Tenant::default(), Namespace::Hold, None, MAX_REQUESTS)
            .map_err(approval_error)?;
        let found = records.iter().find(|(name, _)| name == id);
        match found.map(|(name, record)| StoredApproval::read(name, record)) {
            Some(Ok(StoredApproval::Open(open))) => Ok(open.request),
            Some(Err(error)) => Err(approval_error(error)),
            Some(Ok(StoredApproval::Ended(_))) | None => {
                Err(approval_error(format!("the request `{id}` is not open")))
            }
        }
    }

    fn submit(&self, bytes: &[u8]) -> Result<(), DemoError> {
        let path = inbox::submit(&self.folder.inbox(), "demo", bytes)
            .map_err(|failure| approval_error(failure.message))?;
        let begun = Instant::now();
        while path.exists() {
            if begun.elapsed() > INBOX_TIMEOUT {
                return Err(approval_error("the gateway does not look into its inbox"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

fn approval_error(error: impl ToString) -> DemoError {
    DemoError::System { what: "approve a call", reason: error.to_string() }
}
