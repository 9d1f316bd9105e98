// Completions for bash, zsh and fish, made of the commands' own tables of options: dist/completions, written by the build. A shell
// completes what commander takes, so no list of options is kept by hand. Data alone differs from command to command; what a shell does
// with it stands once.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Options that every command has besides those of its table. */
const COMMON = [
  { flags: '-h, --help', help: 'print this help' },
  { flags: '--version', help: 'print the version' },
];

/**
 * An option as shells need it.
 * @typedef {{
 *   short: string | undefined,   a letter or digit
 *   long: string,                without dashes
 *   argument: 'none' | 'required' | 'optional',
 *   kind: 'file' | 'folder' | 'words' | 'text',   of the argument
 *   words: string[],
 *   placeholder: string,
 *   help: string,
 *   repeat: boolean
 * }} ShellOption
 */

/** @returns {ShellOption} */
function optionOf(row, settings) {
  const [, short, long = '', open, placeholder = ''] =
    /^(?:-(\w), )?--([\w-]+)(?: ([<[])(.+)[>\]])?$/.exec(row.flags) ?? [];
  if (long === '') throw new Error(`completions: an option of another form: ${row.flags}`);
  // `<YES-OR-NO>` says itself which words there are.
  const named = /^[A-Z]+-OR-[A-Z]+$/.test(placeholder) ? placeholder.toLowerCase().split('-or-') : [];
  const words = (row.choices ?? settings[row.sets]?.oneOf ?? named).map(String);
  return {
    short,
    long,
    argument: open === '<' ? 'required' : open === '[' ? 'optional' : 'none',
    kind:
      words.length > 0
        ? 'words'
        : (/^(?:FILE|DIR|FOLDER)$/.test(placeholder) && (placeholder === 'FILE' ? 'file' : 'folder')) ||
          'text',
    words,
    placeholder,
    help: row.help,
    repeat: row.repeat === true,
  };
}

/**
 * First words of actions, each with those that may follow it: `root add`, `root rm`, `list` are `{ root: ['add', 'rm'], list: [] }`.
 * @returns {Record<string, string[]>} empty where operands are names
 */
function byFirstWord(actions) {
  const seconds = {};
  for (const [first, second] of actions.map(action => action.split(' ')))
    (seconds[first] ??= []).push(...(second === undefined ? [] : [second]));
  return seconds;
}

/** A command as shells need it. @param spec of src/commands/NAME.ts, with its actions */
function shellCommand(spec, commonOptions, settings) {
  const rows = [...spec.options, ...commonOptions, ...COMMON];
  const operands = spec.operands ?? '';
  return {
    name: spec.name,
    summary: spec.summary,
    options: rows.map(row => optionOf(row, settings)),
    actions: byFirstWord(spec.actions),
    /** What operands are. */
    operands: /FILE|NAME\.\.\.\]$/.test(operands) && !/^[a-z]/.test(operands) ? 'files' : 'none',
    /** What follows `--`. */
    afterDashes: operands.includes('-- CMD') ? 'command' : operands.includes('-- ') ? 'files' : 'none',
    /** The option after which everything belongs to another program. */
    takesRest: spec.takesRest,
  };
}

/** All commands, as package.json has them, from what the compiler has made of them. */
export async function shellCommands(root) {
  const load = path => import(pathToFileURL(join(root, 'dist/src', path)).href);
  const { actionsOf, COMMON_OPTIONS, helpOf } = await load('commands/common-options.js');
  const { SETTINGS } = await load('config/settings/index.js');
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const specs = await Promise.all(Object.keys(bin).map(name => load(`commands/${name}.js`)));
  return specs.map(({ command }) => {
    const options = command.options.map(row => ({ ...row, help: helpOf(row) }));
    const actions = actionsOf(command.operands);
    return shellCommand({ ...command, options, actions }, COMMON_OPTIONS, SETTINGS);
  });
}

const quoted = text => `'${text.replaceAll("'", `'\\''`)}'`;
const flagsOf = ({ short, long }) => [`--${long}`, ...(short === undefined ? [] : [`-${short}`])];
const isWith = argument => option => option.argument === argument;

/** One file for all: bash loads it by the name of the command, which is a link. @param site names of the commands of lcc-cp */
export function bashOf(commands, site) {
  const cases = commands.map(({ name, options, actions, operands, afterDashes, takesRest }) => {
    const switches = options.filter(isWith('none')).flatMap(flagsOf);
    const valued = options.filter(option => option.argument !== 'none');
    // A short option takes its value as a word of its own.
    const flags = valued.flatMap(option => [
      `--${option.long}=`,
      ...(option.short ? [`-${option.short}`] : []),
    ]);
    const taking = options.filter(isWith('required')).flatMap(flagsOf);
    const values = valued
      .filter(({ kind }) => kind !== 'text')
      .map(option => {
        const does = {
          file: '_lcc_files -f',
          folder: '_lcc_files -d',
          words: `_lcc_words ${quoted(option.words.join(' '))}`,
        };
        return `        ${flagsOf(option).join('|')}) ${does[option.kind]} ;;\n`;
      });
    const seconds = Object.entries(actions).filter(([, words]) => words.length > 0);
    return `    ${name})
      _lcc_flags=${quoted([...switches, ...flags].join(' '))}
      _lcc_taking=${quoted(` ${taking.join(' ')} `)}
      _lcc_actions=${quoted(Object.keys(actions).join(' '))}
      _lcc_rest='${afterDashes} ${takesRest === undefined ? '' : `--${takesRest}`}' _lcc_operands=${operands}
      case $2 in
${values.join('')}      esac
      case $3 in
${seconds.map(([first, words]) => `        ${first}) _lcc_seconds=${quoted(words.join(' '))} ;;\n`).join('')}      esac
      ;;\n`;
  });
  return `# Completion for the commands of LCC in bash, made by its build of their tables of options.
# What is known of a command ($1): its flags, the words and files of an option ($2), what may follow its first operand ($3).
_lcc_table() {
  _lcc_flags= _lcc_taking=' ' _lcc_actions= _lcc_seconds= _lcc_rest='none ' _lcc_operands=none
  case $1 in
${cases.join('')}  esac
}
_lcc_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
_lcc_files() { compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen "$1" -- "$cur")); }
_lcc() {
  local cur=\${COMP_WORDS[COMP_CWORD]} name=\${1##*/} first=1 i word option= operands=() after= skip=
  local _lcc_flags _lcc_taking _lcc_actions _lcc_seconds _lcc_rest _lcc_operands
  COMPREPLY=()
  if [[ $name == lcc-cp ]]; then
    if ((COMP_CWORD == 1)); then _lcc_words ${quoted(`${site.join(' ')} --help --version`)}; return; fi
    name=\${COMP_WORDS[1]} first=2
  fi
  _lcc_table "$name" '' ''
  # The words before the one that is completed; bash takes --option=http://value apart at = and colons.
  for ((i = first; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $after ]]; then continue
    elif [[ $word == [=:] ]]; then skip=1
    elif [[ -n $skip ]]; then skip=
    elif [[ $word == -- || -n $word && $word == "\${_lcc_rest#* }" ]]; then after=$i
    elif [[ $word == -?* ]]; then if [[ $_lcc_taking == *" $word "* && \${COMP_WORDS[i + 1]} != = ]]; then skip=1; fi
    else operands+=("$word"); fi
  done
  if [[ -n $after ]]; then
    if [[ $_lcc_rest == 'command '* && $after == $((COMP_CWORD - 1)) ]]; then COMPREPLY=($(compgen -c -- "$cur"))
    elif [[ $_lcc_rest != 'none ' ]]; then _lcc_files -f; fi
    return
  fi
  if [[ $cur == = ]]; then option=\${COMP_WORDS[COMP_CWORD - 1]} cur=
  elif [[ \${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then option=\${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $_lcc_taking == *" \${COMP_WORDS[COMP_CWORD - 1]} "* ]]; then option=\${COMP_WORDS[COMP_CWORD - 1]}; fi
  if [[ -n $option ]]; then _lcc_table "$name" "$option" ''
  elif [[ $cur == -* ]]; then
    _lcc_words "$_lcc_flags"
    if [[ \${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]]; then compopt -o nospace 2>/dev/null; fi
  elif ((\${#operands[@]} == 0)) && [[ -n $_lcc_actions ]]; then _lcc_words "$_lcc_actions"
  elif ((\${#operands[@]} == 1)); then
    _lcc_table "$name" '' "\${operands[0]}"
    if [[ -n $_lcc_seconds ]]; then _lcc_words "$_lcc_seconds"; elif [[ $_lcc_operands == files ]]; then _lcc_files -f; fi
  elif [[ $_lcc_operands == files ]]; then _lcc_files -f; fi
  return 0
}
complete -F _lcc ${[...commands.map(({ name }) => name), 'lcc-cp'].join(' ')}
`;
}

/** One file, `_lcc`, in a folder of fpath. */
export function zshOf(commands, site) {
  const bare = text => text.replace(/[\\[\]:]/g, '\\$&');
  const valueOf = ({ kind, words, placeholder }) => {
    const action = { file: '_files', folder: '_files -/', words: `(${words.join(' ')})`, text: '' }[kind];
    return `:${bare(placeholder)}:${action}`;
  };
  const cases = commands.map(({ name, options, actions, operands, afterDashes, takesRest }) => {
    const rows = options.flatMap(option => {
      const { short, long, argument, repeat, help } = option;
      const end =
        argument === 'none' ? '' : argument === 'required' ? valueOf(option) : `:${valueOf(option)}`;
      const each = (flag, sign) =>
        quoted(
          `${repeat ? '*' : short === undefined ? '' : `(-${short} --${long})`}${flag}${sign}[${bare(help)}]${end}`,
        );
      const sign = { none: '', required: '=', optional: '=-' }[argument];
      return [
        each(`--${long}`, sign),
        ...(short === undefined ? [] : [each(`-${short}`, argument === 'none' ? '' : '+')]),
      ];
    });
    const firsts = Object.keys(actions);
    const ends = [];
    if (firsts.length > 0) ends.push(`'1:action:(${firsts.join(' ')})'`, `'2:: :_lcc_second'`);
    else if (afterDashes === 'command') ends.push(`'*::program:_lcc_program'`);
    else if (operands === 'files' || afterDashes === 'files' || takesRest !== undefined)
      ends.push(`'*:name:_files'`);
    const seconds = Object.entries(actions)
      .filter(([, words]) => words.length > 0)
      .map(([first, words]) => `${first}) second=(${words.join(' ')}) ;;`);
    return `    ${name})
      ${seconds.length === 0 ? '' : `case \${\${words[2,-1]:#-*}[1]} in ${seconds.join(' ')} esac\n      `}_arguments -s : \\
        ${[...rows, ...ends].join(' \\\n        ')} ;;\n`;
  });
  return `#compdef ${[...commands.map(({ name }) => name), 'lcc-cp'].join(' ')}
# Completion for the commands of LCC in zsh, made by its build of their tables of options.
_lcc_second() { (( \${#second} )) && compadd -- $second }
_lcc_program() { _normal }
_lcc() {
  local -a second
  local service=$service
  if [[ $service == lcc-cp ]]; then
    if (( CURRENT == 2 )); then compadd -- ${site.join(' ')} --help --version; return; fi
    shift words; (( CURRENT-- )); service=$words[1]
  fi
  case $service in
${cases.join('')}  esac
}
_lcc "$@"
`;
}

/** A file for each command, by its name. */
export function fishOf(
  { name, options, actions, operands, afterDashes, takesRest },
  { as = name, when = '' } = {},
) {
  const start = (condition = '') => {
    const all = [when, condition].filter(part => part !== '').join('; and ');
    return `complete -c ${as}${all === '' ? '' : ` -n ${fishQuoted(all)}`}`;
  };
  const files = operands === 'files' || afterDashes !== 'none' || takesRest !== undefined;
  const lines = files ? [] : [`${start()} -f`];
  for (const { short, long, argument, kind, words, help } of options) {
    const value = {
      file: '-F',
      folder: "-x -a '(__fish_complete_directories)'",
      words: `-x -a ${fishQuoted(words.join(' '))}`,
      text: '-f',
    }[kind];
    const takes = {
      none: '',
      required: ` -r ${value}`,
      optional: kind === 'text' ? '' : ` ${value.replace('-x', '-f')}`,
    }[argument];
    lines.push(
      `${start()} -l ${long}${short === undefined ? '' : ` -s ${short}`}${takes} -d ${fishQuoted(help)}`,
    );
  }
  const firsts = Object.keys(actions);
  if (firsts.length > 0)
    lines.push(
      `${start(`not __fish_seen_subcommand_from ${firsts.join(' ')}`)} -f -a ${fishQuoted(firsts.join(' '))}`,
    );
  for (const [first, words] of Object.entries(actions))
    if (words.length > 0)
      lines.push(
        `${start(`__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${words.join(' ')}`)} -f -a ${fishQuoted(words.join(' '))}`,
      );
  return `${lines.join('\n')}\n`;
}

const fishQuoted = text => `'${text.replace(/[\\']/g, '\\$&')}'`;

/** The files of fish by the names of their commands. @param site names of those that lcc-cp has */
export function fishFiles(commands, site) {
  const head = '# Completion for a command of LCC in fish, made by its build of its table of options.\n';
  const isFirst = fishQuoted('test (count (commandline -opc)) -eq 1');
  const ofSite = commands.filter(({ name }) => site.includes(name));
  const all = [
    `complete -c lcc-cp -n ${isFirst} -f -a ${fishQuoted(site.join(' '))}`,
    ...COMMON.map(({ flags, help }) => {
      const { long } = optionOf({ flags, help }, {});
      return `complete -c lcc-cp -n ${isFirst} -l ${long} -d ${fishQuoted(help)}`;
    }),
  ];
  const rest = ofSite.map(command =>
    fishOf(command, { as: 'lcc-cp', when: `__fish_seen_subcommand_from ${command.name}` }),
  );
  return [
    ...commands.map(command => [command.name, head + fishOf(command)]),
    ['lcc-cp', `${head}${all.join('\n')}\n${rest.join('')}`],
  ];
}

/**
 * Writes bash/lcc, zsh/_lcc and fish/NAME.fish.
 * @param commands as `shellCommand` has them @param site names of those that lcc-cp has
 */
export function writeCompletions(folder, commands, site) {
  rmSync(folder, { recursive: true, force: true });
  for (const shell of ['bash', 'zsh', 'fish']) mkdirSync(join(folder, shell), { recursive: true });
  writeFileSync(join(folder, 'bash/lcc'), bashOf(commands, site));
  writeFileSync(join(folder, 'zsh/_lcc'), zshOf(commands, site));
  for (const [name, text] of fishFiles(commands, site))
    writeFileSync(join(folder, `fish/${name}.fish`), text);
}
