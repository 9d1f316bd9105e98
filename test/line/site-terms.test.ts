import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { noNginx, startSite, type Site } from '../support/nginx.js';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';

const SECRET = 'open:se same';
const LOGIN = `käthe:${SECRET}`;

describe('what the operator set of a provider reaches its site', { skip: noNginx }, () => {
  let scratch = '';
  let intranet: Site;
  let lcc: Lcc;
  /** Another origin, also the provider's: keeps what it is asked. */
  let elsewhere: Server;
  const asked: IncomingHttpHeaders[] = [];

  before(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'lcc-terms-'));
    const docroot = join(scratch, 'docs');
    mkdirSync(docroot);
    writeFileSync(join(docroot, 'plan.html'), '<p>internal</p>');
    writeFileSync(join(docroot, 'large.html'), 'x'.repeat(1001));
    const hashed = spawnSync('openssl', ['passwd', '-apr1', '-stdin'], { input: SECRET, encoding: 'utf8' });
    writeFileSync(join(scratch, 'users'), `käthe:${hashed.stdout}`);
    elsewhere = createServer((request, response) => {
      asked.push(request.headers);
      if (request.url === '/landed.html') response.end('landed');
    });
    await new Promise<void>(resolve => void elsewhere.listen(0, '127.0.0.1', resolve));
    const other = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
    intranet = await startSite(
      docroot,
      join(scratch, 'nginx'),
      `auth_basic "staff only"; auth_basic_user_file ${scratch}/users;
       if ($http_user_agent != "house-bot/7 (it@example.org)") { return 418; }
       if ($uri = /away.html) { return 302 ${other}landed.html; }`,
    );
    lcc = await startLcc(intranet.url, '[qm]\nretries = 0\n');
    await lcc.run(`lccpidb root add --pid=1 --root=${other}`);
    await lcc.run(
      `lccpidb set --pid=1 --maxlen=1000 --timeout=5 --user-agent='house-bot/7 (it@example.org)' --loginfile=- <<<'${LOGIN}'`,
    );
    await lcc.announce(['plan.html', 'large.html', 'away.html', `${other}slow.html`].map(url => urlTag(url)));
    await lcc.idle();
  });
  after(async () => {
    await lcc?.remove();
    await intranet?.stop();
    elsewhere?.closeAllConnections();
    elsewhere?.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  it('as user and password, user agent, longest content and timeout', async () => {
    const rows = (await lcc.run('lccq --format=urls')).trim().split('\n');
    assert.deepEqual(rows.sort(), [`${intranet.url}away.html`, `${intranet.url}plan.html`]);
    const { stdout } = await lcc.sh(`lcccp --status --uns=${lcc.uns} --pid=1`);
    assert.match(stdout, /606[^\n]*large\.html|large\.html[^\n]*606/);
    assert.match(stdout, /603[^\n]*slow\.html|slow\.html[^\n]*603/);
  });

  it('the password and the user never at another origin, wherever the site redirects', () => {
    const [landed] = asked;
    assert.equal(landed?.['user-agent'], 'house-bot/7 (it@example.org)');
    assert.equal(landed?.authorization, undefined);
  });

  it('and the password nowhere else: not in a log, a status, or a file but that of logins', async () => {
    const said = [lcc.log, await lcc.run('lccstat --json'), await lcc.run('lccpidb show --pid=1 --json')];
    for (const entry of readdirSync(lcc.home, { recursive: true, withFileTypes: true })) {
      if (entry.isFile() && entry.name !== 'logins')
        said.push(readFileSync(join(entry.parentPath, entry.name), 'latin1'));
    }
    for (const secret of [SECRET, Buffer.from(LOGIN).toString('base64')])
      assert.ok(!said.join('\n').includes(secret));
  });
});
