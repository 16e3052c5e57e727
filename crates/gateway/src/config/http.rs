//! `[http]`: where the gateway listens for clients over HTTP, and for whom.

use std::net::SocketAddr;

use weaver_policy::Finding;

use super::node::{Node, shown};

/// Where the gateway listens for clients over HTTP, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http {
    /// The address.
    pub listen: SocketAddr,
    /// The names of this host beside those of its address.
    pub hosts: Vec<String>,
    /// The web pages whose requests are served, by their origins.
    pub origins: Vec<String>,
    /// Clients without a token act as the principal of the configuration; at a loopback address only.
    pub anonymous: bool,
}

impl Http {
    /// The settings for this address, and nothing else allowed.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub fn at(listen: &str) -> Result<Self, &'static str> {
        let listen: SocketAddr =
            listen.parse().map_err(|_| "write an address and a port: `127.0.0.1:8700`")?;
        Ok(Self { listen, hosts: Vec::new(), origins: Vec::new(), anonymous: false })
    }
}

/// Reads the section.
pub(super) fn read(node: Option<&Node>, out: &mut Vec<Finding>) -> Option<Http> {
    let node = node?;
    let known = ["listen", "hosts", "origins", "anonymous", "proxy_ends_tls"];
    let section = node.section(&known, out)?;
    let Some(listen) = section.get("listen") else {
        out.push(node.finding(
            "config.missing_key",
            "`listen` is missing",
            "write `listen = \"127.0.0.1:8700\"`",
        ));
        return None;
    };
    let http = match Http::at(listen.text(out)?) {
        Ok(http) => http,
        Err(remedy) => {
            let message = format!("`{}` is no address", shown(listen.text(out)?));
            out.push(listen.finding("config.http_address", message, remedy));
            return None;
        }
    };
    let texts = |name: &str, out: &mut Vec<Finding>| -> Vec<String> {
        let list = section.get(name).map(|node| node.list(out).iter()).into_iter().flatten();
        let list: Vec<&Node> = list.collect();
        list.into_iter().filter_map(|node| node.text(out).map(str::to_owned)).collect()
    };
    let hosts = texts("hosts", out);
    let origins = texts("origins", out);
    let flag = |name: &str, out: &mut Vec<Finding>| {
        section.get(name).and_then(|node| node.flag(out)).unwrap_or(false)
    };
    let (anonymous, proxied) = (flag("anonymous", out), flag("proxy_ends_tls", out));
    if !http.listen.ip().is_loopback() && !proxied {
        let message =
            format!("{} can be reached from other machines, without encryption", http.listen);
        let remedy = "listen at 127.0.0.1, or write `proxy_ends_tls = true` where a proxy in front \
                      ends TLS and nobody else reaches the port";
        out.push(listen.finding("config.http_open", message, remedy));
    }
    if let Some(node) =
        section.get("anonymous").filter(|_| anonymous && !http.listen.ip().is_loopback())
    {
        let message = "clients without a token are let in at a loopback address only";
        out.push(node.finding(
            "config.http_anonymous",
            message,
            "remove it, and give clients tokens",
        ));
    }
    Some(Http { hosts, origins, anonymous, ..http })
}
