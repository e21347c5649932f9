"""The gateway: where an agent that is a program of its own reaches the model of its trial.

It speaks the four protocols that such agents speak, over a Unix socket that is mounted into the
sandbox, where nothing else can be reached. It holds the only key; each call is asked of the budget
first and is a step of the trial's journal. Our own solvers do not use it.
"""
