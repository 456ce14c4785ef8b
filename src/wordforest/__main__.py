"""``python -m wordforest``: the command line."""

from wordforest.cli import main

if __name__ == "__main__":
    main()
