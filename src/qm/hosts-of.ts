/** Host of an absolute http or https URL, however it is written: `HTTP://www.Example.org:80/x` and
 * `http://www.example.org/` have one. */
export function hostOf(url: string): string {
  const end = url.indexOf('/', url.indexOf('://') + 3);
  const text = (end < 0 ? url : url.slice(0, end)).toLowerCase();
  return URL.canParse(text) ? new URL(text).origin : text;
}
