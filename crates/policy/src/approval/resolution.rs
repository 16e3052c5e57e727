//! An approver's signed answer to a request.

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::signature::{Envelope, Kind, SignatureError, SigningKey};
use weaver_types::{Digest, RequestId, Timestamp};

use super::person::key_id;
use super::{APPROVAL_VERSION, ApprovalRequest};

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionVerdict {
    /// Let it happen.
    Granted,
    /// Do not.
    Denied,
}

/// What one person says to one request. It carries no authority: that stands in the keys document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolution {
    /// The version of this form: 1.
    pub v: u64,
    /// Which request.
    pub request: RequestId,
    /// The digest of the whole request, as it was displayed.
    pub digest: Digest,
    /// Yes or no.
    pub verdict: ResolutionVerdict,
    /// The person, as the keys document names them.
    pub approver: String,
    /// When.
    pub at: Timestamp,
    /// Why, for the record; may be empty.
    #[serde(default)]
    pub reason: String,
}

/// An answer to one request with its signature: the content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedResolution {
    /// The answer.
    pub resolution: Resolution,
    /// Its signature.
    pub envelope: Envelope,
}

impl Resolution {
    /// An answer to a request. `at` is the time now.
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
        })
    }

    /// What a signature of this covers.
    ///
    /// # Errors
    /// [`CanonicalError`], for a time beyond ±2^53.
    pub fn signed_digest(&self) -> Result<Digest, CanonicalError> {
        Ok(Kind::Resolution.digest(&canonical::of(self, Profile::Record)?))
    }

    /// Signs it: the content of the file for the inbox.
    ///
    /// # Errors
    /// [`SignatureError`], for a time beyond ±2^53.
    pub fn sign(self, key: &SigningKey) -> Result<SignedResolution, SignatureError> {
        let digest = self.signed_digest()?;
        let envelope =
            Envelope::sign(Kind::Resolution, digest, key_id(key)?, key, self.at.micros())?;
        Ok(SignedResolution { resolution: self, envelope })
    }
}
