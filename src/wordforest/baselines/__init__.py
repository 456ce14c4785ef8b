"""The other ways to learn word vectors that FOREST is compared with."""
