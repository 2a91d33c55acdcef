// The tasks of a page's main thread, from Chrome's own trace.

/** Begins to record; what it returns ends the record and gives its events. */
export async function begin_trace(context, page) {
  const session = await context.newCDPSession(page);
  const events = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents', traceConfig: { recordMode: 'recordAsMuchAsPossible', includedCategories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline', 'v8', '__metadata'] },
  });
  return async () => {
    const done = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
    await session.send('Tracing.end');
    await done;
    await session.detach();
    return events;
  };
}

/** Longest first: `ms` on the clock, `cpu_ms` of it on the processor, and the longest things inside. */
export function tasks_of(events) {
  const mains = new Set(events.filter((e) => e.name === 'thread_name' && e.args.name === 'CrRendererMain').map((e) => `${e.pid} ${e.tid}`));
  const here = events.filter((e) => e.ph === 'X' && mains.has(`${e.pid} ${e.tid}`)).sort((a, b) => a.ts - b.ts || b.dur - a.dur);
  const name = here.some((e) => e.name === 'RunTask') ? 'RunTask' : 'ThreadControllerImpl::RunTask';
  const tasks = here.filter((e) => e.name === name).map((e) => ({ at: e, ms: e.dur / 1000, cpu_ms: (e.tdur ?? e.dur) / 1000 }));
  tasks.sort((a, b) => b.ms - a.ms);
  for (const task of tasks.filter((t, i) => i < 20 || t.cpu_ms > 10)) task.parts = parts_of(task.at, here);
  return tasks;
}

function parts_of(task, here) {
  const sums = new Map();
  for (const e of here) {
    if (e.tid !== task.tid || e.pid !== task.pid || e.ts < task.ts || e.ts + e.dur > task.ts + task.dur || e === task || /RunTask/.test(e.name)) continue;
    const what = e.args?.data?.functionName || e.args?.data?.type || e.name;
    const name = e.name === what ? what : `${e.name} ${what}`;
    sums.set(name, (sums.get(name) ?? 0) + (e.tdur ?? e.dur) / 1000);
  }
  return [...sums].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(', ');
}
