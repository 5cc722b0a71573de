//! What is known of the errors `ε_i = L_i ‖x_τi − x‖`, and of their mean, from the distances to an earlier point.

use crate::{LastGradient, kernel};

/// An earlier point `a`, to which everybody's distance `D_i = ‖x_τi − a‖` is known.
///
/// At another point `x = a + v` the triangle inequality bounds each distance. It would leave the mean error far too
/// uncertain, so that one has a sharper bound: a norm is convex, and bends by less the farther away it is,
///
/// `D_i + ⟨u_i, v⟩ ≤ ‖x_τi − x‖ ≤ D_i + ⟨u_i, v⟩ + min(‖v‖²/2D_i, 2‖v‖)` with `u_i = (a − x_τi)/D_i`,
///
/// and the sum over the users of all that is linear in `v` is one number and one vector. Those at the place where most
/// users are, which at first are all of them, are left out: the distance to that one place is computed at every step.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors {
    point: Vec<f64>,
    /// The place where most users are.
    crowd: u32,
    /// `Σ L_i` there, now and at first.
    crowd_weight: f64,
    crowd_added: f64,
    /// Who is not there; some may be named twice, or have come back.
    others: Vec<u32>,
    /// `D_i` by place.
    distances: Vec<f64>,
    farthest: f64,
    /// `Σ L_i D_i` of the others.
    sum: f64,
    /// `Σ L_i u_i` of the others.
    slope: Vec<f64>,
    /// `Σ L_i` of those who are exactly at `a`.
    here: f64,
    /// `Σ L_i` of the others, by the exponent of `D_i`.
    by_distance: Vec<(i32, f64)>,
    /// Whether numbers so small came in that the sums above may have lost them.
    too_small: bool,
    /// What was ever added to the sums above: no rounding error is larger than a small part of it.
    weight_added: f64,
    sum_added: f64,
    changes: f64,
    /// Steps since then.
    pub(super) age: usize,
}

/// The errors at one point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    crowd_distance: f64,
    moved: f64,
    rounding: f64,
    tiny: f64,
    /// Between these two is the mean error, as it would be computed.
    pub(super) mean_error: [f64; 2],
}

impl Errors {
    pub(super) fn new(belief: &LastGradient, smoothness: &[f64], point: &[f64]) -> Self {
        let points = belief.points();
        let crowd = (0..points.users_at().len()).rev().max_by_key(|place| points.users_at()[*place]);
        let mut errors = Self { crowd: crowd.unwrap_or(0) as u32, ..Self::default() };
        for (user, (&place, smoothness)) in points.places().iter().zip(smoothness).enumerate() {
            if place == errors.crowd {
                errors.crowd_weight += smoothness;
            } else {
                errors.others.push(user as u32);
            }
        }
        errors.crowd_added = errors.crowd_weight;
        errors.move_to(belief, smoothness, point);
        errors
    }

    /// Whether nobody is left at the place where most were.
    pub(super) fn crowd_is_gone(&self, belief: &LastGradient) -> bool {
        belief.points().users_at()[self.crowd as usize] == 0
    }

    /// Computes the distances of all who are not where most are to another point.
    pub(super) fn refresh(&mut self, belief: &LastGradient, smoothness: &[f64], point: &[f64]) {
        let points = belief.points();
        self.others.sort_unstable();
        self.others.dedup();
        self.others.retain(|user| points.places()[*user as usize] != self.crowd);
        self.move_to(belief, smoothness, point);
    }

    fn move_to(&mut self, belief: &LastGradient, smoothness: &[f64], point: &[f64]) {
        let points = belief.points();
        self.point = point.to_vec();
        points.distances(point, &mut self.distances);
        self.farthest = self.distances.iter().copied().fold(0.0, f64::max);
        self.slope = vec![0.0; point.len()];
        self.by_distance.clear();
        (self.sum, self.here, self.weight_added, self.sum_added) = (0.0, 0.0, self.crowd_added, 0.0);
        (self.age, self.too_small) = (0, false);
        for other in 0..self.others.len() {
            let user = self.others[other] as usize;
            let place = points.places()[user];
            self.add(place, points.at(place), smoothness[user], 1.0);
        }
    }

    /// Who is not where most are.
    pub(super) fn others(&self) -> &[u32] {
        &self.others
    }

    /// How far a place is from the point of these errors; `None` for the place where most users are.
    pub(super) fn distance_of(&self, place: u32) -> Option<f64> {
        // A place that nobody told of can be anywhere.
        (place != self.crowd).then(|| self.distances.get(place as usize).copied().unwrap_or(f64::INFINITY))
    }

    /// Takes in a user who has just been asked.
    pub(super) fn arrive(&mut self, belief: &LastGradient, user: usize, smoothness: f64) {
        let points = belief.points();
        let place = points.places()[user];
        let point = points.at(place);
        self.distances.resize(points.users_at().len(), 0.0);
        self.distances[place as usize] = kernel::distance(point, &self.point);
        self.farthest = self.farthest.max(self.distances[place as usize]);
        self.others.push(user as u32);
        self.add(place, point, smoothness, 1.0);
    }

    /// Leaves out a user who is about to be asked.
    pub(super) fn leave(&mut self, belief: &LastGradient, user: usize, smoothness: f64) {
        let points = belief.points();
        let place = points.places()[user];
        self.add(place, points.at(place), smoothness, -1.0);
    }

    fn add(&mut self, place: u32, point: &[f64], smoothness: f64, sign: f64) {
        self.changes += 1.0;
        self.weight_added += smoothness;
        let weight = sign * smoothness;
        if place == self.crowd {
            self.crowd_weight += weight;
            // Who joins the crowd stays in its sum when the others' are computed anew.
            self.crowd_added += smoothness;
            return;
        }
        let distance = self.distances[place as usize];
        if distance == 0.0 {
            self.here += weight;
            return;
        }
        let per_length = weight / distance;
        self.too_small |= smoothness > 0.0 && (distance < 1e-140 || smoothness < 1e-280 || per_length.abs() < 1e-280);
        self.sum_added += smoothness * distance;
        self.sum += weight * distance;
        for (slope, (a, x)) in self.slope.iter_mut().zip(self.point.iter().zip(point)) {
            *slope += per_length * (a - x);
        }
        let exponent = exponent(distance);
        match self.by_distance.iter_mut().find(|(known, _)| *known == exponent) {
            Some((_, total)) => *total += weight,
            None => self.by_distance.push((exponent, weight)),
        }
    }

    /// The errors at `x`; `None` where the numbers are too large or too small to tell.
    pub(super) fn at(&self, belief: &LastGradient, x: &[f64]) -> Option<Reach> {
        let users = belief.users() as f64;
        let crowd_distance =
            if self.crowd_is_gone(belief) { 0.0 } else { kernel::distance(belief.points().at(self.crowd), x) };
        let moved = kernel::distance(x, &self.point);
        // Squares of larger distances would overflow.
        if self.too_small || !(self.farthest + moved < 1e140 && crowd_distance < 1e140) {
            return None;
        }
        let dim = x.len() as f64;
        let step: Vec<f64> = x.iter().zip(&self.point).map(|(x, a)| x - a).collect();
        let linear = kernel::dot(&self.slope, &step);
        let least = self.crowd_weight * crowd_distance + self.here * moved + self.sum + linear;
        let bend = |(exponent, weight): &(i32, f64)| {
            weight.max(0.0) * (0.5 * moved * moved / 2f64.powi(*exponent)).min(2.0 * moved)
        };
        let most = least + self.by_distance.iter().map(bend).sum::<f64>();
        // Sums of n, d and `changes` terms, none larger than these; distances whose squares fall below the smallest numbers.
        let tiny = dim.sqrt() * 1e-160;
        let terms = users + dim + self.changes + 64.0;
        let sizes = self.sum_added + self.weight_added * (moved + crowd_distance);
        let slack = 8.0 * f64::EPSILON * terms * sizes + self.weight_added * tiny + terms * f64::from_bits(8);
        Some(Reach {
            crowd_distance,
            moved,
            rounding: 1.0 + (dim + 32.0) * f64::EPSILON,
            tiny,
            mean_error: [((least - slack) / users).max(0.0), (most + slack) / users],
        })
    }
}

impl Reach {
    /// No less than the distance of somebody who was that far from the anchor; `None` for who is where most are.
    pub(super) fn most(&self, distance: Option<f64>) -> f64 {
        match distance {
            None => self.crowd_distance,
            Some(distance) => (distance + self.moved) * self.rounding + self.tiny,
        }
    }
}

/// A power of two at or below a positive number.
fn exponent(number: f64) -> i32 {
    // The number itself and not its logarithm, which could be rounded up past it.
    ((number.to_bits() >> 52) as i32 - 1023).max(-1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Belief, Random, Reply, Storage, choice::Purpose};

    #[test]
    fn errors_stay_within_their_bounds() {
        let (users, dim) = (40, 4);
        let mut random = Random::new(2, "errors");
        let smoothness: Vec<f64> = (0..users).map(|_| 0.5 + random.unit()).collect();
        for round in 0..300 {
            let scale = 10f64.powi(round % 40 - 20);
            let mut point = |offset: f64| -> Vec<f64> { (0..dim).map(|_| scale * (offset + random.unit())).collect() };
            let mut belief = LastGradient::new();
            belief.begin(users, dim, &Storage::default(), None).unwrap();
            let (first, second) = (point(0.0), point(0.0));
            for user in 0..users {
                // Most at one place, some at the place where the errors are computed.
                let point = if user % 4 == 0 { &second } else { &first };
                belief.observe(&Reply::new(user, point, &vec![1.0; dim], Purpose::Step));
            }
            let mut errors = Errors::new(&belief, &smoothness, &second);
            for step in 0..60 {
                let x = point(0.02 * step as f64);
                let reach = errors.at(&belief, &x).unwrap();
                let (mut distances, mut each) = (Vec::new(), vec![0.0; users]);
                belief.errors(&x, &smoothness, &mut distances, &mut each);
                let mean = kernel::sum(&each) / users as f64;
                let [least, most] = reach.mean_error;
                assert!(least <= mean && mean <= most, "{least} {mean} {most}");
                for user in 0..users {
                    let bound = reach.most(errors.distance_of(belief.points().places()[user]));
                    assert!(smoothness[user] * bound >= each[user], "{bound} {}", each[user]);
                }
                if step % 20 == 19 {
                    errors.refresh(&belief, &smoothness, &x);
                    let [least, most] = errors.at(&belief, &x).unwrap().mean_error;
                    assert!(least <= mean && mean <= most && most - least <= 1e-11 * mean, "{least} {mean} {most}");
                }
                // Twice at the same place now and then.
                for user in [step * 7 % users, step * 11 % users].into_iter().take(1 + step % 2) {
                    errors.leave(&belief, user, smoothness[user]);
                    belief.observe(&Reply::new(user, &x, &vec![1.0; dim], Purpose::Step));
                    errors.arrive(&belief, user, smoothness[user]);
                }
            }
        }
    }
}
