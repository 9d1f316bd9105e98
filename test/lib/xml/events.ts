/** What a reader reports for an input, in a form that two runs can be compared by. */
import { readdirSync, readFileSync } from 'node:fs';
import { LccError } from '../../../src/lib/errors.js';
import { XmlReader } from '../../../src/lib/xml/reader.js';
import type { XmlLimits } from '../../../src/lib/xml/types.js';

export const LIMITS: XmlLimits = {
  maxTokenBytes: 65_536,
  maxDepth: 8,
  maxAttributes: 32,
  maxNameBytes: 256,
};

export type Event =
  | { open: string; attributes: [string, string][]; empty: boolean; raw: string }
  | { close: string }
  | { text: string }
  | { instruction: string; body: string };

export interface Outcome {
  /** Adjacent text is joined: how it is cut is no promise. */
  events: Event[];
  error?: string;
  /** How many bytes had been offered when the error came. */
  consumed: number;
}

export interface RunOptions {
  limits?: XmlLimits;
  instructions?: boolean;
  fastPath?: boolean;
}

/** Reads `chunks` to their end or to the first error. */
export function read(chunks: Iterable<Uint8Array>, options: RunOptions = {}): Outcome {
  const events: Event[] = [];
  const reader = new XmlReader(
    {
      open: (name, attributes, empty, raw) =>
        events.push({ open: name, attributes: Object.entries(attributes), empty, raw }),
      close: name => events.push({ close: name }),
      text: text => {
        const last = events.at(-1);
        if (last !== undefined && 'text' in last) last.text += text;
        else events.push({ text });
      },
      ...(options.instructions === false
        ? {}
        : {
            instruction: (target: string, body: string) => events.push({ instruction: target, body }),
          }),
    },
    options.limits ?? LIMITS,
    { where: 'input', fastPath: options.fastPath ?? true },
  );
  let consumed = 0;
  try {
    for (const chunk of chunks) {
      consumed += chunk.length;
      reader.write(chunk);
    }
    reader.end();
  } catch (error) {
    if (!(error instanceof LccError)) throw error;
    // Text in front of an error may or may not have been reported.
    const last = events.at(-1);
    if (last !== undefined && 'text' in last) events.pop();
    return { events, error: `${error.code} ${error.message}`, consumed };
  }
  return { events, consumed };
}

/** The input in pieces of the given sizes, the last size repeating. */
export function* cut(input: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  let from = 0;
  for (let i = 0; from < input.length; i++) {
    const size = Math.max(1, sizes[Math.min(i, sizes.length - 1)] ?? 1);
    yield input.subarray(from, from + size);
    from += size;
  }
}

const GOLDEN = new URL('../../../../test/golden/', import.meta.url);

/** The XML documents every reader must agree on, by name. */
export function goldenFiles(): [string, Buffer][] {
  return readdirSync(GOLDEN)
    .filter(name => name.endsWith('.xml'))
    .sort()
    .map(name => [name, readFileSync(new URL(name, GOLDEN))]);
}
