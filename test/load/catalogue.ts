/** What a shop has that requests may name, and the key that opens it. */
export interface Catalogue {
  key: string;
  materialIds: string[];
  locationIds: string[];
}
