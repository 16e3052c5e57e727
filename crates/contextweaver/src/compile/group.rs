//! Items that are taken together: a call with its results, or one item.

use crate::compile::item_outcome::ItemOutcome;
use crate::compile::stats::DropReason;
use crate::compile::{ContextLog, ItemKind};

const NONE: u32 = u32::MAX;

/// A call with its results, or one item.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The place of the call or of the item.
    pub(super) head: u32,
    /// The kind of that.
    pub(super) kind: ItemKind,
    /// The group that it hangs on.
    needs: u32,
    /// The top of its tree of groups.
    pub(super) root: u32,
    /// The first member, and the last so far.
    first: u32,
    pub(super) newest: u32,
    /// Live groups that hang on it.
    pub(super) children: u32,
    /// Whether anything has ever hung on it.
    pub(super) is_needed: bool,
    /// How many members it has, and of how many a later item says the same.
    members: u32,
    repeated: u32,
    /// The best lasting score of a member.
    pub(super) lasting: u32,
    /// Tokens of its members, as counted when they came.
    pub(super) tokens: u64,
    /// Those of its longest member.
    pub(super) longest: u32,
    /// The tokens with all that it hangs on. Less, where a result came after what hangs on it: this
    /// is only a bound.
    pub(super) with_needs: u64,
    pub(super) is_pinned: bool,
    pub(super) is_live: bool,
}

impl Group {
    pub(super) fn needs(&self) -> Option<usize> {
        index(self.needs)
    }

    fn all_repeated(&self) -> bool {
        self.repeated == self.members
    }
}

/// What a member adds to its group.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberShare {
    pub(super) tokens: u32,
    pub(super) lasting: usize,
    pub(super) is_pinned: bool,
}

/// The groups of a log.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    all: Vec<Group>,
    /// The group of each place.
    of: Vec<u32>,
    /// The next member of the same group, by place.
    next: Vec<u32>,
    /// Tokens of all that are live.
    live_tokens: u64,
    /// Groups that hang on others, by their tokens; those with as many or more stand in the last.
    hanging: Vec<Vec<u32>>,
}

/// The last list of [`Groups::hanging`].
const MANY: usize = 1024;

impl Groups {
    /// The place that names the group of an item: that of the call for its result.
    pub(super) fn head_of(log: &ContextLog, place: usize) -> usize {
        let is = |place: usize, kind| log.analysis(place).is_some_and(|a| a.kind == kind);
        match log.links().parent(place) {
            Some(call) if is(place, ItemKind::ToolResult) && is(call, ItemKind::ToolCall) => call,
            _ => place,
        }
    }

    /// The groups of all candidates. A group with a member that was left out is left out whole, and
    /// so is what hangs on it; the outcomes say so.
    pub(super) fn of_all(
        log: &ContextLog,
        outcomes: &mut [ItemOutcome],
        share: impl Fn(usize) -> MemberShare,
    ) -> Self {
        let mut groups = Self::default();
        for (place, outcome) in outcomes.iter().enumerate() {
            match outcome {
                ItemOutcome::Absent => groups.skip(place),
                _ => groups.add(log, place, share(place)),
            }
        }
        for (place, outcome) in outcomes.iter().enumerate() {
            if let (ItemOutcome::Dropped(_), Some(group)) = (outcome, groups.at(place)) {
                groups.leave_out(group);
            }
        }
        groups.hang_all(log);
        groups.lose(outcomes);
        groups
    }

    pub(super) fn all(&self) -> &[Group] {
        &self.all
    }

    pub(super) fn get(&self, group: usize) -> Option<&Group> {
        self.all.get(group)
    }

    /// The group of a place.
    pub(super) fn at(&self, place: usize) -> Option<usize> {
        self.of.get(place).copied().and_then(index)
    }

    /// The places of the members, oldest first.
    pub(super) fn members(&self, group: usize) -> impl Iterator<Item = usize> {
        let mut next = self.all.get(group).and_then(|group| index(group.first));
        std::iter::from_fn(move || {
            let place = next?;
            next = self.next.get(place).copied().and_then(index);
            Some(place)
        })
    }

    /// The next place belongs to no group.
    pub(super) fn skip(&mut self, place: usize) {
        let places = self.of.len().max(place + 1);
        self.of.resize(places, NONE);
        self.next.resize(places, NONE);
    }

    /// The next place joins its group, or begins one.
    pub(super) fn add(&mut self, log: &ContextLog, place: usize, share: MemberShare) {
        let head = Self::head_of(log, place);
        let own = number(place);
        // A result may stand before its call.
        self.skip(place.max(head));
        let group = self.at(head).unwrap_or_else(|| self.begin(log, head, own));
        for at in [place, head] {
            if let Some(entry) = self.of.get_mut(at) {
                *entry = number(group);
            }
        }
        if let Some(found) = self.all.get_mut(group) {
            if let Some(entry) = self.next.get_mut(found.newest as usize)
                && found.newest != own
            {
                *entry = own;
            }
            found.newest = own;
            found.members += 1;
            found.tokens += u64::from(share.tokens);
            self.live_tokens += if found.is_live { u64::from(share.tokens) } else { 0 };
            found.longest = found.longest.max(share.tokens);
            found.with_needs += u64::from(share.tokens);
            found.lasting = found.lasting.max(number(share.lasting));
            found.is_pinned |= share.is_pinned;
            if found.needs().is_some() {
                self.list(group);
            }
        }
    }

    /// Says what one new group hangs on. Where that is left out, the group is too.
    pub(super) fn hang(&mut self, log: &ContextLog, group: usize) {
        let Some(needs) = self.needs_of(log, group) else { return };
        let Some(above) = self.all.get(needs) else { return };
        let (root, with_needs, is_live) = (above.root, above.with_needs, above.is_live);
        if !is_live {
            self.leave_out(group);
        }
        let Some(found) = self.all.get_mut(group) else { return };
        found.needs = number(needs);
        found.root = root;
        found.with_needs = with_needs.saturating_add(found.tokens);
        let is_live = found.is_live;
        if let Some(above) = self.all.get_mut(needs) {
            above.is_needed = true;
            above.children += u32::from(is_live);
        }
        self.list(group);
    }

    /// Leaves out a group that is live.
    pub(super) fn end(&mut self, group: usize) {
        let needs = self.all.get(group).and_then(Group::needs);
        self.leave_out(group);
        if let Some(above) = needs.and_then(|needs| self.all.get_mut(needs)) {
            above.children = above.children.saturating_sub(1);
        }
    }

    /// The tokens of all that are live.
    pub(super) fn live_tokens(&self) -> u64 {
        self.live_tokens
    }

    /// One more member is said again later.
    pub(super) fn repeat(&mut self, group: usize) {
        if let Some(found) = self.all.get_mut(group) {
            found.repeated += 1;
        }
    }

    /// Whether all of it is said again later, and nothing that stays hangs on it.
    pub(super) fn is_repeated(&self, group: usize) -> bool {
        let is = |found: &Group| found.is_live && found.children == 0 && found.all_repeated();
        self.all.get(group).is_some_and(is)
    }

    /// At least the groups that hang on others and have at most `tokens` tokens.
    pub(super) fn hanging(&self, tokens: usize) -> impl Iterator<Item = u32> {
        self.hanging.iter().take(tokens.saturating_add(1)).flatten().copied()
    }

    fn list(&mut self, group: usize) {
        let Some(found) = self.all.get(group) else { return };
        let tokens = usize::try_from(found.tokens).unwrap_or(MANY).min(MANY);
        if self.hanging.len() <= tokens {
            self.hanging.resize(tokens + 1, Vec::new());
        }
        if let Some(list) = self.hanging.get_mut(tokens) {
            list.push(number(group));
        }
    }

    fn begin(&mut self, log: &ContextLog, head: usize, first: u32) -> usize {
        let group = self.all.len();
        self.all.push(Group {
            head: number(head),
            kind: log.analysis(head).map_or(ItemKind::Doc, |a| a.kind),
            needs: NONE,
            root: number(group),
            first,
            newest: first,
            children: 0,
            is_needed: false,
            members: 0,
            repeated: 0,
            lasting: 0,
            tokens: 0,
            longest: 0,
            with_needs: 0,
            is_pinned: false,
            is_live: true,
        });
        group
    }

    fn needs_of(&self, log: &ContextLog, group: usize) -> Option<usize> {
        let head = index(self.all.get(group)?.head)?;
        let needs = self.at(log.links().parent(head)?)?;
        (needs != group).then_some(needs)
    }

    fn leave_out(&mut self, group: usize) {
        let Some(found) = self.all.get_mut(group).filter(|found| found.is_live) else { return };
        found.is_live = false;
        self.live_tokens -= found.tokens;
    }

    /// Says what each group hangs on, the upper groups first.
    fn hang_all(&mut self, log: &ContextLog) {
        let mut is_done = vec![false; self.all.len()];
        let mut chain = Vec::new();
        for start in 0..self.all.len() {
            let mut next = Some(start);
            while let Some(group) = next.filter(|group| is_done.get(*group) == Some(&false)) {
                if let Some(entry) = is_done.get_mut(group) {
                    *entry = true;
                }
                chain.push(group);
                next = self.needs_of(log, group);
            }
            while let Some(group) = chain.pop() {
                self.hang(log, group);
            }
        }
    }

    /// What is in a group that is left out goes with it.
    fn lose(&self, outcomes: &mut [ItemOutcome]) {
        for (place, outcome) in outcomes.iter_mut().enumerate() {
            let group = self.at(place).and_then(|group| self.all.get(group));
            if *outcome == ItemOutcome::Kept && group.is_some_and(|group| !group.is_live) {
                *outcome = ItemOutcome::Dropped(DropReason::Group);
            }
        }
    }
}

fn index(number: u32) -> Option<usize> {
    (number != NONE).then_some(number as usize)
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NONE)
}
