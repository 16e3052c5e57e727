//! Switching to another user.

use nix::unistd::{Gid, Uid, User, getuid, setgid, setgroups, setuid};

use super::error::ProtectionError;

/// The user that a child runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    user: Uid,
    group: Gid,
    /// Its name and home folder, if the system knows it.
    name_and_home: Option<(String, std::path::PathBuf)>,
}

impl Account {
    /// Looks up `name`, `uid` or `uid:gid`. For a number without a group, the group is that of the
    /// known user, otherwise the same number.
    pub(super) fn look_up(text: &str) -> Result<Self, ProtectionError> {
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
                name_and_home: None,
            },
            (_, Some(known)) => Self {
                user: known.uid,
                group: group.map_or(known.gid, Gid::from_raw),
                name_and_home: Some((known.name, known.dir)),
            },
        };
        if account.user.is_root() || account.group == Gid::from_raw(0) {
            return Err(ProtectionError::RootUser { text: text.to_owned() });
        }
        Ok(account)
    }

    /// Switches this process to the user, without supplementary groups. No change if it is the user
    /// already.
    pub(super) fn switch_to(&self) -> Result<(), ProtectionError> {
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

    /// The environment variables to override: those that still have root's values.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let Ok(Some(root)) = User::from_uid(Uid::from_raw(0)) else { return Vec::new() };
        let (name, home) = match &self.name_and_home {
            Some((name, home)) => (name.clone(), home.display().to_string()),
            None => (self.user.to_string(), "/".to_owned()),
        };
        let overrides = [
            ("HOME", root.dir.display().to_string(), home),
            ("USER", root.name.clone(), name.clone()),
            ("LOGNAME", root.name, name),
        ];
        overrides
            .into_iter()
            .filter(|(variable, of_root, _)| std::env::var(variable).is_ok_and(|v| v == *of_root))
            .map(|(variable, _, value)| (variable, value))
            .collect()
    }
}
