// @ts-check
// Parses and validates bodies, and measures the CPU time. The decorators are applied by hand,
// because this file is JavaScript.
import 'reflect-metadata';
import { Expose, Transform, Type } from 'class-transformer';
import { Allow, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { parseJson } from '#dist/platform/http/body/parse-json.js';
import { IsInt64 } from '#dist/platform/http/validation/property-rules.js';
import { DtoValidationPipe } from '#dist/platform/http/validation/dto-validation.pipe.js';
import { NewPet } from '#dist/pets/dto/new-pet.dto.js';

/** @typedef {{ cpuMs: number, outcome: string }} Measured */

/* eslint-disable @typescript-eslint/no-extraneous-class -- their properties are decorated below */
class Name {}
class Person extends Name {}
class Order {}
/* eslint-enable @typescript-eslint/no-extraneous-class */

decorate(Name, 'first', IsString());
decorate(Name, 'number', IsInt64());
decorate(Person, 'lastName', Expose({ name: 'last_name' }), IsString());
const trim = Transform(({ value }) => (typeof value === 'string' ? value.trim() : value));
decorate(Person, 'title', trim, IsOptional(), IsString());

const name = Type(() => Name);
decorate(Order, 'buyer', IsOptional(), ValidateNested(), name);
const people = ValidateNested({ each: true });
const person = Type(() => Person);
decorate(Order, 'people', IsOptional(), people, person);
decorate(Order, 'lines', IsOptional(), IsString({ each: true }));
decorate(Order, 'notes', IsOptional(), IsObject());
decorate(Order, 'anything', Allow());

/** @type {Record<string, import('@nestjs/common').Type>} */
const DTOS = { NewPet, Order, Person };
const pipe = new DtoValidationPipe();

process.on('message', (/** @type {{ dto: string, text: string }} */ { dto, text }) => {
  const bytes = Buffer.from(text);
  const before = referenceMs();
  const start = process.cpuUsage();
  measure(bytes, DTOS[dto]).then((outcome) => {
    const cpuMs = millisecondsSince(start);
    // Other processes slow the processor down. The same work takes longer then, too.
    const slowdown = Math.max(1, Math.min(before, referenceMs()) / leastReferenceMs);
    process.send?.({ cpuMs: cpuMs / slowdown, outcome });
  }, console.error);
});

const REFERENCE = Buffer.from(JSON.stringify(Array.from({ length: 5_000 }, (_, id) => ({ id }))));
let leastReferenceMs = Infinity;
for (let round = 0; round < 50; round++) referenceMs();

/** Returns the CPU time that a fixed piece of work takes now. */
function referenceMs() {
  const start = process.cpuUsage();
  for (let round = 0; round < 3; round++) JSON.stringify(parseJson(REFERENCE));
  const ms = millisecondsSince(start);
  leastReferenceMs = Math.min(leastReferenceMs, ms);
  return ms;
}

/** @param {NodeJS.CpuUsage} start */
function millisecondsSince(start) {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

/**
 * @param {Buffer} bytes
 * @param {import('@nestjs/common').Type | undefined} metatype
 */
async function measure(bytes, metatype) {
  try {
    await pipe.transform(parseJson(bytes), { type: 'body', metatype });
    return 'accepted';
  } catch (error) {
    return /** @type {{ code?: string }} */ (error).code ?? String(error);
  }
}

/**
 * @param {import('@nestjs/common').Type} dto
 * @param {string} property
 * @param {...PropertyDecorator} decorators
 */
function decorate(dto, property, ...decorators) {
  for (const decorator of decorators.toReversed()) decorator(dto.prototype, property);
}
