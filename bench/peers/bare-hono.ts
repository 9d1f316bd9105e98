/** A bare hono handler: `node bare-hono.js DATABASE PORT PID` reads one row of the provider for each request. */
import { createAdaptorServer } from '@hono/node-server';
import Database from 'better-sqlite3';
import { Hono } from 'hono';

const [path = '', port = '0', pid = '0'] = process.argv.slice(2);
const row = new Database(path, { readonly: true }).prepare('SELECT * FROM pidb WHERE pid = ?');
const app = new Hono();
app.get('/', c => c.json(row.get(Number(pid)) as object));
createAdaptorServer({ fetch: app.fetch }).listen(Number(port), '127.0.0.1', () => console.log('ready'));
