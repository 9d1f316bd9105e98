/**
 * Files of logins that are put back older, removed, emptied or damaged: an older one counts as it is, otherwise those in them are refused
 * as long as that lasts, nobody is let in by it, and it is said. The rows of docs/design/durability.md that name this file.
 */
import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { EXIT } from '../../src/lib/errors.js';
import { TestCache } from '../support/cache.js';
import { ClearHome } from '../support/clear.js';
import { runCommand } from '../support/command.js';
import { administer, ask, startCu } from '../support/cu.js';
import { startDaemon, type Daemon } from '../support/daemon.js';
import { startLcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const HOWS = ['removed', 'emptied', 'damaged'] as const;

/** Does so, until what it returns is called: that puts the file back. */
function alter(path: string, how: (typeof HOWS)[number]): () => void {
  renameSync(path, `${path}.aside`);
  if (how !== 'removed') writeFileSync(path, how === 'emptied' ? '' : 'no such \u{1}\n', { mode: 0o600 });
  return () => {
    rmSync(path, { force: true });
    renameSync(`${path}.aside`, path);
  };
}

interface Door {
  file: string;
  daemon: Daemon;
  /** Gives the account another password. */
  renew: () => string;
  /** What somebody with this password hears: `in`, or why not. */
  knock: (password: string) => Promise<string>;
}

const CACHES: TestCache[] = [];
function newCache(): TestCache {
  const cache = new TestCache();
  CACHES.push(cache);
  return cache;
}
const ended: (() => unknown)[] = [];
after(async () => {
  for (const end of ended) await end();
  for (const cache of CACHES) cache.close();
});

const DOORS: Readonly<Record<string, () => Promise<Door>>> = {
  async readers() {
    const cache = newCache();
    cache.put({ curl: 'http://h/a', content: 'a' });
    const daemon = await startCu(cache);
    const port = Number(/"endpoint":"127\.0\.0\.1:(\d+)/.exec(daemon.log)?.[1]);
    return {
      file: join(cache.home, 'readers'),
      daemon,
      renew: () => administer(cache, '--add-reader=ada').trim(),
      knock: async password => {
        const heard = await ask(port, `<lococa:reader name="ada" passwd="${password}"/>`, '<query/>');
        return heard.includes('http://h/a') ? 'in' : (/code="(\d+)"/.exec(heard)?.[1] ?? heard);
      },
    };
  },
  async operators() {
    const { home } = newCache();
    writeFileSync(join(home, 'lcc.toml'), '[rs]\nmode = "open"\nurl = "http://localhost/"\n');
    const daemon = startDaemon('lccd-rs', home, ['--listen=127.0.0.1:0', '--operator-listen=127.0.0.1:0']);
    await daemon.ready;
    const port = /"event":"operators","endpoint":"127\.0\.0\.1:(\d+)"/.exec(daemon.log)?.[1];
    return {
      file: join(home, 'rs/operators'),
      daemon,
      renew: () => runCommand(home, 'lccrs', ['operator', 'add', 'ada']).stdout.trim(),
      knock: async password => {
        const login = Buffer.from(`ada:${password}`).toString('base64');
        const { status } = await fetch(`http://127.0.0.1:${port}/api/v1/op/applications`, {
          headers: { authorization: `Basic ${login}` },
        });
        return status === 200 ? 'in' : String(status);
      },
    };
  },
};

for (const [who, refused, broken] of [
  ['readers', '101', '102'],
  ['operators', '401', '503'],
] as const)
  describe(`the file of ${who}`, () => {
    it('has those in it refused while it is away, empty or damaged, and the log names a line that is no account', async () => {
      const { file, daemon, renew, knock } = await (DOORS[who]?.() ?? assert.fail());
      ended.push(() => daemon.stop());
      const password = renew();
      for (const how of HOWS) {
        const putBack = alter(file, how);
        assert.equal(await knock(password), how === 'damaged' ? broken : refused, how);
        assert.equal(await knock('x'), how === 'damaged' ? broken : refused, `${how}, of a stranger`);
        putBack();
        assert.equal(await knock(password), 'in', `put back after it was ${how}`);
      }
      assert.ok(daemon.log.includes(`${file}:1: not NAME sha256:SALT:HASH`), daemon.log);
      // An older one: the password of then is good again, the one of now is not.
      renameSync(file, `${file}.older`);
      const newer = renew();
      assert.deepEqual([await knock(password), await knock(newer)], [refused, 'in']);
      renameSync(`${file}.older`, file);
      assert.deepEqual([await knock(password), await knock(newer)], ['in', refused]);
    });
  });

describe('the file of logins for rails', () => {
  it('has their pages wait and lccstat say so while the login is not in it, and keeps lccd-hard down while it is no TOML', async () => {
    const asked: (string | undefined)[] = [];
    const rail = createServer((request, response) => {
      asked.push(request.headers.authorization);
      response.writeHead(204).end();
    });
    await new Promise<void>(resolve => void rail.listen(0, '127.0.0.1', resolve));
    const home = new ClearHome();
    ended.push(
      () => home.end(),
      () => rail.close(),
    );
    const secrets = join(home.dir, 'clear/secrets.toml');
    writeFileSync(secrets, '[fleet]\nbasic = "u:p"\n', { mode: 0o600 });
    const { port } = rail.address() as AddressInfo;
    home.addRail('r1', { url: `http://127.0.0.1:${port}/`, authRef: 'fleet' });
    for (const how of HOWS) {
      const putBack = alter(secrets, how);
      const daemon = home.startHard();
      if (how === 'damaged') {
        assert.equal(await daemon.ended, EXIT.config);
        assert.match(daemon.log, /secrets\.toml: no TOML/);
        putBack();
        continue;
      }
      await daemon.ready;
      home.request([how]);
      await until('lccstat says so', () =>
        /^! rail r1 fails: rail r1: the file of secrets has no \[fleet\].*1 page waits in its backlog/m.test(
          runCommand(home.dir, 'lccstat', []).stdout,
        ),
      );
      assert.deepEqual(asked, [], 'nobody is asked without a login');
      putBack();
      daemon.child.kill('SIGHUP');
      await daemon.logged('logins of rails reloaded');
      home.db.backlog.retry({ rail: 'r1' });
      await until('the rail is asked', () => asked.length > 0);
      await home.untilClear();
      assert.deepEqual(new Set(asked), new Set([`Basic ${Buffer.from('u:p').toString('base64')}`]));
      asked.length = 0;
      await daemon.stop();
    }
  });
});

describe('the file of logins for sites', () => {
  it('has nothing fetched of a provider whose login is not in it, lccstat say so, and all comes when it is back and lccd-qm has started again', async () => {
    const logins: (string | undefined)[] = [];
    const site = await TestSite.listen((request, response) => {
      logins.push(request.headers.authorization);
      response.writeHead(request.headers.authorization === undefined ? 401 : 200, {
        'content-type': 'text/html',
      });
      response.end('a page');
    });
    const lcc = await startLcc(site.urlOf('/'));
    ended.push(
      () => lcc.remove(),
      () => site.close(),
    );
    await lcc.run('printf "u:p" | lccpidb set --pid=1 --loginfile=-');
    const file = join(lcc.home, 'logins');
    for (const how of HOWS) {
      const putBack = alter(file, how);
      await lcc.announce([urlTag(`${how}.html`)]);
      const { stdout } = await lcc.sh('lccstat');
      assert.match(stdout, /^! the login for the site of provider 1 cannot be read, and nothing is fetched/m);
      assert.deepEqual(logins, [], how);
      putBack();
    }
    await lcc.stop();
    await lcc.start();
    await lcc.run('lccstat --until-idle=20');
    assert.equal((await lcc.holdings()).rows.length, HOWS.length);
    assert.deepEqual(new Set(logins), new Set([`Basic ${Buffer.from('u:p').toString('base64')}`]));
  });
});
