"""Users on other machines: Flower brings the network, and a session decides whom to ask.

At the coordinator, in a `ServerApp`: `run` puts the questions of a session to the users' nodes, until it stops. `StrategicQuery` is a
`Strategy` for those who have an app with a `train` function already. At the users, in a `ClientApp`: `user` makes a function of a point
into one that answers, `clinic` answers by a plan and a CSV file with no code, `introduce` says whose a node is, and the mod `discreet` keeps
the words of exceptions at the node.

docs/flower.md goes from `pip install` to a running federation.
"""

from ._asking import Stalled, run
from ._flwr import discreet
from ._nodes import names
from ._strategy import StrategicQuery
from ._users import Refusal, clinic, introduce, user

__all__ = ["Refusal", "Stalled", "StrategicQuery", "clinic", "discreet", "introduce", "names", "run", "user"]
