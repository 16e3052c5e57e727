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

/// Whether a verb of loss is about a state that is set anew: `clear the flag`, `clear_selection`.
pub(super) fn sets_state<'t>(word: &str, after: impl Iterator<Item = &'t String>) -> bool {
    const STATES: [&str; 6] = ["flag", "marker", "blocker", "selection", "highlight", "filter"];
    let mut object =
        after.skip_while(|word| matches!(word.as_str(), "the" | "a" | "its" | "this" | "current"));
    let is_state = object.next().is_some_and(|word| STATES.contains(&word.as_str()));
    word.starts_with("clear") && is_state
}

/// Whether a description says that an update merges what is given into what is there.
fn merges_update(word: &str, text: &ToolText) -> bool {
    word.starts_with("merge")
        && !text.names_verb(&["merge"])
        && text.names_verb(&["update", "patch", "set", "edit", "modify"])
}

/// Whether it takes two folders of this machine, and nothing that leads elsewhere.
fn takes_folders(text: &ToolText) -> bool {
    let is_folder = |word: &&str| matches!(*word, "dir" | "directory" | "folder" | "path");
    text.last_words().filter(is_folder).count() > 1
        && text.receivers.is_empty()
        && !text.takes(&lexicon::ADDRESS_ARGUMENTS)
}

/// Whether it turns a picture or a page, and no key.
fn turns_picture(text: &ToolText) -> bool {
    text.takes_path && text.is_about(&["image", "picture", "photo", "page", "pdf", "video"])
}

/// Whether a tool moves tasks or notes, and nothing says that money is among them.
fn moves_own_things(text: &ToolText) -> bool {
    const THINGS: [&str; 6] = ["todo", "task", "note", "memo", "bookmark", "reminder"];
    const MONEY: [&str; 14] = [
        "amount", "currency", "account", "iban", "price", "money", "payment", "fund", "balance",
        "wallet", "bank", "credit", "points", "recipient",
    ];
    text.is_named(&THINGS) && !text.is_about(&MONEY) && !text.takes(&MONEY)
}

/// Refines the meaning of a verb by the nouns and arguments of the tool.
pub(super) fn refine_action(action: ToolAction, word: &str, text: &ToolText) -> ToolAction {
    match action {
        // Cells are merged and words are replaced, as an editor does.
        ToolAction::Destroy if text.is_document && is_edit(word) => ToolAction::Write,
        ToolAction::Send if text.is_document && is_in_document(word) => ToolAction::Write,
        // An update that merges something into what is there is an update.
        ToolAction::Destroy if merges_update(word, text) => ToolAction::Write,
        // One folder becomes like the other, which may lose what only that one had.
        ToolAction::Send if word.starts_with("sync") && takes_folders(text) => ToolAction::Destroy,
        ToolAction::GrantAccess if word.starts_with("rotat") && turns_picture(text) => {
            ToolAction::Write
        }
        // What a list of tasks or notes has is put back, or put anew, as an editor does.
        ToolAction::Destroy
            if matches!(word, "restore" | "undo") && text.is_named(&reach::TASKS)
                || word.starts_with("replace") && edits_own(text) =>
        {
            ToolAction::Write
        }
        // Tasks and notes are transferred to another list.
        ToolAction::Pay if word.starts_with("transfer") && moves_own_things(text) => {
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
