"""A stand-in for watchfiles, which Aider needs only for --watch-files."""


def watch(*paths, **options):
    raise RuntimeError("this stand-in watches nothing")
