/**
 * A client of aibox: sandboxes for programs.
 *
 *     await using sandbox = await Sandbox.create({ allowedHosts: ["npm"], timeout: 600 });
 *     console.log((await sandbox.exec("node --version")).stdout);
 */
export { Client, type ClientOptions } from "./client.ts";
export type { CallOptions } from "./connection.ts";
export * from "./errors.ts";
export type { Init } from "./message.ts";
export { Process } from "./process.ts";
export {
  Sandbox,
  type CodeOptions,
  type CodeResult,
  type Command,
  type Content,
  type CreateOptions,
  type ExecOptions,
  type ExecResult,
  type StartOptions,
} from "./sandbox.ts";
export type * as schema from "./schema.ts";
export { Session } from "./session.ts";
