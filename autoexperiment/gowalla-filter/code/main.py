"""DATA_DIR=... python main.py: the numbers of the experiment as JSON."""

import json
import os

import numpy as np
from filters import ideal_scores, linear_scores, normalised, recall
from scipy.sparse import csr_matrix

USERS, FACTORS, ALPHA = 800, 32, 0.3


def load(name):
    with np.load(os.path.join(os.environ["DATA_DIR"], f"{name}.npz")) as file:
        keep = file["user"] < USERS
        pairs = file["user"][keep], file["item"][keep]
        return csr_matrix((np.ones(len(pairs[0])), pairs), shape=(USERS, int(file["shape"][1])))


if __name__ == "__main__":
    train, test = load("train"), load("test")
    rn = normalised(train)
    linear = linear_scores(train, rn)
    popular = np.tile(np.asarray(train.sum(0)).ravel(), (USERS, 1))
    found = {
        "filter": recall(linear + ALPHA * ideal_scores(train, rn, FACTORS), train, test),
        "linear": recall(linear, train, test),
        "popularity": recall(popular, train, test),
    }
    print(json.dumps({"recall at 20": found}))
