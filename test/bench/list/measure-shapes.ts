import { Agent, request } from 'node:http';
import { median } from '../median.js';
import { allShapes, pathOf } from './shapes.js';
import type { Shape } from './shapes.js';

export interface ShapeFigures extends Shape {
  smallMs: number;
  largeMs: number;
  /** The page that the small shop was asked for: where it has no page of this number, its last. */
  smallPage: number;
}

export interface Asked {
  baseUrl: string;
  smallKey: string;
  largeKey: string;
  rounds: number;
}

/** Each shape in both shops by turns, over one kept connection; the median of the rounds. */
export async function measureShapes({ baseUrl, smallKey, largeKey, rounds }: Asked): Promise<ShapeFigures[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const figures: ShapeFigures[] = [];
  try {
    for (const shape of allShapes()) {
      const { totalPages } = await get(agent, baseUrl, pathOf({ ...shape, page: 1 }), smallKey);
      const smallPage = Math.max(1, Math.min(shape.page, totalPages));
      const small: number[] = [];
      const large: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        small.push((await get(agent, baseUrl, pathOf({ ...shape, page: smallPage }), smallKey)).ms);
        large.push((await get(agent, baseUrl, pathOf(shape), largeKey)).ms);
      }
      figures.push({ ...shape, smallMs: median(small), largeMs: median(large), smallPage });
    }
  } finally {
    agent.destroy();
  }
  return figures;
}

function get(agent: Agent, baseUrl: string, path: string, key: string): Promise<{ ms: number; totalPages: number }> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(`${baseUrl}${path}`, { agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const ms = performance.now() - startedMs;
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode !== 200) return reject(new Error(`${path}: ${text}`));
        resolve({ ms, totalPages: (JSON.parse(text) as { data: { totalPages: number } }).data.totalPages });
      });
    });
    sent.once('error', reject);
    sent.end();
  });
}
