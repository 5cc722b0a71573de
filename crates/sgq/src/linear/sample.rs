//! Which row comes next: each as likely as all others, or those with much curvature more often.

use crate::Random;

/// How rows are drawn.
#[derive(Clone, Debug)]
pub(super) enum Sampler {
    Uniform,
    /// For each row, what of its share is its own, and whose the rest is (Walker's alias method).
    Unequal(Vec<(f64, u32)>),
}

/// How rows are drawn, how likely each one is, and the largest curvature that a step sees, `max L_i / (n p_i)`.
pub(super) struct Sampling {
    pub(super) sampler: Sampler,
    /// `n p_i`; empty where all are 1.
    pub(super) likely: Vec<f64>,
    pub(super) curvature: f64,
}

/// Unequal chances take longer to draw, and must make steps longer by this factor at least.
const WORTHWHILE: f64 = 1.1;

impl Sampling {
    pub(super) fn uniform(curvature: f64) -> Self {
        Self { sampler: Sampler::Uniform, likely: Vec::new(), curvature }
    }

    /// Chances `p_i ∝ L_i + m` with `m = max(mean L, nμ)`.
    ///
    /// Steps are limited by the largest `L_i / (n p_i)`, which chances `p_i ∝ L_i` make as small as can be, the mean of the
    /// `L_i`; but a row that is hardly ever drawn keeps its slope for long, which is what limits a run where `nμ` is large. SAGA's
    /// rate is best with `p_i ∝ 4 L_i + nμ` (Gower, Richtárik and Bach 2018, "Stochastic quasi-gradient methods"). With `m` at
    /// least the mean of the `L_i` no row is drawn less than half as often as with equal chances.
    pub(super) fn by_curvature(smoothness: &[f64], strong: f64) -> Self {
        let count = smoothness.len() as f64;
        let largest = smoothness.iter().copied().fold(0.0, f64::max);
        let mean = smoothness.iter().map(|each| each / count).sum::<f64>();
        let more = mean.max(count * strong);
        let curvature = largest * (mean + more) / (largest + more);
        // Not so where nothing is curved either.
        if !(largest >= WORTHWHILE * curvature && curvature > 0.0) || u32::try_from(smoothness.len()).is_err() {
            return Self::uniform(largest);
        }
        let likely: Vec<f64> = smoothness.iter().map(|each| (each + more) / (mean + more)).collect();
        Self { sampler: Sampler::unequal(&likely), likely, curvature }
    }
}

impl Sampler {
    /// Rows as likely as these numbers, whose mean is 1.
    fn unequal(likely: &[f64]) -> Self {
        let mut table: Vec<(f64, u32)> = likely.iter().zip(0..).map(|(likely, row)| (*likely, row)).collect();
        let (mut poor, mut rich): (Vec<usize>, Vec<usize>) = (0..likely.len()).partition(|row| likely[*row] < 1.0);
        while let (Some(taker), Some(giver)) = (poor.pop(), rich.last().copied()) {
            table[taker].1 = giver as u32;
            table[giver].0 -= 1.0 - table[taker].0;
            if table[giver].0 < 1.0 {
                rich.pop();
                poor.push(giver);
            }
        }
        Self::Unequal(table)
    }

    #[inline(always)]
    pub(super) fn draw(&self, rows: usize, random: &mut Random) -> usize {
        match self {
            Self::Uniform => random.index(rows),
            Self::Unequal(table) => {
                let place = random.unit() * rows as f64;
                let row = (place as usize).min(rows - 1);
                let (own, other) = table[row];
                if place - (row as f64) < own { row } else { other as usize }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_as_often_as_they_should() {
        let smoothness = [0.0, 1.0, 2.0, 3.0, 30.0];
        let sampling = Sampling::by_curvature(&smoothness, 0.0);
        // The mean is 7.2, and so is what is added to each.
        let expected = smoothness.map(|each| (each + 7.2) / 14.4);
        for (likely, expected) in sampling.likely.iter().zip(expected) {
            assert!((likely - expected).abs() < 1e-12);
        }
        let worst = smoothness.iter().zip(expected).map(|(each, likely)| each / likely).fold(0.0, f64::max);
        assert!((sampling.curvature - worst).abs() < 1e-12 && worst < 14.4);
        let (mut random, mut counts) = (Random::new(3, "test"), [0.0; 5]);
        let draws = 200_000;
        (0..draws).for_each(|_| counts[sampling.sampler.draw(5, &mut random)] += 1.0);
        for (count, likely) in counts.iter().zip(expected) {
            let chance = likely / 5.0;
            let deviation = (f64::from(draws) * chance * (1.0 - chance)).sqrt();
            assert!((count - f64::from(draws) * chance).abs() < 5.0 * deviation, "{count} for {chance}");
        }
    }

    #[test]
    fn rows_that_are_alike_are_as_likely() {
        for (smoothness, strong) in [([1.0, 1.05, 1.1], 0.0), ([1.0, 9.0, 2.0], 1e6), ([0.0; 3], 0.0)] {
            let sampling = Sampling::by_curvature(&smoothness, strong);
            assert!(matches!(sampling.sampler, Sampler::Uniform) && sampling.likely.is_empty());
            assert_eq!(sampling.curvature, smoothness[0].max(smoothness[1]).max(smoothness[2]));
        }
    }
}
