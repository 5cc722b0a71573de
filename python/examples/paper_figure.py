"""The paper's first figure, and how many queries each method needs: python examples/paper_figure.py [folder]"""

import sys
import tempfile
from pathlib import Path

import sgq
import sgq.plot

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)

curves = sgq.run("fig1")
figure = sgq.plot.gaps(curves, targets=[0.1])
figure.axes[0].set_ylim(1e-4, 40)  # as in the paper: SAGA and SVRG go on falling below it
figure.savefig(folder / "fig1.png")

result = sgq.minimize(sgq.problems.quadratics([1, 1, 1, 1], [2, 1, -1, -2]), [5.0], "sgq", step_size=0.015, budget=200)
sgq.plot.history(result).savefig(folder / "history.png")
sgq.plot.queries(result).savefig(folder / "queries.png")

table = sgq.queries_to(curves, [0.1])
for method, queries in zip(table["method"], table["queries"]):
    print(f"{method:5}{queries:5.0f} queries to a gap of 0.1")
print(f"fig1.png, history.png and queries.png are in {folder}")
