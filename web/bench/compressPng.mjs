/** Compresses PNG files by a palette of 256 colours, which is enough for a page of text. Reads only PNGs of Chromium. */

import { deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function* readChunks(png) {
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    yield { type: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
    at += length + 12;
  }
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** Returns width, height, and the pixels as numbers 0xRRGGBB. */
function decode(png) {
  const chunks = [...readChunks(png)];
  const header = chunks.find(({ type }) => type === "IHDR").data;
  const [width, height, depth, color] = [
    header.readUInt32BE(0),
    header.readUInt32BE(4),
    header[8],
    header[9],
  ];
  if (depth !== 8 || (color !== 2 && color !== 6) || header[12] !== 0)
    throw new Error("not a PNG of Chromium");
  const size = color === 6 ? 4 : 3;
  const raw = inflateSync(
    Buffer.concat(chunks.filter(({ type }) => type === "IDAT").map(({ data }) => data)),
  );
  const row = width * size;
  const out = Buffer.alloc(row * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (row + 1)];
    for (let x = 0; x < row; x++) {
      const left = x >= size ? out[y * row + x - size] : 0;
      const up = y > 0 ? out[(y - 1) * row + x] : 0;
      const corner = x >= size && y > 0 ? out[(y - 1) * row + x - size] : 0;
      const added = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      out[y * row + x] = raw[y * (row + 1) + 1 + x] + added;
    }
  }
  const pixels = new Uint32Array(width * height);
  for (let at = 0; at < pixels.length; at++) pixels[at] = out.readUIntBE(at * size, 3);
  return { width, height, pixels };
}

const colorDistance = (a, b) =>
  [16, 8, 0].reduce((sum, bits) => sum + (((a >> bits) & 255) - ((b >> bits) & 255)) ** 2, 0);

function nearestIndex(color, palette) {
  let best = 0;
  for (let at = 1; at < palette.length; at++) {
    if (colorDistance(color, palette[at]) < colorDistance(color, palette[best])) best = at;
  }
  return best;
}

/** Returns the most frequent colours without similar ones, so that rare but distinct colours get a place, too. */
function choosePalette(pixels) {
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const all = [...counts].sort((a, b) => b[1] - a[1]).map(([color]) => color);
  let palette;
  for (let minDistance = 6; palette === undefined || palette.length > 256; minDistance *= 1.5) {
    palette = [];
    for (const color of all) {
      if (!palette.some((other) => colorDistance(color, other) < minDistance)) palette.push(color);
      if (palette.length > 256) break;
    }
  }
  return { palette, index: new Map(all.map((color) => [color, nearestIndex(color, palette)])) };
}

const crcTable = Array.from({ length: 256 }, (_, at) => {
  let sum = at;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? 0xedb88320 ^ (sum >>> 1) : sum >>> 1;
  return sum >>> 0;
});

function encodeChunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const checksum = body.reduce((crc, byte) => (crcTable[(crc ^ byte) & 255] ^ (crc >>> 8)) >>> 0, 0xffffffff);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE((checksum ^ 0xffffffff) >>> 0, 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

export function compressPng(png) {
  const { width, height, pixels } = decode(png);
  const { palette, index } = choosePalette(pixels);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = index.get(pixels[y * width + x]);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colors = Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]));
  return Buffer.concat([
    SIGNATURE,
    encodeChunk("IHDR", header),
    encodeChunk("PLTE", colors),
    encodeChunk("IDAT", deflateSync(rows, { level: 9 })),
    encodeChunk("IEND", Buffer.alloc(0)),
  ]);
}
