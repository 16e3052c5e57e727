//! The three starting points of a policy.

use weaver_policy_analysis::propose::Proposal;
use weaver_types::{Rung, SinkKind};

use super::Permission;

/// How strict a new policy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posture {
    /// Everything goes through, and the log records what `careful` would have stopped.
    Observe,
    /// Reads and local writes go through; what leaves the machine or destroys is held.
    Careful,
    /// Every call is held.
    Locked,
}

impl Posture {
    /// Every posture, with its word.
    pub const ALL: [(&'static str, Self); 3] =
        [("observe", Self::Observe), ("careful", Self::Careful), ("locked", Self::Locked)];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, one)| *one == self).map_or("locked", |(word, _)| word)
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, one)| *one)
    }

    /// What a tool with this contract is allowed.
    pub(super) fn permission(self, proposal: &Proposal) -> Permission {
        match self {
            Self::Locked => Permission::Ask,
            Self::Observe => Permission::Allow,
            Self::Careful if below_floor(proposal) => Permission::Allow,
            Self::Careful => Permission::Ask,
        }
    }

    /// The rules as the policy writes them.
    pub(super) fn rules(self) -> &'static str {
        match self {
            Self::Observe => concat!(
                include_str!("templates/observe.toml"),
                include_str!("templates/careful.toml")
            ),
            Self::Careful => include_str!("templates/careful.toml"),
            Self::Locked => include_str!("templates/locked.toml"),
        }
    }

    /// The hosts from which a run may read after it took in untrusted data, as the policy writes them.
    pub(super) fn trusted_destinations(self) -> &'static str {
        match self {
            Self::Observe | Self::Careful => include_str!("templates/trusted_destinations.toml"),
            Self::Locked => "",
        }
    }

    /// Whether local writes are proposed as such, and bounded by rules.
    pub(super) fn bounds_local_writes(self) -> bool {
        match self {
            Self::Observe | Self::Careful => true,
            Self::Locked => false,
        }
    }

    /// The form of the policy, and whether it enforces its rules.
    pub(super) fn enforcement(self) -> PolicyHead {
        match self {
            Self::Observe => PolicyHead {
                format: 2,
                line: "\n# Nothing is held or denied yet, only recorded. L5, revocations and the firewall hold.\nenforcement = \"observe\"\n",
                word: "\nenforcement = \"enforce\"",
            },
            Self::Careful | Self::Locked => PolicyHead { format: 1, line: "", word: "" },
        }
    }
}

/// What a posture says at the head of the policy, and in rules that were chosen one by one.
pub(super) struct PolicyHead {
    pub(super) format: u8,
    pub(super) line: &'static str,
    /// The line of a rule that is enforced under every posture.
    pub(super) word: &'static str,
}

/// Whether the floor lets it through: what writes outside or destroys, it holds.
fn below_floor(proposal: &Proposal) -> bool {
    proposal.effects.rung() < Rung::L4
}

/// Whether it takes something out of the machine.
pub(super) fn goes_out(proposal: &Proposal) -> bool {
    let sink = proposal.counted_sink();
    matches!(sink, SinkKind::ExternalSend | SinkKind::Payment | SinkKind::Credential)
}
