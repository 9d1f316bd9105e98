/** The program a stream is piped into: `lccq … -- CMD ARGS`. It has succeeded when it took everything and
 * exited 0. */
import { spawn, type StdioOptions } from 'node:child_process';
import { constants } from 'node:os';
import { systemClock } from '../lib/clock.js';
import { errnoOf } from '../lib/errors.js';
import { closeOutput } from '../lib/process-group.js';
import type { StreamSink } from './sink.js';

export interface Consumer extends StreamSink {
  /** Waits until there is room for more. @throws ConsumerGone */
  write(chunk: string | Uint8Array): Promise<void>;
  /** Ends its input and waits for its end. */
  finish(): Promise<ConsumerEnd>;
  /** Passes a signal on; what it has not read is lost. */
  kill(signal: NodeJS.Signals): void;
}

/** `status` as a shell would say it: 128 + n after signal n, 127 not found, 126 not executable. */
export interface ConsumerEnd {
  /** True if all that was written reached its standard input before it closed that. */
  tookAll: boolean;
  status: number;
  /** The end of the consumer, for people: `exited with 3`, `was killed by SIGSEGV`, `was not found`. */
  what: string;
}

/** A program that was started. */
export interface StartedConsumer extends Consumer {
  /** Sends SIGTERM, and closes its input wherever that is. */
  giveUp(): void;
  over: Promise<Omit<ConsumerEnd, 'tookAll'>>;
}

/** Standard output of a program, where that is for us. */
interface ConsumerOutput {
  said(chunk: Buffer): void;
  /** No more will come: it has ended, or it has closed its standard output. */
  ended(): void;
}

/** A program to be run, and the descriptors that its output and its errors go to. */
export interface ConsumerCall {
  name: string;
  args: readonly string[];
  stdout: number;
  stderr: number;
}

/** A program that takes streams. */
export interface ConsumerProgram {
  /** As it is called in messages. */
  readonly name: string;
  /** Aborts when it has ended, or is of no use any more, although nobody has asked it to end. */
  readonly gone?: AbortSignal;
  /** For one stream. */
  start(): Consumer;
}

/** The program closed its input or ended before everything was written: nothing more need be made for it. */
export class ConsumerGone extends Error {}

/** A program that is run once for each stream. */
export function runForEach(call: ConsumerCall): ConsumerProgram {
  return { name: call.name, start: () => startConsumer(call) };
}

/**
 * Starts a program with a pipe as its standard input.
 * @param output is given what it writes to its standard output, in place of `stdout`
 */
export function startConsumer(
  { name, args, stdout, stderr }: ConsumerCall,
  output?: ConsumerOutput,
): StartedConsumer {
  const stdio: StdioOptions = ['pipe', output === undefined ? stdout : 'pipe', stderr];
  const child = spawn(name, args, { stdio });
  const { stdin } = child;
  if (stdin === null) throw new Error('a consumer without a pipe');
  if (output !== undefined)
    child.stdout?.on('data', (chunk: Buffer) => output.said(chunk)).on('end', () => output.ended());
  let cut = false;
  let hasExited = false;
  stdin.on('error', () => (cut = true));
  const cutOff = () => {
    cut = true;
    stdin.destroy();
  };
  const over = new Promise<Omit<ConsumerEnd, 'tookAll'>>(resolve => {
    child.on('error', error => resolve(notStarted(errnoOf(error) ?? error.message)));
    // Not before all that it said was read.
    const ended = (status: number | null, signal: NodeJS.Signals | null) => resolve(endOf(status, signal));
    child.on('close', ended);
    child.on('exit', (status, signal) => {
      hasExited = true;
      if (stdin.writableLength > 0) cutOff();
      if (output === undefined) return ended(status, signal);
      closeOutput(child.stdout, systemClock, () => ended(status, signal));
    });
  });
  const closed = new Promise<void>(resolve => stdin.once('close', resolve));
  return {
    async write(chunk) {
      if (hasExited) cutOff();
      if (cut || stdin.destroyed) throw new ConsumerGone();
      // Until the pipe has taken all of it: the bytes are the caller's again. The caller must wake up when
      // the consumer is gone.
      await Promise.race([new Promise(resolve => stdin.write(chunk, resolve)), closed]);
      if (cut || stdin.destroyed) throw new ConsumerGone();
    },
    async finish() {
      if (!cut && !stdin.destroyed) stdin.end();
      else cut = true;
      await closed;
      return { ...(await over), tookAll: !cut };
    },
    giveUp() {
      cutOff();
      child.kill('SIGTERM');
    },
    over,
    kill: signal => void child.kill(signal),
  };
}

function notStarted(errno: string): Omit<ConsumerEnd, 'tookAll'> {
  return errno === 'ENOENT'
    ? { status: 127, what: 'was not found' }
    : { status: 126, what: `cannot be run (${errno})` };
}

function endOf(status: number | null, signal: NodeJS.Signals | null): Omit<ConsumerEnd, 'tookAll'> {
  if (signal !== null) return { status: 128 + constants.signals[signal], what: `was killed by ${signal}` };
  return { status: status ?? 0, what: `exited with ${status}` };
}
