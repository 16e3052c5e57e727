//! The arguments of `weaver policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use weaver_policy::Pattern;
use weaver_types::{
    Confidentiality, Impact, Integrity, Operation, Rung, SafetyClass, SafetyMode, SinkKind, Verdict,
};

use super::signing::SigningArgs;
use crate::argument_error::ArgumentError;
use crate::shared_args::{ConfigArg, JsonFlag, parse_keyword};

const EXAMPLES: &str = "\
Look for what is hardly meant, and test a policy before it is signed:
  weaver policy lint --policy policy.toml --contracts contracts.toml
  weaver policy test cases.toml --policy policy.toml --contracts contracts.toml

Ask what can happen at all:
  weaver policy ask --class destructive --without-role admin --expect no

Answer recorded requests, explain one, see which a change would flip:
  weaver policy decide --policy policy.toml --contracts contracts.toml < requests.jsonl
  weaver policy explain --request one.json
  weaver policy diff old/ new/ --replay requests.jsonl

Without --policy the documents of weaver.toml are read. Nothing here decides for anybody, so
documents need no signature; answers say under `origin` whether theirs had one.";

const DECIDE: &str = "\
Example:
  weaver policy decide --policy policy.toml --contracts contracts.toml < requests.jsonl

A request, one a line:
  {\"id\", \"capability\", \"principal\": {\"id\", \"roles\"?, \"attributes\"?, \"permissions\"?, \"agent\"?},
   \"args\"?, \"operation\"?: \"invoke\"|\"view\", \"intent\"?, \"scope\"?: {name: value},
   \"justification\"?: {\"text\", \"source\": \"human\"|\"host\"|\"model\"},
   \"run\"?: {\"id\"?, \"mode\"?: \"NORMAL\"|\"SAFE\"|\"STRICT\",
            \"label\"?: {\"confidentiality\"?, \"integrity\"?}},
   \"at\"?: a time as RFC 3339, \"human_channel\"?: true|false}

An answer, one a line, in the order of the requests:
  {\"id\", \"verdict\", \"primary\", \"reasons\": […], \"policy_digest\", \"contracts_digest\", \"origin\"}

The principal is taken as the request gives it; principals of the policy are not looked up. A
capability counts as proposed by a server, so what the contracts do not say is undeclared. Limits
count the requests that were allowed, in the order of the lines. A line that is no request gets
an answer with its `error`; the others are answered, and the command ends with 3.";

const ASK: &str = "\
Examples:
  weaver policy ask --class destructive --without-role admin
  weaver policy ask --capability 'mail.*' --integrity untrusted --expect no
  weaver policy ask --verdict hold --known-principals --catalogue tools.jsonl

The question is whether anybody can get the verdict, `allow` unless you say another, which is
without any approval. `yes` comes with a request that really gets it. `no` means that everything
was looked at that the documents tell apart. Where that was not possible, the answer is
`not decided`. Without a catalogue it is about the capabilities that the documents name, and one
stand-in for every pattern. Limits of calls, signals and approvals are left out.";

const TEST: &str = "\
Example:
  weaver policy test cases.toml --policy policy.toml --contracts contracts.toml

A file of cases:
  [[cases]]
  name = \"a reader reads\"
  capability = \"docs.read\"
  principal = { id = \"ana\", roles = [\"reader\"] }
  expect = { verdict = \"allow\", reason = \"rule_allow\" }

Beside `name` and `expect` a case has the fields of a request, as `weaver policy decide --help`
shows them. `reason` may be left out. Every case is judged as if no call had been made before.";

const DIFF: &str = "\
Examples:
  weaver policy diff old/ new/ --replay requests.jsonl
  weaver policy diff old.toml new.toml --contracts contracts.toml --exit-code

A and B are folders with policy.toml, contracts.toml and, if there is one, keys.toml; or policy
documents, with --contracts for both. Requests are those of `weaver policy decide`.";

fn parse_pattern(text: &str) -> Result<Pattern, ArgumentError> {
    Pattern::parse(text).map_err(ArgumentError::malformed)
}

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Policy {
    /// Find rules that are valid but probably not meant
    Lint(Lint),
    /// Run the test cases of a file and report those that fail
    Test(Test),
    /// Explain the decisions on requests, and what would change them
    Explain(Explain),
    /// Decide requests, one per line
    Decide(Decide),
    /// Ask whether any request can get a verdict: an example, or a proof that none can
    Ask(Box<Ask>),
    /// Compare two sets of documents, and show which recorded requests change verdict
    Diff(Diff),
    /// Decide the calls of the last days again under a draft, and show what would change
    Replay(Replay),
    /// Suggest the rules that allow what was done in the last days
    Suggest(Suggest),
    /// Edit the policy in force: lint with every save, replay, sign
    Edit(Edit),
    /// Print the built-in baseline, a policy document
    ShowBaseline,
}

#[derive(Debug, Args)]
pub(crate) struct Documents {
    #[command(flatten)]
    pub(super) config: ConfigArg,
    /// The policy, instead of a configuration
    #[arg(long, value_name = "FILE", requires = "contracts", conflicts_with = "config")]
    pub(super) policy: Option<PathBuf>,
    /// The contracts
    #[arg(long, value_name = "FILE", requires = "policy")]
    pub(super) contracts: Option<PathBuf>,
    /// The keys; without them, nothing is reported about who can release what
    #[arg(long, value_name = "FILE", requires = "policy")]
    pub(super) keys: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  weaver policy lint --catalogue tools.jsonl --strict\n\n\
    A catalogue has one JSON object with an `id` a line, as `weaver route` reads it. With one, \
    rules that match none of its tools are found too.")]
pub(crate) struct Lint {
    #[command(flatten)]
    pub(super) documents: Documents,
    /// The tools, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub(super) catalogue: Option<PathBuf>,
    /// Exit with 1 if anything is found
    #[arg(long)]
    pub(super) strict: bool,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = TEST)]
pub(crate) struct Test {
    /// The cases
    #[arg(value_name = "FILE")]
    pub(super) cases: PathBuf,
    #[command(flatten)]
    pub(super) documents: Documents,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  weaver policy explain --request one.json\n\n\
    Requests are those of `weaver policy decide`, one a line. With --json each answer holds the \
    whole `decision`, whose canonical bytes are those of the gateway's for the same query, and \
    its failed `conditions`. --recorded compares the first request's decision with one in a file.")]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(super) documents: Documents,
    /// The requests; `-` is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(super) request: PathBuf,
    /// A recorded decision; exit with 1 if the documents decide differently
    #[arg(long, value_name = "FILE")]
    pub(super) recorded: Option<PathBuf>,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = DECIDE)]
pub(crate) struct Decide {
    #[command(flatten)]
    pub(super) documents: Documents,
    /// The requests; `-` is standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(super) requests: PathBuf,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExpectedAnswer {
    /// Somebody can
    Yes,
    /// Nobody can
    No,
}

#[derive(Debug, Args)]
#[command(after_help = ASK)]
pub(crate) struct Ask {
    #[command(flatten)]
    pub(super) documents: Documents,
    /// The verdict: allow, ask, hold, deny
    #[arg(long, default_value = "allow", value_parser = parse_keyword::<Verdict>)]
    pub(super) verdict: Verdict,
    /// The operation: invoke, view
    #[arg(long, default_value = "invoke", value_parser = parse_keyword::<Operation>)]
    pub(super) operation: Operation,
    /// The capability's id fits this pattern
    #[arg(long, value_name = "PATTERN", value_parser = parse_pattern)]
    pub(super) capability: Vec<Pattern>,
    /// Its class: read_only, local_write, network, destructive
    #[arg(long, visible_alias = "capability-class", value_parser = parse_keyword::<SafetyClass>)]
    pub(super) class: Vec<SafetyClass>,
    /// Its rung: L0 to L5
    #[arg(long, value_parser = parse_keyword::<Rung>)]
    pub(super) rung: Vec<Rung>,
    /// Its impact: read, write, destroy
    #[arg(long, value_parser = parse_keyword::<Impact>)]
    pub(super) impact: Vec<Impact>,
    /// Its sink: none, external_send, payment, credential, destructive
    #[arg(long, value_parser = parse_keyword::<SinkKind>)]
    pub(super) sink: Vec<SinkKind>,
    /// The principal's id fits this pattern
    #[arg(long, value_name = "PATTERN", value_parser = parse_pattern)]
    pub(super) principal: Vec<Pattern>,
    /// Only the principals that the policy names, with what it grants them
    #[arg(long)]
    pub(super) known_principals: bool,
    /// The principal has this role
    #[arg(long, value_name = "ROLE")]
    pub(super) with_role: Vec<String>,
    /// The principal does not have this role
    #[arg(long, value_name = "ROLE")]
    pub(super) without_role: Vec<String>,
    /// The mode of the run: NORMAL, SAFE, STRICT
    #[arg(long, value_parser = parse_keyword::<SafetyMode>)]
    pub(super) mode: Vec<SafetyMode>,
    /// How confidential the run's data is: public, internal, confidential, restricted
    #[arg(long, value_parser = parse_keyword::<Confidentiality>)]
    pub(super) confidentiality: Vec<Confidentiality>,
    /// Whether the run's data is trusted, untrusted
    #[arg(long, value_parser = parse_keyword::<Integrity>)]
    pub(super) integrity: Vec<Integrity>,
    /// Whether there is a justification: true, false
    #[arg(long, value_name = "BOOL")]
    pub(super) justified: Option<bool>,
    /// Whether the arguments are known: true, false
    #[arg(long, value_name = "BOOL")]
    pub(super) with_arguments: Option<bool>,
    /// The tools, one JSON object with an `id` per line
    #[arg(long, value_name = "FILE")]
    pub(super) catalogue: Option<PathBuf>,
    /// Exit with 1 unless this is the answer
    #[arg(long)]
    pub(super) expect: Option<ExpectedAnswer>,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = DIFF)]
pub(crate) struct Diff {
    /// The documents before
    pub(super) a: PathBuf,
    /// The documents after
    pub(super) b: PathBuf,
    /// The contracts of both, where A and B are policy documents
    #[arg(long, value_name = "FILE")]
    pub(super) contracts: Option<PathBuf>,
    /// Requests to decide under both, one per line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) replay: Option<PathBuf>,
    /// Exit with 1 if a document differs or a request changes verdict
    #[arg(long)]
    pub(super) exit_code: bool,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

const REPLAY: &str = "\
Examples:
  weaver policy replay policy.toml
  weaver policy replay draft.toml --since 30d --exit-code --json

Of each recorded call it says the verdict then and the verdict with the draft, by rule. The draft
needs no signature, and counts as enforced even where it says `observe`. Rules, justifications,
the floor and limits are decided again; what information flow, signals and preconditions said is
taken from the record. The log holds arguments redacted: a call that the draft would judge by a
masked value cannot be judged again, and is counted as such.";

const SUGGEST: &str = "\
Examples:
  weaver policy suggest
  weaver policy suggest --since 30d --json

The rules go to standard output as a policy writes them, each with the calls that it rests on and
what it does not cover; what they do not rest on goes to standard error. Nothing is suggested from
a call that was tainted, held or denied. What leaves the machine or destroys keeps asking. Nothing
is changed; look at it with `weaver policy replay`. Ends with 1 when there is nothing to suggest.";

/// Where recorded calls come from.
#[derive(Debug, Args)]
pub(crate) struct HistorySource {
    /// How far back: a number and s, m, h, d or w
    #[arg(long, value_name = "AGE", default_value = "7d", value_parser = crate::age::parse)]
    pub(super) since: std::time::Duration,
    #[command(flatten)]
    pub(super) config: ConfigArg,
    /// The ledger, instead of the one of the configuration
    #[arg(long, value_name = "FILE")]
    pub(super) store: Option<PathBuf>,
    /// The calls of this file, as `weaver replay --history` wrote it, instead of a ledger's
    #[arg(long, value_name = "FILE", conflicts_with = "store")]
    pub(super) history: Option<PathBuf>,
    /// The contracts, instead of those of the configuration
    #[arg(long, value_name = "FILE")]
    pub(super) contracts: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = REPLAY)]
pub(crate) struct Replay {
    /// The draft of a policy
    #[arg(value_name = "DRAFT")]
    pub(super) draft: PathBuf,
    #[command(flatten)]
    pub(super) source: HistorySource,
    /// Exit with 1 if any call gets another verdict or cannot be decided again
    #[arg(long)]
    pub(super) exit_code: bool,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = SUGGEST)]
pub(crate) struct Suggest {
    #[command(flatten)]
    pub(super) source: HistorySource,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

const EDIT: &str = "\
Examples:
  weaver policy edit
  EDITOR='code --wait' weaver policy edit --since 30d

Opens the policy in $VISUAL, $EDITOR or vi. With every save it says what lint finds and what the
policy would have made of the calls of the last days; an editor that has the terminal to itself is
told at its end. Then it raises the version, signs with the root key and puts the policy into
force. Until then nothing changes.";

#[derive(Debug, Args)]
#[command(after_help = EDIT)]
pub(crate) struct Edit {
    /// How far back the replay looks: a number and s, m, h, d or w
    #[arg(long, value_name = "AGE", default_value = "7d", value_parser = crate::age::parse)]
    pub(super) since: std::time::Duration,
    #[command(flatten)]
    pub(super) config: ConfigArg,
    #[command(flatten)]
    pub(super) sign: SigningArgs,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}
