import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startLcc } from '../line/lcc.js';
import { noNginx, startSite } from '../line/site.js';

/** A pipeline whose process was killed is run again, as cron would. */
const TRIES_OF_THE_PIPELINE = 5;

interface Outcome {
  /** `curl mimetype md5 len` of all that is held at the end, sorted. */
  held: string;
  /** `op curl` of what the cursor showed after the last change. */
  shown: string;
  crashed: boolean;
}

/**
 * One whole life: load a site, change it, delete from it, send again. With `crashAt` one process is killed at that
 * step, once, wherever in the line it is; the supervisor or the next run of the pipeline must make good.
 */
async function life(crashAt: string | undefined, stepLog: string | undefined): Promise<Outcome> {
  const scratch = mkdtempSync(join(tmpdir(), 'lcc-step-'));
  const docroot = join(scratch, 'docs');
  mkdirSync(docroot);
  const page = (i: number, text: string) => writeFileSync(join(docroot, `p${i}.html`), `<p>${i} ${text}</p>`);
  for (let i = 0; i < 30; i++) page(i, 'first');
  const site = await startSite(docroot, join(scratch, 'nginx'));
  const crashed = join(scratch, 'crashed');
  const faults: NodeJS.ProcessEnv = {
    ...(stepLog === undefined ? {} : { LCC_STEP_LOG: stepLog }),
    ...(crashAt === undefined ? {} : { LCC_CRASH_AT: crashAt, LCC_CRASH_ONCE: crashed }),
  };
  const lcc = await startLcc(site.url, '[bm]\ngrace_ms = 0\n', faults);
  try {
    const send = async () => {
      for (let attempt = 1; ; attempt++) {
        const result = await lcc.sh(
          `find docs -type f | file2url --docroot docs | lcccpstate --statefile=state.txt | lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${site.url}`,
          faults,
          scratch,
        );
        if (result.status === 0) break;
        assert.ok(attempt < TRIES_OF_THE_PIPELINE, `never delivered: ${result.stderr}`);
      }
      await lcc.idle(60);
    };
    await send();
    await lcc.run('lccq --cursor=c --format=urls -- cat');
    for (let i = 0; i < 10; i++) page(i, 'second, longer');
    for (let i = 10; i < 15; i++) rmSync(join(docroot, `p${i}.html`));
    for (let i = 30; i < 35; i++) page(i, 'new');
    await send();
    const strip = (text: string) =>
      text
        .trim()
        .split('\n')
        .map(line => line.replaceAll(site.url, ''))
        .sort((a, b) => (a < b ? -1 : 1))
        .join('\n');
    const held = await lcc.run('lccq --format=tsv --no-deleted --fields=curl,mimetype,md5,len');
    const shown = await lcc.run('lccq --cursor=c --format=tsv --fields=op,curl -- cat');
    return { held: strip(held), shown: strip(shown), crashed: existsSync(crashed) };
  } finally {
    await lcc.destroy();
    await site.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

describe('kill -9 at a durable step, anywhere in the line', { skip: noNginx }, async () => {
  const stepLog = join(mkdtempSync(join(tmpdir(), 'lcc-steps-')), 'steps');
  const uninterrupted = await life(undefined, stepLog);
  const steps = [
    ...new Set(
      readFileSync(stepLog, 'utf8')
        .trim()
        .split('\n')
        .map(line => line.split(' ')[1] ?? ''),
    ),
  ].sort();

  it('the uninterrupted run passes steps of every room', () => {
    for (const room of ['cp', 'uns', 'qm', 'bm', 'bot', 'cu']) {
      assert.ok(
        steps.some(step => step.startsWith(`${room}.`)),
        `no step of ${room} among ${steps.join(' ')}`,
      );
    }
  });

  for (const step of steps) {
    it(`at ${step}: ends as the uninterrupted run does`, async () => {
      const outcome = await life(step, undefined);
      assert.ok(outcome.crashed, 'nothing crashed');
      assert.equal(outcome.held, uninterrupted.held);
      assert.equal(outcome.shown, uninterrupted.shown);
    });
  }
});
