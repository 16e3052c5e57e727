//! The hosts that requests may go to, and the limits on requests.

use std::fmt;
use std::time::Duration;

use super::client::{HostLookup, system_host_lookup};
use super::{AddressRange, CertificateAuthority, HostRule};

/// Where the requests of an operation may go, and their limits.
#[derive(Clone)]
pub struct Access {
    /// Hosts that requests and redirects may go to, in addition to the host fixed by a template.
    pub hosts: Vec<HostRule>,
    /// Ranges of non-public addresses that may be connected to: none by default.
    pub networks: Vec<AddressRange>,
    /// Whether other machines may be reached over `http`; `false` by default.
    pub plain_http: bool,
    /// How many redirects are followed: 5 by default.
    pub max_redirects: u8,
    /// Time until the head of a response has arrived: 30 s.
    pub header_timeout: Duration,
    /// The largest response body in bytes: 4 MiB.
    pub max_response_bytes: usize,
    /// How host names are resolved: by the operating system.
    pub lookup: HostLookup,
    /// A certificate authority trusted in addition to the platform's: none by default.
    pub certificate_authority: Option<CertificateAuthority>,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            networks: Vec::new(),
            plain_http: false,
            max_redirects: 5,
            header_timeout: Duration::from_secs(30),
            max_response_bytes: 4 * 1024 * 1024,
            lookup: system_host_lookup(),
            certificate_authority: None,
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("hosts", &self.hosts)
            .field("networks", &self.networks)
            .field("plain_http", &self.plain_http)
            .field("redirects", &self.max_redirects)
            .field("header_time", &self.header_timeout)
            .field("response_bytes", &self.max_response_bytes)
            .field("authority", &self.certificate_authority)
            .finish_non_exhaustive()
    }
}
