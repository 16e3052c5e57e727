//! Signed statements in which an operator confirms or revokes something.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::signature::{DocumentKind, Envelope, SignatureError, SigningKey};
use weaver_types::{
    ApprovalRequestId, CallId, Digest, LogId, RunId, StandingApprovalId, Timestamp,
};

use super::approver_checks::{find_approver, find_approver_key, key_id, require_valid_key};
use super::{APPROVAL_VERSION, Nonce, ReceiptTime, Rejection};
use crate::keys::Keys;
use crate::signal::{BeliefClass, CalibrationSample, Confidence};

/// How old an operator statement may be when it is received. To detect every replay, remember its
/// digest for this long plus twice the clock skew.
pub const OPERATOR_STATEMENT_MAX_AGE: Duration = Duration::from_secs(900);

/// What the operator confirms, ends or revokes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum OperatorAction {
    /// The clock is correct up to this time.
    ConfirmClock {
        /// Up to when.
        until: Timestamp,
    },
    /// End this run.
    EndRun {
        /// The run.
        run: RunId,
    },
    /// Revoke this request, whether or not it was granted.
    RevokeRequest {
        /// The request.
        request: ApprovalRequestId,
    },
    /// Revoke this standing approval.
    RevokeStanding {
        /// The standing approval.
        standing: StandingApprovalId,
    },
    /// It is now known whether the output of a call was correct.
    Outcome(BeliefOutcome),
}

/// Whether a belief that came from a class of calls turned out to be correct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeliefOutcome {
    /// The class of the belief. For the output of a call, this is the capability.
    pub class: String,
    /// The confidence in the belief, in thousandths.
    pub confidence: u16,
    /// Whether the belief was correct.
    pub correct: bool,
    /// The call whose output is meant, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

impl BeliefOutcome {
    /// Converts this to a calibration sample; `None` if the class is not a valid name or the
    /// confidence is above 1,000.
    #[must_use]
    pub fn to_calibration_sample(&self) -> Option<CalibrationSample> {
        Some(CalibrationSample {
            class: BeliefClass::parse(&self.class).ok()?,
            confidence: Confidence::from_thousandths(self.confidence)?,
            correct: self.correct,
            synthetic: false,
        })
    }
}

/// A confirmation or revocation by an operator. It is valid for one log, and once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatorStatement {
    /// The format version: 1.
    pub v: u64,
    /// The confirmation or revocation.
    pub action: OperatorAction,
    /// The log that it is addressed to.
    pub log: LogId,
    /// The person, as the keys document names them.
    pub approver: String,
    /// When.
    pub at: Timestamp,
    /// Makes this statement unique.
    pub nonce: Nonce,
}

/// An operator statement with its signature: the content of a signed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedOperatorStatement {
    /// The statement.
    pub operator_statement: OperatorStatement,
    /// Its signature.
    pub envelope: Envelope,
}

impl OperatorStatement {
    /// The digest that the signature covers. It also identifies a replay.
    ///
    /// # Errors
    /// [`CanonicalError`], for a time beyond ±2^53.
    pub fn signed_digest(&self) -> Result<Digest, CanonicalError> {
        Ok(DocumentKind::OperatorStatement.digest(&canonical::serialize(self, Profile::Record)?))
    }

    /// Signs the statement, which gives the content of a file for the inbox.
    ///
    /// # Errors
    /// [`SignatureError`], for a time beyond ±2^53.
    pub fn sign(self, key: &SigningKey) -> Result<SignedOperatorStatement, SignatureError> {
        let (digest, at) = (self.signed_digest()?, self.at.micros());
        let envelope =
            Envelope::sign(DocumentKind::OperatorStatement, digest, key_id(key)?, key, at)?;
        Ok(SignedOperatorStatement { operator_statement: self, envelope })
    }
}

/// Verifies an operator statement for this log, and returns the digest under which the caller must
/// remember it. A statement whose digest `is_known` is a replay.
///
/// # Errors
/// [`Rejection`], the first that applies. In every case, nothing was confirmed or revoked.
pub fn verify_operator_statement(
    keys: &Keys,
    log: &LogId,
    signed: &SignedOperatorStatement,
    received: ReceiptTime,
    is_known: impl FnOnce(&Digest) -> bool,
) -> Result<Digest, Rejection> {
    let statement = &signed.operator_statement;
    if statement.v != APPROVAL_VERSION {
        return Err(Rejection::malformed("its version is not 1"));
    }
    if statement.log != *log {
        return Err(Rejection::WrongLog);
    }
    let approver = find_approver(keys, &statement.approver)?;
    let key = find_approver_key(approver, signed.envelope.key())?;
    let digest = statement.signed_digest().map_err(Rejection::invalid_signature)?;
    signed
        .envelope
        .verify(DocumentKind::OperatorStatement, digest, &key.key)
        .map_err(Rejection::invalid_signature)?;
    if signed.envelope.signed_at() != statement.at.micros() {
        return Err(Rejection::invalid_signature(
            "the signature and the statement bear different dates",
        ));
    }
    require_valid_key(keys, key, statement.at, received.now)?;
    if !approver.operator {
        return Err(Rejection::NotOperator);
    }
    received.check_date(
        statement.at,
        statement.at,
        statement.at.after(OPERATOR_STATEMENT_MAX_AGE),
    )?;
    if is_known(&digest) {
        return Err(Rejection::Replayed);
    }
    Ok(digest)
}
