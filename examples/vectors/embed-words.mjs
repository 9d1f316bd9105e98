#!/usr/bin/env node
// Vectors without a model: words, hashed into 256 numbers. Texts with the same words are near each other; that is all it knows.
import { createInterface } from 'node:readline';

const SIZE = 256;

for await (const line of createInterface({ input: process.stdin })) {
  const vector = new Array(SIZE).fill(0);
  for (const [word] of JSON.parse(line).toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    let hash = 2166136261;
    for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 16777619) >>> 0;
    vector[hash % SIZE] += hash & 0x10000 ? 1 : -1;
  }
  const length = Math.hypot(...vector) || 1;
  process.stdout.write(`${JSON.stringify(vector.map(each => Math.round((each / length) * 1e6) / 1e6))}\n`);
}
