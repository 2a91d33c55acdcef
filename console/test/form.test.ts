import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaults_of, fields_of, values_of } from '../src/model/form.ts';

const form = {
  type: 'object', required: ['environment', 'why'],
  properties: {
    environment: { type: 'string', enum: ['staging', 'production'], enumNames: ['Staging'] },
    why: { type: 'string', title: 'Why', description: 'for the log', maxLength: 80 },
    replicas: { type: 'integer', minimum: 1, maximum: 9, default: 2 },
    notify: { type: 'boolean', default: true },
    colour: { type: 'string', oneOf: [{ const: '#f00', title: 'Red' }, { const: '#00f' }] },
    regions: { type: 'array', items: { anyOf: [{ const: 'eu', title: 'Europe' }, { const: 'us', title: 'America' }] }, default: ['eu'] },
    on: { type: 'string', format: 'date' },
  },
};

test('a form becomes fields of its types, with titles and hints', () => {
  const fields = fields_of(form);
  assert.deepEqual(fields.map((f) => f.type), ['choice', 'text', 'integer', 'yes_no', 'choice', 'choices', 'date']);
  assert.deepEqual(fields[0]!.choices, [{ value: 'staging', title: 'Staging' }, { value: 'production', title: 'production' }]);
  assert.deepEqual([fields[1]!.title, fields[1]!.hint, fields[1]!.is_required, fields[1]!.is_long], ['Why', 'for the log', true, false]);
  assert.deepEqual(fields[4]!.choices, [{ value: '#f00', title: 'Red' }, { value: '#00f', title: '#00f' }]);
  assert.deepEqual(fields[5]!.choices.map((c) => c.title), ['Europe', 'America']);
});

test('defaults stand in the fields, and what is entered gets its type', () => {
  const entered = defaults_of(form);
  assert.deepEqual(entered, { environment: '', why: '', replicas: '2', notify: 'true', colour: '', regions: ['eu'], on: '' });
  const values = values_of(fields_of(form), { ...entered, environment: 'staging', replicas: '3', notify: 'false', regions: ['eu', 'us'] });
  assert.deepEqual(values, { environment: 'staging', why: '', replicas: 3, notify: false, regions: ['eu', 'us'] });
});

test('a form that is none has no fields', () => {
  for (const odd of [null, undefined, {}, { properties: 'no' }, { properties: { a: null } }]) assert.deepEqual(fields_of(odd), []);
});
