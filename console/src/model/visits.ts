// What each entry of the browser's history looked like when it was left: whoever goes back finds it so. In memory alone. Pure.

const most_visits = 100;

export class Visits {
  private readonly kept = new Map<string, Map<string, number>>();

  constructor(private here: string) {}

  /** Another entry is shown from now on; '' names one that nobody has marked. */
  enter(visit: string): void {
    this.here = visit;
  }

  /** A fact of the entry that is shown. */
  put(name: string, value: number): void {
    const facts = this.kept.get(this.here) ?? new Map<string, number>();
    this.kept.delete(this.here); // the newest last
    this.kept.set(this.here, facts.set(name, value));
    if (this.kept.size > most_visits) this.kept.delete(this.kept.keys().next().value!);
  }

  /** 0 = nothing is kept. */
  get(name: string): number {
    return this.kept.get(this.here)?.get(name) ?? 0;
  }

  clear(): void {
    this.kept.clear();
  }
}
