//! `cargo xtask eval work`: whether an agent completes the same tasks through Weaver as without.
//!
//! The same tasks run with three kinds of tool access: the client connects to the servers directly,
//! to `weaver serve` with its three tools, and to `weaver serve` in proxy mode.
//! `docs/internals/measurements.md` explains the measures.

mod agent;
mod client;
mod environment;
mod fixture;
pub(super) mod history;
mod report;
mod server;
mod session;
mod shown_result;
mod state;
mod task;
mod task_runner;
mod tasks;
mod tokens;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use xshell::Shell;

use self::environment::TaskEnvironment;
use self::session::ToolAccess;
use self::task::Task;
use self::task_runner::{TaskDocuments, TaskResult, TaskRunner};
use crate::counterparts::cache::Cache;
use crate::counterparts::registries;
use crate::counterparts::trust::{Documents, Trust};
use crate::install::{InstallOutcome, MissingProgram};
use crate::{build, workspace};

/// Options of `eval work`.
#[derive(clap::Args)]
pub struct Args {
    /// Run only this task, by its name in the table. May be given several times.
    #[arg(long, value_name = "NAME")]
    task: Vec<String>,
    /// Compare only this kind of access with direct access.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// The command to measure; without it one is built.
    #[arg(long, value_name = "FILE")]
    weaver: Option<PathBuf>,
    /// Keep the files, the repository and the database of each task and access.
    #[arg(long)]
    keep: bool,
    /// Use the documents that `weaver init` writes for this posture, instead of those written by
    /// hand.
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
    fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Careful => "careful",
        }
    }
}

/// Tasks that destroy data for good, so that `careful` holds them.
const DESTRUCTIVE_TASKS: [&str; 3] = ["delete-rows", "delete-an-observation", "delete-a-node"];

#[derive(Clone, Copy, clap::ValueEnum)]
enum Mode {
    Gateway,
    Proxy,
}

/// Run the tasks with each tool access and print the table.
///
/// # Errors
/// If an acceptance bound is missed, the packages cannot be installed, or the command or a server
/// cannot be started.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let tasks = select_tasks(&args.task)?;
    let test_bed = TestBed::set_up(sh, args.weaver.as_deref())?;
    let TestBed { cache, weaver, template, environment } = test_bed;
    let documents = match args.posture {
        None => signed_documents(&cache, &weaver),
        Some(posture) => posture_documents(&cache, &weaver, posture.name(), &environment),
    };
    let documents = documents.context("cannot set up the signed documents")?;
    let kept = args.keep.then(|| cache.run().join("kept"));
    let task_runner =
        TaskRunner { cache: &cache, weaver: &weaver, documents, template, environment, kept };
    let accesses = match args.mode {
        Some(Mode::Gateway) => vec![ToolAccess::Direct, ToolAccess::Gateway],
        Some(Mode::Proxy) => vec![ToolAccess::Direct, ToolAccess::Proxy],
        None => vec![ToolAccess::Direct, ToolAccess::Gateway, ToolAccess::Proxy],
    };
    let mut results = task_runner.run(&tasks, &accesses)?;
    if args.posture == Some(Posture::Careful) {
        let destroying = |result: &TaskResult| DESTRUCTIVE_TASKS.contains(&result.name);
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
    let missed = report::acceptance(&results).iter().filter(|bound| !bound.is_met()).count();
    ensure!(missed == 0, "{missed} of the lines of acceptance missed");
    Ok(())
}

/// The installed servers, and an environment for them to work on.
pub(super) struct TestBed {
    cache: Cache,
    weaver: PathBuf,
    template: TaskEnvironment,
    environment: TaskEnvironment,
}

impl TestBed {
    fn set_up(sh: &Shell, weaver: Option<&Path>) -> Result<Self> {
        let target = workspace::metadata()?.target_directory.into_std_path_buf();
        let weaver = build::find_weaver(sh, weaver, false)?;
        let run = target.join("work-eval").join("run");
        let cache = Cache::open(&target, &workspace::root()?, &run)?;
        for installed in
            [registries::npm(&cache), registries::python(&cache), registries::sqlite(&cache)]
        {
            ensure_installed(&installed)?;
        }
        let web = fixture::web::start()?;
        let environment = |name: &str| {
            let folder = cache.run().join(name);
            TaskEnvironment {
                files: folder.join("files"),
                data: folder.join("data"),
                web: web.clone(),
            }
        };
        let (template, environment) = (environment("template"), environment("place"));
        fixture::create(&cache, &template)?;
        environment.create_folders()?;
        environment.reset(&template)?;
        Ok(Self { cache, weaver, template, environment })
    }
}

fn select_tasks(names: &[String]) -> Result<Vec<Task>> {
    let all = tasks::all_tasks();
    if let Some(name) = names.iter().find(|name| !all.iter().any(|task| task.name == *name)) {
        let known: Vec<&str> = all.iter().map(|task| task.name).collect();
        bail!("no task `{name}`; the tasks are {}", known.join(", "));
    }
    let wanted = |task: &Task| names.is_empty() || names.iter().any(|name| name == task.name);
    Ok(all.into_iter().filter(wanted).collect())
}

fn ensure_installed(installed: &InstallOutcome) -> Result<()> {
    match installed {
        Ok(()) => Ok(()),
        Err(MissingProgram::OutOfReach(reason) | MissingProgram::Broken(reason)) => {
            bail!("the servers cannot be installed, so nothing can be measured: {reason}")
        }
    }
}

/// The documents that `weaver init` writes for the eight servers.
fn posture_documents(
    cache: &Cache,
    weaver: &Path,
    posture: &str,
    environment: &TaskEnvironment,
) -> Result<TaskDocuments> {
    let entry = |server: &server::Server| {
        let mut words = server.command(cache, environment).into_iter();
        let command = words.next().unwrap_or_default();
        let env: BTreeMap<String, String> = server.env(environment).into_iter().collect();
        let entry = json!({ "command": command, "args": words.collect::<Vec<_>>(), "env": env });
        (server.name.to_owned(), entry)
    };
    let servers: serde_json::Map<String, Value> = server::SERVERS.iter().map(entry).collect();
    let trust = Trust::of_posture(cache, weaver, posture, &Value::Object(servers))?;
    Ok(TaskDocuments { plain: trust.clone(), personal: trust })
}

/// The documents twice: as they are, and with files and notes tagged as personal data.
fn signed_documents(cache: &Cache, weaver: &Path) -> Result<TaskDocuments> {
    let data = workspace::root()?.join("xtask/harness/data/work");
    let folder = data.join("documents");
    let plain = Trust::new(cache, weaver, &Documents { folder: &folder, name: "plain" })?;
    let tagged = cache.run().join("personal-documents");
    fs::create_dir_all(&tagged)?;
    environment::copy_folder(&folder, &tagged)?;
    let contracts = fs::read_to_string(folder.join("contracts.toml"))?;
    let added = fs::read_to_string(data.join("personal.toml"))?;
    fs::write(tagged.join("contracts.toml"), contracts + &added)?;
    let personal = Trust::new(cache, weaver, &Documents { folder: &tagged, name: "personal" })?;
    Ok(TaskDocuments { plain, personal })
}
