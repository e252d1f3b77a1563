import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { queryRows } from '#platform';

const BATCH = 50_000;

const NAMES = (
  'Bella, Max, Luna, Charlie, Lucy, Cooper, Daisy, Milo, Sadie, Buddy, Molly, Rocky, ' +
  'Lola, Bear, Maggie, Duke, Sophie, Tucker, Chloe, Jack, Zoe, Oliver, Ruby, Toby, ' +
  'Rosie, Leo, Penny, Gus, Coco, Oscar, Nala, Simba, Frank, Ginger, Felix, Pepper, ' +
  'Whiskers, Smokey, Olive, Biscuit, Hazel, Ziggy, Mittens, Shadow, Willow, Pumpkin, ' +
  'Tigger, Clementine, Moose, Noodle, Kiwi, Pip, Hopper, Marigold, Señor Gato, ' +
  'Björn, Zoë'
).split(', ');

/** Appended to a name; four of ten are empty. Full names repeat about as in a real shelter. */
const EPITHETS = ',,,, Jr., II, the Brave, of the Barn, Blue, the Second'.split(',');

/**
 * The multiplier is a prime near 2^32 divided by the golden ratio. It gives consecutive numbers
 * very different values, and the same ones in every run.
 */
const INSERT_BATCH = `
  INSERT INTO pets (name, category_id, status)
  SELECT ($3::text[])[1 + spread % cardinality($3)]
           || ($4::text[])[1 + spread / 64 % cardinality($4)],
         1 + spread / 1024 % 12,
         CASE WHEN spread / 16384 % 100 < 60 THEN 'available'
              WHEN spread / 16384 % 100 < 75 THEN 'pending'
              ELSE 'sold' END
    FROM (SELECT n * 2654435761 % 4294967296 AS spread
            FROM generate_series($1::bigint, $2::bigint) AS n) AS spreads`;

/** Generated animals for `db seed`. */
@Injectable()
export class SeedRepository {
  constructor(private readonly manager: EntityManager) {}

  /** Adds animals in batches with one transaction each. Then updates the planner's statistics. */
  async add(animals: number): Promise<void> {
    for (let first = 1; first <= animals; first += BATCH) {
      const last = Math.min(first + BATCH - 1, animals);
      await queryRows(this.manager, INSERT_BATCH, [first, last, NAMES, EPITHETS]);
    }
    await queryRows(this.manager, 'ANALYZE pets');
  }
}
