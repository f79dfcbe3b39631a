"""A stand-in for posthog, which cannot send anything. aibox turns Aider's analytics off."""


class Posthog:
    def __init__(self, *args, **options):
        raise RuntimeError("analytics are off")
