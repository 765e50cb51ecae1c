import { collectDefaultMetrics, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

/** Measures the process, by the names that every dashboard knows: CPU, memory, garbage collection, event-loop delay. */
export function watchProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
}

/**
 * A gauge that is read when it is asked for, so that between two scrapes it costs nothing.
 *
 * @param read the values by label, or one value alone; undefined while unknown, which leaves the gauge out
 */
export function addGauge(
  registry: Registry,
  { name, help, label }: { name: string; help: string; label?: string },
  read: () => Readonly<Record<string, number>> | number | undefined,
): void {
  new Gauge({
    name,
    help,
    labelNames: label === undefined ? [] : [label],
    registers: [registry],
    collect() {
      const values = read();
      this.reset();
      // Without labels it would now be 0; with them nothing is left, and there is nothing that `remove` could be told.
      if (values === undefined && label === undefined) this.remove();
      else if (values === undefined) return;
      else if (typeof values === 'number') this.set(values);
      else for (const [value, count] of Object.entries(values)) this.set({ [label ?? '']: value }, count);
    },
  });
}

export interface PoolUse {
  used: number;
  free: number;
  /** Queries that wait for a connection. */
  waiting: number;
}

/** The Postgres connections of a process's pool. */
export function watchPool(registry: Registry, read: () => PoolUse): void {
  const name = 'raw_materials_database_pool_connections';
  addGauge(registry, { name, help: 'Postgres connections of the pool, by state.', label: 'state' }, () => {
    const { used, free } = read();
    return { used, free };
  });
  const waiting = { name: 'raw_materials_database_pool_waiting', help: 'Queries that wait for a connection.' };
  addGauge(registry, waiting, () => read().waiting);
}

/** @param read whether each connection, by its name, can be used now */
export function watchRedis(registry: Registry, read: () => Readonly<Record<string, boolean>>): void {
  const name = 'raw_materials_redis_connected';
  addGauge(registry, { name, help: 'Whether a Redis connection can be used: 1 or 0.', label: 'connection' }, () =>
    Object.fromEntries(Object.entries(read()).map(([connection, isReady]) => [connection, isReady ? 1 : 0])),
  );
}
