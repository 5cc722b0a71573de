"""Pictures are drawn into files, wherever the tests run."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
