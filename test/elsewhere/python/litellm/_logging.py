"""Part of the stand-in for litellm, which logs nothing."""


def _disable_debugging():
    pass
