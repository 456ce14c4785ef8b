# What `import wordforest as wf` offers, listed once: type checkers read it here, and lazy_loader at run time.
from . import coder as coder
from . import documents as documents
from . import evaluation as evaluation
from . import figures as figures
from . import interop as interop
from . import reading as reading
from . import text as text
from .coder.estimator import ForestCoder as ForestCoder
from .coder.forest import Forest as Forest
from .counts import Counts as Counts
from .counts import count as count
from .counts.association import pmi as pmi
from .counts.association import ppmi as ppmi
from .documents.concordance import concordance as concordance
from .documents.topics import TopicForest as TopicForest
from .errors import InputError as InputError
from .evaluation import Score as Score
from .evaluation import evaluate as evaluate
from .interop.scikit_learn import WordForestVectorizer as WordForestVectorizer
from .jobs.baseline import baseline as baseline
from .jobs.count import count_corpus as count_corpus
from .jobs.documents import load_topics as load_topics
from .jobs.documents import save_topics as save_topics
from .jobs.encode import encode_counts as encode_counts
from .jobs.slices import compare as compare
from .jobs.train import train as train
from .runtime.cluster import Cluster as Cluster
from .runtime.machine import Threads as Threads
from .store import Run as Run
from .store import load_run as load_run
from .store import read_vectors as read_vectors
from .store import save_run as save_run
from .store import write_vectors as write_vectors
from .text import Vocabulary as Vocabulary
from .vectors import Vectors as Vectors

__version__: str
