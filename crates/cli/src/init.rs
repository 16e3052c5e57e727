//! `weaver init`: makes a signed gateway from the MCP configurations of this machine.

mod answers;
pub(super) mod args;
pub(super) mod found_servers;
pub(super) mod questions;
mod report;
pub(super) mod review;
mod secrets;
mod table;
pub(super) mod update;

use std::path::{Path, PathBuf};
use std::time::Duration;

use weaver_gateway::config::UpstreamSettings;
use weaver_gateway::listing::{self, ListedFeature, ServerListings};
use weaver_gateway::secret::{Passphrase, generate_passphrase};
use weaver_gateway::setup::{
    GatewayKeys, Posture, Review, SecretLocation, Selection, SetupError, SetupFolder, UsedNames,
};
use weaver_types::{Clock as _, OsRandom, SystemClock, UpstreamName};
use zeroize::Zeroizing;

use super::{Exit, Failure, config_path, output};
use answers::Answers;
use args::Init;
use found_servers::ProjectServers;
use report::{GeneratedPassphrase, Report};

pub(super) fn run(args: &Init) -> Result<Exit, Failure> {
    let (dir, work) = match &args.dir {
        Some(dir) => (dir.clone(), work_folder_beside(dir)?),
        None => {
            let folders = found_servers::folders()?;
            (folders.gateway_folder(), folders.work_folder())
        }
    };
    if dir.join("weaver.toml").is_file() {
        return update::update_existing(args, &dir);
    }
    let answers = args.answers.as_deref().map(Answers::read).transpose()?.unwrap_or_default();
    if args.asks() && !questions::has_terminal() {
        let message = "there is no terminal to ask on";
        return Err(Failure::new(Exit::Usage, "init.no_terminal", message).with_next_step(
            "take the safe answers with `weaver init --yes`, or give them: `--answers FILE`",
        ));
    }
    let mut secret_location = secrets::parse(args.secrets.as_deref())?;
    let mut selection = select_servers(args, &answers, &mut secret_location)?;
    let posture = chosen_posture(args, &answers)?;
    let folder = SetupFolder::begin(&dir, &work)?;
    let config = folder.listing_config(&selection)?;
    let listed = list_tools(&config, &config.upstreams, args.timeout, &mut selection)?;
    let listings =
        ServerListings::new(listed.iter().map(|(name, features)| (name, features.as_slice())));
    let (mut review, problems) = Review::propose(posture, listed, &selection.folders());
    review.refuse_left_out(&selection);
    output::stderr(&found_servers::tool_filter_text(&selection));
    for problem in &problems {
        let problem = weaver_text::escape::line(problem).into_owned();
        output::stderr(&format!("{}: {problem}\n", output::bold("left out")));
    }
    apply_answers(args, &answers, &mut review, &selection)?;
    if args.output.json && !args.yes && args.answers.is_none() {
        report::review_json(&review, &selection)?;
        return Ok(Exit::Ok);
    }
    let (passphrase, generated) = new_passphrase(args)?;
    let keys = GatewayKeys::generate(&passphrase)?;
    secrets::store(secret_location.unwrap_or_default(), &mut selection);
    let now = SystemClock::default().now();
    let (config, policy) = folder.finish(&selection, &review, &keys, now)?;
    // Only the first start of the gateway takes longer without them.
    let _ = listings.save(&config, &policy);
    let report = Report {
        config: &config,
        selection: &selection,
        review: &review,
        generated,
        reviewed: args.asks(),
    };
    report.print(args.output.format())?;
    Ok(Exit::Ok)
}

/// The work folder of a gateway in a folder that the user named.
fn work_folder_beside(dir: &Path) -> Result<PathBuf, Failure> {
    let dir = config_path::absolute(dir)?;
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push("-work");
    Ok(dir.with_file_name(name))
}

fn chosen_posture(args: &Init, answers: &Answers) -> Result<Posture, Failure> {
    match (&args.posture, answers.posture) {
        (Some(word), _) => parse_posture(word),
        (None, Some(posture)) => Ok(posture),
        (None, None) if args.asks() => questions::posture(),
        (None, None) => Ok(Posture::Careful),
    }
}

/// Changes the review by the answers in the file, or by those that the user gives now.
fn apply_answers(
    args: &Init,
    answers: &Answers,
    review: &mut Review,
    selection: &Selection,
) -> Result<(), Failure> {
    if let Some(path) = &args.answers {
        answers.apply(path, review)?;
    }
    if args.asks() {
        questions::review(review, selection)?;
    }
    Ok(())
}

/// Parses the name of a posture.
pub(crate) fn parse_posture(word: &str) -> Result<Posture, Failure> {
    Posture::parse(word).ok_or_else(|| {
        let message = format!("`{}` is not a posture", weaver_text::escape::line(word));
        Failure::new(Exit::Usage, "init.posture", message)
            .with_next_step("write observe, careful or locked")
    })
}

fn select_servers(
    args: &Init,
    answers: &Answers,
    secret_location: &mut Option<SecretLocation>,
) -> Result<Selection, Failure> {
    let of_project = ProjectServers::new(args.project, args.asks());
    let files = of_project.filter(found_servers::client_files(&args.from)?)?;
    let mut selection = found_servers::select(&files, &UsedNames::default());
    for name in &answers.leave {
        selection.skip_server(name, "your answers leave it where it is");
    }
    if args.leave_secrets {
        selection = selection.without_secrets();
    }
    output::stderr(&found_servers::found_text(&files, &selection));
    if args.asks() && !selection.secrets.is_empty() && secret_location.is_none() {
        *secret_location = secrets::ask(&selection)?;
        if secret_location.is_none() {
            selection = selection.without_secrets();
        }
    }
    if selection.servers.is_empty() {
        return Err(found_servers::no_servers_failure(&selection));
    }
    Ok(selection)
}

/// Starts the servers and lists their tools. A server that does not answer is left out.
fn list_tools(
    config: &weaver_gateway::config::Config,
    servers: &[UpstreamSettings],
    seconds: u64,
    selection: &mut Selection,
) -> Result<Vec<(UpstreamName, Vec<ListedFeature>)>, Failure> {
    let many = servers.len();
    output::stderr(&format!("starting {} …\n", output::counted(many, "server")));
    let mut listed = Vec::new();
    let mut first_problem = None;
    for (name, result) in list_within(config, servers, seconds)? {
        match result {
            Ok(tools) => listed.push((name, tools)),
            Err(problem) => {
                let already_left_out = selection.skipped.len();
                selection
                    .skip_server(name.as_str(), &format!("{}{problem}", report::DID_NOT_START));
                output::stderr(&found_servers::left_out_text(
                    selection.skipped.get(already_left_out..).unwrap_or_default(),
                ));
                first_problem.get_or_insert(problem);
            }
        }
    }
    match first_problem {
        Some(problem) if listed.is_empty() => {
            Err(Failure::new(Exit::Upstream, "init.servers_away", problem).with_next_step(
                "start the server by hand with its command, or give it longer: `--timeout 300`",
            ))
        }
        _ => Ok(listed),
    }
}

/// Lists the tools of servers, each within a number of seconds.
fn list_within(
    config: &weaver_gateway::config::Config,
    servers: &[UpstreamSettings],
    seconds: u64,
) -> Result<Vec<(UpstreamName, listing::ListingResult)>, Failure> {
    let timeout = Duration::from_secs(seconds);
    let servers: Vec<UpstreamSettings> = servers
        .iter()
        .map(|one| UpstreamSettings { initialize_timeout: Some(timeout), ..one.clone() })
        .collect();
    // The driver's own timeout must end first: its error says what the server answered.
    let timeout = Some(timeout + Duration::from_secs(5));
    listing::list_all(config, &servers, timeout, &output::print_waiting_for)
        .map_err(|error| Failure::new(Exit::Internal, "init.runtime", error))
}

/// The passphrase of the new keys. If neither a terminal nor a descriptor gives one, it is
/// generated, shown once and stored nowhere.
fn new_passphrase(args: &Init) -> Result<(Passphrase, Option<GeneratedPassphrase>), Failure> {
    if let Some(fd) = args.passphrase.passphrase_fd {
        return Ok((Passphrase::from_descriptor(fd)?.check_length()?, None));
    }
    if args.asks() {
        output::stderr(
            "\nA passphrase protects the two keys: the one that signs what is allowed, and yours, which\n\
             releases held calls. Without it they are lost.\n",
        );
        return Ok((Passphrase::ask_new()?, None));
    }
    let text: Zeroizing<String> = generate_passphrase(&OsRandom)?;
    Ok((Passphrase::new(text.clone())?, Some(GeneratedPassphrase(text))))
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let findings = error.findings();
        let exit = match &error {
            SetupError::Secret(error) if error.is_passphrase() => Exit::Passphrase,
            _ => Exit::Invalid,
        };
        let failure = Self::new(exit, error.code(), &error).with_next_step(error.next());
        Self { findings, ..failure }
    }
}

impl From<weaver_gateway::clients::ClientFileError> for Failure {
    fn from(error: weaver_gateway::clients::ClientFileError) -> Self {
        Self::findings(error.code(), std::slice::from_ref(error.finding()))
    }
}

/// A path as the user would type it in a command.
fn shell_path(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains(' ') { format!("'{text}'") } else { text }
}
