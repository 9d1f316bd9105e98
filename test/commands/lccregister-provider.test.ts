/** What a site that has registered does in a shell: nginx, lccd with a Registration Server. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { isLong } from '../support/long.js';
import { noNginx } from '../support/nginx.js';
import { startRegistration, type RegistrationScene } from '../support/registration.js';

const scenes: RegistrationScene[] = [];
after(() => Promise.all(scenes.map(scene => scene.end())));

async function scene(...args: Parameters<typeof startRegistration>): Promise<RegistrationScene> {
  const one = await startRegistration(...args);
  scenes.push(one);
  return one;
}

/** A change of one's own is seen by the next look. */
async function seesItsChange(server: string, password: string): Promise<void> {
  const form = (fields: Record<string, string>) => ({
    method: 'POST',
    redirect: 'manual' as const,
    body: new URLSearchParams(fields),
  });
  const login = await fetch(`${server}login`, form({ number: '100000', password, next: '' }));
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  const page = async (path: string) => (await fetch(server + path, { headers: { cookie } })).text();
  assert.doesNotMatch(await page('me/terms'), /<dd>4[.,]2 KB\/s/);
  const [, form_token = ''] = /name="form_token" value="([^"]+)"/.exec(await page('me/terms')) ?? [];
  const sent = form({ form_token, bandwidth: '4300', hours: '', zone: '' });
  const changed = await fetch(`${server}me/terms`, { ...sent, headers: { cookie } });
  assert.equal(changed.status, 303);
  assert.match(changed.headers.get('location') ?? '', /is=done/);
  assert.match(await page('me/terms'), /<dd>4[.,]2 KB\/s/);
}

describe('lccregister of a provider', { skip: noNginx }, () => {
  it('shows how it stands, has another password, also when it is killed, leaves and stays after all', async () => {
    const one = await scene('mode = "open"\npairs_per_network = 9\n');
    const { lcc, server, pwdfile } = one;
    const registered = await one.register('--wait=60');
    assert.equal(registered.status, 0);
    const as = (verb: string, more = '', env: NodeJS.ProcessEnv = {}) =>
      lcc.sh(`lccregister ${verb} --server=${server} --pid=100000 --pwdfile=${pwdfile} ${more}`, env);
    const holds = async () => {
      const looked = await lcc.sh(
        `lcccp --status --uns=${lcc.uns} --pid=100000 --pwdfile=${pwdfile} </dev/null`,
      );
      return looked.status === 0;
    };
    const shown = await as('status');
    assert.match(
      shown.stdout,
      /^provider: {2}100000\nroot: {6}http.*\nurls: {6}0, 10000 more may come\nbytes: [^]*errors: {4}0\ncrontab: {3}\*\/15 .*\n$/,
    );
    // The line is the one that the registration printed.
    const withPages = await as('status', `--docroot=${one.site.docroot}`);
    assert.equal(/^crontab: +(.*\n)$/m.exec(withPages.stdout)?.[1], registered.stdout);
    for (const [dir, wrong] of [
      [dirname(pwdfile), 64],
      ['/nonexistent', 66],
    ] as const) {
      const { status, stdout } = await as('status', `--docroot=${dir}`);
      assert.deepEqual([status, stdout], [wrong, ''], dir);
    }

    await seesItsChange(server, readFileSync(pwdfile, 'utf8').trim());

    const daemons = await lcc.daemons();
    const qm = daemons['lccd-qm']?.pid ?? 0;
    process.kill(qm, 'SIGSTOP');
    try {
      const login = `100000:${readFileSync(pwdfile, 'utf8').trim()}`;
      const begunMs = performance.now();
      const hung = await lcc.run(`curl -s -i -u ${login} ${server}api/v1/me/errors`);
      const tookMs = performance.now() - begunMs;
      assert.match(
        hung,
        /^HTTP\/1\.1 503 [^]*^retry-after: 10\r$[^]*"what":"the LCC is busy"[^]*"do":"try again in 10 s"/im,
      );
      if (isLong) assert.ok(tookMs < 10_000, `answered after ${tookMs} ms`);
      const later = await as('passwd', '--timeout=15');
      assert.deepEqual(
        [later.status, later.stderr.endsWith('the LCC is busy; try again in 10 s\n')],
        [75, true],
        later.stderr,
      );
    } finally {
      process.kill(qm, 'SIGCONT');
    }

    const words = [readFileSync(pwdfile, 'utf8')];
    for (const step of ['none', 'register.rotation.synced', 'register.rotation.done']) {
      const first = await as('passwd', '', { LCC_CRASH_AT: step });
      if (step !== 'none') {
        assert.notEqual(first.status, 0, step);
        assert.ok(existsSync(`${pwdfile}.new`), step);
        assert.equal(statSync(`${pwdfile}.new`).mode & 0o777, 0o600);
        assert.equal((await as('passwd')).status, 0, step);
      } else assert.equal(first.status, 0, first.stderr);
      assert.ok(await holds(), step);
      assert.equal(statSync(pwdfile).mode & 0o777, 0o600);
      assert.ok(!existsSync(`${pwdfile}.new`));
      words.push(readFileSync(pwdfile, 'utf8'));
      assert.doesNotMatch(first.stdout + first.stderr + lcc.log, new RegExp(words.at(-1)?.trim() ?? ''));
    }
    assert.equal(new Set(words).size, 4, 'each time another one, and one that was made is not made twice');
    assert.equal(JSON.parse(await lcc.run('lccpidb show --pid=100000 --json')).generation, 4);

    const refused = await as('leave', '--urls=7');
    assert.equal(refused.status, 65, refused.stderr);
    assert.match(refused.stderr, /there are not 7 urls of yours here, but 0/);
    const last = await as('root rm', `--url=${one.site.url} --urls=0`);
    assert.match(last.stderr, /this is your last root; leave this cache instead/);
    assert.equal((await as('leave', '--urls=0')).status, 0);
    assert.ok(!(await holds()), 'it is not let in');
    assert.match(
      await lcc.run('lccpidb show --pid=100000'),
      /^origin: .*registered by itself.*\n(?:.*\n)*leaves: /m,
    );
    for (const [verb, more] of [
      ['status', ''],
      ['leave', '--urls=0'],
      ['passwd', ''],
    ] as const) {
      const told = await as(verb, more);
      assert.equal(told.status, 77, told.stderr);
      assert.match(
        told.stderr,
        /provider 100000 leaves, and is gone at \d{4}-\d\d-\d\d \d\d:\d\d UTC; lccregister leave --undo, .* brings it back until then\n$/,
      );
    }
    const strangers = ['100000:wrong', '100001:wrong'].map(login =>
      lcc.run(`curl -s -u ${login} ${server}api/v1/me`),
    );
    const [wrong, unknown] = await Promise.all(strangers);
    assert.equal(wrong, unknown);
    assert.match(unknown ?? '', /number and password do not belong together/);
    assert.equal((await as('leave', '--undo')).status, 0);
    assert.ok(await holds());

    writeFileSync(pwdfile, 'wrong\n');
    assert.equal((await as('passwd')).status, 77);
    assert.ok(!existsSync(`${pwdfile}.new`));
    for (const [verb, more] of [
      ['leave', ''],
      ['root rm', '--urls=0'],
      ['root add', ''],
      ['passwd', '--forgot'],
    ] as const)
      assert.equal((await as(verb, more)).status, 64, verb);
  });

  it('has another root, and replaces a lost password by the file in every root, also when it is killed', async () => {
    const one = await scene(
      'mode = "open"\npairs_per_network = 99\ncheck_interval_ms = 0\nchecks_per_hour = 99\n',
    );
    const { lcc, server, pwdfile, site } = one;
    const dirs = ['a', 'b'].map(name => join(site.docroot, name));
    for (const dir of dirs) mkdirSync(dir);
    const [a = '', b = ''] = dirs;
    const to = `--server=${server} --pwdfile=${pwdfile}`;
    const first = await lcc.sh(`lccregister new ${to} --url=${site.url}a/ --docroot=${a} --wait=60`);
    assert.equal(first.status, 0, first.stderr);
    const run = (words: string, env: NodeJS.ProcessEnv = {}) =>
      lcc.sh(`lccregister ${words} ${to} --pid=100000`, env);
    const rootsOf = async () =>
      (JSON.parse(await lcc.run('lccpidb show --pid=100000 --json')) as { roots: string[] }).roots;
    const files = () => dirs.flatMap(dir => readdirSync(dir));

    const bare = await run(`root add --url=${site.url}b/`);
    assert.equal(bare.status, 66, bare.stderr);
    assert.match(bare.stdout, /^printf '%s\\n' [\w-]{27} > lcc-[0-9a-f]{20}\.txt\n$/);
    assert.ok(existsSync(`${pwdfile}.root`));
    const added = await run(`root add --url=${site.url}b/ --docroot=${b} --wait=60`);
    assert.equal(added.status, 0, added.stderr);
    assert.match(
      added.stderr,
      /\/b\/ is a root of provider 100000: what it delivers may lie there from now on\n$/,
    );
    assert.deepEqual([added.stdout, files(), existsSync(`${pwdfile}.root`)], ['', [], false]);
    assert.deepEqual(await rootsOf(), [`${site.url}a/`, `${site.url}b/`]);
    assert.match((await run(`root add --url=${site.url}b/`)).stderr, /this is a root already/);

    const passwords = [readFileSync(pwdfile, 'utf8')];
    rmSync(pwdfile);
    const forgot = `passwd --forgot --url=${site.url}a/`;
    const lacking = await run(`${forgot} --docroot=${a}`);
    assert.equal(lacking.status, 66, lacking.stderr);
    assert.match(
      lacking.stderr,
      /1 of the 2 directories of this provider has not the file; put it into each of them/,
    );
    assert.deepEqual([existsSync(pwdfile), statSync(`${pwdfile}.reset`).mode & 0o777], [false, 0o600]);
    for (const step of ['register.pair.synced', 'register.file.placed:2', 'register.reset.synced'])
      assert.notEqual(
        (await run(`${forgot} --docroot=${a} --docroot=${b}`, { LCC_CRASH_AT: step })).status,
        0,
        step,
      );
    const done = await run(forgot);
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.stderr, /provider 100000 has another password; it is in /);
    assert.deepEqual([files(), existsSync(`${pwdfile}.reset`)], [[], false]);
    assert.equal(statSync(pwdfile).mode & 0o777, 0o600);
    passwords.push(readFileSync(pwdfile, 'utf8'));
    assert.equal((await run('status')).status, 0);
    assert.deepEqual(await rootsOf(), [`${site.url}a/`, `${site.url}b/`]);

    const given = await run(`${forgot} --docroot=${a} --give-up`);
    assert.equal(given.status, 0, given.stderr);
    passwords.push(readFileSync(pwdfile, 'utf8'));
    assert.equal(new Set(passwords).size, 3);
    assert.equal((await run('status')).status, 0);
    assert.deepEqual(await rootsOf(), [`${site.url}a/`]);
    const kept = /^given up: +http:\S+\/b\/, kept until \d{4}-\S+Z; root add brings it back$/m;
    assert.match((await run('status')).stdout, kept);
    assert.match(
      await lcc.run('lccpidb show --pid=100000'),
      /^root given up:? +http:\S+\/b\/, its content goes /m,
    );
    const other = await run(`passwd --forgot --url=${site.url}b/ --docroot=${b}`);
    assert.equal(other.status, 65, other.stderr);
    assert.equal(readFileSync(pwdfile, 'utf8'), passwords[2], 'the password is as it was');
    const back = await run(`root add --url=${site.url}b/ --docroot=${b} --wait=60`);
    assert.equal(back.status, 0, back.stderr);
    assert.deepEqual(await rootsOf(), [`${site.url}a/`, `${site.url}b/`]);
    assert.doesNotMatch((await run('status')).stdout, /given up/);
    assert.doesNotMatch(lcc.log, new RegExp(passwords.map(each => each.trim()).join('|')));
  });
});

/** What is said of a time is not the same twice. */
