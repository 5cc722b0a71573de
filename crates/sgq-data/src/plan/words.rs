//! What everybody agrees to, and what a clinic discloses, for people.

use sgq::Detail;

use super::{Moments, StudyPlan, Summary, TargetSummary, VariableSummary, own_scale::LARGEST_SIZE, rules::counted};
use crate::{
    first_few,
    glm::{Family, Weigh},
    names::listed,
};

impl StudyPlan {
    /// What everybody agrees to.
    pub fn in_words(&self) -> String {
        let Self { formula, family, weigh, l2, weight, rules, .. } = self;
        let family = match family {
            Family::Binomial => "binomial (a logistic regression)".to_owned(),
            family => family.to_string(),
        };
        let alike = match weigh {
            Weigh::Rows => "rows count alike, as in a regression on all rows in one place",
            Weigh::Users => "clinics count alike, however many rows each has (not a glm of all rows)",
        };
        let penalty = match *l2 {
            0.0 => "no penalty".to_owned(),
            l2 => format!("a penalty of {l2} on scaled coefficients, the intercept left out"),
        };
        let weights = weight.iter().map(|column| format!(", rows weighted by {column}")).collect::<String>();
        let asked = match rules.answers {
            Detail::Gradient => {
                "the gradient of its mean loss at a point that the question names: a number for each coefficient"
            }
            Detail::Loss => "the gradient of its mean loss at a point that the question names, and the loss itself",
            Detail::Hessian => "gradient, loss and Hessian of its mean loss at a point that the question names",
        };
        let points = up_to(rules.answers_each);
        let width = [points.len(), up_to(rules.closing).len()].into_iter().max().unwrap_or_default() + 1;
        let closing = match rules.closing {
            0 => String::new(),
            most => format!(
                "\n  {:<width$} gradient, information and deviance at the final point, for standard errors",
                up_to(most)
            ),
        };
        let most = rules.largest_coefficient;
        // A gradient of squares is linear in the point: far out it says no more.
        let own = if self.family == Family::Gaussian { "" } else { ", or scaled to deviation 1 in its own rows" };
        let far = format!("at a point with a coefficient beyond ±{most}, on columns as the model scales them{own}");
        format!(
            "{formula}, {family}\n{alike}{weights}; {penalty}\n\n\
             Every clinic's file has the columns {}. Its rows stay where they are.\n\
             A clinic answers with sums over its rows:\n\n  \
             {:<width$} how many rows it uses, how many lack a value in which column, mean and deviation of each number,\n  \
             {:<width$} how many rows have each level of each factor, and the same of the target\n  \
             {points:<width$} {asked}{closing}\n\n\
             A clinic answers nothing\n\n  \
             with fewer than {} rows\n  \
             where the model has more than {} coefficients for each of its rows\n  \
             {far}\n  \
             of a model whose columns are not those of the formula, or that changed after its first answer\n  \
             of a model whose scaling leaves a column a root mean square above {LARGEST_SIZE} in its own rows\n  \
             from a file that changed after its first answer\n",
            listed(&self.columns()),
            "once",
            "",
            rules.min_rows,
            rules.parameters_per_row,
        )
    }
}

fn up_to(count: u64) -> String {
    match count {
        1 => "at most once".to_owned(),
        _ => format!("at most {count} times"),
    }
}

/// Ten digits: what rounding has left after them says nothing.
fn short(number: f64) -> f64 {
    format!("{number:.9e}").parse().unwrap_or(number)
}

impl Summary {
    /// What it discloses, line by line.
    pub fn in_words(&self) -> String {
        let mut lines = vec![format!("{} used", counted(self.rows, "row", "rows"))];
        let mut shown = 1;
        if self.rows_missing > 0 {
            let columns = self.missing_by_column.iter().map(|(column, count)| format!("{column:?}: {count}"));
            let columns = first_few(&columns.collect::<Vec<_>>());
            let left_out = counted(self.rows_missing, "row", "rows");
            lines.push(format!("{left_out} left out, where a value is missing ({columns})"));
            shown += 1 + self.missing_by_column.len();
        }
        if self.weight != self.rows as f64 {
            lines.push(format!("weights sum to {}", short(self.weight)));
            shown += 1;
        }
        let level = |level: &String, rows: u64| format!("{level:?}: {rows}");
        let both = |moments: &Moments| format!("mean {}, deviation {}", short(moments.mean), short(moments.deviation));
        for variable in &self.variables {
            let (words, numbers) = match variable {
                VariableSummary::Number { moments, .. } => (both(moments), 2),
                VariableSummary::Factor { levels, .. } => {
                    let counts: Vec<String> = levels.iter().map(|count| level(&count.level, count.rows)).collect();
                    (format!("rows at {}", first_few(&counts)), levels.len())
                }
            };
            lines.push(format!("{}: {words}", variable.name()));
            shown += numbers;
        }
        let (words, numbers) = match &self.target {
            TargetSummary::Number { moments, .. } => (both(moments), 2),
            TargetSummary::Levels { levels, .. } => {
                let counts: Vec<String> = levels.iter().map(|count| level(&count.level, count.rows)).collect();
                (format!("rows at {}", first_few(&counts)), levels.len())
            }
            TargetSummary::Count { mean, .. } | TargetSummary::Positive { mean } => {
                (format!("mean {}", short(*mean)), 1)
            }
        };
        lines.push(format!("target: {words}"));
        shown += numbers;
        if let Some(offset) = &self.offset {
            lines.push(format!("offset: {}", both(offset)));
            shown += 2;
        }
        match self.numbers().saturating_sub(shown as u64) {
            0 => {}
            more => lines.push(format!("{more} more: counts, sums of weights, and what a model without columns needs")),
        }
        lines.join("\n")
    }
}
