"""A study that survives its program: killed in the middle, and started again by the same command."""

import os
import signal
import subprocess
import sys
import tempfile

import sgq

CLINICS = {"north": 2.0, "south": 1.0, "west": -1.0, "east": -4.0}  # what only the clinics know


def study(path, is_to_die):
    """Asks until it stops, and goes on where it was."""
    settings = {"users": list(CLINICS), "x0": [5.0], "smoothness": 2.0, "budget": 100, "tol": "auto"}
    with sgq.open(path, "frugal", **settings) as session:
        print(f"{session.queries} answers are in the file")
        for query in session:
            if is_to_die and session.queries == 3:
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))  # nothing of this program is left
            session.tell(query, 2.0 * (query.point - CLINICS[query.name]))  # the expensive part
        print(f"x = {session.point[0]:.3f} after {session.queries} queries: {session.message}")
    for account in session.accounts():
        print(f"{account['user']}: {account['answers']} answers, {account['numbers']} numbers")
    print("the record is whole:", session.verify().sound)


if len(sys.argv) > 1:
    study(sys.argv[1], is_to_die=True)
else:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "study.sgq")
        subprocess.run([sys.executable, "-u", __file__, path])
        study(path, is_to_die=False)
