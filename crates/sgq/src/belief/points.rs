//! Where the last gradients were taken: each distinct point once.

use serde::{Deserialize, Serialize};

/// The points of all users. Users who were asked at the same point share it: all of them after the first sweep, and
/// never more than one point for each step since then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Points {
    /// The place of each user's point.
    place_of: Vec<u32>,
    /// The points, by place; empty where nobody is left.
    points: Vec<Box<[f64]>>,
    /// How many users are at each place.
    users_at: Vec<u32>,
    /// Places where nobody is left.
    free: Vec<u32>,
    /// The place that was taken last.
    latest: u32,
}

impl Points {
    /// Everybody at the origin.
    pub(super) fn at_origin(users: usize, dim: usize) -> Self {
        Self {
            place_of: vec![0; users],
            points: vec![vec![0.0; dim].into()],
            users_at: vec![users as u32],
            free: Vec::new(),
            latest: 0,
        }
    }

    /// Whether every one of that many users is somewhere, and counted there.
    pub(super) fn fit(&self, users: usize, dim: usize) -> bool {
        let mut users_at = vec![0; self.points.len()];
        for place in &self.place_of {
            match users_at.get_mut(*place as usize) {
                Some(count) => *count += 1,
                None => return false,
            }
        }
        let taken = |place: &u32| users_at.get(*place as usize).is_none_or(|count| *count > 0);
        self.place_of.len() == users
            && self.users_at == users_at
            && users_at.iter().zip(&self.points).all(|(count, point)| *count == 0 || point.len() == dim)
            && !self.free.iter().any(taken)
            && (self.latest as usize) < self.points.len()
    }

    /// Moves a user to a point.
    pub(super) fn place(&mut self, user: usize, point: &[f64]) {
        let old = self.place_of[user] as usize;
        let latest = self.latest as usize;
        // To the bit: a point that differs in the sign of a zero is another one to whoever reads it.
        let same = self.points[latest].iter().map(|x| x.to_bits()).eq(point.iter().map(|x| x.to_bits()));
        if same && self.users_at[latest] > 0 {
            self.users_at[old] -= 1;
            self.users_at[latest] += 1;
            self.place_of[user] = self.latest;
            self.free_if_empty(old);
            return;
        }
        self.users_at[old] -= 1;
        self.free_if_empty(old);
        let place = self.free.pop().unwrap_or_else(|| {
            self.points.push(Box::default());
            self.users_at.push(0);
            (self.points.len() - 1) as u32
        });
        self.points[place as usize] = point.into();
        self.users_at[place as usize] = 1;
        self.place_of[user] = place;
        self.latest = place;
    }

    fn free_if_empty(&mut self, place: usize) {
        if self.users_at[place] == 0 {
            self.points[place] = Box::default();
            self.free.push(place as u32);
        }
    }

    /// A user's point.
    pub(super) fn of(&self, user: usize) -> &[f64] {
        &self.points[self.place_of[user] as usize]
    }

    /// The place of each user's point.
    pub(super) fn places(&self) -> &[u32] {
        &self.place_of
    }

    /// The point at each place, empty where there is none.
    pub(super) fn points(&self) -> &[Box<[f64]>] {
        &self.points
    }

    /// How many users are at each place.
    pub(super) fn users_at(&self) -> &[u32] {
        &self.users_at
    }

    /// How many points there are.
    pub(super) fn distinct(&self) -> usize {
        self.points.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_share_points_and_leave_none_behind() {
        let mut points = Points::at_origin(3, 1);
        for user in 0..3 {
            points.place(user, &[5.0]);
        }
        assert_eq!((points.distinct(), points.of(2)), (1, &[5.0][..]));
        points.place(1, &[4.0]);
        points.place(1, &[3.0]);
        assert_eq!((points.distinct(), points.of(0), points.of(1)), (2, &[5.0][..], &[3.0][..]));
        // Nobody has ever been at this place twice: a point is compared with the last one only.
        points.place(0, &[5.0]);
        assert_eq!(points.distinct(), 3);
        points.place(2, &[5.0]);
        assert_eq!((points.distinct(), points.places()[0]), (2, points.places()[2]));
        points.place(2, &[-0.0]);
        points.place(1, &[0.0]);
        assert!(points.of(2)[0].is_sign_negative() && points.of(1)[0].is_sign_positive());
        assert_eq!(points.users_at().iter().sum::<u32>(), 3);
    }
}
