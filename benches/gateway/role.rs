//! What the program is when it is started again with a role.

use std::path::Path;
use std::time::Duration;

use weaver_gateway::daemon::{
    self, DaemonCommand, DaemonFolder, DaemonOptions, DaemonProcess, SessionRequest, ShimOptions,
};
use weaver_gateway::serve;

use crate::{
    AS_DAEMON, AS_GATEWAY, AS_RELAY, AS_RELAY_END, AS_SERVER, AS_SHIM, Failure, echo, relay,
};

/// After how long without a client the daemon ends.
const IDLE_EXIT: Duration = Duration::from_secs(2);

/// Does what the first argument says; `None` where it names no role.
pub(crate) fn run(arguments: &[String]) -> Option<Result<(), Failure>> {
    let argument = arguments.get(1);
    let with_config = |act: fn(&Path) -> Result<(), Failure>| match argument {
        Some(config) => act(Path::new(config)),
        None => Err("no configuration".into()),
    };
    Some(match arguments.first()?.as_str() {
        AS_SERVER => {
            let more = argument.and_then(|more| more.parse().ok()).unwrap_or_default();
            echo::serve(more).map_err(Failure::from)
        }
        AS_RELAY => relay::begin(),
        AS_RELAY_END => relay::end(),
        AS_GATEWAY => with_config(gateway),
        AS_SHIM => with_config(shim),
        AS_DAEMON => with_config(daemon),
        _ => return None,
    })
}

/// What `weaver serve --standalone` does.
fn gateway(config: &Path) -> Result<(), Failure> {
    let config = weaver_gateway::config::load(config)?;
    serve::run(config, serve::ServeOptions::default(), None)?;
    Ok(())
}

/// What `weaver serve` does.
fn shim(config: &Path) -> Result<(), Failure> {
    let config = config.canonicalize()?;
    let folder = DaemonFolder::of_store(&weaver_gateway::config::load_store_path(&config)?);
    let command = DaemonCommand {
        program: std::env::current_exe()?,
        arguments: vec![AS_DAEMON.into(), config.clone().into()],
        directory: config.parent().unwrap_or(Path::new("/")).to_path_buf(),
        input: None,
    };
    let request = SessionRequest {
        config,
        unsigned_development: false,
        profile: None,
        folder: None,
        label: "bench".to_owned(),
        token: None,
    };
    Ok(daemon::run_shim(Ok(ShimOptions { folder, command, request }))?)
}

/// What `weaver daemon` does.
fn daemon(config: &Path) -> Result<(), Failure> {
    daemon::leave_session();
    let config = weaver_gateway::config::load(config)?;
    let options = DaemonOptions { idle_exit: Some(IDLE_EXIT), ..DaemonOptions::default() };
    let mut process = DaemonProcess::default();
    daemon::run(config, serve::ServeOptions::default(), options, &mut process, || {
        println!("{}", DaemonCommand::ready_line());
        let _ = daemon::detach_output();
    })?;
    Ok(())
}
