"""What lies on the disk: RUN and COUNTS folders, checkpoints, locks, and files of vectors of other tools."""

from wordforest.store.checkpoint import (
    begin_checkpoint,
    checkpoint_folder,
    checkpoint_settings,
    drop_empty_checkpoint,
    has_checkpoint,
    load_state,
    remove_checkpoint,
    save_state,
)
from wordforest.store.counts import is_counts_folder, read_counts, save_counts
from wordforest.store.files import read_json, replace_file, write_figure, write_json, write_text
from wordforest.store.formats import read_vectors, vector_files, write_vectors
from wordforest.store.layout import COUNTS
from wordforest.store.lock import locked, remove_leftovers, workplace
from wordforest.store.run import Run, check_free, is_run_folder, load_run, save_run
from wordforest.store.tensors import write_sparse

__all__ = [
    "COUNTS",
    "Run",
    "begin_checkpoint",
    "check_free",
    "checkpoint_folder",
    "checkpoint_settings",
    "drop_empty_checkpoint",
    "has_checkpoint",
    "is_counts_folder",
    "is_run_folder",
    "load_run",
    "load_state",
    "locked",
    "read_counts",
    "read_json",
    "read_vectors",
    "remove_checkpoint",
    "remove_leftovers",
    "replace_file",
    "save_counts",
    "save_run",
    "save_state",
    "vector_files",
    "workplace",
    "write_figure",
    "write_json",
    "write_sparse",
    "write_text",
    "write_vectors",
]
