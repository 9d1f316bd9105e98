/** `node browsers.js OP PASSWORD COUNT EVERY-MS`: operators that have the overview open, each of which asks for it again and again. */
const [op = '', password = '', count = '1', everyMs = '1000'] = process.argv.slice(2);
const login = await fetch(`${op}/login`, {
  method: 'POST',
  body: new URLSearchParams({ name: 'bench', password }),
  redirect: 'manual',
});
const cookie = (login.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
const look = async () => {
  const answer = await fetch(op, { headers: { cookie }, redirect: 'manual' });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`${op}: status ${answer.status}`);
};
await look();
for (let n = 0; n < Number(count); n++)
  setTimeout(() => setInterval(() => void look(), Number(everyMs)), (n * Number(everyMs)) / Number(count));
console.log('open');
