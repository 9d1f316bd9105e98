/** lccmap move: a provider goes to another home while both work, or stays after all. */
import { MAX_SHARD } from '../config/shards.js';
import { EngineMoves, type Move } from '../db/engine/moves.js';
import type { Engine } from '../db/engine/engine.js';
import { LccError } from '../lib/errors.js';
import { numberOf } from './options.js';
import type { CommandContext } from './run.js';

/** @throws LccError `usage`, `try.later` as `EngineMoves` */
export async function move(engine: Engine, context: CommandContext, stop: AbortSignal): Promise<void> {
  const { options } = context;
  const pid = numberOf(options, 'pid', "give the provider's number, 1 or more");
  const to = numberOf(options, 'to', 'give the number of a home, as lccmap list shows it', {
    min: 0,
    max: MAX_SHARD,
  });
  const isCancel = options['cancel'] === true;
  if (pid === undefined || (to === undefined) !== isCancel)
    throw new LccError('usage', 'write lccmap move --pid=PID --to=N, or lccmap move --pid=PID --cancel');
  const moves = new EngineMoves(engine);
  if (to === undefined) {
    const { src } = await moves.cancel(pid, stop);
    context.say(
      `provider ${pid} stays with home ${src}, which goes on with it soon; lccmap list shows it until then`,
    );
    return;
  }
  const { src } = await moves.ask(pid, to, stop);
  context.say(`provider ${pid} moves from home ${src} to home ${to}; lccmap list says how far it has come`);
}

/** Lines of `lccmap list`. */
export async function moveLines(engine: Engine, isJson: boolean, stop: AbortSignal): Promise<string[]> {
  const moves = await new EngineMoves(engine).all(stop);
  return moves.map(isJson ? jsonOf : textOf);
}

const jsonOf = ({ pid, src, dst, stage }: Move) => JSON.stringify({ pid, src, dst, stage });
const textOf = ({ pid, src, dst, stage }: Move) =>
  `provider ${pid} moves from home ${src} to home ${dst}: ${stage}`;
