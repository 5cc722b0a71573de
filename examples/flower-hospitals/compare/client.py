"""A hospital, asked in either way: for its gradient (sgq.flower), or to train a model by one step (FedAvg)."""

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from hospitals import Hospitals, load

import sgq.flower

app = ClientApp()


def everybody(context: Context) -> Hospitals:
    return load(context.run_config["data"], context.run_config["largest"])


@sgq.flower.user(app)
def answer(x: np.ndarray, context: Context, wants: str):
    loss, gradient, hessian = everybody(context).answer(context.node_config["partition-id"], x)
    return (loss, gradient, hessian) if wants == "hessian" else gradient


@app.train()
def train(message: Message, context: Context) -> Message:
    number, config = context.node_config["partition-id"], message.content["config"]
    x = message.content["arrays"]["x"].numpy()
    _, gradient, _ = everybody(context).answer(number, x)
    rate = config["rate"] / (1 + config["decay"] * (config["server-round"] - 1))
    arrays = ArrayRecord({"x": Array(x - rate * gradient)})
    return Message(RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": 1, "hospital": number})}), reply_to=message)
