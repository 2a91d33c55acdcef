// An ACP agent on the official SDK that talks until it is stopped, and asks when the prompt says so.
// slow_acp_agent.mjs FOLDER-WITH-NODE_MODULES; what it is told to stop, it writes into the file $SEEN, if that is set.
import fs from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const acp = await import(pathToFileURL(join(process.argv[2], 'node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js')).href);
const stopped = new Set();
if (process.env.STAYS || process.env.DEAF) setInterval(() => {}, 1000);
if (process.env.DEAF) for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {}); // only a kill ends it
const { initialize, session } = acp.methods.agent;

acp.agent({ name: 'slow' })
  .onRequest(initialize, () => ({ protocolVersion: 1, agentCapabilities: {}, agentInfo: { name: 'slow', version: '1' } }))
  .onRequest(session.new, () => ({ sessionId: 'session-1' }))
  .onNotification(session.cancel, ({ params }) => {
    if (!process.env.DEAF) stopped.add(params.sessionId);
    if (process.env.SEEN) fs.appendFileSync(process.env.SEEN, 'cancel\n');
  })
  .onRequest(session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    stopped.delete(sessionId);
    const say = (text) => client.notify(acp.methods.client.session.update,
      { sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } });
    const text = prompt[0].text, late = text === 'unnamed'; // told before, as the protocol lets it
    if (late) await client.notify(acp.methods.client.session.update,
      { sessionId, update: { sessionUpdate: 'tool_call', toolCallId: 't', title: 'delete it', status: 'pending' } });
    if (text === 'ask' || text === 'choose' || late) {
      const { outcome } = await client.request(acp.methods.client.session.requestPermission, { sessionId,
        toolCall: { toolCallId: 't', ...(late ? {} : { title: 'delete it' }) },
        options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }, ...(text !== 'ask' ? [{ optionId: 'no', name: 'No', kind: 'reject_once' }] : [])] });
      await say(outcome.outcome === 'selected' ? `chose ${outcome.optionId}` : 'nobody chose');
      return { stopReason: 'end_turn' };
    }
    for (let i = 0; i < (prompt[0].text === 'quick' ? 3 : 100000) && !stopped.has(sessionId); ++i) {
      await say(`word${i}`);
      await new Promise((go) => setTimeout(go, 20));
    }
    return { stopReason: stopped.has(sessionId) ? 'cancelled' : 'end_turn' };
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
