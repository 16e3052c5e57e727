//! Proxies that others wrote, as ways to the same server.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use weaver_drivers::mcp::StdioConfig;

use crate::ways::CallRoute;
use crate::{AS_SERVER, Failure, program};

/// How long a proxy may take to listen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A proxy, as the file of `--proxies` has it. In its arguments `{server}` stands for the server's
/// program, whose argument follows, and `{port}` for the port where it is to listen.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Proxy {
    pub(crate) name: String,
    command: String,
    args: Vec<String>,
    /// Where it listens; without one it speaks over its pipes.
    #[serde(default)]
    url: Option<String>,
}

/// A proxy that listens; it ends with this value.
pub(crate) struct ProxyProcess(Child);

impl Drop for ProxyProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The proxies of a file.
pub(crate) fn read(file: Option<&Path>) -> Result<Vec<Proxy>, Failure> {
    match file {
        Some(file) => Ok(serde_json::from_slice(&std::fs::read(file)?)?),
        None => Ok(Vec::new()),
    }
}

impl Proxy {
    /// True for one that a client reaches over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.url.is_some()
    }

    /// The way through it, and the process that listens.
    pub(crate) async fn way(&self) -> Result<(CallRoute, Option<ProxyProcess>), Failure> {
        let server = program::text(&std::env::current_exe()?)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let fill = |text: &String| {
            text.replace("{server}", &server)
                .replace("{role}", AS_SERVER)
                .replace("{port}", &port.to_string())
        };
        let args: Vec<String> = self.args.iter().map(fill).collect();
        let Some(url) = &self.url else {
            let command = self.command.clone();
            let stdio = StdioConfig { command, args, ..StdioConfig::default() };
            return Ok((CallRoute::to(program::stdio(&self.name, stdio)).await?, None));
        };
        let started = Command::new(&self.command)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let listening = ProxyProcess(started);
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if begun.elapsed() > PATIENCE {
                return Err(format!("`{}` does not listen", self.name).into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let way = CallRoute::to(program::http(&self.name, fill(url))).await?;
        Ok((way, Some(listening)))
    }
}
