/** `[net]`: plain text and TLS on every listener and connection, and by what machines of an LCC know each
 * other. */
import { flag, text, type Section } from './rows.js';

export const NET = {
  'net.allow_plain': flag(false, 'listen for plain text (not tls:) on addresses other than loopback'),
  'net.tls_cert': text('', 'PEM certificate chain of tls: listeners; read again on SIGHUP'),
  'net.tls_key': text('', 'PEM private key of tls: listeners'),
  'net.tls_ca': text('', 'PEM certificates trusted by tls: connections instead of the built-in ones'),
  'net.peer_ca': text(
    '',
    'PEM certificates of the authority of the machines of this LCC: they show one of it',
  ),
  'net.peer_cert': text('', 'PEM certificate chain that this machine shows to others; default: net.tls_cert'),
  'net.peer_key': text('', 'PEM private key of that; default: net.tls_key'),
  'net.allow_strangers': flag(false, 'listen for machines beyond loopback without asking who they are'),
} as const satisfies Section<'net'>;
