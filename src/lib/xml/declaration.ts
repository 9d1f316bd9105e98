/** The XML declaration, which may stand in front of every top-level element. */
import { encodingNamed, type XmlEncoding } from './decode.js';

/** Longer ones are malformed: a declaration that never ends must not be waited for. */
export const DECLARATION_MAX_CHARACTERS = 256;

const DECLARATION =
  /^<\?xml\s+version\s*=\s*(?:"1\.\d+"|'1\.\d+')(?:\s+encoding\s*=\s*(?:"([\w.-]+)"|'([\w.-]+)'))?(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*\?>$/;

/** The fault of a complete declaration, or the encoding it names (undefined: none). */
export function readDeclaration(
  declaration: string,
): { wrong: string } | { encoding: XmlEncoding | undefined } {
  const match = DECLARATION.exec(declaration);
  if (match === null) return { wrong: 'malformed XML declaration' };
  const name = match[1] ?? match[2];
  if (name === undefined) return { encoding: undefined };
  const encoding = encodingNamed(name);
  if (encoding === undefined) return { wrong: `encoding ${name} is not known here; use UTF-8` };
  return { encoding };
}
