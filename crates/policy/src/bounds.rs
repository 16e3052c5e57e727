//! The parts of a policy about approvals, signals and changed contracts.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use weaver_types::Authority;

use crate::signal::{SeverityThresholds, SignalTable};

/// What happens when a capability is not the one that was approved.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// It is ignored.
    Off,
    /// It is reported and stops nothing.
    Observe,
    /// It is denied.
    #[default]
    Enforce,
}

/// How long requests for approval stay open, and who may release what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalBounds {
    /// Seconds for which a request stays open.
    pub ttl_s: u32,
    /// Seconds that an approver's clock may be off.
    pub clock_skew_s: u32,
    /// Joined into what the floor holds.
    pub floor: Authority,
    /// Joined into what information flow holds.
    pub flow: Authority,
    /// Joined into what a signal holds.
    pub signal: Authority,
    /// What standing approvals may say.
    pub standing: StandingBounds,
}

impl Default for ApprovalBounds {
    fn default() -> Self {
        Self {
            ttl_s: 900,
            clock_skew_s: 30,
            floor: Authority::default(),
            flow: Authority::default(),
            signal: Authority::default(),
            standing: StandingBounds::default(),
        }
    }
}

/// What the policy allows a standing approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingBounds {
    /// The most uses.
    pub max_uses: u32,
    /// The longest time from `opened_at` to `expires`, in seconds.
    pub max_lifetime_s: u64,
    /// Who must sign it, in addition to the authority that each held call asks for.
    #[serde(default)]
    pub authority: Authority,
}

impl Default for StandingBounds {
    /// 100 uses within 30 days, one person.
    fn default() -> Self {
        Self { max_uses: 100, max_lifetime_s: 2_592_000, authority: Authority::default() }
    }
}

/// Writes the table of signals under the names that documents use.
pub(crate) fn signal_table<S: Serializer>(
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
    for (name, SeverityThresholds { hold_from, deny_from }) in all {
        map.serialize_entry(name, &(hold_from, deny_from))?;
    }
    map.end()
}
