//! `weaver init`: from the MCP configurations of this machine to a signed gateway.

mod answers;
pub(super) mod args;
pub(super) mod found_servers;
pub(super) mod questions;
mod report;
mod secrets;
mod table;
pub(super) mod update;

use std::path::Path;
use std::time::Duration;

use weaver_gateway::config::Upstream;
use weaver_gateway::listing::{self, ListedFeature};
use weaver_gateway::secret::{Passphrase, generated_passphrase};
use weaver_gateway::setup::{
    OwnKeys, Posture, Review, SecretPlace, Selection, SetupError, SetupFolder, TakenNames,
};
use weaver_types::{Clock as _, OsRandom, SystemClock, UpstreamName};
use zeroize::Zeroizing;

use super::{Exit, Failure, output};
use answers::Answers;
use args::Init;
use report::{GeneratedPassphrase, Report};

pub(super) fn run(args: &Init) -> Result<Exit, Failure> {
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => found_servers::folders()?.gateway(),
    };
    if dir.join("weaver.toml").is_file() {
        return update::again(args, &dir);
    }
    let answers = args.answers.as_deref().map(Answers::read).transpose()?.unwrap_or_default();
    if args.asks() && !questions::has_terminal() {
        let message = "there is no terminal to ask on";
        return Err(Failure::new(Exit::Usage, "init.no_terminal", message).next(
            "take the safe answers with `weaver init --yes`, or give them: `--answers FILE`",
        ));
    }
    let mut place = secrets::parse(args.secrets.as_deref())?;
    let mut selection = selected(args, &answers, &mut place)?;
    let posture = chosen_posture(args, &answers)?;
    let folder = SetupFolder::begin(&dir)?;
    let config = folder.listing_config(&selection)?;
    let listed = list(&config, &config.upstreams, args.timeout, &mut selection)?;
    let (mut review, problems) = Review::of(posture, listed, &selection.folders());
    for problem in &problems {
        let problem = weaver_text::escape::line(problem).into_owned();
        output::aside(&format!("{}: {problem}\n", output::bold("left out")));
    }
    answer(args, &answers, &mut review, &selection)?;
    if args.output.json && !args.yes && args.answers.is_none() {
        report::review_json(&review, &selection)?;
        return Ok(Exit::Ok);
    }
    let (passphrase, generated) = passphrase(args)?;
    let keys = OwnKeys::generate(&passphrase)?;
    secrets::store(place.unwrap_or_default(), &mut selection);
    let (config, _) = folder.finish(&selection, &review, &keys, SystemClock::default().now())?;
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

fn chosen_posture(args: &Init, answers: &Answers) -> Result<Posture, Failure> {
    match (&args.posture, answers.posture) {
        (Some(word), _) => posture(word),
        (None, Some(posture)) => Ok(posture),
        (None, None) if args.asks() => questions::posture(),
        (None, None) => Ok(Posture::Careful),
    }
}

/// Changes the review as the answers say that were given or are asked for.
fn answer(
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

/// Reads the word for a posture.
fn posture(word: &str) -> Result<Posture, Failure> {
    Posture::parse(word).ok_or_else(|| {
        let message = format!("`{}` is no posture", weaver_text::escape::line(word));
        Failure::new(Exit::Usage, "init.posture", message).next("write observe, careful or locked")
    })
}

fn selected(
    args: &Init,
    answers: &Answers,
    place: &mut Option<SecretPlace>,
) -> Result<Selection, Failure> {
    let files = found_servers::files(&args.from)?;
    let mut selection = found_servers::selection(&files, &TakenNames::default());
    for name in &answers.leave {
        selection.leave_out(name, "your answers leave it where it is");
    }
    if args.leave_secrets {
        selection = selection.without_secrets();
    }
    output::aside(&found_servers::told(&files, &selection));
    if args.asks() && !selection.secrets.is_empty() && place.is_none() {
        *place = secrets::ask(&selection)?;
        if place.is_none() {
            selection = selection.without_secrets();
        }
    }
    if selection.servers.is_empty() {
        return Err(found_servers::nothing(&selection));
    }
    Ok(selection)
}

/// Starts the servers and lists their tools. One that does not answer stays where it is.
fn list(
    config: &weaver_gateway::config::Config,
    servers: &[Upstream],
    seconds: u64,
    selection: &mut Selection,
) -> Result<Vec<(UpstreamName, Vec<ListedFeature>)>, Failure> {
    let many = servers.len();
    output::aside(&format!("starting {many} server{} …\n", if many == 1 { "" } else { "s" }));
    let mut listed = Vec::new();
    let mut first = None;
    for (name, result) in ask(config, servers, seconds)? {
        match result {
            Ok(tools) => listed.push((name, tools)),
            Err(problem) => {
                let left = selection.left_out.len();
                selection.leave_out(name.as_str(), &format!("it did not start: {problem}"));
                output::aside(&found_servers::left_out(
                    selection.left_out.get(left..).unwrap_or_default(),
                ));
                first.get_or_insert(problem);
            }
        }
    }
    match first {
        Some(problem) if listed.is_empty() => {
            Err(Failure::new(Exit::Upstream, "init.servers_away", problem).next(
                "start the server by hand with its command, or give it longer: `--timeout 300`",
            ))
        }
        _ => Ok(listed),
    }
}

/// Asks servers within a time.
fn ask(
    config: &weaver_gateway::config::Config,
    servers: &[Upstream],
    seconds: u64,
) -> Result<Vec<(UpstreamName, listing::ListingResult)>, Failure> {
    let patience = Duration::from_secs(seconds);
    let servers: Vec<Upstream> = servers
        .iter()
        .map(|one| Upstream { initialize_timeout: Some(patience), ..one.clone() })
        .collect();
    // The driver's own limit comes first: it knows what the server said.
    let patience = Some(patience + Duration::from_secs(5));
    listing::list_all(config, &servers, patience, &output::waiting)
        .map_err(|error| Failure::new(Exit::Internal, "init.runtime", error))
}

/// The passphrase of the new keys. Without one from the terminal or a descriptor it is made up, shown
/// once and kept nowhere.
fn passphrase(args: &Init) -> Result<(Passphrase, Option<GeneratedPassphrase>), Failure> {
    if let Some(fd) = args.passphrase.passphrase_fd {
        return Ok((Passphrase::from_descriptor(fd)?.long_enough()?, None));
    }
    if args.asks() {
        output::aside(
            "\nA passphrase protects the two keys: the one that signs what is allowed, and yours, which\n\
             releases held calls. Without it they are lost.\n",
        );
        return Ok((Passphrase::ask_new()?, None));
    }
    let text: Zeroizing<String> = generated_passphrase(&OsRandom)?;
    Ok((Passphrase::new(text.clone())?, Some(GeneratedPassphrase(text))))
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let findings = error.findings();
        let exit = match &error {
            SetupError::Secret(error) if error.is_passphrase() => Exit::Passphrase,
            _ => Exit::Invalid,
        };
        let failure = Self::new(exit, error.code(), &error).next(error.next());
        Self { findings, ..failure }
    }
}

impl From<weaver_gateway::clients::ClientFileError> for Failure {
    fn from(error: weaver_gateway::clients::ClientFileError) -> Self {
        Self::findings(error.code(), std::slice::from_ref(error.finding()))
    }
}

/// A path as the user would type it in a command.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    if text.contains(' ') { format!("'{text}'") } else { text }
}
