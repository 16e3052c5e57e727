//! Effects and sink of a tool, by what it does and how far it reaches.

use weaver_types::{Effects, SinkKind};

use super::action::Action;
use super::reach::{self, Reach};
use super::tool_text::ToolText;
use super::{ToolDescription, output};

/// Effects and sink as proposed, with the reason for the sink.
pub(super) struct EffectsProposal {
    pub(super) effects: Effects,
    /// `None` for the strictest that the effects allow.
    pub(super) sink: Option<SinkKind>,
    pub(super) why: String,
}

fn proposal(effects: Effects, sink: SinkKind, why: impl Into<String>) -> EffectsProposal {
    EffectsProposal { effects, sink: Some(sink), why: why.into() }
}

/// Proposes effects and a sink. Whatever the words leave open gets the strictest value that
/// remains.
pub(super) fn propose(
    action: Action,
    reach: &Reach,
    text: &ToolText,
    tool: &ToolDescription<'_>,
) -> EffectsProposal {
    match action {
        Action::Read => match output::egress(text, tool.input) {
            Some(why) => proposal(Effects::READ_OPEN, SinkKind::ExternalSend, why),
            None if reach.local => proposal(Effects::READ_LOCAL, SinkKind::None, "it only reads"),
            None => proposal(Effects::READ_OPEN, SinkKind::None, "it only reads"),
        },
        Action::Compute if tool.hints.open_world == Some(true) || reach::speaks_of_world(text) => {
            proposal(Effects::READ_OPEN, SinkKind::None, "it only reads")
        }
        Action::Compute => proposal(Effects::READ_LOCAL, SinkKind::None, "it only computes"),
        Action::AddOwn => {
            let why = "it adds to the user's own things, which tells nobody";
            proposal(Effects::WRITE_LOCAL, SinkKind::None, why)
        }
        Action::Send => {
            proposal(Effects::WRITE_OPEN, SinkKind::ExternalSend, "it reaches somebody else")
        }
        Action::Pay => {
            proposal(Effects::WRITE_OPEN, SinkKind::Payment, "it moves or commits money")
        }
        Action::GrantAccess => {
            proposal(Effects::WRITE_OPEN, SinkKind::Credential, "it gives or changes access")
        }
        Action::Write if reach.local => {
            let why = format!("what it changes stays here: {}", reach.why);
            proposal(Effects::WRITE_LOCAL, SinkKind::None, why)
        }
        Action::Write if output::egress(text, tool.input).is_some() => {
            let why = "it asks an address of the caller's, which can carry data out";
            proposal(Effects::WRITE_OPEN, SinkKind::ExternalSend, why)
        }
        Action::Write => EffectsProposal {
            effects: Effects::WRITE_OPEN,
            sink: None,
            why: "nothing says how far it reaches: the strictest for what writes".to_owned(),
        },
        Action::Destroy => {
            proposal(Effects::UNDECLARED, SinkKind::Destructive, "something may be lost")
        }
        Action::Unknown => EffectsProposal {
            effects: Effects::UNDECLARED,
            sink: None,
            why: "nothing says what it does: the strictest".to_owned(),
        },
    }
}
