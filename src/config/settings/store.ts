/** `[store]`: the engine that has the databases before anything is acknowledged; none by default. */
import { flag, text, type Section } from './rows.js';

export const STORE = {
  'store.url': text(
    '',
    'mariadb://USER@HOST[:PORT][,…]/DATABASE, nodes of the engine, the own first; empty: SQLite alone',
  ),
  'store.password_file': text('', 'file of the password of that user; nobody else may read it'),
  'store.tls_ca': text('', "PEM certificates by which the engine's nodes are known"),
  'store.plain': flag(false, 'speak to engines beyond loopback without TLS'),
} as const satisfies Section<'store'>;
