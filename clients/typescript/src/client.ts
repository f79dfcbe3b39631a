import { Connection, type ConnectionOptions } from "./connection.ts";
import type { ServerInfo } from "./schema.ts";
import * as services from "./services.ts";

/** Options of a client. */
export interface ClientOptions extends ConnectionOptions {
  /** How many seconds a server may be unreachable while a stream is continued. Default: 30. */
  reconnectSeconds?: number;
}

/** A server, with one property for each service of the API. */
export class Client {
  readonly connection: Connection;
  readonly reconnectSeconds: number;
  readonly sandboxes: services.Sandboxes;
  readonly processes: services.Processes;
  readonly files: services.Files;
  readonly network: services.Network;
  readonly ports: services.Ports;
  readonly sessions: services.Sessions;
  readonly templates: services.Templates;
  readonly volumes: services.Volumes;
  readonly audit: services.Audit;
  readonly server: services.Server;

  constructor(options: ClientOptions = {}) {
    this.connection = new Connection(options);
    this.reconnectSeconds = options.reconnectSeconds ?? 30;
    this.sandboxes = new services.Sandboxes(this.connection);
    this.processes = new services.Processes(this.connection);
    this.files = new services.Files(this.connection);
    this.network = new services.Network(this.connection);
    this.ports = new services.Ports(this.connection);
    this.sessions = new services.Sessions(this.connection);
    this.templates = new services.Templates(this.connection);
    this.volumes = new services.Volumes(this.connection);
    this.audit = new services.Audit(this.connection);
    this.server = new services.Server(this.connection);
  }

  /** Returns the server's version, and the caller's tenant, rights, quota and usage. */
  info(): Promise<ServerInfo> {
    return this.server.get({});
  }

  /** Closes the connections. Sandboxes continue. */
  close(): Promise<void> {
    return this.connection.close();
  }
}
