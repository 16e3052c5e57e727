//! Caveats: conditions that a holder adds to a token before passing it on.
//!
//! Macaroons (Birgisson et al., *Macaroons: Cookies with Contextual Caveats for Decentralized
//! Authorization in the Cloud*, 2014): each caveat is added under an HMAC keyed with the MAC before
//! it, so that a holder can narrow a token offline and nobody can remove a caveat.

use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::{AgentId, Timestamp, TokenClaims};

use crate::error::AttenuationError;

/// How many caveats a token may have.
pub const MAX_CAVEATS: usize = 8;

/// A further condition of a token. It only narrows: a token with a caveat is accepted at most where
/// the token without it is. No caveat names a principal; that of the claims stays.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caveat {
    /// Only for this agent: the one that acts for the principal, or else the run's.
    Agent(AgentId),
    /// Only with exactly these arguments, by their digest.
    Arguments(Digest),
    /// Only until this time; a later time than the token's own has no effect.
    ExpiresAt(Timestamp),
}

impl Caveat {
    /// Only with exactly these arguments.
    ///
    /// # Errors
    /// [`AttenuationError::Arguments`], when they have no canonical bytes.
    pub fn arguments(value: &Value) -> Result<Self, AttenuationError> {
        let bytes = canonical::to_bytes(value, Profile::Foreign)
            .map_err(|error| AttenuationError::Arguments(error.to_string()))?;
        Ok(Self::Arguments(Digest::of(DomainTag::ARGS, &bytes)))
    }
}

/// What a token allows with all its caveats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NarrowedToken {
    /// The claims, with the earliest expiry, and the arguments of the caveats.
    pub claims: TokenClaims,
    /// The one agent that may use it, where a caveat names one.
    pub agent: Option<AgentId>,
    /// True when two conditions contradict each other, so that the token allows nothing.
    pub contradictory: bool,
}

impl NarrowedToken {
    pub(crate) fn from_claims(claims: TokenClaims) -> Self {
        Self { claims, agent: None, contradictory: false }
    }

    pub(crate) fn with_caveat(mut self, caveat: Caveat) -> Self {
        match caveat {
            Caveat::Agent(agent) => self.contradictory |= set_or_differs(&mut self.agent, agent),
            Caveat::Arguments(digest) => {
                self.contradictory |= set_or_differs(&mut self.claims.arguments, digest)
            }
            Caveat::ExpiresAt(at) => self.claims.expires_at = self.claims.expires_at.min(at),
        }
        self
    }
}

/// Sets an empty slot; true when it was set to another value before.
fn set_or_differs<T: PartialEq>(slot: &mut Option<T>, value: T) -> bool {
    match slot {
        Some(set) => *set != value,
        None => {
            *slot = Some(value);
            false
        }
    }
}
