/** `[net]`: plain text and TLS on every listener and connection. */
import { flag, text, type Section } from './rows.js';

export const NET = {
  'net.allow_plain': flag(false, 'listen for plain text (not tls:) on addresses other than loopback'),
  'net.tls_cert': text('', 'PEM certificate chain of tls: listeners; read again on SIGHUP'),
  'net.tls_key': text('', 'PEM private key of tls: listeners'),
  'net.tls_ca': text('', 'PEM certificates trusted by tls: connections instead of the built-in ones'),
} as const satisfies Section<'net'>;
