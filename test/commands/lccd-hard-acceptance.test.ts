/** lccd-hard at large: many pages, storms of equal requests, a rail that is slow; looked at with other programs than ours. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ClearHome, idsOf, pagesOf } from '../support/clear.js';
import { asText, runCommand, runProgram } from '../support/command.js';
import { noRails, startRail } from '../support/rails.js';
import { until } from '../support/until.js';

/** Ten thousand in the long set (scripts/test-sets.mjs). */
const IDS = Number(process.env['LCC_TEST_CLEAR_IDS'] ?? 1000);

/** A rail whose last requests take longer is SLOW: the last 50, which are under way together. */
const SLOW_MS = 2000;
const WORKERS = 64;

const homes: ClearHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

function newHome(...settings: ConstructorParameters<typeof ClearHome>): ClearHome {
  const home = new ClearHome(...settings);
  homes.push(home);
  return home;
}

/** @returns its standard output @throws when it does not end with 0 */
function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = asText(runProgram(command, args));
  assert.equal(status, 0, `${command}: ${stderr}`);
  return stdout;
}

describe('lccd-hard', { skip: noRails }, () => {
  it('sends each rail each page once, as sqlite3, curl and the logs of Apache say (A1, A16)', async () => {
    const home = newHome();
    const rails = await home.addRails(['apache', 'apache', 'apache']);
    const ids = idsOf(IDS);
    const pages = pagesOf(ids);
    for (const rail of rails) rail.write([...pages, '/news/other.html']);
    const lines = [...ids, ...ids.toReversed()].map(id => `${id}\tpage\twww\n`);
    const { status, stderr } = runCommand(home.dir, 'lccclear', ['--stdin=tsv'], { input: lines.join('') });
    assert.equal(status, 0, stderr);
    const sql = (query: string) =>
      run('sqlite3', ['-readonly', join(home.dir, 'clear/clear.db'), query]).trim();
    assert.equal(sql('SELECT count(*) FROM clear_cache_queue'), String(2 * IDS));
    home.startHard();
    await until('the queue is empty', () => sql('SELECT count(*) FROM clear_cache_queue') === '0');
    assert.equal(sql('SELECT count(*) FROM rail_backlog'), '0');
    assert.equal(sql('SELECT count(*) FROM clear_rejected'), '0');
    for (const rail of rails) {
      // Apache writes its log after the answer.
      await rail.requests(IDS);
      const logged = readFileSync(join(home.dir, rail.name, 'access.log'), 'utf8')
        .trimEnd()
        .split('\n');
      assert.deepEqual(logged.toSorted(), pages.map(page => `DELETE ${page} 204`).toSorted());
      const config = join(home.dir, `${rail.name}.curl`);
      const urls = [...pages, '/news/other.html'].map(page => rail.url + page.slice(1));
      writeFileSync(config, urls.map(url => `url=${url}\noutput=/dev/null\n`).join(''));
      const seen = run('curl', ['-s', '-K', config, '-w', '%{http_code}\\n']).trimEnd().split('\n');
      assert.deepEqual(seen, [...pages.map(() => '404'), '200'], rail.name);
    }
  });

  it('asks each rail twice at most in a storm of 100,000 equal requests (A15)', async () => {
    const home = newHome({ answer_timeout_ms: 100_000, total_timeout_ms: 110_000 });
    const rails = await home.addRails(['apache', 'nginx']);
    for (const rail of rails) {
      rail.write(pagesOf(['a']));
      rail.signal('SIGSTOP');
    }
    const storm = Array.from({ length: 50_000 }, () => 'a');
    home.request(storm);
    await home.startHard().ready;
    await until('both are asked', async () => (await home.status())['pages_sending'] === 2);
    home.request(storm);
    for (const rail of rails) rail.signal('SIGCONT');
    await home.untilClear();
    for (const rail of rails)
      assert.deepEqual(await rail.requests(2), ['DELETE /a.html 204', 'DELETE /a.html 404'], rail.name);
  });

  it('has rails that are quick done while another has not answered once, which it names (A4)', async () => {
    const home = newHome({ answer_timeout_ms: 100_000, total_timeout_ms: 110_000 });
    const quick = await home.addRails(['nginx', 'apache']);
    const third = await startRail('nginx', join(home.dir, 'third'));
    after(() => third.stop());
    let open: () => void = () => undefined;
    const opened = new Promise<void>(resolve => (open = resolve));
    let askedMs = Infinity;
    const proxy = createServer(client => {
      const server = connect(Number(new URL(third.url).port), '127.0.0.1');
      client.on('data', bytes => {
        askedMs = performance.now();
        void opened.then(() => server.write(bytes));
      });
      server.on('data', bytes => void client.write(bytes));
      client.on('close', () => server.destroy()).on('error', () => server.destroy());
      server.on('close', () => client.destroy()).on('error', () => client.destroy());
    });
    await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
    after(() => proxy.close());
    const { port } = proxy.address() as AddressInfo;
    home.addRail('third', { url: `http://127.0.0.1:${port}/`, driver: 'nginx-dav', workers: WORKERS });
    const ids = idsOf(3000);
    for (const rail of [...quick, third]) rail.write(pagesOf(ids));
    home.request(ids);
    const daemon = home.startHard();
    await until('two rails are clear', () => quick.every(rail => rail.pages().length === 0));
    assert.equal(third.pages().length, ids.length, 'the third has answered nothing');
    await daemon.logged('rail is DELAYED');
    await until('its answers are late', () => performance.now() > askedMs + SLOW_MS);
    open();
    await daemon.logged('rail is SLOW');
    await home.untilClear();
    assert.deepEqual(third.pages(), []);
    await daemon.logged('rail is not DELAYED any more');
    // One of the two quick ones may fall behind the other for a moment, and be named as well.
    const named = (mark: string) =>
      daemon.log
        .split('\n')
        .filter(line => line.includes(`"rail is ${mark}"`) && line.includes('"rail":"third"'));
    assert.deepEqual([named('SLOW').length, named('DELAYED').length], [1, 1]);
  });
});
