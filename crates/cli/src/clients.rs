//! `weaver clients`: which clients may connect over HTTP.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;
use weaver_gateway::config::{self, Config};
use weaver_gateway::http::{
    self, ClientAccess, ClientsError, HttpClient, NewClient, TokenRotation,
};
use weaver_types::{Clock as _, PrincipalId, SystemClock, Timestamp};

use super::approve::duration::duration_text;
use super::{Exit, Failure, output};
use crate::shared_args::{ConfigArg, JsonFlag};

/// How long before a token ends that is told.
pub(super) const NOTICE_PERIOD: Duration = Duration::from_secs(14 * 86_400);

#[derive(Debug, Subcommand)]
pub(super) enum Clients {
    /// Add a client, and print its token, which is shown only once
    Add(Add),
    /// List the clients
    List(List),
    /// Give a client another token, which is shown only once; the former one stays valid for a while
    Rotate(Rotate),
    /// Remove a client
    Remove(Remove),
}

#[derive(Debug, Args)]
pub(super) struct Add {
    /// Its name
    name: String,
    /// The principal that it acts as; by default that of the configuration
    #[arg(long, value_name = "ID")]
    principal: Option<String>,
    /// What it sees: a `[profiles.NAME]` of the configuration
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Let its token open /metrics and /readyz alone
    #[arg(long, conflicts_with_all = ["principal", "profile"])]
    metrics_only: bool,
    /// For how many days its token is valid
    #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: JsonFlag,
}

#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: JsonFlag,
}

#[derive(Debug, Args)]
pub(super) struct Rotate {
    /// Its name
    name: String,
    /// How long the former token stays valid: `2h`, `7d`; `0s` ends it and its sessions at once
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = crate::age::parse)]
    overlap: Duration,
    /// For how many days the new token is valid
    #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: JsonFlag,
}

#[derive(Debug, Args)]
pub(super) struct Remove {
    /// Its name
    name: String,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    output: JsonFlag,
}

pub(super) fn run(verb: Clients) -> Result<Exit, Failure> {
    match verb {
        Clients::Add(args) => add_client(args),
        Clients::List(args) => list_clients(&args),
        Clients::Rotate(args) => rotate_client(&args),
        Clients::Remove(args) => remove_client(&args),
    }
}

fn add_client(args: Add) -> Result<Exit, Failure> {
    let config = config::load(args.config.path())?;
    if let Some(name) = args.profile.as_deref().filter(|name| !config.profiles.contains_key(*name))
    {
        let message = format!("there is no `[profiles.{name}]` in {}", config.file.display());
        return Err(Failure::new(Exit::NotFound, "clients.profile", message));
    }
    let principal = principal_for(&config, args.principal)?;
    let now = SystemClock::default().now();
    let expires = Some(end_of_token(now, args.days));
    let access = match args.metrics_only {
        true => ClientAccess::Metrics,
        false => ClientAccess::Sessions,
    };
    let (name, profile, by) = (args.name, args.profile, Some(operator()));
    let new = NewClient { name, principal, profile, access, expires, by };
    let (name, as_whom) = (new.name.clone(), new.principal.clone());
    let token = client_registry(&config).add(new, now).map_err(clients_failure)?;
    if args.output.json {
        output::json(&json!({ "name": name, "principal": as_whom, "token": token }))?;
    } else {
        output::line(&token)?;
        let what = match access {
            ClientAccess::Sessions => format!("come as {as_whom}"),
            ClientAccess::Metrics => "read /metrics and /readyz".to_owned(),
        };
        output::stderr(&format!(
            "`{name}` may {what} for {} days; the token is shown only now. Clients send it as\n  \
             Authorization: Bearer {}\n",
            args.days,
            output::dim("TOKEN")
        ));
    }
    Ok(Exit::Ok)
}

/// The principal that the client acts as: one that the signed policy names.
fn principal_for(config: &Config, requested: Option<String>) -> Result<PrincipalId, Failure> {
    let Some(named) = requested else { return Ok(config.principal.clone()) };
    let id = PrincipalId::parse(named)
        .map_err(|error| Failure::new(Exit::Usage, "clients.principal", error))?;
    let policy = config::load_policy(
        config,
        config::SignatureChecks::Required,
        SystemClock::default().now(),
    )?;
    if policy.principal(&id).is_none() {
        let message = format!("the policy does not name the principal `{id}`");
        return Err(Failure::new(Exit::NotFound, "clients.principal", message).with_next_step(
            format!("write `[principals.\"{id}\"]` in policy.toml and sign it again"),
        ));
    }
    Ok(id)
}

fn list_clients(args: &List) -> Result<Exit, Failure> {
    let config = config::load(args.config.path())?;
    let all = client_registry(&config).all().map_err(clients_failure)?;
    let now = SystemClock::default().now();
    if args.output.json {
        let shown: Vec<_> = all
            .iter()
            .map(|client| {
                json!({
                    "name": client.name,
                    "principal": client.principal,
                    "profile": client.profile,
                    "access": client.access,
                    "created": client.created.to_string(),
                    "expires": client.expires.map(|at| at.to_string()),
                    "added_by": client.added_by,
                    "former_until": former_end(client, now).map(|at| at.to_string()),
                })
            })
            .collect();
        output::json(&json!(shown))?;
        return Ok(Exit::Ok);
    }
    if all.is_empty() {
        output::line("no client may come over HTTP; `weaver clients add NAME` lets one in")?;
    }
    for client in &all {
        let profile = client.profile.as_ref().map(|name| format!(", profile {name}"));
        let until = client.expires.map(|at| format!(", until {at}")).unwrap_or_default();
        let what = match client.access {
            ClientAccess::Sessions => {
                format!("as {}{}", client.principal, profile.unwrap_or_default())
            }
            ClientAccess::Metrics => "reads metrics".to_owned(),
        };
        let note = end_note(client, now).map(|note| format!(": {}", output::bold(&note)));
        let former = former_end(client, now);
        let former = former.map(|at| format!("; its former token is good until {at}"));
        let (note, former) = (note.unwrap_or_default(), former.unwrap_or_default());
        output::line(&format!("{} {what}{until}{note}{former}", client.name))?;
    }
    Ok(Exit::Ok)
}

/// Says that a token has ended, or ends soon.
pub(super) fn end_note(client: &HttpClient, now: Timestamp) -> Option<String> {
    let end = client.expires?;
    if end <= now {
        return Some("ended".to_owned());
    }
    let left = end.since(now);
    (left <= NOTICE_PERIOD).then(|| format!("ends in {}", duration_text(left)))
}

/// Until when a token that was replaced is still valid.
fn former_end(client: &HttpClient, now: Timestamp) -> Option<Timestamp> {
    client.former.iter().map(|former| former.expires).filter(|end| *end > now).max()
}

fn end_of_token(now: Timestamp, days: u32) -> Timestamp {
    now.after(Duration::from_secs(u64::from(days) * 86_400))
}

/// Who runs this command, for the log: the user as the environment names them, and the user id.
/// Whoever may change the file of clients can say anything here.
fn operator() -> String {
    let name = ["SUDO_USER", "USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    let name: String = name.unwrap_or_else(|| "unknown".to_owned()).chars().take(64).collect();
    #[cfg(unix)]
    let name = format!("{name}, uid {}", rustix::process::getuid().as_raw());
    name
}

fn rotate_client(args: &Rotate) -> Result<Exit, Failure> {
    let config = config::load(args.config.path())?;
    let now = SystemClock::default().now();
    let expires = Some(end_of_token(now, args.days));
    let rotation = TokenRotation { overlap: args.overlap, expires, by: Some(operator()) };
    let registry = client_registry(&config);
    let token = registry.rotate(&args.name, rotation, now).map_err(clients_failure)?;
    let all = registry.all().map_err(clients_failure)?;
    let former = all.iter().find(|client| client.name == args.name);
    let former = former.and_then(|client| former_end(client, now));
    if args.output.json {
        output::json(&json!({
            "name": args.name,
            "token": token,
            "former_until": former.map(|at| at.to_string()),
        }))?;
        return Ok(Exit::Ok);
    }
    output::line(&token)?;
    let former = match former {
        Some(end) => format!("is good until {end}, and its sessions go on"),
        None => "is good no more, and its sessions end".to_owned(),
    };
    output::stderr(&format!(
        "`{}` may come with this token for {} days; it is shown only now. The former token {former}.\n",
        args.name, args.days
    ));
    Ok(Exit::Ok)
}

fn remove_client(args: &Remove) -> Result<Exit, Failure> {
    let config = config::load(args.config.path())?;
    let now = SystemClock::default().now();
    client_registry(&config).remove(&args.name, Some(operator()), now).map_err(clients_failure)?;
    if args.output.json {
        output::json(&json!({ "ok": true }))?;
    } else {
        output::line(&format!("`{}` may not come any more", args.name))?;
    }
    Ok(Exit::Ok)
}

fn client_registry(config: &Config) -> http::ClientRegistry {
    http::ClientRegistry::of_store(&config.store_path)
}

fn clients_failure(error: ClientsError) -> Failure {
    let exit = match &error {
        ClientsError::Unknown(_) => Exit::NotFound,
        ClientsError::Taken(_) | ClientsError::Name(_) | ClientsError::TooManyClients => {
            Exit::Usage
        }
        _ => Exit::Invalid,
    };
    Failure::new(exit, error.code(), error)
}
