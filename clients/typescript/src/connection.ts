import { AiboxError, ConnectionLostError, errorOf, InvalidError, NotFoundError, ProtocolError, TimedOutError } from "./errors.ts";
import { decodeBase64, type Decoder, type Init, type MessageType, nothing } from "./message.ts";
import { collect, concat, FetchTransport, type Answer, type Outgoing, type Transport } from "./transport.ts";

/** Options of a call. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  /**
   * Seconds without a message after which the connection of a stream counts as lost. Default: 60 for streams of events, between
   * which the server sends keep-alive events, and no limit for others. Infinity: no limit.
   */
  maxSilence?: number | undefined;
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

/**
 * The maxSilence of streams that have keep-alive events, which the server sends every 15 seconds.
 * The other end may have vanished without closing the connection.
 */
const MAX_SILENCE = 60;

/** Makes calls by Connect's protocol: a POST with JSON, and streams of envelopes. */
export class Connection {
  #address: string;
  readonly #headers: Record<string, string>;
  #transport: Promise<Transport> | undefined;

  constructor(options: ConnectionOptions = {}) {
    this.#address = parseAddress(options.address ?? (variable("AIBOX_URL") || "unix:"));
    const token = options.token ?? variable("AIBOX_TOKEN");
    if (!/^[!-~]*$/.test(token)) throw new InvalidError("invalid", "the token has characters that no token has");
    this.#headers = token === "" ? {} : { authorization: `Bearer ${token}` };
  }

  /** The server's URL; empty for a Unix socket. */
  get baseURL(): string {
    return this.#address.startsWith("unix:") ? "" : this.#address;
  }

  async call<Q, R>(path: string, type: MessageType<Q>, decoder: Decoder<R>, request: Init<Q>, idempotent: boolean, options?: CallOptions): Promise<R> {
    const body = encode(type.toJSON(request));
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await this.#send({ method: "POST", path, headers: this.#head("application/json"), body, signal: options?.signal });
        const data = await lost(this, collect(answer.body), options);
        if (answer.status !== 200) throw errorOfAnswer(answer.status, data);
        return parseAs(decoder, data);
      } catch (err) {
        const isDeletion = idempotent && (decoder as unknown) === nothing;
        // An earlier attempt, whose answer was lost, has deleted it.
        if (isDeletion && attempt > 0 && err instanceof NotFoundError) return undefined as R;
        const delay = ATTEMPTS[attempt];
        if (!idempotent || delay === undefined || !isRepeatable(err)) throw err;
        await sleep(delay);
      }
    }
  }

  /** Makes a call that returns a stream with keep-alive events. */
  events<Q, R>(path: string, type: MessageType<Q>, decoder: Decoder<R>, request: Init<Q>, options?: CallOptions): AsyncGenerator<R> {
    return this.stream(path, type, decoder, request, { ...options, maxSilence: options?.maxSilence ?? MAX_SILENCE });
  }

  async *stream<Q, R>(path: string, type: MessageType<Q>, decoder: Decoder<R>, request: Init<Q>, options?: CallOptions): AsyncGenerator<R> {
    const silence = new Silence(options?.maxSilence);
    const signal = options?.signal ? AbortSignal.any([options.signal, silence.signal]) : silence.signal;
    const outgoing = { method: "POST", path, headers: this.#head("application/connect+json"), body: envelope(type.toJSON(request)), signal };
    const answer = await lost(this, silence.during(this.#send(outgoing)), options);
    for await (const data of this.#envelopes(answer, options, silence)) yield parseAs(decoder, data);
  }

  async upload<Q, R>(path: string, type: MessageType<Q>, decoder: Decoder<R>, requests: AsyncIterable<Init<Q>>, options?: CallOptions): Promise<R> {
    async function* body(): AsyncGenerator<Uint8Array> {
      try {
        for await (const request of requests) yield envelope(type.toJSON(request));
      } catch (err) {
        throw new SourceError(err);
      }
    }
    const headers = this.#head("application/connect+json");
    const answer = await this.#send({ method: "POST", path, headers, body: body(), signal: options?.signal });
    const found: R[] = [];
    for await (const data of this.#envelopes(answer, options)) found.push(parseAs(decoder, data));
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

  /** Sends a request. The server may be restarting, so it tries to connect several times. */
  async #send(outgoing: Outgoing): Promise<Answer> {
    this.#transport ??= this.#open();
    const transport = await this.#transport;
    for (let attempt = 0; ; attempt++) {
      try {
        return await lost(this, transport.send(outgoing), outgoing);
      } catch (err) {
        const delay = ATTEMPTS[attempt];
        if (delay === undefined || !(err instanceof ConnectionLostError) || err.cause !== refused) throw err;
        await sleep(delay);
      }
    }
  }

  /** Returns the transport. From then on, the address has the path of the user's own socket, which errors name. */
  async #open(): Promise<Transport> {
    if (this.#address === "unix:" && isNode()) {
      const { defaultSocket } = await import("./node.ts");
      this.#address = `unix:${await defaultSocket(globalThis.process.env)}`;
    }
    return open(this.#address);
  }

  /** Returns the documents of a stream, and throws the error that its end may hold. */
  async *#envelopes(answer: Answer, options?: CallOptions, silence = new Silence(undefined)): AsyncGenerator<Uint8Array> {
    if (answer.status !== 200) throw errorOfAnswer(answer.status, await lost(this, collect(answer.body), options));
    const parts = answer.body[Symbol.asyncIterator]();
    let held: Uint8Array[] = [];
    let size = 0;
    const take = async (count: number): Promise<Uint8Array> => {
      while (size < count) {
        const part = await lost(this, silence.during(parts.next()), options);
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
          const end = parse(data) as { error?: unknown } | null;
          if (typeof end !== "object" || end === null) throw new ProtocolError("the server's answer is not a stream of aibox");
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

/** Reports whether a call can be repeated: its answer was lost, or the server ended during it. */
function isRepeatable(err: unknown): boolean {
  return err instanceof AiboxError && ["connection", "canceled"].includes(err.kind) && err.cause !== refused;
}

/** The source of an upload has failed: it is no error of the connection. */
class SourceError extends Error {
  constructor(cause: unknown) {
    super("the source of an upload has failed", { cause });
  }
}

/** Ends a connection on which nothing arrives for a number of seconds. A slow reader is no silence. */
class Silence {
  readonly #limit: number | undefined;
  readonly #ended = new AbortController();

  constructor(limit: number | undefined) {
    this.#limit = limit;
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  async during<T>(step: Promise<T>): Promise<T> {
    if (this.#limit === undefined || this.#limit === Infinity) return await step;
    const timer = setTimeout(() => this.#ended.abort(new Error("nothing was received")), this.#limit * 1000);
    try {
      return await step;
    } finally {
      clearTimeout(timer);
    }
  }
}

async function lost<T>(connection: Connection, step: Promise<T>, options?: { signal?: AbortSignal | undefined }): Promise<T> {
  try {
    return await step;
  } catch (err) {
    if (err instanceof AiboxError) throw err;
    if (err instanceof SourceError) throw err.cause;
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

/** Returns an address without what has no meaning in it. */
function parseAddress(address: string): string {
  const bad = new InvalidError("invalid", `${JSON.stringify(address)} is not the address of a server`, {
    hints: ["use unix:PATH, http://HOST:PORT or https://HOST:PORT"],
  });
  if (address.startsWith("unix:")) {
    if (address !== "unix:" && !/^unix:(\/\/)?\//.test(address)) throw bad;
    return address;
  }
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw bad;
  }
  if (!["http:", "https:"].includes(url.protocol) || url.href.replace(/\/$/, "") !== url.origin) throw bad;
  return url.origin;
}

function isNode(): boolean {
  return (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined;
}

/** Returns a transport: Node's own HTTP where there is one, and fetch elsewhere. */
async function open(address: string): Promise<Transport> {
  if (!isNode()) {
    if (address.startsWith("unix:")) throw new InvalidError("invalid", "a browser cannot use a Unix socket", { hints: ["give an address"] });
    return new FetchTransport(address);
  }
  const { NodeTransport } = await import("./node.ts");
  if (!address.startsWith("unix:")) return new NodeTransport({ baseURL: address });
  return new NodeTransport({ socket: address.slice("unix:".length).replace(/^\/\/(?=\/)/, "") });
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

function parseAs<R>(type: Decoder<R>, data: Uint8Array): R {
  const json = parse(data);
  try {
    return type.fromJSON(json);
  } catch (err) {
    throw new ProtocolError(`the server's answer is not a message of aibox: ${(err as Error).message}`);
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
  const error = typeof document?.error === "object" ? document.error : document;
  if (typeof error?.kind === "string" || typeof error?.code === "string") return errorOfDocument(error);
  const message = `the server answered with the HTTP status ${status}`;
  return ofProxies.includes(status) ? new ConnectionLostError(message) : new ProtocolError(message);
}

/** HTTP statuses of proxies that do not reach the server. Those of the server itself have an error. */
const ofProxies = [502, 503, 504];

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
  const hints = Array.isArray(document.hints) ? document.hints : [];
  if (document.kind) return errorOf(document.kind, document.message ?? "", { hints, requestId: document.id ?? "" });
  for (const detail of Array.isArray(document.details) ? document.details : []) {
    if (detail?.type === "aibox.v1.Error") {
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
