//! Which pairs are tried: each server with each client, in each era that both sides speak.

use super::server::{self, Server};
use crate::counterparts::pins::Pins;

/// An era of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    Legacy,
    Modern,
}

impl Era {
    /// Its name in the table and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// A program that drives the gateway.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// The command line of the inspector.
    Inspector,
    /// The Python SDK: `ClientSession` in the legacy era, `Client` in the modern one.
    PythonSdk,
    /// The TypeScript SDK: `Client` of its first generation, which speaks only the legacy era.
    TypeScriptSdk,
    /// The command line of `mcporter`, which speaks only the legacy era.
    Mcporter,
}

/// A client in one era.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Client {
    pub tool: Tool,
    pub era: Era,
}

/// What the gateway lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The three tools.
    Gateway,
    /// The server's tools under their own names.
    Proxy,
}

/// How two sides reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
}

impl Transport {
    fn suffix(self) -> &'static str {
        match self {
            Self::Stdio => "",
            Self::Http => ", HTTP",
        }
    }
}

/// One row of the table.
pub struct Plan {
    pub server: &'static Server,
    pub server_label: String,
    pub client: Client,
    pub client_label: String,
    /// The era between gateway and server.
    pub upstream: Era,
    pub mode: Mode,
    /// Between client and gateway.
    pub front: Transport,
    /// Between gateway and server.
    pub back: Transport,
}

/// The stock clients, in the order of the table.
pub const CLIENTS: [Client; 6] = [
    Client { tool: Tool::Inspector, era: Era::Legacy },
    Client { tool: Tool::Inspector, era: Era::Modern },
    Client { tool: Tool::PythonSdk, era: Era::Legacy },
    Client { tool: Tool::PythonSdk, era: Era::Modern },
    Client { tool: Tool::TypeScriptSdk, era: Era::Legacy },
    Client { tool: Tool::Mcporter, era: Era::Legacy },
];

/// The servers that are tried in proxy mode. The tested tools have no output schemas in the first
/// and some in the second, where a client validates even a refusal against them.
const PROXY_MODE_SERVERS: [&str; 2] = ["everything", "filesystem"];

/// All rows, in the order of the table.
pub fn all_plans(pins: &Pins) -> Vec<Plan> {
    let mut plans = Vec::new();
    for server in &server::SERVERS {
        // The gateway speaks legacy first; a server that also speaks modern is additionally tried
        // with modern only.
        let eras: &[Era] = if server.modern { &[Era::Legacy, Era::Modern] } else { &[Era::Legacy] };
        for &upstream in eras {
            for client in CLIENTS {
                plans.push(Plan::new(pins, server, client, upstream, Mode::Gateway));
            }
        }
    }
    for server in server::SERVERS.iter().filter(|server| PROXY_MODE_SERVERS.contains(&server.name))
    {
        for client in CLIENTS {
            plans.push(Plan::new(pins, server, client, Era::Legacy, Mode::Proxy));
        }
    }
    plans.extend(over_http(pins));
    plans
}

/// The rows with HTTP clients: each SDK with a server over pipes, and with one over HTTP if it can
/// listen.
fn over_http(pins: &Pins) -> Vec<Plan> {
    let mut plans = Vec::new();
    for server in server::SERVERS.iter().filter(|server| PROXY_MODE_SERVERS.contains(&server.name))
    {
        for mode in [Mode::Gateway, Mode::Proxy] {
            for client in CLIENTS.into_iter().filter(|client| client.tool.is_sdk()) {
                let front = Transport::Http;
                for back in [Transport::Stdio, Transport::Http] {
                    if back == Transport::Http && server.http.is_none() {
                        continue;
                    }
                    let plan = Plan::new(pins, server, client, Era::Legacy, mode);
                    let server_label = plan.server_label.clone() + back.suffix();
                    let client_label = plan.client_label.clone() + front.suffix();
                    plans.push(Plan { server_label, client_label, front, back, ..plan });
                }
            }
        }
    }
    plans
}

impl Tool {
    fn is_sdk(self) -> bool {
        matches!(self, Self::PythonSdk | Self::TypeScriptSdk)
    }
}

impl Client {
    /// Whether it knows tasks, so that a held call of it waits until somebody answers.
    pub fn knows_tasks(self) -> bool {
        self.tool == Tool::Inspector && self.era == Era::Modern
    }
}

impl Plan {
    /// The client's transport; a server is reached over HTTP only with an HTTP client.
    pub fn transport(&self) -> Transport {
        self.front
    }

    fn new(
        pins: &Pins,
        server: &'static Server,
        client: Client,
        upstream: Era,
        mode: Mode,
    ) -> Self {
        let client_label = match (client.tool, client.era) {
            (Tool::Inspector, _) => {
                format!("inspector {}", pins.version("@modelcontextprotocol/inspector"))
            }
            (Tool::PythonSdk, Era::Legacy) => {
                format!("py mcp {} ClientSession", pins.version("mcp"))
            }
            (Tool::PythonSdk, Era::Modern) => format!("py mcp {} Client", pins.version("mcp")),
            (Tool::TypeScriptSdk, _) => {
                format!("ts sdk {}", pins.version("@modelcontextprotocol/sdk"))
            }
            (Tool::Mcporter, _) => format!("mcporter {}", pins.version("mcporter")),
        };
        let server_label = format!("{} {}", server.name, pins.version(server.package));
        let (front, back) = (Transport::Stdio, Transport::Stdio);
        Self { server, server_label, client, client_label, upstream, mode, front, back }
    }

    /// The folder name of its run.
    pub fn folder(&self) -> String {
        let tool = match self.client.tool {
            Tool::Inspector => "inspector",
            Tool::PythonSdk => "python-sdk",
            Tool::TypeScriptSdk => "typescript-sdk",
            Tool::Mcporter => "mcporter",
        };
        let mode = match self.mode {
            Mode::Gateway => "gateway",
            Mode::Proxy => "proxy",
        };
        let (client, upstream) = (self.client.era.name(), self.upstream.name());
        let ends = (self.front.suffix(), self.back.suffix());
        let ends = format!("{}{}", ends.0, ends.1).replace(", ", "-");
        format!("{}-{tool}-{client}-{upstream}-{mode}{ends}", self.server.name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_server_meets_every_client_in_a_folder_of_its_own() {
        let plans = all_plans(&Pins::empty());
        for server in &server::SERVERS {
            for client in CLIENTS {
                let met = |plan: &&Plan| plan.server.name == server.name && plan.client == client;
                assert!(plans.iter().any(|plan| met(&plan)), "{}", server.name);
            }
        }
        let folders: BTreeSet<String> = plans.iter().map(Plan::folder).collect();
        assert_eq!(folders.len(), plans.len());
    }
}
