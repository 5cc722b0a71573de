//! Users in blocks of those who are alike, so that whole blocks can be ruled out at once.

use std::ops::Range;

use super::anchor::Anchor;

/// How many members a block has, or blocks a block of blocks.
pub(super) const BRANCHES: usize = 32;

/// What a score's bound is made of, for one user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) user: u32,
    /// `⟨a, g̃_i⟩` with the anchor's `a`.
    pub(super) inner_product: f64,
    /// `‖g̃_i‖`.
    pub(super) norm: f64,
    /// `L_i`.
    pub(super) smoothness: f64,
    /// How far its point was from that of the errors' anchor; `None` for who is where most are.
    pub(super) distance: Option<f64>,
}

/// What a score's bound is made of, for anybody of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// The least and the largest `⟨a, g̃_i⟩`.
    pub(super) inner_products: [f64; 2],
    pub(super) norms: [f64; 2],
    /// The largest part of `g̃_i` that is at a right angle to `a`.
    pub(super) right_angle: f64,
    pub(super) smoothness: f64,
    /// The largest distance of those who are not where most are.
    pub(super) distance: Option<f64>,
    /// Whether somebody is.
    pub(super) crowd: bool,
}

impl Extent {
    const EMPTY: Self = Self {
        inner_products: [f64::INFINITY, f64::NEG_INFINITY],
        norms: [f64::INFINITY, 0.0],
        right_angle: 0.0,
        smoothness: 0.0,
        distance: None,
        crowd: false,
    };

    fn of_members(members: &[Member], anchor: &Anchor) -> Self {
        let of_member = |member: &Member| {
            let known = member.inner_product.is_finite();
            let mut extent = Self {
                inner_products: if known { [member.inner_product; 2] } else { [f64::NEG_INFINITY, f64::INFINITY] },
                norms: [member.norm; 2],
                right_angle: anchor.right_angle(member.inner_product, member.norm),
                smoothness: member.smoothness,
                ..Self::EMPTY
            };
            extent.include_distance(member.distance);
            extent
        };
        members.iter().map(of_member).fold(Self::EMPTY, Self::and)
    }

    fn of_blocks(blocks: &[Self]) -> Self {
        blocks.iter().copied().fold(Self::EMPTY, Self::and)
    }

    fn and(mut self, other: Self) -> Self {
        self.include(&other);
        self
    }

    fn include(&mut self, other: &Self) {
        let widen = |a: [f64; 2], b: [f64; 2]| [a[0].min(b[0]), a[1].max(b[1])];
        self.inner_products = widen(self.inner_products, other.inner_products);
        self.norms = widen(self.norms, other.norms);
        self.right_angle = self.right_angle.max(other.right_angle);
        self.smoothness = self.smoothness.max(other.smoothness);
        self.distance = match (self.distance, other.distance) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        self.crowd |= other.crowd;
    }

    fn include_distance(&mut self, distance: Option<f64>) {
        match distance {
            None => self.crowd = true,
            Some(distance) => self.distance = Some(self.distance.unwrap_or(0.0).max(distance)),
        }
    }
}

/// All users, block after block, and blocks of blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    members: Vec<Member>,
    /// Where among them each user is.
    position: Vec<u32>,
    /// Blocks of members first; then blocks of those, and so on up to one that has all.
    levels: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    extents: Vec<Extent>,
    /// Which extents are wider than they need to be.
    loose: Vec<bool>,
}

impl Blocks {
    /// Sorts users into blocks: halves of halves, each time along whatever makes the largest difference to their scores.
    /// `weights` is what a unit of inner product, norm and smoothness makes.
    pub(super) fn new(mut members: Vec<Member>, anchor: &Anchor, weights: [f64; 3]) -> Self {
        split(&mut members, weights);
        let mut position = vec![0; members.len()];
        for (place, member) in members.iter().enumerate() {
            position[member.user as usize] = place as u32;
        }
        let mut extents: Vec<_> = members.chunks(BRANCHES).map(|block| Extent::of_members(block, anchor)).collect();
        let mut levels = Vec::new();
        loop {
            let above: Vec<_> = extents.chunks(BRANCHES).map(Extent::of_blocks).collect();
            levels.push(Level { loose: vec![false; extents.len()], extents });
            extents = above;
            if levels.last().is_none_or(|level| level.extents.len() <= 1) {
                return Self { members, position, levels };
            }
        }
    }

    pub(super) fn users(&self) -> usize {
        self.members.len()
    }

    /// How many levels of blocks there are.
    pub(super) fn levels(&self) -> usize {
        self.levels.len()
    }

    /// The blocks within a block of that level, counted from 0: their numbers on the level below, and their extents.
    pub(super) fn open_blocks(&mut self, level: usize, block: usize) -> impl Iterator<Item = (usize, &Extent)> {
        let (below, above) = self.levels.split_at_mut(level);
        let within = within(block, below[level - 1].extents.len());
        let extents = &below[level - 1].extents[within.clone()];
        if std::mem::take(&mut above[0].loose[block]) {
            above[0].extents[block] = Extent::of_blocks(extents);
        }
        within.zip(extents)
    }

    /// The members of a block of the lowest level, and their numbers.
    pub(super) fn open_members(&mut self, block: usize, anchor: &Anchor) -> impl Iterator<Item = (usize, &Member)> {
        let within = within(block, self.members.len());
        let members = &self.members[within.clone()];
        if std::mem::take(&mut self.levels[0].loose[block]) {
            self.levels[0].extents[block] = Extent::of_members(members, anchor);
        }
        within.zip(members)
    }

    /// A member by its number.
    pub(super) fn member(&self, index: usize) -> &Member {
        &self.members[index]
    }

    /// Changes what is known of a user.
    pub(super) fn change(&mut self, user: usize, anchor: &Anchor, change: impl FnOnce(&mut Member)) {
        let mut position = self.position[user] as usize;
        change(&mut self.members[position]);
        let changed = Extent::of_members(&self.members[position..=position], anchor);
        for level in &mut self.levels {
            position /= BRANCHES;
            level.extents[position].include(&changed);
            level.loose[position] = true;
        }
    }

    /// Changes the distances of these users, who are all that have one.
    pub(super) fn change_distances(&mut self, users: impl Iterator<Item = usize>, of: impl Fn(usize) -> Option<f64>) {
        for extent in self.levels.iter_mut().flat_map(|level| &mut level.extents) {
            extent.distance = None;
        }
        for user in users {
            let mut position = self.position[user] as usize;
            let distance = of(user);
            self.members[position].distance = distance;
            for level in &mut self.levels {
                position /= BRANCHES;
                level.extents[position].include_distance(distance);
            }
        }
    }

    /// Everybody, in no order.
    pub(super) fn into_members(self) -> Vec<Member> {
        self.members
    }
}

fn within(block: usize, length: usize) -> Range<usize> {
    BRANCHES * block..(BRANCHES * (block + 1)).min(length)
}

fn split(members: &mut [Member], weights: [f64; 3]) {
    let blocks = members.len().div_ceil(BRANCHES);
    if blocks < 2 {
        return;
    }
    let features = |member: &Member| [member.inner_product, member.norm, member.smoothness];
    let mut ranges = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
    for member in &*members {
        for (range, feature) in ranges.iter_mut().zip(features(member)) {
            *range = [range[0].min(feature), range[1].max(feature)];
        }
    }
    let difference = |feature: usize| weights[feature] * (ranges[feature][1] - ranges[feature][0]);
    let widest = (0..weights.len()).max_by(|a, b| difference(*a).total_cmp(&difference(*b))).unwrap_or(0);
    // Whole blocks on the left: only the last one of all can be short.
    let left = blocks / 2 * BRANCHES;
    members.select_nth_unstable_by(left, |a, b| features(a)[widest].total_cmp(&features(b)[widest]));
    let (left, right) = members.split_at_mut(left);
    split(left, weights);
    split(right, weights);
}
