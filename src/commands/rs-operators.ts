/** `lccrs operator`: who may use the operators' pages. */
import { existsSync } from 'node:fs';
import type { Config } from '../config/load.js';
import { RsDatabase } from '../db/rs/database.js';
import { makeDirectoryDurably, writeFileDurably } from '../lib/durable.js';
import { LccError, reasonOf } from '../lib/errors.js';
import type { AccountFile } from '../lib/account-file.js';
import { operatorsOf } from '../rs/operator/operators.js';
import { rsOptions } from '../rs/options.js';
import { actionOf } from './actions.js';
import { textOf } from './options.js';
import type { CommandContext } from './run.js';

const RS_DIR_MODE = 0o750;
const SECRET_MODE = 0o600;

type Action = (operators: AccountFile, name: string, context: CommandContext) => void;

const ACTIONS: Record<string, { event?: string; action: Action }> = {
  'operator add': { event: 'operator added', action: add },
  'operator rm': { event: 'operator removed', action: (operators, name) => operators.remove(name) },
  'operator list': {
    action: (operators, _name, context) =>
      context.print(
        operators
          .names()
          .map(each => `${each}\n`)
          .join(''),
      ),
  },
};

/** @throws LccError `usage`, `output.create`, and as AccountFile */
export function changeOperators(context: CommandContext, config: Config): void {
  const [, verb = '', name = '', ...more] = context.operands;
  const { event, action } = actionOf(ACTIONS, `operator ${verb}`);
  if ((event === undefined) !== (name === '') || more.length > 0)
    throw new LccError('usage', `write lccrs operator ${verb}${event === undefined ? '' : ' NAME'}`);
  makeDirectoryDurably(config.home.rs, RS_DIR_MODE);
  action(operatorsOf(config.home), name, context);
  const { path } = rsOptions(config);
  if (event === undefined || !existsSync(path)) return;
  const db = RsDatabase.open(path);
  try {
    const row = { event, registration: null, pid: null, by: 'operator', detail: name } as const;
    db.write(() => db.audit.add(row, context.clock.nowMs()));
  } finally {
    db.close();
  }
}

function add(operators: AccountFile, name: string, context: CommandContext): void {
  const file = textOf(context.options, 'pwdfile');
  if (file !== undefined && existsSync(file))
    throw new LccError('output.create', `${file}: exists; give another name`);
  const password = operators.add(name);
  if (file === undefined) return context.print(`${password}\n`);
  try {
    writeFileDurably(file, `${password}\n`, SECRET_MODE);
  } catch (error) {
    throw new LccError('output.create', `${file}: ${reasonOf(error)}; say it again for another password`);
  }
}
