//! What may be left on a disk after a power cut.
//!
//! The rules are those of a file system that promises no more than it must. What was written to a
//! file is safe when that file was synced after it. Before that, each page of each write is there or
//! not, whatever became of the others, which includes that they reached the disk in another order.
//! A name is safe when its folder was synced after it was made, removed or changed; the names that
//! are not safe yet came into being one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::trace::Step;

/// What happens to what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// All of it is there: the process died, the machine went on.
    None,
    /// None of it is there.
    All,
    /// A random part of its pages is there.
    Torn {
        /// Bytes of a page: 512 for a sector, 4,096 for a page of the system.
        page: usize,
        /// Which part.
        seed: u64,
    },
}

/// The files after a crash: the content of each, by its path.
pub type Image = BTreeMap<PathBuf, Vec<u8>>;

/// A disk on which a trace is played.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    files: Vec<File>,
    /// What each name means now, and what it means after a crash for sure.
    names: BTreeMap<PathBuf, usize>,
    safe: BTreeMap<PathBuf, usize>,
    /// Changes of names that are not safe yet.
    renamed: Vec<(PathBuf, Option<usize>)>,
    /// Whether syncs count. Without them the harness must find losses.
    deaf: bool,
}

#[derive(Debug, Clone, Default)]
struct File {
    /// What is safe.
    safe: Vec<u8>,
    /// What happened to it since.
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
    pub fn deaf() -> Self {
        Self { deaf: true, ..Self::default() }
    }

    /// Plays one step.
    pub fn play(&mut self, step: &Step) {
        match step {
            Step::Open { folder: true, .. } => {}
            Step::Open { path, emptied, .. } => {
                let file = self.file(path);
                if *emptied {
                    self.change(file, Change::Length(0));
                }
            }
            Step::Write { path, offset, bytes } => {
                let file = self.file(path);
                self.change(file, Change::Write(index(*offset), bytes.clone()));
            }
            Step::Truncate(path, length) => {
                let file = self.file(path);
                self.change(file, Change::Length(index(*length)));
            }
            Step::Sync(path) if !self.deaf => self.sync(path),
            Step::Unlink(path) => self.name(path, None),
            Step::Rename(from, to) => {
                let file = self.names.get(from).copied();
                self.name(from, None);
                self.name(to, file);
            }
            Step::Sync(_)
            | Step::Close(_)
            | Step::Said(_)
            | Step::Read { .. }
            | Step::Failed { .. } => {}
        }
    }

    /// Whether anything is unsafe: if not, every loss gives the same image.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.renamed.is_empty() && self.files.iter().all(|file| file.pending.is_empty())
    }

    /// What is left when the power goes now.
    #[must_use]
    pub fn crash(&self, loss: Loss) -> Image {
        let mut dice = Dice::new(loss);
        let mut names = self.safe.clone();
        let kept = dice.below(self.renamed.len() + 1);
        for (path, file) in self.renamed.iter().take(kept) {
            match file {
                Some(file) => names.insert(path.clone(), *file),
                None => names.remove(path),
            };
        }
        // Two names of one file show the same bytes.
        let wanted: BTreeSet<usize> = names.values().copied().collect();
        let contents: BTreeMap<usize, Vec<u8>> = wanted
            .into_iter()
            .filter_map(|file| Some((file, self.files.get(file)?.crash(&mut dice))))
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
        self.name(path, Some(file));
        file
    }

    fn name(&mut self, path: &Path, file: Option<usize>) {
        match file {
            Some(file) => self.names.insert(path.to_owned(), file),
            None => self.names.remove(path),
        };
        self.renamed.push((path.to_owned(), file));
    }

    fn change(&mut self, file: usize, change: Change) {
        if let Some(file) = self.files.get_mut(file) {
            file.pending.push(change);
        }
    }

    fn sync(&mut self, path: &Path) {
        match self.names.get(path).copied() {
            Some(file) => {
                if let Some(file) = self.files.get_mut(file) {
                    for change in std::mem::take(&mut file.pending) {
                        change.apply(&mut file.safe);
                    }
                }
            }
            // The folder of some names, which become safe in it.
            None => {
                self.renamed.retain(|(name, file)| {
                    let inside = name.parent() == Some(path);
                    if inside {
                        match file {
                            Some(file) => self.safe.insert(name.clone(), *file),
                            None => self.safe.remove(name),
                        };
                    }
                    !inside
                });
            }
        }
    }
}

impl File {
    fn crash(&self, dice: &mut Dice) -> Vec<u8> {
        let mut content = self.safe.clone();
        for change in &self.pending {
            match change {
                Change::Length(length) => {
                    if dice.keeps() {
                        Change::Length(*length).apply(&mut content);
                    }
                }
                Change::Write(offset, bytes) => {
                    for (offset, part) in pages(*offset, bytes, dice.page) {
                        if dice.keeps() {
                            Change::Write(offset, part.to_vec()).apply(&mut content);
                        }
                    }
                }
            }
        }
        content
    }
}

/// The parts of a write that lie in one page each.
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
struct Dice {
    loss: Loss,
    page: usize,
    state: u64,
    /// Of 256, how often something is kept: drawn once an image, so that some images lose little
    /// and others much.
    odds: u64,
}

impl Dice {
    fn new(loss: Loss) -> Self {
        let (page, state) = match loss {
            Loss::Torn { page, seed } => (page.max(1), seed),
            Loss::None | Loss::All => (4096, 0),
        };
        let mut dice = Self { loss, page, state, odds: 128 };
        dice.odds = [16, 64, 128, 192, 240].get(dice.draw(5)).copied().unwrap_or(128);
        dice
    }

    fn keeps(&mut self) -> bool {
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
