#!/usr/bin/env node
// Vectors by a server: node embed-http.mjs --url=http://localhost:11434/v1/embeddings --model=M [--key-file=F]
// The form is that of OpenAI, which Ollama, vLLM and llama.cpp share.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

const TRIES = 5;
const string = { type: 'string' };
const { values } = parseArgs({ options: { url: string, model: string, 'key-file': string } });
const key = values['key-file'] && readFileSync(values['key-file'], 'utf8').trim();
const headers = { 'Content-Type': 'application/json', ...(key && { Authorization: `Bearer ${key}` }) };

async function vectorsOf(input, tried = 1) {
  try {
    const body = JSON.stringify({ model: values.model, input });
    const answer = await fetch(values.url, { method: 'POST', headers, body, signal: AbortSignal.timeout(60_000) });
    if (!answer.ok) throw new Error(`${answer.status} ${(await answer.text()).slice(0, 200)}`);
    const { data } = await answer.json();
    const sorted = [...data].sort((one, other) => one.index - other.index).map(({ embedding }) => embedding);
    if (sorted.length !== input.length) throw new Error(`${sorted.length} vectors for ${input.length} texts`);
    return sorted;
  } catch (error) {
    if (tried === TRIES) {
      process.stderr.write(`embed-http: ${values.url}: ${error.message}\n`);
      process.exit(69);
    }
    await new Promise(resolve => setTimeout(resolve, 250 * 2 ** tried));
    return vectorsOf(input, tried + 1);
  }
}

let texts = [];
const flush = async () => {
  const some = texts;
  texts = [];
  if (some.length > 0)
    for (const vector of await vectorsOf(some)) process.stdout.write(`${JSON.stringify(vector)}\n`);
};
let last = Promise.resolve();
for await (const line of createInterface({ input: process.stdin })) {
  texts.push(JSON.parse(line));
  // What came in together is asked for together.
  if (texts.length === 1) setImmediate(() => (last = last.then(flush)));
}
await last.then(flush);
