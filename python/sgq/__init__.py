"""Whom to ask next, when every gradient must be asked for and each answer is expensive.

>>> import sgq
>>> clinics = [lambda x, b=b: 2.0 * (x - b) for b in (2.0, 1.0, -1.0, -2.0)]
>>> result = sgq.minimize(clinics, [5.0], budget=40)
>>> result.success, bool(abs(result.x[0]) < 0.01)
(True, True)
"""

from . import problems, theory
from ._glm import glm
from ._glm_result import GlmResult
from ._minimize import OptimizeResult, User, minimize
from ._record import LedgerDamaged, LedgerError, LedgerInUse
from ._run import queries_to, run
from ._sgq import Clinic, ClinicReply, Ledger, Problem, Query, Remaining, Session, Verdict, __version__, methods, recover
from ._sgq import open as open  # not in __all__: a star must not hide Python's own

__all__ = [
    "Clinic",
    "ClinicReply",
    "GlmResult",
    "Ledger",
    "LedgerDamaged",
    "LedgerError",
    "LedgerInUse",
    "OptimizeResult",
    "Problem",
    "Query",
    "Remaining",
    "Session",
    "User",
    "Verdict",
    "__version__",
    "glm",
    "methods",
    "minimize",
    "problems",
    "queries_to",
    "recover",
    "run",
    "theory",
]
