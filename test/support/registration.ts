/** An LCC that sites register with: lccd with a Registration Server, and one real site, by nginx. */
import { join } from 'node:path';
import { Lcc } from './lcc.js';
import type { Ran } from './shell.js';
import { freePort } from './free-port.js';
import { startDocs, type DocsSite } from './nginx.js';

export interface RegistrationScene {
  lcc: Lcc;
  site: DocsSite;
  /** Address of the Registration Server. */
  server: string;
  pwdfile: string;
  /** `lccregister new` for the site. @param more options */
  register(more?: string, env?: NodeJS.ProcessEnv): Promise<Ran>;
  end(): Promise<void>;
}

/** @param rs more of section `[rs]` @param host by which the pages are known */
export async function startRegistration(
  rs = '',
  env: NodeJS.ProcessEnv = {},
  host = '127.0.0.1',
): Promise<RegistrationScene> {
  const site = await startDocs();
  const port = await freePort();
  const server = `http://${host}:${port}/`;
  const toml = `[rs]\nlisten = ["127.0.0.1:${port}"]\nurl = "${server}"\nports = ["${site.port}"]\nretry_ms = 50\n${rs}`;
  const lcc = new Lcc(site.url, toml);
  const pwdfile = join(lcc.dir, 'password');
  await lcc.start(env);
  return {
    lcc,
    site,
    server,
    pwdfile,
    register: (more = '', moreEnv = {}) =>
      lcc.sh(
        `lccregister new --server=${server} --url=${site.url} --docroot=${site.docroot} --pwdfile=${pwdfile} ${more}`,
        moreEnv,
      ),
    async end() {
      await lcc.remove();
      await site.stop();
    },
  };
}
