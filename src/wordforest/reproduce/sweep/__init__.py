"""Sweeps: many settings of the learner on one corpus, learned and scored by a few processes that share a machine."""
