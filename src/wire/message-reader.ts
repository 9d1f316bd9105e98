/** Messages of one element each out of bytes: `<fetch id="1" …/>`, `<refused …>text</refused>`. */
import { limitText } from '../config/settings/index.js';
import { LccError } from '../lib/errors.js';
import { XmlReader } from '../lib/xml/reader.js';
import type { Attributes, XmlLimits } from '../lib/xml/types.js';
import { localName } from './xml-prefix.js';

/**
 * Whole messages are passed on when `write` returns; it throws as the XML reader does (`XmlError`, `data.cut`
 * at the end), and LccError `peer.protocol` for messages that nest, `limit` for a text that is too long.
 * @param message called with the name, its prefix `lococa:` removed, the attributes, and the text in it
 */
export function messageReader(
  where: string,
  limits: XmlLimits,
  message: (name: string, attributes: Attributes, text: string) => void,
): XmlReader {
  let open = '';
  let given: Attributes = {};
  let said = '';
  return new XmlReader(
    {
      open(name, attributes, empty) {
        const local = localName(name, attributes);
        if (open !== '')
          throw new LccError('peer.protocol', `${where}: <${local}> inside <${open}>: messages do not nest`);
        if (empty) return message(local, attributes, '');
        open = local;
        given = attributes;
        said = '';
      },
      text(text) {
        said += text;
        if (said.length <= limits.maxTokenBytes) return;
        const limit = limitText('xml.token_bytes', limits.maxTokenBytes);
        throw new LccError('limit', `${where}: the text of <${open}> is longer than ${limit}`);
      },
      close() {
        const name = open;
        open = '';
        message(name, given, said);
      },
    },
    limits,
    { where },
  );
}

/** The error in a message `<error code="…">text</error>`, the last of its sender. */
export function errorSaid(where: string, { code = '' }: Attributes, text: string): LccError {
  return code === '107'
    ? new LccError('config', text.trim())
    : new LccError('peer.rejected', `${where}: ${code} ${text.trim()}`);
}
