//! Bounds the files into which a tool that reads saves its result.

use weaver_policy::critical::{possible_saved_files, saved_files};
use weaver_policy::{ArgumentPredicate, MatchConditions, Pattern};
use weaver_text::split;
use weaver_types::JsonPointer;

use super::{ToolDescription, sensitive_paths};

/// Endings of files that nothing runs, builds with or takes for instructions.
const DATA_FILES: &[&str] = &[
    "*.png", "*.jpg", "*.jpeg", "*.webp", "*.gif", "*.bmp", "*.tiff", "*.svg", "*.pdf", "*.txt",
    "*.csv", "*.tsv", "*.json", "*.jsonl", "*.ndjson", "*.html", "*.htm", "*.mhtml", "*.har",
    "*.zip", "*.gz", "*.tar", "*.xml", "*.md", "*.log", "*.mp4", "*.webm", "*.mp3", "*.wav",
    "*.m4a", "*.ogg", "*.xlsx", "*.docx", "*.pptx", "*.odt", "*.ods", "*.parquet",
    "*.heapsnapshot", "*.trace", "*.ics", "*.vcf", "*.geojson", "*.gpx", "*.epub", "*.srt",
    "*.vtt", "*/",
];
/// Files with such an ending that are built with, run or read as instructions all the same.
const PROGRAM_FILES: &[&str] = &[
    "*package.json",
    "*config*.json",
    "*settings*.json",
    "*tasks.json",
    "*launch.json",
    "*mcp*.json",
    "*composer.json",
    "*deno.json",
    "*CLAUDE*.md",
    "*AGENTS*.md",
    "*GEMINI.md",
    "*SKILL.md",
    "*copilot-instructions.md",
    "*pom.xml",
    "*build.xml",
    "*.csproj.xml",
    "*requirements*.txt",
    "*CMakeLists.txt",
    "*Presets.json",
    "*rc.json",
    "*lock.json",
    "*compose*.json",
    "*nodemon.json",
    "*turbo.json",
    "*nx.json",
    "*angular.json",
    "*llms*.txt",
    "*/rules/*.md",
    "*/prompts/*",
];

/// Conditions that match calls which save a result where keys, start-up files or the system are, or
/// as a file that is no data: a page could bring along what is run then. `None` for a tool that saves
/// nothing. `folders` are those of its server.
#[must_use]
pub fn saved_file_match(tool: &ToolDescription<'_>, folders: &[String]) -> Option<MatchConditions> {
    let patterns =
        |texts: &[&str]| texts.iter().filter_map(|text| Pattern::parse(text).ok()).collect();
    let any_path: Vec<Pattern> = sensitive_paths(None, folders)
        .into_iter()
        .chain::<Vec<Pattern>>(patterns(PROGRAM_FILES))
        .collect();
    let at = |name: &str| {
        JsonPointer::parse(&format!("/{}", JsonPointer::escape_step(name)))
            .ok()
            .map(ArgumentPredicate::at)
    };
    let arguments = |one| MatchConditions { arguments: vec![one], ..MatchConditions::default() };
    let in_sensitive_place =
        |name: &str| Some(arguments(ArgumentPredicate { any_path: any_path.clone(), ..at(name)? }));
    let conditions = |name: &str| {
        let sensitive = in_sensitive_place(name)?;
        let data = ArgumentPredicate { glob_any_case: patterns(DATA_FILES), ..at(name)? };
        let named = ArgumentPredicate { min_length: Some(1), ..at(name)? };
        let others = MatchConditions { not: Some(Box::new(arguments(data))), ..arguments(named) };
        let is_folder = split::identifier(name).iter().any(|word| FOLDERS.contains(&word.as_str()));
        Some([Some(sensitive), (!is_folder).then_some(others)].into_iter().flatten())
    };
    let saved = saved_files(tool.input).filter_map(conditions).flatten();
    let possible = possible_saved_files(tool.input).filter_map(in_sensitive_place);
    let any: Vec<MatchConditions> = saved.chain(possible).collect();
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

/// Words in names of arguments for a folder, whose files the tool names.
const FOLDERS: [&str; 5] = ["folder", "dir", "directory", "outdir", "location"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_may_be_saved_anywhere_but_where_it_would_be_run() {
        let tool = json!({"name": "browser_snapshot", "inputSchema": {"properties": {
            "filename": {"type": "string", "description": "Save snapshot to this file"},
            "url": {"type": "string"}}}});
        let found = saved_file_match(&ToolDescription::from_json(&tool), &[]).unwrap();
        let [place, kind] = &found.any[..] else { panic!("{found:?}") };
        let data = kind.not.as_ref().unwrap();
        let holds = |arguments: &serde_json::Value| {
            let is_program =
                kind.arguments[0].holds(arguments) && !data.arguments[0].holds(arguments);
            place.arguments[0].holds(arguments) || is_program
        };
        let matches = |name: &str| holds(&json!({ "filename": name }));
        for held in [
            ".git/hooks/post-checkout",
            "/home/a/.bashrc",
            "x/../.vscode/tasks.json",
            "Makefile",
            "package.json",
            "conftest.py",
            ".github/workflows/ci.yml",
            "web/tsconfig.json",
            "CLAUDE.md",
            ".venv/bin/python",
            "page",
        ] {
            assert!(matches(held), "{held}");
        }
        for free in ["shots/page.png", "/home/a/shots/Page.PNG", "a/data.json", "notes.md", ""] {
            assert!(!matches(free), "{free}");
        }
        assert!(!holds(&json!({ "url": "/etc/passwd" })));
        let folder = json!({"name": "shots", "inputSchema": {"properties": {"output_dir": {"type": "string"}}}});
        let found = saved_file_match(&ToolDescription::from_json(&folder), &[]).unwrap();
        assert_eq!(found.any.len(), 1);
        let artifact = json!({"name": "get_artifact", "inputSchema": {"properties": {"destination": {"type": "string"}}}});
        let found = saved_file_match(&ToolDescription::from_json(&artifact), &[]).unwrap();
        let [place] = &found.any[..] else { panic!("{found:?}") };
        for (destination, is_held) in [
            ("/root/.ssh/authorized_keys", true),
            (".git/hooks/pre-commit", true),
            ("../../home/ana/.bashrc", true),
            ("builds/app", false),
            ("Berlin", false),
        ] {
            let arguments = json!({ "destination": destination });
            assert_eq!(place.arguments[0].holds(&arguments), is_held, "{destination}");
        }
    }
}
