//! Groups of items that are selected together: a call with its results, or a single item.

use crate::compile::item_outcome::ItemOutcome;
use crate::compile::stats::DropReason;
use crate::compile::{ContextItemKind, ContextLog};

const NONE: u32 = u32::MAX;

/// A call with its results, or a single item.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The index of the call or of the single item.
    pub(super) head: u32,
    /// The kind of the head.
    pub(super) kind: ContextItemKind,
    /// The group that this one depends on.
    parent: u32,
    /// The root of its tree of groups.
    pub(super) root: u32,
    /// The first member added, and the latest one.
    first_member: u32,
    pub(super) newest_member: u32,
    /// How many active groups have this one as their parent.
    pub(super) children: u32,
    /// Whether any group has ever had this one as its parent.
    pub(super) ever_had_children: bool,
    /// How many members it has, and how many of them have a later duplicate.
    member_count: u32,
    duplicate_count: u32,
    /// The best base score of a member.
    pub(super) base_score: u32,
    /// The sum of the tokens of its members, as counted when they were added.
    pub(super) tokens: u64,
    /// The tokens of its longest member.
    pub(super) longest: u32,
    /// The tokens of the group and its ancestors. This is a lower bound: it lacks results that were
    /// added to an ancestor after this group was attached.
    pub(super) tokens_with_ancestors: u64,
    pub(super) is_pinned: bool,
    pub(super) is_active: bool,
}

impl Group {
    pub(super) fn parent(&self) -> Option<usize> {
        decode(self.parent)
    }

    fn is_fully_duplicated(&self) -> bool {
        self.duplicate_count == self.member_count
    }
}

/// What one member contributes to the totals of its group.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberContribution {
    pub(super) tokens: u32,
    pub(super) base_score: usize,
    pub(super) is_pinned: bool,
}

/// All groups of a log, and the forest that they form.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    groups: Vec<Group>,
    /// The group of each item, by item index.
    group_by_item: Vec<u32>,
    /// The next member of the same group, by item index: a linked list.
    next_member: Vec<u32>,
    /// The tokens of all active groups.
    active_tokens: u64,
    /// The groups that have a parent, in buckets by their tokens; the last bucket also takes all
    /// larger groups.
    dependents_by_tokens: Vec<Vec<u32>>,
}

/// The last bucket of [`Groups::dependents_by_tokens`].
const TOKEN_BUCKETS: usize = 1024;

impl Groups {
    /// The index of the head of an item's group: the call for its result, else the item itself.
    pub(super) fn group_head(log: &ContextLog, index: usize) -> usize {
        let has_kind = |index: usize, kind| log.analysis(index).is_some_and(|a| a.kind == kind);
        match log.forest().parent(index) {
            Some(call)
                if has_kind(index, ContextItemKind::ToolResult)
                    && has_kind(call, ContextItemKind::ToolCall) =>
            {
                call
            }
            _ => index,
        }
    }

    /// Builds the groups of all candidates. A group with a dropped member is dropped as a whole,
    /// together with its descendants, and `outcomes` is updated accordingly.
    pub(super) fn from_candidates(
        log: &ContextLog,
        outcomes: &mut [ItemOutcome],
        contribution: impl Fn(usize) -> MemberContribution,
    ) -> Self {
        let mut groups = Self::default();
        for (index, outcome) in outcomes.iter().enumerate() {
            match outcome {
                ItemOutcome::Absent => groups.extend_to(index),
                _ => groups.add_member(log, index, contribution(index)),
            }
        }
        for (index, outcome) in outcomes.iter().enumerate() {
            if let (ItemOutcome::Dropped(_), Some(group)) = (outcome, groups.group_of(index)) {
                groups.deactivate(group);
            }
        }
        groups.attach_all(log);
        groups.drop_inactive_members(outcomes);
        groups
    }

    pub(super) fn all(&self) -> &[Group] {
        &self.groups
    }

    pub(super) fn get(&self, group: usize) -> Option<&Group> {
        self.groups.get(group)
    }

    /// The group of an item.
    pub(super) fn group_of(&self, index: usize) -> Option<usize> {
        self.group_by_item.get(index).copied().and_then(decode)
    }

    /// The indices of the members, in the order in which they were added.
    pub(super) fn members(&self, group: usize) -> impl Iterator<Item = usize> {
        let mut next = self.groups.get(group).and_then(|group| decode(group.first_member));
        std::iter::from_fn(move || {
            let index = next?;
            next = self.next_member.get(index).copied().and_then(decode);
            Some(index)
        })
    }

    /// Makes room for an item index; the item belongs to no group yet.
    pub(super) fn extend_to(&mut self, index: usize) {
        let item_count = self.group_by_item.len().max(index + 1);
        self.group_by_item.resize(item_count, NONE);
        self.next_member.resize(item_count, NONE);
    }

    /// Adds an item to its group, which is created if necessary.
    pub(super) fn add_member(
        &mut self,
        log: &ContextLog,
        index: usize,
        contribution: MemberContribution,
    ) {
        let head = Self::group_head(log, index);
        let member = encode(index);
        // A result may precede its call in the log.
        self.extend_to(index.max(head));
        let group = self.group_of(head).unwrap_or_else(|| self.new_group(log, head, member));
        for item in [index, head] {
            if let Some(entry) = self.group_by_item.get_mut(item) {
                *entry = encode(group);
            }
        }
        if let Some(entry) = self.groups.get_mut(group) {
            if let Some(next) = self.next_member.get_mut(entry.newest_member as usize)
                && entry.newest_member != member
            {
                *next = member;
            }
            entry.newest_member = member;
            entry.member_count += 1;
            entry.tokens += u64::from(contribution.tokens);
            self.active_tokens += if entry.is_active { u64::from(contribution.tokens) } else { 0 };
            entry.longest = entry.longest.max(contribution.tokens);
            entry.tokens_with_ancestors += u64::from(contribution.tokens);
            entry.base_score = entry.base_score.max(encode(contribution.base_score));
            entry.is_pinned |= contribution.is_pinned;
            if entry.parent().is_some() {
                self.index_dependent(group);
            }
        }
    }

    /// Attaches a new group to its parent. If the parent is inactive, so is the group.
    pub(super) fn attach_to_parent(&mut self, log: &ContextLog, group: usize) {
        let Some(parent) = self.find_parent(log, group) else { return };
        let Some(parent_group) = self.groups.get(parent) else { return };
        let (root, with_needs, is_live) =
            (parent_group.root, parent_group.tokens_with_ancestors, parent_group.is_active);
        if !is_live {
            self.deactivate(group);
        }
        let Some(found) = self.groups.get_mut(group) else { return };
        found.parent = encode(parent);
        found.root = root;
        found.tokens_with_ancestors = with_needs.saturating_add(found.tokens);
        let is_live = found.is_active;
        if let Some(parent_group) = self.groups.get_mut(parent) {
            parent_group.ever_had_children = true;
            parent_group.children += u32::from(is_live);
        }
        self.index_dependent(group);
    }

    /// Drops an active group.
    pub(super) fn drop_group(&mut self, group: usize) {
        let parent = self.groups.get(group).and_then(Group::parent);
        self.deactivate(group);
        if let Some(parent_group) = parent.and_then(|parent| self.groups.get_mut(parent)) {
            parent_group.children = parent_group.children.saturating_sub(1);
        }
    }

    /// The tokens of all active groups.
    pub(super) fn active_tokens(&self) -> u64 {
        self.active_tokens
    }

    /// Records that one more member has a later duplicate.
    pub(super) fn count_duplicate(&mut self, group: usize) {
        if let Some(found) = self.groups.get_mut(group) {
            found.duplicate_count += 1;
        }
    }

    /// Whether every member has a later duplicate and no active group depends on the group.
    pub(super) fn is_redundant(&self, group: usize) -> bool {
        let is =
            |found: &Group| found.is_active && found.children == 0 && found.is_fully_duplicated();
        self.groups.get(group).is_some_and(is)
    }

    /// A superset of the groups with a parent that have at most `tokens` tokens.
    pub(super) fn dependents_up_to(&self, tokens: usize) -> impl Iterator<Item = u32> {
        self.dependents_by_tokens.iter().take(tokens.saturating_add(1)).flatten().copied()
    }

    fn index_dependent(&mut self, group: usize) {
        let Some(found) = self.groups.get(group) else { return };
        let tokens = usize::try_from(found.tokens).unwrap_or(TOKEN_BUCKETS).min(TOKEN_BUCKETS);
        if self.dependents_by_tokens.len() <= tokens {
            self.dependents_by_tokens.resize(tokens + 1, Vec::new());
        }
        if let Some(list) = self.dependents_by_tokens.get_mut(tokens) {
            list.push(encode(group));
        }
    }

    fn new_group(&mut self, log: &ContextLog, head: usize, first: u32) -> usize {
        let group = self.groups.len();
        self.groups.push(Group {
            head: encode(head),
            kind: log.analysis(head).map_or(ContextItemKind::Doc, |a| a.kind),
            parent: NONE,
            root: encode(group),
            first_member: first,
            newest_member: first,
            children: 0,
            ever_had_children: false,
            member_count: 0,
            duplicate_count: 0,
            base_score: 0,
            tokens: 0,
            longest: 0,
            tokens_with_ancestors: 0,
            is_pinned: false,
            is_active: true,
        });
        group
    }

    fn find_parent(&self, log: &ContextLog, group: usize) -> Option<usize> {
        let head = decode(self.groups.get(group)?.head)?;
        let parent = self.group_of(log.forest().parent(head)?)?;
        (parent != group).then_some(parent)
    }

    fn deactivate(&mut self, group: usize) {
        let Some(found) = self.groups.get_mut(group).filter(|found| found.is_active) else {
            return;
        };
        found.is_active = false;
        self.active_tokens -= found.tokens;
    }

    /// Attaches all groups, parents before children: walks up from each group to one that is
    /// attached already, then attaches the path downwards.
    fn attach_all(&mut self, log: &ContextLog) {
        let mut is_done = vec![false; self.groups.len()];
        let mut path = Vec::new();
        for start in 0..self.groups.len() {
            let mut next = Some(start);
            while let Some(group) = next.filter(|group| is_done.get(*group) == Some(&false)) {
                if let Some(entry) = is_done.get_mut(group) {
                    *entry = true;
                }
                path.push(group);
                next = self.find_parent(log, group);
            }
            while let Some(group) = path.pop() {
                self.attach_to_parent(log, group);
            }
        }
    }

    /// Marks the members of inactive groups as dropped.
    fn drop_inactive_members(&self, outcomes: &mut [ItemOutcome]) {
        for (index, outcome) in outcomes.iter_mut().enumerate() {
            let group = self.group_of(index).and_then(|group| self.groups.get(group));
            if *outcome == ItemOutcome::Kept && group.is_some_and(|group| !group.is_active) {
                *outcome = ItemOutcome::Dropped(DropReason::Group);
            }
        }
    }
}

fn decode(number: u32) -> Option<usize> {
    (number != NONE).then_some(number as usize)
}

fn encode(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NONE)
}
