"""What needs PyTorch is left out where it is not installed; `cargo xtask torch` runs everything."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["sgq/torch.py", "tests/pytorch"]
