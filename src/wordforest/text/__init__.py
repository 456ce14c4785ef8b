"""Raw text to token ids: where text comes from, what a word is, which words are kept."""

from wordforest.text.tokens import TextRules, Tokens, read_tokens
from wordforest.text.vocabulary import NUMBER, RARE, Vocabulary, WordRules, choose_words

__all__ = ["NUMBER", "RARE", "TextRules", "Tokens", "Vocabulary", "WordRules", "choose_words", "read_tokens"]
