"""Predicts for each test input the target of the nearest training input."""

import numpy as np
import task

x_train, y_train, x_test, y_test = task.load()
squares = (x_train**2).sum(1)
nearest = np.argmin(squares - 2 * (x_test @ x_train.T), axis=1)
prediction = y_train[nearest]
task.save(task.score(prediction, y_test), prediction)
