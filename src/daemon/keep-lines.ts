/**
 * Daemons and commands ⇄ lccd-keep, over `run/keep.sock`: lines of text. Both sides speak whenever they have
 * something to say.
 *
 *     shipped NAME ID         is all that is committed in NAME (lcc, rs, clear) by now in the engine?
 *     ◀ shipped ID            it is
 *     ◀ unshipped ID REASON   it is not and will not be: this machine does not own the home
 *     lease                   from now on, how the lease stands, with each change
 *     ◀ owner EPOCH UNTIL     held surely until UNTIL, milliseconds of CLOCK_MONOTONIC (`machineMs`)
 *     ◀ standby OWNER         another machine has it; - for none
 */
import { LccError } from '../lib/errors.js';

export const KEEP_SOCKET = 'keep.sock';
/** Characters of a line. */
export const MAX_KEEP_LINE = 1024;

export type KeepQuestion = { word: 'shipped'; name: string; id: number } | { word: 'lease' };
export type KeepWord =
  | { word: 'shipped'; id: number }
  | { word: 'unshipped'; id: number; reason: string }
  | { word: 'owner'; epoch: number; untilMs: number }
  | { word: 'standby'; owner: string };

/** Milliseconds of the machine's clock that never goes back, the same in all of its processes. */
export function machineMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/** @throws LccError `peer.protocol` */
export function parseKeepQuestion(line: string): KeepQuestion {
  const [, name = '', id = ''] = /^shipped ([a-z]{1,16}) (\d{1,15})$/.exec(line) ?? [];
  if (name !== '') return { word: 'shipped', name, id: Number(id) };
  if (line === 'lease') return { word: 'lease' };
  throw unknown(line);
}

/** @throws LccError `peer.protocol` */
export function parseKeepWord(line: string): KeepWord {
  const [, word, first = '', rest = ''] =
    /^(shipped|unshipped|owner|standby) (\S{1,255})(?: (.{1,700}))?$/.exec(line) ?? [];
  const number = Number(first);
  if (word === 'standby') return { word, owner: first === '-' ? '' : first };
  if (!/^\d{1,15}$/.test(first)) throw unknown(line);
  if (word === 'shipped') return { word, id: number };
  if (word === 'unshipped') return { word, id: number, reason: rest };
  if (word === 'owner' && /^\d{1,15}$/.test(rest)) return { word, epoch: number, untilMs: Number(rest) };
  throw unknown(line);
}

export function formatKeepQuestion(question: KeepQuestion): string {
  return question.word === 'lease' ? 'lease\n' : `shipped ${question.name} ${question.id}\n`;
}

export function formatKeepWord(word: KeepWord): string {
  switch (word.word) {
    case 'shipped':
      return `shipped ${word.id}\n`;
    case 'unshipped':
      return `unshipped ${word.id} ${word.reason.replace(/\s+/g, ' ').slice(0, 700)}\n`;
    case 'owner':
      return `owner ${word.epoch} ${Math.floor(word.untilMs)}\n`;
    case 'standby':
      return `standby ${word.owner === '' ? '-' : word.owner}\n`;
  }
}

function unknown(line: string): LccError {
  return new LccError('peer.protocol', `keep.sock: unknown line ${JSON.stringify(line.slice(0, 100))}`);
}
