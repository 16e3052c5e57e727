//! A repository: inspecting, changing, committing.

use serde_json::json;

use crate::eval::work::task::{Script, Task, group};

/// The tasks.
pub fn tasks() -> Vec<Task> {
    let scripts: &[(&str, Script)] = &[
        ("status", |a| {
            let arguments = json!({ "repo_path": a.environment.repository() });
            a.expect("git.git_status", arguments, &["On branch main", "part-00.md", "draft.md"])
        }),
        ("newest-commits", |a| {
            let arguments = json!({ "repo_path": a.environment.repository(), "max_count": 5 });
            a.expect("git.git_log", arguments, &["Change 40:", "Change 36:"])
        }),
        ("commit-by-its-message", |a| {
            let path = a.environment.repository();
            let arguments = json!({ "repo_path": path, "max_count": 60 });
            let mut shown = a.call_and_expect("git.git_log", arguments, &[])?;
            a.find(&mut shown, "pump 9", "pressure limit of pump 9 to 640")?;
            // The commit's id precedes its message.
            let head =
                a.between(&shown, "Commit history:", "Lower the pressure limit of pump 9")?;
            let id = head.rsplit("Commit: ").next().and_then(|rest| rest.lines().next());
            let id = id.unwrap_or_default().trim().trim_matches('\'').to_owned();
            let arguments = json!({ "repo_path": path, "revision": id });
            a.expect("git.git_show", arguments, &["+# Change 23"])
        }),
        ("what-is-not-staged", |a| {
            let arguments = json!({ "repo_path": a.environment.repository() });
            a.expect("git.git_diff_unstaged", arguments, &["+The drain is closed at 18:40."])
        }),
        ("stage-and-look", |a| {
            let path = a.environment.repository();
            let arguments = json!({ "repo_path": path, "files": ["part-00.md"] });
            a.call_and_expect("git.git_add", arguments, &["staged"])?;
            let arguments = json!({ "repo_path": path });
            a.expect("git.git_diff_staged", arguments, &["+The drain is closed at 18:40."])
        }),
        ("commit-a-draft", |a| {
            let path = a.environment.repository();
            let arguments = json!({ "repo_path": path, "files": ["draft.md"] });
            a.call_and_expect("git.git_add", arguments, &[])?;
            let arguments = json!({ "repo_path": path, "message": "Add the draft" });
            a.call_and_expect("git.git_commit", arguments, &["committed successfully"])?;
            let arguments = json!({ "repo_path": path, "max_count": 1 });
            a.expect("git.git_log", arguments, &["Add the draft"])
        }),
        ("new-branch", |a| {
            let path = a.environment.repository();
            let arguments =
                json!({ "repo_path": path, "branch_name": "fix/drain", "base_branch": "main" });
            a.call_and_expect("git.git_create_branch", arguments, &["fix/drain"])?;
            let arguments = json!({ "repo_path": path, "branch_name": "fix/drain" });
            a.expect("git.git_checkout", arguments, &["fix/drain"])
        }),
        ("list-the-branches", |a| {
            let arguments =
                json!({ "repo_path": a.environment.repository(), "branch_type": "local" });
            a.expect("git.git_branch", arguments, &["* main", "feature/valves"])
        }),
        ("compare-branches", |a| {
            let arguments =
                json!({ "repo_path": a.environment.repository(), "target": "feature/valves" });
            let mut shown = a.call_and_expect("git.git_diff", arguments, &[])?;
            a.find(&mut shown, "bypass valve", "The bypass valve is V-118.")
        }),
        ("file-of-another-branch", |a| {
            let arguments = json!({ "repo_path": a.environment.repository(), "revision": "feature/valves:valves.md" });
            a.expect("git.git_show", arguments, &["V-118"])
        }),
        ("edit-and-commit", |a| {
            let shown = a.read("app/draft.md")?;
            let line = a.line(&shown, "draft")?;
            a.edit("app/draft.md", &line, "A draft that is added now.")?;
            let path = a.environment.repository();
            let arguments = json!({ "repo_path": path, "files": ["draft.md"] });
            a.call_and_expect("git.git_add", arguments, &[])?;
            let arguments = json!({ "repo_path": path, "message": "Finish the draft" });
            let done = a.call_and_expect("git.git_commit", arguments, &[])?;
            // The shown id leads to the commit.
            let id = a.between(&(with_line_end(done)), "hash ", "\n")?;
            let arguments = json!({ "repo_path": path, "revision": id.trim() });
            a.expect("git.git_show", arguments, &["+A draft that is added now."])
        }),
        ("whole-log", |a| {
            let arguments = json!({ "repo_path": a.environment.repository(), "max_count": 100 });
            let mut shown = a.call_and_expect("git.git_log", arguments, &[])?;
            a.find(&mut shown, "Change 1:", "Change 1:")
        }),
    ];
    group("repository", scripts)
}

/// The texts with a line end appended to each.
fn with_line_end(
    mut shown: crate::eval::work::shown_result::ShownResult,
) -> crate::eval::work::shown_result::ShownResult {
    shown.texts.iter_mut().for_each(|text| text.push('\n'));
    shown
}
