import { AiboxError, ConnectionLostError, errorOf, InvalidError, ProtocolError, TimedOutError } from "./errors.ts";
import { decodeBase64, type Decoder, type Init, type MessageType } from "./message.ts";
import { collect, concat, FetchTransport, type Answer, type Outgoing, type Transport } from "./transport.ts";

/** Options of a call. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** Options of a connection. */
export interface ConnectionOptions {
  /** unix:PATH, http://HOST:PORT or https://HOST:PORT. Without it: AIBOX_URL, or else the user's own Unix socket. */
  address?: string | undefined;
  /** The token, which is needed on TCP. Without it: AIBOX_TOKEN. */
  token?: string | undefined;
}

const END = 2;
const COMPRESSED = 1;
const MAX_BYTES = 128 << 20;

/** Milliseconds between attempts to reach a server that may be restarting. */
const ATTEMPTS = [100, 300, 600];

/** Makes calls by Connect's protocol: a POST with JSON, and streams of envelopes. */
export class Connection {
  readonly #address: string;
  readonly #headers: Record<string, string>;
  #transport: Promise<Transport> | undefined;

  constructor(options: ConnectionOptions = {}) {
    this.#address = options.address ?? (variable("AIBOX_URL") || "unix:");
    checkAddress(this.#address);
    const token = options.token ?? variable("AIBOX_TOKEN");
    if (!/^[!-~]*$/.test(token)) throw new InvalidError("invalid", "the token has characters that no token has");
    this.#headers = token === "" ? {} : { authorization: `Bearer ${token}` };
  }

  /** The server's URL; empty for a Unix socket. */
  get baseURL(): string {
    return this.#address.startsWith("unix:") ? "" : this.#address.replace(/\/$/, "");
  }

  async call<Q, R>(path: string, type: MessageType<Q>, decoder: Decoder<R>, request: Init<Q>, idempotent: boolean, options?: CallOptions): Promise<R> {
    const body = encode(type.toJSON(request));
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await this.#send({ method: "POST", path, headers: this.#head("application/json"), body, signal: options?.signal });
        const data = await lost(this, collect(answer.body), options);
        if (answer.status !== 200) throw errorOfAnswer(answer.status, data);
        return decoder.fromJSON(parse(data));
      } catch (err) {
        const delay = ATTEMPTS[attempt];
        if (!(err instanceof ConnectionLostError) || delay === undefined || !(idempotent || err.cause === refused)) throw err;
        await sleep(delay);
      }
    }
  }

  async *stream<Q, R>(path: string, type: MessageType<Q>, decoder: Decoder<R>, request: Init<Q>, options?: CallOptions): AsyncGenerator<R> {
    const answer = await this.#send({
      method: "POST",
      path,
      headers: this.#head("application/connect+json"),
      body: envelope(type.toJSON(request)),
      signal: options?.signal,
    });
    for await (const data of this.#envelopes(answer, options)) yield decoder.fromJSON(parse(data));
  }

  async upload<Q, R>(path: string, type: MessageType<Q>, decoder: Decoder<R>, requests: AsyncIterable<Init<Q>>, options?: CallOptions): Promise<R> {
    async function* body(): AsyncGenerator<Uint8Array> {
      for await (const request of requests) yield envelope(type.toJSON(request));
    }
    const headers = this.#head("application/connect+json");
    const answer = await this.#send({ method: "POST", path, headers, body: body(), signal: options?.signal });
    const found: R[] = [];
    for await (const data of this.#envelopes(answer, options)) found.push(decoder.fromJSON(parse(data)));
    if (found.length !== 1) throw new ProtocolError("the server's answer is not one message");
    return found[0] as R;
  }

  /** Sends a request that is not a call. */
  async request(outgoing: Outgoing): Promise<{ status: number; headers: Record<string, string>; body: Uint8Array }> {
    const answer = await this.#send({ ...outgoing, headers: { ...outgoing.headers, ...this.#headers } });
    return { status: answer.status, headers: answer.headers, body: await lost(this, collect(answer.body), outgoing) };
  }

  async close(): Promise<void> {
    (await this.#transport)?.close();
  }

  toString(): string {
    return this.#address;
  }

  #head(type: string): Record<string, string> {
    return { "content-type": type, "connect-protocol-version": "1", ...this.#headers };
  }

  async #send(outgoing: Outgoing): Promise<Answer> {
    this.#transport ??= open(this.#address);
    return await lost(this, (await this.#transport).send(outgoing), outgoing);
  }

  /** Returns the documents of a stream, and throws the error that its end may hold. */
  async *#envelopes(answer: Answer, options?: CallOptions): AsyncGenerator<Uint8Array> {
    if (answer.status !== 200) throw errorOfAnswer(answer.status, await lost(this, collect(answer.body), options));
    const parts = answer.body[Symbol.asyncIterator]();
    let held: Uint8Array[] = [];
    let size = 0;
    const take = async (count: number): Promise<Uint8Array> => {
      while (size < count) {
        const part = await lost(this, parts.next(), options);
        if (part.done) throw new ConnectionLostError(`the connection to ${this} was lost`);
        held.push(part.value);
        size += part.value.length;
      }
      const all = concat(held);
      held = [all.subarray(count)];
      size -= count;
      return all.subarray(0, count);
    };
    try {
      for (;;) {
        const header = await take(5);
        const flags = header[0] as number;
        const length = new DataView(header.buffer, header.byteOffset).getUint32(1);
        if (flags & COMPRESSED || length > MAX_BYTES) throw new ProtocolError("the server's answer is not a stream of aibox");
        const data = await take(length);
        if (flags & END) {
          const end = parse(data) as { error?: unknown };
          if (end.error) throw errorOfDocument(end.error);
          return;
        }
        yield data;
      }
    } finally {
      await parts.return?.().catch(() => undefined);
    }
  }
}

/** The cause of an error if the server cannot be reached. The call did not take effect. */
const refused = { reason: "refused" };

async function lost<T>(connection: Connection, step: Promise<T>, options?: { signal?: AbortSignal | undefined }): Promise<T> {
  try {
    return await step;
  } catch (err) {
    if (err instanceof AiboxError) throw err;
    if (options?.signal?.aborted) {
      const reason: unknown = options.signal.reason;
      throw reason instanceof Error && reason.name === "TimeoutError" ? new TimedOutError("timeout", "the server did not answer in time") : reason;
    }
    const code = String((err as { code?: string }).code ?? (err as { cause?: { code?: string } }).cause?.code ?? "");
    if (["ECONNREFUSED", "ENOENT", "ENOTFOUND"].includes(code)) {
      throw new ConnectionLostError(`cannot connect to the server at ${connection}: ${code}`, {
        hints: ["start it with `aibox serve`"],
        cause: refused,
      });
    }
    throw new ConnectionLostError(`the connection to ${connection} was lost: ${(err as Error).message}`);
  }
}

function variable(name: string): string {
  return (globalThis as { process?: { env: Record<string, string | undefined> } }).process?.env[name] ?? "";
}

function checkAddress(address: string): void {
  const bad = new InvalidError("invalid", `${JSON.stringify(address)} is not the address of a server`, {
    hints: ["use unix:PATH, http://HOST:PORT or https://HOST:PORT"],
  });
  if (address.startsWith("unix:")) {
    if (address !== "unix:" && !/^unix:(\/\/)?\//.test(address)) throw bad;
    return;
  }
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw bad;
  }
  if (!["http:", "https:"].includes(url.protocol) || url.pathname !== "/" || url.search !== "" || url.username !== "") throw bad;
}

/** Returns a transport: Node's own HTTP where there is one, and fetch elsewhere. */
async function open(address: string): Promise<Transport> {
  const isNode = (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined;
  if (!isNode) {
    if (address.startsWith("unix:")) throw new InvalidError("invalid", "a browser cannot use a Unix socket", { hints: ["give an address"] });
    return new FetchTransport(address.replace(/\/$/, ""));
  }
  const { NodeTransport, defaultSocket } = await import("./node.ts");
  if (!address.startsWith("unix:")) return new NodeTransport({ baseURL: address.replace(/\/$/, "") });
  const path = address.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
  return new NodeTransport({ socket: path || (await defaultSocket(globalThis.process.env)) });
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function encode(document: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(document));
}

function envelope(document: unknown): Uint8Array {
  const data = encode(document);
  const out = new Uint8Array(5 + data.length);
  new DataView(out.buffer).setUint32(1, data.length);
  out.set(data, 5);
  return out;
}

function parse(data: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(data));
  } catch {
    throw new ProtocolError("the server's answer is not JSON");
  }
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

interface WireError {
  kind?: string;
  code?: string;
  message?: string;
  hints?: string[];
  id?: string;
  details?: { type?: string; value?: string }[];
  error?: WireError;
}

function errorOfAnswer(status: number, data: Uint8Array): AiboxError {
  let document: WireError | undefined;
  try {
    document = JSON.parse(decoder.decode(data)) as WireError;
  } catch {
    document = undefined;
  }
  if (typeof document === "object" && document !== null) return errorOfDocument(document.error ?? document);
  return new ProtocolError(`the server answered with the HTTP status ${status}`);
}

/** Connect's codes, for servers or proxies that add no details. */
const codes: Record<string, string> = {
  canceled: "canceled",
  invalid_argument: "invalid",
  deadline_exceeded: "timeout",
  not_found: "not_found",
  already_exists: "conflict",
  permission_denied: "refused",
  resource_exhausted: "limit",
  failed_precondition: "conflict",
  aborted: "failed",
  out_of_range: "invalid",
  unimplemented: "unsupported",
  unavailable: "environment",
  unauthenticated: "unauthenticated",
};

/** Returns the error in a document of Connect, whose details hold aibox's error, or of aibox itself. */
function errorOfDocument(json: unknown): AiboxError {
  const document = json as WireError;
  if (document.kind) return errorOf(document.kind, document.message ?? "", { hints: document.hints ?? [], requestId: document.id ?? "" });
  for (const detail of document.details ?? []) {
    if (detail.type === "aibox.v1.Error") {
      const found = errorOfDetail(decodeBase64(detail.value ?? ""));
      if (found) return found;
    }
  }
  return errorOf(codes[document.code ?? ""] ?? "internal", document.message || document.code || "the call failed");
}

/** Parses an aibox.v1.Error in Protobuf's binary form. All of its fields are strings. */
function errorOfDetail(data: Uint8Array): AiboxError | undefined {
  const texts: Record<number, string[]> = {};
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = data[at++] ?? 0;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < data.length) {
    const tag = varint();
    const length = varint();
    if ((tag & 7) !== 2 || length < 0 || at + length > data.length) return undefined;
    (texts[tag >> 3] ??= []).push(decoder.decode(data.subarray(at, at + length)));
    at += length;
  }
  return errorOf(texts[1]?.at(-1) ?? "", texts[2]?.at(-1) ?? "", { hints: texts[3] ?? [], requestId: texts[4]?.at(-1) ?? "" });
}
