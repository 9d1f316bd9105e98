/** From one machine to three, by the commands of lcc-cluster(7) as they are printed, with the files of examples/cluster. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { noMachines, Network, type Machine } from '../machines/support/network.js';
import { certify } from '../support/certify.js';
import { noGalera } from '../support/engine.js';
import { binDir, shell } from '../support/shell.js';
import { readProjectFile, ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

/** In the place of what a system has: packages, systemd, and the socket of its one MariaDB. */
const SYSTEM = `
apt-get() { :; }
mariadb() { command mariadb --socket="$M/sock" "$@"; }
engine() {
  setpriv --reuid=mysql --regid=mysql --clear-groups mariadbd --defaults-file="$M/etc/mysql/mariadb.conf.d/99-lcc.cnf" \\
    --datadir="$M/data" --socket="$M/sock" --pid-file="$M/pid" --log-error="$M/log" --innodb-log-file-size=32M "$@" </dev/null >/dev/null 2>&1 &
  until mariadb -e 'select 1' >/dev/null 2>&1; do kill -0 $!; done
}
galera_new_cluster() { engine --wsrep-new-cluster; }
systemctl() {
  case "$*" in
    'stop mariadb') ;;
    'start mariadb') engine ;;
    'restart lccd' | 'enable --now lccd') lccd </dev/null >/dev/null 2>"$M/lccd.log" & ;;
    *) return 64 ;;
  esac
}
`;

describe('lcc-cluster(7)', { skip: noMachines || noGalera }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-guide-'));
  chmodSync(dir, 0o755);
  const network = new Network();
  after(() => {
    network.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  const machines = ['h1', 'h2', 'h3'].map(name => network.machine(name));
  const place = ({ name }: Machine) => join(dir, name);

  /** Text of the project with the names and folders of this test in place of its own. */
  const here = (text: string, machine: Machine) =>
    machines
      .reduce((told, { name, address }) => told.replaceAll(`${name}.example.org`, address), text)
      .replaceAll('/etc/', `${place(machine)}/etc/`)
      .replaceAll('/usr/local/share/doc/lcc', ROOT);

  /** What is printed with an indent in the manual, block by block. */
  const blocks = [...readProjectFile('man/lcc-cluster.7').matchAll(/^\.Bd -literal.*\n([^]*?)^\.Ed/gm)].map(
    ([, text = '']) => text.replaceAll('\\(dq', '"'),
  );

  const run = async (machine: Machine, lines: string): Promise<string> => {
    const script = join(place(machine), 'script');
    writeFileSync(script, `set -e\n${SYSTEM}\n${here(lines, machine)}`);
    const env = { ...process.env, M: place(machine), LCC_HOME: join(place(machine), 'home') };
    const config = join(place(machine), 'etc/lcc/lcc.toml');
    const { status, stdout, stderr } = await shell(
      `${machine.via.join(' ')} bash ${script}`,
      { ...env, LCC_CONFIG: config, PATH: `${binDir}:${process.env['PATH']}:/usr/sbin` },
      place(machine),
    );
    assert.equal(status, 0, `${lines}\n${stderr}`);
    return stdout;
  };

  it('leads from one machine to three, of which one takes over', async () => {
    const [first, ...others] = machines as [Machine, ...Machine[]];
    const files = certify(
      dir,
      machines.map(({ address }) => address),
    );
    for (const machine of machines) {
      for (const folder of ['etc/mysql/mariadb.conf.d', 'etc/lcc', 'home', 'data'])
        mkdirSync(join(place(machine), folder), { recursive: true });
      ['machine.pem', 'machine.key', 'machines.pem'].forEach((name, i) => {
        copyFileSync(files[i] ?? '', join(place(machine), 'etc/lcc', name));
        copyFileSync(files[i] ?? '', join(place(machine), 'etc/mysql', name));
      });
      for (const [name, password] of [
        ['engine.password', 'rows of the engine'],
        ['engine.admin', 'tables of the engine'],
      ] as const)
        writeFileSync(join(place(machine), 'etc/lcc', name), `${password}\n`, { mode: 0o600 });
      await run(machine, 'chown -R mysql:mysql $M');
      const make = '--user=mysql --datadir=$M/data --auth-root-authentication-method=normal --skip-test-db';
      if (machine === first)
        await run(machine, `mariadb-install-db --no-defaults ${make} --innodb-log-file-size=32M`);
    }
    const [install = '', begin = '', goOn = '', toml = '', init = '', start = ''] = blocks;
    for (const machine of machines) {
      await run(machine, install);
      const cnf = join(place(machine), 'etc/mysql/mariadb.conf.d/99-lcc.cnf');
      const named = readFileSync(cnf, 'utf8').replace(
        /(wsrep_node_(?:name|address) = )h1/g,
        `$1${machine.name}`,
      );
      writeFileSync(cnf, here(named, machine));
      await run(machine, machine === first ? `cd ${ROOT}/examples/cluster\n${begin}` : goOn);
    }
    // The LCC that there is.
    writeFileSync(join(place(first), 'etc/lcc/lcc.toml'), '');
    await run(first, 'lccpidb add --pid=1 --root=http://www.example.org/');
    for (const machine of machines) {
      const own = toml
        .replace('machine = "h1', `machine = "${machine.name}`)
        .replace('machine_id = "h1"', `machine_id = "${machine.name}"`)
        .replace('@h1.example.org', `@${machine.name}.example.org`)
        .replace(
          machine === first ? '' : `,${machine.name}.example.org`,
          machine === first ? '' : ',h1.example.org',
        );
      writeFileSync(join(place(machine), 'etc/lcc/lcc.toml'), here(own, machine));
    }
    await run(first, init.replace('lcckeep status', 'lcckeep status || true'));
    for (const machine of others)
      await run(machine, start.replace('lcckeep status', 'lcckeep status || true'));
    const shows = (machine: Machine, wanted: RegExp) =>
      until(`lcckeep status shows ${String(wanted)}`, async () => {
        const shown = await run(machine, 'lcckeep status || true');
        return wanted.test(shown) && shown;
      });
    await shows(first, new RegExp(`owner: ${first.address}`));
    for (const { address } of others) await shows(first, new RegExp(`standby: ${address}, has all`));
    first.kill();
    const [second, third] = others as [Machine, Machine];
    const status = await shows(second, new RegExp(`owner: (?:${second.address}|${third.address}),`));
    const owner = status.includes(`owner: ${second.address}`) ? second : third;
    assert.equal(await run(owner, 'lcckeep verify'), 'lcc: as the engine has it\n');
  });
});
