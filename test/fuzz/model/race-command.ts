import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Answer } from '../../support/http/http.js';
import { inventoryPath, materialPath } from '../../support/http/material-paths.js';
import { checkReply } from '../../support/http/reply.js';
import { isAnswer, requestIdOf, steadyData } from './check-answer.js';
import { expectHistory, expectLevels, expectMaterial } from './expect-reads.js';
import { placeKey } from './stock-model.js';
import type { HistoryEntry, ShopModel } from './stock-model.js';
import { updatePlan, updateSending } from './update-command.js';
import { command, variantIdAt } from './world.js';
import type { Command, KeyedWrite, LiveShop } from './world.js';
import { adjustPlan, adjustSending, answerOf, toWrite } from './write-commands.js';

/** All orders of them are tried. */
const writesMax = 4;
/** Of a batch, so that what four of them book fits one page of the history. */
const rowsMax = 12;

const plan = fc.oneof(
  { weight: 3, arbitrary: adjustPlan.map((adjust) => ({ adjust })) },
  { weight: 2, arbitrary: updatePlan.map((update) => ({ update })) },
);

const racePlan = fc.record({
  /** All write to one material, so that a worker may fold them in one transaction. */
  variant: fc.nat(2),
  plans: fc.array(plan, { minLength: 2, maxLength: writesMax }),
  /** Whether the last one is the first once more. */
  hasTwin: fc.boolean(),
});

/**
 * Writes of any kind side by side, over all APIs: there is an order in which the model answers each as the service did,
 * and becomes what stands afterwards.
 */
export const raceCommand: fc.Arbitrary<Command> = racePlan.map((race) =>
  command(`side by side ${JSON.stringify(race)}`, async (model, real) => {
    const { variant, plans, hasTwin } = race;
    const writes = plans.map((one) =>
      toWrite(
        real,
        'adjust' in one
          ? adjustSending(model, { ...one.adjust, variant, rows: one.adjust.rows.slice(0, rowsMax) })
          : updateSending(model, { ...one.update, variant }),
      ),
    );
    const [first] = writes;
    if (hasTwin && first !== undefined) writes.splice(-1, 1, first);
    await runSideBySide(model, real, variantIdAt(model, variant), writes);
    real.keyed.push(...writes.filter(({ write }) => write.key !== undefined));
  }),
);

interface Answered extends KeyedWrite {
  answer: Answer;
}

async function runSideBySide(
  model: ShopModel,
  real: LiveShop,
  variantId: string,
  writes: readonly KeyedWrite[],
): Promise<void> {
  const answered = await Promise.all(
    writes.map(async (sent): Promise<Answered> => ({ ...sent, answer: await real.ask(sent.asked) })),
  );
  for (const { answer } of answered) checkReply(answer);
  model.requestIds.push(...answered.map(({ answer }) => requestIdOf(answer)));
  const shown = answered
    .map(
      ({ asked, answer }) => `${asked.path} ${JSON.stringify(asked.headers)} ${String(asked.body)}\n  ${answer.text}`,
    )
    .join('\n');
  const fitting = ends(model, answered);
  expect(fitting.length, `no order of these gives their answers:\n${shown}`).to.be.above(0);
  const standing = await readStanding(real, variantId);
  const end = fitting.find((one) => stands(one, variantId, standing));
  expect(end, `no order of these leaves what stands, ${JSON.stringify(standing.items)}:\n${shown}`).to.be.an('object');
  if (end === undefined) return;
  const material = end.materials.get(variantId);
  const [booked, before] = [material?.history.length ?? 0, model.materials.get(variantId)?.history.length ?? 0];
  standing.items
    .slice(0, booked - before)
    .forEach((entry, position) => material?.places.set(placeKey(entry), booked - 1 - position));
  Object.assign(model, end);
}

/** What the model may have become: one for each order in which it answers all of them as the service did. */
function ends(model: ShopModel, left: readonly Answered[]): ShopModel[] {
  if (left.length === 0) return [model];
  return left.flatMap((next) => {
    const after = structuredClone(model);
    if (!isAnswer(next.answer, answerOf(after, next.write, requestIdOf(next.answer)))) return [];
    return ends(
      after,
      left.filter((other) => other !== next),
    );
  });
}

interface Standing {
  material: Answer;
  levels: Answer;
  /** The newest entries of the history. */
  items: HistoryEntry[];
}

async function readStanding(real: LiveShop, variantId: string): Promise<Standing> {
  const read = (path: string) => real.ask({ path, key: real.shop.readKey });
  const history = await read(`${inventoryPath(variantId)}/history?limit=250`);
  return {
    material: await read(materialPath(variantId)),
    levels: await read(inventoryPath(variantId)),
    items: (steadyData(history) as { items: HistoryEntry[] }).items,
  };
}

/** Entries of one transaction may stand in another order than they ran in, but each level stands by its sequence. */
function stands(end: ShopModel, variantId: string, { material, levels, items }: Standing): boolean {
  const booked = expectHistory(end, variantId, {}).data as HistoryEntry[];
  const byPlace = (entries: readonly HistoryEntry[]) =>
    entries.toSorted((one, other) => (placeKey(one) < placeKey(other) ? -1 : 1));
  return (
    isAnswer(material, expectMaterial(end, variantId, false)) &&
    isAnswer(levels, expectLevels(end, variantId, undefined)) &&
    (booked.length > items.length || isDeepStrictEqual(byPlace(booked), byPlace(items))) &&
    items.every((entry, index) => items.slice(0, index).every((newer) => !isBelow(newer, entry)))
  );
}

function isBelow(one: HistoryEntry, other: HistoryEntry): boolean {
  return one.locationId === other.locationId && one.sequence < other.sequence;
}
