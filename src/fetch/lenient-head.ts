/**
 * The head of an answer as old and odd servers write it: HTTP/0.9, ICY, lines that end by LF, folded lines,
 * blanks before the colon, lines without one, control characters. What would let two readers see two answers
 * is refused: NUL, a bare CR, a Content-Length that is not one number, or beside a transfer coding, any such
 * coding but chunked, and names that are nearly theirs.
 */
import { fail, type FetchFailure } from './failure.js';
import { HTTP_0_9, readHead, type ResponseHead } from './head.js';

/** The head of the bytes that came, and where the body begins. */
interface LenientHead {
  head: ResponseHead;
  bodyAt: number;
}

const STATUS_LINE = /^(?:HTTP\/1\.[01]|ICY) +([1-9]\d\d)(?: .*)?$/;
const BEGINNINGS = ['HTTP/1.0 ', 'HTTP/1.1 '];
const OLD_BEGINNINGS = [...BEGINNINGS, 'ICY '];
const BLANK = /^[\t\n\r ]$/;
/** None of it can stand in a message of ours; NUL, CR and LF are seen to before. */
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]/g;
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;
const FRAMING = ['contentlength', 'transferencoding'];

/** @param takesOld HTTP/0.9 and ICY are answers @returns undefined while more must come */
export function readLenientHead(bytes: Buffer, takesOld: boolean): LenientHead | FetchFailure | undefined {
  const text = bytes.toString('latin1');
  const start = firstOf(text);
  if (start < 0) return undefined;
  if (takesOld && text[start] === '<') return { head: readHead(HTTP_0_9, []), bodyAt: 0 };
  const beginning = text.slice(start, start + 9);
  const beginnings = takesOld ? OLD_BEGINNINGS : BEGINNINGS;
  if (!beginnings.some(each => each.startsWith(beginning) || beginning.startsWith(each)))
    return fail('malformed', 'not HTTP, and no document');
  const end = /\n\r?\n/.exec(text);
  if (end === null) return undefined;
  const bodyAt = end.index + end[0].length;
  const head = text.slice(start, end.index);
  // eslint-disable-next-line no-control-regex
  if (/\0|\r(?!\n|$)/.test(head)) return fail('malformed', 'a NUL or a bare CR in the headers');
  const [first = '', ...lines] = head.split(/\r?\n/);
  const status = STATUS_LINE.exec(first.trimEnd())?.[1];
  if (status === undefined) return fail('malformed', 'no status line');
  const fields = fieldsOf(lines);
  const problem = framingProblem(fields);
  if (problem !== undefined) return problem;
  const raw = fields.flat().map(part => Buffer.from(part, 'latin1'));
  return { head: readHead(Number(status), raw), bodyAt };
}

function firstOf(text: string): number {
  for (let at = 0; at < text.length; at++) if (!BLANK.test(text[at] ?? '')) return at;
  return -1;
}

function fieldsOf(lines: readonly string[]): [name: string, value: string][] {
  const fields: [string, string][] = [];
  for (const line of lines) {
    const last = fields.at(-1);
    if (/^[\t ]/.test(line)) {
      if (last !== undefined) last[1] = `${last[1]} ${valueOf(line)}`.trim();
      continue;
    }
    const colon = line.indexOf(':');
    if (colon > 0) fields.push([line.slice(0, colon).replace(/[\t ]+$/, ''), valueOf(line.slice(colon + 1))]);
  }
  return fields;
}

function valueOf(text: string): string {
  return text.replace(CONTROLS, ' ').trim();
}

function framingProblem(fields: readonly [string, string][]): FetchFailure | undefined {
  const odd = fields.find(
    ([name]) => !TOKEN.test(name) && FRAMING.includes(name.toLowerCase().replace(/[^a-z]/g, '')),
  );
  if (odd !== undefined) return fail('framing', `a header called ${JSON.stringify(odd[0].slice(0, 100))}`);
  const valuesOf = (name: string) =>
    fields.flatMap(([each, value]) => (each.toLowerCase() === name ? [value] : []));
  const codings = valuesOf('transfer-encoding');
  const lengths = valuesOf('content-length');
  if (codings.length > 0 && (codings.join().toLowerCase() !== 'chunked' || lengths.length > 0))
    return fail(
      'framing',
      `Transfer-Encoding: ${codings.join(', ').slice(0, 100)}, which is not chunked alone`,
    );
  const isOne = lengths.length === 1 && /^\d{1,15}$/.test(lengths[0] ?? '');
  return lengths.length === 0 || isOne
    ? undefined
    : fail('content-length', `Content-Length: ${lengths.join(', ').slice(0, 100)}`);
}
