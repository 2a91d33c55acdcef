// What approvers have allowed for a while: each exact call, until when, by whom, and its end.
import { useState } from 'preact/hooks';
import { get, remove, words_of } from '../api/client.ts';
import type { ApprovalRule } from '../api/types.ts';
import { api_path, link } from '../model/route.ts';
import { Trouble, When } from '../parts/small.tsx';
import { use_one_at_a_time } from '../state/once.ts';
import { use_resource } from '../state/resource.ts';
import { may } from '../state/session.ts';
import { Input } from './approval.tsx';

/** Shows nothing where nothing is allowed, or where the token may not decide about calls. */
export function StandingRules() {
  const [state, reload] = use_resource('approval rules', () => get<{ rules: ApprovalRule[] }>('/v1/approvals/rules?limit=1000'), { every_ms: 30_000, types: ['approval_resolved'] });
  const [refused, set_refused] = useState('');
  const { is_busy, once } = use_one_at_a_time();
  const rules = state.value.value?.rules ?? [];
  if (!may.decide.value || rules.length === 0) return null;
  const revoke = async (rule: ApprovalRule) => {
    await remove(api_path('approvals', 'rules', rule.id)).then(() => set_refused(''), (error) => set_refused(words_of(error)));
    reload();
  };
  return (
    <section class="standing-rules">
      <h2 class="section">Begins without asking</h2>
      <Trouble words={refused} />
      <ul class="needs">
        {rules.map((rule) => (
          <li key={rule.id} class="need">
            <div class="need-head"><b>{rule.tool}</b> <a href={link('/conversation', { scope: rule.scope })}>{rule.scope}</a> <span class="faint">{rule.agent}, rule {rule.rule}, by {rule.by.name || rule.by.id}</span><span class="grow" /><span class="faint">until <When at={rule.expires_at} how="clock" /></span><button type="button" class="button quiet" disabled={is_busy} onClick={() => void once(() => revoke(rule))}>Revoke</button></div>
            <Input of={rule.input} />
          </li>
        ))}
      </ul>
    </section>
  );
}
