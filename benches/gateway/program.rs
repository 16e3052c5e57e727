//! How the gateway is started: as this program in another role, or as the command that is
//! distributed.

use std::path::{Path, PathBuf};

use weaver_drivers::mcp::{Endpoint, EraChoice, HttpConfig, Limits, StdioConfig};
use weaver_drivers::mcp::{Upstream, UpstreamConfig};

use crate::{AS_GATEWAY, AS_SHIM, Failure};

/// What is measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Programs {
    /// The command.
    pub(crate) weaver: Option<PathBuf>,
    /// Client and server of the official SDK.
    pub(crate) sdk: Option<PathBuf>,
}

impl Programs {
    /// The shim of a configuration's daemon.
    pub(crate) fn shim(&self, config: &Path) -> Result<StdioConfig, Failure> {
        self.command(AS_SHIM, &["serve", "--config"], config)
    }

    /// A gateway of its own.
    pub(crate) fn standalone(&self, config: &Path) -> Result<StdioConfig, Failure> {
        self.command(AS_GATEWAY, &["serve", "--standalone", "--config"], config)
    }

    fn command(&self, role: &str, verb: &[&str], config: &Path) -> Result<StdioConfig, Failure> {
        let (command, mut args) = match &self.weaver {
            Some(weaver) => (weaver.clone(), verb.iter().map(ToString::to_string).collect()),
            None => (std::env::current_exe()?, vec![role.to_owned()]),
        };
        args.push(text(config)?);
        Ok(StdioConfig { command: text(&command)?, args, ..StdioConfig::default() })
    }
}

/// This program in a role of its own.
pub(crate) fn own(role: &str) -> Result<StdioConfig, Failure> {
    let command = text(&std::env::current_exe()?)?;
    Ok(StdioConfig { command, args: vec![role.to_owned()], ..StdioConfig::default() })
}

/// A client of a server over pipes. All clients speak the same era, so that no ratio is one of eras.
pub(crate) fn stdio(name: &str, stdio: StdioConfig) -> Upstream {
    client(name, Endpoint::Stdio(stdio))
}

/// A client of a server over HTTP.
pub(crate) fn http(name: &str, url: String) -> Upstream {
    client(name, Endpoint::Http(HttpConfig { url, ..HttpConfig::default() }))
}

fn client(name: &str, endpoint: Endpoint) -> Upstream {
    // A list of fifty servers is longer than one server's may be.
    let limits = Limits { tools: 50_000, ..Limits::default() };
    let config = UpstreamConfig::new(name, endpoint);
    Upstream::new(UpstreamConfig { era: EraChoice::Legacy, limits, ..config })
}

pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    Ok(path.to_str().ok_or("a path is not UTF-8")?.to_owned())
}
