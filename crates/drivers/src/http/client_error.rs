//! Why an HTTP client cannot be built.

/// Why an HTTP client cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ClientError {
    /// The certificates of the configured authority cannot be used.
    #[error("the authority cannot be read")]
    CertificateAuthority,
    /// The cryptography supports no safe version of TLS.
    #[error("tls is not available in this build")]
    Tls,
    /// The platform's certificates are missing.
    #[error(
        "no http client: the platform's certificates cannot be loaded; install ca-certificates"
    )]
    Platform,
}
