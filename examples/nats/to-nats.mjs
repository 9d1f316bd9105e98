// Publishes what changed to a JetStream of NATS, below lccq --stay: each line a message, in order, and a batch is
// answered once the server has stored all of it. What comes twice has the same Nats-Msg-Id, and is stored once.
//
//   to-nats.mjs STORE [SERVER]
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, headers } from '@nats-io/transport-node';

const [store, servers = '127.0.0.1:4222'] = process.argv.slice(2);
const nats = await connect({ servers, maxReconnectAttempts: -1, waitOnFirstConnect: true });
// How long the server remembers ids: longer than a batch takes to come again.
const stream = { name: 'lcc', subjects: ['lcc.*'], duplicate_window: 3600e9 };

async function ask(subject, text, options) {
  const answer = (await nats.request(subject, text, { timeout: 5000, ...options })).json();
  if (answer.error !== undefined) throw new Error(answer.error.description);
}

// The same again where a stream of that name is there already.
async function untilStored(subject, text, options) {
  for (let failures = 0; ; failures++)
    try {
      return await ask(subject, text, options);
    } catch (error) {
      if (failures === 0) console.error(`to-nats: ${subject}: ${error.message}; again until it is stored`);
      await sleep(1000);
    }
}

await untilStored('$JS.API.STREAM.CREATE.lcc', JSON.stringify(stream));
for await (const line of createInterface({ input: process.stdin })) {
  if (line === '') {
    console.log('ok');
    continue;
  }
  const { op, seq } = JSON.parse(line);
  const id = headers();
  id.set('Nats-Msg-Id', `${store}:${seq}`);
  await untilStored(`lcc.${op}`, line, { headers: id });
}
await nats.close();
