"""What reviewers of pyOpenSci and of JOSS look for, line by line: make checklist.

python tools/checklist.py           a table: yes, no, or needs a person; ends with 1 if there is a no
python tools/checklist.py --open    without what is there already

The lines are those of the two review lists in our own words: pyOpenSci's template for reviews, JOSS' review checklist
and its format of papers, as of 2026. A line is a check of the repository (checks.py) or says what a person has to do.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from checks import (
    HOME,
    Answer,
    Check,
    Item,
    Repository,
    data_sets,
    documented,
    extras,
    figures,
    files,
    has_badges,
    has_mail,
    has_own_addresses,
    headed,
    licence,
    makes,
    metadata,
    paper_head,
    paper_pictures,
    paper_references,
    paper_section,
    paper_words,
    person,
    promises,
    pythons,
    reports,
    says,
    tests_of_rooms,
    together,
    tutorials,
    until,
    with_examples,
    workflows,
    written,
)

COLOURS = {"yes": "green", "no": "bold red", "needs a person": "yellow"}

NEED = says("README.md", r"for (whom|people|those|researchers)|who is it for|statement of need")
INSTALL = together(says("README.md", r"^#+ .*install", r"pip install", r"make demo", r"make test"), extras)
DEMONSTRATION = together(says("README.md", r"^```shell", r"^```python"), tutorials)
COMPARISON = together(says("README.md", "gensim", "BERTopic"), says("docs/index.md", "SPAMS"))
GALLERY = together(files("docs/gallery*"), makes("gallery"))
TESTED = together(tests_of_rooms, makes("test"), files(".ci/run"))
PROMISED = together(promises, files("tests/house/test_docs.py"))
MEASURED = together(figures("README.md", "docs/*.md"), makes("reports", "figures"))
SITE = together(
    makes("docs"), says("mkdocs.yml", "^strict: true", "reference/index.md"), says(".ci/run", r"^make .*\bdocs\b")
)
STYLE = together(
    says("Makefile", "ruff check", "ruff format --check", "mypy"),
    files(".pre-commit-config.yaml", ".devcontainer/devcontainer.json", "src/wordforest/py.typed"),
)
CONTRIBUTING = together(
    headed("CONTRIBUTING.md", "Set up", "The house", "Add a penalty", "Add a file format", "Add a task", "Commits"),
    says("CODE_OF_CONDUCT.md", "Contributor Covenant", "in private"),
)
ISSUES = together(
    files(".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/idea.yml", ".github/pull_request_template.md"),
    headed("SECURITY.md", "To report"),
)
HELP = together(says("SUPPORT.md", "question", "bug", "SECURITY.md"), files("docs/faq.md", "ROADMAP.md"))
RELEASES = together(says("pyproject.toml", r"^build-backend"), files("docs/releasing.md", "CHANGELOG.md"))
CITATION = together(
    says("README.md", r"CITATION\.cff"), says("CITATION.cff", "^cff-version:", "^title:", "^authors:", "^license:")
)


def pythons_today(repository: Repository) -> list[str]:
    """Look at the versions of Python as of today."""
    return pythons(repository, datetime.now(UTC).date())


Lines = Sequence[tuple[str, str, Check]]

PYOPENSCI: Lines = [
    ("documentation", "README: the problem, and for whom", NEED),
    ("documentation", "README: installation, also from a clone, and all extras", INSTALL),
    ("documentation", "tutorials of the main uses, run by tests", tutorials),
    ("documentation", "a gallery of worked examples", GALLERY),
    ("documentation", "docstrings of everything public", documented),
    ("documentation", "examples for everything public", with_examples),
    ("documentation", "examples of docstrings run in a test", files("tests/house/test_reference.py")),
    ("documentation", "how to contribute, and a code of conduct", CONTRIBUTING),
    ("documentation", "metadata of the package", metadata),
    ("documentation", "e-mail of a maintainer", until(has_mail, "put an address into pyproject.toml, authors")),
    ("readme", "the name first, then what it is", says("README.md", r"\A# wordforest\n\n\w")),
    ("readme", "badges", until(has_badges, "tests, docs, Python, version: once repository, site and release are up")),
    ("readme", "what is needed beyond installing (data)", headed("docs/evaluation.md", "Data")),
    ("readme", "links to tutorials, or to a page that has them", says("README.md", r"docs/(start|tutorials|index)")),
    ("readme", "a short demonstration", DEMONSTRATION),
    ("readme", "address of the site", person("publish site/, open the address of pyproject.toml, urls")),
    ("readme", "how it compares with other packages", COMPARISON),
    ("readme", "how to cite it", CITATION),
    ("usability", "one site, built without warnings", SITE),
    ("usability", "easy to install", person("install it on a machine that never saw it, as the README says")),
    ("functionality", "installation as described, tried by machines", together(makes("demo"), workflows)),
    ("functionality", "what is promised has a test", PROMISED),
    ("functionality", "claims of speed and quality have results files", MEASURED),
    ("functionality", "tests of every part", TESTED),
    ("functionality", "tests pass elsewhere", person("run make test on a second machine, from the tagged release")),
    ("functionality", "continuous integration", workflows),
    ("functionality", "versions of Python that still get fixes", pythons_today),
    ("functionality", "one style, checked before a commit", STYLE),
    ("packaging", "a build backend, a changelog, how a release is made", RELEASES),
    ("packaging", "a release on PyPI and conda-forge", person("follow docs/releasing.md")),
    ("review", "use of generative tools", person("tell which were used for what, and how that was checked")),
    ("review", "no conflict of interest", person("reviewers say so")),
]

JOSS: Lines = [
    ("general", "source that all can clone", person("publish it, open the address of pyproject.toml signed out")),
    ("general", "a licence that OSI approved, whole, everywhere the same", licence),
    ("general", "authorship", person("the one who submits contributed much; all who did are named, and have agreed")),
    ("general", "scope and effort", person("six months of public history, releases, issues; ask the editors first")),
    ("general", "data can be had", data_sets),
    ("general", "results can be made again", together(reports, makes("reports"))),
    ("general", "research on people or animals", person("confirm that there is none")),
    ("functionality", "installation", person("follow the README on a clean machine, watch somebody else do it")),
    ("functionality", "functional claims", together(PROMISED, TESTED)),
    ("functionality", "claims of performance", MEASURED),
    ("documentation", "a statement of need", NEED),
    ("documentation", "dependencies listed, and installed by a tool", INSTALL),
    ("documentation", "examples of real use", together(tutorials, GALLERY, files("docs/notebooks/*.ipynb"))),
    ("documentation", "the functions are documented", together(documented, SITE)),
    ("documentation", "automated tests", together(TESTED, workflows)),
    ("documentation", "how to contribute", CONTRIBUTING),
    ("documentation", "how to report problems", ISSUES),
    ("documentation", "where to get help", HELP),
    ("documentation", "forms lead to this repository", until(has_own_addresses, "OWNER in .github/ISSUE_TEMPLATE")),
    ("paper", "metadata above the paper", paper_head),
    ("paper", "authors, ORCIDs, affiliations", until(written(""), "fill in the first lines of paper/paper.md")),
    ("paper", "between 750 and 1,750 words", paper_words),
    ("paper", "summary for people outside the field", paper_section("Summary")),
    ("paper", "statement of need", paper_section("Statement of need")),
    ("paper", "state of the field", paper_section("State of the field")),
    ("paper", "software design", paper_section("Software design")),
    ("paper", "research impact", paper_section("Research impact statement")),
    ("paper", "research that used it", person("name it in the impact statement, once there is some")),
    ("paper", "AI usage disclosure", until(written("AI usage disclosure"), "write it, in paper/paper.md")),
    ("paper", "acknowledgements, financial support", until(written("Acknowledgements"), "write it, in paper/paper.md")),
    ("paper", "references: cited, listed, with addresses", paper_references),
    ("paper", "references are right", person("compare paper/paper.bib with the publishers' pages")),
    ("paper", "figures are those of results files", figures("paper/paper.md")),
    ("paper", "pictures are there", paper_pictures),
    ("paper", "quality of writing", person("read it aloud; have somebody outside the field read the summary")),
    ("archive", "CITATION.cff", CITATION),
    ("archive", "a tagged release with a DOI", person("tag it, archive it (Zenodo), put the DOI into CITATION.cff")),
]

ITEMS = [Item(*line) for line in [*(("pyOpenSci", *one) for one in PYOPENSCI), *(("JOSS", *one) for one in JOSS)]]


def table_of(answers: Sequence[tuple[Item, Answer]]) -> Table:
    """Return the answers as a table."""
    table = Table("list", "part", "line", "", "missing, or to do", box=None, pad_edge=False)
    for item, (verdict, why) in answers:
        table.add_row(item.asked_by, item.part, item.what, f"[{COLOURS[verdict]}]{verdict}[/]", why.replace("[", r"\["))
    return table


def main(arguments: Sequence[str], home: Path = HOME) -> int:
    """Print the table and its sum; return 1 if there is a no."""
    repository = Repository(home)
    answers = [(item, item.answer(repository)) for item in ITEMS]
    shown = [one for one in answers if "--open" not in arguments or one[1].verdict != "yes"]
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print(table_of(shown))
    count = {verdict: sum(answer.verdict == verdict for _, answer in answers) for verdict in COLOURS}
    console.print("\n" + ", ".join(f"{verdict}: {n}" for verdict, n in count.items()))
    return int(count["no"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
