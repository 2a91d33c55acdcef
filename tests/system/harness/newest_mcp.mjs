// An MCP server of the newest version (2026-07-28: no handshake, no sessions) on the official SDK; prints what it sees.
// newest_mcp.mjs FOLDER-WITH-NODE_MODULES
import http from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.argv[2], 'here.js'));
const { createMcpHandler, McpServer } = require('@modelcontextprotocol/server');
const z = require('zod');

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'newest', version: '1' }, { capabilities: { tools: {} } });
  server.registerTool('echo', { description: 'says it again', inputSchema: z.object({ message: z.string() }), annotations: { readOnlyHint: true } },
    async ({ message }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] }));
  server.registerTool('slow', { description: 'takes its time', inputSchema: z.object({ steps: z.number() }) }, async ({ steps }, { mcpReq }) => {
    for (let i = 1; i <= steps && !mcpReq.signal.aborted; ++i) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: mcpReq._meta.progressToken, progress: i, total: steps } });
      await new Promise((go) => setTimeout(go, 50));
    }
    console.log(mcpReq.signal.aborted ? 'tool stopped' : 'tool finished');
    return { content: [{ type: 'text', text: 'slept' }] };
  });
  return server;
}, { legacy: 'reject' });

const server = http.createServer(async (req, res) => {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  console.log(`request ${req.headers['mcp-method'] ?? '-'}`);
  const gone = new AbortController();
  res.on('close', () => { if (!res.writableEnded) { console.log('hung up'); gone.abort(); } });
  const headers = new Headers(Object.entries(req.headers).filter(([, value]) => typeof value === 'string'));
  const answer = await handler.fetch(new Request(`http://127.0.0.1${req.url}`,
    { method: req.method, headers, signal: gone.signal, ...(chunks.length ? { body: Buffer.concat(chunks) } : {}) }));
  res.writeHead(answer.status, Object.fromEntries(answer.headers));
  res.flushHeaders();
  try {
    if (answer.body) for await (const chunk of answer.body) res.write(chunk);
  } catch { /* the client has gone */ }
  res.end();
}).listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`));
process.stdin.resume().on('end', () => process.exit(0));
