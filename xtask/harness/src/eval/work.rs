//! `cargo xtask eval work`: whether an agent completes through Weaver what it completes without.
//!
//! The same tasks run in three ways: the client talks with the servers, with `weaver serve` and its
//! three tools, and with `weaver serve` in proxy mode. `docs/internals/measurements.md` tells what is counted.

mod agent;
mod client;
mod fixture;
pub(super) mod history;
mod measure;
mod place;
mod report;
mod server;
mod session;
mod shown_result;
mod state;
mod task;
mod tasks;
mod tokens;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use xshell::Shell;

use self::measure::{Measure, TaskResult, Trusts};
use self::place::Place;
use self::session::ToolAccess;
use self::task::Task;
use crate::counterparts::cache::Cache;
use crate::counterparts::registries;
use crate::counterparts::trust::{Documents, Trust};
use crate::install::{InstallOutcome, MissingProgram};
use crate::{process, workspace};

/// Options of `eval work`.
#[derive(clap::Args)]
pub struct Args {
    /// Run only this task, by its name in the table. May be given several times.
    #[arg(long, value_name = "NAME")]
    task: Vec<String>,
    /// Compare only this way with the direct one.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// The command to measure; without it one is built.
    #[arg(long, value_name = "FILE")]
    weaver: Option<PathBuf>,
    /// Keep the files, the repository and the database of each task and way.
    #[arg(long)]
    keep: bool,
    /// Under the documents that `weaver init` makes in this posture, instead of those written by hand.
    #[arg(long, value_enum)]
    posture: Option<Posture>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Posture {
    Observe,
    Careful,
}

impl Posture {
    fn word(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Careful => "careful",
        }
    }
}

/// What destroys without a way back, so that `careful` holds it.
const DESTROYING: [&str; 3] = ["delete-rows", "delete-an-observation", "delete-a-node"];

#[derive(Clone, Copy, clap::ValueEnum)]
enum Mode {
    Gateway,
    Proxy,
}

/// Run the tasks in every way and print the table.
///
/// # Errors
/// When a line of acceptance is missed, when the packages cannot be installed, and when the command
/// or a server cannot be started.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let tasks = chosen(&args.task)?;
    let bed = TestBed::set_up(sh, args.weaver.as_deref())?;
    let TestBed { cache, weaver, template, place } = bed;
    let trusts = match args.posture {
        None => trusts(&cache, &weaver),
        Some(posture) => posture_trusts(&cache, &weaver, posture.word(), &place),
    };
    let trusts = trusts.context("cannot set up the signed documents")?;
    let kept = args.keep.then(|| cache.run().join("kept"));
    let measure = Measure { cache: &cache, weaver: &weaver, trusts, template, place, kept };
    let ways = match args.mode {
        Some(Mode::Gateway) => vec![ToolAccess::Direct, ToolAccess::Gateway],
        Some(Mode::Proxy) => vec![ToolAccess::Direct, ToolAccess::Proxy],
        None => vec![ToolAccess::Direct, ToolAccess::Gateway, ToolAccess::Proxy],
    };
    let mut results = measure.run(&tasks, &ways)?;
    if args.posture == Some(Posture::Careful) {
        let destroying = |result: &TaskResult| DESTROYING.contains(&result.name);
        for result in results.extract_if(.., |result| destroying(result)) {
            let through = result.outcomes.iter().skip(1).filter(|outcome| outcome.is_done());
            ensure!(through.count() == 0, "`{}` destroys and was not held", result.name);
            eprintln!("{}: held, as it should be", result.name);
        }
    }
    if args.json {
        println!("{}", report::json(&results));
    } else {
        print!("{}", report::table(&results));
    }
    let missed = report::acceptance(&results).iter().filter(|line| !line.kept()).count();
    ensure!(missed == 0, "{missed} of the lines of acceptance missed");
    Ok(())
}

/// The servers, installed, and a place for them to work on.
pub(super) struct TestBed {
    cache: Cache,
    weaver: PathBuf,
    template: Place,
    place: Place,
}

impl TestBed {
    fn set_up(sh: &Shell, weaver: Option<&Path>) -> Result<Self> {
        let target = workspace::metadata()?.target_directory.into_std_path_buf();
        let weaver = match weaver {
            Some(file) => file.canonicalize().with_context(|| format!("no {}", file.display()))?,
            None => build(sh, &target)?,
        };
        let run = target.join("work-eval").join("run");
        let cache = Cache::open(&target, &workspace::root()?, &run)?;
        for installed in
            [registries::npm(&cache), registries::python(&cache), registries::sqlite(&cache)]
        {
            installed_or_error(&installed)?;
        }
        let web = fixture::web::start()?;
        let place = |name: &str| {
            let folder = cache.run().join(name);
            Place { files: folder.join("files"), data: folder.join("data"), web: web.clone() }
        };
        let (template, place) = (place("template"), place("place"));
        fixture::make(&cache, &template)?;
        place.make()?;
        place.reset(&template)?;
        Ok(Self { cache, weaver, template, place })
    }
}

fn chosen(names: &[String]) -> Result<Vec<Task>> {
    let all = tasks::all();
    if let Some(name) = names.iter().find(|name| !all.iter().any(|task| task.name == *name)) {
        let known: Vec<&str> = all.iter().map(|task| task.name).collect();
        bail!("no task `{name}`; the tasks are {}", known.join(", "));
    }
    let wanted = |task: &Task| names.is_empty() || names.iter().any(|name| name == task.name);
    Ok(all.into_iter().filter(wanted).collect())
}

fn build(sh: &Shell, target: &Path) -> Result<PathBuf> {
    process::run(process::cargo(sh).args(["build", "-p", "weaver-cli", "--bin", "weaver"]))?;
    Ok(target.join("debug").join(format!("weaver{}", std::env::consts::EXE_SUFFIX)))
}

fn installed_or_error(installed: &InstallOutcome) -> Result<()> {
    match installed.missing() {
        None => Ok(()),
        Some(MissingProgram::OutOfReach(reason) | MissingProgram::Broken(reason)) => {
            bail!("the servers cannot be installed, so nothing can be measured: {reason}")
        }
    }
}

/// What `weaver init` makes for the eight servers.
fn posture_trusts(cache: &Cache, weaver: &Path, posture: &str, place: &Place) -> Result<Trusts> {
    let entry = |server: &server::Server| {
        let mut words = server.command(cache, place).into_iter();
        let command = words.next().unwrap_or_default();
        let env: BTreeMap<String, String> = server.env(place).into_iter().collect();
        let entry = json!({ "command": command, "args": words.collect::<Vec<_>>(), "env": env });
        (server.name.to_owned(), entry)
    };
    let servers: serde_json::Map<String, Value> = server::ALL.iter().map(entry).collect();
    let trust = Trust::of_posture(cache, weaver, posture, &Value::Object(servers))?;
    Ok(Trusts { plain: trust.clone(), personal: trust })
}

/// The documents twice: as they are, and with files and notes tagged as personal data.
fn trusts(cache: &Cache, weaver: &Path) -> Result<Trusts> {
    let data = workspace::root()?.join("xtask/harness/data/work");
    let folder = data.join("documents");
    let plain = Trust::new(cache, weaver, &Documents { folder: &folder, name: "plain" })?;
    let tagged = cache.run().join("personal-documents");
    fs::create_dir_all(&tagged)?;
    place::copy(&folder, &tagged)?;
    let contracts = fs::read_to_string(folder.join("contracts.toml"))?;
    let added = fs::read_to_string(data.join("personal.toml"))?;
    fs::write(tagged.join("contracts.toml"), contracts + &added)?;
    let personal = Trust::new(cache, weaver, &Documents { folder: &tagged, name: "personal" })?;
    Ok(Trusts { plain, personal })
}
