/** The common part of the pages on which a provider changes something. */
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { ShownProvider } from '../../db/providers/registered.js';
import type { ChangeOutcome } from '../account.js';
import { RsRequestRefused } from '../refusal.js';
import { fieldsOf, sent } from './fields.js';
import type { Markup } from './layout.js';
import type { PageParts } from './parts.js';
import type { SessionEnv } from './session-gate.js';

export interface ProviderEnv extends SessionEnv {
  Variables: SessionEnv['Variables'] & { provider: ShownProvider };
}
export type MeContext = Context<ProviderEnv>;
export type MeApp = Hono<ProviderEnv>;

export interface MeParts extends PageParts {
  /** A page of the provider. */
  show: (
    c: MeContext,
    here: string,
    title: string,
    body: Markup,
    status?: 200 | RsRequestRefused['status'],
  ) => Response | Promise<Response>;
}

/** A page with a form. */
export interface FormPage<Name extends string> {
  /** Below the base. */
  path: string;
  title: string;
  fields: readonly Name[];
  /** The fields as the form begins; left out: empty. */
  first?: (c: MeContext) => Record<Name, string>;
  body: (c: MeContext, typed: Record<Name, string>, refused: RsRequestRefused | undefined) => Markup;
  /** Does what it asks for. @returns where to go, below the base */
  act: (c: MeContext, typed: Record<Name, string>) => Promise<string> | string;
}

/** Shows the page, and does what its form asks for. */
export function formPage<Name extends string>(
  app: MeApp,
  { base, show }: Pick<MeParts, 'base' | 'show'>,
  { path, title, fields, first, body, act }: FormPage<Name>,
): void {
  const empty = Object.fromEntries(fields.map(name => [name, ''])) as Record<Name, string>;
  const own = path.replace(/^\/me/, '');
  app.get(own, c => show(c, path, title, body(c, first?.(c) ?? empty, undefined)));
  app.post(own, async c => {
    const typed = await fieldsOf(c, fields);
    return sent(
      c,
      async () => base + (await act(c, typed)),
      refused => show(c, path, title, body(c, typed, refused), refused.status),
    );
  });
}

/** Time zone of a provider, as IANA names it; undefined: that of the cache. */
export function zoneOf({ db }: Pick<MeParts, 'db'>, pid: number): string | undefined {
  return db.providers.get(pid)?.zone ?? undefined;
}

/** @throws RsRequestRefused 409 for what the Queue Manager has refused */
export function stateOf(outcome: ChangeOutcome): 'done' | 'waiting' {
  if (outcome.state === 'refused')
    throw new RsRequestRefused(409, 'refused', outcome.what, 'ask the operator of this cache');
  return outcome.state;
}

/** Outcome of a form, after the redirect. */
export function outcomeNote(c: MeContext, done: string): Markup | string {
  const is = c.req.query('is');
  if (is === 'done') return html`<div class="note good" role="status"><p>${done}</p></div>`;
  if (is !== 'waiting') return '';
  return html`<div class="note wait" role="status">
    <p>This is being set up: it is done by itself as soon as the cache gets to it.</p>
  </div>`;
}

/** For programs that fill in passwords: whose it is. */
export function accountField(pid: number): Markup {
  return html`<input
    type="text"
    name="account"
    value="${String(pid)}"
    autocomplete="username"
    readonly
    hidden
  />`;
}
