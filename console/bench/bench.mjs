// The console under load, in a real browser: the longest task of the main thread while 2,000 operations a second change.
// usage: bench.mjs FOLDER [OPERATIONS] [SECONDS] [SEED]. FOLDER is what build.mjs wrote. Exit 1 if a task took more than 50 ms.
// The feed is a recording (recording.mjs): the same for the same seed. Measured by the page's PerformanceObserver ("longtask") and by Chrome's trace.
// Beside other load a task waits for the processor, too: its own CPU time is printed beside, and what took it.
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { play } from './played_server.mjs';
import { begin_trace, tasks_of } from './trace.mjs';

const [folder, operations = '100000', seconds = '15', seed = '1'] = process.argv.slice(2);
const rate = 2000, tick_ms = 50, most_ms = 50;

const { server, change, live } = play(folder, Number(operations), 20, Number(seed));
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const profile = mkdtempSync(join(tmpdir(), 'quell-bench-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: '/usr/bin/chromium', headless: true, viewport: { width: 1360, height: 860 },
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const page = await context.newPage();
await page.addInitScript(() => {
  window.long_tasks = [];
  new PerformanceObserver((list) => window.long_tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' });
});
let longest = 0;
const runs = [];
try {
  for (const path of ['/tree?by=parent', '/tree?scope=team']) {
    await page.goto(`http://127.0.0.1:${server.address().port}${path}`);
    await page.locator('[role=treeitem]').first().waitFor();
    const at_load = await page.evaluate(() => window.long_tasks.splice(0)); // before the feed: parsing the script, the first page
    const end_trace = await begin_trace(context, page);
    const begin = performance.now(), end = begin + Number(seconds) * 1000;
    let frames = 0, sent = 0;
    // A late timer sends what is due: the rate is kept on a busy machine, too.
    const timer = setInterval(() => {
      const due = Math.floor(((performance.now() - begin) * rate) / 1000) - sent;
      sent += due;
      change(due);
    }, tick_ms);
    while (performance.now() < end) {
      await page.mouse.move(600, 400);
      await page.mouse.wheel(0, 700);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
      ++frames;
    }
    clearInterval(timer);
    const seconds_of_feed = (performance.now() - begin) / 1000;
    // Behind all events the page counts what lives as the feed does.
    const is_even = await page.waitForFunction((n) => Number(document.querySelector('[data-live]').dataset.live) === n, live.size, { timeout: 20_000 }).then(() => true, () => false);
    const lag = performance.now() - begin - seconds_of_feed * 1000;
    const observed = await page.evaluate(() => window.long_tasks);
    const tasks = tasks_of(await end_trace());
    const over = tasks.filter((t) => t.ms > most_ms), by_cpu = [...tasks].sort((a, b) => b.cpu_ms - a.cpu_ms);
    longest = Math.max(longest, over[0]?.ms ?? 0);
    console.log(`${path}: ${operations} live, ${Math.round(sent / seconds_of_feed)} changes a second for ${Math.round(seconds_of_feed)} s: ${over.length} tasks over ${most_ms} ms; longest ${Math.round(tasks[0]?.ms ?? 0)} ms, most CPU time ${Math.round(by_cpu[0]?.cpu_ms ?? 0)} ms; ${frames} scrolls`);
    const busy = tasks.reduce((sum, t) => sum + t.cpu_ms, 0) / (10 * seconds_of_feed);
    const over_cpu = tasks.filter((t) => t.cpu_ms > most_ms).length;
    console.log(`  PerformanceObserver: ${observed.length} long tasks, longest ${Math.round(Math.max(0, ...observed))} ms (while loading: ${at_load.map(Math.round).join(', ') || 'none'}); over ${most_ms} ms of CPU time: ${over_cpu}; all tasks: ${Math.round(busy)} % of a processor; load of the machine ${loadavg()[0].toFixed(1)}`);
    console.log(is_even ? `  the page shows the end of the feed ${Math.round(lag)} ms after it` : `  the page counts other than the feed 20 s after its end`);
    runs.push({
      path, changes_per_second: sent / seconds_of_feed, longest_ms: tasks[0]?.ms ?? 0, longest_cpu_ms: by_cpu[0]?.cpu_ms ?? 0, over_ms: over.length, over_cpu_ms: over_cpu, behind_ms: is_even ? lag : null,
    });
    for (const task of by_cpu.slice(0, 3)) console.log(`  ${task.ms.toFixed(1)} ms, CPU ${task.cpu_ms.toFixed(1)} ms: ${task.parts}`);
  }
} finally {
  await context.close();
  server.close();
  server.closeAllConnections();
  rmSync(profile, { recursive: true, force: true });
}
console.log(JSON.stringify(runs)); // for benchmarks/console.py
process.exitCode = longest > most_ms ? 1 : 0;
