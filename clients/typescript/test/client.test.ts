// Tests of the client against a server: AIBOX_URL and AIBOX_TOKEN name it.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";

import * as aibox from "../src/index.ts";
import { Sandbox as SandboxMessage } from "../src/schema.ts";

const env = process.env as Record<string, string>;
const client = new aibox.Client();
let sandbox: aibox.Sandbox;

before(async () => {
  sandbox = await aibox.Sandbox.create({ timeout: 600, metadata: { test: "typescript" }, env: { COLOR: "blue" }, client });
});

after(async () => {
  await sandbox.destroy();
  await client.close();
});

test("a sandbox is described", async () => {
  const info = await sandbox.refresh();
  assert.equal(info.state, "running");
  assert.equal(info.template, "code");
  assert.ok(info.createTime instanceof Date);
  assert.deepEqual(info.metadata, { test: "typescript" });
});

test("an option that does not exist, or has no value, is no default", async () => {
  const create = (options: object): Promise<aibox.Sandbox> => aibox.Sandbox.create({ client, ...options });
  await assert.rejects(create({ allowed_hosts: [] }), /"allowed_hosts" is not known/);
  await assert.rejects(create({ limits: { memory: 512 } }), /"memory" is not known/);
  await assert.rejects(create({ onTimeout: "puase" }), aibox.InvalidError);
  await assert.rejects(sandbox.exec("true", { timeout: Number.NaN }), /NaN/);
  await assert.rejects(sandbox.exec("true", { maxOutputBytes: Number("many") }), /NaN/);
});

test("a value of an enum that only newer servers know is unspecified", () => {
  assert.equal(SandboxMessage.fromJSON({ state: "SANDBOX_STATE_RUNNING" }).state, "running");
  for (const state of ["SANDBOX_STATE_FROZEN", 77]) assert.equal(SandboxMessage.fromJSON({ state }).state, "unspecified");
});

test("a command returns its output and exit code", async () => {
  const result = await sandbox.exec(["sh", "-c", "cat; echo $COLOR $SIZE; echo oops >&2; exit 3"], { stdin: "in\n", env: { SIZE: "big" } });
  assert.deepEqual([result.exitCode, result.stdout, result.stderr], [3, "in\nblue big\n", "oops\n"]);
  await assert.rejects(sandbox.exec("echo oops >&2; exit 3", { check: true }), (err: aibox.CommandError) => {
    return err instanceof aibox.CommandError && err.exitCode === 3 && err.message.endsWith(": oops");
  });
  const long = await sandbox.exec(["head", "-c", "5000", "/dev/zero"], { maxOutputBytes: 1000 });
  assert.deepEqual([long.response.stdout.length, long.truncated], [1000, true]);
  assert.equal((await sandbox.exec(["sleep", "60"], { timeout: 0.3 })).timedOut, true);
});

test("a process takes input and signals", async () => {
  const cat = await sandbox.start(["cat"], { stdin: true });
  await cat.sendInput("hello ");
  await cat.sendInput(new TextEncoder().encode("world"));
  await cat.closeInput();
  let output = "";
  for await (const part of cat.output()) output += new TextDecoder().decode(part);
  assert.equal(output, "hello world");
  assert.equal((await cat.wait()).code, 0);
  const sleeper = await sandbox.start(["sleep", "60"]);
  await sleeper.kill();
  assert.equal((await sleeper.wait()).signal, 9);
  await assert.rejects(cat.sendInput("late"), aibox.ConflictError);
});

test("events of a command end with its exit", async () => {
  const events = [];
  for await (const event of sandbox.execStream("echo one; echo two >&2; exit 7")) events.push(event);
  assert.deepEqual(events.map((event) => event.seq), events.map((_, i) => i + 1));
  assert.equal(events.at(-1)?.exit?.code, 7);
});

test("code returns its status", async () => {
  const result = await sandbox.runPython("print(6 * 7)");
  assert.deepEqual([result.status, result.stdout], ["completed", "42\n"]);
  const failed = await sandbox.runCode("1 / 0");
  assert.equal(failed.status, "failed");
  assert.match(failed.error + failed.stderr, /ZeroDivisionError/);
});

test("files are written and read", async () => {
  const content = new Uint8Array(randomBytes(1_000_000));
  assert.equal((await sandbox.writeFile("made/data.bin", content, { mode: 0o600 })).sizeBytes, content.length);
  assert.deepEqual(await sandbox.readFile("made/data.bin"), content);
  await sandbox.writeFile("made/text.txt", "grün\n");
  assert.equal(await sandbox.readText("made/text.txt"), "grün\n");
  await sandbox.writeFile("made/empty", "");
  await sandbox.makeDir("made/folder");
  await sandbox.move("made/empty", "made/moved");
  assert.deepEqual((await sandbox.listFiles("made")).map((entry) => entry.name), ["data.bin", "folder", "moved", "text.txt"]);
  const info = await sandbox.stat("made/data.bin");
  assert.deepEqual([info.type, info.mode, info.sizeBytes], ["file", 0o600, content.length]);
  await sandbox.remove("made", { recursive: true });
  await assert.rejects(sandbox.readFile("made/text.txt"), aibox.NotFoundError);
});

test("a download reports what its archive lacks", async () => {
  await sandbox.exec("mkdir special; mkfifo special/pipe; echo hello > special/file", { check: true });
  const sizes: number[] = [];
  const left: string[] = [];
  for await (const piece of sandbox.download("special", { onLeftOut: (text) => left.push(text) })) sizes.push(piece.length);
  assert.ok(sizes.length > 0 && !sizes.includes(0));
  assert.equal(left.length, 1);
  assert.match(left[0] as string, /pipe/);
});

test("an upload reports what is not extracted", async () => {
  await sandbox.exec("mkdir packed; mkfifo packed/pipe; tar -cf packed.tar packed", { check: true });
  const left: string[] = [];
  await sandbox.upload("unpacked", await sandbox.readFile("packed.tar"), { onLeftOut: (text) => left.push(text) });
  assert.equal(left.length, 1);
  assert.match(left[0] as string, /pipe/);
});

test("the lists of hosts are absent, empty or given", async () => {
  for (const hosts of [undefined, [], ["example.com"]]) {
    const made = await aibox.Sandbox.create({ allowedHosts: hosts, client });
    const policy = await made.network();
    if (hosts === undefined) assert.notEqual(policy.mode, "allowlist");
    else assert.deepEqual([policy.mode, policy.allow?.hosts ?? []], ["allowlist", hosts]);
    await made.destroy();
    assert.equal((await made.refresh()).state, "ended");
  }
});

test("sandboxes are listed by pages and metadata, and extended", async () => {
  const made: aibox.Sandbox[] = [];
  for (let i = 0; i < 3; i++) made.unshift(await aibox.Sandbox.create({ metadata: { batch: "typescript" }, network: "none", client }));
  const found = [];
  for await (const one of aibox.Sandbox.list({ metadata: { batch: "typescript" } }, client)) found.push(one.sandboxId);
  assert.deepEqual(found, made.map((one) => one.sandboxId));
  for (const one of made) await one.destroy();
  const expires = (await sandbox.refresh()).expireTime as Date;
  const later = (await sandbox.extend(60)).expireTime as Date;
  assert.ok(Math.abs(later.getTime() - expires.getTime() - 60_000) < 2000);
  assert.equal((await sandbox.setIdleTimeout(90)).idleTimeout, 90);
});

test("errors have a class, a sentence, hints and an id", async () => {
  await assert.rejects(aibox.Sandbox.get("no-such", client), (err: aibox.AiboxError) => {
    assert.ok(err instanceof aibox.NotFoundError && err.kind === "not_found" && err.message.includes("no-such"));
    return err.hints.length > 0 && err.requestId !== "";
  });
  const missing = new aibox.Sandbox(client, { ...sandbox.info, sandboxId: "no-such" });
  await assert.rejects(missing.readFile("x"), aibox.NotFoundError);
  await assert.rejects(missing.writeFile("x", new Uint8Array(4_000_000)), aibox.NotFoundError);
  await assert.rejects(aibox.Sandbox.create({ template: "no-such", client }), aibox.NotFoundError);
  await assert.rejects(new aibox.Client({ token: "wrong" }).info(), aibox.UnauthenticatedError);
  await assert.rejects(new aibox.Client({ address: "http://127.0.0.1:1" }).info(), aibox.ConnectionLostError);
  assert.throws(() => new aibox.Client({ address: "ftp://localhost" }), aibox.InvalidError);
});

test("a Unix socket needs no token", async () => {
  const local = new aibox.Client({ address: `unix:${env["AIBOX_TEST_SOCKET"]}`, token: "" });
  const made = await aibox.Sandbox.create({ client: local });
  assert.equal((await made.exec(["echo", "hi"])).stdout, "hi\n");
  assert.throws(() => made.portURL(80), aibox.UnsupportedError);
  await made.destroy();
  await local.close();
});

test("a stream of 100 MiB is whole although its connection is cut", async () => {
  const blocks = 1600;
  const code = `
import hashlib, sys
for i in range(${blocks}):
    sys.stdout.buffer.write(hashlib.sha256(str(i).encode()).digest() * 2048)
`;
  const want = createHash("sha256");
  for (let i = 0; i < blocks; i++) want.update(Buffer.alloc(65536, createHash("sha256").update(String(i)).digest()));
  const cut = new aibox.Client({ address: env["AIBOX_TEST_CUT_URL"] });
  const got = createHash("sha256");
  let exit: number | undefined;
  for await (const event of new aibox.Sandbox(cut, sandbox.info).execStream(["python3", "-c", code])) {
    if (event.stdout) got.update(event.stdout.data);
    exit = event.exit?.code;
  }
  assert.deepEqual([exit, got.digest("hex")], [0, want.digest("hex")]);
  await cut.close();
});
