//! The files that may be left on a disk after a power cut.
//!
//! The rules are those of a file system that guarantees no more than it must. A write is durable
//! once its file has been synced after it. Before that, each page of each write survives or not,
//! independently of the others, so writes may also reach the disk in another order. A change of a
//! name is durable once its folder has been synced after it; the changes of names that are not
//! durable yet take effect in their order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::trace::Step;

/// What happens to data that was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// All of it survives: only the process died.
    None,
    /// None of it survives.
    All,
    /// A random part of its pages survives.
    Torn {
        /// Bytes of a page: 512 for a sector, 4,096 for a page of the system.
        page: usize,
        /// The seed that selects the part.
        seed: u64,
    },
}

/// The files after a crash: the content of each, by its path.
pub type Image = BTreeMap<PathBuf, Vec<u8>>;

/// A disk on which a trace is played.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    files: Vec<File>,
    /// The file of each name now.
    names: BTreeMap<PathBuf, usize>,
    /// The file that each name has for sure after a crash.
    durable: BTreeMap<PathBuf, usize>,
    /// Changes of names that are not durable yet.
    pending_names: Vec<(PathBuf, Option<usize>)>,
    /// Whether syncs count. Without them the harness must find losses.
    ignores_syncs: bool,
}

#[derive(Debug, Clone, Default)]
struct File {
    /// The content that survives every crash.
    durable: Vec<u8>,
    /// Changes since then, which a crash may lose.
    pending: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Disk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty disk on which no sync has any effect: the control, which must lose data.
    #[must_use]
    pub fn without_syncs() -> Self {
        Self { ignores_syncs: true, ..Self::default() }
    }

    /// Applies one step.
    pub fn apply(&mut self, step: &Step) {
        match step {
            Step::Open { folder: true, .. } => {}
            Step::Open { path, emptied, .. } => {
                let file = self.file(path);
                if *emptied {
                    self.push_change(file, Change::Length(0));
                }
            }
            Step::Write { path, offset, bytes } => {
                let file = self.file(path);
                self.push_change(file, Change::Write(index(*offset), bytes.clone()));
            }
            Step::Truncate(path, length) => {
                let file = self.file(path);
                self.push_change(file, Change::Length(index(*length)));
            }
            Step::Sync(path) if !self.ignores_syncs => self.sync(path),
            Step::Unlink(path) => self.set_name(path, None),
            Step::Rename(from, to) => {
                let file = self.names.get(from).copied();
                self.set_name(from, None);
                self.set_name(to, file);
            }
            Step::Sync(_)
            | Step::Close(_)
            | Step::Output(_)
            | Step::Read { .. }
            | Step::Failed { .. } => {}
        }
    }

    /// Whether everything is durable, so that every loss gives the same image.
    #[must_use]
    pub fn is_fully_synced(&self) -> bool {
        self.pending_names.is_empty() && self.files.iter().all(|file| file.pending.is_empty())
    }

    /// The files that are left if the power fails now.
    #[must_use]
    pub fn crash(&self, loss: Loss) -> Image {
        let mut lottery = PageLottery::new(loss);
        let mut names = self.durable.clone();
        let kept = lottery.below(self.pending_names.len() + 1);
        for (path, file) in self.pending_names.iter().take(kept) {
            match file {
                Some(file) => names.insert(path.clone(), *file),
                None => names.remove(path),
            };
        }
        // Two names of one file show the same bytes.
        let wanted: BTreeSet<usize> = names.values().copied().collect();
        let contents: BTreeMap<usize, Vec<u8>> = wanted
            .into_iter()
            .filter_map(|file| Some((file, self.files.get(file)?.crash(&mut lottery))))
            .collect();
        names
            .into_iter()
            .map(|(path, file)| (path, contents.get(&file).cloned().unwrap_or_default()))
            .collect()
    }

    fn file(&mut self, path: &Path) -> usize {
        if let Some(file) = self.names.get(path) {
            return *file;
        }
        let file = self.files.len();
        self.files.push(File::default());
        self.set_name(path, Some(file));
        file
    }

    fn set_name(&mut self, path: &Path, file: Option<usize>) {
        match file {
            Some(file) => self.names.insert(path.to_owned(), file),
            None => self.names.remove(path),
        };
        self.pending_names.push((path.to_owned(), file));
    }

    fn push_change(&mut self, file: usize, change: Change) {
        if let Some(file) = self.files.get_mut(file) {
            file.pending.push(change);
        }
    }

    fn sync(&mut self, path: &Path) {
        match self.names.get(path).copied() {
            Some(file) => {
                if let Some(file) = self.files.get_mut(file) {
                    for change in std::mem::take(&mut file.pending) {
                        change.apply(&mut file.durable);
                    }
                }
            }
            // `path` is a folder: its names become durable.
            None => {
                self.pending_names.retain(|(name, file)| {
                    let is_inside = name.parent() == Some(path);
                    if is_inside {
                        match file {
                            Some(file) => self.durable.insert(name.clone(), *file),
                            None => self.durable.remove(name),
                        };
                    }
                    !is_inside
                });
            }
        }
    }
}

impl File {
    fn crash(&self, lottery: &mut PageLottery) -> Vec<u8> {
        let mut content = self.durable.clone();
        for change in &self.pending {
            match change {
                Change::Length(length) => {
                    if lottery.draws_kept() {
                        Change::Length(*length).apply(&mut content);
                    }
                }
                Change::Write(offset, bytes) => {
                    for (offset, part) in pages(*offset, bytes, lottery.page) {
                        if lottery.draws_kept() {
                            Change::Write(offset, part.to_vec()).apply(&mut content);
                        }
                    }
                }
            }
        }
        content
    }
}

/// Splits a write at the page boundaries.
fn pages(offset: usize, bytes: &[u8], page: usize) -> impl Iterator<Item = (usize, &[u8])> {
    let mut rest = (offset, bytes);
    std::iter::from_fn(move || {
        let (at, bytes) = rest;
        if bytes.is_empty() {
            return None;
        }
        let room = (page - at % page).min(bytes.len());
        let (part, after) = bytes.split_at_checked(room)?;
        rest = (at + room, after);
        Some((at, part))
    })
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Length(length) => content.resize(*length, 0),
            Self::Write(offset, bytes) => {
                let end = offset.saturating_add(bytes.len());
                if content.len() < end {
                    content.resize(end, 0);
                }
                if let Some(place) = content.get_mut(*offset..end) {
                    place.copy_from_slice(bytes);
                }
            }
        }
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// What is kept: always, never, or by chance.
struct PageLottery {
    loss: Loss,
    page: usize,
    state: u64,
    /// Of 256, how often a part survives: drawn once per image, so that some images lose little
    /// and others much.
    odds: u64,
}

impl PageLottery {
    fn new(loss: Loss) -> Self {
        let (page, state) = match loss {
            Loss::Torn { page, seed } => (page.max(1), seed),
            Loss::None | Loss::All => (4096, 0),
        };
        let mut lottery = Self { loss, page, state, odds: 128 };
        lottery.odds = [16, 64, 128, 192, 240].get(lottery.draw(5)).copied().unwrap_or(128);
        lottery
    }

    fn draws_kept(&mut self) -> bool {
        match self.loss {
            Loss::None => true,
            Loss::All => false,
            Loss::Torn { .. } => self.next() % 256 < self.odds,
        }
    }

    /// A number below `end`: the greatest when nothing is lost, zero when everything is.
    fn below(&mut self, end: usize) -> usize {
        match self.loss {
            Loss::None => end.saturating_sub(1),
            Loss::All => 0,
            Loss::Torn { .. } => self.draw(end),
        }
    }

    fn draw(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % end).unwrap_or(0)
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests;
