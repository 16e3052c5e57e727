//! Places on a machine in which a write may do more than change a file.

use weaver_policy::Pattern;

/// Paths of keys, of settings that run programs or say what an agent may do, and of the system
/// itself.
const SENSITIVE_PATHS: &[&str] = &[
    "*/.ssh*",
    "*/.gnupg*",
    "*/.aws*",
    "*/.azure*",
    "*/.kube*",
    "*/.docker*",
    "*/.weaver*",
    "*/weaver.toml",
    "*/.git/*",
    "*/.git",
    "*/git~1*",
    "*/.gitconfig",
    "*/.env*",
    "*/.netrc",
    "*/.npmrc",
    "*/.pypirc",
    "*/.bash*",
    "*/.profile",
    "*/.zsh*",
    "*/.config/*",
    "*/.config",
    "*/.local/*",
    "*/.local",
    "*/.vscode*",
    "*/.cursor*",
    "*/.claude*",
    "*/.mcp.json",
    "*/.codex*",
    "*/.gemini*",
    "*/.zed*",
    "*/.opencode*",
    "*/opencode.json*",
    "*/.roo/*",
    "*/.windsurf*",
    "*/.continue/*",
    "*/.idea/*",
    "*/.obsidian/*",
    "*/.husky*",
    "*/.cargo/*",
    "*/.yarnrc*",
    "*/.xprofile",
    "*/.xinitrc",
    "*/.xsession*",
    "*/.pam_environment",
    "*/.vimrc",
    "*/.vim/*",
    "*/.exrc",
    "*/.emacs*",
    "*/.tmux.conf",
    "*/.inputrc",
    "*/.gdbinit",
    "*/.Rprofile",
    "*/.ipython/*",
    "*/.cshrc",
    "*/.tcshrc",
    "*/.login",
    "*/.logout",
    "*/.kshrc",
    "*/.mailcap",
    "*/.gradle/*",
    "*/.m2/*",
    "*/.pgpass",
    "*/.git-credentials",
    "*/.curlrc",
    "*/.wgetrc",
    "*/.aider*",
    "*/.qwen/*",
    "*/.kiro/*",
    "*/.junie/*",
    "*/.clinerules*",
    "*/.goosehints",
    "*/.copilot/*",
    "*/.lmstudio/*",
    "*/.trae/*",
    "*/.augment/*",
    "*/.factory/*",
    "*/.amp/*",
    "*/.amazonq/*",
    "*/mcp.json",
    "*/claude_desktop_config.json",
    "*/CLAUDE.md",
    "*/AGENTS.md",
    "*/AGENT.md",
    "*/GEMINI.md",
    "*/QWEN.md",
    "*/WARP.md",
    "*/CRUSH.md",
    "*/.devcontainer/*",
    "*/.githooks/*",
    "*/.pre-commit-config.yaml",
    "*/.gitmodules",
    "*/.direnv/*",
    "*/.venv/*",
    // Where programs that servers and people start are installed.
    "*/node_modules/*",
    "*/site-packages/*",
    "*/dist-packages/*",
    "*/.npm/*",
    "*/.cache/*",
    "*/.pnpm-store/*",
    "*/.bun/*",
    "*/.deno/*",
    "*/.nvm/*",
    "*/.volta/*",
    "*/.asdf/*",
    "*/.pyenv/*",
    "*/.rbenv/*",
    "*/.rustup/*",
    "*/.sdkman/*",
    "*conda3/*",
    "*/go/bin/*",
    "*/go/pkg/*",
    "*/LaunchAgents/*",
    "*/LaunchDaemons/*",
    "*/Programs/Startup/*",
    "*/crontab*",
    "/var/spool/*",
    "/root/.*",
    "/run/*",
    "/opt/*",
    "/snap/*",
    "/nix/*",
    "/var/lib/*",
    "/private/etc/*",
    "/Applications/*",
    "/etc/*",
    "/usr/*",
    "/bin/*",
    "/sbin/*",
    "/boot/*",
    "/dev/*",
    "/proc/*",
    "/sys/*",
    "/lib*",
    "/System/*",
    "/Library/*",
    "C:\\Windows*",
    "C:/Windows*",
    "C:\\Program*",
    "C:/Program*",
    "~*",
];
/// The same below the home folder of the user. A file of a project may begin with a dot; what does so
/// in the home folder itself belongs to a program, and many are run or read at its start.
const SENSITIVE_IN_HOME: [&str; 5] =
    ["/.*", "/bin/*", "/Library/*", "/AppData/*", "/Desktop/*.desktop"];

/// The patterns of paths of keys, of settings that run programs, and of the system itself, as
/// [`LocalWrite::sensitive_paths_match`](super::LocalWrite::sensitive_paths_match) tests for them, with those in
/// this home folder. A part of the system or of the home folder in which one of these folders is, such
/// as `/etc/nginx`, is left out: a server that was set up for the folder writes there.
#[must_use]
pub fn sensitive_paths(home: Option<&str>, folders: &[String]) -> Vec<Pattern> {
    let home = home.map(|home| home.trim_end_matches('/')).filter(|home| !home.is_empty());
    let in_home =
        home.into_iter().flat_map(|home| SENSITIVE_IN_HOME.map(|path| format!("{home}{path}")));
    let in_home = in_home.filter(|path| !SENSITIVE_PATHS.contains(&path.as_str()));
    let patterns = SENSITIVE_PATHS.iter().map(|&path| path.to_owned()).chain(in_home);
    let patterns = patterns.filter_map(|glob| Pattern::parse(&glob).ok());
    let is_at_a_place = |pattern: &Pattern| !pattern.as_str().starts_with(['*', '~']);
    let has_folder = |pattern: &Pattern| folders.iter().any(|folder| pattern.matches(folder));
    patterns.filter(|pattern| !(is_at_a_place(pattern) && has_folder(pattern))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_a_dot_is_sensitive_in_the_home_folder_itself() {
        let places = sensitive_paths(Some("/home/ana/"), &[]);
        let is_sensitive = |path: &str| places.iter().any(|place| place.matches(path));
        for path in ["/home/ana/.psqlrc", "/home/ana/bin/x", "/home/ana/.oh-my-zsh/custom/a.zsh"] {
            assert!(is_sensitive(path), "{path}");
        }
        for path in ["/home/ana/work/.gitignore", "/home/ana/notes.md", "/home/ben/.psqlrc"] {
            assert!(!is_sensitive(path), "{path}");
        }
        let with_notes = sensitive_paths(Some("/home/ana"), &["/home/ana/.notes".to_owned()]);
        assert!(!with_notes.iter().any(|place| place.matches("/home/ana/.notes/a.md")));
    }
}
