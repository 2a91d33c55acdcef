// What a running call asks: its form, to be answered, dismissed or denied. The call goes on after each of them.
import { useState } from 'preact/hooks';
import type { Operation, Question } from '../api/types.ts';
import { defaults_of, fields_of, values_of, type Entered, type FormField } from '../model/form.ts';
import { revealed } from '../model/format.ts';
import { Trouble } from '../parts/small.tsx';
import { use_decision } from '../state/decision.ts';
import { may } from '../state/session.ts';

interface InputProps {
  field: FormField;
  value: string | readonly string[];
  enter: (value: string | readonly string[]) => void;
}

function Input({ field, value, enter }: InputProps) {
  const text = typeof value === 'string' ? value : '';
  const common = { required: field.is_required, 'aria-label': field.title };
  if (field.type === 'yes_no' || field.type === 'choice') {
    const choices = field.type === 'choice' ? field.choices : [{ value: 'true', title: 'Yes' }, { value: 'false', title: 'No' }];
    return (
      <select {...common} value={text} onChange={(e) => enter(e.currentTarget.value)}>
        <option value="">–</option>
        {choices.map((one) => <option key={one.value} value={one.value}>{one.title}</option>)}
      </select>
    );
  }
  if (field.type === 'number' || field.type === 'integer')
    return <input {...common} type="number" step={field.type === 'integer' ? 1 : 'any'} {...(field.minimum === undefined ? {} : { min: field.minimum })} {...(field.maximum === undefined ? {} : { max: field.maximum })} value={text} onInput={(e) => enter(e.currentTarget.value)} />;
  const longest = field.longest === undefined ? {} : { maxLength: field.longest };
  if (field.type === 'text' && field.is_long) return <textarea {...common} {...longest} rows={2} value={text} onInput={(e) => enter(e.currentTarget.value)} />;
  if (field.type === 'date') return <input {...common} type="date" value={text} onInput={(e) => enter(e.currentTarget.value)} />;
  return <input {...common} {...longest} type="text" value={text} onInput={(e) => enter(e.currentTarget.value)} />;
}

function Choices({ field, value, enter }: InputProps) {
  const chosen = Array.isArray(value) ? (value as readonly string[]) : [];
  const toggle = (one: string) => enter(chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one]);
  return (
    <fieldset class="choices">
      <legend>{field.title}</legend>
      {field.choices.map((one) => <label key={one.value} class="check"><input type="checkbox" checked={chosen.includes(one.value)} onChange={() => toggle(one.value)} /> {one.title}</label>)}
    </fieldset>
  );
}

function Field(p: InputProps) {
  const { field } = p;
  const hint = [field.hint, field.is_required ? '' : 'optional'].filter(Boolean).join('; ');
  return (
    <div class="form-field">
      {field.type === 'choices' ? <Choices {...p} /> : <label class="stack"><span>{field.title}</span><Input {...p} /></label>}
      {hint && <span class="faint">{hint}</span>}
    </div>
  );
}

type Answer = { question: string; values?: object; dismiss?: boolean; reason?: string };

export function QuestionForm({ op, question }: { op: Operation; question: Question }) {
  const fields = fields_of(question.form);
  const [entered, set_entered] = useState<Entered>(() => defaults_of(question.form));
  const { note, trouble, decide: send } = use_decision(op.id);
  const decide = (what: 'approve' | 'deny', done: string, answer: Omit<Answer, 'question'>) => send(what, { question: question.id, ...answer }, 'Sending…', done);
  const answer = () => void decide('approve', 'Answered', { values: values_of(fields, entered) });
  return (
    <form class="approval" aria-label="Question" onSubmit={(e) => (e.preventDefault(), answer())}>
      {question.server && <p class="faint">{question.server} asks:</p>}
      <p class="said">{revealed(question.message ?? '')}</p>
      {may.decide.value && (
        <>
          {fields.map((field) => <Field key={field.name} field={field} value={entered[field.name] ?? ''} enter={(value) => set_entered({ ...entered, [field.name]: value })} />)}
          <div class="approval-foot">
            <span class="grow" />
            <button type="button" class="button quiet" disabled={note !== ''} title="Neither yes nor no" onClick={() => void decide('deny', 'Dismissed', { dismiss: true })}>Dismiss</button>
            <button type="button" class="button" disabled={note !== ''} onClick={() => void decide('deny', 'Denied', {})}>Deny</button>
            <button type="submit" class="button primary" disabled={note !== ''}>Answer</button>
          </div>
        </>
      )}
      <div role="status">{note}</div>
      <Trouble words={trouble} />
    </form>
  );
}
