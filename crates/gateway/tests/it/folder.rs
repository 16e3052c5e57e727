//! A folder with a configuration.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use weaver_types::signature::SigningKey;

/// A folder with `weaver.toml`, in which a test writes more.
pub(crate) struct Folder {
    dir: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = Self { dir: TempDir::new().unwrap() };
        let public = root_key();
        folder.write(
            "weaver.toml",
            &format!(
                "[principal]\nid = \"owner\"\n\n[trust]\nroot = \"{public}\"\n\n\
                 [mcpServers.files]\ncommand = \"files-server\"\n"
            ),
        );
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        let old = fs::read_to_string(self.path(name)).unwrap();
        self.write(name, &format!("{old}{text}"));
    }
}

/// The public key that a configuration trusts.
pub(crate) fn root_key() -> String {
    SigningKey::from_seed([7; 32]).public().to_string()
}
