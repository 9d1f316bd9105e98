/** Pings of weblogs by XML-RPC: `weblogUpdates.ping` and `extendedPing`, as every WordPress sends them. */
import { LccError } from '../../lib/errors.js';
import { XmlReader } from '../../lib/xml/reader.js';

const LIMITS = { maxTokenBytes: 16 * 1024, maxDepth: 8, maxAttributes: 4, maxNameBytes: 64 };
const METHODS: readonly string[] = ['weblogUpdates.ping', 'weblogUpdates.extendedPing'];
const METHOD = 'methodCall/methodName';
const PARAM = 'methodCall/params/param/value';

/**
 * Addresses that a ping names: home, the page to look at, the feed; the first parameter is the site's name.
 * @throws LccError `data.malformed`, `data.cut`, `limit`: it is no such call; where, with line and column
 */
export function readWeblogPing(body: Uint8Array): string[] {
  const open: string[] = [];
  const params: string[] = [];
  let method = '';
  const at = () => open.join('/');
  const reader = new XmlReader(
    {
      open(name, _attributes, isEmpty) {
        open.push(name);
        if (at() === PARAM) params.push('');
        if (isEmpty) open.pop();
      },
      close: () => void open.pop(),
      text(piece) {
        const place = at();
        if (place === METHOD) method += piece;
        else if (place === PARAM || place === `${PARAM}/string`) params.push((params.pop() ?? '') + piece);
      },
    },
    LIMITS,
    { where: 'ping' },
  );
  reader.write(body);
  reader.end();
  if (!METHODS.includes(method.trim()))
    throw new LccError('data.malformed', `ping: the method is none of ${METHODS.join(', ')}`);
  return params
    .slice(1)
    .map(param => param.trim())
    .filter(param => param !== '');
}

/** @param isWrong the ping has no effect */
export function weblogAnswer(isWrong: boolean, message: string): string {
  const member = (name: string, value: string) =>
    `<member><name>${name}</name><value>${value}</value></member>`;
  return `<?xml version="1.0"?>
<methodResponse><params><param><value><struct>
${member('flerror', `<boolean>${isWrong ? 1 : 0}</boolean>`)}
${member('message', `<string>${message}</string>`)}
</struct></value></param></params></methodResponse>
`;
}
