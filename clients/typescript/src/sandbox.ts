import { Client } from "./client.ts";
import { AiboxError, CommandError, OutputLostError, UnsupportedError } from "./errors.ts";
import type { Init } from "./message.ts";
import { PIECE_BYTES, Process, toBytes } from "./process.ts";
import type * as schema from "./schema.ts";
import { checkPath, collect } from "./transport.ts";

/** A command: a list of arguments that runs without a shell, or text for /bin/sh. */
export type Command = string | readonly string[];

/** Content of a file: text, bytes, or a stream of bytes. */
export type Content = string | Uint8Array | AsyncIterable<Uint8Array>;

/** Options of a new sandbox. Times are seconds. */
export interface CreateOptions extends Omit<Init<schema.CreateSandboxRequest>, "network"> {
  /** A mode, or a whole policy. Absent: the tenant's default. */
  network?: schema.NetworkMode | Init<schema.NetworkPolicy> | undefined;
  /** Hosts that the sandbox can reach. Absent: the tenant's default; empty: none. */
  allowedHosts?: readonly string[] | undefined;
  /** Hosts that it cannot reach, even if another entry allows them. */
  deniedHosts?: readonly string[] | undefined;
  /** A snapshot, or its id, that the sandbox continues from. Absent options are those of its sandbox. */
  snapshot?: string | schema.Snapshot | undefined;
  client?: Client | undefined;
}

/** Options of a command. Times are seconds. */
export interface ExecOptions {
  env?: Record<string, string>;
  cwd?: string;
  user?: string;
  stdin?: string | Uint8Array;
  timeout?: number;
  maxOutputBytes?: number;
  /** Throws CommandError if the command fails. */
  check?: boolean;
}

/** Options of a process. tty gives it a terminal. */
export interface StartOptions {
  env?: Record<string, string>;
  cwd?: string;
  user?: string;
  stdin?: boolean;
  tty?: { rows: number; cols: number };
  timeout?: number;
  /** The process is killed when its output was not read for this time. */
  linger?: number;
  keepBytes?: number;
  overflow?: schema.Overflow;
}

/** Options of code. */
export interface CodeOptions extends ExecOptions {
  /** An interpreter that keeps its variables between calls. */
  context?: schema.CodeContext;
  validation?: schema.CodeValidation;
}

/** The result of a command. */
export interface ExecResult {
  /** The exit code, or 128 plus the signal. */
  exitCode: number;
  /** Standard output as text; response.stdout has the bytes. */
  stdout: string;
  stderr: string;
  timedOut: boolean;
  /** Whether output exceeded maxOutputBytes, so that its end is missing. */
  truncated: boolean;
  response: schema.ExecResponse;
}

/** The result of code. */
export interface CodeResult {
  status: schema.CodeStatus;
  /** Standard output as text; response.stdout has the bytes. */
  stdout: string;
  stderr: string;
  /** The value of the last expression as text, if the language and a context provide it. */
  result: string;
  /** The error with its traceback, if the code failed. */
  error: string;
  /** The findings of the validation. They are advice. */
  findings: schema.CodeFinding[];
  response: schema.RunCodeResponse;
}

// How many bytes of output the server keeps for a stream. Half of them are reserved for output
// that was on its way when a connection was lost: more than the buffers of several connections.
const STREAM_KEEP_BYTES = 64 << 20;

/** An isolated machine. `await using` destroys it at the end of a block. */
export class Sandbox {
  readonly client: Client;
  /** The sandbox when it was last read; see refresh. */
  info: schema.Sandbox;

  constructor(client: Client, info: schema.Sandbox) {
    this.client = client;
    this.info = info;
  }

  get sandboxId(): string {
    return this.info.sandboxId;
  }

  get state(): schema.SandboxState {
    return this.info.state;
  }

  /**
   * Creates a sandbox, and returns when it can start processes. The creation has a key, so it can be
   * repeated safely if the connection is lost.
   */
  static async create(options: CreateOptions = {}): Promise<Sandbox> {
    const { client = new Client(), allowedHosts, deniedHosts, network, snapshot, ...request } = options;
    if (snapshot !== undefined) request.snapshotId = typeof snapshot === "string" ? snapshot : snapshot.snapshotId;
    const policy = networkPolicy(network, allowedHosts, deniedHosts);
    const idempotencyKey = request.idempotencyKey ?? crypto.randomUUID();
    return new Sandbox(client, await client.sandboxes.create({ ...request, network: policy, idempotencyKey }));
  }

  /** Returns a sandbox by its id. */
  static async get(sandboxId: string, client: Client = new Client()): Promise<Sandbox> {
    return new Sandbox(client, await client.sandboxes.get({ sandboxId }));
  }

  /** Returns the sandboxes that match all filters, the newest first. */
  static async *list(
    filter: { states?: schema.SandboxState[]; metadata?: Record<string, string>; template?: string; name?: string } = {},
    client: Client = new Client(),
  ): AsyncGenerator<Sandbox> {
    const metadata = Object.entries(filter.metadata ?? {}).map(([key, value]) => `${key}=${value}`);
    let pageToken = "";
    do {
      const page = await client.sandboxes.list({ ...filter, metadata, pageToken });
      for (const info of page.sandboxes) yield new Sandbox(client, info);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** Reads the sandbox again. */
  async refresh(): Promise<schema.Sandbox> {
    return (this.info = await this.client.sandboxes.get(this.#id()));
  }

  /** Extends the time until the sandbox ends. */
  async extend(by: number): Promise<schema.Sandbox> {
    return (this.info = await this.client.sandboxes.extend({ ...this.#id(), by }));
  }

  /** Ends the sandbox this long after now. 0 means no limit. */
  async setTimeout(timeout: number): Promise<schema.Sandbox> {
    return (this.info = await this.client.sandboxes.update({ ...this.#id(), timeout }));
  }

  /** Ends the sandbox after this long without a call, output or traffic. 0 means no limit. */
  async setIdleTimeout(idleTimeout: number): Promise<schema.Sandbox> {
    return (this.info = await this.client.sandboxes.update({ ...this.#id(), idleTimeout }));
  }

  /** Replaces the metadata. */
  async setMetadata(entries: Record<string, string>): Promise<schema.Sandbox> {
    return (this.info = await this.client.sandboxes.update({ ...this.#id(), metadata: { entries } }));
  }

  /** Stops the processes, and keeps memory and files. */
  async pause(): Promise<schema.Sandbox> {
    return (this.info = await this.client.sandboxes.pause(this.#id()));
  }

  /** Continues a paused sandbox. */
  async resume(): Promise<schema.Sandbox> {
    return (this.info = await this.client.sandboxes.resume(this.#id()));
  }

  /** Stores the state, from which other sandboxes can be created, until it is deleted or for ttl, in seconds. */
  snapshot(name = "", options: { ttl?: number } = {}): Promise<schema.Snapshot> {
    return this.client.sandboxes.snapshot({ ...options, ...this.#id(), name });
  }

  /** Creates a sandbox that continues from the state of this one. Both continue to run. */
  async fork(): Promise<Sandbox> {
    const { client, info } = this;
    const taken = await this.snapshot("", { ttl: 600 }); // in case it cannot be deleted
    try {
      return await Sandbox.create({ snapshot: taken, name: info.name, metadata: info.metadata, onTimeout: info.onTimeout, client });
    } finally {
      await client.sandboxes.deleteSnapshot({ snapshotId: taken.snapshotId }).catch((err: unknown) => {
        if (!(err instanceof AiboxError)) throw err; // otherwise its ttl deletes it
      });
    }
  }

  /** Returns what the sandbox uses now. */
  metrics(): Promise<schema.SandboxMetrics> {
    return this.client.sandboxes.metrics(this.#id());
  }

  /** Ends the sandbox and removes its files. It is no error if it has already ended. */
  destroy(): Promise<void> {
    return this.client.sandboxes.destroy(this.#id());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy();
  }

  /** Runs a command, waits for its end, and returns its output. */
  async exec(command: Command, options: ExecOptions = {}): Promise<ExecResult> {
    const { cwd = "", stdin = "", check, ...rest } = options;
    const response = await this.client.processes.exec({ ...rest, ...this.#id(), argv: argv(command), dir: cwd, stdin: toBytes(stdin) });
    const result = {
      exitCode: response.exit?.code ?? 0,
      stdout: text(response.stdout),
      stderr: text(response.stderr),
      timedOut: response.timedOut,
      truncated: response.stdoutDroppedBytes > 0 || response.stderrDroppedBytes > 0,
      response,
    };
    if (check && result.exitCode !== 0) {
      const last = lastLine(result.stderr || response.exit?.error || "");
      throw new CommandError(`the command ended with exit code ${result.exitCode}${last}`, result.exitCode, response.stdout, response.stderr);
    }
    return result;
  }

  /** Starts a process. */
  async start(command: Command, options: StartOptions = {}): Promise<Process> {
    const { cwd = "", ...rest } = options;
    const started = await this.client.processes.launch({ ...rest, ...this.#id(), argv: argv(command), dir: cwd });
    return new Process(this.client, this.sandboxId, started.processId);
  }

  /**
   * Runs a command, and returns its output while it runs, as events: stdout, stderr, and exit as
   * the last one. No output is lost if the connection is lost. A command whose output is not read
   * for the time linger, by default 60 seconds, is killed.
   */
  async *execStream(command: Command, options: StartOptions = {}): AsyncGenerator<schema.ProcessEvent> {
    const process = await this.start(command, { linger: 60, keepBytes: STREAM_KEEP_BYTES, ...options });
    for await (const event of process.events()) {
      if (event.lost) throw new OutputLostError(event.lost.nextSeq);
      yield event;
    }
  }

  /** Returns the processes that were started in the sandbox. */
  async processes(): Promise<schema.Process[]> {
    return (await this.client.processes.list(this.#id())).processes;
  }

  /** Returns a process by its number, also one that another client has started. */
  process(processId: number): Process {
    return new Process(this.client, this.sandboxId, processId);
  }

  /** Runs source text in python, javascript, ruby or bash. */
  async runCode(code: string, language = "python", options: CodeOptions = {}): Promise<CodeResult> {
    const { context, cwd = "", stdin = "", check, ...rest } = options;
    const response = await this.client.processes.runCode({
      ...rest,
      ...this.#id(),
      code,
      language: context ? "" : language,
      contextId: context?.contextId ?? "",
      dir: cwd,
      stdin: toBytes(stdin),
    });
    const { status, result, error, findings } = response;
    const out = { status, stdout: text(response.stdout), stderr: text(response.stderr), result, error, findings, response };
    if (check && status !== "completed") {
      const message = `the code ended with the status ${status}${lastLine(error || out.stderr)}`;
      throw new CommandError(message, response.exitCode ?? 1, response.stdout, response.stderr);
    }
    return out;
  }

  /** Runs Python code. */
  runPython(code: string, options: CodeOptions = {}): Promise<CodeResult> {
    return this.runCode(code, "python", options);
  }

  /** Creates an interpreter that keeps its variables, for runCode. */
  createContext(language = "python", options: { cwd?: string; env?: Record<string, string>; user?: string } = {}): Promise<schema.CodeContext> {
    const { cwd = "", ...rest } = options;
    return this.client.processes.createContext({ ...rest, ...this.#id(), language, dir: cwd });
  }

  /** Ends a code context. */
  deleteContext(context: schema.CodeContext): Promise<void> {
    return this.client.processes.deleteContext({ ...this.#id(), contextId: context.contextId });
  }

  /** Installs Python packages. The sandbox needs the preset pip among its allowed hosts. */
  pipInstall(...packages: string[]): Promise<ExecResult> {
    return this.exec(["python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--", ...packages], { check: true });
  }

  /** Writes a file. It appears whole or not at all, and replaces an earlier one. */
  writeFile(path: string, content: Content, options: { mode?: number; user?: string } = {}): Promise<schema.FileInfo> {
    const first = { ...options, ...this.#id(), path };
    return this.client.files.write(
      (async function* () {
        yield first;
        for await (const piece of pieces(content)) yield { content: piece };
      })(),
    );
  }

  /** Returns the content of a file. */
  readFile(path: string, options: { user?: string } = {}): Promise<Uint8Array> {
    return collect(this.readStream(path, options));
  }

  /** Returns the content of a UTF-8 file. */
  async readText(path: string, options: { user?: string } = {}): Promise<string> {
    return text(await this.readFile(path, options));
  }

  /** Returns a file, or a part of it, in pieces. Without a length, up to its end. */
  async *readStream(path: string, options: { offset?: number; length?: number; user?: string } = {}): AsyncGenerator<Uint8Array> {
    for await (const piece of this.client.files.read({ ...options, ...this.#id(), path })) yield piece.content;
  }

  /** Returns the entries of a folder, sorted by path. depth is how many levels of folders are listed. */
  async listFiles(path = ".", options: { depth?: number; user?: string } = {}): Promise<schema.FileInfo[]> {
    const entries: schema.FileInfo[] = [];
    let pageToken = "";
    do {
      const page = await this.client.files.list({ ...options, ...this.#id(), path, pageToken });
      entries.push(...page.entries);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return entries;
  }

  /** Describes a file or folder. A symlink is not followed. */
  stat(path: string, options: { user?: string } = {}): Promise<schema.FileInfo> {
    return this.client.files.stat({ ...options, ...this.#id(), path });
  }

  /** Creates a folder and its missing parents. */
  makeDir(path: string, options: { mode?: number; user?: string } = {}): Promise<schema.FileInfo> {
    return this.client.files.makeDir({ ...options, ...this.#id(), path });
  }

  /** Renames a file or folder. */
  move(source: string, destination: string, options: { overwrite?: boolean; user?: string } = {}): Promise<schema.FileInfo> {
    return this.client.files.move({ ...options, ...this.#id(), source, destination });
  }

  /** Removes a file, an empty folder, or with recursive a folder with its content. */
  remove(path: string, options: { recursive?: boolean; user?: string } = {}): Promise<void> {
    return this.client.files.remove({ ...options, ...this.#id(), path });
  }

  /** Returns the changes in a folder. The first event is unspecified. All changes after it are reported. */
  watch(path: string, options: { recursive?: boolean; user?: string } = {}): AsyncGenerator<schema.FileEvent> {
    return this.client.files.watch({ ...options, ...this.#id(), path });
  }

  /**
   * Returns a file or folder as a tar archive, in pieces. It is as untrusted as the sandbox.
   * onLeftOut gets a sentence about the files that the archive lacks, if there are any.
   */
  async *download(path: string, options: { user?: string; onLeftOut?: (text: string) => void } = {}): AsyncGenerator<Uint8Array> {
    const { onLeftOut, ...rest } = options;
    for await (const piece of this.client.files.download({ ...rest, ...this.#id(), path })) {
      if (piece.archive.length > 0) yield piece.archive;
      if (piece.leftOut !== "") onLeftOut?.(piece.leftOut);
    }
  }

  /**
   * Extracts a tar archive in a folder, which is created if it is missing. onLeftOut gets a
   * sentence about the entries that were not extracted, such as pipes, if there are any.
   */
  async upload(path: string, archive: Content, options: { user?: string; onLeftOut?: (text: string) => void } = {}): Promise<void> {
    const { onLeftOut, ...rest } = options;
    const first = { ...rest, ...this.#id(), path };
    const { leftOut } = await this.client.files.upload(
      (async function* () {
        yield first;
        for await (const piece of pieces(archive)) yield { archive: piece };
      })(),
    );
    if (leftOut !== "") onLeftOut?.(leftOut);
  }

  /** Returns the network policy in force. */
  network(): Promise<schema.NetworkPolicy> {
    return this.client.network.get(this.#id());
  }

  /** Replaces the lists of hosts. An absent list is kept; an empty one has no host. */
  setNetwork(lists: { allowedHosts?: readonly string[]; deniedHosts?: readonly string[] }): Promise<schema.NetworkPolicy> {
    const { mode: _, ...policy } = networkPolicy(undefined, lists.allowedHosts, lists.deniedHosts) ?? {};
    return this.client.network.set({ ...this.#id(), policy });
  }

  /** Returns whether the sandbox can reach a host, and which rule decides. */
  explainNetwork(host: string, port = 0): Promise<schema.ExplainNetworkResponse> {
    return this.client.network.explain({ ...this.#id(), host, port });
  }

  /** Returns the ports that programs in the sandbox listen on. */
  async listPorts(): Promise<schema.Port[]> {
    return (await this.client.ports.list(this.#id())).ports;
  }

  /** Returns the URL of a port, for requests that send the tenant's token. */
  portURL(port: number, path = "/"): string {
    if (this.client.connection.baseURL === "") {
      throw new UnsupportedError("unsupported", "a server on a Unix socket has no URLs", {
        hints: ["use requestPort, or start the server with `aibox serve --listen`"],
      });
    }
    const full = this.#portPath(port, path);
    checkPath(full);
    return this.client.connection.baseURL + full;
  }

  /** Returns a URL with which a browser can reach a port without a token. ttl is in seconds. */
  async openPort(port: number, options: { ttl?: number } = {}): Promise<string> {
    return (await this.client.ports.sign({ ...options, ...this.#id(), port })).url;
  }

  /** Sends an HTTP request to a port in the sandbox. */
  requestPort(
    port: number,
    path = "/",
    options: { method?: string; headers?: Record<string, string>; body?: Uint8Array; signal?: AbortSignal } = {},
  ): Promise<{ status: number; headers: Record<string, string>; body: Uint8Array }> {
    const { method = "GET", headers = {}, ...rest } = options;
    return this.client.connection.request({ ...rest, method, headers, path: this.#portPath(port, path) });
  }

  #portPath(port: number, path: string): string {
    const escaped = encodeURI(path).replace(/%(25(?=[0-9A-Fa-f]{2})|5B|5D)/g, decodeURIComponent); // what is escaped already stays as it is
    return `/v1/sandboxes/${encodeURIComponent(this.sandboxId)}/ports/${Math.trunc(port)}/${escaped.replace(/^\//, "")}`;
  }

  #id(): { sandboxId: string } {
    return { sandboxId: this.sandboxId };
  }
}

function argv(command: Command): readonly string[] {
  return typeof command === "string" ? ["/bin/sh", "-c", command] : command;
}

// Without this option, it would remove the byte order mark of a file.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function text(data: Uint8Array): string {
  return decoder.decode(data);
}

function lastLine(output: string): string {
  const line = output.trim().split("\n").at(-1);
  return line ? `: ${line}` : "";
}

/** Returns the policy of a sandbox. Absent means the tenant's default, an empty list no host. */
function networkPolicy(
  network: schema.NetworkMode | Init<schema.NetworkPolicy> | undefined,
  allowed: readonly string[] | undefined,
  denied: readonly string[] | undefined,
): Init<schema.NetworkPolicy> | undefined {
  if (typeof network === "object") {
    if (allowed || denied) throw new TypeError("give either a whole policy or lists of hosts");
    return network;
  }
  if (network === undefined && allowed === undefined && denied === undefined) return undefined;
  return {
    mode: network ?? (allowed ? "allowlist" : "unspecified"),
    ...(allowed ? { allow: { hosts: allowed } } : {}),
    ...(denied ? { deny: { hosts: denied } } : {}),
  };
}

/** Returns content in pieces of a size for one message. */
export async function* pieces(content: Content): AsyncGenerator<Uint8Array> {
  const parts = typeof content === "string" || content instanceof Uint8Array ? [toBytes(content)] : content;
  for await (const part of parts) {
    for (let start = 0; start < part.length; start += PIECE_BYTES) yield part.subarray(start, start + PIECE_BYTES);
  }
}
