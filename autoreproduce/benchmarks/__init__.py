"""What a name like `reproducebench` loads: a module a benchmark, the only reader of its folder."""
