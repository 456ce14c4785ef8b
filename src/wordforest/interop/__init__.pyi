# What the room offers, listed once: type checkers read it here, and lazy_loader at run time.
from .atlas import write_atlas as write_atlas
from .frames import to_frame as to_frame
from .frames import write_codes as write_codes
from .gensim import from_gensim as from_gensim
from .gensim import to_gensim as to_gensim
from .huggingface import write_huggingface as write_huggingface
from .matrices import code_rows as code_rows
from .matrices import fit_rows as fit_rows
from .matrices import load_coder as load_coder
from .matrices import row_blocks as row_blocks
from .sae_lens import write_sae_lens as write_sae_lens
from .scikit_learn import WordForestVectorizer as WordForestVectorizer
from .sentence_transformers import read_sentence_transformers as read_sentence_transformers
from .sentence_transformers import write_sentence_transformers as write_sentence_transformers
from .spacy import from_spacy as from_spacy
from .spacy import to_spacy as to_spacy
from .spacy import write_spacy as write_spacy
