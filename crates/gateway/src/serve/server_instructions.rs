//! What the servers tell models about their tools (`instructions` of `initialize`), passed on like
//! a description: sanitised, and only while a tool of the server is offered. The digest of every
//! tool covers the instructions, so a server whose instructions changed offers none.

use weaver_firewall::Firewall;
use weaver_text::escape;
use weaver_types::CapabilityId;

use super::client::Client;
use super::managed_server::ManagedServer;
use super::sanitised_description;

/// The longest instructions of one server, in characters.
const MAX_SERVER_CHARS: usize = 2_000;
/// How much of a server's instructions is read at all, in characters.
const MAX_READ_CHARS: usize = 4 * MAX_SERVER_CHARS;
/// The longest instructions of all servers together, in characters.
const MAX_CHARS: usize = 6_000;

/// What the server of an offered tool says.
pub(super) fn of_tool(client: &Client, firewall: &Firewall, id: &CapabilityId) -> Option<String> {
    let server = client.gateway.upstreams.for_capability(id.as_str())?;
    sanitised(firewall, &server)
}

/// What all servers say that offer the client a tool, each under its name; empty if none says
/// anything.
pub(super) fn of_all(client: &Client, firewall: &Firewall) -> String {
    let servers = client.gateway.upstreams.servers();
    let offering = servers.iter().filter(|server| offers_tools(client, server));
    let texts = offering.filter_map(|server| {
        Some(format!("\n\nServer `{}` says: {}", server.name, sanitised(firewall, server)?))
    });
    escape::shorten(&texts.collect::<String>(), MAX_CHARS).into_owned()
}

fn offers_tools(client: &Client, server: &ManagedServer) -> bool {
    server.tools().into_keys().any(|id| client.is_offered(&id))
}

fn sanitised(firewall: &Firewall, server: &ManagedServer) -> Option<String> {
    let text = server.instructions()?;
    let text = escape::truncate(text.trim(), MAX_READ_CHARS);
    let text = sanitised_description::text(firewall, text);
    (!text.is_empty()).then(|| escape::shorten(&text, MAX_SERVER_CHARS).into_owned())
}
