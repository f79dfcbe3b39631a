import { Agent, request as sendHTTP, type ClientRequest, type IncomingMessage } from "node:http";
import { Agent as TLSAgent, request as sendHTTPS } from "node:https";
import { urlToHttpOptions } from "node:url";

import type { Answer, Outgoing, Transport } from "./transport.ts";

/** Milliseconds to make a connection. */
const CONNECT_TIME = 10_000;

/** Sends requests with Node's own HTTP: to a Unix socket or a port, with streamed bodies. */
export class NodeTransport implements Transport {
  readonly baseURL: string;
  readonly #target: { socketPath: string } | { hostname: string; port: number | string };
  readonly #agent: Agent;
  readonly #tls: boolean;

  readonly #connectTime: number;

  /** connectTime is the maximum time to make a connection over TCP, with TLS, in milliseconds. */
  constructor(target: { socket: string } | { baseURL: string }, connectTime = CONNECT_TIME) {
    this.#connectTime = connectTime;
    this.baseURL = "baseURL" in target ? target.baseURL : "";
    this.#tls = this.baseURL.startsWith("https:");
    // Not a URL, in which the path of a request could lead elsewhere.
    if ("socket" in target) this.#target = { socketPath: target.socket };
    else {
      const { hostname, port } = urlToHttpOptions(new URL(target.baseURL));
      this.#target = { hostname: hostname ?? "", port: port ?? "" };
    }
    // The server closes idle connections later than this.
    const options = { keepAlive: true, timeout: 20_000 };
    this.#agent = this.#tls ? new TLSAgent(options) : new Agent(options);
  }

  send(outgoing: Outgoing): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { body, signal } = outgoing;
      const headers: Record<string, string> = { ...outgoing.headers };
      if (body instanceof Uint8Array) headers["content-length"] = String(body.length);
      const options = { ...this.#target, path: outgoing.path, method: outgoing.method, headers, agent: this.#agent, ...(signal ? { signal } : {}) };
      const answered = (message: IncomingMessage): void => {
        resolve({
          status: message.statusCode ?? 0,
          headers: Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)])),
          body: chunks(message),
        });
      };
      const sent = (this.#tls ? sendHTTPS : sendHTTP)(options, answered);
      let refused = false;
      sent.on("response", () => (refused = true));
      sent.on("error", (err) => {
        if (!refused) reject(err);
      });
      // The timeout of the agent is only for idle connections.
      sent.setTimeout(0);
      limitConnecting(sent, this.#tls ? "secureConnect" : "connect", this.#connectTime);
      const start = (): void => {
        write(sent, body, () => refused).catch((err: unknown) => {
          sent.destroy();
          reject(err as Error);
        });
      };
      if (body === undefined || body instanceof Uint8Array) start();
      else whenConnected(sent, start); // a stream can be read once, so it is kept if there is no connection
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Returns a body as Uint8Array. Node's own type of bytes has different methods. */
async function* chunks(message: IncomingMessage): AsyncGenerator<Uint8Array> {
  for await (const part of message as AsyncIterable<Buffer>) yield new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
}

/** Ends a request whose connection is not made in time: the system itself tries for minutes. */
function limitConnecting(sent: ClientRequest, connected: "connect" | "secureConnect", time: number): void {
  sent.once("socket", (socket) => {
    if (!socket.connecting) return; // it was used before
    const timer = setTimeout(() => socket.destroy(new Error(`no connection was made within ${time / 1000} seconds`)), time);
    for (const event of [connected, "close"]) socket.once(event, () => clearTimeout(timer));
  });
}

function whenConnected(sent: ClientRequest, then: () => void): void {
  sent.once("socket", (socket) => {
    if (socket.connecting) socket.once("connect", then);
    else then();
  });
}

/** Writes a body, until the server has answered. */
async function write(sent: ClientRequest, body: Outgoing["body"], answered: () => boolean): Promise<void> {
  if (body === undefined || body instanceof Uint8Array) {
    sent.end(body);
    return;
  }
  for await (const part of body) {
    if (answered() || sent.destroyed) return;
    if (!sent.write(part)) {
      await new Promise<void>((resolve) => {
        const events = ["drain", "close", "response"];
        const done = (): void => {
          for (const event of events) sent.off(event, done);
          resolve();
        };
        for (const event of events) sent.once(event, done);
      });
    }
  }
  sent.end();
}

/**
 * Returns the folder of the user's sockets, or "" if there is none. A process that has no
 * XDG_RUNTIME_DIR, or another user's, takes the folder of systemd.
 */
async function runtimeDir(env: Record<string, string | undefined>): Promise<string> {
  const { isAbsolute } = await import("node:path");
  const { stat } = await import("node:fs/promises");
  const user = globalThis.process.getuid?.();
  const given = env["XDG_RUNTIME_DIR"] ?? "";
  if (isAbsolute(given) && ((await stat(given).catch(() => undefined))?.uid ?? user) === user) return given;
  const common = `/run/user/${user}`;
  const found = await stat(common).catch(() => undefined);
  return found?.isDirectory() && found.uid === user ? common : "";
}

/**
 * Returns the path of the socket that `aibox serve` creates. Each state folder has a socket
 * of its own.
 */
export async function defaultSocket(env: Record<string, string | undefined>): Promise<string> {
  const { isAbsolute, join } = await import("node:path");
  const { homedir, userInfo } = await import("node:os");
  const { createHash } = await import("node:crypto");
  const given = env["XDG_STATE_HOME"] ?? "";
  const state = join(isAbsolute(given) ? given : join(homedir(), ".local", "state"), "aibox");
  const runtime = await runtimeDir(env);
  const folder = runtime ? join(runtime, "aibox") : join(state, "runtime");
  let own = "";
  try {
    own = join(userInfo().homedir, ".local", "state", "aibox");
  } catch {
    // The system does not know this user.
  }
  const sum = createHash("sha256").update(state).digest("hex").slice(0, 12);
  return join(folder, "api", state === own ? "aibox.sock" : `aibox-${sum}.sock`);
}
