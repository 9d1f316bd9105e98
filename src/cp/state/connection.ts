/**
 * The last connection to a UNS, beside a statefile: `FILE.uns` holds `NUMBERING PID SEQ`. A UNS gives a provider no number
 * twice, and later ones are higher. One that is not above what was given before says that the LCC was put back to an
 * earlier time, with its marks: it lacks what the state counts as delivered, and cannot know that itself.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

export interface NumberedConnection {
  /** Numbers with the same one can be compared. */
  numbering: string;
  pid: string;
  seq: number;
}

const FORM = /^(\w{1,64}) ([1-9]\d{0,14}) (\d{1,15})\n$/;

/** Undefined where nothing is noted, or nothing that makes sense: then nothing can be noticed. */
export function lastConnection(state: string): NumberedConnection | undefined {
  let text: string;
  try {
    text = readFileSync(fileOf(state), 'latin1');
  } catch {
    return undefined;
  }
  const [, numbering, pid, seq] = FORM.exec(text) ?? [];
  return numbering === undefined || pid === undefined ? undefined : { numbering, pid, seq: Number(seq) };
}

/** @param last noted before `now` began: another run may have connected since */
export function wentBack(last: NumberedConnection | undefined, now: NumberedConnection): boolean {
  return last?.numbering === now.numbering && last.pid === now.pid && now.seq <= last.seq;
}

/** Notes a connection. Where that cannot be written nothing depends on it. */
export function noteConnection(state: string, { numbering, pid, seq }: NumberedConnection): void {
  const text = `${numbering} ${pid} ${seq}\n`;
  if (!FORM.test(text)) return;
  const temporary = `${fileOf(state)}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, text);
    renameSync(temporary, fileOf(state));
  } catch {
    rmSync(temporary, { force: true });
  }
}

function fileOf(state: string): string {
  return `${state}.uns`;
}
