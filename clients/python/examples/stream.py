"""Shows the output of a command while it runs."""

from aibox import Sandbox

with Sandbox.create(timeout=300) as sandbox:
    for event in sandbox.exec_stream("for i in 1 2 3; do echo line $i; sleep 0.1; done; exit 4"):
        if event.stdout:
            print(event.seq, event.stdout.data.decode().strip())
        elif event.exit:
            print("exit code", event.exit.code)
