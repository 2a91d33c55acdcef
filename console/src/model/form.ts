// The form of a question: a flat JSON schema becomes fields, and what was entered becomes values. Pure.
// The server checks the values; here only their types are made right.

export interface FormField {
  name: string;
  title: string;
  hint: string;
  type: 'text' | 'date' | 'number' | 'integer' | 'yes_no' | 'choice' | 'choices';
  is_required: boolean;
  is_long: boolean;
  choices: readonly { value: string; title: string }[];
  minimum: number | undefined;
  maximum: number | undefined;
  longest: number | undefined;
}

/** What stands in the fields: a text, or the chosen ones of several. '' = nothing entered. */
export type Entered = Record<string, string | readonly string[]>;

interface FieldSchema {
  type?: unknown;
  title?: unknown;
  description?: unknown;
  format?: unknown;
  default?: unknown;
  enum?: unknown;
  enumNames?: unknown;
  oneOf?: unknown;
  anyOf?: unknown;
  items?: unknown;
  minimum?: unknown;
  maximum?: unknown;
  maxLength?: unknown;
}

const text_of = (value: unknown) => (typeof value === 'string' ? value : '');
const number_of = (value: unknown) => (typeof value === 'number' ? value : undefined);
const short_text = 200; // characters that fit into one row

function schemas_of(form: unknown): [string, FieldSchema][] {
  const properties = (form as { properties?: unknown } | null | undefined)?.properties;
  if (!properties || typeof properties !== 'object') return [];
  return Object.entries(properties).filter(([, schema]) => schema && typeof schema === 'object') as [string, FieldSchema][];
}

function choices_of(schema: FieldSchema): { value: string; title: string }[] | null {
  if (Array.isArray(schema.enum)) {
    const names: unknown[] = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum.flatMap((value: unknown, i) => (typeof value === 'string' ? [{ value, title: text_of(names[i]) || value }] : []));
  }
  for (const all of [schema.oneOf, schema.anyOf]) {
    if (!Array.isArray(all)) continue;
    return all.flatMap((one: { const?: unknown; title?: unknown } | null) => (typeof one?.const === 'string' ? [{ value: one.const, title: text_of(one.title) || one.const }] : []));
  }
  return null;
}

function type_of(schema: FieldSchema): FormField['type'] {
  if (schema.type === 'boolean') return 'yes_no';
  if (schema.type === 'array') return 'choices';
  if (schema.type === 'number' || schema.type === 'integer') return schema.type;
  if (choices_of(schema)) return 'choice';
  return schema.format === 'date' ? 'date' : 'text';
}

const format_hints: Record<string, string> = { email: 'an email address', uri: 'like https://host/path', 'date-time': 'like 2026-07-28T12:00:00Z' };

export function fields_of(form: unknown): FormField[] {
  const needed = (form as { required?: unknown } | null | undefined)?.required;
  const required = new Set<unknown>(Array.isArray(needed) ? needed : []);
  return schemas_of(form).map(([name, schema]) => {
    const longest = number_of(schema.maxLength);
    return {
      name, title: text_of(schema.title) || name, hint: [text_of(schema.description), format_hints[text_of(schema.format)] ?? ''].filter(Boolean).join('; '), type: type_of(schema),
      is_required: required.has(name), is_long: !schema.format && (longest === undefined || longest > short_text),
      choices: choices_of(schema.type === 'array' ? ((schema.items ?? {}) as FieldSchema) : schema) ?? [], minimum: number_of(schema.minimum), maximum: number_of(schema.maximum), longest,
    };
  });
}

/** The defaults that the form offers. */
export function defaults_of(form: unknown): Entered {
  return Object.fromEntries(schemas_of(form).map(([name, { type, default: value }]) => {
    if (type === 'array') return [name, Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []];
    return [name, value === undefined || value === null ? '' : String(value)];
  }));
}

/** By name, in the types of the form. What is empty is left out, except texts that the form requires. */
export function values_of(fields: readonly FormField[], entered: Entered): Record<string, unknown> {
  const values: [string, unknown][] = [];
  for (const field of fields) {
    const value = entered[field.name] ?? '';
    if (field.type === 'choices') {
      if (value.length > 0 || field.is_required) values.push([field.name, value || []]);
    } else if (value === '') {
      if (field.is_required && field.type === 'text') values.push([field.name, '']);
    } else if (field.type === 'yes_no') values.push([field.name, value === 'true']);
    else if (field.type === 'number' || field.type === 'integer') values.push([field.name, Number(value)]);
    else values.push([field.name, value]);
  }
  return Object.fromEntries(values);
}
