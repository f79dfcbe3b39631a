"""Part of the stand-in for grep_ast."""

PARSERS = {}
