// Discord as a bot sees it, on loopback: REST, the gateway's websocket (npm ws) and signed interactions. What it is told
// on stdin (a JSON object a line) it does; what it sees it says on stdout (a word and JSON).
//
// usage: fake_discord.mjs NODE_HOME HTTP_PORT GATEWAY_PORT TOKEN...
import { createRequire } from 'node:module';
import http from 'node:http';
import crypto from 'node:crypto';
import readline from 'node:readline';

const [home, httpPort, gatewayPort, ...tokens] = process.argv.slice(2);
const require = createRequire(home + '/package.json');
const { WebSocketServer } = require('ws');
const { verifyKey } = require('discord-interactions');

const say = (word, what) => process.stdout.write(`${word} ${JSON.stringify(what ?? {})}\n`);
let clock = BigInt(Date.now() - 1420070400000) << 22n;
const snowflake = () => String(++clock);
const botOf = (token) => ({ id: String(1000 + tokens.indexOf(token)), username: 'clanky', bot: true, discriminator: '0', global_name: null, avatar: null });
const application = { id: '8', flags: 0 };
const guild = { id: '9', name: 'guild', owner_id: '5', roles: [{ id: '9', name: '@everyone', permissions: '8', position: 0, color: 0, hoist: false, managed: false, mentionable: false, flags: 0 }],
                emojis: [], stickers: [], features: [], members: [], threads: [], presences: [], voice_states: [], stage_instances: [], guild_scheduled_events: [],
                channels: [{ id: '7', type: 0, name: 'general', position: 0, permission_overwrites: [] }], joined_at: new Date().toISOString(), large: false, member_count: 2, unavailable: false };

// ---- the gateway ------------------------------------------------------------------------------------------------------------------
const sessions = new Map(); // id -> { token, seq, log, socket }
let answersHeartbeats = true, interval = 20000;
const gateway = new WebSocketServer({ host: '127.0.0.1', port: Number(gatewayPort) });
const address = `ws://127.0.0.1:${gatewayPort}`;

function dispatch(session, t, d) {
  session.seq += 1;
  const frame = { op: 0, s: session.seq, t, d };
  session.log.push(frame);
  if (session.socket) session.socket.send(JSON.stringify(frame));
}
const toAll = (t, d) => { for (const s of sessions.values()) dispatch(s, t, d); };

gateway.on('connection', (socket, request) => {
  say('CONNECT', { url: request.url });
  socket.on('close', (code) => {
    say('CLOSED', { code });
    for (const s of sessions.values()) if (s.socket === socket) s.socket = null;
  });
  socket.on('message', (bytes) => {
    const frame = JSON.parse(bytes);
    if (frame.op === 1) {
      say('HEARTBEAT', { seq: frame.d });
      if (answersHeartbeats) socket.send('{"op":11}');
    } else if (frame.op === 2) {
      say('IDENTIFY', { intents: frame.d.intents, token: frame.d.token });
      if (!tokens.includes(frame.d.token)) return socket.close(4004, 'Authentication failed.');
      const session = { token: frame.d.token, seq: 0, log: [], socket };
      const id = crypto.randomUUID();
      sessions.set(id, session);
      dispatch(session, 'READY', { v: 10, user: botOf(frame.d.token), guilds: [{ id: '9', unavailable: true }], session_id: id, resume_gateway_url: address, application });
      dispatch(session, 'GUILD_CREATE', guild);
    } else if (frame.op === 6) {
      const session = sessions.get(frame.d.session_id);
      say('RESUME', { seq: frame.d.seq, known: Boolean(session) });
      if (!session || session.token !== frame.d.token) return socket.send(JSON.stringify({ op: 9, d: false }));
      session.socket = socket;
      for (const old of session.log) if (old.s > frame.d.seq) socket.send(JSON.stringify(old));
      dispatch(session, 'RESUMED', {});
    }
  });
  socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: interval } }));
});

// ---- REST -------------------------------------------------------------------------------------------------------------------------
const messages = new Map(), nonces = new Map(), guildOf = new Map();
let histories = 0; // requests for messages of a channel that are open
let planned = []; // { method, status, body, headers, cut }: how the next request of that method is answered
const readAll = (request) => new Promise((done) => { let text = ''; request.on('data', (x) => { text += x; }); request.on('end', () => done(text)); });

function wrong(method, path, body, authorization) {
  if (!authorization?.startsWith('Bot ') || !tokens.includes(authorization.slice(4))) return [401, { message: '401: Unauthorized', code: 0 }];
  if (!/\/messages/.test(path) || ['PUT', 'GET', 'DELETE'].includes(method)) return null;
  if (typeof body.content !== 'string' || body.content.length === 0 && method === 'POST') return [400, { message: 'Cannot send an empty message', code: 50006 }];
  if (body.content.length > 2000) return [400, { message: 'Invalid Form Body: 2000', code: 50035 }];
  if (body.nonce !== undefined && String(body.nonce).length > 25) return [400, { message: 'Invalid Form Body: nonce', code: 50035 }];
  if (!Array.isArray(body.allowed_mentions?.parse) || body.allowed_mentions.parse.length) return [400, { message: 'this test wants no mentions', code: 50035 }];
  for (const row of body.components ?? []) {
    if (row.type !== 1 || !row.components.length || row.components.length > 5) return [400, { message: 'Invalid Form Body: components', code: 50035 }];
    for (const b of row.components) if (b.type !== 2 || !b.label || b.label.length > 80 || !b.custom_id || b.custom_id.length > 100) return [400, { message: 'Invalid Form Body: button', code: 50035 }];
  }
  return null;
}

const server = http.createServer(async (request, response) => {
  const text = await readAll(request);
  const path = request.url.replace(/^\/api(\/v10)?/, '').replace(/\?.*/, ''), method = request.method;
  const query = new URL(request.url, 'http://x').searchParams;
  const body = text && (request.headers['content-type'] ?? '').startsWith('application/json') ? JSON.parse(text) : {};
  const answer = (status, what, headers = {}) => {
    say('REST', { method, path, status, body });
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(status === 204 ? undefined : JSON.stringify(what));
  };
  const plan = planned.findIndex((p) => p.method === method && /channels/.test(path));
  let cut = false;
  if (plan >= 0) {
    const [p] = planned.splice(plan, 1);
    if (!p.cut) return answer(p.status, p.body ?? {}, p.headers ?? {});
    cut = true; // done, but nobody hears of it
  }
  if (path.startsWith('/webhooks/')) return answer(200, { id: snowflake(), content: body.content });
  const refused = wrong(method, path, body, request.headers.authorization);
  if (refused) return answer(...refused);
  if (path === '/gateway/bot') return answer(200, { url: address, shards: 1, session_start_limit: { total: 1000, remaining: 999, reset_after: 1, max_concurrency: 1 } });
  if (path === '/gateway') return answer(200, { url: address });
  if (path === '/applications/@me') return answer(200, application);
  if (/^\/applications\/8\/commands$/.test(path)) return answer(201, { id: snowflake(), ...body });
  let found;
  if ((found = /^\/channels\/(\d+)\/messages$/.exec(path)) && method === 'POST') {
    const known = body.enforce_nonce && nonces.get(body.nonce);
    const author = botOf(request.headers.authorization.slice(4));
    const message = known || { id: snowflake(), channel_id: found[1], guild_id: guildOf.get(found[1]) ?? '9', type: body.message_reference ? 19 : 0, content: body.content, author, nonce: body.nonce,
                               timestamp: new Date().toISOString(), edited_timestamp: null, tts: false, mention_everyone: false, mentions: [], mention_roles: [], attachments: [],
                               embeds: [], pinned: false, components: body.components ?? [], message_reference: body.message_reference, reactions: [] };
    if (!known) {
      messages.set(message.id, message);
      say('MADE', { id: message.id, channel: found[1], content: message.content, nonce: message.nonce });
      if (body.enforce_nonce) nonces.set(body.nonce, message);
      toAll('MESSAGE_CREATE', message);
    }
    if (cut) { say('CUT', { method, path, body }); return request.socket.destroy(); }
    return answer(200, message, { 'X-RateLimit-Limit': '5', 'X-RateLimit-Remaining': '4', 'X-RateLimit-Reset-After': '1', 'X-RateLimit-Bucket': 'b' });
  }
  if ((found = /^\/channels\/(\d+)\/messages$/.exec(path)) && method === 'GET') { // newest first, without guild_id, as Discord does
    say('HISTORY', { channel: found[1], open: ++histories });
    await new Promise((soon) => setTimeout(soon, 2));
    histories -= 1;
    const after = BigInt(query.get('after') ?? 0);
    const newer = [...messages.values()].filter((m) => m.channel_id === found[1] && BigInt(m.id) > after).sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
    return answer(200, newer.slice(0, Number(query.get('limit') ?? 50)).reverse().map(({ guild_id, member, ...rest }) => rest));
  }
  if ((found = /^\/channels\/(\d+)\/messages\/(\d+)$/.exec(path)) && method === 'PATCH') {
    const message = messages.get(found[2]);
    if (!message) return answer(404, { message: 'Unknown Message', code: 10008 });
    Object.assign(message, { content: body.content, components: body.components ?? message.components, edited_timestamp: new Date().toISOString() });
    toAll('MESSAGE_UPDATE', message);
    return answer(200, message);
  }
  if ((found = /^\/channels\/(\d+)\/messages\/(\d+)\/reactions\/([^/]+)\/@me$/.exec(path)) && method === 'PUT') {
    say('REACTION', { message: found[2], emoji: decodeURIComponent(found[3]) });
    return answer(204);
  }
  if ((found = /^\/channels\/(\d+)\/messages\/(\d+)\/reactions\/([^/]+)\/@me$/.exec(path)) && method === 'DELETE') {
    say('UNREACTION', { message: found[2], emoji: decodeURIComponent(found[3]) });
    return answer(204);
  }
  if ((found = /^\/channels\/(\d+)\/messages\/(\d+)$/.exec(path)) && method === 'DELETE') {
    if (!messages.delete(found[2])) return answer(404, { message: 'Unknown Message', code: 10008 });
    say('REMOVED', { message: found[2] });
    return answer(204);
  }
  return answer(404, { message: '404: Not Found', code: 0 });
});
server.listen(Number(httpPort), '127.0.0.1', () => say('LISTENS'));

// ---- interactions -----------------------------------------------------------------------------------------------------------------
const { publicKey, privateKey } = crypto.generateKeyPairSync('ed25519');
const publicHex = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('hex');
say('PUBLIC', { key: publicHex });

async function interact(what) {
  const body = typeof what.body === 'string' ? what.body : JSON.stringify(what.body);
  const timestamp = String(Math.floor(Date.now() / 1000) + (what.skew ?? 0));
  const signature = crypto.sign(null, Buffer.from(timestamp + (what.signed ?? body)), privateKey).toString('hex');
  const headers = { 'Content-Type': 'application/json', 'X-Signature-Ed25519': what.signature ?? signature, 'X-Signature-Timestamp': timestamp };
  const judge = await verifyKey(body, headers['X-Signature-Ed25519'], timestamp, publicHex);
  const begun = Date.now();
  const answer = await fetch(what.url, { method: 'POST', headers, body });
  const text = await answer.text();
  let json = null;
  try { json = JSON.parse(text); } catch { /* shown as text */ }
  say('ANSWER', { tag: what.tag, status: answer.status, text, json, judge: Boolean(judge), ms: Date.now() - begun, headers, body });
}

async function replay(what) {
  const answer = await fetch(what.url, { method: 'POST', headers: what.headers, body: what.body });
  say('ANSWER', { tag: what.tag, status: answer.status, text: await answer.text() });
}

function hear(what) {
  const m = { id: snowflake(), channel_id: '7', guild_id: '9', type: 0, content: '', author: { id: '5', username: 'mia', global_name: 'Mia', discriminator: '0', avatar: null },
              member: { nick: null, roles: [], joined_at: new Date().toISOString(), deaf: false, mute: false, flags: 0 }, mentions: [], mention_roles: [], mention_everyone: false,
              attachments: [], embeds: [], pinned: false, tts: false, timestamp: new Date().toISOString(), edited_timestamp: null, components: [], ...what.message };
  if (what.direct) { delete m.guild_id; delete m.member; m.channel_id = '77'; }
  messages.set(m.id, m);
  if (m.guild_id) guildOf.set(m.channel_id, m.guild_id);
  if (what.tag) say('SAID', { tag: what.tag, id: m.id });
  toAll('MESSAGE_CREATE', m);
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const what = JSON.parse(line);
  if (what.do === 'message') {
    hear(what);
  } else if (what.do === 'crowd') { // the same message in each of these places, of one person in each guild
    for (const [guild_id, channel_id] of what.places) {
      const author = { id: '5' + guild_id, username: 'user' + guild_id, global_name: null, discriminator: '0', avatar: null };
      hear({ message: { author, ...what.message, guild_id, channel_id } });
    }
  } else if (what.do === 'edit') {
    const m = Object.assign(messages.get(what.id), what.fields);
    toAll('MESSAGE_UPDATE', m);
  } else if (what.do === 'delete') {
    const { channel_id, guild_id } = messages.get(what.id);
    messages.delete(what.id);
    toAll('MESSAGE_DELETE', { id: what.id, channel_id, guild_id });
  } else if (what.do === 'tell') {
    toAll(what.type, what.data);
  } else if (what.do === 'again') { // a repeated delivery of a message
    toAll('MESSAGE_CREATE', messages.get(what.id));
  } else if (what.do === 'plan') {
    planned.push(what);
  } else if (what.do === 'drop') {
    for (const s of sessions.values()) if (s.socket) what.code ? s.socket.close(what.code) : s.socket.terminate();
    if (what.forget) sessions.clear();
  } else if (what.do === 'send') {
    for (const s of sessions.values()) if (s.socket) s.socket.send(JSON.stringify(what.frame));
  } else if (what.do === 'heartbeats') {
    answersHeartbeats = what.answer ?? answersHeartbeats;
    interval = what.interval ?? interval;
  } else if (what.do === 'interact') {
    interact(what);
  } else if (what.do === 'replay') {
    replay(what);
  }
}).on('close', () => process.exit(0));
