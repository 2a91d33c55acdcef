// telegram-test-api, a Telegram of somebody else's, and people who write there. Commands come in as lines of JSON.
import { createRequire } from 'node:module';
import readline from 'node:readline';

const require = createRequire(process.argv[2] + '/');
const { TelegramServer } = (() => { const m = require('telegram-test-api'); return m.TelegramServer ? m : { TelegramServer: m.default ?? m }; })();
const [, , , port, token] = process.argv;
const server = new TelegramServer({ port: Number(port), host: '127.0.0.1', storage: 'RAM', storeTimeout: 600 });
await server.start();
const client = server.getClient(token, { userId: 5, chatId: 5, firstName: 'Mia', userName: 'mia', type: 'private' });
console.log('LISTENS');
for await (const line of readline.createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  if (asked.say) await client.sendMessage(client.makeMessage(asked.say));
  if (asked.show) console.log('SHOWN ' + JSON.stringify(server.storage.botMessages.map((m) => ({ text: m.message.text, id: m.messageId }))));
  if (asked.left) console.log('LEFT ' + JSON.stringify(server.storage.userMessages.filter((m) => !m.isRead).length));
}
process.exit(0);
