import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { ROOT } from '../support/tree.js';
import type { Daemon } from '../support/daemon.js';
import { freePort } from '../support/free-port.js';
import { TestFrontEnd } from '../support/front-end.js';
import { accepted, codeOf, Cp, init, newHome, newReceiver, set, SITE, type Home } from '../support/uns.js';
import { until, within } from '../support/until.js';

const golden = (name: string) => readFileSync(join(ROOT, `test/golden/${name}.xml`), 'utf8');

/** A UNS that CPs reach directly, and one like it that they reach through a front end. */
class Side {
  readonly home: Home = newHome();
  readonly passwords = new Map<number, string>();
  uns!: Daemon;
  fePort = 0;

  constructor() {
    for (const pid of [3, 7, 8]) this.passwords.set(pid, this.home.addProvider(pid, { enabled: pid !== 8 }));
  }

  async start(): Promise<this> {
    this.fePort = await freePort();
    await this.restart();
    return this;
  }

  async restart(): Promise<void> {
    this.uns = await this.home.start({}, [`--listen-fe=127.0.0.1:${this.fePort}`]);
  }

  get endpoint() {
    return { kind: 'tcp', host: '127.0.0.1', port: this.fePort } as const;
  }
}

let direct: Side;
let behind: Side;
let front: TestFrontEnd;
const fronts: TestFrontEnd[] = [];

const newFront = async (...args: Parameters<typeof TestFrontEnd.listen>) => {
  const made = await TestFrontEnd.listen(...args);
  fronts.push(made);
  return made;
};

before(async () => {
  direct = await new Side().start();
  behind = await new Side().start();
  front = await newFront(behind.endpoint);
});
after(() => {
  for (const each of fronts) each.close();
});

/** What differs between two UNSes that have seen the same. */
const comparable = (reply: string) => reply.replace(/numbering="[^"]*"/, 'numbering=""');

/** A document with the password of a side. */
type Written = (password: (pid: number) => string) => string | Buffer;

const oneShot: Written = password =>
  golden('cp-one-shot')
    .replace('id="name"', 'id="3"')
    .replace('"secret"', `"${password(3)}"`)
    .replaceAll('http://h/', SITE);

const CONVERSATIONS: Record<string, Written> = {
  'a set': password => init(7, password(7)) + set('full', 'a.html', 'b.html'),
  'the golden set': password =>
    golden('cp-init-set').replace('passwd="k&amp;y&#x21;"', `passwd="${password(7)}"`),
  'the golden set of another coding': password =>
    Buffer.from(
      readFileSync(join(ROOT, 'test/golden/cp-latin1-crlf.xml'), 'latin1').replace(
        /passw(or)?d=(["'])[^"']*\2/,
        `passwd="${password(7)}"`,
      ),
      'latin1',
    ),
  'the one document of 2002': oneShot,
  'the one document, unescaped': password => String(oneShot(password)).replace('a.html', 'a.html?x=1&y=2'),
  'urls in error': password =>
    `${init(7, password(7))}<lococa:set set="partial"><url mimetype="text/html"/><url curl="x" mimetype="?"/></lococa:set>`,
  'an empty set': password => `${init(7, password(7))}<lococa:set set="partial"/>`,
  'more than a set': password => `${init(7, password(7))}${set('partial', 'a.html')}<lococa:set set="full"/>`,
  'a set that is not whole': password => init(7, password(7)) + set('partial', 'a.html').slice(0, -8),
  'a login alone': password => init(7, password(7)),
  'a disabled provider': password => init(8, password(8)),
  'a wrong password': () => init(7, 'wrong') + set('full', 'a.html'),
  'a provider that nobody has': () => init(99, 'wrong') + set('full', 'a.html'),
  'no number': () => init('name', 'wrong'),
  'no provider': () => '<lococa:init></lococa:init>',
  'a set without a login': () => set('full', 'a.html'),
  'another protocol': () => 'GET / HTTP/1.1\r\nHost: example.org\r\n\r\n',
  'half a login': () => init(7, 'wrong').slice(0, 60),
  'nothing at all': () => '',
  'a login that never ends': () => `<lococa:init>${' '.repeat(200_000)}`,
};

/** Says it, ends its side, and hears all. */
async function talk(port: number, document: string | Buffer, isDripped = false): Promise<string> {
  const cp = new Cp(port);
  await once(cp.socket, 'connect');
  if (isDripped) await cp.drip(document);
  else cp.send(document);
  if (!cp.socket.destroyed) cp.socket.end();
  return comparable(await cp.reply);
}

describe('a conversation through a front end', () => {
  for (const [name, written] of Object.entries(CONVERSATIONS))
    for (const how of ['at once', ...(name.includes('never ends') ? [] : ['a byte a write'])])
      it(`is equal to the byte: ${name}, ${how}`, async () => {
        const said = (side: Side) => written(pid => side.passwords.get(pid) ?? '');
        const isDripped = how !== 'at once';
        const expected = await talk(direct.uns.port, said(direct), isDripped);
        assert.equal(await talk(front.port, said(behind), isDripped), expected);
        if (name === 'a set') assert.equal(accepted(expected), 2);
      });

  it('is had by a provider of 2002, in Perl', async () => {
    const script =
      'use IO::Socket::INET; my $s = IO::Socket::INET->new("127.0.0.1:$ARGV[0]") or die; local $/; print $s <STDIN>; $s->flush; shutdown $s, 1; print <$s>;';
    const perl = async (side: Side, port: number) => {
      const child = spawn('perl', ['-e', script, String(port)], { stdio: ['pipe', 'pipe', 'inherit'] });
      child.stdin.end(oneShot(pid => side.passwords.get(pid) ?? ''));
      let reply = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (reply += text));
      await within('perl ends', once(child, 'close'));
      return comparable(reply);
    };
    const expected = await perl(direct, direct.uns.port);
    assert.equal(accepted(expected), 2);
    assert.equal(await perl(behind, front.port), expected);
  });

  it('costs its UNS nothing where the CP leaves without a word', async () => {
    const quiet = await newFront(behind.endpoint);
    await talk(quiet.port, '');
    assert.deepEqual([quiet.asked, quiet.counts.passed], [[], 0]);
  });

  it("is the CP's own: its address is the one that counts and is shown", async () => {
    const from = (localAddress: string) =>
      new Promise<string>(resolve => {
        let reply = '';
        const socket = connect({ host: '127.0.0.1', port: front.port, localAddress });
        socket.setEncoding('utf8').on('data', (text: string) => (reply += text));
        socket.on('close', () => resolve(reply));
        socket.end(init(3, behind.passwords.get(3) ?? ''));
      });
    await from('127.0.0.9');
    assert.match(await from('127.0.0.10'), /lastConnectIP="127\.0\.0\.9"/);
  });

  it('tells its UNS when the CP breaks off, so that errors it may not have read are shown again', async () => {
    const receiver = await newReceiver(behind.home);
    behind.home.sql(
      `UPDATE pidb SET nurlerrs = 1 WHERE pid = 7; INSERT INTO pierr(pid, code, text, attrs) VALUES (7, 404, 'x', ' curl="e" mimetype="text/html"')`,
    );
    const login = init(7, behind.passwords.get(7) ?? '');
    const cp = new Cp(front.port).send(login);
    await cp.hears('</lococa:init_accepted>');
    cp.socket.resetAndDestroy();
    const seq = /connect_info seq="(\d+)"/.exec(cp.heard)?.[1];
    await until('the UNS has noticed', () => behind.uns.log.includes(`"seq":${seq},"errors_received":false`));
    assert.match(await talk(front.port, login), /<url code="404"/);
    assert.doesNotMatch(await talk(front.port, login), /<url code="404"/, 'received in good order');
    await receiver.close();
  });
});

describe('a UNS that is lost', () => {
  const LOST_WORD = /<(?:reason|set_rejected) code="102">/;
  let side: Side;
  let lossy: TestFrontEnd;
  afterEach(() => lossy.close());

  /** The UNS is killed when that many quarters of the document have been passed on. */
  async function killedAfter(quarters: number, written: Written): Promise<{ reply: string; whole: boolean }> {
    side = await new Side().start();
    lossy = await newFront(side.endpoint, { waitMs: 500 });
    const document = Buffer.from(written(pid => side.passwords.get(pid) ?? ''));
    const cut = Math.ceil((document.length * quarters) / 4);
    const cp = new Cp(lossy.port).send(document.subarray(0, cut));
    const isLoggedIn =
      document.subarray(0, cut).includes('</lococa:init>') || document.subarray(0, cut).includes('</init>');
    if (isLoggedIn) await cp.hears('</lococa:init_accepted>');
    if (quarters === 4) await cp.hears('<set_accepted').catch(() => undefined);
    await side.uns.stop('SIGKILL');
    cp.send(document.subarray(cut));
    const reply = await cp.reply;
    return { reply, whole: /<\/lococa:set_result>\s*$/.test(reply) && !LOST_WORD.test(reply) };
  }

  for (const [name, written] of [
    ['a set', CONVERSATIONS['a set'] as Written],
    ['the one document of 2002', oneShot],
  ] as const)
    for (const quarters of [0, 1, 2, 3, 4])
      it(`leaves a whole answer or a clean 102: ${name}, killed after ${quarters} quarters`, async () => {
        const { reply, whole } = await killedAfter(quarters, written);
        if (quarters === 4) return assert.ok(whole, reply);
        assert.ok(LOST_WORD.test(reply), reply);
        assert.doesNotMatch(reply, /set_accepted/);
        assert.equal(wellFormed(reply), '');
      });

  it('ends without a word where it may have accepted the set: only that UNS knows', async () => {
    side = await new Side().start();
    lossy = await newFront(side.endpoint);
    side.uns.child.kill('SIGSTOP');
    const document = init(7, side.passwords.get(7) ?? '') + set('partial', 'a.html');
    const cp = new Cp(lossy.port).send(document);
    await until('it is passed on', () => lossy.counts.passed === 1);
    await side.uns.stop('SIGKILL');
    assert.equal(await cp.reply, '');
  });

  it('is left when another machine is the owner, though it is only frozen', async () => {
    side = await new Side().start();
    lossy = await newFront(side.endpoint);
    const cp = new Cp(lossy.port).send(init(7, side.passwords.get(7) ?? ''));
    await cp.hears('</lococa:init_accepted>');
    side.uns.child.kill('SIGSTOP');
    lossy.moved();
    assert.equal(codeOf(await cp.reply), 102);
    side.uns.child.kill('SIGCONT');
    await side.uns.stop();
  });
});

describe('a provider that nobody has at the moment', () => {
  it('is held, and answered by its UNS as soon as there is one', async () => {
    const held = await newFront();
    const cp = new Cp(held.port).send(init(7, behind.passwords.get(7) ?? '') + set('partial', 'a.html'));
    await until('it is held', () => held.held === 1);
    held.to = behind.endpoint;
    assert.equal(accepted(await cp.reply), 1);
    assert.deepEqual([held.held, new Set(held.asked)], [0, new Set(['7'])]);
  });

  for (const [where, port] of [
    ['no owner', undefined],
    ['an owner that does not answer', 1],
  ] as const)
    it(`hears 102 when that takes too long: ${where}`, async () => {
      const to = port === undefined ? undefined : ({ kind: 'tcp', host: '127.0.0.1', port } as const);
      const held = await newFront(to, { waitMs: 300 });
      const reply = await new Cp(held.port).send(init(7, 'x') + set('partial', 'a.html')).reply;
      assert.match(
        reply,
        /^<lococa:init_rejected><reason code="102">[^<]+<\/reason><\/lococa:init_rejected>\n$/,
      );
      assert.deepEqual(held.counts, { passed: 0, refused: 1, lost: 0 });
    });

  it('says too late which it is: 106, naming the limit', async () => {
    const held = await newFront(behind.endpoint, { limits: { loginTimeoutMs: 200 } });
    const reply = await new Cp(held.port).send('<lococa:init>').reply;
    assert.equal(codeOf(reply), 106);
    assert.match(reply, /200 ms \(uns\.login_timeout_ms\)/);
  });
});

/** '' where every element of a reply ends. */
function wellFormed(reply: string): string {
  const open: string[] = [];
  for (const [, end, name = '', empty] of reply.matchAll(/<(\/?)([\w:]+)[^>]*?(\/?)>/g)) {
    if (end === '/') {
      if (open.pop() !== name) return `</${name}>`;
    } else if (empty !== '/') open.push(name);
  }
  return open.join(' ');
}
