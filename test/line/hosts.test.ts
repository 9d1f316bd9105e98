/** A server that is many providers' site, as a whole LCC asks it. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

const PROVIDERS = 23;
const URLS = 20;
const MOST = 5;

describe('a host that 23 providers share', () => {
  let site: TestSite;
  let lcc: Lcc;
  let open = 0;
  let most = 0;
  let asked = 0;
  /** Answers to the first requests, which wait until there are as many as there may be. */
  let first: (() => void)[] | undefined = [];
  /** When requests of provider 1 began and ended. */
  const paced: { beganMs: number; endedMs: number }[] = [];

  before(async () => {
    site = await TestSite.listen((request, response) => {
      open++;
      asked++;
      most = Math.max(most, open);
      const beganMs = performance.now();
      const answer = () => {
        open--;
        if (request.url?.startsWith('/1/') === true) paced.push({ beganMs, endedMs: performance.now() });
        response.end('page');
      };
      // Long enough for more to come than may.
      const later = () => void setTimeout(answer, 20);
      first?.push(later);
      if (first === undefined) later();
      else if (open === MOST) {
        for (const each of first) each();
        first = undefined;
      }
    });
    lcc = await startLcc(site.urlOf('/1/'), `[bm]\nbots = 2\n[qm]\nmax_connections_per_host = ${MOST}\n`);
    await lcc.run('lccpidb set --pid=1 --pace=200ms');
    for (let pid = 2; pid <= PROVIDERS; pid++)
      writeFileSync(join(lcc.dir, `${pid}.pwd`), await lcc.addProvider(pid, site.urlOf(`/${pid}/`)));
  });
  after(async () => {
    await lcc?.remove();
    site?.close();
  });

  it('is asked for as much at a time as is configured, by all robots together, and never less while there is something', async () => {
    const send = Array.from({ length: PROVIDERS }, (_, i) => {
      const pid = i + 1;
      const urls = Array.from({ length: pid === 1 ? 5 : URLS }, (_none, n) => urlTag(String(n)));
      const login = pid === 1 ? '--pid=1' : `--pid=${pid} --pwdfile=${pid}.pwd`;
      return lcc.announce(urls, '', `${login} --urlprefix=${site.urlOf(`/${pid}/`)}`);
    });
    await Promise.all(send);
    await lcc.idle();
    assert.equal(asked, (PROVIDERS - 1) * URLS + 5);
    assert.equal(most, MOST);
  });

  it('is left alone between two fetches of a provider with a pace', () => {
    const pauses = paced.slice(1).map(({ beganMs }, i) => beganMs - (paced[i]?.endedMs ?? Infinity));
    assert.equal(pauses.length, 4);
    // A timer of a machine may be a millisecond early beside that of another process.
    assert.ok(
      pauses.every(ms => ms >= 198),
      pauses.join(' '),
    );
  });
});
