/** Every kind of name a Linux file can have and a careless program stumbles over, as latin1 strings of bytes. */
export const HOSTILE_NAMES: readonly string[] = [
  'double"quote.html',
  "single'quote.html",
  'amp&ersand.html',
  'less<than>.html',
  'not%41escaped.html',
  'half%zz%4.html',
  'hash#mark.html',
  'question?mark=1&x=2.html',
  ' leading and trailing blanks ',
  'new\nline.html',
  '\n',
  'tab\tand\rreturn.html',
  'bell\x07 and escape \x1b[31m.html',
  'invalid\xff\xfe utf-8.html',
  'latin1 caf\xe9.html',
  'utf-8 caf\xc3\xa9 \xe2\x98\x83.html',
  '\xc3',
  '-leading-dash.html',
  '--find',
  '-0',
  '...',
  '.hidden',
  '.htaccess.html',
  'colon:first.html',
  'http:',
  'C:\\back\\slash.html',
  '*?[glob]{a,b}.html',
  '$(command) `tick` ;|&.html',
  '<?lcc end?>.html',
  ']]>-->.html',
  'x'.repeat(250) + '.html',
  '\xe2\x98\x83'.repeat(85),
  '%',
  '~',
  '\x7f\x80\x9f',
  '\xef\xbb\xbfbom.html',
  '\xed\xa0\x80 surrogate',
  '\xef\xbf\xbf nonchar',
  'CON.html',
];

/** The latin1 name that the path of a url stands for. */
export function decodePath(path: string): string {
  return path.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
