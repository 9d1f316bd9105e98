/** A Registration Server in this process whose mail goes to a server of this process. */
import assert from 'node:assert/strict';
import { afterEach } from 'node:test';
import { RsRequestRefused } from '../../src/rs/refusal.js';
import { linkIn, MailServer } from '../support/smtp.js';
import { until } from '../support/until.js';
import { RsScene } from './support.js';

export const DAY_MS = 86_400_000;
export const ANN = 'ann@example.org';

type Overrides = NonNullable<Parameters<typeof RsScene.start>[0]>;
type Bound = NonNullable<Parameters<typeof RsScene.start>[1]>;

/** Mails a day that a network brings about. */
export const perNetwork =
  (most: number): Bound =>
  ({ mail }) => {
    for (const use of [mail.uses.mailing, mail.uses.forgotten])
      Object.assign(use, { most, text: String(most) });
  };

/** One at a time, which ends after each test. */
export class MailScene {
  scene!: RsScene;
  server: MailServer | undefined;

  constructor() {
    afterEach(() => this.end());
  }

  async start(
    more: Overrides = {},
    options: Parameters<typeof MailServer.listen>[0] = {},
    bound?: Bound,
  ): Promise<MailServer> {
    this.server = await MailServer.listen(options);
    await this.startAt(this.server.port, more, bound);
    return this.server;
  }

  /** @param port of the mail server */
  async startAt(port: number, more: Overrides = {}, bound?: Bound): Promise<void> {
    const settings = {
      'rs.smtp': `smtp://127.0.0.1:${port}`,
      'rs.mail_from': 'lcc@lcc.example.org',
      'rs.mail_gather_ms': '0',
      'rs.pairs_per_network': '1000',
      ...more,
    };
    this.scene = await RsScene.start(settings, options => {
      options.limits.perHost.most = 1000;
      bound?.(options);
    });
  }

  async end(): Promise<void> {
    await this.scene.mail.stop();
    assert.deepEqual(this.scene.failures, []);
    this.scene.close();
    await this.server?.close();
    this.server = undefined;
  }

  /** A site whose address is confirmed becomes a provider. */
  async provider(taken: MailServer, email = ANN): Promise<number> {
    const { scene } = this;
    const pair = scene.issue('/', '192.0.2.0/24', email);
    const mail = await taken.mail(taken.taken.length + 1);
    scene.mail.mailing.confirm(linkIn(mail, 'confirm'));
    scene.place(pair);
    await scene.registrar.check(pair.capability);
    scene.transitions.approve(scene.standing(pair).id, {});
    const [operation] = scene.db.outbox.waiting(1);
    assert.ok(operation);
    scene.transitions.settle(operation, { ok: {} }, 1);
    return pair.registration.pid;
  }

  /** When no mail waits. */
  async empty(): Promise<void> {
    await until('no mail waits', () => this.scene.db.mails.size() === 0);
  }

  /** The audit, the newest first. */
  get events(): string[] {
    return this.scene.db.audit.page(50).map(({ event, detail }) => `${event}: ${detail}`);
  }
}

/** The link in the latest mail of this kind that waits to be sent. */
export function waitingLink({ db }: RsScene, kind: 'confirm' | 'reset'): string {
  const bodies = db.mails.madeBefore(Infinity, 100).map(({ body }) => body);
  return linkIn({ body: bodies.toReversed().join('\n') }, kind);
}

/** The word that something is refused with. */
export function refusalOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof RsRequestRefused) return `${error.status} ${error.code}`;
    throw error;
  }
  return 'done';
}
