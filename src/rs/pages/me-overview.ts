/** How a provider stands: what it has, what waits, whether it is fetched from now, and the line for its crontab. */
import { html } from 'hono/html';
import { opensAtMs, permits, slotOf, hoursOfMask, type Slots } from '../../config/hours.js';
import { formatUntil } from '../../config/words.js';
import type { ShownProvider } from '../../db/providers/registered.js';
import { crontabLine } from '../../wire/crontab.js';
import { codeBlock, type Markup } from './layout.js';
import { bytesText, countText } from './numbers.js';

export interface OverviewView {
  provider: ShownProvider;
  uns: string;
  slots: Slots;
  nowMs: number;
}

export function overview(view: OverviewView): Markup {
  const { provider } = view;
  const { tone, words, detail } = fetchingNow(view);
  return html`<h1>${provider.roots.length === 1 ? provider.roots[0] : `Provider ${provider.pid}`}</h1>
    <p class="standing"><span class="state ${tone}">${words}</span> <span>${detail}</span></p>
    <div class="tiles">
      ${tile('Pages and files', countText(provider.filesused), `of ${countText(provider.filesmax)}`)}
      ${tile('Space', bytesText(provider.spaceused), `of ${bytesText(provider.spacemax)}`)}
      ${tile('Waiting to be fetched', countText(provider.nurlproc), '')}
      ${tile('Errors', countText(provider.nurlerrs), '')}
    </div>
    <h2>Next step: the line for your crontab</h2>
    <p>
      Put the directory of your pages in the place of <code>/var/www</code>. The password is in
      <code>~/.lcc-password</code>.
    </p>
    ${codeBlock(lineOf(view), 'the line for your crontab')}`;
}

function tile(label: string, value: string, detail: string): Markup {
  return html`<div class="tile">
    <h2>${label}</h2>
    <p class="figure">${value}</p>
    <p>${detail}</p>
  </div>`;
}

interface Fetching {
  tone: 'good' | 'wait' | 'bad';
  words: string;
  detail: string;
}

/** Whether it is fetched from now, and if not, why. */
function fetchingNow({ provider, slots, nowMs }: OverviewView): Fetching {
  const hours = hoursOfMask(provider.timeofday, slots);
  if (provider.paused !== 0)
    return { tone: 'bad', words: 'paused', detail: 'The operator has stopped fetching from your site.' };
  if (!permits(hours, slotOf(nowMs, slots))) {
    const opensMs = opensAtMs(hours, nowMs, slots);
    const detail =
      opensMs === undefined
        ? 'You permit no hour.'
        : `The hours that you permit begin at ${formatUntil(opensMs, nowMs)}.`;
    return { tone: 'wait', words: 'outside of your hours', detail };
  }
  const backoffMs = provider.backoffuntil * 1000;
  if (backoffMs > nowMs)
    return {
      tone: 'bad',
      words: 'your site does not answer',
      detail: `It is asked again at ${formatUntil(backoffMs, nowMs)}.`,
    };
  return provider.nurlproc > 0
    ? { tone: 'good', words: 'is being fetched', detail: '' }
    : { tone: 'good', words: 'up to date', detail: 'Nothing waits to be fetched.' };
}

function lineOf({ provider, uns }: OverviewView): string {
  return crontabLine({
    bin: '/usr/local/bin',
    docroot: '/var/www',
    pwdfile: '$HOME/.lcc-password',
    pid: provider.pid,
    uns,
    urlprefix: provider.roots[0] ?? '',
  });
}
