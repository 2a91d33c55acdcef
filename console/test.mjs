// Runs test/*.test.ts: bundled for node, then by node's own test runner, four files at once: most of them wait.
// A file that plays a page or changes what is global has a process of its own; those of what is pure share one.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = join(dirname(fileURLToPath(import.meta.url)), 'test');
const files = readdirSync(here).filter((name) => name.endsWith('.test.ts'));
const is_pure = (name) => !/globalThis|played_page/.test(readFileSync(join(here, name), 'utf8'));
const out = mkdtempSync(join(tmpdir(), 'quell-console-'));
const how = { bundle: true, platform: 'node', format: 'esm', loader: { '.css': 'text' }, logLevel: 'warning' };
try {
  await Promise.all([
    build({ ...how, entryPoints: files.filter((name) => !is_pure(name)).map((name) => join(here, name)), outdir: out, outExtension: { '.js': '.mjs' } }),
    build({ ...how, stdin: { contents: files.filter(is_pure).map((name) => `import './${name}';`).join('\n'), resolveDir: here }, outfile: join(out, 'pure.test.mjs') }),
  ]);
  const done = spawnSync(process.execPath, ['--test', '--test-concurrency=4', ...readdirSync(out).map((name) => join(out, name))], { stdio: 'inherit', cwd: dirname(here) });
  process.exitCode = done.status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
