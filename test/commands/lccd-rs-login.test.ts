/** Logins at the pages, checked by a real UNS: nobody learns from text, status or time which providers there are. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Lcc } from '../support/lcc.js';
import { freePort } from '../support/nginx.js';

const SAMPLES = 15;
const MOST_MS = 10;
let lcc: Lcc;
let server: string;
const passwords: string[] = [];

before(async () => {
  const port = await freePort();
  server = `http://127.0.0.1:${port}/`;
  lcc = new Lcc(
    'http://127.0.0.1:9/',
    `[rs]\nlisten = ["127.0.0.1:${port}"]\nurl = "${server}"\nproxies = ["127.0.0.0/8"]\nshare_ms = 10_000\n`,
  );
  await lcc.start();
  for (const pid of [1, 2]) passwords[pid] = (await lcc.addProvider(pid)).trim();
  await lcc.run('lccpidb set --pid=2 --enabled=no');
});
after(() => lcc.remove());

let network = 0;
/** From another network each time. */
async function login(
  number: string,
  password: string,
): Promise<{ status: number; text: string; ms: number }> {
  const startMs = performance.now();
  const answer = await fetch(`${server}login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'x-forwarded-for': `198.18.${++network}.1` },
    body: new URLSearchParams({ number, password, next: '' }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    text: text.replaceAll(`value="${number}"`, ''),
    ms: performance.now() - startMs,
  };
}

test('unknown, wrong and disabled have the same text and status, and take the same time', async t => {
  assert.equal((await login('1', passwords[1] ?? '')).status, 303);
  const tried = {
    unknown: ['3', passwords[1]],
    wrong: ['1', passwords[2]],
    disabled: ['2', passwords[2]],
  } as const;
  const times: Record<string, number[]> = {};
  const answers = new Set<string>();
  for (let i = 0; i < SAMPLES; i++)
    for (const [kind, [number, password = '']] of Object.entries(tried)) {
      const { status, text, ms } = await login(number, password);
      answers.add(`${status} ${text}`);
      (times[kind] ??= []).push(ms);
    }
  assert.equal(answers.size, 1);
  assert.match([...answers].join(), /^401 [^]*Number and password do not belong together/);
  const medians = Object.values(times).map(
    list => list.toSorted((a, b) => a - b)[Math.floor(SAMPLES / 2)] ?? 0,
  );
  t.diagnostic(`medians: ${medians.map(ms => `${ms.toFixed(1)} ms`).join(', ')}`);
  assert.ok(Math.max(...medians) - Math.min(...medians) <= MOST_MS, medians.join(', '));
});

test('a session ends with the password that the operator replaces, and with the provider that is disabled', async () => {
  const cookieOf = async (password: string) => {
    const answer = await fetch(`${server}login`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ number: '1', password, next: '' }),
    });
    return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  };
  const status = async (cookie: string) =>
    (await fetch(`${server}me`, { redirect: 'manual', headers: { cookie } })).status;
  const first = await cookieOf(passwords[1] ?? '');
  assert.equal(await status(first), 200);
  const password = (await lcc.run('lccpidb passwd --pid=1')).trim();
  assert.equal(await status(first), 303);
  const second = await cookieOf(password);
  assert.equal(await status(second), 200);
  await lcc.run('lccpidb set --pid=1 --enabled=no');
  assert.equal(await status(second), 303);
  assert.ok(!lcc.log.includes(password) && !lcc.log.includes(second.replace('lcc=', '')));
});

test('wrong passwords over the API and at the login page have one count for a network', async () => {
  const from = (last: number) => ({ 'x-forwarded-for': `203.0.113.${last}` });
  const wrong = (number: number) => `Basic ${Buffer.from(`${number}:wrong`).toString('base64')}`;
  const statuses = [];
  for (let i = 1; i <= 20; i++) {
    const headers = { ...from(i), authorization: wrong(100 + i) };
    statuses.push((await fetch(`${server}api/v1/me`, { headers })).status);
  }
  assert.deepEqual(new Set(statuses), new Set([401]));
  const body = new URLSearchParams({ number: '1', password: 'x', next: '' });
  const page = await fetch(`${server}login`, { method: 'POST', headers: from(99), body });
  assert.equal(page.status, 429);
  assert.match(await page.text(), /Too many wrong logins from your network in an hour/);
  assert.equal((await login('1', 'x')).status, 401, 'another network has its own');
});
