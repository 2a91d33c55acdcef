// A stop as it settles: what is proven, what is not yet, why, and what comes next.
import type { Cancel } from '../api/types.ts';
import { count, exact_ms, short_id, shown } from '../model/format.ts';
import { headline, next_words, proof_shares, proven_count, receipt_shares, verdict, why_words, type Share } from '../model/report.ts';
import { cancel_link, operation_link } from '../model/route.ts';
import { now } from '../state/clock.ts';
import { use_cancel } from '../state/cancel.ts';
import { Trouble, When } from './small.tsx';
import { StopTarget } from './stop_target.tsx';

function Phase({ name, ms, is_next }: { name: string; ms: number | null; is_next: boolean }) {
  return (
    <li class={ms !== null ? 'phase done' : is_next ? 'phase next' : 'phase'}>
      <span>{name}</span>
      <b class="num">{ms !== null ? exact_ms(ms) : is_next ? '…' : ''}</b>
    </li>
  );
}

function Shares({ title, shares }: { title: string; shares: Share[] }) {
  if (shares.length === 0) return null;
  return (
    <section class="shares">
      <h3>{title}</h3>
      <ul>{shares.map((s) => <li key={s.key} class={`share-${s.key}`}><b class="num">{s.count.toLocaleString('en')}</b> {s.words}</li>)}</ul>
    </section>
  );
}

function Unproven({ cancel }: { cancel: Cancel }) {
  const { unproven, unproven_total } = cancel.report;
  if (unproven_total === 0) return null;
  return (
    <section class="unproven">
      <h3>{count(unproven_total, 'operation')} not proven dead yet</h3>
      <ul>
        {unproven.map((one) => (
          <li key={one.operation}>
            <div class="unproven-head">
              <a href={operation_link(one.operation)}>{shown(one.title) || `…${short_id(one.operation)}`}</a>
              <span class="faint">{one.scope}{one.worker ? ` · ${one.worker}` : ''}</span>
            </div>
            <div>{why_words(one)}, for <When at={one.since_at} how="age" />; {next_words(one, now.value)}</div>
            {one.processes.map((p) => <code key={p.pid} class="process">{p.pid} {p.state} {p.command}</code>)}
          </li>
        ))}
      </ul>
      {unproven_total > unproven.length && <p class="faint">and {(unproven_total - unproven.length).toLocaleString('en')} more</p>}
    </section>
  );
}

export function ReportCard({ cancel, with_link }: { cancel: Cancel; with_link?: boolean }) {
  const { report } = cancel;
  const said = verdict(cancel);
  const proven = proven_count(report);
  const part = report.operations ? (proven / report.operations) * 100 : 100;
  const phases = [['fenced', report.fenced_ms], ['signalled', report.signalled_ms], ['settled', report.settled_ms]] as const;
  const next = phases.findIndex(([, ms]) => ms === null);
  return (
    <article class={`report verdict-${said}`} aria-live="polite" aria-busy={said === 'under_way'}>
      <p class="report-head" data-verdict={said}>{headline(cancel)}</p>
      <p class="faint"><StopTarget cancel={cancel} />{cancel.reason ? ` · “${cancel.reason}”` : ''} · by {cancel.by.name || cancel.by.id}</p>
      {report.operations > 0 && (
        <>
          <div class="bar" role="progressbar" aria-label="proven" aria-valuemin={0} aria-valuemax={report.operations} aria-valuenow={proven}><i style={{ width: `${part}%` }} /></div>
          <ol class="phases">{phases.map(([name, ms], i) => <Phase key={name} name={name} ms={ms} is_next={i === next} />)}</ol>
        </>
      )}
      {!cancel.durable && <p class="warn">Performed, but not yet on disk: the disk refuses to write.</p>}
      <Unproven cancel={cancel} />
      <div class="columns">
        <Shares title="How they ended" shares={receipt_shares(report)} />
        <Shares title="What proves it" shares={proof_shares(report)} />
      </div>
      {with_link && cancel.id && <p><a href={cancel_link(cancel.id)}>This stop has a page of its own</a></p>}
    </article>
  );
}

/** A cancel that is followed until it settles. */
export function LiveReport({ id, first, with_link }: { id: string; first?: Cancel; with_link?: boolean }) {
  const { cancel, trouble } = use_cancel(id, first ?? null);
  return (
    <>
      <Trouble words={trouble} />
      {cancel && <ReportCard cancel={cancel} with_link={with_link ?? false} />}
    </>
  );
}
