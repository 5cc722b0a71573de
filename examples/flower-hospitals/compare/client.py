"""A hospital, asked in either way: for its gradient (sgq.flower), or to train a model by one step (FedAvg)."""

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from hospitals import load

import sgq.flower

app = ClientApp()


@sgq.flower.user(app)
def answer(x: np.ndarray, context: Context, wants: str):
    loss, gradient, hessian = load(context.run_config["data"]).answer(context.node_config["partition-id"], x)
    return (loss, gradient, hessian) if wants == "hessian" else gradient


@app.train()
def train(message: Message, context: Context) -> Message:
    number, config = context.node_config["partition-id"], message.content["config"]
    x = message.content["arrays"]["x"].numpy()
    _, gradient, _ = load(context.run_config["data"]).answer(number, x)
    rate = config["rate"] / (1 + config["decay"] * (config["server-round"] - 1))
    arrays = ArrayRecord({"x": Array(x - rate * gradient)})
    return Message(RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": 1, "hospital": number})}), reply_to=message)
