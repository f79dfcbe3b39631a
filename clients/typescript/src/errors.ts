/** What the server reports about a failed call. */
export interface ErrorDetails {
  hints?: string[];
  requestId?: string;
  cause?: unknown;
}

/**
 * A call failed. kind is the kind of the failure, message is one sentence, hints say what to do
 * next, and requestId is the id of the request in the server's log.
 */
export class AiboxError extends Error {
  readonly kind: string;
  readonly hints: string[];
  readonly requestId: string;

  constructor(kind: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.kind = kind;
    this.hints = details.hints ?? [];
    this.requestId = details.requestId ?? "";
  }
}

/** The request is invalid. */
export class InvalidError extends AiboxError {}
/** There is no valid token. */
export class UnauthenticatedError extends AiboxError {}
/** It does not exist for this tenant. */
export class NotFoundError extends AiboxError {}
/** It exists already, or is in a state that does not permit the call. */
export class ConflictError extends AiboxError {}
/** The request is too large. */
export class TooLargeError extends AiboxError {}
/** A quota or another limit is reached. */
export class LimitError extends AiboxError {}
/** A policy refuses it, or the token lacks a right. */
export class RefusedError extends AiboxError {}
/** The server's machine is not ready. */
export class MachineError extends AiboxError {}
/** A program in the sandbox failed. */
export class FailedError extends AiboxError {}
/** This server or its machine cannot do it. */
export class UnsupportedError extends AiboxError {}
/** The caller has ended the call. */
export class CanceledError extends AiboxError {}
/** A time limit ended the call. */
export class TimedOutError extends AiboxError {}
/** A failure of aibox. */
export class InternalError extends AiboxError {}

/**
 * The server could not be reached, or the connection was lost. Whether the call took effect is
 * not known if its answer was lost.
 */
export class ConnectionLostError extends AiboxError {
  constructor(message: string, details: ErrorDetails = {}) {
    super("connection", message, details);
  }
}

/** The answer does not come from an aibox server. */
export class ProtocolError extends AiboxError {
  constructor(message: string) {
    super("protocol", message);
  }
}

/** Output of a process was dropped before it was read; nextSeq is the next event. */
export class OutputLostError extends AiboxError {
  readonly nextSeq: number;

  constructor(nextSeq: number) {
    super("lost", "output was dropped before it was read");
    this.nextSeq = nextSeq;
  }
}

/** A command or code failed, and check was set. */
export class CommandError extends AiboxError {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;

  constructor(message: string, exitCode: number, stdout: Uint8Array, stderr: Uint8Array) {
    super("command", message);
    this.exitCode = exitCode;
    this.stdout = stdout;
    this.stderr = stderr;
  }
}

const kinds: Record<string, typeof AiboxError> = {
  invalid: InvalidError,
  unauthenticated: UnauthenticatedError,
  not_found: NotFoundError,
  conflict: ConflictError,
  too_large: TooLargeError,
  limit: LimitError,
  refused: RefusedError,
  environment: MachineError,
  failed: FailedError,
  unsupported: UnsupportedError,
  canceled: CanceledError,
  timeout: TimedOutError,
  internal: InternalError,
};

/** Returns the error of a kind that the server reported. */
export function errorOf(kind: string, message: string, details: ErrorDetails = {}): AiboxError {
  return new (kinds[kind] ?? AiboxError)(kind, message, details);
}
