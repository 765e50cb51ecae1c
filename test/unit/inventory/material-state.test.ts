import { expect } from 'chai';
import type { MaterialSnapshot } from '../../../shared/database/apply-snapshot.js';
import type { Material } from '../../../shared/domain/material.js';
import type { AdjustCommand, Operation, OperationResult, UpdateCommand } from '../../../shared/domain/operation.js';
import { levelMaxMicros, toUnits } from '../../../shared/domain/quantity.js';
import { foldOperation, levelWrites, openMaterial } from '../../../shared/inventory/material-state.js';
import type { MaterialState } from '../../../shared/inventory/material-state.js';

const atMs = Date.UTC(2026, 0, 1);
const fields = { material: { id: 'VMAT-1', sku: null, unitCost: 0 } as unknown as Material, version: 3 };
const ten = { locationId: 'A', delta: 10 };

function open(): MaterialState {
  const level = { id: '1', exists: true, quantity: 100, sequence: 7 };
  const snapshot: MaterialSnapshot = {
    isOurs: true,
    atMs,
    total: 100,
    allowNegative: false,
    defaultLocationId: 'A',
    levels: new Map([
      ['A', level],
      ['B', { id: '2', exists: false, quantity: 0, sequence: 0 }],
    ]),
    fields,
  };
  return openMaterial({ shopId: 1, materialId: 'VMAT-1' }, snapshot);
}

function fold(state: MaterialState, command: AdjustCommand | UpdateCommand): OperationResult {
  const operation: Operation = {
    id: 'o',
    command,
    acceptedAtMs: atMs,
    channel: 'rest',
    keyId: null,
    requestId: 'o',
  };
  return foldOperation(state, operation);
}

const adjust = (more: Partial<AdjustCommand> = {}): AdjustCommand => ({ kind: 'adjust', rows: [ten], ...more });

describe('a dry run', () => {
  it('meets what came before it in its transaction, its own rows included, and leaves nothing to what comes after', () => {
    const state = open();
    fold(state, adjust());
    const rows = [ten, { locationId: 'A', delta: -500 }, { locationId: 'B', absolute: 5 }];
    const dry = fold(state, adjust({ rows, dryRun: true }));
    expect(dry).to.deep.equal({
      kind: 'adjusted',
      rowCount: 3,
      failures: [],
      changes: [
        { index: 0, locationId: 'A', previous: 110, applied: 10, level: 120, clamped: false },
        { index: 1, locationId: 'A', previous: 120, applied: -120, level: 0, clamped: true },
        { index: 2, locationId: 'B', previous: 0, applied: 5, level: 5, clamped: false },
      ],
    });
    fold(state, adjust());
    expect(state.total).to.equal(120);
    expect(
      levelWrites(state).map(({ locationId, quantity, sequence }) => [locationId, quantity, sequence]),
    ).to.deep.equal([['A', 120, 9]]);
    expect(state.entries.map(({ sequence }) => sequence)).to.deep.equal([8, 9]);
  });

  it('alone leaves nothing to write', () => {
    const state = open();
    fold(state, adjust({ dryRun: true }));
    expect(state).to.deep.equal(open());
  });
});

describe('the rows of a batch of which some were left out', () => {
  it('keep the indices of the request in results, failures and the ledger', () => {
    const state = open();
    const rows = [ten, { locationId: 'nowhere', delta: 1 }, ten];
    const result = fold(state, adjust({ rows, rowIndexes: [1, 4, 6], detailed: true }));
    expect(result).to.have.nested.property('failures[0].index', 4);
    expect(result.kind === 'adjusted' && result.changes?.map(({ index }) => index)).to.deep.equal([1, 6]);
    expect(state.entries.map(({ rowIndex }) => rowIndex)).to.deep.equal([1, 6]);
  });
});

describe('the total of a material', () => {
  const quantities = (state: MaterialState) =>
    levelWrites(state).map(({ locationId, quantity }) => [locationId, quantity]);

  it('that is written counts what came before it in its transaction, at the default location and elsewhere', () => {
    const state = open();
    fold(state, adjust({ rows: [ten, { locationId: 'B', delta: 5 }] }));
    const result = fold(state, { kind: 'update', changes: { inventoryQuantity: 60 } });
    expect(result).to.have.nested.property('material.inventoryQuantity', toUnits(60));
    expect(state.total).to.equal(60);
    expect(quantities(state)).to.deep.equal([
      ['A', 55],
      ['B', 5],
    ]);
  });

  it('stays within its bounds, whatever the rows before it in its transaction left', () => {
    const state = open();
    fold(state, adjust({ rows: [{ locationId: 'B', absolute: levelMaxMicros - 100 }] }));
    const beyond = fold(state, adjust());
    expect(beyond).to.have.nested.property('failures[0].code', 'INVALID_INPUT');
    expect(state.total).to.equal(levelMaxMicros);
  });
});

describe('the version of the fields', () => {
  it('goes up by one with each change of a field, and stays with a change of stock alone', () => {
    const state = open();
    const versions = [{ sku: 'S' }, { inventoryQuantity: 50 }, { sku: 'T', inventoryQuantity: 60 }].map((changes) => {
      const result = fold(state, { kind: 'update', changes });
      return result.kind === 'updated' ? result.version : result;
    });
    expect(versions).to.deep.equal([4, 4, 5]);
    expect(state.fields).to.have.property('version', 5);
  });

  it('stays with an update to what is there already, which leaves nothing to write', () => {
    const state = open();
    const same = { kind: 'update', changes: { sku: null, unitCost: 0 } } as const;
    expect(fold(state, { ...same, ifVersions: [3] })).to.include({ kind: 'updated', version: 3 });
    expect(state).to.deep.equal(open());
    const other = fold(state, { kind: 'update', changes: { sku: null, unitCost: 1 } });
    expect(other).to.include({ kind: 'updated', version: 4 });
    expect(fold(state, same)).to.include({ kind: 'updated', version: 5 });
  });

  it('that is stale refuses the whole update, and the one there is lets it through', () => {
    const state = open();
    const changes = { sku: 'S', inventoryQuantity: 50 };
    const refused = fold(state, { kind: 'update', changes, ifVersions: [2] });
    expect(refused).to.include({ kind: 'rejected', code: 'PRECONDITION_FAILED' });
    expect(state).to.deep.equal(open());
    expect(fold(state, { kind: 'update', changes, ifVersions: [2, 3] })).to.include({ kind: 'updated', version: 4 });
    // The next in the same cycle meets the version that this one left.
    expect(fold(state, { kind: 'update', changes, ifVersions: [3] })).to.include({ code: 'PRECONDITION_FAILED' });
  });

  it('is judged before a total that cannot be booked', () => {
    const update: UpdateCommand = { kind: 'update', changes: { inventoryQuantity: -1 }, ifVersions: [] };
    expect(fold(open(), update)).to.include({ code: 'PRECONDITION_FAILED' });
  });
});
