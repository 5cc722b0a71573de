"""A quadratic for each user, by its number. A file in the node's folder says at which points it was asked."""

import numpy as np
import sgq.flower
from flwr.clientapp import ClientApp

app = ClientApp()
CENTRES = np.array([[2.0, 0.5], [1.0, -1.0], [-1.0, 3.0]])


@sgq.flower.user(app)
def answer(x, context):
    number = context.node_config.get("number", context.node_config.get("partition-id"))
    if "number" in context.node_config:
        with open("asked.txt", "a") as file:
            print(x.tobytes().hex(), file=file)
    return (1.0 + number) * (x - CENTRES[number])
