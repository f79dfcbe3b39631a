"""A stand-in for oslex, which quotes for the shell of the system: here a POSIX shell."""

from shlex import join, quote, split

__all__ = ["join", "quote", "split"]
