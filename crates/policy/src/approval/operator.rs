//! The statements with which an operator confirms or revokes something.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::signature::{Envelope, Kind, SignatureError, SigningKey};
use weaver_types::{CallId, Digest, LogId, RequestId, RunId, StandingId, Timestamp};

use super::person::{approver_key, approver_named, key_id, require_valid_key};
use super::{APPROVAL_VERSION, Nonce, ReceiptTime, Rejection};
use crate::keys::Keys;
use crate::signal::{BeliefClass, CalibrationSample, Confidence};

/// How old an operator's word may be when it is received. Whoever remembers its digest for this
/// long and the skew twice over has every replay.
pub const OPERATOR_WORD_LIFE: Duration = Duration::from_secs(900);

/// What the operator says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum OperatorAction {
    /// The clock is right, up to this time.
    ConfirmClock {
        /// Up to when.
        until: Timestamp,
    },
    /// End this run.
    EndRun {
        /// The run.
        run: RunId,
    },
    /// Take back this request, granted or not.
    RevokeRequest {
        /// The request.
        request: RequestId,
    },
    /// Take back this standing approval.
    RevokeStanding {
        /// The standing approval.
        standing: StandingId,
    },
    /// It turned out whether what a call said was right.
    Outcome(BeliefOutcome),
}

/// How something turned out that a class of calls had said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeliefOutcome {
    /// The class of beliefs: for what a call brought, the capability.
    pub class: String,
    /// How sure it was, in thousandths.
    pub confidence: u16,
    /// Whether it was right.
    pub correct: bool,
    /// The call, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

impl BeliefOutcome {
    /// The sample that it is; `None` where the class is no name or the confidence is above 1,000.
    #[must_use]
    pub fn sample(&self) -> Option<CalibrationSample> {
        Some(CalibrationSample {
            class: BeliefClass::parse(&self.class).ok()?,
            confidence: Confidence::thousandths(self.confidence)?,
            correct: self.correct,
            synthetic: false,
        })
    }
}

/// A confirmation or revocation by an operator, for one log, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatorWord {
    /// The version of this form: 1.
    pub v: u64,
    /// What is said.
    pub word: OperatorAction,
    /// The log that it is said to.
    pub log: LogId,
    /// The person, as the keys document names them.
    pub approver: String,
    /// When.
    pub at: Timestamp,
    /// Makes it unlike any other word.
    pub nonce: Nonce,
}

/// An operator's word with its signature: the content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedOperatorWord {
    /// The word.
    pub operator_word: OperatorWord,
    /// Its signature.
    pub envelope: Envelope,
}

impl OperatorWord {
    /// What a signature of this covers, and by which a replay is known.
    ///
    /// # Errors
    /// [`CanonicalError`], for a time beyond ±2^53.
    pub fn signed_digest(&self) -> Result<Digest, CanonicalError> {
        Ok(Kind::OperatorWord.digest(&canonical::of(self, Profile::Record)?))
    }

    /// Signs it: the content of the file for the inbox.
    ///
    /// # Errors
    /// [`SignatureError`], for a time beyond ±2^53.
    pub fn sign(self, key: &SigningKey) -> Result<SignedOperatorWord, SignatureError> {
        let (digest, at) = (self.signed_digest()?, self.at.micros());
        let envelope = Envelope::sign(Kind::OperatorWord, digest, key_id(key)?, key, at)?;
        Ok(SignedOperatorWord { operator_word: self, envelope })
    }
}

/// Verifies an operator's word for this log and gives the digest under which it must be remembered.
/// A word whose digest `seen` knows is a replay.
///
/// # Errors
/// [`Rejection`], the first that applies. Whatever it is, nothing was confirmed or taken back.
pub fn verify_operator_word(
    keys: &Keys,
    log: &LogId,
    signed: &SignedOperatorWord,
    moment: ReceiptTime,
    seen: impl FnOnce(&Digest) -> bool,
) -> Result<Digest, Rejection> {
    let said = &signed.operator_word;
    if said.v != APPROVAL_VERSION {
        return Err(Rejection::malformed("its version is not 1"));
    }
    if said.log != *log {
        return Err(Rejection::WrongLog);
    }
    let approver = approver_named(keys, &said.approver)?;
    let key = approver_key(approver, signed.envelope.key())?;
    let digest = said.signed_digest().map_err(Rejection::signature)?;
    signed.envelope.verify(Kind::OperatorWord, digest, &key.key).map_err(Rejection::signature)?;
    if signed.envelope.signed_at() != said.at.micros() {
        return Err(Rejection::signature("the signature and the word bear different dates"));
    }
    require_valid_key(keys, key, said.at, moment.now)?;
    if !approver.operator {
        return Err(Rejection::NotOperator);
    }
    moment.admits(said.at, said.at, said.at.after(OPERATOR_WORD_LIFE))?;
    if seen(&digest) {
        return Err(Rejection::Replayed);
    }
    Ok(digest)
}
