// Runs test/*.test.ts: bundled for node, then by node's own test runner, four files at once: most of them wait.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const files = readdirSync(join(here, 'test')).filter((name) => name.endsWith('.test.ts'));
const out = mkdtempSync(join(tmpdir(), 'quell-console-'));
try {
  await build({ entryPoints: files.map((name) => join(here, 'test', name)), bundle: true, platform: 'node', format: 'esm', outdir: out, outExtension: { '.js': '.mjs' }, loader: { '.css': 'text' }, logLevel: 'warning' });
  const done = spawnSync(process.execPath, ['--test', '--test-concurrency=4', ...readdirSync(out).map((name) => join(out, name))], { stdio: 'inherit', cwd: here });
  process.exitCode = done.status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
