//! Calls of a tool that a rule holds although its other calls go through.

use weaver_policy::MatchConditions;
use weaver_policy_analysis::propose::{
    ContractProposal, ToolDescription, changing_statement_match, destroying_choice_match,
    expression_match, git_setting_match, graph_query_match, graphql_mutation_match,
    option_injection_match, program_path_match, saved_file_match, unpacking_match,
};
use weaver_types::{Impact, SinkKind};

/// The name of the rules for arguments that a program would read as options.
pub(super) const OPTIONS: &str = "options";
pub(super) const OPTIONS_REASON: &str =
    "a program would read an argument as an option, or as every file";

/// The name of the rule for what changes something in a call of a read.
pub(super) const CHANGES: &str = "changes";
pub(super) const CHANGES_REASON: &str = "the tool is to read, and the call holds a mutation, a statement, a method or an action that changes something";
const DELETION_REASON: &str = "it takes something away, or writes over something else";
const READ_ACTION_REASON: &str = "the tool is to read, and the call asks for something else";

/// Some calls of a tool, and the rule that holds them.
#[derive(Debug, Clone)]
pub(super) struct HeldCalls {
    /// The name of the rule; a number may follow.
    pub(super) rule: &'static str,
    pub(super) reason: &'static str,
    pub(super) matches: MatchConditions,
}

impl HeldCalls {
    /// Those of a tool with this contract. `addresses` are the calls with an address in place of a file;
    /// `folders` are those that its server was set up for.
    pub(super) fn of_tool(
        tool: &ToolDescription<'_>,
        proposal: &ContractProposal,
        addresses: Option<MatchConditions>,
        folders: &[String],
    ) -> Vec<Self> {
        let reads = proposal.effects.impact == Impact::Read;
        // Destructive calls are held anyway.
        let is_mild = proposal.effective_sink() != SinkKind::Destructive;
        let held = |rule, reason, matches: Option<MatchConditions>| {
            matches.map(|matches| Self { rule, reason, matches })
        };
        let all = [
            held(OPTIONS, OPTIONS_REASON, option_injection_match(tool)),
            held(
                "addresses",
                "it would read an address, which can carry data out, and not a file",
                addresses,
            ),
            held(
                "mutations",
                "the GraphQL document has a mutation, which changes something",
                graphql_mutation_match(tool),
            ),
            held(
                "deletions",
                if reads { READ_ACTION_REASON } else { DELETION_REASON },
                is_mild.then(|| destroying_choice_match(tool, reads)).flatten(),
            ),
            held(
                "programs",
                "it would run a program that the call names",
                is_mild.then(|| program_path_match(tool)).flatten(),
            ),
            held(
                "git-settings",
                "it would change how git works, which may run a program",
                is_mild.then(|| git_setting_match(tool)).flatten(),
            ),
            held(
                "unpacking",
                "it would unpack an archive over the home folder or the system",
                is_mild.then(|| unpacking_match(tool, home().as_deref())).flatten(),
            ),
            held(
                "saved-files",
                "it would save its result among keys, start-up files or the system, or as no file of data",
                reads.then(|| saved_file_match(tool, folders)).flatten(),
            ),
            held(
                "statements",
                "the tool is to read, and the statement is not plainly a read of tables",
                reads.then(|| changing_statement_match(tool)).flatten(),
            ),
            held(
                "expressions",
                "the expression is a program that may do more than compute",
                reads.then(|| expression_match(tool)).flatten(),
            ),
            held(
                "queries",
                "the query may change something, or read from an address",
                reads.then(|| graph_query_match(tool)).flatten(),
            ),
        ];
        all.into_iter().flatten().collect()
    }
}

/// The home folder of the user.
pub(super) fn home() -> Option<String> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    variable("HOME").or_else(|| variable("USERPROFILE"))
}
