/** A site that Apache serves registers in one command (acceptance 2). */
import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Authority } from '../fetch/authority.js';
import { noApache, startApache, type ApacheSite } from '../support/apache.js';
import { Lcc } from '../support/lcc.js';
import { freePort } from '../support/free-port.js';

describe('lccregister new --docroot on a server with Apache', { skip: noApache }, () => {
  let dir: string;
  let docroot: string;
  let apache: ApacheSite;
  let lcc: Lcc;
  let url: string;
  let server: string;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'lcc-apache-'));
    chmodSync(dir, 0o755);
    docroot = join(dir, 'www');
    mkdirSync(docroot);
    writeFileSync(join(docroot, 'index.html'), '<p>registered');
    apache = await startApache(docroot, join(dir, 'apache'), new Authority().issue(), '');
    url = apache.plainUrl.replace('localhost', '127.0.0.1');
    const port = await freePort();
    server = `http://127.0.0.1:${port}/`;
    const rs = `[rs]\nlisten = ["127.0.0.1:${port}"]\nurl = "${server}"\nports = ["${new URL(url).port}"]\nretry_ms = 50\nmode = "open"\n`;
    lcc = new Lcc(url, rs);
    await lcc.start();
  });
  after(async () => {
    await lcc.remove();
    await apache.stop();
    rmSync(dir, { recursive: true });
  });

  it('proves the site, takes its file away, and prints a line that delivers', async () => {
    const pwdfile = join(lcc.dir, 'password');
    const words = `--server=${server} --url=${url} --docroot=${docroot} --pwdfile=${pwdfile} --wait=60`;
    const { status, stdout, stderr } = await lcc.sh(`lccregister new ${words}`);
    assert.equal(status, 0, stderr);
    assert.deepEqual(readdirSync(docroot), ['index.html'], 'the file of the secret is gone');
    assert.equal(statSync(pwdfile).mode & 0o777, 0o600);
    const asked = (await apache.requests(3)).map(line => line.replace(/lcc-[0-9a-f]+/, 'lcc-NAME'));
    assert.deepEqual(asked.slice(0, 3), [
      'GET /lcc-NAME.txt HTTP/1.1 200',
      'GET /lcc-NAME.txt HTTP/1.1 404',
      'GET /robots.txt HTTP/1.1 404',
    ]);
    const [, command = ''] = /^\*\/15 \* \* \* \* (.+)\n$/.exec(stdout) ?? [];
    assert.notEqual(command, '', stdout);
    assert.equal((await lcc.sh(command.replaceAll('\\%', '%'))).status, 0);
    await lcc.idle();
    assert.match((await lcc.holdings()).rows.join(), /^index\.html [0-9a-f]{32}$/);
    assert.ok(!lcc.log.includes(readFileSync(pwdfile, 'utf8').trim()));
  });
});
