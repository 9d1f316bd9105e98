/** Parts of a script in the states of HTML that hide its end tag (13.2.5.15 to 13.2.5.31). */
const MARK = /<!--|-->|<(\/?)script(?=[\t\n\f\r />])/gi;

/**
 * Where the end tag of a script begins that an earlier one does not end, for it stands in a comment of the
 * script, after the beginning of a script in it; undefined where the first one ends it.
 * @param from after its start tag
 */
export function hiddenScriptEnd(document: string, from: number): number | undefined {
  let isComment = false;
  let isNested = false;
  let isHidden = false;
  MARK.lastIndex = from;
  for (let found = MARK.exec(document); found !== null; found = MARK.exec(document)) {
    if (found[0] === '-->') isComment = isNested = false;
    else if (found[0] === '<!--') {
      isComment = true;
      // The dashes may be those of the end.
      MARK.lastIndex -= 2;
    } else if (found[1] === '') isNested ||= isComment;
    else if (!isNested) return isHidden ? found.index : undefined;
    else {
      isNested = false;
      isHidden = true;
    }
  }
  return isHidden ? document.length : undefined;
}
