"""Judging a program by reading it: made blind, packed into a prompt, asked about, answered as data."""
