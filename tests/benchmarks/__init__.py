"""Speed and memory against the tools people measure label maps with today: ``python -m tests.benchmarks``."""
