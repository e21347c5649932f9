"""Learns by ridge regression and decodes its predictions: another method that truly predicts."""

import numpy as np
import task

x_train, y_train, x_test, y_test = task.load()
centre, mean = x_train.mean(0), y_train.mean(0)
inputs, others = x_train - centre, x_test - centre
kernel = inputs @ inputs.T
weights = np.linalg.solve(
    kernel + 1e-2 * np.trace(kernel) / len(kernel) * np.eye(len(kernel)), y_train - mean
)
prediction = others @ inputs.T @ weights + mean
task.save(task.score(prediction, y_test), prediction)
