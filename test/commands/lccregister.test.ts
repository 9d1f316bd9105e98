/** A site registers in a shell: nginx, lccd with a Registration Server, the crontab line as printed. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { noNginx } from '../support/nginx.js';
import { readProjectFile } from '../support/tree.js';
import { startRegistration, type RegistrationScene } from '../support/registration.js';

const scenes: RegistrationScene[] = [];
after(() => Promise.all(scenes.map(scene => scene.end())));

async function scene(...args: Parameters<typeof startRegistration>): Promise<RegistrationScene> {
  const one = await startRegistration(...args);
  scenes.push(one);
  return one;
}

/** Runs a line of crontab(5) as cron does. */
function asCron({ lcc }: RegistrationScene, crontab: string) {
  const [, command = ''] = /^\*\/15 \* \* \* \* (.+)\n$/.exec(crontab) ?? [];
  assert.notEqual(command, '', crontab);
  const env = { PATH: '/usr/bin:/bin', HOME: lcc.dir, SHELL: '/bin/sh' };
  return lcc.sh(
    `env -i PATH=/usr/bin:/bin HOME=${lcc.dir} /bin/sh -c ${JSON.stringify(command.replaceAll('\\%', '%'))}`,
    env,
  );
}

describe('lccregister', { skip: noNginx }, () => {
  it('does all of it where sites are let in at once: the line that it prints delivers', async () => {
    const one = await scene('mode = "open"\n');
    const { lcc, site, pwdfile } = one;
    writeFileSync(join(site.docroot, 'index.html'), '<p>registered');
    const { status, stdout, stderr } = await one.register('--wait=60');
    assert.equal(status, 0, stderr);
    assert.match(stderr, /is provider 100000; the password is in .*password; the line for crontab\(5\):\n$/);
    assert.deepEqual(readdirSync(site.docroot), ['index.html'], 'the file of the secret is gone');
    assert.equal(statSync(pwdfile).mode & 0o777, 0o600);
    assert.ok(!existsSync(`${pwdfile}.pair`));
    const password = readFileSync(pwdfile, 'utf8').trim();
    assert.doesNotMatch(lcc.log + stdout + stderr, new RegExp(password));

    const delivered = await asCron(one, stdout);
    assert.deepEqual(delivered, { status: 0, stdout: '', stderr: '' });
    await lcc.idle();
    const { rows } = await lcc.holdings();
    assert.match(rows.join(), /^index\.html [0-9a-f]{32}$/);
    const shown = await lcc.run('lccpidb show --pid=100000 --json');
    const { roots, filesmax } = JSON.parse(shown) as Record<string, unknown>;
    assert.deepEqual([roots, filesmax], [[site.url], 10_000]);

    const again = await one.register();
    assert.equal(again.status, 73);
    assert.match(
      again.stderr,
      /password: exists, and may hold a password that is in use; give another file\n$/,
    );
  });

  it('waits for the operator, who approves or refuses', async () => {
    const one = await scene();
    const { lcc, site, pwdfile } = one;
    const waiting = await one.register();
    assert.equal(waiting.status, 75, waiting.stderr);
    assert.match(waiting.stderr, /is proven, and waits for approval; run this again later\n$/);
    assert.deepEqual(readdirSync(site.docroot), []);
    assert.match(
      await lcc.run('lccrs list'),
      /^1 +waiting +100000 +http:\/\/127\.0\.0\.1:\d+\/ +for \d+ s\n$/,
    );
    assert.match((await lcc.sh('lccstat')).stdout, /1 site waits for approval; lccrs list/);
    const look = await lcc.sh(`lcccp --status --uns=${lcc.uns} --pid=100000 --pwdfile=${pwdfile} </dev/null`);
    assert.match(look.stderr, /\b101\b/);

    const shown = await lcc.run('lccrs show 1');
    assert.match(shown, /^registration +1, waiting$/m);
    assert.doesNotMatch(shown + (await lcc.run('lccrs show 1 --json')), /sha256|secret|"password"/);
    const tooMuch = await lcc.sh('lccrs approve 1 --filesmax=2000000');
    assert.equal(tooMuch.status, 64);
    await lcc.run('lccrs approve 1 --filesmax=50000 --priority=1');
    const done = await lcc.sh(`lccregister check --pwdfile=${pwdfile} --wait=60`);
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.stdout, /^\*\/15 .*--pid=100000 /);
    await lcc.shows('lccpidb show --pid=100000 --json', /"filesmax":50000,.*"priority":1/);
    assert.match((await lcc.sh('lccrs approve 1')).stderr, /registration 1 is active, and does not wait/);

    const second = join(lcc.dir, 'second');
    const words = `--server=${one.server} --url=${site.url}`;
    const two = await lcc.sh(`lccregister new ${words} --docroot=${site.docroot} --pwdfile=${second}`);
    assert.equal(two.status, 75, two.stderr);
    await lcc.run(`lccrs refuse 2 --reason='it is registered already'`);
    const refused = await lcc.sh(`lccregister check --pwdfile=${second}`);
    assert.equal(refused.status, 77);
    assert.match(refused.stderr, /is refused: it is registered already; ask the operator of this LCC\n$/);
    assert.ok(!existsSync(second) && !existsSync(`${second}.pair`));
    assert.match(
      await lcc.run('lccrs audit'),
      /issued by applicant[^]*proven by rs[^]*approved by operator[^]*register done by qm[^]*terms done by qm[^]*refused by operator/,
    );

    await lcc.run('lccrs backup rs.copy');
    assert.equal(await lcc.run('lccrs list --differs'), '');
    assert.equal((await lcc.sh('lccrs backup rs.copy')).status, 73);
  });

  it('says what is wrong with the file, and goes on where it stopped', async () => {
    const one = await scene('mode = "open"\ncheck_interval_ms = 0\n');
    const { lcc, site, pwdfile, server } = one;
    const by = (verb: string) => lcc.sh(`lccregister ${verb} --pwdfile=${pwdfile}`);
    const begun = await by(`new --server=${server} --url=${site.url}`);
    assert.equal(begun.status, 66);
    assert.match(
      begun.stderr,
      /lcc-[0-9a-f]{20}\.txt: the file is not there \(404\); .*; then run this again\n/,
    );
    assert.match(begun.stdout, /^printf '%s\\n' [\w-]{27} > lcc-[0-9a-f]{20}\.txt\n$/);
    const [, name = ''] = /> (\S+)/.exec(begun.stdout) ?? [];
    writeFileSync(join(site.docroot, name), 'something else');
    assert.equal((await by('check')).status, 65);
    await lcc.sh(begun.stdout, {}, site.docroot);
    const done = await by('check --wait=60');
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.stdout, /cd \/WHERE\/THE\/PAGES\/ARE && /);
    assert.equal((await by('check')).status, 66, 'nothing is under way any more');
  });

  it('puts the file where the last run says: that directory is in the line', async () => {
    const one = await scene('check_interval_ms = 0\nchecks_per_hour = 99\n');
    const { lcc, site, pwdfile, server } = one;
    const [wrong, also] = ['wrong', 'also-wrong'].map(name => join(lcc.dir, name)) as [string, string];
    for (const dir of [wrong, also]) mkdirSync(dir);
    const words = `--server=${server} --url=${site.url} --pwdfile=${pwdfile}`;
    const lost = await lcc.sh(`lccregister new ${words} --docroot=${wrong}`);
    assert.equal(lost.status, 66, lost.stderr);
    const [name = ''] = readdirSync(wrong);
    assert.ok(
      lost.stderr.endsWith(
        `/${name}: the file is not there (404); lccregister put it at ${wrong}/${name}; is ${wrong} the directory that ${site.url} shows? run this again, with another --docroot if it is not; the file stays there until then\n`,
      ),
      lost.stderr,
    );
    const again = await lcc.sh(`lccregister check --pwdfile=${pwdfile} --docroot=${also}`);
    assert.deepEqual([again.status, readdirSync(wrong), readdirSync(also)], [66, [], [name]], again.stderr);

    const found = await lcc.sh(`lccregister new ${words} --docroot=${site.docroot}`);
    assert.equal(found.status, 75, found.stderr);
    assert.deepEqual([readdirSync(also), readdirSync(site.docroot)], [[], []]);
    assert.equal((await lcc.sh(`lccregister new ${words} --docroot=${wrong}`)).status, 75);
    await lcc.run('lccrs approve 1');
    const done = await lcc.sh(`lccregister check --pwdfile=${pwdfile} --wait=60`);
    assert.equal(done.status, 0, done.stderr);
    assert.ok(done.stdout.includes(` cd ${site.docroot} && `), done.stdout);
  });

  it('writes the file of the secret anew where it holds another text', async () => {
    const one = await scene('mode = "open"\ncheck_interval_ms = 0\nchecks_per_hour = 99\n');
    const { lcc, site, pwdfile, server } = one;
    const begun = await lcc.sh(`lccregister new --server=${server} --url=${site.url} --pwdfile=${pwdfile}`);
    const [, secret = '', name = ''] = /'%s\\n' (\S+) > (\S+)\n/.exec(begun.stdout) ?? [];
    const path = join(site.docroot, name);
    writeFileSync(path, `${secret}\nand more\n`, { mode: 0o600 });
    const done = await one.register('--wait=60');
    assert.equal(done.status, 0, done.stderr);
    assert.deepEqual(readdirSync(site.docroot), []);
  });

  it('refuses what cannot be, and changes nothing', async () => {
    const one = await scene('mode = "closed"\ncontact = "hostmaster@example.org"\n');
    const { lcc, site, server } = one;
    const run = (options: string) => lcc.sh(`lccregister ${options}`);
    const usual = `--server=${server} --url=${site.url} --pwdfile=p`;
    const cases: [number, RegExp, string][] = [
      [64, /nothing to do; give new, check, status/, ''],
      [64, /"drop" is no action/, 'drop'],
      [64, /--pwdfile is missing/, `new --server=${server} --url=${site.url}`],
      [64, /--server=x: give an http or https url/, 'new --server=x --url=http://a/ --pwdfile=p'],
      [66, /--docroot=.*: there is no such directory/, `new ${usual} --docroot=${lcc.dir}/none`],
      [64, /lies below the pages, where everybody could read it/, `new ${usual} --docroot=${lcc.dir}`],
      [77, /this LCC takes no new sites; ask hostmaster@example\.org/, `new ${usual}`],
      [66, /p\.pair: no registration is under way/, 'check --pwdfile=p'],
      [75, /ECONNREFUSED.*; try again later/, `new --server=http://127.0.0.1:1/ --url=http://a/ --pwdfile=p`],
      [
        76,
        /is that the address of a Registration Server/,
        `new --server=${site.url} --url=http://a/ --pwdfile=p`,
      ],
    ];
    for (const [status, says, options] of cases) {
      const done = await run(options);
      assert.equal(done.status, status, `${options}: ${done.stderr}`);
      assert.match(done.stderr, says);
    }
    assert.ok(!existsSync(join(lcc.dir, 'p')) && !existsSync(join(lcc.dir, 'p.pair')));
  });
});

/** The site registers, and is approved. @returns its number and password */
async function joined(one: RegistrationScene): Promise<string> {
  assert.equal((await one.register()).status, 75);
  const [, id = '', pid = ''] = /^(\d+) +waiting +(\d+)/m.exec(await one.lcc.run('lccrs list')) ?? [];
  await one.lcc.run(`lccrs approve ${id}`);
  assert.equal((await one.register('--wait=60')).status, 0);
  return `${pid}:${readFileSync(one.pwdfile, 'utf8').trim()}`;
}

/** Looks share answers of the Queue Manager for long here; a change of one's own is seen at once all the same. */
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
    const one = await scene('mode = "open"\npairs_per_network = 9\nshare_ms = 10_000\n');
    const { lcc, server, pwdfile } = one;
    assert.equal((await one.register('--wait=60')).status, 0);
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
      /^provider: {2}100000\nroot: {6}http.*\nurls: {6}0, 10000 more may come\nbytes: [^]*errors: {4}0\n$/,
    );

    await seesItsChange(server, readFileSync(pwdfile, 'utf8').trim());

    const { daemons } = JSON.parse(await lcc.run('lccstat --json')) as {
      daemons: Record<string, { pid: number }>;
    };
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
      assert.ok(tookMs < 10_000, `answered after ${tookMs} ms`);
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
    const other = await run(`passwd --forgot --url=${site.url}b/ --docroot=${b}`);
    assert.equal(other.status, 65, other.stderr);
    assert.equal(readFileSync(pwdfile, 'utf8'), passwords[2], 'the password is as it was');
    assert.doesNotMatch(lcc.log, new RegExp(passwords.map(each => each.trim()).join('|')));
  });
});

/** What is said of a time is not the same twice. */
function untimed(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\bin \d+ s$/, 'in N s') : value;
}

describe('docs/frontdoor-api.md', { skip: noNginx }, () => {
  it('has examples that are answered as it says', async () => {
    const one = await scene();
    const { lcc, site, server } = one;
    const [applicants = ''] = readProjectFile('docs/frontdoor-api.md').split('\n## Operators\n');
    const blocks = applicants.match(/^ {4}(?:curl .*|\{[^]*?^ {4}\})$/gm) ?? [];
    let id = '';
    let login: string | undefined;
    let answer: Record<string, unknown> = {};
    let compared = 0;
    for (const block of blocks) {
      const text = block.replace(/^ {4}/gm, '');
      if (text.startsWith('curl')) {
        let line = text
          .replace('http://www.example.org/docs/', site.url)
          .replace('http://news.example.org/', site.url.replace('127.0.0.1', '127.0.0.2'));
        if (line.includes('$PASSWORD')) line = line.replace('$PID:$PASSWORD', (login ??= await joined(one)));
        if (line.includes('/forgot')) line = line.replace('100000', login?.split(':')[0] ?? '');
        const said = await lcc.run(line.replaceAll('$RS', server.slice(0, -1)).replaceAll('$ID', id));
        answer = said === '' ? {} : (JSON.parse(said) as Record<string, unknown>);
        id = typeof answer['id'] === 'string' ? answer['id'] : id;
      } else {
        const shown = JSON.parse(text) as Record<string, unknown>;
        assert.deepEqual(Object.keys(answer), Object.keys(shown));
        for (const key of ['state', 'tries_left', 'reason', 'code', 'what', 'where', 'do'])
          assert.deepEqual(untimed(answer[key]), untimed(shown[key]), key);
        compared++;
      }
    }
    assert.equal(compared, 13);
  });
});
