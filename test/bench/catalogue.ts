/** What every copy of the benchmark's database holds, and so what the clients may name. */
export interface Catalogue {
  shopId: number;
  writeKey: string;
  materialIds: string[];
  locationIds: string[];
}
