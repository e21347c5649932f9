"""Grades a submission by a paper's rubric: one question a leaf, to a judge that reads paper and code."""
