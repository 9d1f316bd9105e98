/** Words of a page to robots, in its header X-Robots-Tag and in meta elements. */

interface RobotsSaid {
  noindex: boolean;
  nofollow: boolean;
}

/** These have a value after a colon; anything else before a colon is the name of a robot. */
const WITH_VALUE = /^(?:unavailable_after|max-(?:snippet|image-preview|video-preview))$/;

/**
 * @param header X-Robots-Tag, several of them joined by commas
 * @param metas contents of meta elements, in lower case
 * @param robotName ours, in lower case: what is said to others does not count
 */
export function robotsSaid(
  header: string | undefined,
  metas: readonly string[],
  robotName: string,
): RobotsSaid {
  const words = new Set<string>();
  for (const meta of metas) for (const word of meta.split(/[\s,]+/)) words.add(word);
  let isForUs = true;
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [, name, rest] = /^\s*([^\s:]+)\s*:(.*)$/s.exec(part) ?? [];
    if (name === undefined || WITH_VALUE.test(name)) {
      if (isForUs) words.add(part.trim());
      continue;
    }
    isForUs = name === robotName;
    if (isForUs) words.add((rest ?? '').trim());
  }
  const hasNone = words.has('none');
  return { noindex: hasNone || words.has('noindex'), nofollow: hasNone || words.has('nofollow') };
}
