"""Users somewhere else: ask whom to query, tell what they answered, stop in the middle and go on later."""

import pickle

import numpy as np

import sgq

CENTERS = np.array([2.0, 1.0, -1.0, -2.0])  # what only the users know


def clinic(user, x):
    """The expensive part."""
    return 2.0 * (x - CENTERS[user])


session = sgq.Session("sgq", x0=[5.0], users=4, smoothness=2.0, step_size=0.015, budget=400, seed=7)
for query in session:
    session.tell(query.ticket, clinic(query.user, query.point))
    if session.queries == 100:
        break

stored = pickle.dumps(session)  # the machine goes down, and comes up again
session = pickle.loads(stored)
for query in session:
    session.tell(query.ticket, clinic(query.user, query.point))

print(f"x = {session.point[0]:.3f} after {session.queries} queries: {session.message}")
print("asked:", session.queries_per_user.tolist())
