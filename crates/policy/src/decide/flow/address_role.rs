//! What the name of an argument, and that of its tool, say about an address without a scheme in it.

use weaver_text::split;

use crate::argument::is_listed;
use crate::critical::{ArgumentRole, argument_role, names_url};

/// Words of names of arguments that hold a host.
const HOST_WORDS: &str = "\
    server servers host hosts hostname hostnames domain domains fqdn endpoint endpoints remote \
    remotes upstream mirror proxy broker brokers bootstrap nameserver nameservers resolver \
    relay smtp imap gateway website site webhook callback ip peer peers";
/// Words after those above that leave the argument one for a host.
const HOST_NOUNS: &str = "name names address addr url uri ip list string";
/// Words of names of arguments that hold a connection string.
const CONNECTION_WORDS: &str = "dsn conn connection connections connstr connect jdbc";
/// Words of names of arguments that hold the address of a store of packages or code.
const STORE_WORDS: &str = "repo repos repository repositories registry registries index origin";
/// Words of tools that look at images of containers and charts, whose first part may be a registry.
const IMAGE_TOOLS: &str = "\
    image images container containers docker registry manifest helm chart charts oci skopeo trivy \
    podman";
/// Words of names of their arguments that hold one.
const IMAGE_WORDS: &str = "image images chart charts ref reference manifest target artifact";
/// What is asked of a name server, whatever the verb.
const NAME_RECORDS: &str = "mx dmarc spf dkim nameserver nameservers webfinger dnsbl rbl";
/// Words of tools that ask the network for a name.
const NAME_LOOKUPS: &str = "\
    dns dig drill nslookup whois ping traceroute tracert mtr nmap rdap mx gethostbyname \
    getaddrinfo";

/// What the name of an argument says about an address without a scheme in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressRole {
    /// It holds a host, so any name with a dot is one.
    Host,
    /// It holds a connection string, so any part with a dot may be a host.
    Connection,
    /// It holds a URL or a store of packages or code: a host, or a name at the usual one.
    Store,
    /// Its name does not tell.
    Other,
}

impl AddressRole {
    /// The role of an argument with this name of a tool with these words in its name.
    pub(super) fn of<'w>(name: &str, tool: impl Iterator<Item = &'w str>) -> Self {
        let words = split::identifier(name);
        let Some(last) = words.last().map(String::as_str) else { return Self::Other };
        let is_any = |known| words.iter().any(|word| is_listed(word, &[known]));
        if is_any(CONNECTION_WORDS) {
            return Self::Connection;
        }
        if is_any(HOST_WORDS) && is_listed(last, &[HOST_WORDS, HOST_NOUNS]) {
            return Self::Host;
        }
        // Whatever it is called: the name that is asked for says something to whoever answers.
        let sets = matches!(argument_role(name), ArgumentRole::Setting | ArgumentRole::Time);
        let tool: Vec<&str> = tool.collect();
        if !sets && asks_for_names(&tool) {
            return Self::Host;
        }
        let is_image = is_listed(last, &[IMAGE_WORDS])
            && tool.iter().any(|word| is_listed(word, &[IMAGE_TOOLS]));
        let is_store = is_listed(last, &[STORE_WORDS]) || is_image || names_url(name);
        if is_store { Self::Store } else { Self::Other }
    }
}

/// Whether a tool with these words in its name asks the network for a name.
fn asks_for_names(tool: &[&str]) -> bool {
    let has = |known| tool.iter().any(|word| is_listed(word, &[known]));
    has(NAME_LOOKUPS)
        || has(NAME_RECORDS)
        || has("resolve lookup reverse") && (tool.len() == 1 || has(HOST_WORDS))
        || has("check verify validate") && has("domain domains blacklist")
        || has("verify validate") && has("email")
}
