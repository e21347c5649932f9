"""Tables over many trials: what the paper's tables show, from trial folders alone, in four formats and as plots."""
