import type { Client } from "./client.ts";
import { sleep } from "./connection.ts";
import { AiboxError, ConnectionLostError, OutputLostError, ProtocolError } from "./errors.ts";
import type { Process as ProcessInfo, ProcessEvent, ProcessExit } from "./schema.ts";

const encoder = new TextEncoder();

/** The size of the pieces in which input and files are sent. */
export const PIECE_BYTES = 256 << 10;

export function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? encoder.encode(data) : data;
}

/** The waits between attempts to continue a stream, and the limit for time without success. */
export class Backoff {
  readonly #patience: number;
  #delay = 20;
  #since: number | undefined;

  constructor(seconds: number) {
    this.#patience = seconds * 1000;
  }

  /** Starts again after an event was received. */
  reset(): void {
    this.#delay = 20;
    this.#since = undefined;
  }

  /** Waits before the next attempt, or throws the error of the last one. */
  async wait(err: unknown): Promise<void> {
    const now = performance.now();
    this.#since ??= now;
    // The connection was lost, or the server is being restarted.
    const isTemporary = err instanceof AiboxError && ["connection", "canceled", "environment"].includes(err.kind);
    if (!isTemporary || now - this.#since > this.#patience) throw err;
    await sleep(this.#delay);
    this.#delay = Math.min(1000, this.#delay * 2);
  }
}

/** A process that Sandbox.start has started. */
export class Process {
  readonly sandboxId: string;
  readonly processId: number;
  readonly #client: Client;

  constructor(client: Client, sandboxId: string, processId: number) {
    this.#client = client;
    this.sandboxId = sandboxId;
    this.processId = processId;
  }

  /** Describes the process as it is now. */
  info(): Promise<ProcessInfo> {
    return this.#client.processes.get(this.#id());
  }

  /**
   * Returns the events from a number on, up to the exit, each exactly once. If the connection is
   * lost, the rest is read on another one. Events that the process has dropped, since it was
   * started with the overflow drop, appear as an event lost.
   */
  async *events(fromSeq = 1): AsyncGenerator<ProcessEvent> {
    let following = Math.max(fromSeq, 1);
    const backoff = new Backoff(this.#client.reconnectSeconds);
    for (;;) {
      try {
        for await (const event of this.#client.processes.connect({ ...this.#id(), fromSeq: following })) {
          backoff.reset();
          if (event.lost) {
            following = event.lost.nextSeq;
            yield event;
            continue;
          }
          if (event.seq === 0 || event.seq < following) continue;
          if (event.seq > following) throw new ProtocolError(`event ${following} of process ${this.processId} is missing`);
          following++;
          yield event;
          if (event.exit) return;
        }
        throw new ConnectionLostError("the stream ended before the process");
      } catch (err) {
        await backoff.wait(err);
      }
    }
  }

  /** Returns standard output and standard error together, or the output of the terminal. */
  async *output(): AsyncGenerator<Uint8Array> {
    for await (const event of this.events()) {
      if (event.lost) throw new OutputLostError(event.lost.nextSeq);
      const part = event.stdout ?? event.stderr;
      if (part) yield part.data;
    }
  }

  /** Waits for the end. Output that was not read yet is dropped. */
  async wait(): Promise<ProcessExit> {
    const info = await this.info();
    for await (const event of this.events(info.exit ? Math.max(info.lastSeq, 1) : info.lastSeq + 1)) {
      if (event.exit) return event.exit;
    }
    throw new ProtocolError("the process has no exit");
  }

  /** Writes to the standard input or the terminal. */
  async sendInput(data: string | Uint8Array): Promise<void> {
    const content = toBytes(data);
    for (let start = 0; start < content.length; start += PIECE_BYTES) {
      await this.#client.processes.sendInput({ ...this.#id(), data: content.subarray(start, start + PIECE_BYTES) });
    }
  }

  /** Ends the standard input. */
  closeInput(): Promise<void> {
    return this.#client.processes.closeInput(this.#id());
  }

  /** Changes the size of the terminal. */
  resize(rows: number, cols: number): Promise<void> {
    return this.#client.processes.resize({ ...this.#id(), size: { rows, cols } });
  }

  /** Sends a signal to the process group, by its number on Linux. */
  signal(signal: number): Promise<void> {
    return this.#client.processes.signal({ ...this.#id(), signal });
  }

  /** Kills the process group. */
  kill(): Promise<void> {
    return this.signal(9);
  }

  #id(): { sandboxId: string; processId: number } {
    return { sandboxId: this.sandboxId, processId: this.processId };
  }
}
