// A browser that does what it is told, a line of JSON at a time: {"code", "args"} -> {"value"} or {"error"}.
// `code` is the body of an async function of (page, context, args). usage: driver.mjs CONSOLE PROFILE
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

const [folder, profile] = process.argv.slice(2);
const { chromium } = createRequire(join(folder, 'package.json'))('playwright-core');
const patience = Number(process.env.QUELL_TEST_PATIENCE ?? 1) * 60_000;

/** The same browser without a window to draw, if it is installed, takes a quarter less of a processor. */
const shell = '/usr/bin/chromium-headless-shell';
const browser = process.env.QUELL_CHROMIUM ?? (existsSync(shell) ? shell : '/usr/bin/chromium');

const context = await chromium.launchPersistentContext(profile, {
  executablePath: browser,
  headless: true,
  timeout: patience,
  viewport: { width: 1360, height: 860 },
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
context.setDefaultTimeout(patience);
const page = context.pages()[0] ?? (await context.newPage());
/** What must not happen on any page: errors that nobody caught, requests to others, what the policy forbids, dialogs of injected scripts. */
const wrong = [];
const watch = (one) => {
  one.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  one.on('console', (line) => /Content Security Policy|TrustedHTML/.test(line.text()) && wrong.push(`policy: ${line.text()}`));
  one.on('request', (request) => !request.url().startsWith('http://127.0.0.1:') && !request.url().startsWith('data:') && wrong.push(`foreign: ${request.url()}`));
  one.on('dialog', (dialog) => (wrong.push(`dialog: ${dialog.message()}`), void dialog.dismiss().catch(() => {})));
};
watch(page);
context.on('page', watch);

/** For `flaws` of harness/browser.py: read once. */
let axe = '';
globalThis.axe_source = () => (axe ||= readFileSync(join(folder, 'node_modules/axe-core/axe.min.js'), 'utf8'));

/** A step that has no limit of its own (a frame that is never drawn) ends with its words, not with the whole test. */
const limited = (step, code) => {
  let timer;
  const limit = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`the step did not end: ${code}`)), 3 * patience); });
  return Promise.race([step, limit]).finally(() => clearTimeout(timer));
};
/** What failed while nobody awaited it, as the answer to a request whose page has gone. It does not end the browser; whoever rests on it fails, and says so. */
const unheard = [];
process.on('unhandledRejection', (error) => unheard.push(String(error?.message ?? error)));
const Action = Object.getPrototypeOf(async () => {}).constructor;
process.stdout.write(JSON.stringify({ value: 'ready' }) + '\n');
for await (const line of createInterface({ input: process.stdin })) {
  const { code, args } = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await limited(new Action('page', 'context', 'args', 'wrong', code)(page, context, args, wrong), code)) ?? null };
  } catch (error) {
    answer = { error: [String(error?.message ?? error), ...unheard.splice(0).map((words) => `unheard: ${words}`)].join('\n') };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
await context.close();
