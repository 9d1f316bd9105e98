/** The thread behind HashPool: waits for a batch of names, describes it, answers. Synchronous throughout. */
import { receiveMessageOnPort, workerData } from 'node:worker_threads';
import { addToCount, awaitCount } from '../lib/await-count.js';
import { createDescribe, type NameProblem } from './describe.js';
import { ANSWERED, ASKED, type BatchAnswer, type BatchRequest, type HashWorkerData } from './hash-pool.js';

/** Serves the thread's owner until told to end. */
export function serveHashing(): void {
  const { options, port, counters } = workerData as HashWorkerData;
  const describe = createDescribe(options);
  for (let done = 0; ; done++) {
    awaitCount(counters, ASKED, done);
    const received: { message: BatchRequest } | undefined = receiveMessageOnPort(port);
    if (received?.message === undefined) break;
    const problems: NameProblem[] = [];
    let answer: BatchAnswer;
    try {
      const text = describe(received.message.names.split('\0'), problem => problems.push(problem));
      answer = { text, problems };
    } catch (error) {
      answer = { text: '', problems, error };
    }
    port.postMessage(answer);
    addToCount(counters, ANSWERED);
  }
  port.close();
}
