//! Caveats: what a holder of a token adds to it before handing it on.
//!
//! Macaroons (Birgisson et al., *Macaroons: Cookies with Contextual Caveats for Decentralized
//! Authorization in the Cloud*, 2014): each caveat is added under an HMAC keyed with the seal before it,
//! so that a holder can narrow a token offline and nobody can take a caveat away again.

use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, Tag};
use weaver_types::{AgentId, Timestamp, TokenClaims};

use crate::error::TokenError;

/// How many caveats a token may have: how often it may be handed on.
pub const MAX_CAVEATS: usize = 8;

/// A further condition of a token. It only ever narrows: a token with it is accepted at most where
/// the token without it is. None of them names a principal; the root's stays.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caveat {
    /// Only for this agent: the one that acts for the principal, else the run's.
    Agent(AgentId),
    /// Only with exactly these arguments, by their digest.
    Arguments(Digest),
    /// Only until then; a later time than the token's own changes nothing.
    ExpiresAt(Timestamp),
}

impl Caveat {
    /// Only with exactly these arguments.
    ///
    /// # Errors
    /// [`TokenError::Arguments`], when they have no canonical bytes.
    pub fn arguments(value: &Value) -> Result<Self, TokenError> {
        let bytes = canonical::to_bytes(value, Profile::Foreign)
            .map_err(|error| TokenError::Arguments(error.to_string()))?;
        Ok(Self::Arguments(Digest::of(Tag::ARGS, &bytes)))
    }
}

/// What a token allows, once all its caveats are taken together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NarrowedToken {
    /// The claims, with the earliest expiry, and the arguments of the caveats.
    pub claims: TokenClaims,
    /// The one agent that may use it, where a caveat names one.
    pub agent: Option<AgentId>,
    /// True when two conditions exclude each other: nothing fits.
    pub void: bool,
}

impl NarrowedToken {
    pub(crate) fn root(claims: TokenClaims) -> Self {
        Self { claims, agent: None, void: false }
    }

    pub(crate) fn by(mut self, caveat: Caveat) -> Self {
        match caveat {
            Caveat::Agent(agent) => self.void |= differs(&mut self.agent, agent),
            Caveat::Arguments(digest) => self.void |= differs(&mut self.claims.arguments, digest),
            Caveat::ExpiresAt(at) => self.claims.expires_at = self.claims.expires_at.min(at),
        }
        self
    }
}

/// Sets what was open; true when it was set to something else before.
fn differs<T: PartialEq>(slot: &mut Option<T>, value: T) -> bool {
    match slot {
        Some(set) => *set != value,
        None => {
            *slot = Some(value);
            false
        }
    }
}
