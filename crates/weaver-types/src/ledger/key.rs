//! Keys of records, and their namespaces with owners.

use std::fmt;
use std::sync::Arc;

use crate::id::Tenant;

macro_rules! namespaces {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal, $owner:literal;)*) => {
        /// What kind of record a key names. Each namespace has one crate that writes it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Namespace {
            $($(#[doc = $doc])* $name,)*
        }

        impl Namespace {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The package that owns it.
            #[must_use]
            pub fn owner(self) -> &'static str {
                match self { $(Self::$name => $owner,)* }
            }

            /// What it holds, in one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*).trim_ascii(),)* }
            }

            /// Reads the stable text.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

namespaces! {
    /// Tokens that were consumed, until they expire.
    TokenUse = "token.use", "weaver-agent-kernel";
    /// Revocations of tokens, principals and runs.
    Revocation = "revocation", "weaver-agent-kernel";
    /// The state of a run: meters and label.
    Run = "run", "weaver-agent-kernel";
    /// Keyed hashes of the values that a run's user and its trusted sources named.
    Provenance = "run.provenance", "weaver-agent-kernel";
    /// How many tables of masks a run has had, so that no number of a mask comes again.
    Masks = "run.masks", "weaver-agent-kernel";
    /// Calls whose outcome is not recorded yet.
    OpenCall = "call.open", "weaver-agent-kernel";
    /// What stands behind a handle.
    Handle = "handle", "weaver-firewall";
    /// Held calls with their exact arguments, until they end.
    Hold = "approval.hold", "weaver-agent-kernel";
    /// Standing approvals, with the uses that are left.
    Standing = "approval.standing", "weaver-agent-kernel";
    /// Signed files that were taken in, so that none counts twice.
    Received = "approval.received", "weaver-agent-kernel";
    /// Approved versions of capabilities, for what no signed document pins.
    Baseline = "contract.baseline", "weaver-agent-kernel";
    /// Definitions of tools as their servers listed them, for those that a signed contract pins.
    Listing = "gateway.listing", "weaver-gateway";
    /// The clock as the operator confirmed it.
    Clock = "clock", "weaver-agent-kernel";
    /// How often what a class of calls said turned out right, by how sure it was.
    Calibration = "calibration", "weaver-agent-kernel";
    /// The newest version of each signed document that was accepted.
    HighWater = "policy.high_water", "weaver-policy";
    /// Which run a client process of a principal works in, and when it was last used.
    CurrentRun = "gateway.run", "weaver-gateway";
    /// How far the payloads of events were pruned, by retention.
    Retention = "log.retention", "weaver-trace-store";
    /// How far the gateway signed the log and what each target got.
    Published = "log.published", "weaver-gateway";
    /// Which tokens of clients the log tells of, and which of them were taken back.
    Clients = "gateway.clients", "weaver-gateway";
    /// The salt under which the gateway notes facts that nobody should guess from the record.
    Salt = "gateway.salt", "weaver-gateway";
    /// What the gateway writes to learn whether the ledger takes anything.
    Probe = "gateway.probe", "weaver-gateway";
    /// Entries of durable memory, in a file of their own, with their counts and their clock.
    Memory = "memory", "contextweaver";
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The key of a record: tenant, namespace and id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    /// The tenant that owns the record.
    pub tenant: Tenant,
    /// The kind of record.
    pub namespace: Namespace,
    /// The id within the namespace, at most 512 bytes. Clones of a key share it.
    pub id: Arc<str>,
}

impl RecordKey {
    /// A key.
    #[must_use]
    pub fn new(tenant: Tenant, namespace: Namespace, id: impl Into<Arc<str>>) -> Self {
        Self { tenant, namespace, id: id.into() }
    }
}

impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.tenant, self.namespace, self.id.escape_debug())
    }
}
