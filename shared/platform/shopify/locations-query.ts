import { compiledWhenAsked } from './compiled-when-asked.js';
import { locationGidSchema } from './global-ids.js';
import { pageSchema } from './page-info.js';
import type { PageInfo } from './page-info.js';

/**
 * A page of a shop's active locations, those of fulfilment services included, since a variant may have a level there
 * too. Needs the scope read_locations. At most 52 points.
 */
export const locationsQuery = `query Locations($first: Int!, $after: String) {
  locations(first: $first, after: $after, sortKey: ID, includeLegacy: true) {
    nodes { id name }
    pageInfo { hasNextPage endCursor }
  }
}`;

/** `data` of a reply to `locationsQuery`, as Shopify documents it and as far as we believe it. */
export interface LocationsData {
  locations: { nodes: LocationNode[]; pageInfo: PageInfo };
}

export interface LocationNode {
  id: string;
  name: string;
}

export const locationsPerPage = 50;

const locationSchema = {
  type: 'object',
  required: ['id', 'name'],
  properties: { id: locationGidSchema, name: { type: 'string' } },
} as const;

export const isLocationsData = compiledWhenAsked((ajv) =>
  ajv.compile<LocationsData>({
    type: 'object',
    required: ['locations'],
    properties: { locations: pageSchema(locationsPerPage, locationSchema) },
  }),
);
