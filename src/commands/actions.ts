/** Commands that do what their operands say, such as `lccctl pause`. */
import { LccError } from '../lib/errors.js';

/**
 * @param others first words of actions that are not among these
 * @throws LccError `usage` naming all actions there are
 */
export function actionOf<T>(
  actions: Readonly<Record<string, T>>,
  words: string,
  others: readonly string[] = [],
): T {
  const action = Object.hasOwn(actions, words) ? actions[words] : undefined;
  if (action !== undefined) return action;
  throw new LccError(
    'usage',
    `${words === '' ? 'nothing to do' : `"${words}" is no action`}; give one of ${[...Object.keys(actions), ...others].join(', ')}`,
  );
}
