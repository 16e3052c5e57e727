//! An approver's signed answer to a request.

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::signature::{DocumentKind, Envelope, SignatureError, SigningKey};
use weaver_types::{ApprovalRequestId, Digest, Timestamp};

use super::approver_checks::key_id;
use super::{APPROVAL_VERSION, ApprovalRequest};

/// The approver's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionVerdict {
    /// The call may be made.
    Granted,
    /// The call must not be made.
    Denied,
}

/// One person's answer to one request. It carries no authority; that comes from the keys document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolution {
    /// The format version: 1.
    pub v: u64,
    /// The request that it answers.
    pub request: ApprovalRequestId,
    /// The digest of the whole request, as it was displayed.
    pub digest: Digest,
    /// The approver's verdict.
    pub verdict: ResolutionVerdict,
    /// The person, as the keys document names them.
    pub approver: String,
    /// When.
    pub at: Timestamp,
    /// The reason, for the record; may be empty.
    #[serde(default)]
    pub reason: String,
    /// How many calls of the run had written, without that a person answered a request for them,
    /// when the person looked; `None` for as many as when the request was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_writes: Option<u64>,
}

/// An answer with its signature: the content of a signed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedResolution {
    /// The answer.
    pub resolution: Resolution,
    /// Its signature.
    pub envelope: Envelope,
}

impl Resolution {
    /// An answer to a request, dated `at`.
    ///
    /// # Errors
    /// [`CanonicalError`], for a request that cannot be written canonically.
    pub fn new(
        request: &ApprovalRequest,
        verdict: ResolutionVerdict,
        approver: impl Into<String>,
        at: Timestamp,
    ) -> Result<Self, CanonicalError> {
        Ok(Self {
            v: APPROVAL_VERSION,
            request: request.id.clone(),
            digest: request.digest()?,
            verdict,
            approver: approver.into(),
            at,
            reason: String::new(),
            seen_writes: None,
        })
    }

    /// The digest that the signature covers.
    ///
    /// # Errors
    /// [`CanonicalError`], for a time beyond ±2^53.
    pub fn signed_digest(&self) -> Result<Digest, CanonicalError> {
        Ok(DocumentKind::Resolution.digest(&canonical::serialize(self, Profile::Record)?))
    }

    /// Signs the answer, which gives the content of a file for the inbox.
    ///
    /// # Errors
    /// [`SignatureError`], for a time beyond ±2^53.
    pub fn sign(self, key: &SigningKey) -> Result<SignedResolution, SignatureError> {
        let digest = self.signed_digest()?;
        let envelope =
            Envelope::sign(DocumentKind::Resolution, digest, key_id(key)?, key, self.at.micros())?;
        Ok(SignedResolution { resolution: self, envelope })
    }
}
