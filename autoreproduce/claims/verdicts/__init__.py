"""The verdict on each claim and on the whole, by rules that are frozen before anything is measured.

`comparable` asks whether two numbers are of one kind, `intervals` how far apart they may be,
`one_claim` judges a claim, `all_claims` each beside the others, `orderings` "A is better than B",
and `overall` the experiment.
"""
