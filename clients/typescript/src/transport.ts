import { InvalidError } from "./errors.ts";

/** An HTTP response. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: AsyncIterable<Uint8Array>;
}

/** An HTTP request. A body that is a stream is sent piece by piece. */
export interface Outgoing {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: Uint8Array | AsyncIterable<Uint8Array>;
  signal?: AbortSignal | undefined;
}

/** Sends requests to one server. */
export interface Transport {
  /** The server's URL; empty for a Unix socket. */
  readonly baseURL: string;
  send(request: Outgoing): Promise<Answer>;
  close(): void;
}

/** Sends requests with fetch, as in browsers. A streamed body is collected first. */
export class FetchTransport implements Transport {
  readonly baseURL: string;

  constructor(baseURL: string) {
    this.baseURL = baseURL;
  }

  async send(request: Outgoing): Promise<Answer> {
    const { body } = request;
    checkPath(request.path);
    if (request.path.includes("#")) throw new InvalidError("invalid", `the path ${JSON.stringify(request.path)} has a fragment, which is not sent`);
    const response = await fetch(this.baseURL + request.path, {
      method: request.method,
      headers: request.headers,
      body: body === undefined ? null : ((body instanceof Uint8Array ? body : await collect(body)) as Uint8Array<ArrayBuffer>),
      signal: request.signal ?? null,
      redirect: "manual",
    });
    return { status: response.status, headers: Object.fromEntries(response.headers), body: chunks(response.body) };
  }

  close(): void {}
}

/** Refuses an escaped path that a URL cannot hold: it would lead to another path, and so perhaps out of a port. */
export function checkPath(path: string): void {
  if (/\/(\.|%2e){1,2}(\/|$)/i.test(path.replace(/[?#].*$/s, ""))) {
    throw new InvalidError("invalid", `the path ${JSON.stringify(path)} has a segment . or ..`);
  }
}

async function* chunks(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (stream === null) return;
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Returns all of a body. */
export async function collect(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return concat(all);
}

export function concat(parts: Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0] as Uint8Array;
  const out = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
