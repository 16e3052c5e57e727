//! The arguments of `weaver approve`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::shared_args::{ConfigArg, JsonFlag, PassphraseArgs};

const EXAMPLES: &str = "\
See what waits, look at one request, release it:
  weaver approve list
  weaver approve show apr_0123…
  weaver approve grant apr_0123… --key alice.key --reason \"agreed with finance\"

Take something back, as an operator:
  weaver approve revoke apr_0123… --key alice.key

Beside a gateway whose configuration is not at hand:
  weaver approve list --store .weaver/ledger.db
  weaver approve grant apr_0123… --store .weaver/ledger.db --inbox .weaver/inbox --key alice.key --as alice

Every answer is a signed file in the inbox. The gateway verifies it under the signed keys
document and only then records it; what these commands check beforehand is help, not proof.";

const STANDING: &str = "\
Write one in flags:
  weaver approve standing grant --key alice.key --capability 'tickets.*' --principal owner \\
    --argument '{ at = \"/project\", equals = \"web\" }' --uses 20 --expires 7d

Or in a file (TOML), for several people to sign:
  capability = [\"mail.send\"]
  principals = [\"owner\"]
  arguments = [{ at = \"/to\", domains = \"example.com\" }]
  uses = 10
  expires = 2027-01-31T00:00:00Z

  weaver approve standing grant --key alice.key --from mail.toml --out mail.json
  weaver approve standing sign mail.json --key bob.key";

const GRANT: &str = "\
Examples:
  weaver approve grant apr_0123… --key alice.key --reason \"agreed with finance\"
  weaver approve grant apr_0123… apr_4567… --wait 10
  weaver approve grant --all-shown

The request is shown first; of several, each with all its arguments in a line. What is signed is the digest of exactly what was shown. Then the same
call, made again with the same arguments before the deadline, goes through once.";

const DENY: &str = "\
Example:
  weaver approve deny apr_0123… --key alice.key --reason \"not this branch\"

A denial ends the request, also one that was granted and not used yet. The reason is recorded, and
the agent reads it when it makes the call again.";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Approve {
    /// List the pending requests, oldest first
    List(List),
    /// Show one request: the call, why it is held, who asks, who can release it
    Show(Show),
    /// Grant a held call, once
    #[command(after_help = GRANT)]
    Grant(AnswerArgs),
    /// Deny a held call
    #[command(after_help = DENY)]
    Deny(AnswerArgs),
    /// Revoke a request, granted or not; operators only
    Revoke(Revoke),
    /// Approvals given in advance
    #[command(subcommand)]
    Standing(StandingCommand),
    /// Print requests as they open and close, one per line
    Watch(Watch),
    /// Confirm that the clock is right after it jumped; operators only
    Clock(Clock),
    /// End a run: its tokens and results are void; operators only
    EndRun(EndRun),
}

/// Where the ledger and the inbox are.
#[derive(Debug, Args)]
pub(crate) struct ApprovalSource {
    #[command(flatten)]
    pub(super) config: ConfigArg,
    /// The ledger, instead of the one of the configuration; nothing else is read of it then
    #[arg(long, value_name = "FILE")]
    pub(super) store: Option<PathBuf>,
    /// The inbox of the gateway; goes with --store
    #[arg(long, value_name = "DIR", requires = "store")]
    pub(super) inbox: Option<PathBuf>,
}

/// Who signs, and how.
#[derive(Debug, Args)]
pub(crate) struct SignWith {
    /// The key file of the person who signs, if not the one that `weaver init` made
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
    /// The person, as the keys document names them; needed only when that cannot be read
    #[arg(long = "as", value_name = "PERSON")]
    pub(super) person: Option<String>,
    /// Do not ask for a confirmation
    #[arg(long)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) passphrase: PassphraseArgs,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Include requests that have ended, as long as their records are kept
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) from: ApprovalSource,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The request
    #[arg(value_name = "REQUEST")]
    pub(super) id: String,
    /// Show every field that an answer signs
    #[arg(long)]
    pub(super) full: bool,
    #[command(flatten)]
    pub(super) from: ApprovalSource,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The requests; several are confirmed together
    #[arg(value_name = "REQUEST", required_unless_present = "all_shown")]
    pub(super) ids: Vec<String>,
    /// All that wait and that you may answer
    #[arg(long, conflicts_with_all = ["ids", "digest"])]
    pub(super) all_shown: bool,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    /// Answer only if the one request has this digest, as `weaver approve show` printed it
    #[arg(long, value_name = "DIGEST")]
    pub(super) digest: Option<String>,
    /// Wait for the gateway, and fail if the answer does not count
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=3_600))]
    pub(super) wait: Option<u64>,
    #[command(flatten)]
    pub(super) sign: SignWith,
    #[command(flatten)]
    pub(super) from: ApprovalSource,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  weaver approve revoke apr_0123… --key alice.key")]
pub(crate) struct Revoke {
    /// The request
    #[arg(value_name = "REQUEST")]
    pub(super) id: String,
    #[command(flatten)]
    pub(super) sign: SignWith,
    #[command(flatten)]
    pub(super) from: ApprovalSource,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  weaver approve watch --json | while read -r line; do …; done\n\n\
    Ends on Ctrl-C, or when nobody reads its output any more."
)]
pub(crate) struct Watch {
    /// Print the pending requests once and exit
    #[arg(long)]
    pub(super) once: bool,
    #[command(flatten)]
    pub(super) from: ApprovalSource,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  weaver approve clock --key alice.key\n\n\
    After a jump of more than a day the gateway holds effects until an operator says that the \
    clock of its machine is right. Look at that clock first.")]
pub(crate) struct Clock {
    /// Up to when the clock is confirmed: a time (RFC 3339) or a span from now, such as 2h
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub(super) until: String,
    #[command(flatten)]
    pub(super) sign: SignWith,
    #[command(flatten)]
    pub(super) from: ApprovalSource,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  weaver approve end-run --current --key alice.key\n  \
    weaver approve end-run run_0123… --key alice.key")]
pub(crate) struct EndRun {
    /// The run
    #[arg(value_name = "RUN", required_unless_present = "current")]
    pub(super) run: Option<String>,
    /// The run in which the gateway's principal is now
    #[arg(long, conflicts_with = "run")]
    pub(super) current: bool,
    #[command(flatten)]
    pub(super) sign: SignWith,
    #[command(flatten)]
    pub(super) from: ApprovalSource,
}

/// `weaver approve standing`.
#[derive(Debug, Subcommand)]
#[command(after_help = STANDING)]
pub(crate) enum StandingCommand {
    /// List standing approvals
    List(List),
    /// Show one standing approval
    Show {
        /// The standing approval
        #[arg(value_name = "STANDING")]
        id: String,
        #[command(flatten)]
        from: ApprovalSource,
        #[command(flatten)]
        output: JsonFlag,
    },
    /// Write and sign a standing approval
    #[command(after_help = STANDING)]
    Grant(StandingGrant),
    /// Add a signature to a standing approval that others have signed
    Sign(StandingSign),
    /// Revoke a standing approval; operators only
    Revoke {
        /// The standing approval
        #[arg(value_name = "STANDING")]
        id: String,
        #[command(flatten)]
        sign: SignWith,
        #[command(flatten)]
        from: ApprovalSource,
    },
}

#[derive(Debug, Args)]
pub(crate) struct StandingGrant {
    /// Its terms, in TOML, instead of the flags below
    #[arg(long = "from", value_name = "FILE",
        conflicts_with_all = ["capability", "principal", "agent", "argument", "folder", "uses",
            "expires"])]
    pub(super) file: Option<PathBuf>,
    /// A pattern of capabilities; may be repeated
    #[arg(long, value_name = "PATTERN", required_unless_present = "file")]
    pub(super) capability: Vec<String>,
    /// A pattern of principals; may be repeated
    #[arg(long, value_name = "PATTERN", required_unless_present = "file")]
    pub(super) principal: Vec<String>,
    /// A pattern of agents; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(super) agent: Vec<String>,
    /// A condition on the arguments, as in policies: '{ at = "/to", domains = "example.com" }'
    #[arg(long, value_name = "TOML")]
    pub(super) argument: Vec<String>,
    /// The folder in which the call works, for a server with an instance for each folder; may be
    /// repeated
    #[arg(long, value_name = "FOLDER")]
    pub(super) folder: Vec<String>,
    /// How many calls it releases
    #[arg(long, value_name = "N", required_unless_present = "file")]
    pub(super) uses: Option<u32>,
    /// Until when: a time (RFC 3339) or a span from now, such as 2h or 7d
    #[arg(long, value_name = "TIME", required_unless_present = "file")]
    pub(super) expires: Option<String>,
    /// Write it to this new file instead of the inbox, for others to sign
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) sign: SignWith,
    #[command(flatten)]
    pub(super) place: ApprovalSource,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  weaver approve standing sign mail.json --key bob.key\n\n\
    When enough people have signed, it goes to the inbox.")]
pub(crate) struct StandingSign {
    /// The file that `standing grant --out` wrote
    pub(super) file: PathBuf,
    /// Only add the signature, even though enough people have signed: more will follow
    #[arg(long)]
    pub(super) keep: bool,
    #[command(flatten)]
    pub(super) sign: SignWith,
    #[command(flatten)]
    pub(super) from: ApprovalSource,
}
