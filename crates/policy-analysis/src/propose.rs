//! Proposes contracts from what a tool says about itself: its name, its description and its schema.
//!
//! A rule-based classifier over a small lexicon of English verbs and nouns. It is not a learned
//! model on purpose: each field of a proposal names the words that it is based on, so an operator
//! can check it, and the same text always gives the same proposal.
//!
//! A proposal is a draft for an operator to review and never takes effect by itself. The classifier
//! knows the general meaning of English words, and no tool in particular. If the words are
//! ambiguous, it proposes the stricter alternative; if they say nothing, the strictest. A verb for
//! writing also counts after the first sentence and in the passive (`messages are deleted`), though
//! not every way to say that a tool writes is understood.

mod action;
mod argument;
mod computation;
mod critical_arguments;
mod deletion_words;
mod destroying_choice;
mod document;
mod effects;
mod expression;
mod file_output;
mod git_setting;
mod graph_query;
mod graphql_mutation;
mod hints;
mod lexicon;
mod listed_operations;
mod local_write;
mod option_injection;
mod output;
mod own_data;
mod program_path;
mod reach;
mod receiver_reads;
mod records;
mod saved_file;
mod sensitive_places;
mod server_evidence;
mod server_features;
mod server_reach;
mod server_traits;
mod service_name;
mod sharing;
mod statement_read;
mod tool_text;
mod unpacking;
mod verb;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_policy::OutputLabel;
use weaver_types::{
    Confidentiality, Digest, Effects, Integrity, JsonPointer, RecordIdentity, SensitivityTag,
    SinkKind,
};

use action::ToolAction;
pub use destroying_choice::destroying_choice_match;
pub use document::{contracts_document, standing_approval_terms};
use effects::EffectsProposal;
pub use expression::expression_match;
pub use git_setting::git_setting_match;
pub use graph_query::graph_query_match;
pub use graphql_mutation::graphql_mutation_match;
pub use hints::ToolHints;
pub use local_write::{LocalRead, LocalWrite, local_read, local_write};
pub use option_injection::option_injection_match;
pub use program_path::program_path_match;
pub use saved_file::saved_file_match;
pub use sensitive_places::sensitive_paths;
pub use server_features::{propose_completion, propose_prompt, propose_resource_reading};
pub use server_reach::ServerReach;
pub use server_traits::ServerTraits;
pub use statement_read::changing_statement_match;
use tool_text::ToolText;
pub use unpacking::unpacking_match;

/// What a tool says about itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolDescription<'a> {
    /// Its name, without the server's name.
    pub name: &'a str,
    /// Its title; may be empty.
    pub title: &'a str,
    /// What it does; may be empty.
    pub description: &'a str,
    /// The JSON Schema of its arguments.
    pub input: Option<&'a Value>,
    /// The JSON Schema of its output.
    pub output: Option<&'a Value>,
    /// The server's hints about it.
    pub hints: ToolHints,
    /// What the other tools of its server say of the server's reach.
    pub server: ServerReach,
}

impl<'a> ToolDescription<'a> {
    /// Parses a tool as a server lists it, or in a model provider's tool format.
    #[must_use]
    pub fn from_json(tool: &'a Value) -> Self {
        let text = |key: &str| tool.get(key).and_then(Value::as_str);
        let annotations = tool.get("annotations");
        let title = text("title").or_else(|| annotations?.get("title")?.as_str());
        let schemas = ["inputSchema", "parameters", "input_schema", "schema"];
        let input = schemas.iter().find_map(|key| tool.get(key));
        Self {
            name: text("name").unwrap_or_default(),
            title: title.unwrap_or_default(),
            description: text("description").unwrap_or_default(),
            input: input.filter(|schema| schema.is_object()),
            output: tool.get("outputSchema").filter(|schema| schema.is_object()),
            hints: ToolHints::from_annotations(annotations),
            server: ServerReach::Unknown,
        }
    }

    /// Whether its server works on documents of this machine.
    fn is_of_documents(&self) -> bool {
        self.server == ServerReach::Documents
    }

    /// The same tool of a server whose tools show this together.
    #[must_use]
    pub fn with_server(self, server: impl Into<ServerTraits>) -> Self {
        let ServerTraits { reach, repeats_default_hints } = server.into();
        let hints = if repeats_default_hints { ToolHints::default() } else { self.hints };
        Self { server: reach, hints, ..self }
    }
}

/// A proposed contract for a tool.
///
/// ```
/// use weaver_policy_analysis::propose::{ToolDescription, propose};
/// use weaver_types::{Effects, SinkKind};
///
/// let send = ToolDescription { name: "send_fax", description: "Sends a fax.", ..ToolDescription::default() };
/// assert_eq!(propose(&send).sink, Some(SinkKind::ExternalSend));
/// let list = ToolDescription { name: "list_faxes", description: "Lists faxes.", ..ToolDescription::default() };
/// assert_eq!(propose(&list).effects, Effects::READ_LOCAL);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ContractProposal {
    /// What it can do.
    pub effects: Effects,
    /// The kind of sink; `None` for the strictest that its effects allow.
    pub sink: Option<SinkKind>,
    /// The topics of the tool.
    pub tags: BTreeSet<String>,
    /// The critical arguments; empty without a sink or without a schema.
    pub critical_arguments: BTreeSet<JsonPointer>,
    /// The arguments without which a call tells nobody.
    pub sends_to: BTreeSet<JsonPointer>,
    /// The members that identify the records of its output.
    pub records: Option<RecordIdentity>,
    /// Sensitive data in its output.
    pub sensitivity: BTreeSet<SensitivityTag>,
    /// Whether its server says that it is idempotent, and nothing contradicts that.
    pub idempotent: bool,
    /// The digest of the server's description, if the caller supplied it. The contract pins it.
    pub upstream_digest: Option<Digest>,
    /// The label of its output.
    pub output: OutputLabel,
    /// The reasons, by contract field.
    pub reasons: BTreeMap<&'static str, String>,
}

impl ContractProposal {
    /// The sink kind of the contract; if none is proposed, the strictest one that the effects imply.
    #[must_use]
    pub fn effective_sink(&self) -> SinkKind {
        self.sink.unwrap_or_else(|| self.effects.strictest_sink())
    }
}

/// Proposes a contract.
#[must_use]
pub fn propose(tool: &ToolDescription<'_>) -> ContractProposal {
    let text = ToolText::new(tool);
    let found = action::classify(&text, tool.hints);
    let reach = match found.action {
        ToolAction::Compute | ToolAction::Read => {
            reach::determine_read_reach(&text, tool.hints, tool.server)
        }
        _ => reach::determine_write_reach(&text, tool.hints, tool.server),
    };
    let EffectsProposal { mut effects, sink, why } =
        effects::propose(found.action, &reach, &text, tool);
    if tool.hints.destructive == Some(true) && found.action > ToolAction::Read {
        effects = Effects::UNDECLARED;
    }
    // The reach is a reason only for actions on which it has an influence.
    let by_reach =
        matches!(found.action, ToolAction::Read | ToolAction::AddToOwnData | ToolAction::Write);
    let because =
        if by_reach { format!("{}; {}", found.why, reach.why) } else { found.why.clone() };
    let mut reasons = BTreeMap::from([("effects", because), ("sink", why)]);
    let counted = sink.unwrap_or_else(|| effects.strictest_sink());
    let critical = critical_arguments::propose(&text, tool.input, effects, counted);
    let critical_arguments = critical.arguments;
    if !critical_arguments.is_empty() {
        reasons.insert("critical_arguments", critical.why);
    }
    let sends_to = records::propose_sends_to(&text, tool.input, effects, counted);
    let asks = records::propose_read_addresses(&text, tool.input, effects, counted);
    if !sends_to.is_empty() {
        let why = "a call that names nobody there tells nobody".to_owned();
        reasons.insert("sends_to", why);
    } else if !asks.is_empty() {
        let why = "a call without an address there reads a file of this machine".to_owned();
        reasons.insert("sends_to", why);
    }
    let sends_to = &sends_to | &asks;
    let records = records::propose_records(&text, tool.output, effects);
    if records.is_some() {
        let why = "its schema shows them; check that nobody who fills a record chooses its id";
        reasons.insert("records", why.to_owned());
    }
    let output = output::propose_label(&text, tool.input, effects);
    reasons.insert("output", output.why);
    let output = output.label;
    let tags = lexicon::tags(&text.nouns());
    let sensitivity = output::propose_sensitivity(&text, output);
    let repeatable = matches!(
        found.action,
        ToolAction::Compute | ToolAction::Read | ToolAction::Write | ToolAction::Destroy
    );
    let idempotent = repeatable && tool.hints.idempotent == Some(true);
    if idempotent {
        let why = "the server says that calling it twice is calling it once".to_owned();
        reasons.insert("idempotent", why);
    }
    ContractProposal {
        effects,
        sink,
        tags,
        critical_arguments,
        sends_to,
        records,
        sensitivity,
        idempotent,
        upstream_digest: None,
        output,
        reasons,
    }
}

/// The label for output that others may have written.
fn untrusted_output(confidentiality: Confidentiality) -> OutputLabel {
    OutputLabel { confidentiality: Some(confidentiality), integrity: Some(Integrity::Untrusted) }
}

#[cfg(test)]
mod tests;
