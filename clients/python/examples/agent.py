"""Runs a coding agent on a file, reads its change, and takes it as a git bundle."""

import io
import tarfile

from aibox import Session

SOURCE = b'print("hello")\n'

tree = io.BytesIO()
with tarfile.open(fileobj=tree, mode="w") as archive:
    file = tarfile.TarInfo("main.py")
    file.size = len(SOURCE)
    archive.addfile(file, io.BytesIO(SOURCE))

session = Session.start("Greet the world in main.py", agent="codex", tree=tree.getvalue())
print(session.wait().state.value)
changes = session.changes()
for changed in changes.files:
    print(changed.path, "+%d -%d" % (changed.added_lines, changed.removed_lines))
accepted = session.accept(changes)
print(accepted.branch.split("/")[0], accepted.bundle[:15].decode())
session.delete()
