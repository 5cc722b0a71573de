//! Whom it asks.

use faer::Col;

use super::{
    Answer, Naive,
    algebra::{Vector, dot},
};

impl Naive {
    /// Who is to be asked again at once, on the way back.
    pub fn set_aside_last(&self) -> Option<usize> {
        self.set_aside_last.as_ref().map(|set_aside| set_aside.user)
    }

    /// Whom to ask at a point once everybody was asked: each user's squared distance by size and cost, of those who may be asked;
    /// none before that.
    pub fn scores(&self, point: &[f64], costs: &[f64]) -> Option<Vec<Option<f64>>> {
        self.all_asked().then(|| self.scores_far(point, costs))
    }

    /// How far off everybody's answer may be.
    pub fn scores_far(&self, point: &[f64], costs: &[f64]) -> Vec<Option<f64>> {
        self.less_recent(point, costs, |answer, way| self.sizes[answer.user].powi(2) * dot(way, way))
    }

    /// What asking somebody again would tell, before everybody was asked.
    pub fn scores_again(&self, point: &[f64], costs: &[f64]) -> Vec<Option<f64>> {
        let told = |answer: &Answer, way: &Vector| {
            let faded = self.fading * self.off_secant2(answer.user, way);
            self.sizes[answer.user].powi(2) * faded / (1.0 + faded)
        };
        self.less_recent(point, costs, told)
    }

    /// What a user who was not asked would tell.
    pub fn score_unasked(&self, user: usize, costs: &[f64]) -> f64 {
        self.sizes[user].powi(2) / costs[user]
    }

    /// Each one's score over its cost, of those who were asked and are not in the more recently asked half.
    fn less_recent(&self, point: &[f64], costs: &[f64], score: impl Fn(&Answer, &Vector) -> f64) -> Vec<Option<f64>> {
        let here = Col::from_fn(self.dim(), |row| point[row] - self.start[row]);
        let answers = self.last_answers();
        let mut times: Vec<usize> = answers.iter().map(|answer| answer.time).collect();
        times.sort_unstable();
        let median = times.get(times.len().saturating_sub(1) / 2).copied();
        let mut scores = vec![None; self.sizes.len()];
        for answer in answers {
            if Some(answer.time) <= median {
                scores[answer.user] = Some(score(answer, &(&here - &answer.x)) / costs[answer.user]);
            }
        }
        scores
    }
}
