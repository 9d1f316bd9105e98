/**
 * Structured log lines on stderr: one JSON object a line for machines, short text when a person is looking.
 */

export type Level = 'error' | 'warn' | 'info' | 'debug';
const ORDER: Record<Level, number> = { error: 0, warn: 1, info: 2, debug: 3 };

export type LogFields = Record<string, string | number | boolean | null | undefined>;

export interface Log {
  error(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  debug(event: string, fields?: LogFields): void;
}

interface LogOptions {
  /** The process's name, first in every line. */
  name: string;
  level: Level;
  /** Text for people instead of JSON. */
  human: boolean;
  /** Where a finished line goes; defaults to stderr. */
  write?: (line: string) => void;
  /** Wall clock in milliseconds; defaults to the machine's. */
  nowMs?: () => number;
}

/** Makes a log. `event` is a short phrase in the present tense; everything variable goes into fields. */
export function createLog(options: LogOptions): Log {
  const write = options.write ?? (line => process.stderr.write(line));
  const nowMs = options.nowMs ?? Date.now;
  const at =
    (level: Level) =>
    (event: string, fields: LogFields = {}) => {
      if (ORDER[level] > ORDER[options.level]) return;
      const whole = wholeTimes(fields);
      const line = options.human
        ? humanLine(options.name, level, event, whole)
        : jsonLine(level, event, whole);
      write(line);
    };
  const jsonLine = (level: Level, event: string, fields: LogFields) =>
    `${quoted({ time: new Date(nowMs()).toISOString(), level, daemon: options.name, event, ...fields })}\n`;
  return { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
}

/** The same log, with further fields in each line; `daemon` there is the name in it. */
export function withFields(log: Log, more: LogFields): Log {
  const at = (level: Level) => (event: string, fields?: LogFields) =>
    log[level](event, { ...more, ...fields });
  return { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
}

/** A log that says nothing: for stages driven without a daemon. */
export const silentLog: Log = { error() {}, warn() {}, info() {}, debug() {} };

/** Clocks measure fractions of milliseconds, which nobody wants to read. */
function wholeTimes(fields: LogFields): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      typeof value === 'number' && key.endsWith('_ms') ? Math.round(value) : value,
    ]),
  );
}

function humanLine(name: string, level: Level, event: string, fields: LogFields): string {
  const details = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) =>
        `${key}=${typeof value === 'string' && /[\s"=\p{Cc}]/u.test(value) ? quoted(value) : value}`,
    );
  const mark = level === 'info' ? '' : `${level}: `;
  return `${name}: ${mark}${[event, ...details].join(' ')}\n`;
}

/** As JSON, the control characters that JSON leaves alone included: fields carry what peers sent, and
 * terminals obey. */
function quoted(value: unknown): string {
  return JSON.stringify(value).replace(/[\u007f-\u009f]/g, c => `\\u00${c.charCodeAt(0).toString(16)}`);
}
