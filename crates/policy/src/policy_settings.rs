//! Settings of a policy for approvals, and what it does about changed contracts.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use weaver_types::ApprovalAuthority;

use crate::signal::{RungThresholds, SignalTable};

/// What happens when a capability differs from the approved one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum ContractEnforcement {
    /// The change is ignored.
    Off,
    /// The change is reported, and the call goes on.
    Observe,
    /// The call is denied.
    #[default]
    Enforce,
}

/// How long approval requests stay open, and who may release which holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalSettings {
    /// How many seconds a request stays open.
    pub ttl_s: u32,
    /// How many seconds an approver's clock may be off.
    pub clock_skew_s: u32,
    /// Additional authority for holds of the floor.
    pub floor: ApprovalAuthority,
    /// Additional authority for holds of information flow.
    pub flow: ApprovalAuthority,
    /// Additional authority for holds of signals.
    pub signal: ApprovalAuthority,
    /// The bounds of standing approvals.
    pub standing: StandingApprovalBounds,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            ttl_s: 900,
            clock_skew_s: 30,
            floor: ApprovalAuthority::default(),
            flow: ApprovalAuthority::default(),
            signal: ApprovalAuthority::default(),
            standing: StandingApprovalBounds::default(),
        }
    }
}

/// The limits that a policy sets on standing approvals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingApprovalBounds {
    /// The maximum number of uses.
    pub max_uses: u32,
    /// The maximum time from `opened_at` to `expires`, in seconds.
    pub max_lifetime_s: u64,
    /// Who must sign it, in addition to the authority that each held call requires.
    #[serde(default)]
    pub authority: ApprovalAuthority,
}

impl Default for StandingApprovalBounds {
    /// 100 uses within 30 days, one person.
    fn default() -> Self {
        Self { max_uses: 100, max_lifetime_s: 2_592_000, authority: ApprovalAuthority::default() }
    }
}

/// Serialises the signal table with the key names that documents use.
pub(crate) fn serialize_signal_table<S: Serializer>(
    table: &SignalTable,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    let all = [
        ("info", table.info),
        ("warning", table.warning),
        ("critical", table.critical),
        ("low_confidence", table.low_confidence),
        ("unavailable", table.unavailable),
    ];
    for (name, RungThresholds { hold_from, deny_from }) in all {
        map.serialize_entry(name, &(hold_from, deny_from))?;
    }
    map.end()
}
