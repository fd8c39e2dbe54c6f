"""Pure functions on tensors and 4x4 matrices: marginals, boxes, centroids, distances. Neither MONAI nor files."""
