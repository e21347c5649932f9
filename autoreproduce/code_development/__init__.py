"""Code development (the paper's section 3.3): data, method, experiment, refactoring, and the run in full."""
