//! Finds the arguments that name a file into which a tool saves its result, although it reads.

use serde_json::{Map, Value};
use weaver_text::split;

/// Words of a name that say what the file is for.
const OUTPUT_WORDS: [&str; 20] = [
    "output", "out", "save", "saved", "saveto", "export", "download", "outfile", "outdir",
    "outputfile", "outputpath", "savepath", "dest", "destination", "copy", "report", "result",
    "results", "har", "trace",
];
/// Words of a name that say that it is one of a file or folder.
const FILE_WORDS: [&str; 13] = [
    "file", "filename", "path", "filepath", "folder", "dir", "directory", "name", "to", "as",
    "location", "dest", "pathname",
];
/// Words that say it alone.
const OUTPUT_FILES: [&str; 7] =
    ["outfile", "outdir", "outputfile", "outputpath", "savepath", "saveto", "output"];
/// Words of a description that say that something is saved there.
const SAVES: [&str; 9] =
    ["save", "saves", "write", "store", "export", "dump", "put", "receives", "receive"];
/// Words that say so before `to`, `in`, `into` or `as`.
const SAVED: [&str; 9] =
    ["saved", "written", "stored", "exported", "dumped", "downloaded", "goes", "placed", "copied"];

/// The arguments into which a tool with this input schema saves what it reads: `output_path`, and
/// `filename` where the schema says that something is saved there.
///
/// ```
/// use serde_json::json;
/// use weaver_policy::critical::saved_files;
///
/// let filename = json!({ "description": "File name to save the screenshot to" });
/// let schema = json!({ "properties": { "filename": filename, "url": {} } });
/// assert_eq!(saved_files(Some(&schema)).collect::<Vec<_>>(), ["filename"]);
/// ```
pub fn saved_files(schema: Option<&Value>) -> impl Iterator<Item = &str> {
    let members = schema.and_then(|schema| schema.get("properties")?.as_object());
    let members = members.into_iter().flat_map(Map::iter);
    members.filter(|(name, member)| is_saved_file(name, member)).map(|(name, _)| name.as_str())
}

/// The arguments of such a schema whose names may be those of a place for the result, and of something
/// else as well: `destination` is also a city. What a call gives for them decides.
pub fn possible_saved_files(schema: Option<&Value>) -> impl Iterator<Item = &str> {
    let members = schema.and_then(|schema| schema.get("properties")?.as_object());
    let members = members.into_iter().flat_map(Map::iter);
    let possible = |(name, member): &(&String, &Value)| {
        may_name_saved_file(name) && !is_saved_file(name, member)
    };
    members.filter(possible).map(|(name, _)| name.as_str())
}

fn may_name_saved_file(name: &str) -> bool {
    /// Names that say where something goes.
    const PLACES: [&str; 4] = ["destination", "dest", "dst", "into"];
    /// What goes to the place behind it: `dump_to`.
    const PUTS: [&str; 7] = ["copy", "download", "dump", "export", "put", "save", "write"];
    let words = split::identifier(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [place] => PLACES.contains(&place),
        ["to" | "into" | "dst" | "dest" | "local" | "target", last] => FILE_WORDS.contains(&last),
        [put, "to" | "into"] => PUTS.contains(&put),
        _ => false,
    }
}

fn is_saved_file(name: &str, schema: &Value) -> bool {
    let is_text = schema.get("type").is_none_or(|kind| kind != "boolean" && kind != "integer");
    let words = split::identifier(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let is_output = has(&OUTPUT_WORDS) && has(&FILE_WORDS);
    let is_named_so = matches!(&words[..], [word] if OUTPUT_FILES.contains(&word.as_str()));
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    is_text
        && (is_output
            || is_named_so && !names_format(schema, description)
            || has(&FILE_WORDS) && says_saved(description))
}

/// Whether an argument says how the result looks: `output` is also the name of a format.
fn names_format(schema: &Value, description: &str) -> bool {
    const FORMATS: [&str; 9] =
        ["format", "formats", "style", "mode", "json", "yaml", "verbose", "kind", "level"];
    let words = split::words(description);
    schema.get("enum").is_some() || words.iter().any(|word| FORMATS.contains(&word.as_str()))
}

/// Whether a description says that something is saved at a place.
fn says_saved(description: &str) -> bool {
    let words = split::words(description);
    let mut pairs = words.windows(2);
    words.iter().any(|word| SAVES.contains(&word.as_str()))
        || pairs.any(|two| {
            matches!(two, [verb, to] if SAVED.contains(&verb.as_str())
                && matches!(to.as_str(), "to" | "in" | "into" | "as"))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_for_the_result_is_told_from_a_file_that_is_read() {
        let saves = |name: &str, description: &str| {
            is_saved_file(name, &json!({ "type": "string", "description": description }))
        };
        for (name, description) in [
            ("filename", "File name to save the screenshot to. Defaults to `page-1.png`"),
            ("output_path", ""),
            ("outputFile", "Where it goes"),
            ("output", "Path of the file"),
            ("output", "输出文件的路径"),
            ("out_dir", ""),
            ("saveTo", ""),
            ("filePath", "The absolute path to save the snapshot to instead of attaching it"),
            ("path", "The body is written to this file"),
            ("outfile", ""),
            ("download_dir", "Folder for the files"),
            ("destination_path", ""),
            ("copy_to", ""),
            ("path", "Where to put the PNG"),
            ("traceFile", "File that receives the trace"),
            ("log_file", "The log goes to this file too"),
            ("report_path", ""),
            ("traceFile", ""),
        ] {
            assert!(saves(name, description), "{name}");
        }
        for (name, description) in [
            ("filename", "Name of the file to read"),
            ("path", "Path of the folder to list"),
            ("output", "text or json"),
            ("output_format", "How to write it"),
            ("query", "What to save"),
            ("file", "The saved query to run"),
            ("log_file", "The log to search"),
            ("destination", "The city to fly to"),
            ("target_path", "What to look at"),
        ] {
            assert!(!saves(name, description), "{name}");
        }
        assert!(!is_saved_file("save_file", &json!({ "type": "boolean" })));
    }

    #[test]
    fn a_name_of_a_place_may_be_one_for_the_result() {
        let names = [
            "destination", "dst", "to_file", "local_path", "dump_to", "into", "target_dir",
            "writeTo",
        ];
        let others = ["path", "file", "from", "city", "target_language", "to_currency", "reply_to"];
        let all = names.iter().chain(&others).map(|name| ((*name).to_owned(), json!({})));
        let schema = json!({ "properties": all.collect::<Map<String, Value>>() });
        let mut found: Vec<&str> =
            possible_saved_files(Some(&schema)).chain(saved_files(Some(&schema))).collect();
        found.sort_unstable();
        let mut expected = names;
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
