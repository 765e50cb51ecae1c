import type { Stage } from './stage.js';

/** How a load goes over time, as it is typed: `64`, `1..256` for a ramp, `1,8,64` for steps of the same length. */
export interface LoadShape {
  parts: { from: number; to: number }[];
}

const partsMax = 50;

/**
 * @param name of the option, for the message
 * @throws with a sentence for the person who typed it
 */
export function readLoadShape(name: string, text: string, numberMax: number): LoadShape {
  const texts = text.split(',');
  if (texts.length > partsMax) throw new Error(`${name} takes at most ${partsMax} steps.`);
  const parts = texts.map((part) => {
    const ends = part.split('..').map((end) => readNumber(end, numberMax));
    const [from, to] = ends.length === 1 ? [ends[0], ends[0]] : ends;
    if (from === undefined || to === undefined || ends.length > 2) {
      throw new Error(
        `${name} takes numbers from 1 to ${numberMax}, as 64, 1..256 (a ramp) or 1,8,64 (steps), not ${text}.`,
      );
    }
    return { from, to };
  });
  return { parts };
}

/** The parts share the time evenly; before them a warm-up at the load of the first. */
export function stagesOf(
  { parts }: LoadShape,
  { measureMs, warmupMs }: { measureMs: number; warmupMs: number },
): Stage[] {
  const from = parts[0]?.from ?? 0;
  const warmup: Stage[] = warmupMs > 0 ? [{ ms: warmupMs, from, to: from, isWarmup: true }] : [];
  return [...warmup, ...parts.map((part) => ({ ...part, ms: measureMs / parts.length, isWarmup: false }))];
}

export function loadMaxOf({ parts }: LoadShape): number {
  return Math.max(...parts.flatMap(({ from, to }) => [from, to]));
}

function readNumber(text: string, numberMax: number): number | undefined {
  const number = Number(text);
  return text.trim() !== '' && Number.isInteger(number) && number >= 1 && number <= numberMax ? number : undefined;
}
