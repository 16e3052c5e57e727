//! The arguments of `weaver allow`.

use std::time::Duration;

use clap::Args;
use weaver_policy_analysis::suggest::AllowScope;

use crate::policy::signing::SigningArgs;
use crate::shared_args::{ConfigArg, JsonFlag};

const HELP: &str = "\
Examples:
  weaver allow call_3f…                      choose a width, see what it changes, sign
  weaver allow call_3f… --width same --yes   without a question
  weaver allow call_3f… --json               the rules, and nothing signed

Three widths: `same` allows the same call (of a message, with other texts and times); `similar` calls
to the same folder, host or domain; `tool` every call of the tool. Each is shown with what it would
have made of the calls of the last days. A rule that holds or denies the call gets an exception.
What leaves the machine or destroys is never allowed by a rule: for it, approvals in advance are
proposed. Of what information flow held, a read may be let through by its host, which is then trusted.";

fn parse_width(text: &str) -> Result<AllowScope, &'static str> {
    AllowScope::parse(text).ok_or("write same, similar or tool")
}

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Allow {
    /// The call, as `weaver trace` shows it
    #[arg(value_name = "CALL")]
    pub(super) call: String,
    /// How wide: same, similar or tool
    #[arg(long, value_name = "WIDTH", value_parser = parse_width)]
    pub(super) width: Option<AllowScope>,
    /// How far back the replay looks: a number and s, m, h, d or w
    #[arg(long, value_name = "AGE", default_value = "7d", value_parser = crate::age::parse)]
    pub(super) since: Duration,
    #[command(flatten)]
    pub(super) config: ConfigArg,
    #[command(flatten)]
    pub(super) sign: SigningArgs,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}
