// The console under load, in a real browser: the longest task of the main thread while 2,000 operations a second change.
// usage: bench.mjs FOLDER [OPERATIONS] [SECONDS]. FOLDER is what build.mjs wrote. Exit 1 if a task took more than 50 ms.
// Beside other load a task waits for the processor, too: its own CPU time is printed beside, and what took it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { play } from './played_server.mjs';
import { begin_trace, tasks_of } from './trace.mjs';

const [folder, operations = '10000', seconds = '15'] = process.argv.slice(2);
const rate = 2000, tick_ms = 50, most_ms = 50;

const { server, change } = play(folder, Number(operations), 20);
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const profile = mkdtempSync(join(tmpdir(), 'quell-bench-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: '/usr/bin/chromium', headless: true, viewport: { width: 1360, height: 860 },
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const page = await context.newPage();
let longest = 0;
try {
  for (const path of ['/tree?by=parent', '/tree?scope=team']) {
    await page.goto(`http://127.0.0.1:${server.address().port}${path}`);
    await page.locator('[role=treeitem]').first().waitFor();
    const end_trace = await begin_trace(context, page);
    const timer = setInterval(() => change((rate * tick_ms) / 1000), tick_ms);
    const end = Date.now() + Number(seconds) * 1000;
    let frames = 0;
    while (Date.now() < end) {
      await page.mouse.move(600, 400);
      await page.mouse.wheel(0, 700);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
      ++frames;
    }
    clearInterval(timer);
    const tasks = tasks_of(await end_trace());
    const over = tasks.filter((t) => t.ms > most_ms), by_cpu = [...tasks].sort((a, b) => b.cpu_ms - a.cpu_ms);
    longest = Math.max(longest, over[0]?.ms ?? 0);
    console.log(`${path}: ${operations} live, ${rate} changes a second for ${seconds} s: ${over.length} tasks over ${most_ms} ms; longest ${Math.round(tasks[0]?.ms ?? 0)} ms, most CPU time ${Math.round(by_cpu[0]?.cpu_ms ?? 0)} ms; ${frames} scrolls`);
    for (const task of by_cpu.slice(0, 3)) console.log(`  ${task.ms.toFixed(1)} ms, CPU ${task.cpu_ms.toFixed(1)} ms: ${task.parts}`);
  }
} finally {
  await context.close();
  server.close();
  server.closeAllConnections();
  rmSync(profile, { recursive: true, force: true });
}
process.exitCode = longest > most_ms ? 1 : 0;
