"""Users on other machines: Flower brings the network, and here is whom to ask.

At the coordinator, in a `ServerApp`: `run` puts the questions of a session to the users' nodes, until it stops. `StrategicQuery` is a
`Strategy` for those who have an app with a `train` function already. At the users, in a `ClientApp`: `user` makes a function of a point
into one that answers, `clinic` answers by a plan and a CSV file with no code, and `introduce` says who a node is.

docs/flower.md goes from `pip install` to a running federation.
"""

from ._asking import Stalled, run
from ._members import names
from ._strategy import StrategicQuery
from ._users import Refusal, clinic, introduce, user

__all__ = ["Refusal", "Stalled", "StrategicQuery", "clinic", "introduce", "names", "run", "user"]
