"""The only room that opens result files: RUN and COUNTS folders, and the vector formats of other tools."""

from wordforest.store.counts import is_counts_folder, load_counts, save_counts
from wordforest.store.files import read_json, replace_file, write_figure, write_json, write_text
from wordforest.store.formats import read_vectors, write_vectors
from wordforest.store.run import Run, is_run_folder, load_run, prepare_folder, save_run

__all__ = [
    "Run",
    "is_counts_folder",
    "is_run_folder",
    "load_counts",
    "load_run",
    "prepare_folder",
    "read_json",
    "read_vectors",
    "replace_file",
    "save_counts",
    "save_run",
    "write_figure",
    "write_json",
    "write_text",
    "write_vectors",
]
