//! Refines what a verb means by the nouns and arguments of the tool.

use super::ToolAction;
use crate::propose::tool_text::ToolText;
use crate::propose::{lexicon, own_data, reach, sharing};

/// Whether a verb of loss says how a document is edited.
fn is_edit(word: &str) -> bool {
    const EDITS: [&str; 4] = ["merge", "replace", "force", "stop"];
    EDITS.iter().any(|edit| word.starts_with(edit))
}

/// Whether a verb for telling somebody says what is written into a document.
fn is_in_document(word: &str) -> bool {
    const WRITES: [&str; 8] =
        ["export", "reply", "comment", "apply", "applies", "introduce", "note", "return"];
    WRITES.iter().any(|known| word.starts_with(known))
}

/// What a check finds, and what nobody should wave through.
const DOUBTS: [&str; 6] = ["tamper", "tampering", "risk", "violation", "warning", "drift"];

/// Whether it puts a new text in the place of one of the user's own.
fn edits_own(text: &ToolText) -> bool {
    text.names_verb(&["update", "edit", "modify"])
        && (text.is_named(&reach::TASKS) || text.is_named(&["note", "memo"]))
}

/// Whether its name says that messages are marked as read.
fn marks_as_read(text: &ToolText) -> bool {
    text.names_verb(&["mark"])
        && text.name.last().is_some_and(|word| matches!(word.as_str(), "read" | "unread" | "seen"))
}

/// Whether it takes a password for a document.
fn takes_new_password(text: &ToolText) -> bool {
    let is_password = |word: &str| matches!(word, "password" | "passphrase");
    (text.is_document || text.takes_path) && text.last_words().any(is_password)
}

/// Refines the meaning of a verb by the nouns and arguments of the tool.
pub(super) fn refine_action(action: ToolAction, word: &str, text: &ToolText) -> ToolAction {
    match action {
        // Cells are merged and words are replaced, as an editor does.
        ToolAction::Destroy if text.is_document && is_edit(word) => ToolAction::Write,
        ToolAction::Send if text.is_document && is_in_document(word) => ToolAction::Write,
        // What a list of tasks or notes has is put back, or put anew, as an editor does.
        ToolAction::Destroy
            if matches!(word, "restore" | "undo") && text.is_named(&reach::TASKS)
                || word.starts_with("replace") && edits_own(text) =>
        {
            ToolAction::Write
        }
        // What somebody has tampered with counts from then on.
        ToolAction::Write if word.starts_with("accept") && text.is_named(&DOUBTS) => {
            ToolAction::GrantAccess
        }
        // `Mark messages as read` tells nobody, and neither does a draft that is composed.
        ToolAction::Write if marks_as_read(text) => ToolAction::AddToOwnData,
        ToolAction::Write if word.starts_with("compos") && lexicon::makes_draft(text) => {
            ToolAction::AddToOwnData
        }
        // A password decides who opens a thing later.
        ToolAction::Write | ToolAction::AddToOwnData if takes_new_password(text) => {
            ToolAction::GrantAccess
        }
        // A file on this disk is told to nobody.
        ToolAction::Send if word == "export" && text.takes_path && text.receivers.is_empty() => {
            ToolAction::Write
        }
        // A key of the keyboard.
        ToolAction::Write if matches!(word, "press" | "click" | "hover" | "drag") => action,
        ToolAction::Send | ToolAction::Write | ToolAction::AddToOwnData
            if lexicon::is_about_money(text) =>
        {
            ToolAction::Pay
        }
        ToolAction::AddToOwnData | ToolAction::Write if lexicon::changes_bank_details(text) => {
            ToolAction::Pay
        }
        ToolAction::Send if lexicon::is_about_credentials(text) => ToolAction::GrantAccess,
        ToolAction::Write | ToolAction::AddToOwnData
            if lexicon::is_about_access(text) || sharing::gives_access(text) =>
        {
            ToolAction::GrantAccess
        }
        // Something that is generated from the arguments alone is computed.
        ToolAction::Write if own_data::only_generates(text) => ToolAction::Compute,
        ToolAction::AddToOwnData if lexicon::is_read_by_others(text) => ToolAction::Send,
        ToolAction::AddToOwnData | ToolAction::Write if sharing::sharing_word(text).is_some() => {
            ToolAction::Send
        }
        ToolAction::AddToOwnData if lexicon::makes_draft(text) => ToolAction::AddToOwnData,
        ToolAction::AddToOwnData if lexicon::adds_to_own_things(text) => ToolAction::AddToOwnData,
        ToolAction::AddToOwnData | ToolAction::Write if lexicon::names_receiver(text) => {
            ToolAction::Send
        }
        ToolAction::AddToOwnData
            if sharing::others_see(text).is_some()
                && sharing::configuration_word(text).is_none() =>
        {
            ToolAction::Send
        }
        ToolAction::AddToOwnData => ToolAction::Write,
        other => other,
    }
}
