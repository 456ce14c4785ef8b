"""Raw text to token ids: where text comes from, what a word is, which words are kept."""

from wordforest.text.tokens import NUMBER, RARE, TextRules, Tokens, Vocabulary, WordRules, choose_words, read_tokens

__all__ = ["NUMBER", "RARE", "TextRules", "Tokens", "Vocabulary", "WordRules", "choose_words", "read_tokens"]
