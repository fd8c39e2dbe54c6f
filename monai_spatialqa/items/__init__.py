"""Questions without a model: facts from measurements, one file per task, options, recomputing a key, the linter."""
