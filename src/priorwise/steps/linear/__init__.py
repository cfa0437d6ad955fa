"""Steps of models that are linear in what they see of a table, and Gaussians."""
