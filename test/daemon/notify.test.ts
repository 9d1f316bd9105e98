import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';

const daemonFile = fileURLToPath(new URL('../fixtures/echo-daemon.js', import.meta.url));
// Node cannot receive datagrams on Unix sockets either; python3 is there wherever better-sqlite3 was built.
const RECEIVER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True:
    for line in s.recv(4096).decode().split('\\n'):
        if '=' in line: print(line, flush=True)
`;
const missing =
  spawnSync('systemd-notify', ['--version']).error !== undefined && process.env['CI'] !== 'true';

it(
  'tells systemd when it is ready, that it lives, and that it stops',
  { skip: missing && 'no systemd-notify' },
  async () => {
    const home = mkdtempSync(join(tmpdir(), 'lcc-notify-'));
    const path = join(home, 'notify');
    const receiver = spawn('python3', ['-c', RECEIVER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const heard: string[] = [];
    let check = () => {};
    receiver.stdout.setEncoding('utf8').on('data', (text: string) => {
      heard.push(...text.trimEnd().split('\n'));
      check();
    });
    const hear = (wanted: string) =>
      new Promise<void>(resolve => {
        check = () => void (heard.includes(wanted) && resolve());
        check();
      });
    await hear('bound');
    const daemon = spawn(process.execPath, [daemonFile, `unix:${home}/echo.sock`], {
      stdio: 'ignore',
      env: { ...process.env, LCC_HOME: home, NOTIFY_SOCKET: path, WATCHDOG_USEC: '200000' },
    });
    // Its last message goes through another process, and may arrive after its end.
    const exited = once(daemon, 'exit');
    try {
      await hear('READY=1');
      await hear('WATCHDOG=1');
      daemon.kill('SIGTERM');
      await hear('STOPPING=1');
      await exited;
    } finally {
      daemon.kill('SIGKILL');
      receiver.kill('SIGKILL');
      rmSync(home, { recursive: true, force: true });
    }
  },
);
