// The cluster: how fast it stops and commits, what it holds, what it can promise, its chat services and MCP servers, its configuration.
import { useEffect } from 'preact/hooks';
import { diagnosis } from '../model/doctor.ts';
import { bytes, duration, exact_ms } from '../model/format.ts';
import { histogram_of, value_of } from '../model/metrics.ts';
import { Chart } from '../parts/chart.tsx';
import { HistogramBars } from '../parts/histogram.tsx';
import { Field, Page, Trouble, When } from '../parts/small.tsx';
import { looks, measures_trouble, samples as newest_samples, watch_measures } from '../state/measures.ts';
import { findings, status } from '../state/needs.ts';
import { may } from '../state/session.ts';
import { Configuration } from './configuration.tsx';
import { ClusterLine } from './home.tsx';

const milliseconds = (seconds: number) => exact_ms(seconds * 1000);
const each_second = (value: number) => `${value > 0 && value < 10 ? value.toFixed(1) : Math.round(value)}/s`;
const age = (seconds: number) => (seconds === 0 ? '0s' : duration(seconds * 1000));
const whole = (value: number) => Math.round(value).toLocaleString('en');

function Charts() {
  const all = looks.value;
  const times = all.map((l) => l.at);
  return (
    <div class="charts">
      <Chart title="Stops, 99 %" times={times} unit={milliseconds} least_top={0.01} series={[
        { name: 'fenced', colour: '--c-run', values: all.map((l) => l.fenced) }, { name: 'signalled', colour: '--c-wait', values: all.map((l) => l.signalled) },
        { name: 'settled', colour: '--c-stop', values: all.map((l) => l.settled) }]} />
      <Chart title="Commits, 99 %" times={times} unit={milliseconds} least_top={0.001} series={[{ name: 'commit', colour: '--c-good', values: all.map((l) => l.commit) }]} />
      <Chart title="Starts and events" times={times} unit={each_second} least_top={1} series={[
        { name: 'starts', colour: '--c-run', values: all.map((l) => l.starts) }, { name: 'events', colour: '--c-wait', values: all.map((l) => l.events) }]} />
      <Chart title="Live operations" times={times} unit={whole} least_top={4} is_whole series={[{ name: 'live', colour: '--c-run', values: all.map((l) => l.live) }]} />
      <Chart title="Oldest unproven" times={times} unit={age} least_top={10} series={[{ name: 'age', colour: '--c-stop', values: all.map((l) => l.oldest) }]} />
    </div>
  );
}

function Store() {
  const samples = newest_samples.value;
  if (!samples) return null;
  const low = value_of(samples, 'quell_store_low') > 0;
  return (
    <section class="card">
      <h2>Store and connections</h2>
      <dl class="fields">
        <Field name="Store">{bytes(value_of(samples, 'quell_store_bytes'))}</Field>
        <Field name="Free"><span class={low ? 'tone-stop' : ''}>{bytes(value_of(samples, 'quell_store_free_bytes'))}{low ? ', low: starts are refused' : ''}</span></Field>
        <Field name="Rows written"><span class="num">{whole(value_of(samples, 'quell_journal_rows_total'))}</span></Field>
        <Field name="Failed commits"><span class="num">{whole(value_of(samples, 'quell_journal_failures_total'))}</span></Field>
        <Field name="Connections"><span class="num">{whole(value_of(samples, 'quell_http_connections'))}</span></Field>
        <Field name="Event streams"><span class="num">{whole(value_of(samples, 'quell_http_event_streams'))}</span></Field>
      </dl>
    </section>
  );
}

function Histograms() {
  const samples = newest_samples.value;
  if (!samples) return null;
  const of = (name: string) => histogram_of(samples, `quell_${name}_seconds`);
  return (
    <section class="card">
      <h2>How long it took, since <When at={status.value?.started_at} how="clock" /></h2>
      <div class="histograms">
        <HistogramBars title="Fenced" of={of('cancel_fenced')} />
        <HistogramBars title="Signalled" of={of('cancel_signalled')} />
        <HistogramBars title="Settled" of={of('cancel_settled')} />
        <HistogramBars title="Commits" of={of('journal_commit')} />
      </div>
    </section>
  );
}

const is_encrypted = () => location.protocol === 'https:' || ['localhost', '[::1]'].includes(location.hostname) || location.hostname.startsWith('127.');

function Doctor() {
  const s = status.value;
  if (!s) return null;
  const { workers, mcp, not_ready } = findings.value;
  return (
    <section class="card">
      <h2>What it can and cannot promise</h2>
      <ul class="findings">
        {diagnosis({ status: s, workers, mcp, not_ready, is_encrypted: is_encrypted() }).map((f) => (
          <li key={`${f.what} ${f.text}`} class={`level-${f.level}`}><b>{f.level}</b> <span>{f.what}: {f.text}</span></li>
        ))}
      </ul>
      <p class="faint"><code>quell doctor</code> looks at your own machine, too.</p>
    </section>
  );
}

export function ClusterView() {
  useEffect(watch_measures, []);
  const s = status.value;
  const { mcp, not_ready } = findings.value;
  return (
    <Page title="Cluster">
      <Trouble words={measures_trouble.value} />
      {not_ready && <div class="trouble">{not_ready}</div>}
      <ClusterLine />
      {may.measure_cluster.value ? <><Charts /><Histograms /></> : <p class="faint">The charts show the whole cluster, and so only to a token without a scope.</p>}
      <div class="columns">
        {s && (
          <section class="card">
            <h2>Controller</h2>
            <dl class="fields">
              <Field name="Version">{s.version} <code>{s.commit}</code></Field>
              <Field name="Since"><When at={s.started_at} how="clock" /></Field>
              <Field name="Cluster"><code class="wrap">{s.cluster}</code></Field>
              <Field name="Epoch"><span class="num">{s.epoch}</span></Field>
              <Field name="Seq"><span class="num">{s.seq.toLocaleString('en')}</span></Field>
            </dl>
          </section>
        )}
        <Store />
        {s?.chat_services && s.chat_services.length > 0 && (
          <section class="card">
            <h2>Chat services</h2>
            <ul class="plain">{s.chat_services.map((chat) => <li key={chat.name}><b>{chat.name}</b> <span class={chat.working ? '' : 'tone-stop'}>{chat.state}</span></li>)}</ul>
          </section>
        )}
        {mcp.length > 0 && (
          <section class="card">
            <h2>MCP servers</h2>
            <ul class="plain">{mcp.map((m) => <li key={m.name}><b>{m.name}</b> <span class="faint">{m.kind}, one for each {m.per}</span> {(m.login?.trouble ?? m.trouble) ? <span class="tone-stop">{m.login?.trouble ?? m.trouble}</span> : m.login ? (m.login.logged_in ? 'logged in' : 'not logged in') : ''}</li>)}</ul>
          </section>
        )}
      </div>
      <Doctor />
      {may.run_cluster.value && <Configuration />}
    </Page>
  );
}
