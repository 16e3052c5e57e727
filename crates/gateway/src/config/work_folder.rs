//! The folder in which servers start that name none: `[gateway] work_folder`.
//!
//! Outside of the folder of `weaver.toml` it makes that folder the gateway's alone: servers are denied
//! it as a whole, so that nothing which is ever made or replaced in it is within their reach.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use weaver_drivers::confine::{Confinement, FileAccess};
use weaver_policy::DocumentFinding;

use super::denied_folder::is_inside;
use super::expansion::{ExpansionContext, expand_nonempty};
use super::node::Node;
use super::server_table::ServerSections;
use super::tool::{OwnTool, ToolImplementation};
use super::upstream::{TransportSettings, UpstreamSettings, WORKSPACE_FOLDER};

/// Parses the folder. Parts that lead upwards are refused: where a path leads must not depend on links
/// that servers could change.
pub(super) fn read(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<PathBuf> {
    let node = node?;
    let remedy = "write the path of a folder outside of this one, without `..`";
    let text = expand_nonempty(node, context, ("not a valid path", remedy), findings)?;
    let path = context.base.join(text);
    if path.components().any(|part| part == Component::ParentDir) {
        findings.push(node.finding("config.path", "a part of the path leads upwards", remedy));
        return None;
    }
    Some(path)
}

/// A work folder that is written as if outside of the denied folder, and really leads into it.
pub(super) fn misplaced(
    node: Option<&Node>,
    denied: &Path,
    work_folder: Option<&Path>,
) -> Option<DocumentFinding> {
    let (node, work) = (node?, work_folder?);
    is_inside(work, denied).then(|| {
        let message =
            format!("a link leads it into {}, which servers are denied", denied.display());
        node.finding(
            "config.work_folder",
            message,
            "name a folder outside, or one inside by its own path",
        )
    })
}

/// Reports what servers and own tools are configured to use in the folder that they are denied.
pub(super) fn check(
    denied: &Path,
    sections: &ServerSections<'_>,
    own_tools: Option<&Node>,
    upstreams: &[UpstreamSettings],
    tools: &[OwnTool],
    findings: &mut Vec<DocumentFinding>,
) {
    let servers = |name: &str| {
        let in_toml = sections.toml.and_then(|servers| servers.get(name));
        in_toml.or_else(|| sections.json?.get("mcpServers")?.get(name))
    };
    for upstream in upstreams {
        let TransportSettings::Stdio { command, args, cwd, confine, .. } = &upstream.transport
        else {
            continue;
        };
        let paths = ChildPaths { command, args, cwd: cwd.as_deref(), confine: confine.as_ref() };
        if let Some(node) = servers(upstream.name.as_str()) {
            findings.extend(paths.first_inside(denied).map(|path| inside(node, &path, denied)));
        }
    }
    for tool in tools {
        let ToolImplementation::Program(program) = &tool.implementation else { continue };
        let paths = ChildPaths {
            command: &program.command,
            args: &program.args,
            cwd: program.cwd.as_deref(),
            confine: program.confine.as_ref(),
        };
        if let Some(node) = own_tools.and_then(|tools| tools.get(&tool.name)) {
            findings.extend(paths.first_inside(denied).map(|path| inside(node, &path, denied)));
        }
    }
}

fn inside(node: &Node, path: &Path, denied: &Path) -> DocumentFinding {
    let message = format!(
        "it needs {}, but `work_folder` is outside of {}, so that no server reaches anything in there",
        path.display(),
        denied.display()
    );
    let remedy = "move that to another folder and name it here, or remove `work_folder` from \
                  `[gateway]`";
    node.finding("config.work_folder", message, remedy)
}

/// What a child process is configured to use: its program, arguments, folder and confinement.
struct ChildPaths<'a> {
    command: &'a str,
    args: &'a [String],
    cwd: Option<&'a Path>,
    confine: Option<&'a Confinement>,
}

impl ChildPaths<'_> {
    /// The first path that is inside of a folder.
    fn first_inside(&self, folder: &Path) -> Option<PathBuf> {
        // A bare name is looked up in `PATH`; an argument may be anything, so only what exists counts.
        let command = Some(self.command).filter(|command| command.contains('/'));
        let files = self.args.iter().map(String::as_str);
        let files = files.filter(|arg| Path::new(arg).is_absolute() && Path::new(arg).exists());
        let named: BTreeSet<&Path> = match self.confine.map(|confine| &confine.files) {
            Some(FileAccess::Only(only)) => [&only.read, &only.write, &only.execute]
                .into_iter()
                .flatten()
                .map(PathBuf::as_path)
                .collect(),
            Some(FileAccess::AllButDenied) | None => BTreeSet::new(),
        };
        let paths = command.into_iter().chain(files).map(Path::new).chain(self.cwd).chain(named);
        let mut paths = paths.filter(|path| !path.to_string_lossy().contains(WORKSPACE_FOLDER));
        paths.find(|path| is_inside(path, folder)).map(Path::to_path_buf)
    }
}
