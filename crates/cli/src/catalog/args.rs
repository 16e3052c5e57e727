//! The arguments of `weaver catalog`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use contextweaver::catalog::load::CatalogFormat;
use weaver_policy::DriftClass;

use super::super::contracts::args::ToolSource;
use super::super::route::args::Limits;
use crate::output_file::ReplaceFlag;
use crate::shared_args::JsonFlag;

const EXAMPLES: &str = "\
What is wrong with these tools? Ends with 1 where there is an error:
  weaver catalog lint tools.json
  weaver catalog lint skills/

Which of them would be found?
  weaver catalog search \"export the audit log\" openapi.yaml

Keep what a server offers today, and see tomorrow what that changed:
  weaver catalog snapshot tools.json --out tools.snapshot.json
  weaver catalog diff tools.snapshot.json tools.json

Turn one form into another:
  weaver catalog convert openapi.yaml --to mcp
  weaver catalog convert tools.json --to anthropic --out anthropic.json

A catalog is JSON, JSON lines, YAML, an MCP server's answer to tools/list, OpenAPI 3.0 or 3.1, a
tool array of OpenAI, Anthropic or Gemini, or a folder of Agent Skills. The format is detected;
--format sets it. Nothing in a file is called, and nothing is fetched.";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Catalog {
    /// Report every problem in a catalog; exits with 1 if there is an error
    Lint(Lint),
    /// Print a catalog as canonical JSON with its digest
    Snapshot(Snapshot),
    /// Show what changed between two catalogs and how serious it is; exits with 1 if it matters
    Diff(Diff),
    /// Print a catalog in another format
    Convert(Convert),
    /// Find the tools that fit a goal
    Search(Box<Search>),
}

/// How a file is read.
#[derive(Debug, Args, Default)]
pub(crate) struct InputArgs {
    /// Its format: json, jsonl, yaml, mcp, openapi, openai, openai_responses, anthropic, gemini,
    /// skill; detected if not given
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<CatalogFormat>,
    /// The namespace of the tools, for formats without ids of their own
    #[arg(long, value_name = "NAME")]
    pub(crate) prefix: Option<String>,
}

const LINT: &str = "\
Each finding has a code, an item and what to do. Errors end with 1; --strict counts warnings too.

  catalog.duplicate               error    two entries have one id
  catalog.confusable              error    a reader takes two ids or names for one another
  catalog.dangling                error    depends_on names an item that is not there
  catalog.dependency_cycle        error    an item depends on itself, over others
  catalog.suspicious_text         error    a text addresses a model: what the gateway denies a tool for
  catalog.dangling_requirement    warning  no item provides what one requires
  catalog.near_duplicate          warning  two items say nearly the same
  catalog.same_name               warning  two items of one namespace have one name
  catalog.missing_description     warning  nothing says what the item does
  catalog.hidden_text             warning  a text has characters that no reader sees
  catalog.undeclared_effects      note     nothing says what a tool does to the world

An entry that is no item, or is over a bound, is an error with the code of what is wrong.";

#[derive(Debug, Args)]
#[command(after_help = LINT)]
pub(crate) struct Lint {
    /// The catalog: a file, a folder of skills, or `-`
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Exit with 1 for warnings too
    #[arg(long)]
    pub(super) strict: bool,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Equal catalogs have equal bytes and equal digests, in whatever order their \
    items stand. The digest covers every field, schemas and effects included. A snapshot is \
    itself a catalog: name it wherever one is expected, and its digest is verified."
)]
pub(crate) struct Snapshot {
    /// The catalog: a file, a folder of skills, or `-`
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Write it to this file, and print its digest
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) replace: ReplaceFlag,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

/// The classes of a change, as arguments.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum DriftClassArg {
    /// Texts alone
    Documentation,
    /// What was possible still is, and nothing more
    Compatible,
    /// Something that was possible no longer is, or now means something else
    Breaking,
    /// More is possible, or that cannot be ruled out
    AuthorityWidening,
}

impl DriftClassArg {
    pub(super) fn drift(self) -> DriftClass {
        match self {
            Self::Documentation => DriftClass::Documentation,
            Self::Compatible => DriftClass::Compatible,
            Self::Breaking => DriftClass::Breaking,
            Self::AuthorityWidening => DriftClass::AuthorityWidening,
        }
    }
}

const DIFF: &str = "\
Changes are classed as for `weaver contracts diff`:
  documentation        texts alone: what is read, not what is checked
  compatible           every call that was possible is possible and means the same; no more is
  breaking             calls that were possible are not any more, or results look different
  authority_widening   more can be done, passed or reached, or that cannot be ruled out

An added item widens authority, a removed one breaks.";

#[derive(Debug, Args)]
#[command(after_help = DIFF)]
pub(crate) struct Diff {
    /// The old catalog
    #[arg(value_name = "BEFORE")]
    pub(super) before: PathBuf,
    /// The new catalog
    #[arg(value_name = "AFTER")]
    pub(super) after: PathBuf,
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Exit with 1 for changes of this class or a more serious one
    #[arg(long, value_name = "CLASS", value_enum, default_value = "breaking")]
    pub(super) fail_on: DriftClassArg,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = "json, jsonl and yaml hold everything. mcp, openai, openai_responses, \
    anthropic and gemini hold tools; what they cannot express is reported on standard error. \
    openapi and skill can only be read.")]
pub(crate) struct Convert {
    /// The catalog: a file, a folder of skills, or `-`
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// The format to write
    #[arg(long, value_name = "FORMAT")]
    pub(super) to: CatalogFormat,
    /// Write it to this file
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) replace: ReplaceFlag,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  weaver catalog search \"which tickets are open\"\n  \
    weaver catalog search \"delete a user\" openapi.yaml --tag users -k 3\n\nWithout a file, the \
    servers of the configuration are connected and asked for their tools.")]
pub(crate) struct Search {
    /// The goal in words
    #[arg(value_name = "GOAL")]
    pub(super) goal: String,
    /// The catalog: a file, a folder of skills, or `-`; by default the configured servers
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) input: InputArgs,
    #[command(flatten)]
    pub(super) limits: Limits,
    #[command(flatten)]
    pub(super) from: ToolSource,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}
