//! What a capability can do to the world: its effects, and the class and rung that follow.
//!
//! Effects are compared component by component, so that drift in one component can never hide
//! behind another.

use serde::{Deserialize, Serialize};

/// How a capability affects what it works on, from harmless to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Impact {
    /// It only reads.
    Read,
    /// It changes something that can be changed back.
    Write,
    /// It may lose or damage something permanently.
    Destroy,
}

/// How far a capability reaches (MCP's `openWorldHint`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum World {
    /// Only a closed set of local things.
    Closed,
    /// The outside: networks, other people, other systems.
    Open,
}

/// The effects of a capability, in the terms of MCP's annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effects {
    /// How it affects what it works on.
    pub impact: Impact,
    /// How far it reaches.
    pub world: World,
}

impl Effects {
    /// Only reads local things.
    pub const READ_LOCAL: Self = Self { impact: Impact::Read, world: World::Closed };
    /// Only reads, but from outside.
    pub const READ_OPEN: Self = Self { impact: Impact::Read, world: World::Open };
    /// Writes local, reversible things.
    pub const WRITE_LOCAL: Self = Self { impact: Impact::Write, world: World::Closed };
    /// Writes outside.
    pub const WRITE_OPEN: Self = Self { impact: Impact::Write, world: World::Open };
    /// May lose or damage local things permanently.
    pub const DESTROY_LOCAL: Self = Self { impact: Impact::Destroy, world: World::Closed };
    /// May lose or damage outside things permanently.
    pub const DESTROY_OPEN: Self = Self { impact: Impact::Destroy, world: World::Open };
    /// The most dangerous effects, assumed when nothing is declared.
    pub const UNDECLARED: Self = Self::DESTROY_OPEN;

    /// The shorthands of documents, and what they stand for. `destructive` does not say where, so
    /// it counts as reaching outside.
    pub const SHORTHANDS: [(&'static str, Self); 5] = [
        ("read_local", Self::READ_LOCAL),
        ("read_open", Self::READ_OPEN),
        ("write_local", Self::WRITE_LOCAL),
        ("write_open", Self::WRITE_OPEN),
        ("destructive", Self::DESTROY_OPEN),
    ];

    /// What a shorthand stands for.
    #[must_use]
    pub fn parse_shorthand(word: &str) -> Option<Self> {
        Self::SHORTHANDS.iter().find(|(name, _)| *name == word).map(|(_, effects)| *effects)
    }

    /// The worse of both in each component.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { impact: self.impact.max(other.impact), world: self.world.max(other.world) }
    }

    /// True when every component is at most that of `bound`.
    #[must_use]
    pub fn within(self, bound: Self) -> bool {
        self.impact <= bound.impact && self.world <= bound.world
    }

    /// True when it changes anything.
    #[must_use]
    pub fn writes(self) -> bool {
        self.impact > Impact::Read
    }

    /// The safety class that the effects fall into, as the SecondBrain kernel defines it.
    #[must_use]
    pub fn class(self) -> SafetyClass {
        match (self.impact, self.world) {
            (Impact::Read, World::Closed) => SafetyClass::ReadOnly,
            (Impact::Write, World::Closed) => SafetyClass::LocalWrite,
            (Impact::Read | Impact::Write, World::Open) => SafetyClass::Network,
            (Impact::Destroy, _) => SafetyClass::Destructive,
        }
    }

    /// The rung of the risk ladder that follows from the effects alone.
    #[must_use]
    pub fn rung(self) -> Rung {
        match (self.impact, self.world) {
            (Impact::Read, World::Closed) => Rung::L0,
            (Impact::Read, World::Open) => Rung::L1,
            (Impact::Write, World::Closed) => Rung::L3,
            (Impact::Write, World::Open) | (Impact::Destroy, _) => Rung::L4,
        }
    }

    /// The strictest sink kind that these effects allow, assumed when none is declared.
    #[must_use]
    pub fn strictest_sink(self) -> SinkKind {
        match (self.impact, self.world) {
            (Impact::Read, _) | (Impact::Write, World::Closed) => SinkKind::None,
            (Impact::Write, World::Open) => SinkKind::Credential,
            (Impact::Destroy, _) => SinkKind::Destructive,
        }
    }
}

/// Safety classes, in the order of the SecondBrain kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SafetyClass {
    /// Reads local things.
    ReadOnly,
    /// Writes local, reversible things.
    LocalWrite,
    /// Reaches the network, to read or to write.
    Network,
    /// May destroy.
    Destructive,
}

impl SafetyClass {
    /// The most dangerous effects of this class, for declarations that name only a class.
    #[must_use]
    pub fn effects(self) -> Effects {
        match self {
            Self::ReadOnly => Effects::READ_LOCAL,
            Self::LocalWrite => Effects::WRITE_LOCAL,
            Self::Network => Effects::WRITE_OPEN,
            Self::Destructive => Effects::UNDECLARED,
        }
    }
}

/// The rungs of the risk ladder, from harmless (L0) to prohibited (L5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rung {
    /// Only observes.
    L0,
    /// Reads from outside.
    L1,
    /// Works on an isolated artifact; only an operator can declare this.
    L2,
    /// Changes local things reversibly.
    L3,
    /// External or irreversible: held at least.
    L4,
    /// Prohibited: always denied; only an operator can declare this.
    L5,
}

/// What kind of sink a capability is for the data that flows into it, from harmless to strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SinkKind {
    /// No data leaves the run's own environment.
    None,
    /// Data leaves to somebody else.
    ExternalSend,
    /// Money moves.
    Payment,
    /// Access is given or changed.
    Credential,
    /// Something may be lost.
    Destructive,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_and_rung_follow_the_table() {
        let table = [
            (Effects::READ_LOCAL, SafetyClass::ReadOnly, Rung::L0),
            (Effects::READ_OPEN, SafetyClass::Network, Rung::L1),
            (Effects::WRITE_LOCAL, SafetyClass::LocalWrite, Rung::L3),
            (Effects::WRITE_OPEN, SafetyClass::Network, Rung::L4),
            (Effects::DESTROY_LOCAL, SafetyClass::Destructive, Rung::L4),
            (Effects::DESTROY_OPEN, SafetyClass::Destructive, Rung::L4),
            (Effects::UNDECLARED, SafetyClass::Destructive, Rung::L4),
        ];
        for (effects, class, rung) in table {
            assert_eq!((effects.class(), effects.rung()), (class, rung));
        }
    }

    #[test]
    fn drift_in_either_component_widens() {
        assert!(Effects::READ_LOCAL.within(Effects::WRITE_LOCAL));
        assert!(!Effects::READ_OPEN.within(Effects::WRITE_LOCAL));
        assert!(!Effects::WRITE_LOCAL.within(Effects::READ_OPEN));
        assert_eq!(Effects::READ_OPEN.join(Effects::WRITE_LOCAL), Effects::WRITE_OPEN);
    }
}
