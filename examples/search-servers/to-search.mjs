#!/usr/bin/env node
// Keeps an index of a search server in step with an LCC:
//
//   lccq --follow --stay --batch=200 --cursor=s.cursor --format=jsonl --markdown -- node to-search.mjs KIND URL [--index=pages] [--key-file=F]
//
// KIND is meilisearch, typesense or opensearch. A batch is answered with `ok` when the server has taken it, task and all.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

const TRIES = 5;
const TASK_MS = 120_000;
const string = { type: 'string' };
const { values, positionals } = parseArgs({
  options: { index: { ...string, default: 'pages' }, 'key-file': string },
  allowPositionals: true,
});
const [kind, base] = positionals;
const { index } = values;
const key = values['key-file'] && readFileSync(values['key-file'], 'utf8').trim();
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

function fail(status, message) {
  process.stderr.write(`to-search: ${message}\n`);
  process.exit(status);
}

/** What the server answers, asked again while it is busy or away. */
async function ask(method, path, body, type = 'application/json', accept = []) {
  const headers = { 'Content-Type': type, ...(key && authorization(key)) };
  for (let tried = 1; ; tried++) {
    try {
      const answer = await fetch(new URL(path, base), { method, body, headers, signal: AbortSignal.timeout(TASK_MS) });
      const text = await answer.text();
      if (answer.ok || accept.includes(answer.status)) return { status: answer.status, text };
      if (answer.status < 500 && answer.status !== 429) fail(76, `${method} ${path}: ${answer.status} ${text.slice(0, 200)}`);
      throw new Error(`${answer.status} ${text.slice(0, 200)}`);
    } catch (error) {
      if (tried === TRIES) fail(75, `${method} ${base}${path}: ${error.message}`);
      await pause(200 * 2 ** tried);
    }
  }
}

function authorization(secret) {
  if (kind === 'typesense') return { 'X-TYPESENSE-API-KEY': secret };
  return { Authorization: kind === 'meilisearch' ? `Bearer ${secret}` : `ApiKey ${secret}` };
}

const lines = items => items.map(item => `${JSON.stringify(item)}\n`).join('');

const KINDS = {
  async meilisearch(upserts, deletes) {
    const path = `indexes/${index}/documents`;
    const tasks = [];
    if (upserts.length > 0) tasks.push(await ask('POST', `${path}?primaryKey=id`, lines(upserts), 'application/x-ndjson'));
    if (deletes.length > 0) tasks.push(await ask('POST', `${path}/delete-batch`, JSON.stringify(deletes)));
    for (const { text } of tasks) await meiliTask(JSON.parse(text).taskUid);
  },
  async typesense(upserts, deletes) {
    const path = `collections/${index}/documents`;
    if (upserts.length > 0) {
      const { text } = await ask('POST', `${path}/import?action=upsert`, lines(upserts.map(each => ({ ...each, id: String(each.id) }))), 'text/plain');
      const wrong = text.split('\n').find(line => line !== '' && JSON.parse(line).success !== true);
      if (wrong !== undefined) fail(76, `a document was refused: ${wrong.slice(0, 200)}`);
    }
    for (const id of deletes) await ask('DELETE', `${path}/${id}`, undefined, undefined, [404]);
  },
  async opensearch(upserts, deletes) {
    const actions = [
      ...upserts.flatMap(page => [{ index: { _index: index, _id: String(page.id) } }, page]),
      ...deletes.map(id => ({ delete: { _index: index, _id: String(id) } })),
    ];
    const { text } = await ask('POST', '_bulk?refresh=wait_for', lines(actions), 'application/x-ndjson');
    const wrong = JSON.parse(text).items.map(item => Object.values(item)[0]).find(({ status, error }) => error !== undefined || (status > 299 && status !== 404));
    if (wrong !== undefined) fail(76, `a document was refused: ${JSON.stringify(wrong).slice(0, 200)}`);
  },
};

/** A task is taken at once and done later; only then is the page found. */
async function meiliTask(uid) {
  for (let waited = 0; waited < TASK_MS; waited += 100) {
    const { status, error } = JSON.parse((await ask('GET', `tasks/${uid}`)).text);
    if (status === 'succeeded') return;
    if (status === 'failed' || status === 'canceled') fail(76, `task ${uid}: ${error?.message ?? status}`);
    await pause(100);
  }
  fail(75, `task ${uid} was not done within ${TASK_MS} ms`);
}

if (!Object.hasOwn(KINDS, kind) || base === undefined) fail(64, `usage: to-search.mjs ${Object.keys(KINDS).join('|')} URL`);
let rows = new Map();
async function send() {
  const all = [...rows.values()];
  rows = new Map();
  const upserts = all.filter(row => row.op === 'upsert' && row.markdown !== null && row.burl !== '');
  const shown = upserts.map(({ id, burl, title, language, description, markdown, mtime }) => ({ id, url: burl, title, language, description, markdown, mtime }));
  const deletes = all.filter(row => !upserts.includes(row)).map(({ id }) => id);
  if (all.length > 0) await KINDS[kind](shown, deletes);
}
for await (const line of createInterface({ input: process.stdin })) {
  if (line !== '') {
    const row = JSON.parse(line);
    rows.set(row.id, row);
    continue;
  }
  await send();
  process.stdout.write('ok\n');
}
await send();
