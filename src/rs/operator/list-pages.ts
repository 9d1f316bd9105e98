/** Queue, providers, daemons, refusals and audit, as tables; and what became of a url. */
import { html } from 'hono/html';
import { formatDuration } from '../../config/words.js';
import type {
  RsDaemon,
  RsMachine,
  RsProviderPage,
  RsProviderQueue,
  RsProviderRow,
} from '../../wire/rs-looks.js';
import type { UrlLife } from '../../wire/url-life.js';
import { capital, fieldOf, type Markup } from '../pages/layout.js';
import { bytesText, countText } from '../pages/numbers.js';
import { tableOf, type Column } from '../pages/table.js';
import { livesBody } from '../pages/url-life.js';
import { auditTable, freshness, numberCell } from './markup.js';
import { addSite, barsLegend, siteTable } from './site-table.js';
import type { AuditPage, OperatorViews } from './views.js';

export function queuePage(views: OperatorViews, base: string, nowMs: number): Markup {
  const queue = views.queue();
  const { total, age_minutes: minutes, providers, left_off: leftOff } = queue;
  const ages: Column<RsProviderQueue>[] = total.ages.map((_, i) => ({
    head: ageHead(minutes, i),
    kind: 'number',
    cell: ({ ages: counts, exact }) => {
      const count = counts[i] ?? 0;
      return count === 0 || exact ? numberCell(count) : `~${countText(count)}`;
    },
  }));
  const columns: Column<RsProviderQueue>[] = [
    { head: 'Provider', kind: 'number', cell: ({ pid }) => (pid === 0 ? 'all' : providerLink(base, pid)) },
    { head: 'Waiting', kind: 'number', cell: ({ waiting }) => numberCell(waiting) },
    { head: 'What is going on', kind: 'wide', cell: ({ state }) => state },
    ...ages,
  ];
  const rows = [{ pid: 0, ...total, state: '' }, ...providers];
  return html`<h1>Queue</h1>
    ${freshness(queue, nowMs)}
    <p>Urls that wait, by how long they have waited, in minutes. The longest queues come first.</p>
    ${tableOf('Queue by provider and age', columns, queue.at === null ? [] : rows, { empty: 'Nothing was seen yet.', isWide: true })}
    ${
      leftOff.providers === 0
        ? ''
        : html`<p>
            ${countText(leftOff.providers)} more providers with ${countText(leftOff.waiting)} urls are not
            shown;
            <code>lccstat --queue --limit</code> shows them.
          </p>`
    }`;
}

function ageHead(minutes: readonly number[], i: number): string {
  const upTo = minutes[i];
  return upTo === undefined
    ? `over ${formatDuration((minutes.at(-1) ?? 0) * 60)}`
    : formatDuration(upTo * 60);
}

/** @param register where sites register; '' where they cannot */
export function providersPage(
  page: RsProviderPage & { problem: string | null },
  search: string,
  base: string,
  register: string,
  nowMs: number,
): Markup {
  const more = `${base}/providers?${new URLSearchParams({ search }).toString()}&after=`;
  const holds: Column<RsProviderRow>[] = [
    { head: 'Files', kind: 'number', cell: ({ files }) => numberCell(files) },
    { head: 'Space', kind: 'number', cell: ({ bytes }) => bytesText(bytes) },
  ];
  const none = search === '' ? '' : html`<div class="empty"><p>None has "${search}".</p></div>`;
  return html`<h1>Providers</h1>
    ${page.problem === null ? '' : html`<div class="note bad" role="status"><p>${capital(page.problem)}.</p></div>`}
    <form class="filter" method="get" action="${base}/providers" role="search">
      ${fieldOf({ name: 'search', label: 'Number, or part of an address', value: search, isRequired: true })}
      <button>Search</button>
      ${search === '' ? '' : html`<a href="${base}/providers">All of them</a>`}
    </form>
    ${page.providers.length === 0 ? none : html`${siteTable('Providers', page.providers, base, nowMs, holds)} ${barsLegend()}`}
    ${page.next === null ? '' : html`<p class="pages"><a href="${more}${String(page.next)}">Further ones</a></p>`}
    ${search === '' ? addSite(register) : ''}`;
}

export function daemonsPage(views: OperatorViews, nowMs: number): Markup {
  const { daemons, machines, ...fresh } = views.daemons();
  const columns: Column<RsDaemon>[] = [
    { head: 'Daemon', cell: ({ name }) => name },
    {
      head: 'State',
      cell: daemon =>
        'problem' in daemon
          ? html`<span class="state bad">away</span>`
          : html`<span class="state ${daemon.idle ? '' : 'good'}">${daemon.idle ? 'idle' : 'busy'}</span>`,
    },
    { head: 'Up', kind: 'number', cell: daemon => ('problem' in daemon ? '' : formatDuration(daemon.up_s)) },
    {
      head: 'Memory',
      kind: 'number',
      cell: daemon => ('problem' in daemon ? '' : bytesText(daemon.rss_bytes)),
    },
    { head: 'Doing', kind: 'wide', cell: daemon => ('problem' in daemon ? daemon.problem : daemon.doing) },
  ];
  const ofMachines: Column<RsMachine>[] = [
    { head: 'Machine', cell: ({ name }) => name },
    {
      head: 'State',
      cell: ({ isHere }) =>
        html`<span class="state ${isHere ? 'good' : 'bad'}">${isHere ? 'connected' : 'away'}</span>`,
    },
    { head: 'Slots', kind: 'number', cell: ({ slots }) => numberCell(slots) },
    { head: 'Note', kind: 'wide', cell: ({ note }) => note },
  ];
  const withFigure = (name: string) =>
    daemons.flatMap(each => ('figures' in each && typeof each.figures[name] === 'number' ? [each] : []));
  const [stores, spools] = [withFigure('disk_total_bytes'), withFigure('spool_bytes')];
  type Seen = ReturnType<typeof withFigure>[number];
  const figure = (head: string, name: string, text: (value: number) => Markup | string): Column<Seen> => ({
    head,
    kind: 'number',
    cell: ({ figures }) => text(Number(figures[name] ?? 0)),
  });
  const ofStores: Column<Seen>[] = [
    { head: 'Machine', cell: ({ figures }) => String(figures['machineid'] ?? '') },
    figure('Free', 'disk_free_bytes', bytesText),
    figure('Of', 'disk_total_bytes', bytesText),
    figure('Needed', 'disk_needed_bytes', bytesText),
  ];
  const ofSpools: Column<Seen>[] = [
    { head: 'Daemon', cell: ({ name }) => name },
    figure('Sets', 'sets_spooled', numberCell),
    figure('Size', 'spool_bytes', bytesText),
    figure('At most', 'max_spool_bytes', bytesText),
    figure('Set aside', 'sets_bad', numberCell),
  ];
  return html`<h1>Daemons and machines</h1>
    ${freshness(fresh, nowMs)}
    <h2>Daemons of this LCC</h2>
    ${tableOf('Daemons', columns, daemons, { empty: 'Nothing was seen yet.' })}
    <h2>Machines that fetch</h2>
    ${tableOf('Machines', ofMachines, machines, { empty: 'No Bot Manager is connected: nothing can be fetched.' })}
    <h2>Disks of stores</h2>
    ${tableOf('Stores', ofStores, stores, { empty: 'No store is on this machine.' })}
    <h2>Spools of accepted sets</h2>
    ${tableOf('Spools', ofSpools, spools, { empty: 'No UNS is on this machine.' })}`;
}

export function auditPage(page: AuditPage, pid: number | undefined, base: string): Markup {
  const more = `${base}/audit?${pid === undefined ? '' : `pid=${pid}&`}before=`;
  return html`<h1>Audit${pid === undefined ? '' : ` of provider ${pid}`}</h1>
    <form class="filter" method="get" action="${base}/audit" role="search">
      ${fieldOf({ name: 'pid', label: 'Of one provider, its number', value: pid === undefined ? '' : String(pid), inputmode: 'numeric', isRequired: true })}
      <button>Show</button>
      ${pid === undefined ? '' : html`<a href="${base}/audit">All of it</a>`}
    </form>
    ${auditTable(page, base, more)}`;
}

export function refusalsPage(page: ReturnType<OperatorViews['refusals']>, base: string): Markup {
  const columns: Column<(typeof page.counts)[number]>[] = [
    { head: 'What', cell: ({ event }) => event },
    { head: 'Last hour', kind: 'number', cell: ({ hour }) => numberCell(hour) },
    { head: 'Last day', kind: 'number', cell: ({ day }) => numberCell(day) },
  ];
  return html`<h1>Refusals</h1>
    <p>
      Checks of sites that failed, logins and changes that were refused, and sites that an operator refused.
    </p>
    ${tableOf('How often', columns, page.counts, { empty: 'Nothing was refused within a day.' })}
    <h2>Each of them</h2>
    ${auditTable(page, base, `${base}/refusals?before=`)}`;
}

export function providerLink(base: string, pid: number): Markup {
  return html`<a href="${base}/providers/${String(pid)}">${String(pid)}</a>`;
}

/** What became of a url, as `lccstat --url` says it. @param url as it was typed, '' = none yet */
export function urlPage(url: string, lives: readonly UrlLife[], base: string): Markup {
  return html`<h1>Url</h1>
    <p>What became of a page: announced, in the queue, fetched, kept, and what to do.</p>
    <form class="filter" method="get" action="${base}/url" role="search">
      ${fieldOf({ name: 'url', label: 'Address, as it was announced', value: url, isRequired: true })}
      <button>Look it up</button>
    </form>
    ${
      url === ''
        ? ''
        : lives.length === 0
          ? html`<div class="empty"><p>No provider has a root around ${url}.</p></div>`
          : livesBody(lives)
    }`;
}
