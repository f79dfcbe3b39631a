"""Uses real sandboxes, and prints what it sees. An end-to-end test runs it against `aibox serve`.

INDEX_HOST is a host with a package index that has the package small, and INDEX_CA its authority.
"""

import http.client
import os
from urllib.parse import urlsplit

from aibox import Client, Sandbox
from aibox.errors import CommandError, ConflictError
from aibox.schema import DeleteSnapshotRequest, ListSnapshotsRequest, Overflow

host = os.environ["INDEX_HOST"]
env = {"PIP_INDEX_URL": f"https://{host}/pip/", "PIP_CERT": "/home/user/ca.pem", "PIP_RETRIES": "1"}


def module(sandbox: Sandbox) -> str:
    return sandbox.exec(["python3", "-m", "small"]).stdout.strip()


def use(sandbox: Sandbox, client: Client) -> None:
    sandbox.write_file("/home/user/ca.pem", os.environ["INDEX_CA"])

    # Packages come only from hosts in the list.
    sandbox.pip_install("small", timeout=900)
    print("installed", module(sandbox))
    sandbox.set_network(allowed_hosts=["a.example"])
    try:
        sandbox.pip_install("small>1")
    except CommandError as err:
        explained = sandbox.explain_network(host, 443)
        print("refused", b"403" in err.stderr, explained.allowed, explained.reason)

    # A browser reaches a port by its signed URL.
    next(iter(sandbox.start(["python3", "-u", "-m", "http.server", "8000"]).output()))
    url = urlsplit(sandbox.open_port(8000))
    browser = http.client.HTTPConnection("127.0.0.1", url.port)
    browser.request("GET", f"{url.path}?{url.query}", headers={"Host": url.netloc})
    print("opened", browser.getresponse().status)

    # Nothing runs while the sandbox is paused; then it continues as it was.
    context = sandbox.create_context()
    sandbox.run_code("n = 41", context=context)
    print(sandbox.pause().state.value)
    try:
        sandbox.exec(["true"])
    except ConflictError as err:
        print(err.kind)
    print(sandbox.resume().state.value, sandbox.run_code("n + 1", context=context).result)

    # Other sandboxes continue from its state, and do not change it.
    taken = sandbox.snapshot("ready")
    with Sandbox.create(snapshot=taken, client=client) as restored:
        restored.write_file("/tmp/own", "x")
        print("restored", module(restored), restored.info.snapshot_id == taken.snapshot_id)
    with sandbox.fork() as fork:
        print("forked", module(fork), fork.exec(["test", "-e", "/tmp/own"]).exit_code)
    print([one.name for one in client.sandboxes.list_snapshots(ListSnapshotsRequest()).snapshots])
    client.sandboxes.delete_snapshot(DeleteSnapshotRequest(snapshot_id=taken.snapshot_id))
    print([one.name for one in client.sandboxes.list_snapshots(ListSnapshotsRequest()).snapshots])

    # A process whose record is full waits, or drops its oldest output, as its caller chose.
    for overflow in (Overflow.HOLD, Overflow.DROP):
        for tty in (None, (24, 80)):
            process = sandbox.start("head -c 4000000 /dev/zero", keep_bytes=1 << 20, overflow=overflow, tty=tty)
            if overflow is Overflow.DROP:
                process.wait()
            events = [*process.events()]
            size = sum(len(event.stdout.data) for event in events if event.stdout)
            print(overflow.value, size == 4_000_000, any(event.lost for event in events))

    used = sandbox.metrics()
    print("measured", used.disk_bytes > 0, used.download_bytes > 0, used.input_tokens)


with Client() as own, Sandbox.create(allowed_hosts=["pip"], env=env, timeout=900, client=own) as made:
    use(made, own)
