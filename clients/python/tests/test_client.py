"""Tests of the client against a server: AIBOX_URL and AIBOX_TOKEN name it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import os
import tarfile
import unittest

from aibox import AsyncClient, AsyncSandbox, Client, Sandbox, errors, schema

# Prints 100 MiB whose SHA-256 the tests compute on their own.
BLOCKS = 1600
PRINT = f"""
import hashlib, sys
for i in range({BLOCKS}):
    sys.stdout.buffer.write(hashlib.sha256(str(i).encode()).digest() * 2048)
"""


def expected_digest() -> str:
    digest = hashlib.sha256()
    for i in range(BLOCKS):
        digest.update(hashlib.sha256(str(i).encode()).digest() * 2048)
    return digest.hexdigest()


class SandboxTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.client = Client()
        cls.sandbox = Sandbox.create(timeout=600, metadata={"test": "sync"}, env={"COLOR": "blue"}, client=cls.client)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.sandbox.destroy()
        cls.client.close()

    def test_a_sandbox_is_described(self) -> None:
        info = self.sandbox.refresh()
        self.assertEqual(info.state, schema.SandboxState.RUNNING)
        self.assertEqual(info.template, "code")
        self.assertIsNotNone(info.create_time)
        self.assertEqual(info.metadata, {"test": "sync"})

    def test_a_value_that_an_enum_does_not_have_is_no_default(self) -> None:
        with self.assertRaisesRegex(ValueError, "'puase' is not a OnTimeout: use unspecified, destroy, pause"):
            Sandbox.create(on_timeout="puase", client=self.client)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "runing"):
            list(Sandbox.list(states=["runing"], client=self.client))  # type: ignore[list-item]
        self.assertIn(self.sandbox.sandbox_id, [found.sandbox_id for found in Sandbox.list(states=["running"], client=self.client)])  # type: ignore[list-item]

    def test_a_command_returns_its_output_and_exit_code(self) -> None:
        result = self.sandbox.exec(["sh", "-c", "cat; echo $COLOR $SIZE; echo oops >&2; exit 3"], stdin="in\n", env={"SIZE": "big"})
        self.assertEqual((result.exit_code, result.stdout, result.stderr), (3, "in\nblue big\n", "oops\n"))
        self.assertFalse(result.ok)
        with self.assertRaisesRegex(errors.CommandError, "exit code 3: oops"):
            result.check()
        self.assertEqual(self.sandbox.exec("printf %s a | tr a b").stdout, "b")

    def test_output_beyond_the_bound_is_reported(self) -> None:
        result = self.sandbox.exec(["head", "-c", "5000", "/dev/zero"], max_output_bytes=1000)
        self.assertEqual((len(result.response.stdout), result.response.stdout_dropped_bytes, result.truncated), (1000, 4000, True))

    def test_a_timeout_ends_a_command(self) -> None:
        result = self.sandbox.exec(["sleep", "60"], timeout=0.3)
        self.assertTrue(result.timed_out)

    def test_events_of_a_command_end_with_its_exit(self) -> None:
        events = list(self.sandbox.exec_stream("echo one; echo two >&2; exit 7"))
        self.assertEqual([event.seq for event in events], list(range(1, len(events) + 1)))
        self.assertEqual(b"".join(event.stdout.data for event in events if event.stdout), b"one\n")
        self.assertEqual(b"".join(event.stderr.data for event in events if event.stderr), b"two\n")
        assert events[-1].exit is not None
        self.assertEqual(events[-1].exit.code, 7)

    def test_a_process_takes_input_and_signals(self) -> None:
        process = self.sandbox.start(["cat"], stdin=True)
        process.send_input("hello ")
        process.send_input(b"world")
        process.close_input()
        self.assertEqual(b"".join(process.output()), b"hello world")
        self.assertEqual(process.wait().code, 0)
        self.assertIn(process.process_id, [found.process_id for found in self.sandbox.processes()])
        sleeper = self.sandbox.start(["sleep", "60"])
        sleeper.kill()
        self.assertEqual(sleeper.wait().signal, 9)
        again = self.sandbox.process(process.process_id)
        self.assertEqual(b"".join(again.output()), b"hello world")
        with self.assertRaises(errors.ConflictError):
            process.send_input("late")

    def test_code_returns_its_status(self) -> None:
        result = self.sandbox.run_python("print(6 * 7)")
        self.assertEqual((result.status, result.stdout), (schema.CodeStatus.COMPLETED, "42\n"))
        failed = self.sandbox.run_code("1 / 0")
        self.assertEqual(failed.status, schema.CodeStatus.FAILED)
        self.assertIn("ZeroDivisionError", failed.error + failed.stderr)
        with self.assertRaises(errors.CommandError):
            failed.check()

    def test_files_are_written_and_read(self) -> None:
        sandbox = self.sandbox
        content = os.urandom(1_000_000)
        self.assertEqual(sandbox.write_file("made/data.bin", content, mode=0o600).size_bytes, len(content))
        self.assertEqual(sandbox.read_file("made/data.bin"), content)
        self.assertEqual(b"".join(sandbox.read_stream("made/data.bin", offset=10, length=20)), content[10:30])
        sandbox.write_file("made/text.txt", "grün\n")
        self.assertEqual(sandbox.read_text("made/text.txt"), "grün\n")
        sandbox.write_file("made/empty", io.BytesIO(b""))
        self.assertEqual(sandbox.read_file("made/empty"), b"")
        sandbox.make_dir("made/folder")
        sandbox.move("made/empty", "made/moved")
        names = [entry.name for entry in sandbox.list_files("made")]
        self.assertEqual(names, ["data.bin", "folder", "moved", "text.txt"])
        info = sandbox.stat("made/data.bin")
        self.assertEqual((info.type, info.mode, info.size_bytes), (schema.FileType.FILE, 0o600, len(content)))
        sandbox.remove("made/moved")
        with self.assertRaises(errors.NotFoundError):
            sandbox.stat("made/moved")
        sandbox.remove("made", recursive=True)
        with self.assertRaises(errors.NotFoundError):
            sandbox.read_file("made/text.txt")

    def test_a_folder_is_watched(self) -> None:
        self.sandbox.make_dir("watched")
        with contextlib.closing(self.sandbox.watch("watched")) as events:  # type: ignore[type-var]
            self.assertEqual(next(events).type, schema.FileEventType.UNSPECIFIED)
            self.sandbox.write_file("watched/new", "x")
            seen = next(event for event in events if event.path.endswith("/watched/new"))
            self.assertEqual(seen.type, schema.FileEventType.CREATED)

    def test_a_download_warns_about_what_its_archive_lacks(self) -> None:
        self.sandbox.exec("mkdir special; mkfifo special/pipe; echo hello > special/file", check=True)
        with self.assertWarnsRegex(errors.IncompleteCopyWarning, "special is not complete: .*pipe") as caught:
            pieces = list(self.sandbox.download("special"))
        self.assertEqual(caught.filename, __file__)
        self.assertTrue(all(pieces))
        with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as tar:
            self.assertEqual(sorted(tar.getnames()), ["special", "special/file"])

    def test_folders_are_copied_as_archives(self) -> None:
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            member = tarfile.TarInfo("folder/file")
            member.size = 5
            tar.addfile(member, io.BytesIO(b"hello"))
        archive.seek(0)
        self.sandbox.upload("uploaded", archive)
        self.assertEqual(self.sandbox.read_file("uploaded/folder/file"), b"hello")
        back = io.BytesIO(b"".join(self.sandbox.download("uploaded/folder")))
        with tarfile.open(fileobj=back) as tar:
            self.assertIn("folder/file", tar.getnames())

    def test_an_upload_warns_about_what_is_not_extracted(self) -> None:
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            member = tarfile.TarInfo("pipe")
            member.type = tarfile.FIFOTYPE
            tar.addfile(member)
        with self.assertWarnsRegex(errors.IncompleteCopyWarning, "unpacked is not complete: .*pipe") as caught:
            self.sandbox.upload("unpacked", archive.getvalue())
        self.assertEqual(caught.filename, __file__)

    @unittest.skipUnless(os.environ.get("AIBOX_TEST_REAL"), "needs a real sandbox")
    def test_a_context_keeps_its_variables(self) -> None:
        context = self.sandbox.create_context("python")
        self.assertTrue(self.sandbox.run_code("x = 41", context=context).ok)
        self.assertEqual(self.sandbox.run_code("print(x + 1)", context=context).stdout, "42\n")
        self.sandbox.delete_context(context)
        with self.assertRaises(errors.NotFoundError):
            self.sandbox.run_code("x", context=context)

    def test_the_lists_of_hosts_are_absent_empty_or_given(self) -> None:
        for hosts, want in ((None, None), ([], []), (["example.com"], ["example.com"])):
            with self.subTest(hosts=hosts), Sandbox.create(allowed_hosts=hosts, client=self.client) as sandbox:
                policy = sandbox.network()
                if want is None:
                    self.assertNotEqual(policy.mode, schema.NetworkMode.ALLOWLIST)
                else:
                    self.assertEqual((policy.mode, (policy.allow or schema.HostList()).hosts), (schema.NetworkMode.ALLOWLIST, want))

    def test_the_end_of_a_sandbox_moves(self) -> None:
        before = self.sandbox.refresh().expire_time
        after = self.sandbox.extend(60).expire_time
        assert before is not None and after is not None
        self.assertAlmostEqual((after - before).total_seconds(), 60, delta=2)
        idle = self.sandbox.set_idle_timeout(90).idle_timeout
        assert idle is not None
        self.assertEqual(idle.total_seconds(), 90)

    def test_sandboxes_are_listed_by_pages_and_metadata(self) -> None:
        made = [Sandbox.create(metadata={"batch": "pages"}, network="none", client=self.client) for _ in range(3)]
        try:
            found = [sandbox.sandbox_id for sandbox in Sandbox.list(metadata={"batch": "pages"}, client=self.client)]
            self.assertEqual(found, [sandbox.sandbox_id for sandbox in reversed(made)])
        finally:
            for sandbox in made:
                sandbox.destroy()

    def test_a_sandbox_is_destroyed_at_the_end_of_its_block(self) -> None:
        with self.assertRaises(RuntimeError), Sandbox.create(client=self.client) as sandbox:
            raise RuntimeError
        self.assertEqual(sandbox.refresh().state, schema.SandboxState.ENDED)
        sandbox.destroy()
        with self.assertRaises(errors.ConflictError):
            sandbox.exec(["true"])

    def test_errors_have_a_class_a_sentence_hints_and_an_id(self) -> None:
        with self.assertRaises(errors.NotFoundError) as caught:
            Sandbox.get("no-such", client=self.client)
        self.assertEqual(caught.exception.kind, "not_found")
        self.assertIn("no-such", caught.exception.message)
        self.assertTrue(caught.exception.hints)
        self.assertTrue(caught.exception.request_id)
        with self.assertRaises(errors.NotFoundError):
            list(Sandbox(self.client, schema.Sandbox(sandbox_id="no-such")).read_stream("x"))
        with self.assertRaises(errors.NotFoundError):
            Sandbox(self.client, schema.Sandbox(sandbox_id="no-such")).write_file("x", b"x" * 4_000_000)
        with self.assertRaises(errors.NotFoundError):
            Sandbox.create("no-such", client=self.client)
        with Client(token="wrong") as other, self.assertRaises(errors.UnauthenticatedError):
            other.info()
        with Client(token=os.environ["AIBOX_TEST_READ_TOKEN"]) as reader, self.assertRaises(errors.RefusedError):
            Sandbox.create(client=reader)
        with self.assertRaises(errors.InvalidError):
            Client("ftp://localhost")
        with Client("http://127.0.0.1:1") as nowhere, self.assertRaises(errors.ConnectionLostError):
            nowhere.info()

    def test_a_unix_socket_needs_no_token(self) -> None:
        with Client("unix:" + os.environ["AIBOX_TEST_SOCKET"], token="") as client:
            with Sandbox.create(client=client) as sandbox:
                self.assertEqual(sandbox.exec(["echo", "hi"]).stdout, "hi\n")
                with self.assertRaises(errors.UnsupportedError):
                    sandbox.port_url(80)

    def test_a_stream_of_100_mib_is_whole_although_its_connection_is_cut(self) -> None:
        digest = hashlib.sha256()
        with Client(os.environ["AIBOX_TEST_CUT_URL"]) as client:
            sandbox, codes = Sandbox(client, self.sandbox.info), []
            for event in sandbox.exec_stream(["python3", "-c", PRINT]):
                if event.stdout:
                    digest.update(event.stdout.data)
                if event.exit:
                    codes.append(event.exit.code)
        self.assertEqual((codes, digest.hexdigest()), ([0], expected_digest()))


class AsyncSandboxTest(unittest.IsolatedAsyncioTestCase):
    async def test_a_sandbox_does_several_things_at_once(self) -> None:
        async with AsyncClient() as client, await AsyncSandbox.create(timeout=600, client=client) as sandbox:
            results = await asyncio.gather(*(sandbox.exec(["sh", "-c", f"sleep 0.2; echo {i}"]) for i in range(5)))
            self.assertEqual([result.stdout for result in results], [f"{i}\n" for i in range(5)])
            content = os.urandom(700_000)
            await sandbox.write_file("data", io.BytesIO(content))
            self.assertEqual(await sandbox.read_file("data"), content)
            self.assertEqual((await sandbox.run_python("print(1)")).stdout, "1\n")
            self.assertEqual([entry.name for entry in await sandbox.list_files()][-1:], ["data"])
            process = await sandbox.start(["cat"], stdin=True)
            await process.send_input("x")
            await process.close_input()
            self.assertEqual(b"".join([part async for part in process.output()]), b"x")
            with self.assertRaises(errors.NotFoundError):
                await sandbox.read_file("missing")

    async def test_errors_of_uploads_and_addresses_are_reported(self) -> None:
        async with AsyncClient() as client:
            missing = AsyncSandbox(client, schema.Sandbox(sandbox_id="no-such"))
            with self.assertRaises(errors.NotFoundError):
                await missing.write_file("x", b"x" * 4_000_000)
        async with AsyncClient("http://127.0.0.1:1") as nowhere:
            with self.assertRaises(errors.ConnectionLostError):
                await nowhere.info()

    async def test_a_call_can_be_canceled(self) -> None:
        async with AsyncClient() as client, await AsyncSandbox.create(timeout=600, client=client) as sandbox:
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(sandbox.exec(["sleep", "60"]), 0.3)
            self.assertEqual((await sandbox.exec(["echo", "after"])).stdout, "after\n")

    async def test_a_unix_socket_needs_no_token(self) -> None:
        async with AsyncClient("unix:" + os.environ["AIBOX_TEST_SOCKET"], token="") as client:
            async with await AsyncSandbox.create(client=client) as sandbox:
                self.assertEqual((await sandbox.exec(["echo", "hi"])).stdout, "hi\n")

    async def test_a_stream_of_100_mib_is_whole_although_its_connection_is_cut(self) -> None:
        digest = hashlib.sha256()
        async with AsyncClient() as direct, await AsyncSandbox.create(timeout=600, client=direct) as sandbox:
            async with AsyncClient(os.environ["AIBOX_TEST_CUT_ASYNC_URL"]) as client:
                async for event in AsyncSandbox(client, sandbox.info).exec_stream(["python3", "-c", PRINT]):
                    if event.stdout:
                        digest.update(event.stdout.data)
        self.assertEqual(digest.hexdigest(), expected_digest())


if __name__ == "__main__":
    unittest.main()
