/** The lines of docs/guide/clearing.md, in their order, with three rails that need a login. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Lcc } from '../support/lcc.js';
import { noNginx } from '../support/nginx.js';
import { startRail, type TestRail } from '../support/rails.js';
import { TestSite } from '../support/site.js';
import { readProjectFile } from '../support/tree.js';
import { until } from '../support/until.js';

/** Without what the demo printed, which its own test compares. */
const GUIDE = readProjectFile('docs/guide/clearing.md').replace(/^```text\n[^]*?^```$/gm, '');
const [TOML = '', SECRETS = ''] = (GUIDE.match(/^ {4}\[\w+\]\n(?: {4}\w+ = .+\n)+/gm) ?? []).map(text =>
  text.replace(/^ {4}/gm, ''),
);
const LINES = (GUIDE.match(/^ {4}lcc\w+ .+$/gm) ?? []).map(line => line.trim());
const PAGE = '/news/4711.html';

describe('the guide on cache clearing', { skip: noNginx }, () => {
  let dir: string;
  let lcc: Lcc;
  let site: TestSite;
  let rails: TestRail[] = [];
  const ran = new Set<string>();

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'lcc-readme-'));
    for (const name of ['www1', 'www2', 'www3']) {
      mkdirSync(join(dir, name));
      const passwords = join(dir, name, 'passwords');
      writeFileSync(passwords, 'cachebot:{PLAIN}PASSWORD\n');
      const login = `limit_except GET { auth_basic "LCC"; auth_basic_user_file ${passwords}; }`;
      rails.push(await startRail('nginx', join(dir, name), login));
    }
    site = await TestSite.listen();
    lcc = new Lcc(`${site.url}/`, TOML);
    mkdirSync(join(lcc.home, 'clear'));
    writeFileSync(join(lcc.home, 'clear/secrets.toml'), SECRETS, { mode: 0o600 });
    await lcc.addProvider();
    await lcc.start();
  });
  after(async () => {
    await lcc?.remove();
    site?.close();
    await Promise.all(rails.map(rail => rail.stop()));
    rails = [];
    rmSync(dir, { recursive: true, force: true });
  });

  /** Runs the lines that begin so; each has to end with 0. @returns what they printed */
  async function runLines(beginning: string): Promise<string> {
    const wanted = LINES.filter(line => line.startsWith(beginning));
    assert.notEqual(wanted.length, 0, beginning);
    let output = '';
    for (const line of wanted) {
      ran.add(line);
      output += await lcc.run(
        line.replace(/https:\/\/(www\d)\.example\.org\//, (_, name) => railNamed(String(name)).url),
      );
    }
    return output;
  }

  function railNamed(name: string): TestRail {
    return rails.find(rail => rail.name === name) ?? assert.fail(name);
  }

  const held = () => Object.fromEntries(rails.map(rail => [rail.name, rail.pages()]));

  it('sets up three rails', async () => {
    await runLines('lccrail target');
    await runLines('lccrail map');
    await runLines('lccrail add');
    assert.match(await runLines('lccrail check'), /^ok {2}DELETE without a login: status 401$/m);
  });

  it('clears a page of each', async () => {
    for (const rail of rails) rail.write([PAGE, '/other.html']);
    await runLines('lccclear ');
    assert.deepEqual(held(), { www1: ['/other.html'], www2: ['/other.html'], www3: ['/other.html'] });
  });

  it('keeps for a rail that is down what it lacks, until it is up', async () => {
    await runLines('lccrail down');
    await railNamed('www3').stop();
    for (const rail of rails) rail.write([PAGE]);
    await runLines('lccclear ');
    assert.match(await runLines('lccclearq backlog'), new RegExp(`^www3\t${PAGE}\tclear\t`));
    assert.deepEqual(held(), {
      www1: ['/other.html'],
      www2: ['/other.html'],
      www3: [PAGE, '/other.html'],
    });
    await railNamed('www3').start();
    await runLines('lccrail up');
    assert.deepEqual(railNamed('www3').pages(), ['/other.html']);
  });

  it('clears what the LCC has fetched, and nothing else', async () => {
    const [rules = ''] = /^ {4}\{"providers".*$/m.exec(GUIDE) ?? [];
    assert.match(rules, /"7".*http:\/\/www\.example\.org\//);
    const here = rules.replace('"7"', '"1"').replace('http://www.example.org/', `${site.url}/`);
    writeFileSync(join(lcc.dir, 'rules.json'), here);
    await runLines('lccq --cursor=clear.cursor --from-now');
    await lcc.publish(site, { 'news/4711.html': 'fetched' });
    for (const rail of rails) rail.write([PAGE]);
    await runLines('lccq --cursor=clear.cursor --format');
    await until('the page is cleared', () => rails.every(rail => !rail.pages().includes(PAGE)));
    assert.deepEqual(held(), { www1: ['/other.html'], www2: ['/other.html'], www3: ['/other.html'] });
  });

  it('clears at once with --follow', async () => {
    const [line = ''] = LINES.filter(text => text.startsWith('lccq --cursor=clear.cursor --format'));
    const following = spawn('bash', ['-c', `exec ${line.replace('lccq ', 'lccq --follow ')}`], {
      cwd: lcc.dir,
      env: lcc.env,
      stdio: 'ignore',
    });
    const ended = once(following, 'exit');
    const cursor = () => readFileSync(join(lcc.dir, 'clear.cursor'), 'utf8');
    const before = cursor();
    for (const rail of rails) rail.write([PAGE]);
    await lcc.publish(site, { 'news/4711.html': 'fetched again' });
    await until('the page is cleared', () => rails.every(rail => !rail.pages().includes(PAGE)));
    // Told to stop before that, it would end with what its command ended with.
    await until('the cursor has moved', () => cursor() !== before);
    assert.equal(following.exitCode, null);
    following.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    assert.deepEqual(held(), { www1: ['/other.html'], www2: ['/other.html'], www3: ['/other.html'] });
  });

  it('has no line that is not run', () => assert.deepEqual([...ran].toSorted(), LINES.toSorted()));
});
