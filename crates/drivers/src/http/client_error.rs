//! Why no client for HTTP can be made.

/// Why no client can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ClientError {
    /// The certificates of the authority cannot be used.
    #[error("the authority cannot be read")]
    Authority,
    /// The cryptography offers none of the versions of TLS that are safe.
    #[error("tls is not available in this build")]
    Tls,
    /// The platform's certificates are not there.
    #[error(
        "no http client: the platform's certificates cannot be loaded; install ca-certificates"
    )]
    Platform,
}
