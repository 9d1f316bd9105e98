/** Directories of a provider: `/me/roots`. */
import { html } from 'hono/html';
import { clientOf } from '../api-parts.js';
import type { GivenRoot } from '../../db/providers/given-roots.js';
import type { RegistrationState } from '../../db/rs/registrations.js';
import { RsRequestRefused } from '../refusal.js';
import { fieldOf, formTokenField, type Markup } from './layout.js';
import { summaryOf, wrongIn } from './fields.js';
import {
  accountField,
  formPage,
  outcomeNote,
  stateOf,
  type MeApp,
  type MeContext,
  type MeParts,
} from './me-parts.js';
import { countText } from './numbers.js';
import { keptPair } from './pair.js';
import { tableOf, type Column } from './table.js';
import { untilOf } from './times.js';

const PATH = '/me/roots';

export function rootsPages(app: MeApp, parts: MeParts): void {
  const { account, base, options, pairSecrets, db } = parts;
  formPage(app, parts, {
    path: PATH,
    title: 'Directories',
    fields: ['url'],
    body: (c, { url }, refused) => body(c, url, refused),
    async act(c, { url }) {
      const { network } = clientOf(c, parts.options);
      return keptPair(await account.beginRoot(c.var.provider.pid, url.trim(), network), pairSecrets);
    },
  });
  formPage(app, parts, {
    path: `${PATH}/remove`,
    title: 'Take a directory off',
    fields: ['root', 'password', 'urls'],
    first(c) {
      const root = c.req.query('root') ?? '';
      if (!c.var.provider.roots.includes(root))
        throw new RsRequestRefused(
          404,
          'unknown',
          'this is none of your directories',
          'look at the list of them',
        );
      return { root, password: '', urls: '' };
    },
    body: (c, { root, urls }, refused) => removing(c, root, urls, refused),
    async act(c, { root, password, urls }) {
      const { address } = clientOf(c, parts.options);
      const consent = { password: password.trim(), urls: countIn(urls), address };
      const outcome = await account.removeRoot(c.var.provider.pid, root, consent);
      return `${PATH}?is=${stateOf(outcome)}`;
    },
  });

  function body(c: MeContext, typed: string, refused: RsRequestRefused | undefined): Markup {
    const isOwn = c.var.provider.origin === 'rs';
    return html`<h1>Directories</h1>
      ${summaryOf(refused, { address: 'url', known: 'url', unknown: 'url' })}
      ${outcomeNote(c, 'The directory is taken off.')}
      <p class="lead narrow">
        What your site announces is fetched below these directories, and nowhere else.
      </p>
      ${tableOf('Your directories', COLUMNS, rowsOf(c), { isHeadless: true })}
      ${
        isOwn
          ? html`<form class="card narrow" method="post" action="${base}${PATH}" novalidate>
              <h2>Add one</h2>
              <p>
                You get another small file, and prove with it that this directory is yours, too. You may have
                ${countText(options.maxRoots.most)}.
              </p>
              ${formTokenField(c.var.session.formToken)}
              ${fieldOf({ name: 'url', label: 'Address of the directory', hint: 'With a slash at its end: http://www.example.org/news/', type: 'url', autocomplete: 'url', value: typed, isRequired: true, ...wrongIn(refused, ['address', 'known']) })}
              <button>Get a secret</button>
            </form>`
          : html`<p>Your operator has set these directories; ask there for more.</p>`
      }`;
  }

  function rowsOf(c: MeContext): RootRow[] {
    const { roots, givenroots, origin, pid } = c.var.provider;
    const isOne = origin !== 'rs' || roots.length === 1;
    const taken = (root: string) =>
      html`<a href="${base}${PATH}/remove?root=${encodeURIComponent(root)}"
        >Take it off<span class="hidden">: ${root}</span></a
      >`;
    return [
      ...roots.map(root => ({ root, more: isOne ? '' : taken(root) })),
      ...givenroots.map(given => ({ root: given.root, more: givenUp(c, given) })),
      // The page of the pair of one that it wants besides is known to nobody but who made it.
      ...db.registrations.moreRootsOf(pid).map(({ prefix, state, reason }) => ({
        root: prefix,
        more: `${STANDING[state]}${reason === undefined ? '' : `: ${reason.what}`}`,
      })),
    ];
  }

  /**
   * The button asks for a pair, as for any other directory: the password alone must not give the root back.
   */
  function givenUp(c: MeContext, { root, at }: GivenRoot): Markup {
    return html`given up with the password that was forgotten; what is kept of it is removed
      ${untilOf(at * 1000)}
      <form method="post" action="${base}${PATH}">
        ${formTokenField(c.var.session.formToken)} <input type="hidden" name="url" value="${root}" />
        <button class="plain">Prove it again<span class="hidden">: ${root}</span></button>
      </form>`;
  }

  function removing(c: MeContext, root: string, urls: string, refused: RsRequestRefused | undefined): Markup {
    const { filesused } = c.var.provider;
    return html`<h1>Take a directory off</h1>
      ${summaryOf(refused, CONFIRMATION)}
      <p class="mono">${root}</p>
      <p class="lead narrow">
        What is kept of it is removed, unless another of your directories has it as well. That cannot be
        undone.
      </p>
      <form class="card narrow" method="post" action="${base}${PATH}/remove" novalidate>
        ${formTokenField(c.var.session.formToken)} ${accountField(c.var.provider.pid)}
        <input type="hidden" name="root" value="${root}" />
        ${confirmationFields(filesused, urls, refused)}
        <p class="actions">
          <button class="danger">Take it off</button> <a href="${base}${PATH}">Keep it</a>
        </p>
      </form>`;
  }
}

interface RootRow {
  root: string;
  /** The link or button for it, or how it stands. */
  more: Markup | string;
}

const COLUMNS: readonly Column<RootRow>[] = [
  { head: 'Directory', kind: 'mono', cell: ({ root }) => root },
  { head: 'What to do with it', kind: 'number', cell: ({ more }) => more },
];

const STANDING: Readonly<Record<RegistrationState, string>> = {
  issued: 'not proven yet',
  checking: 'is being checked',
  proven: 'is proven',
  waiting: 'is proven, and waits for approval',
  applying: 'is being set up',
  active: 'is active',
  refused: 'is refused',
  expired: 'was not proven in time',
  cancelled: 'is cancelled',
};

/** Those by what is wrong with them. */
export const CONFIRMATION = { count: 'urls', login: 'password' };

/** Fields of the consent to a removal. @param urls as typed */
export function confirmationFields(
  filesused: number,
  urls: string,
  refused: RsRequestRefused | undefined,
): Markup {
  return html`${fieldOf({ name: 'urls', label: 'How many pages and files are kept of you in all?', hint: `The number that stands on the overview: ${countText(filesused)}`, inputmode: 'numeric', value: urls, isRequired: true, ...wrongIn(refused, ['count']) })}
  ${fieldOf({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', isRequired: true, ...wrongIn(refused, ['login']) })}`;
}

/** As it was typed, perhaps with commas; nothing is no number of pages. */
export function countIn(typed: string): number {
  const digits = typed.replace(/[\s,.]/g, '');
  return /^\d{1,15}$/.test(digits) ? Number(digits) : -1;
}
