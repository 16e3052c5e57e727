//! The script that runs between two programs and records the era they speak.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use super::plan::Era;
use crate::counterparts::cache::Cache;

/// The command line of a tapped server.
pub fn tapped_command(
    cache: &Cache,
    notes: &Path,
    modern_only: bool,
    server: Vec<String>,
) -> Vec<String> {
    let text = |path: &Path| path.display().to_string();
    let mut words =
        vec![text(&cache.python_program("python")), text(&cache.script("tap.py")), text(notes)];
    if modern_only {
        words.push("--modern-only".to_owned());
    }
    words.extend(server);
    words
}

/// Checks that only the expected era was recorded.
pub fn check_era(side: &str, notes: &Path, wanted: Era) -> Result<()> {
    let text = fs::read_to_string(notes).unwrap_or_default();
    let mut eras: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    eras.sort_unstable();
    eras.dedup();
    if eras != [wanted.name()] {
        bail!("{side} should have spoken {} and spoke `{}`", wanted.name(), text.trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_era_and_no_other_passes() {
        let dir = tempfile::tempdir().unwrap();
        let notes = dir.path().join("notes");
        assert!(check_era("a", &notes, Era::Legacy).is_err());
        fs::write(&notes, "legacy 2025-11-25\nlegacy 2025-11-25\n").unwrap();
        assert!(check_era("a", &notes, Era::Legacy).is_ok());
        assert!(check_era("a", &notes, Era::Modern).is_err());
        fs::write(&notes, "legacy 2025-11-25\nmodern 2026-07-28\n").unwrap();
        assert!(check_era("a", &notes, Era::Modern).is_err());
    }
}
