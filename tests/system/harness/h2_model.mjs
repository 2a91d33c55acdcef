// A model behind TLS that speaks HTTP/2 only (or HTTP/1.1 only): tells on standard output what it sees of its clients.
// node h2_model.mjs KEY CERT h2|http/1.1
import fs from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';

const [key, cert] = process.argv.slice(2, 4).map((file) => fs.readFileSync(file));
const say = (line) => process.stdout.write(line + '\n');
const event = (value) => `data: ${JSON.stringify(value)}\n\n`;

function answer(request, response) {
  let body = '';
  request.on('data', (piece) => (body += piece));
  request.on('end', () => {
    say(`request ${request.httpVersion}`);
    let answered = false;
    response.on('close', () => say(answered ? 'finished' : 'hung up'));
    if (body.includes('silent')) return;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event({ choices: [{ index: 0, delta: { content: 'hello' } }] }));
    if (body.includes('endless')) return;
    answered = true;
    response.end(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) + 'data: [DONE]\n\n');
  });
}

const server = process.argv[4] === 'h2'
  ? http2.createSecureServer({ key, cert, allowHTTP1: false }, answer)
  : https.createServer({ key, cert }, answer);
server.on('secureConnection', (socket) => socket.on('close', () => say('connection closed')));
server.listen(0, '127.0.0.1', () => say(`listening ${server.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();
