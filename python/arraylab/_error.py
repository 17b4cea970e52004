"""The error that everything in this package raises."""


class ArraylabError(Exception):
    """What the command `arraylab` would print and exit with.

    ``str(error)`` is the whole text, ``error.hint`` what to do about it ("" where there is nothing to add), and
    ``error.exit_status`` the command's: 1 a claim or requirement failed, 2 wrong input and nothing was written, 3 something that
    had begun failed, 130 interrupted.

    >>> import arraylab
    >>> try:
    ...     arraylab.Array.load("flashsytem-840")
    ... except arraylab.ArraylabError as error:
    ...     print(error.exit_status)
    2
    """

    def __init__(self, text: str, exit_status: int = 2):
        super().__init__(text)
        self.exit_status = exit_status
        self.hint = text.split("\nhint: ", 1)[1] if "\nhint: " in text else ""
