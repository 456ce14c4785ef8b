"""Raw text to token ids: where text and documents come from, what a word is, which words are kept."""

from wordforest.text.documents import Document, read_documents
from wordforest.text.tokens import NUMBER, RARE, TextRules, Tokens, Vocabulary, WordRules, choose_words, read_tokens

__all__ = [
    "NUMBER",
    "RARE",
    "Document",
    "TextRules",
    "Tokens",
    "Vocabulary",
    "WordRules",
    "choose_words",
    "read_documents",
    "read_tokens",
]
