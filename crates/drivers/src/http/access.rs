//! The hosts that requests may go to, and the limits on requests.

use std::fmt;
use std::time::Duration;

use super::client::{Lookup, system_lookup};
use super::{Authority, HostRule, Network};

/// Where the requests of an operation may go, and the bounds they are held to.
#[derive(Clone)]
pub struct Access {
    /// The hosts that requests and redirects may go to, beside the host that a template fixes.
    pub hosts: Vec<HostRule>,
    /// Addresses that may be connected to although they are not public: none by default.
    pub networks: Vec<Network>,
    /// Whether `http` is requested from other machines than this one; `false` by default.
    pub plain_http: bool,
    /// How many redirects are followed, 5 by default.
    pub redirects: u8,
    /// How long the head of an answer may take: 30 s.
    pub header_time: Duration,
    /// The longest answer, in bytes: 4 MiB.
    pub response_bytes: usize,
    /// How names are looked up: by the operating system.
    pub lookup: Lookup,
    /// An authority whose certificates count beside the platform's: none by default.
    pub authority: Option<Authority>,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            networks: Vec::new(),
            plain_http: false,
            redirects: 5,
            header_time: Duration::from_secs(30),
            response_bytes: 4 * 1024 * 1024,
            lookup: system_lookup(),
            authority: None,
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("hosts", &self.hosts)
            .field("networks", &self.networks)
            .field("plain_http", &self.plain_http)
            .field("redirects", &self.redirects)
            .field("header_time", &self.header_time)
            .field("response_bytes", &self.response_bytes)
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}
