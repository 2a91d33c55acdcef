// The far side of webhooks, with npm standardwebhooks as judge: takes deliveries in, and sends signed messages. What it is
// told on stdin (a JSON object a line) it does; what it sees it says on stdout (a word and JSON).
//
// usage: hook_receiver.mjs NODE_HOME PORT SECRET
import { createRequire } from 'node:module';
import http from 'node:http';
import readline from 'node:readline';

const [home, port, secret] = process.argv.slice(2);
const { Webhook } = createRequire(home + '/package.json')('standardwebhooks');
const judge = new Webhook(secret);
const say = (word, what) => process.stdout.write(`${word} ${JSON.stringify(what ?? {})}\n`);

let manner = { status: 204 }; // how deliveries are answered; `times`: only so often, then 204
const server = http.createServer((request, response) => {
  let body = '';
  request.on('data', (x) => { body += x; });
  request.on('end', () => {
    let good = true, why = '';
    try { judge.verify(body, request.headers); } catch (e) { good = false; why = String(e); }
    const { status, delay = 0, headers = {}, cut = false } = manner;
    if (manner.times !== undefined && --manner.times <= 0) manner = { status: 204 };
    const event = JSON.parse(body);
    say('GOT', { id: request.headers['webhook-id'], good, why, status: cut ? 0 : status, type: event.type, event, at: Date.now() });
    if (cut) return request.socket.destroy();
    setTimeout(() => { response.writeHead(status, headers); response.end(); }, delay);
  });
});
const listen = () => server.listen(Number(port), '127.0.0.1', () => say('LISTENS'));
listen();

async function send(what) {
  const body = typeof what.body === 'string' ? what.body : JSON.stringify(what.body);
  const at = new Date(Date.now() + (what.skew ?? 0) * 1000);
  const headers = { 'Content-Type': 'application/json', 'webhook-id': what.id, 'webhook-timestamp': String(Math.floor(at / 1000)),
                    'webhook-signature': what.signature ?? new Webhook(what.secret ?? secret).sign(what.id, at, what.signed ?? body) };
  const answer = await fetch(what.url, { method: what.method ?? 'POST', headers, body: what.method === 'GET' ? undefined : body });
  const text = await answer.text();
  let json = null;
  try { json = JSON.parse(text); } catch { /* shown as text */ }
  say('ANSWER', { tag: what.tag, status: answer.status, text, json });
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const what = JSON.parse(line);
  if (what.do === 'manner') { manner = what; say('MANNER'); }
  if (what.do === 'down') { server.closeAllConnections(); server.close(() => say('DOWN')); server.closeAllConnections(); }
  if (what.do === 'up') listen();
  if (what.do === 'send') send(what);
}).on('close', () => process.exit(0));
