// A process that parses and validates bodies, and measures the CPU time.
import 'reflect-metadata';
import type { Type as Class } from '@nestjs/common';
import { Expose, Transform, Type } from 'class-transformer';
import { Allow, IsObject, IsOptional, IsString, ValidateNested } from 'class-validator';
import { parseJson } from '../../../src/platform/http/body/parse-json.js';
import { IsInt64 } from '../../../src/platform/http/validation/property-rules.js';
import { DtoValidationPipe } from '../../../src/platform/http/validation/dto-validation.pipe.js';
import { NewItem } from './store/item.entity.js';

export interface Measured {
  cpuMs: number;
  outcome: string;
}

class Name {
  @IsString()
  first!: string;

  @IsInt64()
  number!: bigint;
}

class Person extends Name {
  @Expose({ name: 'last_name' })
  @IsString()
  lastName!: string;

  @Transform(({ value }) => (typeof value === 'string' ? value.trim() : value))
  @IsOptional()
  @IsString()
  title?: string;
}

class Order {
  @IsOptional()
  @ValidateNested()
  @Type(() => Name)
  buyer?: Name;

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => Person)
  people?: Person[];

  @IsOptional()
  @IsString({ each: true })
  lines?: string[];

  @IsOptional()
  @IsObject()
  notes?: object;

  @Allow()
  anything: unknown;
}

const DTOS: Readonly<Record<string, Class>> = { NewItem, Order, Person };
const pipe = new DtoValidationPipe();
const REFERENCE = Buffer.from(JSON.stringify(Array.from({ length: 5_000 }, (_, id) => ({ id }))));
/** What the reference takes on the machine of the promise, at least. */
const LEAST_REFERENCE_MS = 2.2;
for (let round = 0; round < 50; round++) referenceMs();

process.on('message', ({ dto, text }: { dto: string; text: string }) => {
  const bytes = Buffer.from(text);
  const before = referenceMs();
  const start = process.cpuUsage();
  const report = (outcome: string) => {
    const cpuMs = millisecondsSince(start);
    // On a slower machine, or when other processes slow the processor down, the reference takes longer, too.
    const slowdown = Math.max(1, Math.min(before, referenceMs()) / LEAST_REFERENCE_MS);
    process.send?.({ cpuMs: cpuMs / slowdown, outcome } satisfies Measured);
  };
  validate(bytes, DTOS[dto]!).then(
    () => report('accepted'),
    (error: unknown) => report((error as { code?: string }).code ?? 'defect'),
  );
});

/** Returns the CPU time that a fixed piece of work takes now. */
function referenceMs() {
  const start = process.cpuUsage();
  for (let round = 0; round < 3; round++) JSON.stringify(JSON.parse(REFERENCE.toString()));
  return millisecondsSince(start);
}

function millisecondsSince(start: NodeJS.CpuUsage) {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

const validate = async (bytes: Buffer, metatype: Class) =>
  await pipe.transform(parseJson(bytes), { type: 'body', metatype });
