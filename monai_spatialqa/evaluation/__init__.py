"""The evaluate stage: asks models, reads and scores their answers, compares them with baselines."""
