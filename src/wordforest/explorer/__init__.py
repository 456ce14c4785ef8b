"""A page to walk through the forest: served on this machine, or written as one file to send."""
