/** The common part of all pages of a listener: the checks before them, style and script, and what is said
 * when there is no page. */
import { Hono, type Context, type ErrorHandler } from 'hono';
import { html } from 'hono/html';
import { requireOwn, type NodeBindings } from '../api.js';
import { boundedBody } from '../api-parts.js';
import { RsRequestRefused } from '../refusal.js';
import { refusing } from '../refused-requests.js';
import { errorSummary, pageMaker, type Markup, type PageFrame, type PageMaker } from './layout.js';
import { ICON } from './logo.js';
import { SCRIPT } from './script.js';
import { STYLE } from './style.js';

const FILES = [
  ['style.css', 'text/css; charset=utf-8', STYLE],
  ['script.js', 'text/javascript; charset=utf-8', SCRIPT],
  ['icon.svg', 'image/svg+xml', ICON],
] as const;

export interface ShellOptions {
  /** Public address of the pages. */
  url: string;
  /** Where forms have to come from, where that is not always the same; left out: from `url`. */
  originOf?: (c: Context) => string;
  contact: string;
  nav: PageFrame['nav'];
  badge?: string;
  /** More for the head of each page, and the files of it: name below `static`, Content-Type, content. */
  head?: Markup;
  files?: readonly (readonly [name: string, type: string, text: string])[];
  /** Reports a fault that nobody outside can mend. @param path without capabilities */
  failed: (path: string, error: unknown) => void;
}

export interface Shell {
  app: Hono<{ Bindings: NodeBindings }>;
  /** For the application that `app` is put into: one of its own would be tried around each handler of each
   * request. */
  onError: ErrorHandler<{ Bindings: NodeBindings }>;
  page: PageMaker;
  /** '' or `/base`. */
  base: string;
  /** After the last route: everything else is not there. */
  seal(): void;
}

export function shellOf(options: ShellOptions): Shell {
  const { url, contact, nav, badge, failed, head, files = [] } = options;
  const { origin, pathname, protocol } = new URL(url);
  const { originOf = () => origin } = options;
  const base = pathname.replace(/\/$/, '');
  const page = pageMaker({ base, contact, nav, badge, head });
  const app = new Hono<{ Bindings: NodeBindings }>({ strict: false });

  app.use(async (c, next) => {
    if (protocol === 'https:') c.header('strict-transport-security', 'max-age=31536000');
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') requireOwn(c, originOf(c));
    await next();
  });
  const limitBody = boundedBody('that is too much');
  // The limit makes a whole Request of each; one without a body needs none.
  app.use((c, next) => (c.req.method === 'GET' || c.req.method === 'HEAD' ? next() : limitBody(c, next)));
  for (const [name, type, text] of [...FILES, ...files])
    app.get(`/static/${name}`, c =>
      c.body(text, 200, { 'content-type': type, 'cache-control': 'max-age=86400' }),
    );
  const onError: Shell['onError'] = (error, c) => {
    const shown =
      error instanceof RsRequestRefused
        ? error
        : new RsRequestRefused(503, 'failed', 'this failed', 'try again later');
    if (shown !== error) failed(c.req.path, error);
    const { status } = shown;
    refusing(c, shown);
    const body = html`<h1>Sorry</h1>
      ${errorSummary([shown])}
      <p><a href="${base}/">To the first page</a></p>`;
    return c.html(page({ title: 'Sorry', body }), status);
  };
  return {
    app,
    onError,
    page,
    base,
    seal: () =>
      void app.all('*', () => {
        throw new RsRequestRefused(404, 'unknown', 'there is nothing here', 'check the address');
      }),
  };
}
