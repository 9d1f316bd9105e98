/** The operator's hand on the Queue Manager: controls of its control socket. */
import type { QueueStore } from '../db/queue/store.js';
import type { Control } from '../daemon/types.js';
import { LccError } from '../lib/errors.js';
import type { Dispatcher } from './dispatch.js';

/** `pause`, `resume`, `flush`, `want-full`, each with an optional pid: without one, all providers. */
export function controlsOf(store: QueueStore, dispatcher: Dispatcher): Record<string, Control> {
  const each =
    (change: (pid: number | undefined) => number): Control =>
    operands => {
      const pid = pidOf(operands);
      const providers = store.transaction(() => change(pid));
      if (pid !== undefined && providers === 0) throw new LccError('usage', `provider ${pid} is unknown`);
      dispatcher.reload();
      return { providers };
    };
  return {
    pause: each(pid => store.providers.setPaused(true, pid)),
    resume: each(pid => store.providers.setPaused(false, pid)),
    'want-full': each(pid => store.providers.wantFullSet('operator', pid)),
    flush: operands => {
      const pid = pidOf(operands);
      if (pid !== undefined && store.providers.get(pid) === undefined)
        throw new LccError('usage', `provider ${pid} is unknown`);
      return { providers: dispatcher.forgetDelays(pid) };
    },
  };
}

function pidOf(operands: readonly string[]): number | undefined {
  const [text, ...more] = operands;
  if (text === undefined) return undefined;
  const pid = Number(text);
  if (!Number.isSafeInteger(pid) || pid <= 0 || more.length > 0)
    throw new LccError('usage', `"${operands.join(' ')}": give one provider's number, or none for all`);
  return pid;
}
