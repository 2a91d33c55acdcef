// Runs what bundle_tests.mjs has made, by node's own test runner, four files at once: most of them wait. usage: test.mjs FOLDER
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = resolve(process.argv[2]);
const bundles = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
if (bundles.length === 0) {
  console.error(`${folder} has no bundles of the tests: ninja console_tests`);
  process.exit(1);
}
const done = spawnSync(process.execPath, ['--test', '--test-concurrency=4', ...bundles], { stdio: 'inherit', cwd: dirname(fileURLToPath(import.meta.url)) });
process.exitCode = done.status ?? 1;
