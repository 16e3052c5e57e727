//! Calls with client and server of the official SDK, which another program has (`benches/sdk`).

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::Failure;
use crate::documents::{Servers, Setup};
use crate::part::{CALLERS, Effort};
use crate::program::{Programs, text};

/// A server that listens; it ends with this value.
struct ServerProcess(Child);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One caller and many, over pipes and over HTTP, each directly and through the gateway.
pub(crate) fn measure(programs: &Programs, sdk: &Path, effort: &Effort) -> Result<Value, Failure> {
    let setup = Setup::write(Servers::Sdk(sdk))?;
    let program = text(sdk)?;
    let shim = programs.shim(&setup.config)?;
    let mut shim_command = vec![shim.command];
    shim_command.extend(shim.args);
    let started = Command::new(sdk).arg("server-http").stdout(Stdio::piped()).spawn()?;
    let mut server = ServerProcess(started);
    let mut direct_url = String::new();
    let output = server.0.stdout.take().ok_or("the server has no pipe")?;
    BufReader::new(output).read_line(&mut direct_url)?;
    // The shim starts the daemon, which also listens.
    let plan = json!({
        "ways": [
            { "name": "direct", "command": [program, "server"] },
            { "name": "shared", "command": shim_command },
            { "name": "http_direct", "url": direct_url.trim() },
            { "name": "http_shared", "url": format!("http://{}/mcp", setup.http) },
        ],
        "calls": effort.calls, "callers": CALLERS, "each": effort.each,
    });
    let measured = Command::new(sdk).args(["measure", &plan.to_string()]).output()?;
    if !measured.status.success() {
        return Err(String::from_utf8_lossy(&measured.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&measured.stdout)?)
}
