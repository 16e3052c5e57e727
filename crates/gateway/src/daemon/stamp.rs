//! What tells whether a daemon still is the one that its configuration and its program ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use weaver_text::escape;

use crate::bounded_file;
use crate::config::{Config, MAX_CONFIG};

/// The most names of settings that a difference tells.
const MAX_NAMES: usize = 20;

/// The content of a configuration's files: a digest of each, and of each setting in those that have
/// settings, by its name. The values themselves may be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigStamp {
    files: BTreeMap<PathBuf, [u8; 32]>,
    settings: BTreeMap<String, [u8; 32]>,
}

impl ConfigStamp {
    pub(super) fn of(config: &Config) -> Self {
        let (mut files, mut settings) = (BTreeMap::new(), BTreeMap::new());
        for file in &config.files {
            let text = bounded_file::text(file, MAX_CONFIG).unwrap_or_default();
            files.insert(file.clone(), Sha256::digest(&text).into());
            let has_settings = *file == config.file || Some(file) == config.servers_file.as_ref();
            if has_settings && let Some(tree) = tree(file, &text) {
                digest_settings("", &tree, &mut settings);
            }
        }
        Self { files, settings }
    }

    /// What changed up to a later one, in a line: settings by their names, else files.
    pub(super) fn difference(&self, later: &Self) -> String {
        let settings = names_of_difference(&self.settings, &later.settings, String::clone);
        let file_name = |path: &PathBuf| path.display().to_string();
        let mut files = names_of_difference(&self.files, &later.files, file_name);
        // Of files with settings, those are told.
        if !settings.is_empty() {
            files.retain(|name| !name.ends_with(".toml") && !name.ends_with(".json"));
        }
        let all: Vec<String> = settings.into_iter().chain(files).collect();
        let more = match all.len().saturating_sub(MAX_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named: Vec<&str> = all.iter().take(MAX_NAMES).map(String::as_str).collect();
        match named.is_empty() {
            true => "nothing but how it is written".to_owned(),
            false => format!("{}{more}", named.join(", ")),
        }
    }
}

/// The names whose digests differ, with a sign before those that came (`+`) or went (`-`).
fn names_of_difference<K: Ord>(
    earlier: &BTreeMap<K, [u8; 32]>,
    later: &BTreeMap<K, [u8; 32]>,
    name: impl Fn(&K) -> String,
) -> Vec<String> {
    let mut keys: BTreeSet<&K> = earlier.keys().collect();
    keys.extend(later.keys());
    let told = keys.into_iter().filter_map(|key| match (earlier.get(key), later.get(key)) {
        (Some(one), Some(other)) if one == other => None,
        (Some(_), Some(_)) => Some(name(key)),
        (None, _) => Some(format!("+{}", name(key))),
        (_, None) => Some(format!("-{}", name(key))),
    });
    told.collect()
}

fn tree(file: &Path, text: &str) -> Option<Value> {
    match file.extension().is_some_and(|extension| extension == "json") {
        true => serde_json::from_str(text).ok(),
        false => toml::from_str(text).ok(),
    }
}

/// A digest of each value below one, by its path.
fn digest_settings(path: &str, value: &Value, out: &mut BTreeMap<String, [u8; 32]>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = escape::line(escape::truncate(name, 80));
                let path = match path.is_empty() {
                    true => name.into_owned(),
                    false => format!("{path}.{name}"),
                };
                digest_settings(&path, value, out);
            }
        }
        value => {
            out.insert(path.to_owned(), Sha256::digest(value.to_string()).into());
        }
    }
}

/// The program that runs, as far as its file tells: a build that takes its place differs in it.
pub(super) fn program() -> String {
    std::env::current_exe().map(|path| program_at(&path)).unwrap_or_default()
}

fn program_at(path: &Path) -> String {
    // After an upgrade the name of the file that ran has this after it.
    let path = path.to_string_lossy();
    let path = PathBuf::from(path.trim_end_matches(" (deleted)"));
    let Ok(about) = path.metadata() else { return String::new() };
    let modified = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} {} {}", path.display(), about.len(), modified.unwrap_or_default().as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_of_the_same_name_is_another_program() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("weaver");
        std::fs::write(&path, "one").unwrap();
        let one = program_at(&path);
        assert_eq!(one, program_at(&path));
        std::fs::write(&path, "another").unwrap();
        assert_ne!(one, program_at(&path));
    }

    #[test]
    fn a_difference_names_settings_and_tells_no_value() {
        let stamp = |text: &str| {
            let mut settings = BTreeMap::new();
            digest_settings("", &tree(Path::new("a.toml"), text).unwrap(), &mut settings);
            let files = [(PathBuf::from("a.toml"), Sha256::digest(text).into())];
            ConfigStamp { files: files.into(), settings }
        };
        let one = stamp("[run]\nidle = 1\n[mcpServers.a.env]\nTOKEN = \"hunter2\"\n");
        let other = stamp("[mcpServers.a.env]\nTOKEN = \"hunter3\"\n[http]\nlisten = \"x\"\n");
        assert_eq!(one.difference(&other), "+http.listen, mcpServers.a.env.TOKEN, -run.idle");
        assert_eq!(one.difference(&one), "nothing but how it is written");
        let many: String = (0..30).map(|n| format!("k{n:02} = 1\n")).collect();
        let told = stamp("").difference(&stamp(&many));
        assert!(told.starts_with("+k00, ") && told.ends_with(", +k19 and 10 more"), "{told}");
        let mut rules = one.clone();
        rules.files.insert(PathBuf::from("rules.txt"), [0; 32]);
        assert_eq!(one.difference(&rules), "+rules.txt");
    }
}
