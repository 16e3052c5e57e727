//! The arguments of `weaver redact`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::source::InputFormat;
use crate::shared_args::JsonFlag;

const HELP: &str = "\
Examples:
  weaver redact app.log > clean.log
  tail -f app.log | weaver redact --types email,phone
  weaver redact --placeholders --rules ours.toml mail.txt
  weaver redact --json < texts.jsonl
  weaver redact rules
  weaver redact check ours.toml

Two forms of input. Plain text goes in and plain text comes out, in bounded memory, so the input
may be endless; the end of what was read, up to 16 KiB, is held back until it is clear that no
value goes on in it. Or JSON lines, one text a line:
  in:   {\"id\", \"text\"}
  out:  {\"id\", \"text\", \"spans\": [{\"start\", \"end\", \"type\", \"rule\"}]}
`start` and `end` count characters of the text that came in; other keys of a line are left out.

Without --json or --text the first line that is not blank decides: an object with a string `text`
means JSON lines. A JSON line that cannot be read gets an answer with its number and `error`; the
others are answered, and the command ends with 3. Plain text must be UTF-8; the command ends with
3 at the line that is not, and nothing of what follows is shown.

--stream cuts each text into pieces before it is redacted, for trying out: pieces of so many
characters, and of several sizes in turn where there are several. The answer is the same.

Exit codes: 0 done, 2 a wrong command line, 3 an input that cannot be read.";

const CHECK: &str = "\
A rule, in TOML. What stands there beside `id`, `type`, `anchors`, `pattern` and the examples may
be left out:
  [[rule]]
  id = \"badge\"                        # of its own among all rules
  type = \"badge\"                      # what counts, warnings and placeholders call it
  anchors = [\"badge-\"]                # 3 ASCII characters or more; any case; a match begins there
  pattern = 'badge-([0-9]{6})\\b'       # the first group is masked; without groups, the match
  boundary = true                     # no letter, digit or `_` stands before the anchor
  reach = 256                         # characters from the anchor on that the pattern sees
  context = [\"employee\"]              # one of these words stands near
  within = 64                         # and so near
  entropy = 3.0                       # at least so many bits a character
  allow = [\"000000\"]                  # what holds one of these is no value
  masks = [[\"employee badge-123456 in\", \"123456\"]]
  keeps = [\"employee badge-12\"]

Every rule needs examples: texts with what is masked in them, and texts in which nothing is. The
same file goes into --rules. Exit codes: 0 all hold, 1 a rule does not do what it says, 3 the file
cannot be read.";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = HELP)]
pub(crate) struct Redact {
    #[command(subcommand)]
    pub(super) about: Option<RulesCommand>,
    /// The input; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(super) file: PathBuf,
    /// The input is JSON lines; failures are JSON too
    #[arg(long)]
    pub(super) json: bool,
    /// The input is plain text, whatever its first line looks like
    #[arg(long, conflicts_with = "json")]
    pub(super) text: bool,
    #[command(flatten)]
    pub(super) options: Options,
}

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Only values of these types, separated by commas; `weaver redact rules` lists them
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub(super) types: Vec<String>,
    /// Write `[EMAIL_1]` and the like instead of `[REDACTED]`: equal values get equal names
    #[arg(long)]
    pub(super) placeholders: bool,
    #[command(flatten)]
    pub(super) rules: RuleFile,
    /// Feed the text in chunks of N characters; several sizes, separated by commas, are used in
    /// turn
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(super) stream: Vec<NonZeroUsize>,
}

#[derive(Debug, Args)]
pub(crate) struct RuleFile {
    /// Use the rules of this file too, in addition to the built-in ones
    #[arg(long, value_name = "FILE")]
    pub(super) rules: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum RulesCommand {
    /// List the rules: id, type, and an example of what each masks
    Rules {
        #[command(flatten)]
        rules: RuleFile,
        #[command(flatten)]
        output: JsonFlag,
    },
    /// Check a rule file against its own examples
    #[command(after_help = CHECK)]
    Check {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        output: JsonFlag,
    },
}

/// Chooses the input format.
impl Redact {
    /// The format that the arguments select.
    pub(super) fn form(&self) -> Option<InputFormat> {
        match (self.json, self.text) {
            (true, _) => Some(InputFormat::Records),
            (false, true) => Some(InputFormat::Text),
            (false, false) => None,
        }
    }
}
