//! Proposes effects and sink of a tool, from what it does and how far it reaches.

use weaver_types::{Effects, SinkKind};

use super::action::ToolAction;
use super::reach::{self, Reach};
use super::tool_text::ToolText;
use super::{ToolDescription, critical_arguments, output, sharing, verb};

/// Further names of arguments for what a tool that computes has to fetch.
const COMPUTED_ADDRESSES: [&str; 4] = ["address", "addresse", "feed", "src"];

/// Proposed effects and sink, with the reason for the sink.
pub(super) struct EffectsProposal {
    pub(super) effects: Effects,
    /// `None` for the strictest that the effects allow.
    pub(super) sink: Option<SinkKind>,
    pub(super) why: String,
}

fn effects_proposal(effects: Effects, sink: SinkKind, why: impl Into<String>) -> EffectsProposal {
    EffectsProposal { effects, sink: Some(sink), why: why.into() }
}

/// Proposes effects and a sink. Whatever the words leave open gets the strictest remaining value.
pub(super) fn propose(
    action: ToolAction,
    reach: &Reach,
    text: &ToolText,
    tool: &ToolDescription<'_>,
) -> EffectsProposal {
    match action {
        ToolAction::Read => match output::egress_reason(text, tool.input, &[]) {
            Some(why) => effects_proposal(Effects::READ_OPEN, SinkKind::ExternalSend, why),
            None if reach.local => {
                effects_proposal(Effects::READ_LOCAL, SinkKind::None, "it only reads")
            }
            None => effects_proposal(Effects::READ_OPEN, SinkKind::None, "it only reads"),
        },
        ToolAction::Compute => {
            let opens = tool.hints.open_world == Some(true) || reach::mentions_remote_things(text);
            match output::egress_reason(text, tool.input, &COMPUTED_ADDRESSES) {
                Some(why) => effects_proposal(Effects::READ_OPEN, SinkKind::ExternalSend, why),
                None if opens => {
                    effects_proposal(Effects::READ_OPEN, SinkKind::None, "it only reads")
                }
                None => effects_proposal(Effects::READ_LOCAL, SinkKind::None, "it only computes"),
            }
        }
        ToolAction::AddToOwnData => {
            let why = "it adds to the user's own things, which tells nobody";
            effects_proposal(Effects::WRITE_LOCAL, SinkKind::None, why)
        }
        ToolAction::Send => effects_proposal(
            Effects::WRITE_OPEN,
            SinkKind::ExternalSend,
            "it reaches somebody else",
        ),
        ToolAction::Pay => {
            effects_proposal(Effects::WRITE_OPEN, SinkKind::Payment, "it moves or commits money")
        }
        ToolAction::GrantAccess => effects_proposal(
            Effects::WRITE_OPEN,
            SinkKind::Credential,
            "it gives or changes access",
        ),
        ToolAction::Write if reach.local => {
            let why = format!("what it changes stays here: {}", reach.why);
            effects_proposal(Effects::WRITE_LOCAL, SinkKind::None, why)
        }
        ToolAction::Write if output::egress_reason(text, tool.input, &[]).is_some() => {
            let why = "it asks an address of the caller's, which can carry data out";
            effects_proposal(Effects::WRITE_OPEN, SinkKind::ExternalSend, why)
        }
        ToolAction::Write if changes_known_thing(text, tool) => {
            let why = "it changes something of a service that others may see, and neither money nor access";
            effects_proposal(Effects::WRITE_OPEN, SinkKind::ExternalSend, why)
        }
        ToolAction::Write => EffectsProposal {
            effects: Effects::WRITE_OPEN,
            sink: None,
            why: "nothing says how far it reaches: the strictest for what writes".to_owned(),
        },
        ToolAction::Destroy => {
            effects_proposal(Effects::UNDECLARED, SinkKind::Destructive, "something may be lost")
        }
        ToolAction::Unknown => EffectsProposal {
            effects: Effects::UNDECLARED,
            sink: None,
            why: "nothing says what it does: the strictest".to_owned(),
        },
    }
}

/// Whether a write to a service is an ordinary one: its verb is known, it does not say how something
/// works later, and an argument says what it changes.
fn changes_known_thing(text: &ToolText, tool: &ToolDescription<'_>) -> bool {
    sharing::configuration_word(text).is_none()
        && verb::names_plain_write(&text.name)
        && !critical_arguments::propose(
            text,
            tool.input,
            Effects::WRITE_OPEN,
            SinkKind::ExternalSend,
        )
        .arguments
        .is_empty()
}
