"""Documents on the forest: what share of a document each node has, and what users ask of that."""
