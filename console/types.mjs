// Writes src/api/schema.d.ts from the document of the API.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import openapi, { astToString } from 'openapi-typescript';

const here = dirname(fileURLToPath(import.meta.url));
const document = JSON.parse(readFileSync(join(here, '../gateway/openapi.json'), 'utf8'));
const text = '// Written by types.mjs from gateway/openapi.json.\n' + astToString(await openapi(document));
const path = join(here, 'src/api/schema.d.ts');
let before = '';
try {
  before = readFileSync(path, 'utf8');
} catch {} // the first time
if (before !== text) writeFileSync(path, text);
