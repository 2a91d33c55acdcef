// Bundles the console and packs what came out for quelld. usage: build.mjs FOLDER
// FOLDER gets the files (to look at), console.pack (format: gateway/console.hpp) and console_pack.cpp.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, 'dist'));
const most_gzipped_bytes = 250 * 1024; // of one file
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');

function check_types() {
  execFileSync(process.execPath, [join(here, 'types.mjs')], { stdio: 'inherit' });
  const tsc = join(here, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '--noEmit', '-p', here], { stdio: 'inherit' });
}

async function bundle() {
  const done = await build({
    absWorkingDir: here,
    entryPoints: ['src/main.tsx', 'src/style/main.css'],
    bundle: true, minify: true, write: false, format: 'esm', target: 'es2022', legalComments: 'none',
    jsx: 'automatic', jsxImportSource: 'preact', outdir: 'assets', entryNames: '[name]-[hash]', logLevel: 'warning',
  });
  return done.outputFiles.map((file) => ({ path: `/assets/${basename(file.path)}`, bytes: Buffer.from(file.contents) }));
}

/// Every file with its address; the page names the two that the bundler has named.
async function collect() {
  const assets = await bundle();
  const named = (end) => assets.find((file) => file.path.endsWith(end)).path;
  const page = readFileSync(join(here, 'src/index.html'), 'utf8').replace('{{script}}', named('.js')).replace('{{style}}', named('.css'));
  const icon = readFileSync(join(here, 'src/icon.svg'));
  return [...assets, { path: '/index.html', bytes: Buffer.from(page) }, { path: '/icon.svg', bytes: icon }];
}

function pack(files) {
  const lines = [], parts = [];
  for (const { path, bytes } of files) {
    const zipped = gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION });
    if (zipped.length > most_gzipped_bytes) throw new Error(`${path} has ${zipped.length} bytes gzipped; at most ${most_gzipped_bytes}`);
    lines.push(`${path} ${types[path.slice(path.lastIndexOf('.'))]} ${hash(bytes).slice(0, 32)} ${bytes.length} ${zipped.length}`);
    parts.push(bytes, zipped);
    console.log(`${path}: ${bytes.length} bytes, ${zipped.length} gzipped`);
  }
  return Buffer.concat([Buffer.from(lines.join('\n') + '\n\n'), ...parts]);
}

function source(packed, path) {
  return `// Written by console/build.mjs. Embeds the web console; the assembler reads the file.
#include "gateway/console_pack.hpp"

asm(".pushsection .rodata\\n"
    ".global quell_console_begin\\n"
    ".global quell_console_end\\n"
    "quell_console_begin:\\n"
    ".incbin \\"${path}\\"\\n"
    "quell_console_end:\\n"
    ".popsection\\n");

extern "C" const char quell_console_begin[];
extern "C" const char quell_console_end[];
/// A compiler cache sees what is packed by this alone.
extern "C" const char quell_console_sha256[];
const char quell_console_sha256[] = "${hash(packed)}";

namespace quell::controller::http {

std::string_view console_pack() {
  return {quell_console_begin, static_cast<std::size_t>(quell_console_end - quell_console_begin)};
}

} // namespace quell::controller::http
`;
}

if (!process.argv.includes('--no-check')) check_types();
const files = await collect();
mkdirSync(join(folder, 'assets'), { recursive: true });
for (const { path, bytes } of files) writeFileSync(join(folder, path), bytes);
const packed = pack(files), path = join(folder, 'console.pack');
writeFileSync(path, packed);
writeFileSync(join(folder, 'console_pack.cpp'), source(packed, path));
