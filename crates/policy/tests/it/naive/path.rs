//! Paths as texts.

/// A path that could be read: whether it is absolute, and its steps.
#[derive(Debug, PartialEq, Eq)]
struct Path<'a> {
    absolute: bool,
    steps: Vec<&'a str>,
}

fn read(text: &str) -> Option<Path<'_>> {
    let mut first = text.chars();
    let drive = first.next().is_some_and(|c| c.is_ascii_alphabetic()) && first.next() == Some(':');
    if text.is_empty()
        || drive
        || text.starts_with('~')
        || text.chars().any(|c| c == '\\' || c.is_control())
    {
        return None;
    }
    let mut steps = Vec::new();
    for step in text.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop()?;
            }
            name => steps.push(name),
        }
    }
    Some(Path { absolute: text.starts_with('/'), steps })
}

/// Whether the path is inside the folder, or is the folder.
pub(crate) fn is_inside(path: &str, folder: &str) -> bool {
    match (read(path), read(folder)) {
        (Some(path), Some(folder)) => {
            path.absolute == folder.absolute && path.steps.starts_with(&folder.steps)
        }
        _ => false,
    }
}
