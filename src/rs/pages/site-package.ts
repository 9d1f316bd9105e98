/**
 * The commands of a site, as one file that npm installs: what the build made, at the address of the pages.
 */
import { existsSync } from 'node:fs';
import { html } from 'hono/html';
import { threadFile } from '../../lib/thread.js';
import { codeBlock, type Markup } from './layout.js';

/** Below the base. */
export const SITE_PACKAGE = 'lcc-cp.tgz';

/** Undefined where the build has made none. */
export function sitePackageFile(): string | undefined {
  const path = threadFile(SITE_PACKAGE);
  return existsSync(path) ? path : undefined;
}

/** How the commands come to the machine of a site. @param url of the pages @param file undefined: from the
 * operator */
export function installStep(url: string, file: string | undefined): Markup {
  if (file === undefined)
    return html`<p>
      The commands that it needs, the package <code>lcc-cp</code>, come from the operator of this cache.
    </p>`;
  const line = `npm install -g ${url.replace(/\/$/, '')}/${SITE_PACKAGE}`;
  return html`<p>
      The commands that it needs come from here. They need Node 20.19 or later, and nothing else; as root they
      are there for all users:
    </p>
    ${codeBlock(line, 'the line that installs the commands')}`;
}
