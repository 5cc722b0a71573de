"""
The compiled half of the package `sgq`, which has all of it under better names.
"""

from _typeshed import SupportsGetItem
from collections.abc import Iterable, Sequence
from numpy import float64, int64, uint32, uint64
from numpy.typing import ArrayLike, NDArray
from os import PathLike
from pathlib import Path
from sgq._glm_result import GlmResult
from sgq._record import Account, Event, Protection, Recovered
from sgq._state import State
from typing import Any, Final, Literal, SupportsFloat, SupportsIndex, final
from typing_extensions import disjoint_base

__all__ = ["__version__", "Clinic", "ClinicReply", "Experiment", "Ledger", "LinearFit", "Problem", "Query", "Remaining", "Session", "Verdict", "glm", "glm_check", "glm_forest", "glm_forest_png", "glm_page", "glm_predict", "linear_saga", "methods", "open", "quadratics", "recover", "regression", "table"]

__version__: Final[str]

@final
class Clinic:
    """
    A clinic, or whoever else has rows of its own, that answers the questions of a study by a plan from a CSV file, as `sgq answer` does.

    What the plan does not allow is refused, with the reason. Every answer is in the log before it is given out, and counts after a
    restart. It is a context manager, which closes the log.

    plan: the file that everybody has agreed to. data: the clinic's rows, a CSV file with a header, plain or gzip. name: what the
    coordinator calls this clinic. clip, noise: no row's gradient counts for more than clip, as a Euclidean norm on scaled columns, and
    normal noise of this standard deviation is added to each number of a gradient; they go together. log: the file that keeps every
    answer; beside the data where none is named, and False keeps them in memory, where nothing is counted after a restart.
    """
    def __enter__(self, /) -> Clinic: ...
    def __exit__(self, /, _kind: Any, _error: Any, _traceback: Any) -> None: ...
    def __new__(cls, /, plan: str | PathLike[str], data: str | PathLike[str], name: str, *, clip: SupportsFloat | SupportsIndex | None = None, noise: SupportsFloat | SupportsIndex | None = None, log: str | PathLike[str] | Literal[False] | None = None) -> Clinic: ...
    def __repr__(self, /) -> str: ...
    def answer(self, /, line: str) -> ClinicReply:
        """
        The answer to a question, or the refusal. The question is one line of JSON, `Query.line`.
        """
    def close(self, /) -> None:
        """
        Closes the log, so that another program may answer. To close it again changes nothing.
        """
    @property
    def given(self, /) -> tuple[int, int]:
        """
        How many answers at points, and how many closing answers, it has given by this plan, now and earlier. Refusals that depend on the
        rows count as well.
        """
    @property
    def log(self, /) -> Path | None:
        """
        The file that keeps its answers; None where they are kept in memory.
        """
    @property
    def name(self, /) -> str:
        """
        What the coordinator calls it.
        """
    @property
    def plan(self, /) -> str:
        """
        What tells its plan from any other.
        """

@final
class ClinicReply:
    """
    What a clinic says to a question.
    """
    def __repr__(self, /) -> str: ...
    @property
    def line(self, /) -> str:
        """
        The answer, or the refusal: a line of JSON, for the coordinator.
        """
    @property
    def outcome(self, /) -> str:
        """
        "answered"; "again", where it was answered before and the answer is the same; or "refused".
        """
    @property
    def public_words(self, /) -> str:
        """
        The same without what is for the owner alone: whoever gets the answer may read it.
        """
    @property
    def words(self, /) -> str:
        """
        What it discloses, or why it is refused, for the clinic's owner alone.
        """

@final
class Experiment:
    """
    What to run: read from a file, or put together.
    """
    def certify(self, /, region: str, samples: SupportsIndex, seed: SupportsIndex) -> str:
        """
        What theory guarantees, as JSON.
        """
    @staticmethod
    def on(problem: Problem, name: str, x0: ArrayLike, methods: SupportsGetItem[int, tuple[str, str, SupportsFloat | SupportsIndex | Literal["auto", "theory"], dict[str, Any]]], trials: SupportsIndex, budget: SupportsIndex, seed: SupportsIndex, relative: bool, targets: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> Experiment:
        """
        On one problem; a method is (its name here, its name in the catalogue, its step size, its own settings).
        """
    @staticmethod
    def read(path: str | PathLike[str], problems: SupportsGetItem[int, str], methods: SupportsGetItem[int, str], trials: SupportsIndex | None, budget: SupportsIndex | None, seed: SupportsIndex | None) -> Experiment:
        """
        From a TOML file; "fig1" and "fig2" are the paper's.
        """
    def run(self, /, progress: Any | None = None) -> tuple[list[tuple[str, str, str | None, float, int, NDArray[float64], NDArray[float64]]], bool]:
        """
        Runs all of it. Returns the finished curves, and whether nobody pressed Ctrl-C on the way; a curve is (problem,
        method, what it sees without paying, first step size, trials that diverged, mean gap after 0, 1, 2 … queries, its
        standard error).
        """

@final
class Ledger(Session):
    """
    A session on a file, which `sgq.open` opens: every question is on the disk before it is given, and every answer before it is used.

    It is a `Session`. Users have names, and a method that takes a user takes its name as well; a ticket may be the number of the
    question alone. It is a context manager, which closes the file. A session that is closed can still be looked at.
    """
    def __enter__(self, /) -> Ledger: ...
    def __exit__(self, /, _kind: Any, _error: Any, _traceback: Any) -> None: ...
    def __repr__(self, /) -> str: ...
    def accounts(self, /) -> list[Account]:
        """
        What each user has disclosed, and what became of its questions: a list of dicts.
        """
    def close(self, /) -> None:
        """
        Closes the file, so that another program may write to it. To close it again changes nothing.
        """
    @property
    def closed(self, /) -> bool:
        """
        Whether nothing can be asked or told any more.
        """
    def failing(self, /) -> list[tuple[str, str]]:
        """
        Whose questions fail again and again in a study by a plan, and since when: pairs of a name and words. Nobody else is asked at a
        point meanwhile, so that what others may still disclose is not spent: `back` lets it be asked again, and so does opening the file
        again; `leave` goes on without it.
        """
    @property
    def held(self, /) -> list[int]:
        """
        The tickets of the questions whose answers are kept until `tell_held`.
        """
    def history(self, /) -> list[Event]:
        """
        Everything that has happened, in order: a list of dicts, as pandas and polars take them.
        """
    @property
    def made_anew(self, /) -> str | None:
        """
        Why the session was made anew from all answers when it was opened: the file is of a version of sgq that would have gone on
        otherwise. None where it goes on exactly where it was.
        """
    @property
    def names(self, /) -> list[str]:
        """
        The users' names, in order.
        """
    def note(self, /, words: str, user: SupportsIndex | str | None = None) -> None:
        """
        Writes a line into the record, about a user or about none. Nothing else changes.
        """
    def paid(self, /) -> list[tuple[int, NDArray[float64], dict[str, Any]]]:
        """
        All answers that were taken, as `earlier=` of a session of another method takes them: triples of the user's number, the point,
        and a dict with all that was said.
        """
    @property
    def path(self, /) -> Path:
        """
        The file.
        """
    @property
    def plan(self, /) -> str | None:
        """
        Of a study by a plan, what tells the plan from any other; None where there is none.
        """
    def refusals(self, /) -> list[tuple[str, str]]:
        """
        Who will not answer what everybody is asked in a study by a plan (`fail` said so since the file was opened), and why: pairs of a
        name and the reason. The study waits for them: opening the file again asks them again, and `leave` goes on without them.
        """
    def result(self, /, errors: str = "model") -> GlmResult | None:
        """
        What has come of a study by a plan so far: coefficients with standard errors, exact once everybody has answered the closing
        question at the end, and approximate until then. None before everybody has answered the first question.

        errors: which standard errors: "model", as glm does; or "clustered" by user.
        """
    def tell(self, /, ticket: SupportsIndex | Sequence[int] | Query, gradient: ArrayLike, loss: SupportsFloat | SupportsIndex | None = None, hessian: ArrayLike | None = None, variance: ArrayLike | None = None, weight: SupportsFloat | SupportsIndex | None = None, cost: SupportsFloat | SupportsIndex | None = None, *, privacy: tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex] | None = None, accepted: bool = False, hold: bool = False) -> None:
        """
        Takes the answer to a question, as `Session.tell`: it is on the disk before it is used. One that is refused is recorded with the
        reason. An answer that is taken and odd is warned of (`RuntimeWarning`).

        privacy: the sensitivity of the gradient, as a Euclidean norm, and the standard deviation of the noise that the user has added to
        each of its coordinates at home. accepted: takes an answer that would be refused as out of line with all others.
        hold: keeps an answer that came before its turn on the disk, until `tell_held` uses it.
        """
    def tell_held(self, /, ticket: SupportsIndex | Sequence[int] | Query) -> None:
        """
        Uses an answer that was kept by `tell(…, hold=True)` until now, by this program or an earlier one.
        """
    def tell_line(self, /, line: str, user: SupportsIndex | str | None = None, *, accepted: bool = False, hold: bool = False) -> str | None:
        """
        Takes what a user has sent: a line of JSON with the ticket of its question (`Query.line` is the question), and an answer, such as
        `{"ticket": 17, "gradient": [0.5, -1]}`, or `"summary"` or `"closing"` in a study by a plan. Where the line has an `"error"` in
        its place, this notes it in the record and returns its words; the question is still out, and `fail` says that it will not be
        answered. Else it returns None. What is no answer is recorded as refused, and is a ValueError.

        user: who has sent it, where that is known: a line in another name, or about somebody else's question, is refused.
        accepted, hold: as in `tell`; an answer to what everybody is asked is never held.
        """
    def verify(self, /) -> Verdict:
        """
        Goes through the whole record, and says whether it is what it claims to be.
        """

@final
class LinearFit:
    """
    Where a run of `linear_saga` stopped, and why.
    """
    @property
    def gradient_norm(self, /) -> float:
        """
        The norm of the mean of all rows' last gradients.
        """
    @property
    def message(self, /) -> str:
        """
        The same in words.
        """
    @property
    def point(self, /) -> NDArray[float64]:
        """
        Where it stopped; the intercept, if there is one, comes last.
        """
    @property
    def queries(self, /) -> int:
        """
        Rows looked at.
        """
    @property
    def queries_per_user(self, /) -> NDArray[uint64]:
        """
        How often each row was looked at.
        """
    @property
    def step_size(self, /) -> float:
        """
        The step size that was taken.
        """
    @property
    def steps(self, /) -> int:
        """
        Steps taken.
        """
    @property
    def stop_reason(self, /) -> str:
        """
        "surrogate gradient", "budget" or "diverged".
        """
    @property
    def tolerance(self, /) -> float:
        """
        The norm that was asked for; 0 where none was.
        """

@final
class Problem:
    """
    Users whose functions are known, and so the objective, which is their mean: to compare methods on, and to look at.

    Made by the functions of `sgq.problems`.
    """
    def __len__(self, /) -> int: ...
    def __repr__(self, /) -> str: ...
    @property
    def card(self, /) -> str | None:
        """
        What kind of problem the data make, in lines for a reader; None for problems that were not read from a table.
        """
    @property
    def column_names(self, /) -> list[str] | None:
        """
        The names of the parameters; None where they have none.
        """
    @property
    def dim(self, /) -> int:
        """
        How many parameters there are, d.
        """
    def gap(self, /, point: ArrayLike) -> float:
        """
        How far the objective is above its minimum.
        """
    def gradient(self, /, user: SupportsIndex, point: ArrayLike) -> NDArray[float64]:
        """
        A user's gradient at a point. Looking at it here is not billed.
        """
    @property
    def minimum(self, /) -> float | None:
        """
        How small it is there.
        """
    @property
    def objective_smoothness(self, /) -> float | None:
        """
        The smoothness of the objective itself.
        """
    @property
    def optimum(self, /) -> NDArray[float64] | None:
        """
        Where the objective is smallest.
        """
    @property
    def pl_constant(self, /) -> float | None:
        """
        The Polyak-Łojasiewicz constant `μ`.
        """
    @property
    def smoothness(self, /) -> NDArray[float64] | None:
        """
        Each user's smoothness `L_i`.
        """
    @property
    def user_names(self, /) -> list[str] | None:
        """
        The users' names; None where they have none.
        """
    @property
    def users(self, /) -> int:
        """
        How many users there are, n.
        """
    def value(self, /, point: ArrayLike, user: SupportsIndex | None = None) -> float:
        """
        The objective at a point, or one user's part of it.
        """

@final
class Query:
    """
    A question to put to a user.
    """
    def __reduce__(self, /) -> tuple[Any, tuple[tuple[int, int], int, bool | None, str, NDArray[float64], str, str | None, str | None]]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _from(ticket: tuple[SupportsIndex, SupportsIndex], user: SupportsIndex, explored: bool | None, why: str, point: ArrayLike, wants: str, name: str | None = None, line: str | None = None) -> Query:
        """
        A question that was pickled.
        """
    @property
    def explored(self, /) -> bool | None:
        """
        Whether the user was picked at random in order to explore; None for methods without exploration.
        """
    @property
    def line(self, /) -> str | None:
        """
        The question as its user gets it, one line of JSON; `Ledger.tell_line` takes the answer. None in sessions in memory.
        """
    @property
    def name(self, /) -> str | None:
        """
        The user's name; None in sessions whose users have none.
        """
    @property
    def point(self, /) -> NDArray[float64]:
        """
        The point at which the user's gradient is wanted; empty where everybody is asked the same. The array is not a copy, and cannot be
        written to.
        """
    @property
    def ticket(self, /) -> tuple[int, int]:
        """
        What to give back with the answer: a pair of the session's number and the question's.
        """
    @property
    def user(self, /) -> int:
        """
        The user to ask, from 0.
        """
    @property
    def wants(self, /) -> str:
        """
        What would be of use beside the gradient, of what answers may say: "gradient" (nothing), "loss", or "hessian" (the loss
        too). A user may say less, and more is not looked at. In a study by a plan everybody is asked for a "summary" first, and for a
        "closing" at the end: no gradient answers these.
        """
    @property
    def why(self, /) -> str:
        """
        Why this user is asked, in a word: "new", "again", "probe", "set-aside", "sweep", "explored", "scored", "elsewhere" or
        "chosen".
        """

@final
class Remaining:
    """
    How far it is still to go, by the method's own account of the answers paid for: a belief, and not a proof.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __reduce__(self, /) -> tuple[Any, tuple[float, float, float, float, float]]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _from(gap: SupportsFloat | SupportsIndex, low: SupportsFloat | SupportsIndex, high: SupportsFloat | SupportsIndex, at_start: SupportsFloat | SupportsIndex, part: SupportsFloat | SupportsIndex) -> Remaining:
        """
        One that was pickled.
        """
    @property
    def at_start(self, /) -> float:
        """
        The gap at the start, as it is believed now.
        """
    @property
    def gap(self, /) -> float:
        """
        The gap f(x) − inf f that is expected.
        """
    @property
    def high(self, /) -> float:
        """
        The gap is believed to be below this with a probability of 95%.
        """
    @property
    def low(self, /) -> float:
        """
        The gap is believed to be above this with a probability of 95%.
        """
    @property
    def part(self, /) -> float:
        """
        The gap as a part of that at the start.
        """

@disjoint_base
class Session:
    """
    One run of one method: `ask` whom to query, `tell` what they answered.

    method: a name of `sgq.methods()`, or two parts with a plus between, such as "shuffled + saga"; its own settings are
    keywords (`p=0.3`). Without one it is frugal, which has no step size and nothing to tune; saga for more than 100,000 users.
    x0: where to start. users: how many there are.
    problem: one of `sgq.problems`, which says the users, their smoothness and the other constants where nobody else does,
    answers in `simulate`, and is seen by the methods that need to see one. The start is then zero where there is no x0.
    smoothness: each user's `L_i`, or one number for all. costs: what a query costs, likewise; 1 where nobody says.
    weights: what each user counts, such as its number of rows: the objective is the mean of the users' functions with these
    weights. Answers and `L_i` are those of the user's own function all the same.
    step_size: a number; "auto" (or None), the method's own default; or "theory", the largest that its theorem allows.
    pl_constant, objective_smoothness: the objective's own `μ` and `L`, where they are known.
    budget, tol, certified_gap, gradient_tolerance, target_gap, divergence_limit: when to stop: after that many queries; once so small
    a part of the gap at the start is believed to remain ("auto": 0.0001, where the method can tell and there is no other tolerance or
    target); once the gap is proven to be at most that (which needs smoothness and pl_constant);
    once the mean of everybody's last gradient is that short; once the objective is that close to its minimum (a problem's only; diagnostic, not billed);
    once a coordinate is past that.
    cost_budget, numbers_budget: stop before all queries together cost more, or before all answers together hold more numbers.
    seed: of all randomness. The same seed gives the same bytes.
    table, table_folder: how everybody's last gradients are kept ("f64", "f32", "sparse", or "scalars" on a regression with one
    row a user), and a folder for a file to keep them in.
    answers: how much users are asked to say, at most: "gradient", "loss" (the gradient and the loss) or "hessian" (all three).
    A question's `wants` says what of that would be of use to the method.
    earlier: answers of an earlier run, of this method or another one, in their order, each a triple of user, point and gradient,
    or of user, point and a dict with all that `tell` takes. They are taken in without being billed; the budget is for what is
    asked from here on.
    open: how many questions may be out at once. Answers may then come in any order.
    """
    def __iter__(self, /) -> Session: ...
    def __new__(cls, /, method: str | None = None, *, x0: ArrayLike | None = None, users: SupportsIndex | None = None, problem: Problem | None = None, smoothness: ArrayLike | None = None, step_size: SupportsFloat | SupportsIndex | Literal["auto", "theory"] | None = None, budget: SupportsIndex | None = None, tol: SupportsFloat | SupportsIndex | Literal["auto"] | None = None, certified_gap: SupportsFloat | SupportsIndex | None = None, gradient_tolerance: SupportsFloat | SupportsIndex | None = None, target_gap: SupportsFloat | SupportsIndex | None = None, divergence_limit: SupportsFloat | SupportsIndex | None = None, costs: ArrayLike | None = None, pl_constant: SupportsFloat | SupportsIndex | None = None, objective_smoothness: SupportsFloat | SupportsIndex | None = None, seed: SupportsIndex | None = None, table: str = "f64", table_folder: str | PathLike[str] | None = None, answers: Literal["gradient", "loss", "hessian"] | None = None, earlier: Iterable[tuple[int, ArrayLike, ArrayLike | dict[str, Any]]] | None = None, open: SupportsIndex | None = None, weights: ArrayLike | None = None, cost_budget: SupportsFloat | SupportsIndex | None = None, numbers_budget: SupportsIndex | None = None, **options: "float | bool") -> Session: ...
    def __next__(self, /) -> Query:
        """
        The next question; a question that was not answered comes again.
        """
    def __reduce__(self, /) -> tuple[Any, tuple[State]]: ...
    def __repr__(self, /) -> str: ...
    @property
    def answers(self, /) -> str:
        """
        How much users are asked to say, at most: "gradient", "loss" or "hessian".
        """
    def ask(self, /) -> Query | None:
        """
        Whom to ask next, and where; None once the run has stopped, and while as many questions are out as may be. Where one may
        be, asking again gives the same question until its answer is told.
        """
    def ask_many(self, /, most: SupportsIndex) -> list[Query]:
        """
        As many further questions as may be out, at most so many. What everybody is asked in a study by a plan is out all at once, however
        many are given here: `pending` has all of it.
        """
    def away(self, /, user: SupportsIndex | str, reason: str | None = None) -> None:
        """
        Says that a user cannot be asked until it is back. reason: for the record, where there is one.
        """
    def back(self, /, user: SupportsIndex | str, reason: str | None = None) -> None:
        """
        Says that a user can be asked again, whatever was said of it before.
        """
    @property
    def certified(self, /) -> float | None:
        """
        What is proven to remain at most: a bound on the gap, from answers that were paid for. None before everybody was asked, where
        smoothness or pl_constant are not known, where answers have noise, and for methods that do not keep everybody's answer.
        """
    @property
    def cost(self, /) -> float:
        """
        What all queries so far have cost.
        """
    @property
    def diagnostic(self, /) -> int:
        """
        Gradients that were looked at without being billed, by a method that is only a yardstick.
        """
    @property
    def earlier(self, /) -> int:
        """
        Answers of an earlier run that were taken in without being billed.
        """
    def extend(self, /, budget: SupportsIndex | None = None, *, cost: SupportsFloat | SupportsIndex | None = None, numbers: SupportsIndex | None = None, tol: SupportsFloat | SupportsIndex | None = None, certified_gap: SupportsFloat | SupportsIndex | None = None) -> None:
        """
        Raises the budget by that many queries, the budget in cost, or the budget in numbers: a run that had spent it goes on.
        tol, certified_gap: a run that had converged goes on until so small a part of the gap at the start is believed to remain, or
        until so small a gap is proven. One takes the place of the other.
        """
    def fail(self, /, ticket: SupportsIndex | Sequence[int] | Query, reason: str | None = None, *, billed: bool = False) -> None:
        """
        Says that a question will not be answered, as far as one knows, and why. Its user is asked again after a while, the later
        the more often it fails. Nothing is billed, unless billed says so. An answer that comes all the same is welcome.
        """
    def failures(self, /) -> list[tuple[int, int, str | None]]:
        """
        Who failed so far: a list of (user, how often, the last reason), those who answered since then included.
        """
    @classmethod
    def from_state_dict(cls, /, state: State, problem: Problem | None = None) -> Session:
        """
        A session from a stored state. The problem is not part of it: a session that sees one needs it here again.
        """
    def has_left(self, /, user: SupportsIndex | str) -> bool:
        """
        Whether a user has left.
        """
    @property
    def has_step_size(self, /) -> bool:
        """
        Whether the method has a step size.
        """
    def is_away(self, /, user: SupportsIndex | str) -> bool:
        """
        Whether a user cannot be asked until it is back: somebody has said so, or it has disclosed all that it may.
        """
    def join(self, /, user: SupportsIndex | str, reason: str | None = None) -> None:
        """
        Says that a user who had left is one again, of whom nothing is known yet.
        """
    def leave(self, /, user: SupportsIndex | str, reason: str | None = None) -> None:
        """
        Says that a user is no longer one: the objective becomes the mean over the others, and its answers are forgotten,
        also if it joins again.
        """
    def load_state_dict(self, /, state: State) -> None:
        """
        Goes on from a stored state, bit for bit as the session that stored it would. What this session did is forgotten; the
        problem that it sees stays.
        """
    @property
    def message(self, /) -> str | None:
        """
        Why the run stopped, in a sentence; where nobody answers, with who failed most often, and why.
        """
    @property
    def method(self, /) -> str:
        """
        The method's name.
        """
    @property
    def numbers(self, /) -> int:
        """
        How many numbers all answers so far held: gradients, losses, Hessians (their lower triangles) and variances.
        """
    def pending(self, /) -> list[Query]:
        """
        The questions that are out, in the order in which they were asked.
        """
    @property
    def point(self, /) -> NDArray[float64]:
        """
        Where the run stands.
        """
    @property
    def problem(self, /) -> Problem | None:
        """
        The problem that the session sees; None where the users are somewhere else.
        """
    @property
    def queries(self, /) -> int:
        """
        Queries paid for so far.
        """
    @property
    def queries_per_user(self, /) -> NDArray[uint64]:
        """
        Queries paid for so far, user by user.
        """
    @property
    def remaining(self, /) -> Remaining | None:
        """
        How far it is still to go, by the method's own account of the answers paid for; None where it has none.
        """
    def simulate(self, /, queries: SupportsIndex) -> tuple[NDArray[int64], NDArray[int64], NDArray[int64]]:
        """
        Lets the session's problem answer the next questions: at most that many, fewer once the run has stopped. Returns, for
        each, who was asked, whether in order to explore (−1 where that does not apply), and the steps taken after it.
        Ctrl-C is heard between two answers: the session then has all of those before.
        """
    def state_dict(self, /) -> State:
        """
        All of the session, its randomness and its open question included, to be stored.
        """
    @property
    def step_size(self, /) -> float:
        """
        The step size of the coming step.
        """
    @property
    def steps(self, /) -> int:
        """
        Steps taken so far: moves of the point.
        """
    @property
    def stop_reason(self, /) -> str | None:
        """
        Why the run stopped, in a word or two: "converged", "certified", "budget", "cost budget", "numbers budget", "target gap", "surrogate gradient",
        "diverged" or "nobody answers"; None while it goes on.
        """
    @property
    def surrogate_gradient(self, /) -> NDArray[float64] | None:
        """
        The mean of everybody's last gradient, once there is one: of answers at older points, so that it is not zero where the run
        has converged.
        """
    @property
    def surrogate_gradient_norm(self, /) -> float | None:
        """
        The norm of the mean of everybody's last gradient, once there is one.
        """
    def tell(self, /, ticket: SupportsIndex | Sequence[int] | Query, gradient: ArrayLike, loss: SupportsFloat | SupportsIndex | None = None, hessian: ArrayLike | None = None, variance: ArrayLike | None = None, weight: SupportsFloat | SupportsIndex | None = None, cost: SupportsFloat | SupportsIndex | None = None) -> None:
        """
        Takes the answer to a question: bills it, then uses it. Telling the same answer again changes nothing; on an error
        nothing is billed, and the question stays open. The question itself will do in place of its ticket.

        gradient: of the user's function, at the question's point. loss: the function's value there.
        hessian: its second derivatives there, a d × d array, or its lower triangle row by row, d (d + 1) / 2 numbers.
        variance: of the noise in the gradient, one number for each coordinate, or one for all.
        weight: what the user counts in the objective, such as its number of rows, where `weights` did not say.
        cost: what this answer cost, where it is not what `costs` said.
        """
    @property
    def uncertified(self, /) -> str | None:
        """
        Why nothing is proven, in words; None where something is.
        """
    @property
    def weights(self, /) -> NDArray[float64]:
        """
        What each user counts in the objective, as far as is known; 1 where nobody said.
        """

@final
class Verdict:
    """
    Whether a record is what it claims to be.
    """
    def __repr__(self, /) -> str: ...
    @property
    def answers(self, /) -> int:
        """
        Answers among them.
        """
    @property
    def events(self, /) -> int:
        """
        Events that are sealed as they were written.
        """
    @property
    def findings(self, /) -> list[str]:
        """
        What is not as it should be, or worth knowing.
        """
    @property
    def replays(self, /) -> bool:
        """
        Whether this version of sgq, told the same answers, asks the same questions to the bit.
        """
    @property
    def sound(self, /) -> bool:
        """
        Whether nothing is damaged.
        """

def glm(path: str | PathLike[str] | None, text: str | None, text_columns: SupportsGetItem[int, str], formula: str, user: str, family: str | None, weigh: str, l2: SupportsFloat | SupportsIndex, weights: str | None, close: bool, std_errors: str, drop_missing: bool, standardise: bool, diagnostics: bool, method: str | None, method_options: dict[str, Any] | None, step_size: SupportsFloat | SupportsIndex | Literal["auto", "theory"], budget: SupportsIndex | None, precision: SupportsFloat | SupportsIndex | None, answers: Literal["gradient", "loss", "hessian"], open: SupportsIndex, seed: SupportsIndex) -> tuple[str, bool]:
    """
    Fits a regression on a table with a header, from a file or from the text of one, by asking one user at a time. Returns what
    `sgq fit --json` prints of it, and whether Ctrl-C ended it.
    """

def glm_check(json: bytes, path: str | PathLike[str]) -> None:
    """
    Whether JSON describes a fit, as a message where it does not.
    """

def glm_forest(json: str) -> str:
    """
    The forest plot of a fit: an SVG drawing.
    """

def glm_forest_png(json: str) -> bytes:
    """
    The same as a PNG image.
    """

def glm_page(json: str) -> str:
    """
    The page of a fit, from what JSON says of it.
    """

def glm_predict(model: str, path: str | PathLike[str] | None, text: str | None) -> NDArray[float64]:
    """
    The predictions of a model that `sgq fit` or `glm` has described as JSON, for the rows of a table: NaN where a value is missing.
    """

def linear_saga(values: NDArray[float64], dim: SupportsIndex, starts: NDArray[int64] | None, columns: NDArray[uint32] | None, targets: NDArray[float64], weights: NDArray[float64] | None, loss: str, l2: SupportsFloat | SupportsIndex, intercept: bool, start: NDArray[float64], step_size: SupportsFloat | SupportsIndex | None, tol: SupportsFloat | SupportsIndex, budget: SupportsIndex, seed: SupportsIndex) -> LinearFit:
    """
    SAGA on rows that `sgq.sklearn` has brought into shape: dense, or sparse with `starts` and `columns`. Numbers are borrowed, so
    that nobody may write to them meanwhile.

    The intercept has no penalty, and is the last number of `start` and `point`. It stops once the gradient is `tol` times as long as
    at zero, or after `budget` queries if `tol` is 0.
    """

def methods() -> list[tuple[str, str, str, list[str]]]:
    """
    The built-in methods: a list of (name, summary, what it charges, its own settings).
    """

def open(path: str | PathLike[str], method: str | None = None, *, users: SupportsIndex | Sequence[str] | None = None, plan: str | PathLike[str] | None = None, precision: SupportsFloat | SupportsIndex | None = None, close: bool | None = None, protection: Protection | None = None, read_only: bool = False, **settings: "Any") -> Ledger:
    """
    Opens a session on a file, and makes it where there is none.

    With the path alone it goes on with a session that is there. With a method, users and settings it makes a file where there is none,
    and goes on with it where there is one, so that a program may simply be started again. Settings that are given must then be those
    that the file was made with.

    With plan=, the file of a plan that `sgq plan new` has made, it is a study: a regression over users who all have the plan. Everybody is
    asked for counts and means first (`Query.wants` is "summary"); start, weights and what users say follow from the plan and from that.
    Answers come as lines: `Ledger.tell_line`, and `Clinic` on the users' side. `Ledger.result` is what has come of it. To open a study
    lets everybody be asked again whose questions have failed again and again.

    A file that is made without any budget has one of 500 queries, or 10 for each user where that is more; `extend` raises it.

    path: the file. method: as in `Session`. users: their names, or how many they are: they are then called user-0, user-1 and so on.
    protection: a dict of limits. answers_each: nobody is asked once it has given so many answers. epsilon (and delta, 0.00001): nobody
    is asked once one more answer could spend more of (ε, δ) differential privacy. smoothness: what becomes of an answer that breaks
    ‖g − g_i‖ ≤ L_i ‖x − x_i‖ by more than the part smoothness_slack (0.01): "ignore", "flag" (the default) or "refuse". length: the same
    of one that is length_factor (a million) times longer than those of all others; "refuse" is the default. unexpected: the same of one
    that is unexpected_factor (10) times as far from what the model expects of it as the answers of all others are long; "refuse" is
    the default, and methods without a model expect nothing.
    precision: of a study, how many standard errors a coefficient may be off when it stops, by the method's own estimate (0.01, where the
    method can tell and there is no tol). close: whether everybody is asked the closing question at the end, which makes standard errors
    exact (True).
    read_only: to look at it as it is now, also while another program writes to it.
    All other settings are those of `Session`, but for problem and earlier.
    """

def quadratics(curvature: SupportsGetItem[int, SupportsGetItem[int, SupportsFloat | SupportsIndex]], center: SupportsGetItem[int, SupportsGetItem[int, SupportsFloat | SupportsIndex]], dense: bool) -> Problem:
    """
    `f_i(x) = (x − b_i)ᵀ A_i (x − b_i)`, from numbers that `sgq.problems.quadratics` has brought into shape.
    """

def recover(damaged: str | PathLike[str], new: str | PathLike[str]) -> Recovered:
    """
    Saves what is intact of a damaged file into a new one, and changes nothing of the damaged one. The new one is opened with
    `sgq.open`, and goes on from the answers that were saved.
    """

def regression(values: NDArray[float64], dim: SupportsIndex, starts: NDArray[int64] | None, columns: NDArray[int64] | None, targets: NDArray[float64], weights: NDArray[float64] | None, blocks: NDArray[int64], user_names: SupportsGetItem[int, str] | None, loss: str, l2: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, solve: bool, user_weights: str, free_intercept: bool) -> Problem:
    """
    A regression on rows that `sgq.problems.regression` has brought into order: dense, or sparse with `starts` and `columns`.
    """

def table(path: str | PathLike[str] | None, text: str | None, user: str, target: str, loss: str | None, delta: SupportsFloat | SupportsIndex, l2: SupportsFloat | SupportsIndex, features: SupportsGetItem[int, str] | None, exclude: SupportsGetItem[int, str] | None, weight: str | None, drop_missing: bool, drop_constant: bool, standardise: bool, user_weights: str) -> Problem:
    """
    A regression on a table with a header, from a file or from the text of one.
    """
