//! Converts the variables in clients' configurations to those of `weaver.toml`.

use std::path::Path;

use super::server_entry::UnusableEntry;

/// The context of an entry.
pub(super) struct EntryContext<'a> {
    /// The project folder of its configuration file.
    pub(super) project: Option<&'a Path>,
}

impl EntryContext<'_> {
    /// The text with the client's variables as `${NAME}`. A variable that only the client can fill
    /// in, such as an input it asks for, prevents the server from being taken over.
    pub(super) fn convert(&self, text: &str) -> Result<String, UnusableEntry> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['$', '{']) {
            let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            out.push_str(before);
            let opened = after.strip_prefix("${").or_else(|| after.strip_prefix("{env:"));
            let closed = opened.and_then(|inner| inner.split_once('}'));
            let Some((inner, tail)) = closed else {
                let mut chars = after.chars();
                out.extend(chars.next());
                rest = chars.as_str();
                continue;
            };
            out.push_str(&self.variable(inner)?);
            rest = tail;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn variable(&self, inner: &str) -> Result<String, UnusableEntry> {
        let folder = ["workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR"];
        if folder.contains(&inner) {
            let project = self.project.ok_or_else(|| {
                UnusableEntry(format!(
                    "`${{{inner}}}` is the folder that the client has open, and here is none"
                ))
            })?;
            return Ok(project.display().to_string());
        }
        match inner {
            "userHome" => return Ok("${HOME}".to_owned()),
            "pathSeparator" | "/" => return Ok(std::path::MAIN_SEPARATOR.to_string()),
            _ => {}
        }
        let name = inner.strip_prefix("env:").unwrap_or(inner);
        let name = name.split(":-").next().unwrap_or(name);
        let legal = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !legal {
            return Err(UnusableEntry(format!("only the client can fill in `${{{inner}}}`")));
        }
        Ok(format!("${{{}}}", inner.strip_prefix("env:").unwrap_or(inner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_clients_variables_become_ours() {
        let place = EntryContext { project: Some(Path::new("/p")) };
        for (text, wanted) in [
            ("${workspaceFolder}/a", "/p/a"),
            ("${env:TOKEN}", "${TOKEN}"),
            ("{env:TOKEN}-x", "${TOKEN}-x"),
            ("${A:-b}", "${A:-b}"),
            ("${userHome}/x", "${HOME}/x"),
            ("{\"a\": \"$5\"}", "{\"a\": \"$5\"}"),
            ("a ${ b", "a ${ b"),
        ] {
            assert_eq!(place.convert(text).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_only_the_client_knows_is_a_reason() {
        let nowhere = EntryContext { project: None };
        for text in ["${input:key}", "${workspaceFolder}", "${command:x.y}", "${}"] {
            assert!(nowhere.convert(text).is_err(), "{text}");
        }
    }
}
