//! Arguments that name a program which the tool runs: `tesseract_bin_path`, `interpreter`.

use weaver_policy::{ArgumentPredicate, MatchConditions};
use weaver_text::split;

use super::argument::Argument;
use super::{ToolDescription, tool_text};

/// Words that say it alone, at the end of a name.
const PROGRAMS: [&str; 18] = [
    "interpreter", "preprocessor", "postprocessor", "executable", "binary", "bin", "shell",
    "pager", "compiler", "exec", "runner", "wrapper", "launcher", "linter", "renderer", "external",
    "textconv", "askpass",
];
/// Programs that a name has before `path`, `bin` or `command`.
const KNOWN_PROGRAMS: [&str; 27] = [
    "ffmpeg", "ffprobe", "tesseract", "chrome", "chromium", "firefox", "browser", "python", "node",
    "git", "rg", "ripgrep", "pandoc", "java", "ruby", "perl", "bash", "pdftotext", "imagemagick",
    "magick", "convert", "ssh", "latex", "pdflatex", "blender", "libreoffice", "soffice",
];
/// Words for a program behind its name.
const PLACES: [&str; 6] = ["path", "bin", "binary", "cmd", "command", "executable"];

/// Conditions that match calls which name the program to run; `None` for a tool without such an
/// argument. Such a tool may be a read as long as it runs its own.
#[must_use]
pub fn program_path_match(tool: &ToolDescription<'_>) -> Option<MatchConditions> {
    let named = |argument: Argument<'_>| ArgumentPredicate {
        min_length: Some(1),
        ..ArgumentPredicate::at(argument.at)
    };
    // What git copies from a template are hooks, among others.
    let is_of_git = split::identifier(tool.name).iter().any(|word| word == "git");
    let any: Vec<MatchConditions> = tool_text::all_arguments(tool.input)
        .into_iter()
        .filter(|argument| !argument.at.as_str().contains("/*"))
        // Of some choices, none is a program that somebody brought along.
        .filter(|argument| argument.may_be_text() && argument.choices().is_empty())
        .filter(|argument| {
            names_program(argument.name) || is_of_git && names_template(argument.name)
        })
        .map(|argument| MatchConditions {
            arguments: vec![named(argument)],
            ..MatchConditions::default()
        })
        .collect();
    (!any.is_empty()).then(|| MatchConditions { any, ..MatchConditions::default() })
}

fn names_template(name: &str) -> bool {
    split::identifier(name).first().is_some_and(|word| word == "template")
}

fn names_program(name: &str) -> bool {
    let words = split::identifier(name);
    let is_in = |word: &String, known: &[&str]| known.contains(&word.as_str());
    let Some((last, before)) = words.split_last() else { return false };
    let is_external = before.iter().any(|word| word == "external" || word == "ext");
    // `pdf_engine` of pandoc, `java_home`.
    let runs_within = |word: &String| match last.as_str() {
        "engine" => matches!(word.as_str(), "pdf" | "latex" | "tex" | "ocr"),
        "home" => matches!(word.as_str(), "java" | "python" | "node"),
        _ => false,
    };
    let is_pack = last == "pack"
        && before.last().is_some_and(|word| matches!(word.as_str(), "upload" | "receive"));
    is_in(last, &PROGRAMS)
        || is_pack
        || before.last().is_some_and(runs_within)
        || is_external && matches!(last.as_str(), "diff" | "editor" | "tool" | "command")
        || is_in(last, &PLACES)
            && before.iter().any(|word| is_in(word, &PROGRAMS) || is_in(word, &KNOWN_PROGRAMS))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_is_told_from_other_paths() {
        for name in [
            "tesseract_bin_path", "ffprobe_path", "pdftotext_binary", "interpreter", "rg_path",
            "preprocessor", "external_diff", "chromeExecutable", "executable_path", "pythonPath",
            "gitCommand", "pdf_engine", "javaHome", "linter", "launcher", "external", "textconv",
            "ssh_command", "upload_pack",
        ] {
            assert!(names_program(name), "{name}");
        }
        for name in [
            "path", "file_path", "repo_path", "command", "output_path", "diff", "git_ref",
            "node_id", "pdf_path", "search_engine", "home", "browser_home",
        ] {
            assert!(!names_program(name), "{name}");
        }
        let init = json!({"name": "git_init", "inputSchema": {"properties": {
            "path": {"type": "string"}, "template": {"type": "string"}}}});
        assert!(program_path_match(&ToolDescription::from_json(&init)).is_some());
        let tool = json!({"name": "ocr", "inputSchema": {"properties": {
            "image_path": {"type": "string"}, "tesseract_bin_path": {"type": ["string", "null"]}}}});
        let found = program_path_match(&ToolDescription::from_json(&tool)).unwrap();
        let [condition] = &found.any[..] else { panic!("{found:?}") };
        let holds = |call: &serde_json::Value| condition.arguments[0].holds(call);
        assert!(holds(&json!({ "tesseract_bin_path": "/tmp/run.sh" })));
        assert!(!holds(&json!({ "image_path": "a.png", "tesseract_bin_path": null })));
        assert!(!holds(&json!({ "image_path": "a.png" })));
    }
}
