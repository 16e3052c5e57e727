//! Who signs: the person whose key file it is, and what the keys document says of them.

use weaver_gateway::secret::{KeyFile, Passphrase};
use weaver_policy::approval::Rejection;
use weaver_policy::{Approver, Keys};
use weaver_types::Timestamp;
use weaver_types::signature::{PublicKey, SigningKey};

use super::approval_store::ApprovalStore;
use super::args::SignWith;
use super::rejections::refused;
use crate::{Exit, Failure};

/// A person with the key file that is still closed.
pub(super) struct Signer {
    pub(super) name: String,
    file: KeyFile,
}

impl Signer {
    /// Reads the key file and finds its person. No passphrase is needed for that.
    pub(super) fn find(
        args: &SignWith,
        place: &ApprovalStore,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let file = KeyFile::read(&args.key)?;
        let name = match place.keys() {
            Some(keys) => owner(keys, file.public(), args.person.as_deref(), now)?.to_owned(),
            None => args.person.clone().ok_or_else(|| {
                let message =
                    "the keys document cannot be read, so it is not known whose key it is";
                Failure::new(Exit::Usage, "approve.no_person", message)
                    .next("say who you are, as the keys document does: `--as PERSON`")
            })?,
        };
        Ok(Self { name, file })
    }

    /// What the keys document says of the person.
    pub(super) fn approver<'p>(&self, place: &'p ApprovalStore) -> Option<&'p Approver> {
        place.keys()?.approvers.get(&self.name)
    }

    /// Opens the key file.
    pub(super) fn unlock(&self, args: &SignWith) -> Result<SigningKey, Failure> {
        let passphrase = match args.passphrase.passphrase_fd {
            Some(fd) => Passphrase::from_descriptor(fd)?,
            None => Passphrase::ask(&format!("Passphrase of {}: ", args.key.display()))?,
        };
        Ok(self.file.open(&passphrase)?)
    }
}

/// The person who holds this key now.
fn owner<'k>(
    keys: &'k Keys,
    public: &PublicKey,
    said: Option<&str>,
    now: Timestamp,
) -> Result<&'k str, Failure> {
    let unknown = |name: &str| {
        let approver = weaver_text::escape::line(weaver_text::escape::truncate(name, 160));
        refused(&Rejection::UnknownApprover { approver: approver.into_owned() })
    };
    if let Some(said) = said.filter(|said| !keys.approvers.contains_key(*said)) {
        return Err(unknown(said));
    }
    let held = keys.approvers.iter().find_map(|(name, approver)| {
        let key = approver.keys.values().find(|key| key.key == *public)?;
        Some((name.as_str(), key))
    });
    match held {
        None if said.is_some() => Err(refused(&Rejection::WrongKey)),
        None => Err(unknown(&public.to_string())),
        Some((name, _)) if said.is_some_and(|said| said != name) => {
            Err(refused(&Rejection::WrongKey))
        }
        Some((_, key)) if !key.counts_at(now) => Err(refused(&Rejection::KeyVoid)),
        Some((name, _)) => Ok(name),
    }
}
