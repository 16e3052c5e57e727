//! Fingerprints of configuration and program, to detect that a daemon is outdated.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use weaver_text::escape;

use crate::bounded_file;
use crate::config::{Config, MAX_CONFIG_BYTES};

/// The most setting names in a description of changes.
const MAX_NAMES: usize = 20;

/// Digests of a configuration's files, and of each setting by name in the files that contain
/// settings. Only digests are kept, because values may be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigFingerprint {
    files: BTreeMap<PathBuf, [u8; 32]>,
    settings: BTreeMap<String, [u8; 32]>,
}

impl ConfigFingerprint {
    pub(super) fn from_config(config: &Config) -> Self {
        let (mut files, mut settings) = (BTreeMap::new(), BTreeMap::new());
        for file in &config.source_files {
            let text = bounded_file::read_text(file, MAX_CONFIG_BYTES).unwrap_or_default();
            files.insert(file.clone(), Sha256::digest(&text).into());
            let has_settings = *file == config.file || Some(file) == config.servers_file.as_ref();
            if has_settings && let Some(tree) = parse_tree(file, &text) {
                digest_settings("", &tree, &mut settings);
            }
        }
        Self { files, settings }
    }

    /// The files that differ in `later`, or that only one of the two has.
    pub(super) fn changed_files<'f>(
        &'f self,
        later: &'f Self,
    ) -> impl Iterator<Item = &'f PathBuf> {
        let paths = self.files.keys().chain(later.files.keys());
        paths.filter(|path| self.files.get(*path) != later.files.get(*path))
    }

    /// Whether all files that both have are the same.
    pub(super) fn agrees_with(&self, other: &Self) -> bool {
        let mut both =
            self.files.iter().filter_map(|(path, one)| Some((one, other.files.get(path)?)));
        both.all(|(one, other)| one == other)
    }

    /// Describes the changes up to `later` in one line: settings by name, otherwise files.
    pub(super) fn describe_changes(&self, later: &Self) -> String {
        let settings = changed_names(&self.settings, &later.settings, String::clone);
        let file_name = |path: &PathBuf| path.display().to_string();
        let mut files = changed_names(&self.files, &later.files, file_name);
        // Files with settings are described by their settings.
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

/// The names with different digests, prefixed with `+` if added and `-` if removed.
fn changed_names<K: Ord>(
    earlier: &BTreeMap<K, [u8; 32]>,
    later: &BTreeMap<K, [u8; 32]>,
    name: impl Fn(&K) -> String,
) -> Vec<String> {
    let mut keys: BTreeSet<&K> = earlier.keys().collect();
    keys.extend(later.keys());
    let names = keys.into_iter().filter_map(|key| match (earlier.get(key), later.get(key)) {
        (Some(one), Some(other)) if one == other => None,
        (Some(_), Some(_)) => Some(name(key)),
        (None, _) => Some(format!("+{}", name(key))),
        (_, None) => Some(format!("-{}", name(key))),
    });
    names.collect()
}

fn parse_tree(file: &Path, text: &str) -> Option<Value> {
    match file.extension().is_some_and(|extension| extension == "json") {
        true => serde_json::from_str(text).ok(),
        false => toml::from_str(text).ok(),
    }
}

/// Adds a digest of each nested value under its path.
fn digest_settings(path: &str, value: &Value, out: &mut BTreeMap<String, [u8; 32]>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = escape::excerpt(name, 80);
                let path = match path.is_empty() {
                    true => name,
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

/// The fingerprint of the running program's file, which differs between builds.
pub(super) fn running_program() -> String {
    std::env::current_exe().map(|path| program_fingerprint(&path)).unwrap_or_default()
}

/// The file of the program that takes this one's place: where it was started from, which may be a
/// link to the current version, or else its own file.
pub fn installed_program() -> Option<PathBuf> {
    let started = std::env::args_os().next().map(PathBuf::from);
    let by_path = started.filter(|path| path.components().count() > 1 && path.exists());
    by_path.or_else(|| std::env::current_exe().ok().map(|path| without_mark(&path)))
}

/// Linux appends a mark to the path of a replaced executable.
fn without_mark(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().trim_end_matches(" (deleted)"))
}

fn program_fingerprint(path: &Path) -> String {
    let path = without_mark(path);
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
        let one = program_fingerprint(&path);
        assert_eq!(one, program_fingerprint(&path));
        std::fs::write(&path, "another").unwrap();
        assert_ne!(one, program_fingerprint(&path));
    }

    #[test]
    fn a_difference_names_settings_and_tells_no_value() {
        let stamp = |text: &str| {
            let mut settings = BTreeMap::new();
            digest_settings("", &parse_tree(Path::new("a.toml"), text).unwrap(), &mut settings);
            let files = [(PathBuf::from("a.toml"), Sha256::digest(text).into())];
            ConfigFingerprint { files: files.into(), settings }
        };
        let one = stamp("[run]\nidle = 1\n[mcpServers.a.env]\nTOKEN = \"hunter2\"\n");
        let other = stamp("[mcpServers.a.env]\nTOKEN = \"hunter3\"\n[http]\nlisten = \"x\"\n");
        assert_eq!(one.describe_changes(&other), "+http.listen, mcpServers.a.env.TOKEN, -run.idle");
        assert_eq!(one.describe_changes(&one), "nothing but how it is written");
        let many: String = (0..30).map(|n| format!("k{n:02} = 1\n")).collect();
        let names = stamp("").describe_changes(&stamp(&many));
        assert!(names.starts_with("+k00, ") && names.ends_with(", +k19 and 10 more"), "{names}");
        let mut rules = one.clone();
        rules.files.insert(PathBuf::from("rules.txt"), [0; 32]);
        assert_eq!(one.describe_changes(&rules), "+rules.txt");
    }
}
