//! `weaver service`: the daemon as a service of the user's own session.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use weaver_gateway::config;
use weaver_gateway::daemon::DaemonFolder;

use super::{Exit, Failure, daemon, output};

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
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "weaver.toml",
        value_parser = crate::config_path::named)]
    config: PathBuf,
    /// The name of the service
    #[arg(long, value_name = "NAME", default_value = "weaver")]
    name: String,
}

/// The programs that look after services.
#[derive(Debug, Clone, Copy)]
enum Manager {
    Systemd,
    Launchd,
}

/// What a service runs.
struct Plan<'a> {
    name: &'a str,
    program: &'a Path,
    config: &'a Path,
    /// Where clients find the daemon.
    socket: &'a Path,
    /// Where the daemon finds the programs of servers. A service manager's own list is short.
    search_path: &'a str,
}

/// A file of a service, below the user's folder.
struct ServiceFile {
    place: PathBuf,
    text: String,
}

impl Manager {
    fn here() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// Where the service's files lie. systemd has two: the service, and the socket that starts it.
    fn places(self, name: &str) -> Vec<PathBuf> {
        match self {
            Self::Systemd => ["service", "socket"]
                .map(|kind| PathBuf::from(format!(".config/systemd/user/{name}.{kind}")))
                .into(),
            Self::Launchd => vec![PathBuf::from(format!("Library/LaunchAgents/{name}.plist"))],
        }
    }

    fn files(self, plan: &Plan<'_>) -> Vec<ServiceFile> {
        let texts = match self {
            Self::Systemd => vec![systemd_service(plan), systemd_socket(plan)],
            Self::Launchd => vec![launchd_agent(plan)],
        };
        let files = self.places(plan.name).into_iter().zip(texts);
        files.map(|(place, text)| ServiceFile { place, text }).collect()
    }

    /// The command that starts it.
    fn start(self, name: &str, home: &Path) -> String {
        match self {
            Self::Systemd => format!("systemctl --user enable --now {name}.socket {name}.service"),
            Self::Launchd => {
                let file = home.join(format!("Library/LaunchAgents/{name}.plist"));
                format!("launchctl load -w {}", file.display())
            }
        }
    }
}

fn systemd_service(plan: &Plan<'_>) -> String {
    let Plan { name, program, config, search_path, .. } = plan;
    format!(
        "[Unit]\nDescription=Weaver, the gateway of {}\n\
         Requires={name}.socket\nAfter={name}.socket\n\n\
         [Service]\nType=notify\nExecStart={} daemon --config {}\n\
         Environment={}\nRestart=on-failure\nRestartSec=2\nTimeoutStopSec=40\n\n\
         [Install]\nAlso={name}.socket\nWantedBy=default.target\n",
        systemd_text(&config.display().to_string()),
        systemd_word(&program.display().to_string()),
        systemd_word(&config.display().to_string()),
        systemd_value(&format!("PATH={search_path}")),
    )
}

/// systemd listens and hands the socket to the daemon: clients that come while none runs wait for
/// one instead of starting their own.
fn systemd_socket(plan: &Plan<'_>) -> String {
    format!(
        "[Unit]\nDescription=Clients of Weaver, the gateway of {}\n\n\
         [Socket]\nListenStream={}\nSocketMode=0600\nDirectoryMode=0700\n\n\
         [Install]\nWantedBy=sockets.target\n",
        systemd_text(&plan.config.display().to_string()),
        systemd_text(&plan.socket.display().to_string()),
    )
}

fn launchd_agent(plan: &Plan<'_>) -> String {
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
        xml(plan.name),
        xml(&plan.program.display().to_string()),
        xml(&plan.config.display().to_string()),
        xml(plan.search_path),
    )
}

/// A text in which a unit file replaces nothing (systemd.unit(5), "Specifiers").
fn systemd_text(text: &str) -> String {
    text.replace('%', "%%").replace(char::is_control, " ")
}

/// A quoted value of `Environment=`, where `$` has no meaning (systemd.exec(5)).
fn systemd_value(text: &str) -> String {
    format!("\"{}\"", systemd_text(&text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A word of a command line in a unit file: quoted, and nothing in it replaced (systemd.service(5)).
fn systemd_word(text: &str) -> String {
    systemd_value(&text.replace('$', "$$"))
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

pub(super) fn run(verb: Service) -> Result<Exit, Failure> {
    match verb {
        Service::Show(of) => {
            let files: Vec<String> = files_of(&of)?.into_iter().map(|file| file.text).collect();
            output::text(&files.join("\n"))?;
            Ok(Exit::Ok)
        }
        Service::Install(of) => install(&of),
        Service::Uninstall(of) => uninstall(&of),
    }
}

fn files_of(of: &ServiceArgs) -> Result<Vec<ServiceFile>, Failure> {
    check_name(&of.name)?;
    let config = daemon::absolute(&of.config)?;
    let folder = DaemonFolder::of_store(&config::store_of(&config)?);
    let plan = Plan {
        name: &of.name,
        program: &std::env::current_exe()?,
        config: &config,
        socket: folder.socket(),
        search_path: &std::env::var("PATH").unwrap_or_default(),
    };
    Ok(Manager::here().files(&plan))
}

/// Whether these are the bytes of a file that this command wrote, of whatever version: each of them
/// speaks of the gateway or starts its daemon.
fn is_own(file: &[u8]) -> bool {
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
    // Nobody hands a service its passphrase.
    daemon::check_log_passphrase(&config::load(daemon::absolute(&of.config)?)?, None)?;
    let (files, home) = (files_of(of)?, home()?);
    // Nothing is written where one of the files is somebody else's.
    for file in &files {
        let place = home.join(&file.place);
        let found = match fs::read(&place) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            found => found.unwrap_or_default(),
        };
        if found != file.text.as_bytes() {
            let message = format!("{} is there already, and is another one", place.display());
            let next = match is_own(&found) {
                true => "remove it with `weaver service uninstall`, or take another `--name`",
                false => "it is not Weaver's; take another `--name`",
            };
            return Err(Failure::new(Exit::Invalid, "service.exists", message).next(next));
        }
    }
    for file in &files {
        let place = home.join(&file.place);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)?;
        }
        if !place.exists() {
            fs::File::create_new(&place)?.write_all(file.text.as_bytes())?;
        }
        output::line(&format!("wrote {}", place.display()))?;
    }
    output::line(&format!("start it: {}", Manager::here().start(&of.name, &home)))?;
    Ok(Exit::Ok)
}

fn uninstall(of: &ServiceArgs) -> Result<Exit, Failure> {
    check_name(&of.name)?;
    let home = home()?;
    let places = Manager::here().places(&of.name);
    let found: Vec<PathBuf> =
        places.iter().map(|place| home.join(place)).filter(|place| place.exists()).collect();
    if found.is_empty() {
        let message = format!("no service `{}` is installed", of.name);
        return Err(Failure::new(Exit::Unknown, "service.unknown", message));
    }
    if let Some(place) = found.iter().find(|place| !is_own(&fs::read(place).unwrap_or_default())) {
        let message = format!("{} is not Weaver's, and nothing was removed", place.display());
        return Err(Failure::new(Exit::Invalid, "service.foreign", message)
            .next("name the service that `weaver service install` wrote: `--name`"));
    }
    for place in found {
        fs::remove_file(&place).map_err(|error| {
            let message = format!("{}: {error}", place.display());
            Failure::new(Exit::Unknown, "service.unknown", message)
        })?;
        output::line(&format!("removed {}", place.display()))?;
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_whatever_stands_in_it() {
        let plan = Plan {
            name: "weaver",
            program: Path::new("/o p/weaver"),
            config: Path::new("/a%b/$x/\"c\"<&>.toml"),
            socket: Path::new("/s %/d.sock"),
            search_path: "/bin:/$y\\:/%h",
        };
        let [service, socket] = &Manager::Systemd.files(&plan)[..] else { panic!("two files") };
        for line in [
            "ExecStart=\"/o p/weaver\" daemon --config \"/a%%b/$$x/\\\"c\\\"<&>.toml\"\n",
            "Environment=\"PATH=/bin:/$y\\\\:/%%h\"\n",
            "Requires=weaver.socket\nAfter=weaver.socket\n",
        ] {
            assert!(service.text.contains(line), "{line}\n{}", service.text);
        }
        assert!(socket.text.contains("\nListenStream=/s %%/d.sock\n"), "{}", socket.text);
        let [agent] = &Manager::Launchd.files(&plan)[..] else { panic!("one file") };
        assert!(agent.text.contains("<string>/a%b/$x/\"c\"&lt;&amp;&gt;.toml</string>"));
        assert!(agent.text.contains("<key>PATH</key><string>/bin:/$y\\:/%h</string>"));
    }
}
