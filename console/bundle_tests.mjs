// Bundles test/*.test.ts for node. usage: bundle_tests.mjs FOLDER
// A file that plays a page or changes what is global is a bundle of its own; those of what is pure share one.
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = join(dirname(fileURLToPath(import.meta.url)), 'test');
const folder = resolve(process.argv[2]);
const files = readdirSync(here).filter((name) => name.endsWith('.test.ts'));
const is_pure = (name) => !/globalThis|played_page/.test(readFileSync(join(here, name), 'utf8'));
const how = { bundle: true, platform: 'node', format: 'esm', loader: { '.css': 'text' }, logLevel: 'warning' };

rmSync(folder, { recursive: true, force: true }); // bundles of tests that are no longer there
mkdirSync(folder, { recursive: true });
await Promise.all([
  build({ ...how, entryPoints: files.filter((name) => !is_pure(name)).map((name) => join(here, name)), outdir: folder, outExtension: { '.js': '.mjs' } }),
  build({ ...how, stdin: { contents: files.filter(is_pure).map((name) => `import './${name}';`).join('\n'), resolveDir: here }, outfile: join(folder, 'pure.test.mjs') }),
]);
