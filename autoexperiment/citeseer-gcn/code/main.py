"""DATA_DIR=... SEED=0 python main.py: the numbers of the experiment as JSON."""

import json
import os

import numpy as np
from network import adam, glorot, log_softmax, loss_and_gradients, propagation
from scipy.sparse import csr_matrix

STEPS, HIDDEN, DECAY = 60, 16, 5e-4

if __name__ == "__main__":
    with np.load(os.path.join(os.environ["DATA_DIR"], "citeseer.npz")) as file:
        data = {name: file[name] for name in file}
    labels = data["y"]
    nodes = len(labels)
    words = csr_matrix((np.ones(len(data["word"])), (data["word_node"], data["word"])), shape=(nodes, 3703))
    x = csr_matrix(words.multiply(1 / np.maximum(words.sum(1), 1)))
    train, test = (np.flatnonzero(data[f"{name}_mask"][0]) for name in ("train", "test"))
    s = propagation(data["edge_index"], nodes)
    draw = np.random.default_rng(int(os.environ.get("SEED", "0")))
    weights = [glorot(x.shape[1], HIDDEN, draw), glorot(HIDDEN, int(labels.max()) + 1, draw)]
    state = [(np.zeros_like(weight), np.zeros_like(weight)) for weight in weights]
    sx, losses = s @ x, []
    for step in range(1, STEPS + 1):
        loss, gradients = loss_and_gradients(s, sx, weights, labels, train, DECAY)
        losses.append(loss)
        weights = adam(weights, gradients, state, step)
    z = log_softmax(s @ (np.maximum(sx @ weights[0], 0) @ weights[1]))
    accuracy = float((z[test].argmax(1) == labels[test]).mean())
    print(json.dumps({"accuracy": accuracy, "loss": [losses[0], losses[-1]]}))
