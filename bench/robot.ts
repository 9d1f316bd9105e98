/**
 * The robot against other downloaders: a list of urls into one file each, 64 at a time, from nginx on this machine, in plain
 * text and over TLS; and its memory over many times as many fetches. All write into the folders of a store: that many
 * files in one folder would measure how long ext4 looks for a name in it.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { folderOf } from '../src/db/names/naming.js';
import { compare, removeAtEnd, requireProgram, timeShell, type Contender, type Outcome } from './harness.js';
import { startNginx } from './nginx.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const PORT = 28_471;
const TLS_PORT = 28_472;
const AT_A_TIME = 64;
const NEWLINE = 0x0a;

export async function bench(): Promise<Outcome[]> {
  requireProgram('nginx', 'nginx-light');
  requireProgram('curl', 'curl');
  requireProgram('wget2', 'wget2');
  requireProgram('aria2c', 'aria2');
  requireProgram('scrapy', 'python3-scrapy');
  requireProgram('openssl', 'openssl');
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-robot-'));
  const nginx = await startSite(dir);
  try {
    const small = prepare(dir, 'small', 20_000, 4096);
    const large = prepare(dir, 'large', 2000, 100 * 1024);
    return [
      await compare({
        work: 'robot: 20,000 pages of 4 KiB into files, with md5 (the peers: without)',
        amount: small.count,
        unit: 'pages',
        ours: lccbot(small),
        peers: [
          { contender: curl(small), atLeast: 0.9 },
          { contender: wget2(small), atLeast: 1.2 },
          { contender: aria2(small), atLeast: 1.1 },
        ],
        rounds: 3,
      }),
      await compare({
        work: 'robot: the same against Scrapy',
        amount: small.count,
        unit: 'pages',
        ours: lccbot(small),
        peers: [{ contender: scrapy(small), atLeast: 15 }],
        rounds: 1,
      }),
      await compare({
        work: 'robot: 2,000 files of 100 KiB, with md5',
        amount: large.count,
        unit: 'files',
        ours: lccbot(large),
        peers: [{ contender: curlAndMd5sum(large), atLeast: 0.65 }, { contender: curl(large) }],
        rounds: 5,
      }),
      await beside(
        'robot: 20,000 pages of 4 KiB over TLS, with md5 (the peer: without)',
        overTls(small, TLS_PORT),
      ),
      await memory(small),
    ];
  } finally {
    nginx.kill();
    removeAtEnd(dir);
  }
}

/** The robot beside curl, which only shows where it is. */
function beside(title: string, work: Work): Promise<Outcome> {
  return compare({
    work: title,
    amount: work.count,
    unit: 'pages',
    ours: lccbot(work),
    peers: [{ contender: curl(work) }],
    rounds: 3,
  });
}

interface Work {
  count: number;
  /** File of the certificate that the site's is signed with. */
  ca: string;
  /** One url a line. */
  list: string;
  urls: string[];
  names: string[];
  /** A new folder; nothing is deleted before the end, deleting slows down the creating that follows. */
  newOutput(): string;
  dir: string;
}

function prepare(dir: string, name: string, count: number, bytes: number): Work {
  const docroot = join(dir, 'www', name);
  mkdirSync(docroot, { recursive: true });
  const names = Array.from({ length: count }, (_, i) => `${folderOf(i)}/${String(i).padStart(6, '0')}.html`);
  makeFolders(docroot, names);
  for (const file of names) writeFileSync(join(docroot, file), pseudoText(file, bytes));
  const urls = names.map(file => `http://127.0.0.1:${PORT}/${name}/${file}`);
  const list = join(dir, `${name}.urls`);
  writeFileSync(list, `${urls.join('\n')}\n`);
  let outputs = 0;
  const newOutput = () => {
    const output = join(dir, `${name}-out-${++outputs}`);
    makeFolders(output, names);
    return output;
  };
  return { count, ca: join(dir, 'ca.pem'), list, urls, names, newOutput, dir };
}

function makeFolders(dir: string, names: string[]): void {
  for (const folder of new Set(names.map(name => dirname(name))))
    mkdirSync(join(dir, folder), { recursive: true });
}

function overTls(work: Work, port: number): Work {
  const urls = work.urls.map(url => url.replace(`http://127.0.0.1:${PORT}`, `https://localhost:${port}`));
  return { ...work, urls };
}

/** Whether a robot that goes on fetching needs ever more memory: its peak half-way, and at the end. */
async function memory(work: Work): Promise<Outcome> {
  const [halfway = NaN, end = NaN] = await peaksBytes(work, 10, 2);
  const megabytes = (bytes: number) => bytes / 1024 / 1024;
  const fetches = (count: number) => count.toLocaleString('en-US');
  return {
    work: `robot: memory over ${fetches(10 * work.count)} fetches`,
    unit: 'pages',
    rounds: 1,
    lines: [],
    bounds: [
      {
        what: `peak beyond that of the first ${fetches(5 * work.count)} (${megabytes(halfway).toFixed(0)} MB)`,
        value: megabytes(end - halfway),
        atMost: 24,
        unit: 'MB',
      },
    ],
  };
}

/** The largest resident set of one robot, that fetches the work `times` times, at the end of each of `parts` parts of that. */
async function peaksBytes(work: Work, times: number, parts: number): Promise<number[]> {
  const output = work.newOutput();
  const input = join(work.dir, 'memory.input');
  const round = robotRequests(work, output);
  writeFileSync(input, '');
  for (let n = 0; n < times; n++) appendFileSync(input, round);
  const file = openSync(input, 'r');
  const robot = spawn(join(root, 'bin/lccbot'), robotArguments, {
    env: robotEnvironment(work),
    stdio: [file, 'pipe', 'inherit'],
  });
  closeSync(file);
  const all = times * work.count;
  const peaks: number[] = [];
  let results = 0;
  for await (const chunk of robot.stdout ?? []) {
    for (const byte of chunk as Buffer) if (byte === NEWLINE) results++;
    // The last results come just before it ends.
    if (results >= ((all - AT_A_TIME) * (peaks.length + 1)) / parts && peaks.length < parts)
      peaks.push(peakOf(robot.pid ?? 0));
  }
  if (results < all) throw new Error(`lccbot: ${results} results instead of ${all}`);
  return peaks;
}

function peakOf(pid: number): number {
  const found = /^VmHWM:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1]) * 1024;
}

function pseudoText(seed: string, bytes: number): Buffer {
  const block = createHash('sha512').update(seed).digest('hex');
  return Buffer.from(block.repeat(Math.ceil(bytes / block.length)).slice(0, bytes));
}

/** A contender that writes `inputOf(output)` to a file and runs `command(input, output)`; the files must all be there. */
function downloader(
  name: string,
  work: Work,
  inputOf: (output: string) => string,
  command: (input: string, output: string) => string,
): Contender {
  let output = '';
  const input = join(work.dir, `${name.replace(/\W+/g, '-')}.input`);
  return {
    name,
    prepare() {
      output = work.newOutput();
      writeFileSync(input, inputOf(output));
      spawnSync('sync');
    },
    run() {
      const sample = timeShell(command(input, output), {
        env: robotEnvironment(work),
      });
      const found = readdirSync(output, { recursive: true, withFileTypes: true }).filter(entry =>
        entry.isFile(),
      ).length;
      if (found !== work.count) throw new Error(`${name}: ${found} files instead of ${work.count}`);
      return sample;
    },
  };
}

const robotArguments = [
  '--stdio',
  `--slots=${AT_A_TIME}`,
  '--allow-address=127.0.0.1',
  '--allow-address=::1',
];

function robotRequests(work: Work, output: string): string {
  return work.urls
    .map((url, i) => `<fetch id="${i}" url="${url}" file="${join(output, work.names[i] ?? '')}"/>\n`)
    .join('');
}

function robotEnvironment(work: Work): NodeJS.ProcessEnv {
  const config = join(work.dir, 'lcc.toml');
  // All of it is of one host here.
  writeFileSync(config, `bot.max_connections_per_host = ${AT_A_TIME}\n`);
  return {
    ...process.env,
    LCC_HOME: join(work.dir, 'home'),
    LCC_CONFIG: config,
    NODE_EXTRA_CA_CERTS: work.ca,
  };
}

function lccbot(work: Work): Contender {
  return downloader(
    'lccbot',
    work,
    output => robotRequests(work, output),
    input => `${join(root, 'bin/lccbot')} ${robotArguments.join(' ')} < ${input} > ${input}.results`,
  );
}

const curlConfig = (work: Work) => (output: string) =>
  work.urls.map((url, i) => `url=${url}\noutput=${join(output, work.names[i] ?? '')}\n`).join('');

function curl(work: Work): Contender {
  const command = (input: string) => `curl -s -Z --parallel-max ${AT_A_TIME} --cacert ${work.ca} -K ${input}`;
  return downloader('curl -Z', work, curlConfig(work), command);
}

function curlAndMd5sum(work: Work): Contender {
  const command = (input: string, output: string) =>
    `curl -s -Z --parallel-max ${AT_A_TIME} -K ${input}; find ${output} -type f -print0 | xargs -0 md5sum`;
  return downloader('curl -Z, then md5sum', work, curlConfig(work), command);
}

function wget2(work: Work): Contender {
  const command = (_input: string, output: string) =>
    `wget2 -q --max-threads=${AT_A_TIME} --no-config --http2=off -x -nH --cut-dirs=1 -P ${output} -i ${work.list}`;
  return downloader('wget2', work, () => '', command);
}

function aria2(work: Work): Contender {
  const inputOf = () => work.urls.map((url, i) => `${url}\n  out=${work.names[i] ?? ''}\n`).join('');
  const command = (input: string, output: string) =>
    `aria2c -q --no-conf -j ${AT_A_TIME} -x 1 --file-allocation=none -d ${output} -i ${input}`;
  return { ...downloader('aria2c', work, inputOf, command), once: true };
}

function scrapy(work: Work): Contender {
  const spider = join(root, 'bench/peers/scrapy_files.py');
  const command = (_input: string, output: string) =>
    `scrapy runspider ${spider} -a urls=${work.list} -a out=${output}`;
  return { ...downloader('Scrapy', work, () => '', command), once: true };
}

function startSite(dir: string): Promise<ChildProcess> {
  execFileSync(
    'openssl',
    [
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost',
      `-addext subjectAltName=DNS:localhost -keyout ${dir}/key.pem -out ${dir}/ca.pem`,
    ]
      .join(' ')
      .split(' '),
    { stdio: 'ignore' },
  );
  const secure = `server {
    listen 127.0.0.1:${TLS_PORT} ssl backlog=1024; root ${dir}/www;
    ssl_certificate ${dir}/ca.pem; ssl_certificate_key ${dir}/key.pem;
  }`;
  const plain = `server { listen 127.0.0.1:${PORT} backlog=1024; root ${dir}/www; }`;
  return startNginx(dir, [plain, secure].join('\n  '), PORT);
}
