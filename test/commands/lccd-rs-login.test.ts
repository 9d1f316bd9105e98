/** Logins at the pages, checked by a real UNS: nobody learns from text, status or time which providers there are. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freePort } from '../support/free-port.js';
import { Lcc } from '../support/lcc.js';
import { longIt } from '../support/long.js';
import { differenceOf, isSame, medianWithin, pairsOf, roundsOf } from '../support/same-time.js';

const MOST_MS = 10;
/** What an answer comes earlier for which nobody is asked. */
const EARLY_MS = 25;
let lcc: Lcc;
let server: string;
const passwords: string[] = [];

before(async () => {
  const port = await freePort();
  server = `http://127.0.0.1:${port}/`;
  lcc = new Lcc(
    'http://127.0.0.1:9/',
    `[rs]\nlisten = ["127.0.0.1:${port}"]\nurl = "${server}"\nproxies = ["127.0.0.0/8"]\n`,
  );
  await lcc.start();
  for (const pid of [1, 2]) passwords[pid] = (await lcc.addProvider(pid)).trim();
  await lcc.run('lccpidb set --pid=2 --enabled=no');
});
after(() => lcc.remove());

let network = 0;
const networkOf = (n: number) => `198.${18 + (n >> 8)}.${n & 255}.1`;
/** From another network each time. */
async function login(
  number: string,
  password: string,
): Promise<{ status: number; text: string; ms: number }> {
  const startMs = performance.now();
  const answer = await fetch(`${server}login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'x-forwarded-for': networkOf(++network) },
    body: new URLSearchParams({ number, password, next: '' }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    text: text.replaceAll(`value="${number}"`, ''),
    ms: performance.now() - startMs,
  };
}

const kinds = ['unknown', 'wrong', 'disabled'] as const;
/** Number and password of each kind of login that is refused. */
const tried = () =>
  ({
    unknown: ['3', passwords[1]],
    wrong: ['1', passwords[2]],
    disabled: ['2', passwords[2]],
  }) as const;

test('unknown, wrong and disabled have the same text and status', async () => {
  assert.equal((await login('1', passwords[1] ?? '')).status, 303);
  const answers = new Set<string>();
  for (const [number, password = ''] of Object.values(tried())) {
    const { status, text } = await login(number, password);
    answers.add(`${status} ${text}`);
  }
  assert.equal(answers.size, 1);
});

longIt('unknown, wrong and disabled have the same text and status, and take the same time', async t => {
  const answers = new Set<string>();
  const rounds = await roundsOf(kinds, MOST_MS, async kind => {
    // Who has the right password of a disabled provider knows already that there is one; the Queue Manager is asked for him.
    const [number, password = ''] = kind === 'disabled' ? ['2', passwords[1]] : tried()[kind];
    const { status, text, ms } = await login(number, password);
    answers.add(`${status} ${text}`);
    return ms;
  });
  assert.equal(answers.size, 1);
  assert.match([...answers].join(), /^401 [^]*Number and password do not belong together/);
  for (const [one, other] of pairsOf(kinds)) {
    const difference = differenceOf(rounds, one, other);
    const { from, to } = difference;
    const found = `${one} − ${other}: median from ${from.toFixed(1)} to ${to.toFixed(1)} ms, ${rounds.length} rounds`;
    t.diagnostic(found);
    assert.equal(isSame(difference, MOST_MS), true, found);
    const early = rounds.map(round => round[one] - round[other] - EARLY_MS);
    assert.equal(isSame(medianWithin(early), MOST_MS), false, `${found}: an early answer is not noticed`);
  }
});

test('in the noise of a busy machine an early answer is told from one that takes as long', async () => {
  // 30 ms each, of which other work makes up to 100, as often as not; always the same ones.
  let seed = 1;
  const noisy = (ms: number) => {
    const chance = () => (seed = (seed * 48_271) % 0x7fff_ffff) / 0x7fff_ffff;
    return Promise.resolve(ms + (chance() < 0.5 ? 0 : 70 * chance()));
  };
  for (const [earlyMs, same] of [
    [0, true],
    [EARLY_MS, false],
  ] as const) {
    const rounds = await roundsOf(['early', 'asked'], MOST_MS, kind =>
      noisy(kind === 'early' ? 30 - earlyMs : 30),
    );
    assert.equal(isSame(differenceOf(rounds, 'early', 'asked'), MOST_MS), same);
  }
  const few = medianWithin([0, 0, 0, 0, 0]);
  assert.equal(isSame(few, MOST_MS), undefined, 'of few nothing is known');
  assert.deepEqual(medianWithin(Array.from({ length: 15 }, (_, n) => n)), { from: 1, to: 13 });
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
