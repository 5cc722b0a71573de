//! Users in blocks of those who are alike, so that whole blocks can be ruled out at once.

use super::anchor::Anchor;

/// How many users a block has.
const SIZE: usize = 32;

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

    fn include(&mut self, member: &Member, anchor: &Anchor) {
        let widen = |[least, largest]: [f64; 2], value: f64| [least.min(value), largest.max(value)];
        self.inner_products = widen(self.inner_products, member.inner_product);
        self.norms = widen(self.norms, member.norm);
        self.right_angle = self.right_angle.max(anchor.right_angle(member.inner_product, member.norm));
        self.smoothness = self.smoothness.max(member.smoothness);
        self.include_distance(member.distance);
    }

    fn include_distance(&mut self, distance: Option<f64>) {
        match distance {
            None => self.crowd = true,
            Some(distance) => self.distance = Some(self.distance.unwrap_or(0.0).max(distance)),
        }
    }
}

/// All users, block after block.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    members: Vec<Member>,
    /// Where among them each user is.
    position: Vec<u32>,
    extents: Vec<Extent>,
    /// Blocks whose extents are wider than they need to be.
    loose: Vec<bool>,
}

impl Blocks {
    /// Sorts users into blocks: halves of halves, each time along whatever differs most.
    pub(super) fn new(mut members: Vec<Member>, anchor: &Anchor) -> Self {
        let features = |member: &Member| [member.inner_product, member.norm, member.smoothness];
        let whole = ranges(&members, features);
        split(&mut members, &|member| {
            let mut shares = features(member);
            for (share, [least, largest]) in shares.iter_mut().zip(whole) {
                *share = if largest > least { (*share - least) / (largest - least) } else { 0.0 };
            }
            shares
        });
        let mut position = vec![0; members.len()];
        for (place, member) in members.iter().enumerate() {
            position[member.user as usize] = place as u32;
        }
        let extents = members.chunks(SIZE).map(|block| extent(block, anchor)).collect::<Vec<_>>();
        Self { position, loose: vec![false; extents.len()], extents, members }
    }

    pub(super) fn users(&self) -> usize {
        self.members.len()
    }

    pub(super) fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// The members of a block, whose extent is made as narrow as they allow.
    pub(super) fn open(&mut self, block: usize, anchor: &Anchor) -> &[Member] {
        let end = (SIZE * (block + 1)).min(self.members.len());
        let members = &self.members[SIZE * block..end];
        if self.loose[block] {
            self.loose[block] = false;
            self.extents[block] = extent(members, anchor);
        }
        members
    }

    /// Changes what is known of a user.
    pub(super) fn change(&mut self, user: usize, anchor: &Anchor, change: impl FnOnce(&mut Member)) {
        let position = self.position[user] as usize;
        change(&mut self.members[position]);
        self.extents[position / SIZE].include(&self.members[position], anchor);
        self.loose[position / SIZE] = true;
    }

    /// Changes the distances of these users, who are all that have one.
    pub(super) fn change_distances(&mut self, users: impl Iterator<Item = usize>, of: impl Fn(usize) -> Option<f64>) {
        for extent in &mut self.extents {
            extent.distance = None;
        }
        for user in users {
            let position = self.position[user] as usize;
            let distance = of(user);
            self.members[position].distance = distance;
            self.extents[position / SIZE].include_distance(distance);
        }
    }

    /// Everybody, in no order.
    pub(super) fn into_members(self) -> Vec<Member> {
        self.members
    }
}

fn extent(block: &[Member], anchor: &Anchor) -> Extent {
    let mut extent = Extent::EMPTY;
    for member in block {
        extent.include(member, anchor);
    }
    extent
}

fn ranges(members: &[Member], features: impl Fn(&Member) -> [f64; 3]) -> [[f64; 2]; 3] {
    let mut ranges = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
    for member in members {
        for (range, feature) in ranges.iter_mut().zip(features(member)) {
            *range = [range[0].min(feature), range[1].max(feature)];
        }
    }
    ranges
}

fn split(members: &mut [Member], features: &impl Fn(&Member) -> [f64; 3]) {
    let blocks = members.len().div_ceil(SIZE);
    if blocks < 2 {
        return;
    }
    let widths = ranges(members, features).map(|[least, largest]| largest - least);
    let widest = (0..widths.len()).rev().max_by(|a, b| widths[*a].total_cmp(&widths[*b])).unwrap_or(0);
    // Whole blocks on the left: only the last one of all can be short.
    let (left, middle) = (blocks / 2 * SIZE, |member: &Member| features(member)[widest]);
    members.select_nth_unstable_by(left, |a, b| middle(a).total_cmp(&middle(b)));
    let (left, right) = members.split_at_mut(left);
    split(left, features);
    split(right, features);
}
