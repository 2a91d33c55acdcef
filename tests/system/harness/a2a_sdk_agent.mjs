// An agent by the public SDK of A2A: a2a_sdk_agent.mjs FOLDER-WITH-NODE_MODULES STREAMS. Prints its port as a JSON line. "quick …" is answered,
// everything else works until it is cancelled.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [home, streams] = process.argv.slice(2);
const require = createRequire(join(home, 'here.js'));
const load = (path) => import(pathToFileURL(require.resolve(path)).href);
const express = (await load('express')).default;
const { AgentCard, Artifact, TaskState, Message } = await load('@a2a-js/sdk');
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = await load('@a2a-js/sdk/server');
const { agentCardHandler, jsonRpcHandler, UserBuilder } = await load('@a2a-js/sdk/server/express');

process.stdin.on('end', () => process.exit(0)).resume();
const stops = new Map();
const say = (step, data = {}) => console.log(JSON.stringify({ step, ...data }));

class Agent {
  async cancelTask(task) {
    say('cancel', { task });
    stops.get(task)?.();
  }
  async execute(context, bus) {
    const { userMessage, taskId, contextId } = context;
    const text = Message.toJSON(userMessage).parts[0].text;
    const status = (state) => ({ state, timestamp: new Date().toISOString(), message: undefined });
    const update = (state) => bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: {} }));
    say('begun', { task: taskId, message: userMessage.messageId, text });
    const stopped = new Promise((resolve) => stops.set(taskId, resolve));
    bus.publish(AgentEvent.task({ id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), artifacts: [], history: [userMessage], metadata: {} }));
    update(TaskState.TASK_STATE_WORKING);
    if (text.startsWith('quick')) {
      const artifact = Artifact.fromJSON({ artifactId: 'a', parts: [{ text: 'By the SDK: ' + text }] });
      bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, metadata: {} }));
      update(TaskState.TASK_STATE_COMPLETED);
    } else {
      await stopped;
      update(TaskState.TASK_STATE_CANCELED);
    }
    stops.delete(taskId);
    bus.finished();
  }
}

const app = express();
const server = createServer(app);
server.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const card = AgentCard.fromJSON({
    name: 'By the SDK', description: 'An agent of the public SDK.', version: '1.0.0',
    supportedInterfaces: [{ url: `${url}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: streams === 'true' }, defaultInputModes: ['text'], defaultOutputModes: ['text'],
    skills: [{ id: 'waits', name: 'waits', description: 'Works until it is cancelled.', tags: [] }],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Agent());
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  app.use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  say('ready', { url });
});
