/**
 * The one error class, and the one table from what went wrong to the exit status of sysexits(3).
 * Messages are one line: what happened, where, and what to do about it.
 */

/** Exit statuses every command uses; see "Rules for every command" in lcc(7). */
export const EXIT = {
  ok: 0,
  /** Done, but some records were rejected; each was reported. */
  someRejected: 1,
  usage: 64,
  dataerr: 65,
  noinput: 66,
  unavailable: 69,
  software: 70,
  cantcreat: 73,
  ioerr: 74,
  tempfail: 75,
  protocol: 76,
  noperm: 77,
  config: 78,
} as const;
export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** Stable codes of LccError, each with the exit status it leads to when nothing handles it. */
const STATUS_OF_CODE = {
  usage: EXIT.usage,
  'data.malformed': EXIT.dataerr,
  'data.cut': EXIT.dataerr,
  'data.refused': EXIT.dataerr,
  'input.missing': EXIT.noinput,
  'peer.unavailable': EXIT.unavailable,
  'peer.rejected': EXIT.unavailable,
  'peer.busy': EXIT.tempfail,
  'peer.protocol': EXIT.protocol,
  'auth.refused': EXIT.noperm,
  'output.create': EXIT.cantcreat,
  io: EXIT.ioerr,
  'io.full': EXIT.ioerr,
  'try.later': EXIT.tempfail,
  config: EXIT.config,
  limit: EXIT.dataerr,
  bug: EXIT.software,
} as const;
export type ErrorCode = keyof typeof STATUS_OF_CODE;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(STATUS_OF_CODE, value);
}

export class LccError extends Error {
  readonly code: ErrorCode;
  /** @param message one line: what, where (file:line:column, url or peer), what to do */
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'LccError';
    this.code = code;
  }
}

/** Statuses of a command that has not done its work. */
export const FAILURES: readonly ExitStatus[] = Object.values(EXIT).filter(status => status >= EXIT.usage);

/** The command that writes our input has failed: it has said why, and its status is ours. */
export class FailedBefore extends LccError {
  readonly status: ExitStatus;
  constructor(where: string, status: ExitStatus = EXIT.dataerr) {
    super('data.cut', `${where}: the command that writes it has failed, with ${status}; run that again`);
    this.status = status;
  }
}

/** True if a database is busy or its disk full: what failed is done at another time. */
export function isPassing(error: unknown): error is LccError {
  return error instanceof LccError && (error.code === 'try.later' || error.code === 'io.full');
}

/** Errnos of the system and of SQLite, by the exit status that they lead to. */
const STATUS_OF_ERRNO: ReadonlyMap<string, ExitStatus> = new Map(
  (
    [
      [EXIT.noinput, 'ENOENT EISDIR ENOTDIR ELOOP'],
      [EXIT.cantcreat, 'EACCES EPERM EEXIST EROFS SQLITE_CANTOPEN SQLITE_READONLY'],
      [EXIT.ioerr, 'EIO ENOSPC EDQUOT EMFILE ENFILE SQLITE_FULL SQLITE_IOERR'],
      [EXIT.tempfail, 'SQLITE_BUSY'],
      [EXIT.dataerr, 'SQLITE_CORRUPT SQLITE_NOTADB'],
      [EXIT.unavailable, 'ECONNREFUSED ECONNRESET ENOTFOUND EADDRINUSE EADDRNOTAVAIL ETIMEDOUT'],
    ] as const
  ).flatMap(([status, errnos]) => errnos.split(' ').map(errno => [errno, status] as const)),
);

/**
 * The exit status for anything thrown: an LccError by its code, a system error by its errno, all else a bug.
 */
export function exitStatusOf(error: unknown): ExitStatus {
  if (error instanceof FailedBefore) return error.status;
  if (error instanceof LccError) return STATUS_OF_CODE[error.code];
  return STATUS_OF_ERRNO.get(errnoOf(error) ?? '') ?? EXIT.software;
}

/** The advice where files of the LCC are another user's. */
export const AS_ITS_USER = 'run this as the user that lccd runs as';

/** The errno name (`ENOENT`, …) of a system error, else undefined. */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

const NOT_PERMITTED = 'this user may not use it; change its permissions, or run this as its owner';
const IS_DIRECTORY = 'it is a directory; name a file';
const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file or directory; check the name'],
  ['ENOTDIR', 'a part of its path is no directory; check the name'],
  ['EISDIR', IS_DIRECTORY],
  ['ERR_FS_EISDIR', IS_DIRECTORY],
  ['EACCES', NOT_PERMITTED],
  ['EPERM', NOT_PERMITTED],
  ['EROFS', 'its file system is read-only; name a file of another'],
  ['ELOOP', 'its symbolic links lead in a circle; name a file'],
]);

/** The reason of a system error about a file, with what to do, to stand after the file's name. Of any other
 * error, its message. */
export function reasonOf(error: unknown): string {
  return REASONS.get(errnoOf(error) ?? '') ?? messageOf(error);
}

/** True if the system says that the disk is full, or this user's share of it. */
export function isNoRoom(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === 'ENOSPC' || errno === 'EDQUOT';
}

/** The advice where a file could not be opened because too many are open; undefined for any other error. */
export function tooManyFiles(error: unknown): string | undefined {
  const errno = errnoOf(error);
  if (errno === 'EMFILE') return 'raise the limit of open files of this process (ulimit -n)';
  return errno === 'ENFILE' ? 'raise the limit of open files of this machine (fs.file-max)' : undefined;
}

/** The message of anything thrown, on one line. Several errors (a name with several addresses) give each
 * one's message. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/\s*\n\s*/g, '; ');
}
