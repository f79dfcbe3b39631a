"""A stand-in for mixpanel, which cannot send anything. aibox turns Aider's analytics off."""


class MixpanelException(Exception):
    pass
