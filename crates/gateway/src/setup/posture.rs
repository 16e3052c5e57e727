//! The three initial policies.

use weaver_policy_analysis::propose::ContractProposal;
use weaver_types::{Rung, SinkKind};

use super::Permission;

/// How strict a new policy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posture {
    /// Everything is executed, and the log records what `careful` would have held or denied.
    Observe,
    /// Reads and local writes are executed; calls that leave the machine or destroy data are held.
    Careful,
    /// Every call is held.
    Locked,
}

impl Posture {
    /// Every posture with its name.
    pub const ALL: [(&'static str, Self); 3] =
        [("observe", Self::Observe), ("careful", Self::Careful), ("locked", Self::Locked)];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, one)| *one == self).map_or("locked", |(word, _)| word)
    }

    /// Parses its name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, one)| *one)
    }

    /// What a tool with this contract may do.
    pub(super) fn permission(self, proposal: &ContractProposal) -> Permission {
        match self {
            Self::Locked => Permission::Ask,
            Self::Observe => Permission::Allow,
            Self::Careful if below_floor(proposal) => Permission::Allow,
            Self::Careful => Permission::Ask,
        }
    }

    /// The text of its rules.
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

    /// The hosts from which a run may still read after untrusted input, as policy text.
    pub(super) fn trusted_destinations(self) -> &'static str {
        match self {
            Self::Observe | Self::Careful => include_str!("templates/trusted_destinations.toml"),
            Self::Locked => "",
        }
    }

    /// Whether local writes get contracts as such, bounded by rules.
    pub(super) fn bounds_local_writes(self) -> bool {
        match self {
            Self::Observe | Self::Careful => true,
            Self::Locked => false,
        }
    }

    /// Whether the policy enforces its rules.
    pub(super) fn policy_head(self) -> PolicyHead {
        match self {
            Self::Observe => PolicyHead {
                enforcement_line: "\n# Nothing is held or denied yet, only recorded. L5, revocations and the firewall hold.\nenforcement = \"observe\"\n",
                enforce_line: "\nenforcement = \"enforce\"",
            },
            Self::Careful | Self::Locked => PolicyHead { enforcement_line: "", enforce_line: "" },
        }
    }
}

/// What a posture adds to the policy's head and to individually chosen rules.
pub(super) struct PolicyHead {
    pub(super) enforcement_line: &'static str,
    /// The line that makes a rule enforced under every posture.
    pub(super) enforce_line: &'static str,
}

/// Whether the risk floor allows it: the floor holds writes to the outside and destructive calls.
fn below_floor(proposal: &ContractProposal) -> bool {
    proposal.effects.rung() < Rung::L4
}

/// Whether it sends something out of the machine.
pub(super) fn leaves_machine(proposal: &ContractProposal) -> bool {
    let sink = proposal.effective_sink();
    matches!(sink, SinkKind::ExternalSend | SinkKind::Payment | SinkKind::Credential)
}
