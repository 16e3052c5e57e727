//! `weaver remove`: takes servers out of the configuration.

use clap::Args;
use serde_json::json;
use weaver_gateway::clients::unified_diff;
use weaver_gateway::config::Config;
use weaver_gateway::setup::ServerRemoval;
use weaver_text::{escape, suggest};

use super::shared_args::{ConfigArg, JsonFlag};
use super::{Exit, Failure, config_path, output};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weaver remove notes --dry-run\n  weaver remove notes\n\nThe section of the server goes from weaver.toml, and its secrets from the file of secrets. Its contracts\nand rules stay signed and have no effect; if the server comes back, they count again. Logins stay:\n`weaver logout` forgets them."
)]
pub(super) struct Remove {
    /// The servers
    #[arg(value_name = "SERVER", required = true)]
    servers: Vec<String>,
    #[command(flatten)]
    config: ConfigArg,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: JsonFlag,
}

pub(super) fn run(args: &Remove) -> Result<Exit, Failure> {
    let file = config_path::absolute(&args.config.resolve()?)?;
    let config = config_path::load_ignoring_unset_variables(&file)?;
    refuse_unknown_servers(&args.servers, &config)?;
    let removal = ServerRemoval::plan(config, &args.servers)?;
    if !args.dry_run {
        removal.apply()?;
    }
    let (path, old, new) = removal.change();
    let path = path.display().to_string();
    if args.output.json {
        output::json(&json!({
            "config": path, "removed": args.servers, "secrets": removal.variables(),
            "dry_run": args.dry_run,
        }))?;
        return Ok(Exit::Ok);
    }
    let names = escape::line(&args.servers.join(", ")).into_owned();
    if args.dry_run {
        output::text(&unified_diff(&path, old, new, &[]))?;
    }
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    let mut out = format!("{}: {names}  {}\n", output::good(verb), output::dim(&path));
    if !removal.variables().is_empty() {
        let variables = escape::line(&removal.variables().join(", ")).into_owned();
        out.push_str(&format!("  and the secrets that only they had: {variables}\n"));
    }
    out.push_str(
        "  A running gateway ends them by itself. Contracts and rules stay, without effect.\n  A client \
         that had them gets its own entries back with `weaver disconnect`.\n",
    );
    output::text(&out)?;
    Ok(Exit::Ok)
}

fn refuse_unknown_servers(names: &[String], config: &Config) -> Result<(), Failure> {
    let known: Vec<&str> = config.upstreams.iter().map(|one| one.name.as_str()).collect();
    let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    let next = match suggest::nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("name one of: {}", known.join(", ")),
    };
    let message = format!("there is no server `{}`", escape::line(name));
    Err(Failure::new(Exit::NotFound, "remove.unknown_server", message).with_next_step(next))
}
