//! Recognises servers that were set up for a database on this machine.

use std::net::Ipv4Addr;

use super::{TransportSettings, UpstreamSettings};

impl UpstreamSettings {
    /// Whether it is a process that is given the address of a database on this machine, and nothing
    /// that leads elsewhere: neither another address nor a key of a service.
    pub(crate) fn uses_local_database(&self) -> bool {
        let TransportSettings::Stdio { args, env, .. } = &self.transport else { return false };
        let opens_service = |name: &String| {
            let name = name.to_ascii_uppercase();
            ["KEY", "TOKEN", "SECRET"].iter().any(|ending| name.ends_with(ending))
        };
        let texts = args.iter().chain(env.values());
        let mut addresses = texts
            .flat_map(|text| text.split_whitespace())
            .filter(|text| text.contains("://"))
            .peekable();
        addresses.peek().is_some()
            && addresses.all(is_local_database)
            && !env.keys().any(opens_service)
    }
}

/// Whether an address is that of a database on this machine. What follows the question mark may name
/// another host to some programs.
fn is_local_database(address: &str) -> bool {
    const SCHEMES: [&str; 7] =
        ["redis", "valkey", "postgres", "postgresql", "mysql", "mariadb", "mongodb"];
    let Some((scheme, rest)) = address.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => host,
    };
    let is_loopback = host.eq_ignore_ascii_case("localhost")
        || host == "[::1]"
        || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback());
    SCHEMES.contains(&scheme.to_ascii_lowercase().as_str())
        && is_loopback
        && !rest.to_ascii_lowercase().contains("host=")
        && !rest.to_ascii_lowercase().contains("hostaddr")
}

#[cfg(test)]
mod tests {
    use super::is_local_database;

    #[test]
    fn only_a_database_at_this_machine_is_local() {
        for address in [
            "redis://127.0.0.1:6379",
            "postgresql://ana:p%40@localhost/shop?sslmode=disable",
            "mongodb://[::1]:27017/db",
            "MySQL://root@LOCALHOST",
        ] {
            assert!(is_local_database(address), "{address}");
        }
        for address in [
            "redis://cache.example.com",
            "postgres://localhost@db.example.com/shop",
            "postgres://localhost/shop?host=db.example.com",
            "http://127.0.0.1:80",
            "redis://",
            "mongodb://localhost,db.example.com:1/x",
            "mongodb://localhost:1,db.example.com/x",
            "mongodb+srv://localhost",
            "redis://localhost.example.com",
            "127.0.0.1:6379",
        ] {
            assert!(!is_local_database(address), "{address}");
        }
    }
}
