//! Exit codes: stable numbers that scripts may test.

use std::fmt::Write as _;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub(crate) enum Exit {
    /// The command did what was asked.
    Ok,
    /// The command checked something, and it is not as it should be.
    Failed,
    /// The command line is wrong.
    Usage,
    /// A configuration, document, key file or input cannot be read, is invalid, or names an address,
    /// program or table that cannot be used.
    Invalid,
    /// The ledger is missing, damaged, too new or locked.
    Store,
    /// No server behind the gateway can be used.
    Upstream,
    /// The passphrase is wrong, or there is none.
    Passphrase,
    /// No request, standing approval, run, call, event, server, tool or entry has this name.
    NotFound,
    /// This person may not make this statement: another's key, too little authority, or the
    /// requester.
    NoAuthority,
    /// The request has ended, or this person has already answered it.
    AlreadyAnswered,
    /// The question on the terminal was not answered with yes.
    Declined,
    /// The gateway did not accept what was signed, or the signature does not count.
    NotAccepted,
    /// An internal error.
    Internal,
}

impl Exit {
    /// Every code, in the order of the numbers.
    pub(crate) const ALL: &'static [Self] = &[
        Self::Ok,
        Self::Failed,
        Self::Usage,
        Self::Invalid,
        Self::Store,
        Self::Upstream,
        Self::Passphrase,
        Self::NotFound,
        Self::NoAuthority,
        Self::AlreadyAnswered,
        Self::Declined,
        Self::NotAccepted,
        Self::Internal,
    ];

    /// The number.
    #[must_use]
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Invalid => 3,
            Self::Store => 4,
            Self::Upstream => 5,
            Self::Passphrase => 6,
            Self::NotFound => 7,
            Self::NoAuthority => 8,
            Self::AlreadyAnswered => 9,
            Self::Declined => 10,
            Self::NotAccepted => 11,
            Self::Internal => 70,
        }
    }

    /// What it means, in one line.
    #[must_use]
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "it did what was asked",
            Self::Failed => {
                "what was checked is not as it should be: a log, proof, contract, policy or rule"
            }
            Self::Usage => "the command line is wrong",
            Self::Invalid => {
                "a configuration, document, key file or input is missing, invalid or names what cannot be used"
            }
            Self::Store => "the ledger is missing, damaged, too new or in use",
            Self::Upstream => "no server behind the gateway can be used",
            Self::Passphrase => "the passphrase is wrong, or none was given",
            Self::NotFound => {
                "there is no request, standing approval, run, call, event, server, tool or entry of this name"
            }
            Self::NoAuthority => {
                "the signature does not count: another's key, too little authority, or the one who asks"
            }
            Self::AlreadyAnswered => "the request has ended, or this person has answered it",
            Self::Declined => "it was not confirmed on the terminal; nothing was done",
            Self::NotAccepted => "the gateway did not answer, or rejected what was signed",
            Self::Internal => "an internal error; please report it",
        }
    }

    /// A table for the terminal.
    #[must_use]
    pub(crate) fn table() -> String {
        Self::ALL.iter().fold(String::new(), |mut out, exit| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  {:>2}  {}", exit.code(), exit.meaning());
            out
        })
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_ascending() {
        let codes: Vec<u8> = Exit::ALL.iter().map(|exit| exit.code()).collect();
        assert!(codes.windows(2).all(|pair| pair[0] < pair[1]), "{codes:?}");
    }
}
