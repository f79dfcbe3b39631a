/**
 * Messages as plain objects, and their JSON form, which is that of Protobuf: 64-bit numbers as
 * strings, bytes as base64, fields with zero values left out. Unknown fields and values of newer
 * servers are ignored. Durations are seconds.
 */

/** A message to send: all fields can be left out. */
export type Init<T> = T extends string | number | boolean | Date | Uint8Array | undefined
  ? T
  : T extends (infer E)[]
    ? readonly Init<E>[]
    : { [K in keyof T]?: Init<T[K]> | undefined };

/** The JSON form of the values of a type. */
export interface Codec<T> {
  zero: () => T;
  /** Returns undefined for a value that is left out. */
  encode: (value: never) => unknown;
  decode: (json: unknown) => T;
  /** The JSON of a value that is left out, for places where it must be present. */
  zeroJSON: unknown;
}

type Fields<T> = { [K in keyof T]-?: Codec<T[K]> };

/** Reads an answer. */
export interface Decoder<T> {
  fromJSON(json: unknown): T;
}

/** The fields of a message. A function returns them, since they may use messages that are defined later. */
export class MessageType<T> implements Decoder<T> {
  readonly #fields: () => Fields<T>;

  constructor(fields: () => Fields<T>) {
    this.#fields = fields;
  }

  toJSON(value: Init<T>): Record<string, unknown> {
    const out: Record<string, unknown> = {};
    const fields = this.#fields();
    for (const [name, field] of Object.entries(value as Record<string, unknown>)) {
      // A program without types could misspell a restriction, which would then not exist.
      if (field !== undefined && !Object.hasOwn(fields, name)) throw new TypeError(`${JSON.stringify(name)} is not known here`);
    }
    for (const [name, codec] of Object.entries(fields) as [string, Codec<unknown>][]) {
      const field = (value as Record<string, unknown>)[name];
      const json = field === undefined || field === null ? undefined : codec.encode(field as never);
      if (json !== undefined) out[name] = json;
    }
    return out;
  }

  fromJSON(json: unknown): T {
    if (typeof json !== "object" || json === null || Array.isArray(json)) throw new TypeError("a message is not an object");
    const out: Record<string, unknown> = {};
    for (const [name, codec] of Object.entries(this.#fields()) as [string, Codec<unknown>][]) {
      const field = (json as Record<string, unknown>)[name];
      const value = field === undefined || field === null ? codec.zero() : codec.decode(field);
      if (value !== undefined) out[name] = value;
    }
    return out as T;
  }
}

/** The answer of a call that returns nothing. */
export const nothing: Decoder<void> = { fromJSON: () => undefined };

export const string: Codec<string> = { zero: () => "", encode: (value: string) => value || undefined, decode: String, zeroJSON: "" };
export const bool: Codec<boolean> = { zero: () => false, encode: (value: boolean) => value || undefined, decode: Boolean, zeroJSON: false };

/** Returns a number that is not NaN, which would be left out as 0 is, and so mean the default or no limit. */
function known(value: number): number {
  if (Number.isNaN(value)) throw new TypeError("NaN is not a number that can be sent");
  return value;
}

/** Returns a whole number. A fraction near 0 would otherwise be sent as 0. */
function whole(value: number): number {
  if (!Number.isSafeInteger(known(value))) throw new TypeError(`${value} is not a whole number that can be sent`);
  return value;
}

/** Returns the number in an answer. */
function received(json: unknown): number {
  const value = typeof json === "number" ? json : typeof json === "string" && json !== "" ? Number(json) : NaN;
  if (Number.isNaN(value) && json !== "NaN") throw new TypeError(`${JSON.stringify(json)} is not a number`);
  return value;
}

/** Returns the JSON of a duration that is not 0. */
function durationJSON(seconds: number): string {
  const text = seconds.toFixed(6).replace(/\.?0+$/, "");
  if (Number(text) === 0) throw new TypeError(`${seconds} seconds are shorter than a microsecond`); // 0 would mean no limit
  return `${text}s`;
}

export const int: Codec<number> = { zero: () => 0, encode: (value: number) => known(value) || undefined, decode: received, zeroJSON: 0 };
export const float: Codec<number> = int;
/**
 * A whole number. From 2^53 on, a received one is the nearest that a number can be, which
 * Number.isSafeInteger reports. It cannot be sent. It is no error: a program in a sandbox can make a
 * file that claims to be as large, and could keep others from being listed.
 */
export const int64: Codec<number> = {
  zero: () => 0,
  encode: (value: number) => (whole(value) ? String(value) : undefined),
  decode: received,
  zeroJSON: "0",
};
export const bytes: Codec<Uint8Array> = {
  zero: () => new Uint8Array(),
  encode: (value: Uint8Array) => (value.length > 0 ? encodeBase64(value) : undefined),
  decode: (json) => decodeBase64(String(json)),
  zeroJSON: "",
};
/** The bytes of an HTTP body. The API does not use its content type. */
export const httpBody: Codec<Uint8Array> = {
  zero: () => new Uint8Array(),
  encode: (value: Uint8Array) => (value.length > 0 ? { data: encodeBase64(value) } : undefined),
  decode: (json) => decodeBase64(String((json as { data?: string }).data ?? "")),
  zeroJSON: {},
};
export const timestamp: Codec<Date> = {
  zero: () => new Date(0),
  encode: (value: Date) => value.toISOString(),
  decode: (json) => new Date(String(json)),
  zeroJSON: "1970-01-01T00:00:00Z",
};
export const duration: Codec<number> = {
  zero: () => 0,
  encode: (value: number) => (known(value) ? durationJSON(value) : undefined),
  decode: (json) => Number.parseFloat(String(json)),
  zeroJSON: "0s",
};

/** The codec of an enum whose values have a prefix in JSON. A value that only newer servers know becomes unspecified. */
export function enumeration<T extends string>(prefix: string, values: readonly T[]): Codec<T> {
  return {
    zero: () => "unspecified" as T,
    encode: (value: T) => (value === "unspecified" ? undefined : prefix + value.toUpperCase()),
    decode: (json) => values.find((value) => prefix + value.toUpperCase() === json) ?? ("unspecified" as T),
    zeroJSON: 0,
  };
}

/** The codec of a message. An empty message is not left out. */
export function message<T>(type: () => MessageType<T>): Codec<T> {
  return {
    zero: () => type().fromJSON({}),
    encode: (value: Init<T>) => type().toJSON(value),
    decode: (json) => type().fromJSON(json),
    zeroJSON: {},
  };
}

/** The codec of a field that can be absent: a zero value is not left out. */
export function optional<T>(codec: Codec<T>): Codec<T | undefined> {
  return { zero: () => undefined, encode: (value: never) => codec.encode(value) ?? codec.zeroJSON, decode: codec.decode, zeroJSON: undefined };
}

export function repeated<T>(codec: Codec<T>): Codec<T[]> {
  return {
    zero: () => [],
    encode: (value: readonly never[]) => (value.length > 0 ? value.map((item) => codec.encode(item) ?? codec.zeroJSON) : undefined),
    decode: (json) => (json as unknown[]).map((item) => codec.decode(item)),
    zeroJSON: [],
  };
}

export function mapping<T>(codec: Codec<T>): Codec<Record<string, T>> {
  return {
    zero: () => ({}),
    encode: (value: Record<string, never>) => {
      const entries = Object.entries(value).map(([key, item]) => [key, codec.encode(item) ?? codec.zeroJSON]);
      return entries.length > 0 ? Object.fromEntries(entries) : undefined;
    },
    decode: (json) => Object.fromEntries(Object.entries(json as object).map(([key, item]) => [key, codec.decode(item)])),
    zeroJSON: {},
  };
}

interface NodeBuffer {
  from(data: ArrayBufferLike | string, ...rest: unknown[]): Uint8Array & { toString(encoding: string): string };
}

// Node's own conversions are ten times as fast.
const buffer = (globalThis as { Buffer?: NodeBuffer }).Buffer;

function encodeBase64(data: Uint8Array): string {
  if (buffer) return buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  let text = "";
  for (let start = 0; start < data.length; start += 8192) text += String.fromCharCode(...data.subarray(start, start + 8192));
  return btoa(text);
}

export function decodeBase64(text: string): Uint8Array {
  if (buffer) {
    const decoded = buffer.from(text, "base64");
    return new Uint8Array(decoded.buffer, decoded.byteOffset, decoded.byteLength);
  }
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
