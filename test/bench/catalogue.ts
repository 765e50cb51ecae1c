import type { Catalogue } from '../load/catalogue.js';

/** What a copy of the benchmark's database holds, and so what the clients may name. */
export interface BenchCatalogue extends Catalogue {
  shopId: number;
}
