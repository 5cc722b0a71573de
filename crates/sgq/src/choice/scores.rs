//! What a choice thinks of each user: for whoever wants to see why somebody is asked.

/// What asking each user next would be worth to a choice that goes by scores, in parts.
///
/// ```
/// use sgq::{Session, Settings, method};
///
/// let settings = Settings::new(vec![5.0], 4).smoothness(vec![2.0; 4]).step_size(0.015).budget(20);
/// let mut session = Session::new(method::sgq(0.0), settings)?;
/// while session.queries() < 10 && let Some(query) = session.ask()? {
///     session.tell(query.ticket, &[2.0 * (query.point[0] - [2.0, 1.0, -1.0, -2.0][query.user])])?;
/// }
/// let scores = session.scores().expect("everybody was asked, and sgq goes by scores");
/// assert_eq!(scores.best(), Some(session.ask()?.unwrap().user));
/// assert_eq!([scores.parts[0].name, scores.parts[1].name], ["improvement", "bonus"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scores {
    /// How the next user follows from the scores, in a sentence.
    pub rule: &'static str,
    /// What the parts of a score are, one or two, which add up to it.
    pub parts: &'static [ScorePart],
    /// The probability with which somebody is asked at random instead.
    pub explore: f64,
    /// Everybody who has a score, in no order.
    pub users: Vec<Scored>,
}

/// What a part of a score is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScorePart {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub words: &'static str,
}

/// One user's score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The user.
    pub user: usize,
    /// What asking it is worth.
    pub score: f64,
    /// What the score is made of; where it has one part, the second one is 0.
    pub parts: [f64; 2],
    /// Whether it may be asked now, were its score the largest. Not where it cannot be asked, or another rule goes before the score.
    pub may_win: bool,
}

impl Scores {
    /// The user with the largest score of those who may be asked; of several, the lowest.
    pub fn best(&self) -> Option<usize> {
        let able = self.users.iter().filter(|it| it.may_win && !it.score.is_nan());
        able.reduce(|best, it| if it.is_ahead_of(best) { it } else { best }).map(|it| it.user)
    }

    /// A user's score.
    pub fn of(&self, user: usize) -> Option<&Scored> {
        self.users.iter().find(|it| it.user == user)
    }

    /// Those who may be asked, the largest score first.
    pub fn ranked(&self) -> Vec<Scored> {
        let mut able: Vec<Scored> = self.users.iter().copied().filter(|it| it.may_win && !it.score.is_nan()).collect();
        able.sort_unstable_by(|one, other| other.score.total_cmp(&one.score).then(one.user.cmp(&other.user)));
        able
    }
}

impl Scored {
    fn is_ahead_of(&self, other: &Self) -> bool {
        self.score > other.score || (self.score == other.score && self.user < other.user)
    }
}
