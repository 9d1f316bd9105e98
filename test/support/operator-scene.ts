/** An LCC with an operator: providers that registered, sites that wait, a queue that moves, errors; and a login. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { startRegistration, type RegistrationScene } from './registration.js';
import { until } from './until.js';
import { urlTag } from './lcc.js';

export interface OperatorScene extends RegistrationScene {
  /** Address of the operators' listener. */
  operators: string;
  /** Of the operator `ada`. */
  password: string;
  /** A directory of the site with that many pages, registered and proven. @returns its registration and its login */
  applicant(name: string, pages: number, bandwidth?: string): Promise<Applicant>;
  /** Lets it join, and waits until it has. */
  approve(applicant: Applicant): Promise<void>;
  /** Its set. @param missing pages in it that are not there */
  deliver(applicant: Applicant, missing?: number): Promise<void>;
}

export interface Applicant {
  id: number;
  pid: number;
  password: string;
  /** Of its pair; what its page is found by. */
  capability: string;
  root: string;
  pages: number;
}

/** @param rs more of section `[rs]` */
export async function startOperators(rs = '', env: NodeJS.ProcessEnv = {}): Promise<OperatorScene> {
  const port = await freePort();
  const scene = await startRegistration(
    `operator_listen = ["127.0.0.1:${port}"]\npairs_per_network = 1000\n${rs}`,
    env,
  );
  const { lcc, site, server } = scene;
  const password = (await lcc.run('lccrs operator add ada')).trim();
  const post = async (path: string, body?: object) => {
    const answer = await fetch(`${server}api/v1/${path}`, {
      method: 'POST',
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    });
    const told = (await answer.json()) as Record<string, string>;
    assert.ok(answer.ok, `${path}: ${JSON.stringify(told)}`);
    return told;
  };
  let made = 0;
  return {
    ...scene,
    operators: `http://127.0.0.1:${port}/op`,
    password,
    async applicant(name, pages, bandwidth) {
      const root = `${site.url}${name}/`;
      const dir = join(site.docroot, name);
      mkdirSync(dir);
      for (let i = 0; i < pages; i++) writeFileSync(join(dir, `${i}.html`), `<h1>Page ${i}</h1>`.repeat(100));
      const told = await post('pairs', { url: root, ...(bandwidth !== undefined && { bandwidth }) });
      const { id: capability = '', secret = '', password: own = '', file = '' } = told;
      writeFileSync(join(site.docroot, new URL(file).pathname), secret);
      const { state } = await post(`pairs/${capability}/check`);
      assert.equal(state, 'waiting');
      return { id: ++made, pid: Number(told['pid']), password: own, capability, root, pages };
    },
    async approve({ id, capability }) {
      await lcc.run(`lccrs approve ${id}`);
      await until(`registration ${id} is a provider`, async () => {
        const answer = await fetch(`${server}api/v1/pairs/${capability}`);
        return ((await answer.json()) as { state: string }).state === 'active';
      });
    },
    async deliver({ pid, password: own, root, pages }, missing = 0) {
      const urls = Array.from({ length: pages + missing }, (_, i) => urlTag(`${i}.html`));
      const pwdfile = join(lcc.dir, `password-${pid}`);
      writeFileSync(pwdfile, own);
      const { status, stderr } = await lcc.lcccp(
        urls,
        `--pwdfile=${pwdfile}`,
        `--pid=${pid} --urlprefix=${root}`,
      );
      // 1: errors of its set before were reported.
      assert.ok(status === 0 || status === 1, stderr);
    },
  };
}
