// lcc.toml as the package installs it: every setting with what it does and its default, as a comment.
import { SETTINGS } from '../../dist/src/config/settings/index.js';

/** What is set most comes first. */
const FIRST = ['net', 'uns', 'bot', 'lccd', 'cu', 'rs', 'clear'];

const HEAD = `# The settings of the LCC of this machine, each with its default: take the # in front of its name away, and change it.
# lcc.toml(5) explains them, and 'lccd --print-config' shows which count. Then: systemctl restart lccd
#
# Amounts may have units, as in "10s", "1.5h", "64KB" and "2GB".
`;

export function settingsFile() {
  const sections = new Map();
  for (const [key, row] of Object.entries(SETTINGS)) {
    const [section, name] = key.split('.');
    const line = `\n# ${row.doc}\n# ${name} = ${JSON.stringify(row.default)}\n`;
    sections.set(section, [...(sections.get(section) ?? []), line]);
  }
  const rank = name => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  const parts = [...sections].sort(([a], [b]) => rank(a) - rank(b));
  return HEAD + parts.map(([section, lines]) => `\n[${section}]\n${lines.join('')}`).join('');
}
