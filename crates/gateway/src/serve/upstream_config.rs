//! From the configuration of an upstream to that of the driver.

use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::{Confined, Endpoint, HttpConfig, StdioConfig, UpstreamConfig};

use crate::config::{self, Config, Transport};

/// How the driver connects to an upstream: a process of ours is started, confined, by `launcher`.
pub fn upstream_config(
    config: &config::Upstream,
    whole: &Config,
    launcher: &Launcher,
) -> UpstreamConfig {
    let endpoint = match &config.transport {
        Transport::Stdio { command, args, env, cwd, confine } => Endpoint::Stdio(StdioConfig {
            command: command.clone(),
            args: args.clone(),
            env: env.clone(),
            cwd: cwd.clone(),
            confined: Some(Confined {
                launcher: launcher.clone(),
                confinement: whole.server_confinement(confine.as_ref()),
                setting: Some(format!(
                    "`write = […]` (or `read`, `execute`) under `[mcpServers.{}.confine]`",
                    config.name
                )),
            }),
        }),
        Transport::Http { url, headers } => {
            Endpoint::Http(HttpConfig { url: url.clone(), headers: headers.clone() })
        }
    };
    let mut upstream = UpstreamConfig::new(config.name.as_str(), endpoint);
    if let Some(timeout) = config.timeout {
        upstream.limits.call_timeout = timeout;
    }
    if let Some(timeout) = config.initialize_timeout {
        upstream.limits.initialize_timeout = timeout;
    }
    let (limits, own) = (&mut upstream.limits, &config.limits);
    limits.in_flight = own.calls.unwrap_or(limits.in_flight);
    limits.waiting = own.waiting.unwrap_or(limits.waiting);
    limits.calls_per_second = own.calls_per_second;
    limits.message_bytes = own.message_bytes.unwrap_or(limits.message_bytes);
    upstream
}
