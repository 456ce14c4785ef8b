"""The torture suite: kills, full disks, damaged and hostile input, load. ``python -m torture --help``."""
