/**
 * The program that tells the operator: `lccd.alert_command`, run by sh(1), gets each event as a line of JSON
 * on standard input; without it a mail goes to `rs.operator_mail`, where `rs.smtp` is the sendmail(8) of this
 * machine. It is bounded in whatever it does: ended with all it has started when its time is over, and
 * nothing that it prints is kept.
 */
import { spawn } from 'node:child_process';
import type { Settings } from '../config/settings/index.js';
import type { Clock } from '../lib/clock.js';
import { killGroup } from '../lib/process-group.js';
import type { AlertEvent } from './alerts.js';

const TIMEOUT_MS = 30_000;

interface Order {
  program: string;
  args: readonly string[];
  inputOf: (events: readonly AlertEvent[]) => string;
}

/** How the operator is told; undefined: not at all. */
export function orderOf({ lccd, rs }: Pick<Settings, 'lccd' | 'rs'>): Order | undefined {
  if (lccd.alertCommand !== '')
    return {
      program: '/bin/sh',
      args: ['-c', lccd.alertCommand],
      inputOf: events => events.map(event => `${JSON.stringify(event)}\n`).join(''),
    };
  if (rs.operatorMail === '' || !rs.smtp.startsWith('/')) return undefined;
  const head = [
    `To: ${rs.operatorMail}`,
    ...(rs.mailFrom === '' ? [] : [`From: ${rs.mailFrom}`]),
    'Subject: LCC: providers that are silent, or heard of again',
    'Auto-Submitted: auto-generated',
    'Content-Type: text/plain; charset=utf-8',
  ];
  return {
    program: rs.smtp,
    args: ['-i', '--', rs.operatorMail],
    inputOf: events => [...head, '', ...events.map(({ text }) => text), ''].join('\n'),
  };
}

/** @returns why it was not told; undefined: it was */
export function tellBy(
  { program, args, inputOf }: Order,
  { clock, stop, timeoutMs = TIMEOUT_MS }: { clock: Clock; stop: AbortSignal; timeoutMs?: number },
): (events: readonly AlertEvent[]) => Promise<string | undefined> {
  return events =>
    new Promise(resolve => {
      // A group of its own, which ends with it.
      const child = spawn(program, args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
      let problem: string | undefined;
      const end = (why: string) => {
        problem ??= why;
        killGroup(child.pid);
      };
      const stopped = () => end('lccd stops');
      stop.addEventListener('abort', stopped);
      const cancel = clock.after(timeoutMs, () => end(`it took more than ${timeoutMs / 1000} s`));
      const settle = (why: string | undefined) => {
        cancel();
        stop.removeEventListener('abort', stopped);
        child.stdin?.destroy();
        resolve(problem ?? why);
      };
      child.on('error', error => settle(error.message));
      child.on('exit', (status, signal) => {
        killGroup(child.pid);
        if (status === 0) settle(undefined);
        else settle(signal === null ? `it exited with ${status}` : `it was killed by ${signal}`);
      });
      // One that does not read all of it says by its exit status whether it has what it needs.
      child.stdin?.on('error', () => undefined).end(inputOf(events));
    });
}
