//! Finds the person who signs: the owner of the key file, as the keys document names them.

use std::path::{Path, PathBuf};

use weaver_gateway::secret::KeyFile;
use weaver_policy::approval::Rejection;
use weaver_policy::{Approver, Keys};
use weaver_types::Timestamp;
use weaver_types::signature::{PublicKey, SigningKey};

use super::approval_store::ApprovalStore;
use super::args::SignWith;
use super::rejections::rejection_failure;
use crate::{Exit, Failure};

/// A person, and their key file, which is not decrypted yet.
pub(super) struct Signer {
    pub(super) name: String,
    path: PathBuf,
    file: KeyFile,
}

impl Signer {
    /// Reads the key file and finds its owner. Needs no passphrase.
    pub(super) fn find(
        args: &SignWith,
        store: &ApprovalStore,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let path = args.key.clone().or_else(|| store.owner_key().map(Path::to_owned));
        let path = path.ok_or_else(|| {
            let message = "no key file is named, and `weaver init` made none for this gateway";
            Failure::new(Exit::Usage, "approve.no_key", message)
                .with_next_step("name the key file of the person who signs: `--key FILE`")
        })?;
        let file = KeyFile::read(&path)?;
        let name = match store.keys() {
            Some(keys) => key_owner(keys, file.public(), args.person.as_deref(), now)?.to_owned(),
            None => args.person.clone().ok_or_else(|| {
                let message =
                    "the keys document cannot be read, so it is not known whose key it is";
                Failure::new(Exit::Usage, "approve.no_person", message)
                    .with_next_step("say who you are, as the keys document does: `--as PERSON`")
            })?,
        };
        Ok(Self { name, path, file })
    }

    /// The person's entry in the keys document.
    pub(super) fn approver<'p>(&self, store: &'p ApprovalStore) -> Option<&'p Approver> {
        store.keys()?.approvers.get(&self.name)
    }

    /// Decrypts the key file.
    pub(super) fn unlock(&self, args: &SignWith) -> Result<SigningKey, Failure> {
        args.passphrase.unlock(&self.path, &self.file)
    }
}

/// The person who owns this key now; fails if it is not the `claimed` one.
fn key_owner<'k>(
    keys: &'k Keys,
    public: &PublicKey,
    claimed: Option<&str>,
    now: Timestamp,
) -> Result<&'k str, Failure> {
    let unknown = |name: &str| {
        let approver = weaver_text::escape::line(weaver_text::escape::truncate(name, 160));
        rejection_failure(&Rejection::UnknownApprover { approver: approver.into_owned() })
    };
    if let Some(claimed) = claimed.filter(|claimed| !keys.approvers.contains_key(*claimed)) {
        return Err(unknown(claimed));
    }
    let found = keys.approvers.iter().find_map(|(name, approver)| {
        let key = approver.keys.values().find(|key| key.key == *public)?;
        Some((name.as_str(), key))
    });
    match found {
        None if claimed.is_some() => Err(rejection_failure(&Rejection::WrongKey)),
        None => Err(unknown(&public.to_string())),
        Some((name, _)) if claimed.is_some_and(|claimed| claimed != name) => {
            Err(rejection_failure(&Rejection::WrongKey))
        }
        Some((_, key)) if !key.is_valid_at(now) => Err(rejection_failure(&Rejection::KeyVoid)),
        Some((name, _)) => Ok(name),
    }
}
