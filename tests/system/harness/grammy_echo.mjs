// A bot on grammy, Telegram's usual library for Node: says what it hears. Judges a Telegram that is only played.
import { createRequire } from 'node:module';

const require = createRequire(process.argv[2] + '/');
const { Bot } = require('grammy');
const bot = new Bot(process.argv[4], { client: { apiRoot: process.argv[3] } });
bot.on('message:text', async (c) => {
  const sent = await c.reply('echo ' + c.message.text, { reply_parameters: { message_id: c.message.message_id } });
  await c.api.editMessageText(c.chat.id, sent.message_id, 'echoed ' + c.message.text);
  await c.react('👌');
});
bot.on('callback_query:data', (c) => c.answerCallbackQuery({ text: c.callbackQuery.data }));
process.stdin.on('end', () => bot.stop().then(() => process.exit(0)));
process.stdin.resume();
await bot.start({ onStart: (me) => console.log('STARTED ' + me.username) });
