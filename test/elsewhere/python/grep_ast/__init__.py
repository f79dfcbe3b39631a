"""A stand-in for grep_ast and tree_sitter: it knows no language.

Aider's map of a repository then has names of files and no symbols, and its linter checks
no syntax. Its tag cache is real, but holds nothing.
"""


def filename_to_lang(filename):
    return None


class TreeContext:
    def __init__(self, filename, code, **options):
        raise ValueError("this stand-in knows no language")
