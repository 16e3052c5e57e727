//! The texts of the help: the list of commands, and the examples and the note of each.

const ABOUT: &str = "\
Weaver stands between an AI agent and the tools it can call. It shows the few
tools that fit, lets through what your signed policy allows, cuts results down
to what the model may see, and keeps a log that nobody can change unnoticed.";

const COMMANDS: &str = "\
Begin:
  demo      Show all of it in one minute, offline, in a temporary folder
  init      Set Weaver up from the MCP clients on this machine
  connect   Put the clients behind Weaver; `disconnect` takes that back
  update    Take in new servers and tools; `remove` takes servers out
  review    Look at what each tool may do again, and change it

See and answer:
  (alone)   How things stand: servers, clients, what waits, what was denied
  trace     What happened today, why a call ended as it did, and whether the
            log is whole
  approve   See the calls that wait; grant or deny them
  allow     Turn one held or denied call into a rule
  posture   Show how strict the policy is, or change that
  policy    Suggest, replay, test, edit and explain rules
  doctor    Look for what is wrong, and say what to do

Run:        serve daemon status restart stop logs service clients login logout
Documents:  check sign keys contracts kernel memory feedback
Parts:      route compile catalog redact replay inspect
Reference:  reasons schema completions man help

Example:
  weaver demo

`weaver COMMAND --help` shows one command. `weaver help` shows all of them, a
first weaver.toml and the exit codes.";

/// The layout of `weaver --help`: the commands grouped by purpose.
pub(super) fn root_template() -> String {
    format!("{ABOUT}\n\n{{usage-heading}} {{usage}}\n\n{COMMANDS}\n\nOptions:\n{{options}}")
}

/// What the help shows below the options of a command.
pub(super) struct HelpPage {
    /// The command, without `weaver`.
    pub(super) command: &'static str,
    /// Command lines that work as written, if the files that they name exist.
    pub(super) examples: &'static [&'static str],
    /// What a user must know about the command.
    pub(super) note: &'static str,
    /// Options that only `weaver help` shows.
    pub(super) rare_options: &'static [&'static str],
}

const fn page(
    command: &'static str,
    examples: &'static [&'static str],
    note: &'static str,
) -> HelpPage {
    HelpPage { command, examples, note, rare_options: &[] }
}

impl HelpPage {
    const fn with_rare(self, rare_options: &'static [&'static str]) -> Self {
        Self { rare_options, ..self }
    }
}

/// The pages, in the order of the commands.
pub(super) const PAGES: &[HelpPage] = &[
    page(
        "init",
        &["weaver init", "weaver init --yes --posture observe", "weaver init --json > review.json"],
        "`observe` stops nothing and records what would have been stopped; `careful` lets through \
         reads and writes on this machine and asks about the rest; `locked` asks about everything. \
         Nothing that is there is overwritten. Next comes `weaver connect`.",
    ),
    page(
        "update",
        &["weaver update --yes", "weaver update files --timeout 300"],
        "What is there stays. A tool that changed waits for `weaver contracts approve`.",
    ).with_rare(&["key", "passphrase_fd", "accept"]),
    page(
        "remove",
        &["weaver remove notes --dry-run", "weaver remove notes"],
        "Its secrets go too; its contracts and rules stay, without effect. A client that had it gets \
         its own entry back with `weaver disconnect`.",
    ),
    page(
        "review",
        &["weaver review", "weaver review files", "weaver review --set files.read_file=reads"],
        "`reads` and `writes` say what a tool does on this machine; allow, ask and deny, what \
         happens; `proposed` takes what its words say today.",
    ).with_rare(&["key", "timeout", "passphrase_fd"]),
    page(
        "posture",
        &["weaver posture", "weaver posture observe"],
        "Rules that you wrote or chose stay. The change is shown before it is signed.",
    ),
    page(
        "connect",
        &["weaver connect --dry-run", "weaver connect cursor zed", "weaver connect --status"],
        "Without a name: every client whose servers Weaver knows. Other servers stay in the \
         client, and `weaver disconnect` puts each file back byte for byte.",
    ),
    page(
        "disconnect",
        &["weaver disconnect --dry-run", "weaver disconnect cursor", "weaver disconnect --project"],
        "A file that nobody changed since is as it was, byte for byte. From one that was changed \
         only the entry `weaver` goes, and the old entries come back.",
    ),
    page("serve", &["weaver serve --config weaver.toml"], "A client starts it; `weaver connect` writes the entry."),
    page("daemon", &["weaver daemon --config weaver.toml"], "The first client starts it by itself."),
    page("status", &["weaver status"], ""),
    page("stop", &["weaver stop"], "A client that is started later starts it again, and so does `weaver daemon`."),
    page("restart", &["weaver restart"], ""),
    page("logs", &["weaver logs"], ""),
    page("service", &["weaver service show"], ""),
    page("service install", &["weaver service install --config weaver.toml"], ""),
    page("service show", &["weaver service show"], ""),
    page("service uninstall", &["weaver service uninstall"], ""),
    page("clients", &["weaver clients list"], ""),
    page("clients add", &["weaver clients add laptop"], "The token is shown this once."),
    page("clients list", &["weaver clients list"], ""),
    page(
        "clients rotate",
        &["weaver clients rotate laptop", "weaver clients rotate laptop --overlap 7d"],
        "The token is shown this once.",
    ),
    page("clients remove", &["weaver clients remove laptop"], ""),
    page("login", &["weaver login tracker"], ""),
    page("logout", &["weaver logout tracker"], ""),
    page("demo", &["weaver demo", "weaver demo --keep guarded"], ""),
    page("check", &["weaver check"], "It ends with 3 where anything is wrong."),
    page("doctor", &["weaver doctor"], ""),
    page("keys", &["weaver keys new --out alice.key --id alice"], ""),
    page("keys new", &["weaver keys new --out alice.key --id alice"], "An existing file is never overwritten."),
    page("keys passphrase", &["weaver keys passphrase owner.key"], "The file is replaced in one step. For the key of the log, also change what `[log] passphrase` names."),
    page("keys show", &["weaver keys show root.key"], ""),
    page(
        "sign",
        &["weaver sign policy/policy.toml --key root.key"],
        "FILE.sig is written beside each document, and only if all are without fault.",
    ),
    page("trace", &["weaver trace", "weaver trace why call_0123…", "weaver trace verify"], ""),
    page(
        "trace list",
        &["weaver trace list verdict:deny since:1d", "weaver trace list capability:files.*"],
        "Every term must hold. `a,b` is either, a `*` at the end stands for anything.",
    ).with_rare(&["no_index", "after"]),
    page("trace show", &["weaver trace show call_0123…"], ""),
    page("trace why", &["weaver trace why call_0123…"], ""),
    page("trace tail", &["weaver trace tail -n 5 verdict:hold,deny"], ""),
    page("trace stats", &["weaver trace stats since:7d"], ""),
    page(
        "trace export",
        &["weaver trace export --as csv since:7d", "weaver trace export --as bundle run:run_0123… --out run.json"],
        "jsonl is exact; bundle is one run as a TraceBundle; otlp is for OpenTelemetry; csv is for \
         spreadsheets; actions and runs are lists.",
    ).with_rare(&["no_index", "key", "passphrase_fd"]),
    page("trace index", &["weaver trace index --check"], ""),
    page("trace head", &["weaver trace head > head.json"], "Keep it elsewhere: it shows later that nothing was cut off."),
    page(
        "trace verify",
        &["weaver trace verify", "weaver trace verify --head head.json"],
        "Without --head or --checkpoint nobody can tell whether the end was cut off.",
    ).with_rare(&["witness", "quorum", "until"]),
    page("trace checkpoint", &["weaver trace checkpoint --key log.key > log.checkpoint"], ""),
    page("trace key", &["weaver trace key show"], ""),
    page("trace key show", &["weaver trace key show"], ""),
    page("trace key declare", &["weaver trace key declare --key log.key"], "Stop the gateway first."),
    page("trace key rotate", &["weaver trace key rotate --key log.key --to next.key"], "Stop the gateway first."),
    page("trace key end", &["weaver trace key end --key next.key"], "Stop the gateway first."),
    page(
        "trace prove",
        &["weaver trace prove call_0123… --store .weaver/ledger.db --key log.key"],
        "A receipt shows what was recorded of a call, not that nothing else was.",
    )
    .with_rare(&["conflict", "quorum", "witness", "until"]),
    page(
        "trace prune",
        &["weaver trace prune --store .weaver/ledger.db --older-than 90d --dry-run"],
        "Payloads go for good. The headers stay, so the log can still be verified.",
    ),
    page(
        "allow",
        &["weaver allow call_0123…", "weaver allow call_0123… --json"],
        "`same` allows the same call with other texts, `similar` one to the same folder, host or domain, \
         `tool` every call of the tool. Each is shown with what it would have changed.",
    ),
    page(
        "approve",
        &["weaver approve list", "weaver approve show apr_0123…", "weaver approve grant apr_0123… --key owner.key"],
        "",
    ),
    page("approve list", &["weaver approve list"], ""),
    page("approve show", &["weaver approve show apr_0123…"], ""),
    page(
        "approve grant",
        &["weaver approve grant apr_0123… --key owner.key"],
        "You see the request, then sign exactly that. The agent makes the same call again, and it \
         goes through once.",
    ).with_rare(&["store", "inbox", "person", "digest", "reason", "passphrase_fd"]),
    page(
        "approve deny",
        &["weaver approve deny apr_0123… --key owner.key --reason \"not this one\""],
        "That ends the request, also one that was granted and not used yet.",
    ).with_rare(&["store", "inbox", "person", "digest", "wait", "all_shown"]),
    page("approve revoke", &["weaver approve revoke apr_0123… --key owner.key"], "").with_rare(&["store", "inbox", "person"]),
    page("approve standing", &["weaver approve standing list"], ""),
    page("approve standing list", &["weaver approve standing list"], ""),
    page("approve standing show", &["weaver approve standing show std_0123…"], ""),
    page(
        "approve standing grant",
        &["weaver approve standing grant --key owner.key --capability 'files.*' \\\n\
             --principal demo --uses 20 --expires 7d"],
        "",
    ).with_rare(&["store", "inbox", "person"]),
    page(
        "approve standing sign",
        &["weaver approve standing sign mail.json --key owner.key"],
        "When enough people have signed, it goes to the inbox.",
    ).with_rare(&["store", "inbox", "person"]),
    page("approve standing revoke", &["weaver approve standing revoke std_0123… --key owner.key"], ""),
    page("approve watch", &["weaver approve watch --once"], ""),
    page(
        "approve clock",
        &["weaver approve clock --key owner.key"],
        "After a jump of the clock nothing is written until an operator confirms it.",
    ).with_rare(&["store", "inbox", "person"]),
    page("approve end-run", &["weaver approve end-run --current --key owner.key"], "").with_rare(&["store", "inbox", "person"]),
    page(
        "policy",
        &["weaver policy suggest", "weaver policy replay policy/policy.toml", "weaver policy edit"],
        "Documents need no signature here, since nothing is decided for anybody.",
    ),
    page("policy lint", &["weaver policy lint", "weaver policy lint --catalogue tools.jsonl"], ""),
    page("policy test", &["weaver policy test cases.toml"], "A case has a name, a request and what is expected."),
    page("policy explain", &["weaver policy explain --request one.json"], ""),
    page("policy decide", &["weaver policy decide < requests.jsonl"], "One request a line; one answer a line, in that order."),
    page(
        "policy ask",
        &["weaver policy ask --class destructive --without-role admin"],
        "`yes` comes with a request that gets the verdict, `no` is a proof that none does.",
    )
    .with_rare(&["contracts", "keys", "operation", "known_principals", "mode", "confidentiality", "integrity", "justified", "with_arguments"]),
    page("policy diff", &["weaver policy diff old new --replay requests.jsonl"], "A and B are folders of documents."),
    page(
        "policy replay",
        &["weaver policy replay policy/policy.toml", "weaver policy replay draft.toml --since 30d --exit-code"],
        "Nothing is executed or changed. What information flow held stays held.",
    ).with_rare(&["store", "history", "contracts"]),
    page(
        "policy suggest",
        &["weaver policy suggest", "weaver policy suggest --since 30d > draft.toml"],
        "Nothing rests on calls that were tainted, held or denied. What leaves the machine or \
         destroys keeps asking. It ends with 1 when there is nothing to suggest.",
    ),
    page("policy edit", &["weaver policy edit"], "Nothing is in force before you sign."),
    page("policy show-baseline", &["weaver policy show-baseline"], ""),
    page("kernel", &["weaver kernel tools --safety read_only"], ""),
    page("kernel info", &["weaver kernel info"], ""),
    page("kernel namespaces", &["weaver kernel namespaces"], ""),
    page("kernel tools", &["weaver kernel tools --safety read_only"], ""),
    page(
        "contracts",
        &["weaver contracts list", "weaver contracts mismatches", "weaver contracts approve files read_note --print"],
        "",
    ),
    page("contracts list", &["weaver contracts list --surface files"], ""),
    page("contracts snapshot", &["weaver contracts snapshot --approved-by owner"], "Stop the gateway first."),
    page("contracts mismatches", &["weaver contracts mismatches"], ""),
    page("contracts approve", &["weaver contracts approve files read_note --print"], "Then sign: `weaver sign policy/contracts.toml --key root.key`."),
    page("contracts diff", &["weaver contracts diff"], ""),
    page(
        "contracts propose",
        &["weaver contracts propose --out new.toml", "weaver contracts propose tools.json --surface files"],
        "Where a tool does not say what it does, the stricter is proposed. Read the document, then sign it.",
    ).with_rare(&["approvals", "principal"]),
    page("feedback", &["weaver feedback list"], ""),
    page("feedback record", &["weaver feedback record call_0123… --wrong --key owner.key"], "").with_rare(&["store", "inbox", "person", "class", "confidence"]),
    page("feedback list", &["weaver feedback list"], ""),
    page("memory", &["weaver memory put plan 'ship on Friday'", "weaver memory list"], ""),
    page("memory list", &["weaver memory list"], ""),
    page("memory get", &["weaver memory get plan"], ""),
    page("memory put", &["weaver memory put plan 'ship on Friday'"], "").with_rare(&["text", "source", "confidence", "session", "store"]),
    page("memory forget", &["weaver memory forget plan"], ""),
    page("memory resolve", &["weaver memory resolve plan 1 --why \"it was moved\""], ""),
    page("memory consolidate", &["weaver memory consolidate"], ""),
    page("memory export", &["weaver memory export"], ""),
    page(
        "route",
        &["weaver route --tools tools.json --query \"close the oldest ticket\" --explain"],
        "With --queries: one JSON object a line, {\"id\", \"query\"}, and one answer a line.",
    )
    .with_rare(&["width", "kind", "namespace", "exclude", "exclude_tag", "pin", "quota", "used", "word_table", "strategy"]),
    page(
        "compile",
        &["weaver compile --log events.jsonl --budget 2000 --query 'open invoices'"],
        "One item a line: {\"id\", \"kind\", \"text\"}. Results of tools pass the firewall.",
    )
    .with_rare(&["html", "tokens", "native_calls", "whole"]),
    page("catalog", &["weaver catalog lint tools.json", "weaver catalog search \"close a ticket\" tools.json"], ""),
    page("catalog lint", &["weaver catalog lint tools.json"], "It ends with 1 where there is an error."),
    page("catalog snapshot", &["weaver catalog snapshot tools.json --out tools.snapshot.json"], ""),
    page("catalog diff", &["weaver catalog diff before.json tools.json"], ""),
    page("catalog convert", &["weaver catalog convert tools.json --to mcp"], ""),
    page(
        "catalog search",
        &["weaver catalog search \"close a ticket\" tools.json -k 3"],
        "Without a file the servers of the configuration are asked for their tools.",
    )
    .with_rare(&["width", "kind", "namespace", "exclude", "exclude_tag", "pin", "quota", "used", "word_table", "strategy", "unsigned_development"]),
    page(
        "redact",
        &["weaver redact app.log > clean.log", "weaver redact --json < texts.jsonl"],
        "Plain text may be endless. Of JSON, one text a line: {\"id\", \"text\"}.",
    ).with_rare(&["stream", "text"]),
    page("redact rules", &["weaver redact rules"], ""),
    page("redact check", &["weaver redact check ours.toml"], "Every rule needs examples of what it masks and what it keeps."),
    page(
        "replay",
        &["weaver replay tasks.jsonl --policy policy/policy.toml \\\n\
             --contracts policy/contracts.toml"],
        "Nothing is executed: each tool answers what was recorded.",
    ).with_rare(&["micros", "restarts", "principal", "no_user_words"]),
    page("inspect", &["weaver inspect answer.json", "weaver inspect answer.json --mode table"], "Nothing is called.").with_rare(&["budget", "rows", "fields", "depth", "tokens", "rules"]),
    page("reasons", &["weaver reasons"], ""),
    page(
        "schema",
        &["weaver schema", "weaver schema policy"],
        "`weaver init` writes the schemas beside the files. After an update of Weaver, write that of \
         the configuration again: `weaver schema > weaver.schema.json`.",
    ),
    page("man", &["weaver man man1"], ""),
    page("completions", &["weaver completions bash"], ""),
];
