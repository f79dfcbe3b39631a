// Uses real sandboxes and a real agent, and prints what it sees. An end-to-end test runs it
// against `aibox serve`. INDEX_HOST is a host with a package index that has the package small,
// INDEX_CA its authority, and TREE a tar archive with main.go.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { env } from "node:process";

import { Client, CommandError, ConflictError, Sandbox, Session } from "../src/index.ts";

const host = env["INDEX_HOST"] ?? "";
const variables = { PIP_INDEX_URL: `https://${host}/pip/`, PIP_CERT: "/home/user/ca.pem", PIP_RETRIES: "1" };
const client = new Client();

async function module(sandbox: Sandbox): Promise<string> {
  return (await sandbox.exec(["python3", "-m", "small"])).stdout.trim();
}

async function snapshots(): Promise<string[]> {
  return (await client.sandboxes.listSnapshots({})).snapshots.map((one) => one.name);
}

async function use(sandbox: Sandbox): Promise<void> {
  await sandbox.writeFile("/home/user/ca.pem", env["INDEX_CA"] ?? "");

  // Packages come only from hosts in the list.
  await sandbox.pipInstall("small");
  console.log("installed", await module(sandbox));
  await sandbox.setNetwork({ allowedHosts: ["a.example"] });
  try {
    await sandbox.pipInstall("small>1");
  } catch (err) {
    if (!(err instanceof CommandError)) throw err;
    const explained = await sandbox.explainNetwork(host, 443);
    console.log("refused", new TextDecoder().decode(err.stderr).includes("403"), explained.allowed, explained.reason);
  }

  // A browser reaches a port by its signed URL.
  const server = await sandbox.start(["python3", "-u", "-m", "http.server", "8000"]);
  for await (const _ of server.output()) break;
  const url = new URL(await sandbox.openPort(8000));
  const opened = get({ host: "127.0.0.1", port: url.port, path: url.pathname + url.search, headers: { host: url.host } });
  const [response] = (await once(opened, "response")) as [IncomingMessage];
  console.log("opened", response.statusCode);
  response.destroy();

  // Nothing runs while the sandbox is paused; then it continues as it was.
  const context = await sandbox.createContext();
  await sandbox.runCode("n = 41", "python", { context });
  console.log((await sandbox.pause()).state);
  try {
    await sandbox.exec(["true"]);
  } catch (err) {
    if (!(err instanceof ConflictError)) throw err;
    console.log(err.kind);
  }
  console.log((await sandbox.resume()).state, (await sandbox.runCode("n + 1", "python", { context })).result);

  // Other sandboxes continue from its state, and do not change it.
  const taken = await sandbox.snapshot("ready");
  const restored = await Sandbox.create({ snapshot: taken, client });
  try {
    await restored.writeFile("/tmp/own", "x");
    console.log("restored", await module(restored), restored.info.snapshotId === taken.snapshotId);
  } finally {
    await restored.destroy();
  }
  const fork = await sandbox.fork();
  try {
    console.log("forked", await module(fork), (await fork.exec(["test", "-e", "/tmp/own"])).exitCode);
  } finally {
    await fork.destroy();
  }
  console.log(await snapshots());
  await client.sandboxes.deleteSnapshot({ snapshotId: taken.snapshotId });
  console.log(await snapshots());

  // A process whose record is full waits, or drops its oldest output, as its caller chose.
  for (const overflow of ["hold", "drop"] as const) {
    for (const tty of [{}, { tty: { rows: 24, cols: 80 } }]) {
      const process = await sandbox.start("head -c 4000000 /dev/zero", { keepBytes: 1 << 20, overflow, ...tty });
      if (overflow === "drop") await process.wait();
      let size = 0;
      let lost = false;
      for await (const event of process.events()) {
        size += event.stdout?.data.length ?? 0;
        lost ||= event.lost !== undefined;
      }
      console.log(overflow, size === 4_000_000, lost);
    }
  }

  const used = await sandbox.metrics();
  console.log("measured", used.diskBytes > 0, used.downloadBytes > 0, used.inputTokens);
}

const sandbox = await Sandbox.create({ allowedHosts: ["pip"], env: variables, timeout: 900, client });
try {
  await use(sandbox);
} finally {
  await sandbox.destroy();
}

// An agent works on an uploaded tree, and its reviewed change comes as a bundle.
const session = await Session.start("Greet the world in main.go", { agent: "codex", tree: await readFile(env["TREE"] ?? ""), client });
const phases = new Set<string>();
for await (const event of session.events()) phases.add(Object.keys(event).join());
console.log((await session.wait()).state, phases.size > 0);
const changes = await session.changes();
for (const file of changes.files) console.log(file.path, `+${file.addedLines} -${file.removedLines}`);
console.log(new TextDecoder().decode(await session.diff("main.go")).includes("+++ b/main.go"));
const accepted = await session.accept(changes);
console.log(accepted.branch.split("/")[0], new TextDecoder().decode(accepted.bundle.subarray(0, 15)));
await session.delete();
await client.close();
