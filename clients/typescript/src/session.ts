import { Client } from "./client.ts";
import { sleep } from "./connection.ts";
import { ProtocolError } from "./errors.ts";
import type { Init } from "./message.ts";
import { Backoff } from "./process.ts";
import { pieces, type Content } from "./sandbox.ts";
import type * as schema from "./schema.ts";

/** A run of a coding agent. Nothing of its work reaches a repository before accept. */
export class Session {
  readonly client: Client;
  /** The session when it was last read; see refresh. */
  info: schema.Session;

  constructor(client: Client, info: schema.Session) {
    this.client = client;
    this.info = info;
  }

  get sessionId(): string {
    return this.info.sessionId;
  }

  get state(): schema.SessionState {
    return this.info.state;
  }

  /** Starts an agent on a repository of the server's machine, or on a source tree as a tar archive. */
  static async start(prompt: string, options: Init<schema.StartSessionRequest> & { tree?: Content; client?: Client } = {}): Promise<Session> {
    const { client = new Client(), tree, ...request } = options;
    const treeId = tree === undefined ? request.treeId : (await client.sessions.uploadTree(treeRequests(tree))).treeId;
    const idempotencyKey = request.idempotencyKey ?? crypto.randomUUID();
    return new Session(client, await client.sessions.start({ ...request, prompt, treeId, idempotencyKey }));
  }

  /** Returns a session by its id. */
  static async get(sessionId: string, client: Client = new Client()): Promise<Session> {
    return new Session(client, await client.sessions.get({ sessionId }));
  }

  /** Returns the sessions that match all filters, the newest first. */
  static async *list(
    filter: { states?: schema.SessionState[]; metadata?: Record<string, string>; agent?: string } = {},
    client: Client = new Client(),
  ): AsyncGenerator<Session> {
    const metadata = Object.entries(filter.metadata ?? {}).map(([key, value]) => `${key}=${value}`);
    let pageToken = "";
    do {
      const page = await client.sessions.list({ ...filter, metadata, pageToken });
      for (const info of page.sessions) yield new Session(client, info);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** Reads the session again. */
  async refresh(): Promise<schema.Session> {
    return (this.info = await this.client.sessions.get(this.#id()));
  }

  /**
   * Returns the events from a number on, up to the end of the session, each exactly once. If the
   * connection is lost, the rest is read on another one.
   */
  async *events(fromSeq = 1): AsyncGenerator<schema.SessionEvent> {
    let following = Math.max(fromSeq, 1);
    const backoff = new Backoff(this.client.reconnectSeconds);
    for (;;) {
      try {
        for await (const event of this.client.sessions.events({ ...this.#id(), fromSeq: following })) {
          backoff.reset();
          if (event.seq === 0 || event.seq < following) continue;
          if (event.seq > following) throw new ProtocolError(`event ${following} of the session is missing`);
          following++;
          yield event;
        }
        return;
      } catch (err) {
        await backoff.wait(err);
      }
    }
  }

  /** Waits until the agent has ended, and returns the session. */
  async wait(): Promise<schema.Session> {
    for await (const _ of this.events());
    while (!["done", "stopped", "failed"].includes((await this.refresh()).state)) await sleep(200);
    return this.info;
  }

  /** Returns the changes of a session that has ended, file by file, with risks and hunks. */
  changes(): Promise<schema.ChangeSet> {
    return this.client.sessions.changes(this.#id());
  }

  /** Returns the changes as a patch. It holds the agent's bytes: escape them before a terminal shows them. */
  async diff(...paths: string[]): Promise<Uint8Array> {
    return (await this.client.sessions.diff({ ...this.#id(), paths })).patch;
  }

  /**
   * Delivers changes: as a git bundle in the response, or with branch as a new branch of the
   * repository. Give the changes that were read, so that others are not accepted. Without files,
   * all changes without risks are accepted. An empty branch gets a name from the session.
   */
  accept(
    changes: schema.ChangeSet | undefined,
    options: { files?: (string | Init<schema.FileSelection>)[]; branch?: string; message?: string } = {},
  ): Promise<schema.AcceptChangesResponse> {
    return this.client.sessions.accept({
      ...this.#id(),
      digest: changes?.digest ?? "",
      files: (options.files ?? []).map((file) => (typeof file === "string" ? { path: file } : file)),
      target: options.branch === undefined ? "bundle" : "branch",
      branch: options.branch ?? "",
      message: options.message ?? "",
    });
  }

  /** Starts a session that continues this one with comments on its changes. */
  async feedback(feedback: { prompt?: string; comments?: Init<schema.Comment>[] }): Promise<Session> {
    return new Session(this.client, await this.client.sessions.feedback({ ...this.#id(), ...feedback }));
  }

  /** Ends the agent. Its work is kept. */
  async stop(): Promise<schema.Session> {
    return (this.info = await this.client.sessions.stop(this.#id()));
  }

  /** Removes a session that has ended, with its unaccepted work. */
  delete(): Promise<void> {
    return this.client.sessions.delete(this.#id());
  }

  #id(): { sessionId: string } {
    return { sessionId: this.sessionId };
  }
}

async function* treeRequests(tree: Content): AsyncGenerator<Init<schema.UploadTreeRequest>> {
  yield {};
  for await (const archive of pieces(tree)) yield { archive };
}
