//! `weaver service`: installs the daemon as a service of the user's own session.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use weaver_gateway::config;
use weaver_gateway::daemon::DaemonFolder;

use super::{Exit, Failure, daemon, output};
use crate::shared_args::ConfigArg;

#[derive(Debug, Subcommand)]
pub(super) enum Service {
    /// Write the service's files, and say how to start it
    #[command(after_help = "Example:\n  weaver service install --config ~/guarded/weaver.toml")]
    Install(ServiceArgs),
    /// Print the service's files
    Show(ServiceArgs),
    /// Remove the service's files
    Uninstall(ServiceArgs),
}

#[derive(Debug, Args)]
pub(super) struct ServiceArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// The name of the service
    #[arg(long, value_name = "NAME", default_value = "weaver")]
    name: String,
}

/// The service manager of the operating system.
#[derive(Debug, Clone, Copy)]
enum ServiceManager {
    Systemd,
    Launchd,
}

/// What the files of a service are made from.
struct ServicePlan<'a> {
    name: &'a str,
    program: &'a Path,
    config: &'a Path,
    /// Where clients find the daemon.
    socket: &'a Path,
    /// The `PATH` of the daemon, by which it finds the programs of servers. The service manager's
    /// own is short.
    search_path: &'a str,
}

/// A file of a service, relative to the user's home folder.
struct ServiceFile {
    path: PathBuf,
    text: String,
}

impl ServiceFile {
    /// The text, with a comment that names the file.
    fn named_text(&self, home: &Path) -> String {
        let path = home.join(&self.path);
        match self.text.split_once("?>\n") {
            Some((head, xml)) => format!("{head}?>\n<!-- {} -->\n{xml}", path.display()),
            None => format!("# {}\n{}", path.display(), self.text),
        }
    }
}

impl ServiceManager {
    fn of_this_system() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// The paths of the service's files. systemd has two: the service, and the socket that starts
    /// it.
    fn paths(self, name: &str) -> Vec<PathBuf> {
        match self {
            Self::Systemd => ["service", "socket"]
                .map(|kind| PathBuf::from(format!(".config/systemd/user/{name}.{kind}")))
                .into(),
            Self::Launchd => vec![PathBuf::from(format!("Library/LaunchAgents/{name}.plist"))],
        }
    }

    fn files(self, plan: &ServicePlan<'_>) -> Vec<ServiceFile> {
        let texts = match self {
            Self::Systemd => vec![systemd_service(plan), systemd_socket(plan)],
            Self::Launchd => vec![launchd_agent(plan)],
        };
        let files = self.paths(plan.name).into_iter().zip(texts);
        files.map(|(path, text)| ServiceFile { path, text }).collect()
    }

    /// The command that starts the service.
    fn start_command(self, name: &str, home: &Path) -> String {
        match self {
            Self::Systemd => format!("systemctl --user enable --now {name}.socket {name}.service"),
            Self::Launchd => {
                let file = home.join(format!("Library/LaunchAgents/{name}.plist"));
                format!("launchctl load -w {}", file.display())
            }
        }
    }
}

fn systemd_service(plan: &ServicePlan<'_>) -> String {
    let ServicePlan { name, program, config, search_path, .. } = plan;
    format!(
        "[Unit]\nDescription=Weaver, the gateway of {}\n\
         Requires={name}.socket\nAfter={name}.socket\n\n\
         [Service]\nType=notify\nExecStart={} daemon --config {}\n\
         Environment={}\nRestart=on-failure\nRestartSec=2\nTimeoutStopSec=40\n\n\
         [Install]\nAlso={name}.socket\nWantedBy=default.target\n",
        escape_specifiers(&config.display().to_string()),
        systemd_argument(&program.display().to_string()),
        systemd_argument(&config.display().to_string()),
        systemd_quote(&format!("PATH={search_path}")),
    )
}

/// systemd listens and hands the socket to the daemon, so that a client that comes while no daemon
/// runs waits for one instead of starting its own.
fn systemd_socket(plan: &ServicePlan<'_>) -> String {
    format!(
        "[Unit]\nDescription=Clients of Weaver, the gateway of {}\n\n\
         [Socket]\nListenStream={}\nSocketMode=0600\nDirectoryMode=0700\n\n\
         [Install]\nWantedBy=sockets.target\n",
        escape_specifiers(&plan.config.display().to_string()),
        escape_specifiers(&plan.socket.display().to_string()),
    )
}

fn launchd_agent(plan: &ServicePlan<'_>) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\"><dict>\n\
         <key>Label</key><string>{}</string>\n\
         <key>ProgramArguments</key><array><string>{}</string><string>daemon</string>\
         <string>--config</string><string>{}</string></array>\n\
         <key>EnvironmentVariables</key><dict><key>PATH</key><string>{}</string></dict>\n\
         <key>RunAtLoad</key><true/>\n\
         <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n\
         </dict></plist>\n",
        xml_escape(plan.name),
        xml_escape(&plan.program.display().to_string()),
        xml_escape(&plan.config.display().to_string()),
        xml_escape(plan.search_path),
    )
}

/// Escapes a text so that a unit file expands nothing in it (systemd.unit(5), "Specifiers").
fn escape_specifiers(text: &str) -> String {
    text.replace('%', "%%").replace(char::is_control, " ")
}

/// A quoted value of `Environment=`, where `$` has no meaning (systemd.exec(5)).
fn systemd_quote(text: &str) -> String {
    format!("\"{}\"", escape_specifiers(&text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A quoted word of a command line in a unit file, with nothing to expand (systemd.service(5)).
fn systemd_argument(text: &str) -> String {
    systemd_quote(&text.replace('$', "$$"))
}

fn xml_escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

pub(super) fn run(verb: Service) -> Result<Exit, Failure> {
    match verb {
        Service::Show(of) => {
            let (files, home) = (service_files(&of)?, home()?);
            let files: Vec<String> = files.iter().map(|file| file.named_text(&home)).collect();
            output::text(&files.join("\n"))?;
            Ok(Exit::Ok)
        }
        Service::Install(of) => install(&of),
        Service::Uninstall(of) => uninstall(&of),
    }
}

fn service_files(of: &ServiceArgs) -> Result<Vec<ServiceFile>, Failure> {
    check_name(&of.name)?;
    let config = daemon::absolute_config(&of.config.path())?;
    let folder = DaemonFolder::of_store(&config::load_store_path(&config)?);
    let plan = ServicePlan {
        name: &of.name,
        program: &std::env::current_exe()?,
        config: &config,
        socket: folder.socket(),
        search_path: &std::env::var("PATH").unwrap_or_default(),
    };
    Ok(ServiceManager::of_this_system().files(&plan))
}

/// Whether any version of this command wrote these bytes: each of them names the gateway or starts
/// its daemon.
fn is_written_by_weaver(file: &[u8]) -> bool {
    let text = String::from_utf8_lossy(file);
    let marks = ["Weaver, the gateway of ", "<string>daemon</string><string>--config</string>"];
    marks.iter().any(|mark| text.contains(mark))
}

fn check_name(name: &str) -> Result<(), Failure> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(allowed) {
        let message = "the name of a service has up to 64 letters, digits, `-`, `_` and `.`";
        return Err(Failure::new(Exit::Usage, "service.name", message));
    }
    Ok(())
}

fn home() -> Result<PathBuf, Failure> {
    std::env::var_os("HOME").map(PathBuf::from).ok_or_else(|| {
        Failure::new(Exit::Invalid, "service.home", "HOME is not set, so there is no place for it")
    })
}

fn install(of: &ServiceArgs) -> Result<Exit, Failure> {
    // A service gets no passphrase by descriptor.
    daemon::check_log_passphrase(
        &config::load(daemon::absolute_config(&of.config.path())?)?,
        None,
    )?;
    let (files, home) = (service_files(of)?, home()?);
    // Nothing is written if one of the files belongs to something else.
    for file in &files {
        let path = home.join(&file.path);
        let found = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            found => found.unwrap_or_default(),
        };
        if found != file.text.as_bytes() {
            let message = format!("{} is there already, and is another one", path.display());
            let next = match is_written_by_weaver(&found) {
                true => "remove it with `weaver service uninstall`, or take another `--name`",
                false => "it is not Weaver's; take another `--name`",
            };
            return Err(Failure::new(Exit::Invalid, "service.exists", message).with_next_step(next));
        }
    }
    for file in &files {
        let path = home.join(&file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        if !path.exists() {
            fs::File::create_new(&path)?.write_all(file.text.as_bytes())?;
        }
        output::line(&format!("wrote {}", path.display()))?;
    }
    output::line(&format!(
        "start it: {}",
        ServiceManager::of_this_system().start_command(&of.name, &home)
    ))?;
    Ok(Exit::Ok)
}

fn uninstall(of: &ServiceArgs) -> Result<Exit, Failure> {
    check_name(&of.name)?;
    let home = home()?;
    let places = ServiceManager::of_this_system().paths(&of.name);
    let found: Vec<PathBuf> =
        places.iter().map(|path| home.join(path)).filter(|path| path.exists()).collect();
    if found.is_empty() {
        let message = format!("no service `{}` is installed", of.name);
        return Err(Failure::new(Exit::NotFound, "service.unknown", message));
    }
    if let Some(path) =
        found.iter().find(|path| !is_written_by_weaver(&fs::read(path).unwrap_or_default()))
    {
        let message = format!("{} is not Weaver's, and nothing was removed", path.display());
        return Err(Failure::new(Exit::Invalid, "service.foreign", message)
            .with_next_step("name the service that `weaver service install` wrote: `--name`"));
    }
    for path in found {
        fs::remove_file(&path).map_err(|error| {
            let message = format!("{}: {error}", path.display());
            Failure::new(Exit::NotFound, "service.unknown", message)
        })?;
        output::line(&format!("removed {}", path.display()))?;
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_whatever_stands_in_it() {
        let plan = ServicePlan {
            name: "weaver",
            program: Path::new("/o p/weaver"),
            config: Path::new("/a%b/$x/\"c\"<&>.toml"),
            socket: Path::new("/s %/d.sock"),
            search_path: "/bin:/$y\\:/%h",
        };
        let [service, socket] = &ServiceManager::Systemd.files(&plan)[..] else {
            panic!("two files")
        };
        for line in [
            "ExecStart=\"/o p/weaver\" daemon --config \"/a%%b/$$x/\\\"c\\\"<&>.toml\"\n",
            "Environment=\"PATH=/bin:/$y\\\\:/%%h\"\n",
            "Requires=weaver.socket\nAfter=weaver.socket\n",
        ] {
            assert!(service.text.contains(line), "{line}\n{}", service.text);
        }
        assert!(socket.text.contains("\nListenStream=/s %%/d.sock\n"), "{}", socket.text);
        let shown = service.named_text(Path::new("/home/ana"));
        assert!(shown.starts_with("# /home/ana/.config/systemd/user/weaver.service\n[Unit]\n"));
        let [agent] = &ServiceManager::Launchd.files(&plan)[..] else { panic!("one file") };
        let shown = agent.named_text(Path::new("/Users/ana"));
        let second = "<!-- /Users/ana/Library/LaunchAgents/weaver.plist -->";
        assert!(shown.starts_with("<?xml") && shown.lines().nth(1) == Some(second), "{shown}");
        assert!(agent.text.contains("<string>/a%b/$x/\"c\"&lt;&amp;&gt;.toml</string>"));
        assert!(agent.text.contains("<key>PATH</key><string>/bin:/$y\\:/%h</string>"));
    }
}
