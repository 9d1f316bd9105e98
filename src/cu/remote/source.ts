/**
 * Rows of an lccd-cu elsewhere (`lccq --from`). A connection that breaks is made again, and its query asked
 * once more from after the last whole row: the stream goes on as if nothing had been cut.
 *
 *     asking ──a row, whole──▶ asking     asking ──its end──▶ answered
 *       ▲ ╰──broken──▶ waiting ──an hour without a row──▶ given up
 *       ╰────its time────╯
 */
import { HOUR, MINUTE, SECOND } from '../../config/amounts.js';
import { formatDuration } from '../../config/words.js';
import { COLUMNS, type ColumnName, type ColumnValue } from '../../db/cache/fields.js';
import { columnsOf, piecesOf, type LineTemplate } from '../../db/cache/template.js';
import { backoffMs } from '../../lib/backoff.js';
import { stayFor, type Clock } from '../../lib/clock.js';
import { formatEndpoint } from '../../lib/endpoint.js';
import { LccError } from '../../lib/errors.js';
import { AWAY, FORMER_TYPES, PROBLEM, REPLACED } from '../../wire/cu-rows.js';
import type { Attributes } from '../../lib/xml/types.js';
import { ArrivingContent } from '../arriving-content.js';
import { contentWanted } from '../content-wanted.js';
import { cursorAt } from '../cursor.js';
import type { FormatContext, RowWriter, Writer } from '../formats/types.js';
import { leaveOut } from '../missing-content.js';
import { contextFor, kindOf, selectionOf, type QueryTalk } from '../query.js';
import type { Rejects } from '../rejects.js';
import type { Source, Watching } from '../source.js';
import type { StoredContent } from '../stored-content.js';
import type { Query } from '../types.js';
import type { Range, RowWindow } from '../windows.js';
import { CuLink, type RemoteOptions, type RowsQuery } from './link.js';

/** Between two questions if there is anything new. */
const LOOK_MS = SECOND;
const WAITS = { minMs: SECOND, maxMs: MINUTE };
/** Without a row; then it is given up. */
const GIVE_UP_MS = HOUR;
const NUMBERS: ReadonlySet<string> = new Set<ColumnName>([
  ...(['id', 'seq', 'pid', 'len', 'hops'] as const),
  ...(['fetched_time', 'deleted_time', 'changed_time'] as const),
]);

/** Columns of rows, or of lines. */
type Columns = Exclude<Writer, RowWriter> | Pick<RowWriter, 'columns'>;

interface Row {
  attributes: Attributes;
  content: StoredContent | undefined;
}

export class RemoteSource implements Source {
  readonly storeId: string;
  readonly purged = 0;
  readonly #storeDir: string;
  readonly #link: CuLink;
  readonly #options: RemoteOptions;
  #highWater: number;
  /** Whose record is being made. */
  #row: Row = { attributes: {}, content: undefined };

  private constructor(
    link: CuLink,
    options: RemoteOptions,
    found: { storeId: string; high: number; dir: string },
  ) {
    this.#link = link;
    this.#options = options;
    this.storeId = found.storeId;
    this.#storeDir = found.dir;
    this.#highWater = found.high;
  }

  /** Connects. @throws LccError as `CuLink.ask` */
  static async open(options: RemoteOptions): Promise<RemoteSource> {
    const link = new CuLink(options);
    for (let left = options.endpoints.length; ; left--)
      try {
        return new RemoteSource(link, options, await lookAt(link));
      } catch (error) {
        if (left <= 1 || !(error instanceof LccError) || error.code !== 'peer.unavailable') throw error;
      }
  }

  get highWater(): number {
    return this.#highWater;
  }

  async look(stop: AbortSignal = new AbortController().signal): Promise<number> {
    const failures = new Failures(this.#options);
    for (;;)
      try {
        const { storeId, high } = await lookAt(this.#link);
        if (storeId !== this.storeId) throw this.#another(storeId);
        return (this.#highWater = high);
      } catch (error) {
        await failures.wait(error, stop);
        if (stop.aborted) return this.#highWater;
      }
  }

  async *windows(
    query: Query,
    range: Range,
    writer: Columns,
    stop: AbortSignal,
  ): AsyncGenerator<RowWindow, void> {
    const fields = fieldsFor(query, writer);
    const asked = this.#questionFor(query, range, fields);
    let after = range.since;
    let left = range.limit;
    const failures = new Failures(this.#options);
    for (;;) {
      let arriving: ArrivingContent | undefined;
      try {
        const more = after === range.since ? {} : { after: cursorAt(this.storeId, after, range.began) };
        const limit = left === Infinity ? {} : { limit: left };
        for await (const event of this.#link.ask({ ...asked, ...more, ...limit })) {
          switch (event.kind) {
            case 'result':
              if (event.storeId !== this.storeId) throw this.#another(event.storeId);
              this.#highWater = event.high;
              break;
            case 'url':
              this.#row = { attributes: event.attributes, content: undefined };
              if (event.hasContent) arriving = new ArrivingContent();
              break;
            case 'content':
              arriving?.addText(event.text);
              break;
            case 'url-end': {
              const { attributes } = this.#row;
              const content = arriving?.finish(attributes['md5'] ?? '');
              if (arriving !== undefined && content === undefined)
                throw new LccError(
                  'peer.unavailable',
                  `${this.#link.where}: a content was altered on its way`,
                );
              this.#row.content = content;
              arriving = undefined;
              const seq = Number(attributes['seq']);
              yield windowOf(attributes, seq, writer);
              this.#row.content?.close();
              this.#row.content = undefined;
              after = seq;
              left--;
              failures.forget();
              break;
            }
            case 'limited':
              if (event.cursor.seq > after) yield { items: [], count: 0, reachedSeq: event.cursor.seq };
              break;
            case 'end':
            case 'refused':
          }
        }
        return;
      } catch (error) {
        arriving?.drop();
        await failures.wait(error, stop);
        if (stop.aborted) return;
      }
    }
  }

  context(query: Query, rejects: Rejects, talk: QueryTalk): FormatContext {
    const store = { storeId: this.storeId, storeDir: this.#storeDir };
    return contextFor({ ...query, ...store }, rejects, talk, {
      openContent: (values, tell) => {
        const { attributes, content } = this.#row;
        this.#row.content = undefined;
        if (content !== undefined) return content;
        const [, fileid] = values;
        const file = typeof fileid === 'string' ? `${this.#storeDir}/${fileid}` : undefined;
        const { [PROBLEM]: problem, [AWAY]: away } = attributes;
        if (away !== undefined && this.#options.skipsAway !== true)
          throw new LccError('try.later', `${this.#link.where}: ${away}`);
        const why = problem ?? (file === undefined ? undefined : 'missing');
        leaveOut(rejects, values, file, { why, isReplaced: attributes[REPLACED] !== undefined }, tell);
        return undefined;
      },
      typesUnder: () => (this.#row.attributes[FORMER_TYPES] ?? '').split(' ').filter(type => type !== ''),
    });
  }

  watch(clock: Clock): Watching {
    return {
      seen: () => this.#highWater,
      changedSince: async (seen, stop) => {
        while (!stop.aborted && (await this.look(stop)) === seen) await stayFor(clock, LOOK_MS, stop);
      },
      close: () => undefined,
    };
  }

  close(): void {
    this.#link.close();
  }

  #questionFor(query: Query, range: Range, fields: string[]): RowsQuery {
    const { format } = query;
    const { sides, pid, prefix, mime, since, until, browsable } = selectionOf(query);
    return {
      fields,
      content: contentWanted(query, fields),
      deleted: sides.length === 2 ? 'yes' : sides.includes('gone') ? 'only' : 'no',
      by: kindOf(format) === 'pages' ? 'url' : browsable === true ? 'shown' : 'row',
      ...(range.since > 0 && { cursor: cursorAt(this.storeId, range.since, range.began) }),
      ...(pid !== undefined && { pid }),
      ...(prefix !== undefined && { prefix }),
      ...(mime !== undefined && { mime }),
      ...(since !== undefined && { since: String(since) }),
      ...(until !== undefined && { until: String(until) }),
    };
  }

  #another(storeId: string): LccError {
    return new LccError(
      'data.refused',
      `${this.#link.where}: another store since (${storeId}, before ${this.storeId}); full resync needed`,
    );
  }
}

/** Failures in a row, and the waits between them. */
class Failures {
  readonly #options: RemoteOptions;
  #count = 0;
  #sinceMs: number;

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.#sinceMs = options.clock.monotonicMs();
  }

  forget(): void {
    this.#count = 0;
    this.#sinceMs = this.#options.clock.monotonicMs();
  }

  /** Waits, where that may help. @throws the error where not, `try.later` once it has lasted for too long */
  async wait(error: unknown, stop: AbortSignal): Promise<void> {
    if (!(error instanceof LccError) || error.code !== 'peer.unavailable') throw error;
    const { clock, note, endpoints, patienceMs = GIVE_UP_MS } = this.#options;
    if (clock.monotonicMs() - this.#sinceMs > patienceMs)
      throw new LccError(
        'try.later',
        `${error.message}; given up after ${formatDuration(patienceMs / SECOND)}, run again`,
      );
    if (this.#count++ === 0)
      note(`${error.message}; goes on when ${endpoints.map(formatEndpoint).join(' or ')} answers`);
    // Most connections break for no reason that lasts, and the next may be there.
    const rounds = Math.max(1, Math.ceil(this.#count / endpoints.length) - 1);
    if (this.#count > 1 && this.#count % endpoints.length === 0)
      await stayFor(clock, backoffMs(WAITS, rounds, Math.random()), stop);
  }
}

async function lookAt(link: CuLink): Promise<{ storeId: string; high: number; dir: string }> {
  const query: RowsQuery = { fields: ['seq'], limit: 1, content: false };
  let found: { storeId: string; high: number; dir: string } | undefined;
  for await (const event of link.ask(query)) if (event.kind === 'result') found = event;
  if (found === undefined) throw new LccError('peer.protocol', `${link.where}: an answer without a result`);
  return found;
}

/** Columns that the format's records are made of, and what they are found by. */
function fieldsFor({ format, selection }: Query, writer: Columns): string[] {
  const columns =
    'template' in writer
      ? (['held', 'gone'] as const).flatMap(side => columnsOf(piecesOf(writer.template, side) ?? []))
      : writer.columns;
  const former = format.needsFormerTypes === true && selection.sides.includes('gone') ? [FORMER_TYPES] : [];
  return [...new Set<string>(['seq', 'op', ...columns, ...former])];
}

function windowOf(attributes: Attributes, seq: number, writer: Columns): RowWindow {
  const valueOf = (name: ColumnName): ColumnValue => {
    const value = attributes[name];
    return value === undefined ? null : NUMBERS.has(name) ? Number(value) : value;
  };
  const item =
    'template' in writer
      ? {
          bytes: Buffer.from(lineOf(writer.template, attributes['op'] === 'delete', valueOf)),
          count: 1,
          lastSeq: seq,
        }
      : [seq, ...writer.columns.map(valueOf)];
  return { items: [item], count: 1, reachedSeq: seq };
}

/** The line that SQLite would put together (db/cache/template.ts). */
function lineOf(
  template: LineTemplate,
  isDelete: boolean,
  valueOf: (name: ColumnName) => ColumnValue,
): string {
  const pieces = piecesOf(template, isDelete ? 'gone' : 'held') ?? [];
  const texts = pieces.map(piece => {
    if (typeof piece === 'string') return piece;
    const value = valueOf(piece.column);
    if (value === null) return '';
    const text =
      COLUMNS[piece.column].free === true
        ? template.escapes.reduce((all, [from, to]) => all.replaceAll(from, to), String(value))
        : String(value);
    return piece.before + text + piece.after;
  });
  return texts.join('') + template.end;
}
