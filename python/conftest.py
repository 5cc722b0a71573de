"""What needs PyTorch or Flower is left out where it is not installed; the test commands of `cargo xtask` install both. Pictures open no window."""

import os
from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["sgq/torch.py", "tests/pytorch"]
collect_ignore += [] if find_spec("flwr") else ["sgq/flower", "tests/flower"]
os.environ.setdefault("MPLBACKEND", "Agg")
# Flower and Ray report to their makers unless they are told not to.
os.environ.update(FLWR_TELEMETRY_ENABLED="0", FLWR_DISABLE_UPDATE_CHECK="1", RAY_USAGE_STATS_ENABLED="0")
