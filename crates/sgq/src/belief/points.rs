//! Where the last gradients were taken: each distinct point once.

use serde::{Deserialize, Serialize};

use crate::kernel;

/// The points of all users. Users who were asked at the same point share it: all of them after the first sweep, and
/// never more than one point for each step since then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Points {
    dim: usize,
    /// The place of each user's point.
    place_of: Vec<u32>,
    /// The points, place after place, in pieces: a scan runs through each piece without a jump, and more of them can be had
    /// without moving those that are there.
    pieces: Vec<Vec<f64>>,
    /// How many points are in a piece, as a power of two.
    piece_bits: u32,
    /// How many users are at each place.
    users_at: Vec<u32>,
    /// Places where nobody is left.
    free: Vec<u32>,
    /// The place that was taken last.
    latest: u32,
}

/// Pieces of some 64 kB, but not larger than there can ever be points.
fn piece_bits(users: usize, dim: usize) -> u32 {
    (8192 / dim.max(1)).clamp(1, users.max(1)).ilog2()
}

impl Points {
    /// Everybody at the origin.
    pub(super) fn at_origin(users: usize, dim: usize) -> Self {
        let mut points = Self { dim, place_of: vec![0; users], piece_bits: piece_bits(users, dim), ..Self::default() };
        points.new_place();
        points.users_at[0] = users as u32;
        points
    }

    /// Moves a user to a point.
    pub(super) fn place(&mut self, user: usize, point: &[f64]) {
        let old = self.place_of[user];
        self.users_at[old as usize] -= 1;
        // To the bit: a point that differs in the sign of a zero is another one to whoever reads it.
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        if !self.at(self.latest).iter().zip(point).all(same) || self.users_at[self.latest as usize] == 0 {
            // A place that was left a moment ago is free as well.
            let free = if self.users_at[old as usize] == 0 { Some(old) } else { self.free.pop() };
            let place = free.unwrap_or_else(|| self.new_place());
            self.at_mut(place).copy_from_slice(point);
            self.latest = place;
        } else if self.users_at[old as usize] == 0 {
            self.free.push(old);
        }
        self.users_at[self.latest as usize] += 1;
        self.place_of[user] = self.latest;
    }

    fn new_place(&mut self) -> u32 {
        let (place, in_piece) = (self.users_at.len(), self.places_in_piece());
        if place.is_multiple_of(in_piece) {
            self.pieces.push(vec![0.0; in_piece * self.dim]);
        }
        self.users_at.push(0);
        place as u32
    }

    fn places_in_piece(&self) -> usize {
        1 << self.piece_bits
    }

    /// The piece that a place is in, and where in it its point begins.
    fn position(&self, place: u32) -> (usize, usize) {
        let place = place as usize;
        (place >> self.piece_bits, (place & (self.places_in_piece() - 1)) * self.dim)
    }

    /// The point at a place.
    pub(crate) fn at(&self, place: u32) -> &[f64] {
        let (piece, start) = self.position(place);
        &self.pieces[piece][start..][..self.dim]
    }

    fn at_mut(&mut self, place: u32) -> &mut [f64] {
        let (piece, start) = self.position(place);
        &mut self.pieces[piece][start..][..self.dim]
    }

    /// A user's point.
    pub(super) fn of(&self, user: usize) -> &[f64] {
        self.at(self.place_of[user])
    }

    /// The place of each user's point.
    pub(crate) fn places(&self) -> &[u32] {
        &self.place_of
    }

    /// How many users are at each place.
    pub(crate) fn users_at(&self) -> &[u32] {
        &self.users_at
    }

    /// How many points there are.
    pub(crate) fn distinct(&self) -> usize {
        self.users_at.len() - self.free.len()
    }

    /// `‖point − x‖` of every place, into `distances`; 0 where nobody is.
    pub(crate) fn distances(&self, x: &[f64], distances: &mut Vec<f64>) {
        distances.resize(self.users_at.len(), 0.0);
        for (piece, distances) in self.pieces.iter().zip(distances.chunks_mut(self.places_in_piece())) {
            kernel::distance_squared_to_rows(piece, x, distances);
        }
        for (distance, users) in distances.iter_mut().zip(&self.users_at) {
            *distance = if *users > 0 { distance.sqrt() } else { 0.0 };
        }
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
        // A point is compared with the last one only.
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
