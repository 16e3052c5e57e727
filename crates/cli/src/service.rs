//! `weaver service`: the daemon as a service of the user's own session.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{Exit, Failure, daemon, output};

#[derive(Debug, Subcommand)]
pub(super) enum Service {
    /// Write the service file, and say how to start it
    #[command(after_help = "Example:\n  weaver service install --config ~/guarded/weaver.toml")]
    Install(Of),
    /// Print the service file
    Show(Of),
    /// Remove the service file
    Uninstall(Of),
}

#[derive(Debug, Args)]
pub(super) struct Of {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "weaver.toml",
        value_parser = crate::config_path::named)]
    config: PathBuf,
    /// The name of the service
    #[arg(long, value_name = "NAME", default_value = "weaver")]
    name: String,
}

/// The programs that look after services.
enum Manager {
    Systemd,
    Launchd,
}

impl Manager {
    fn here() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// Where a service's file lies, below the user's folder.
    fn file(&self, name: &str) -> PathBuf {
        match self {
            Self::Systemd => PathBuf::from(format!(".config/systemd/user/{name}.service")),
            Self::Launchd => PathBuf::from(format!("Library/LaunchAgents/{name}.plist")),
        }
    }

    /// The text of the file.
    fn text(&self, name: &str, program: &Path, config: &Path) -> String {
        let (program, config) = (program.display().to_string(), config.display().to_string());
        match self {
            Self::Systemd => format!(
                "[Unit]\nDescription=Weaver, the gateway of {config}\n\n\
                 [Service]\nType=notify\nExecStart={} daemon --config {}\n\
                 Restart=on-failure\nRestartSec=2\nTimeoutStopSec=40\n\n\
                 [Install]\nWantedBy=default.target\n",
                systemd_word(&program),
                systemd_word(&config)
            ),
            Self::Launchd => format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                 <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
                 \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
                 <plist version=\"1.0\"><dict>\n\
                 <key>Label</key><string>{}</string>\n\
                 <key>ProgramArguments</key><array><string>{}</string><string>daemon</string>\
                 <string>--config</string><string>{}</string></array>\n\
                 <key>RunAtLoad</key><true/>\n\
                 <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n\
                 </dict></plist>\n",
                xml(name),
                xml(&program),
                xml(&config)
            ),
        }
    }

    /// The command that starts it.
    fn start(&self, name: &str, file: &Path) -> String {
        match self {
            Self::Systemd => format!("systemctl --user enable --now {name}"),
            Self::Launchd => format!("launchctl load -w {}", file.display()),
        }
    }
}

/// A word of a command line in a unit file: quoted, and nothing in it replaced (systemd.service(5)).
fn systemd_word(text: &str) -> String {
    let text =
        text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{text}\"")
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

pub(super) fn run(verb: Service) -> Result<Exit, Failure> {
    match verb {
        Service::Show(of) => {
            output::text(&text_of(&of)?)?;
            Ok(Exit::Ok)
        }
        Service::Install(of) => install(&of),
        Service::Uninstall(of) => uninstall(&of),
    }
}

fn text_of(of: &Of) -> Result<String, Failure> {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if of.name.is_empty() || of.name.len() > 64 || !of.name.bytes().all(word) {
        let message = "the name of a service has up to 64 letters, digits, `-`, `_` and `.`";
        return Err(Failure::new(Exit::Usage, "service.name", message));
    }
    let program = std::env::current_exe()?;
    Ok(Manager::here().text(&of.name, &program, &daemon::absolute(&of.config)?))
}

fn place(of: &Of) -> Result<PathBuf, Failure> {
    let home = std::env::var_os("HOME").ok_or_else(|| {
        Failure::new(Exit::Invalid, "service.home", "HOME is not set, so there is no place for it")
    })?;
    Ok(Path::new(&home).join(Manager::here().file(&of.name)))
}

fn install(of: &Of) -> Result<Exit, Failure> {
    let (text, file) = (text_of(of)?, place(of)?);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::read_to_string(&file) {
        Ok(found) if found == text => {}
        Ok(_) => {
            let message = format!("{} is there already, and is another one", file.display());
            return Err(Failure::new(Exit::Invalid, "service.exists", message)
                .next("remove it with `weaver service uninstall`, or take another `--name`"));
        }
        Err(_) => fs::File::create_new(&file)?.write_all(text.as_bytes())?,
    }
    output::line(&format!("wrote {}", file.display()))?;
    output::line(&format!("start it: {}", Manager::here().start(&of.name, &file)))?;
    Ok(Exit::Ok)
}

fn uninstall(of: &Of) -> Result<Exit, Failure> {
    let file = place(of)?;
    fs::remove_file(&file).map_err(|error| {
        let message = format!("{}: {error}", file.display());
        Failure::new(Exit::Unknown, "service.unknown", message)
    })?;
    output::line(&format!("removed {}", file.display()))?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_whatever_stands_in_it() {
        let (program, config) = (Path::new("/o p/weaver"), Path::new("/a%b/$x/\"c\"<&>.toml"));
        let unit = Manager::Systemd.text("weaver", program, config);
        assert!(
            unit.contains(
                "ExecStart=\"/o p/weaver\" daemon --config \"/a%%b/$$x/\\\"c\\\"<&>.toml\"\n"
            ),
            "{unit}"
        );
        let plist = Manager::Launchd.text("weaver", program, config);
        assert!(plist.contains("<string>/a%b/$x/\"c\"&lt;&amp;&gt;.toml</string>"), "{plist}");
    }
}
