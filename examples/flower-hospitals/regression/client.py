"""A hospital: answers by the plan from its CSV file, and refuses what the plan does not allow."""

from pathlib import Path

from flwr.app import Context
from flwr.clientapp import ClientApp

import sgq.flower

app = ClientApp()


def hospital(context: Context) -> dict:
    """Deployed, what the node was started with; in a simulation, the hospital of that number."""
    node, config = context.node_config, context.run_config
    if "partition-id" not in node:
        return dict(node)
    data = sorted(Path(config["data"]).glob("*.csv"))[node["partition-id"]]
    return {"user": data.stem, "plan": config["plan"], "data": data, "log": f"{config['ledger']}.{data.stem}.log"}


sgq.flower.clinic(app, of=hospital)
