/** `lccstat --url=URL`: what became of one url, from the database and from what the Queue Manager says of its
 * provider. */
import type { Config } from '../config/load.js';
import { formatUntil } from '../config/words.js';
import { readProviderQueue } from '../db/queue/shape.js';
import { UrlLives } from '../db/queue/url-life.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { describeProvider } from '../run/look/queue.js';
import { adviceOf } from '../rs/pages/advice.js';
import { toldNow } from '../run/look/providers-now.js';
import { lifeFacts, UNKNOWN_TODO, type UrlLife } from '../wire/url-life.js';
import { readLcc } from './lcc-db.js';
import type { CommandContext } from './run.js';

/**
 * @returns `someRejected` when nothing is known of it @throws LccError `usage` for what is no url; as
 * `readLcc`
 */
export async function showUrl(
  context: CommandContext,
  { home, get }: Pick<Config, 'home' | 'get'>,
  url: string,
): Promise<ExitStatus> {
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
    throw new LccError('usage', `--url: "${url}" is no http or https url; give it as it was announced`);
  const slots = get('qm.slots');
  const told = await toldNow(home.run);
  const nowMs = context.clock.nowMs();
  const lives = readLcc(home.db, db =>
    new UrlLives(db).all(0, url, { nowMs, slots }, pid => {
      const provider = readProviderQueue(db, pid);
      return provider === undefined
        ? 'unknown'
        : describeProvider(provider, told.get(pid) ?? {}, nowMs, slots);
    }),
  );
  context.print(
    context.options['json'] === true
      ? `${JSON.stringify({ url, providers: lives })}\n`
      : textOf(url, lives, nowMs),
  );
  return lives.some(({ rows }) => rows.length > 0) ? EXIT.ok : EXIT.someRejected;
}

const LABEL_WIDTH = 14;

function textOf(url: string, lives: readonly UrlLife[], nowMs: number): string {
  const line = (label: string, text: string) => `${label.padEnd(LABEL_WIDTH)}${text}\n`;
  const words = { time: (atMs: number) => formatUntil(atMs, nowMs), advice: adviceOf };
  const of = ({ pid, root, rows, state }: UrlLife) => {
    const head = line('provider', `${pid}, root ${root ?? 'none around it any more'}`);
    if (rows.length === 0) return `${head}${line('known', 'nothing')}${line('to do', UNKNOWN_TODO)}`;
    const parts = rows.map(row => [
      ...(rows.length === 1 && row.mimetype === '*/*' ? [] : [line('mimetype', row.mimetype)]),
      ...lifeFacts(row, state, words).map(([label, text]) => line(label, text)),
    ]);
    return head + parts.flat().join('');
  };
  if (lives.length === 0)
    return `${url}\n${line('provider', 'none has a root around it')}${line('to do', 'add the root (lccpidb root add), or look at the address')}`;
  return `${url}\n${lives.map(of).join('\n')}`;
}
