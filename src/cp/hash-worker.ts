/** The thread behind HashPool: describes batches of names. */
import { serveThread } from '../lib/thread.js';
import { createDescribe, type DescribeOptions, type NameProblem } from './describe.js';
import type { BatchAnswer } from './hash-pool.js';

/** Serves the thread's owner until told to end. */
export function serveHashing(): void {
  serveThread((options: DescribeOptions) => {
    const describe = createDescribe(options);
    return (names: string): BatchAnswer => {
      const problems: NameProblem[] = [];
      return { text: describe(names.split('\0'), problem => problems.push(problem)), problems };
    };
  });
}
