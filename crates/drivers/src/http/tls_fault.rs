//! Why no TLS connection came about.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use rustls::{CertificateError, Error as TlsError};

/// Why no TLS connection came about: nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsFault {
    /// No authority that is known here signed the certificate.
    UnknownAuthority,
    /// The certificate has expired.
    Expired,
    /// The certificate is not valid yet.
    NotYetValid,
    /// The certificate is for another name.
    WrongName,
    /// The certificate cannot be used for another reason.
    Certificate,
    /// What answers does not speak TLS.
    NotTls,
    /// The server ended the handshake, for example because it wants a certificate of its client.
    Handshake,
}

impl TlsFault {
    /// Finds a TLS failure among the causes of an error.
    pub(crate) fn find(error: &(dyn StdError + 'static)) -> Option<Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(tls) = error.downcast_ref::<TlsError>() {
                return Some(Self::of(tls));
            }
            // The source of an I/O error is the source of the error in it, not that error.
            let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            cause = match inner {
                Some(inner) => Some(inner),
                None => error.source(),
            };
        }
        None
    }

    fn of(error: &TlsError) -> Self {
        use CertificateError as Problem;
        match error {
            TlsError::InvalidCertificate(problem) => match problem {
                // Two authorities can have the same name.
                Problem::UnknownIssuer | Problem::BadSignature => Self::UnknownAuthority,
                Problem::Expired | Problem::ExpiredContext { .. } => Self::Expired,
                Problem::NotValidYet | Problem::NotValidYetContext { .. } => Self::NotYetValid,
                Problem::NotValidForName | Problem::NotValidForNameContext { .. } => {
                    Self::WrongName
                }
                _ => Self::Certificate,
            },
            TlsError::InvalidMessage(_) => Self::NotTls,
            _ => Self::Handshake,
        }
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownAuthority => {
                "its certificate is of an authority that is not known here; name the file of its \
                 certificate as `ca_file`, or in the variable SSL_CERT_FILE"
            }
            Self::Expired => "its certificate has expired",
            Self::NotYetValid => "its certificate is not valid yet; is the clock right?",
            Self::WrongName => "its certificate is for another name than that of the url",
            Self::Certificate => "its certificate cannot be used",
            Self::NotTls => "it does not speak TLS there; is the url right?",
            Self::Handshake => "it refuses the TLS handshake",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tls_failure_is_found_among_the_causes() {
        for (error, wanted) in [
            (TlsError::InvalidCertificate(CertificateError::UnknownIssuer), "not known here"),
            (TlsError::InvalidCertificate(CertificateError::Expired), "expired"),
            (TlsError::InvalidCertificate(CertificateError::NotValidYet), "not valid yet"),
            (TlsError::InvalidCertificate(CertificateError::NotValidForName), "another name"),
            (TlsError::InvalidCertificate(CertificateError::BadEncoding), "cannot be used"),
            (TlsError::HandshakeNotComplete, "handshake"),
        ] {
            let nested = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error));
            assert!(TlsFault::find(&nested).unwrap().to_string().contains(wanted), "{wanted}");
        }
        assert_eq!(TlsFault::find(&io::Error::from(io::ErrorKind::ConnectionRefused)), None);
    }
}
