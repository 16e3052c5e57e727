//! Becoming another user.

use nix::unistd::{Gid, Uid, User, getuid, setgid, setgroups, setuid};

use super::error::ProtectionError;

/// The user that a server runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    user: Uid,
    group: Gid,
    /// Its name and folder, where the system knows it.
    known: Option<(String, std::path::PathBuf)>,
}

impl Account {
    /// Finds `name`, `uid` or `uid:gid`. A number without a group has the group of that user where
    /// the system knows it, and otherwise the same number.
    pub(super) fn find(text: &str) -> Result<Self, ProtectionError> {
        let number = |text: &str| text.parse::<u32>().ok();
        let (user, group) = match text.split_once(':') {
            Some((user, group)) => {
                let wrong = || ProtectionError::UserForm { text: text.to_owned() };
                let user = number(user).ok_or_else(wrong)?;
                (Ok(user), Some(number(group).ok_or_else(wrong)?))
            }
            None => (number(text).ok_or(text), None),
        };
        let known = match user {
            Ok(user) => User::from_uid(Uid::from_raw(user)),
            Err(name) => User::from_name(name),
        };
        let known = known
            .map_err(|source| ProtectionError::UserLookup { text: text.to_owned(), source })?;
        let account = match (user, known) {
            (Err(name), None) => {
                return Err(ProtectionError::UnknownUser { name: name.to_owned() });
            }
            (Ok(user), None) => Self {
                user: Uid::from_raw(user),
                group: Gid::from_raw(group.unwrap_or(user)),
                known: None,
            },
            (_, Some(known)) => Self {
                user: known.uid,
                group: group.map_or(known.gid, Gid::from_raw),
                known: Some((known.name, known.dir)),
            },
        };
        if account.user.is_root() || account.group == Gid::from_raw(0) {
            return Err(ProtectionError::RootUser { text: text.to_owned() });
        }
        Ok(account)
    }

    /// Makes this process the user's, with no other groups. Whoever is this user already stays it.
    pub(super) fn assume(&self) -> Result<(), ProtectionError> {
        if getuid() == self.user {
            return Ok(());
        }
        if !getuid().is_root() {
            return Err(ProtectionError::NotRoot);
        }
        setgroups(&[])
            .and_then(|()| setgid(self.group))
            .and_then(|()| setuid(self.user))
            .map_err(|source| ProtectionError::AssumeUser { user: self.user, source })
    }

    /// Variables that name this user in place of root: of those that are set, the ones that hold
    /// what root has.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let Ok(Some(root)) = User::from_uid(Uid::from_raw(0)) else { return Vec::new() };
        let (name, home) = match &self.known {
            Some((name, home)) => (name.clone(), home.display().to_string()),
            None => (self.user.to_string(), "/".to_owned()),
        };
        let own = [
            ("HOME", root.dir.display().to_string(), home),
            ("USER", root.name.clone(), name.clone()),
            ("LOGNAME", root.name, name),
        ];
        own.into_iter()
            .filter(|(variable, of_root, _)| std::env::var(variable).is_ok_and(|v| v == *of_root))
            .map(|(variable, _, own)| (variable, own))
            .collect()
    }
}
