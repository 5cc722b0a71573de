"""The coordinator: trains the model by asking one hospital at a time for its gradient."""

import csv

import torch
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from model import model
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import sgq
import sgq.flower

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    config, trained = context.run_config, model()
    with open(config["users"], newline="") as file:
        users = [row["user"] for row in csv.DictReader(file)]
    start = parameters_to_vector(trained.parameters()).detach().numpy()
    with sgq.open(config["ledger"], users=users, x0=start, tol="auto", open=config["open"]) as session:
        result = sgq.flower.run(grid, session)
    vector_to_parameters(torch.from_numpy(result.x), trained.parameters())
    torch.save(trained.state_dict(), f"{config['ledger']}.pt")
    print(f"{result.queries} answers, {result.message}. The model is in {config['ledger']}.pt")
